"""Bodies on the ocean: what floats, how it bobs and rolls, what capsizes, and what sinks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core.language import array, float64
from ...core.runtime.tape.tape import Tape
from ..bodies.solver import SolverBodies
from ..coupling.coupling import Coupling
from ..ocean import GRAVITY, JONSWAP, Ocean, SolverOcean, query_heights
from ..ocean.hulls import added_inertia_of
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import FULL, Measurement, at_least, at_most, case, near
from .ocean import FETCH, WIND, single_mode

WATER = 1025.0  # its density [kg/m^3]
REST = (0.0, 0.0, 0.0, 1.0)
Add = Callable[[ModelBuilder, int], Any]


def calm_ocean() -> Ocean:
    """Water at rest."""
    ocean = Ocean(JONSWAP(WIND, FETCH), 200.0, 16, dtype=float64)
    ocean.noise.zero_()
    ocean.update()
    return ocean


def afloat(
    add: Add, pose: Any, ocean: Ocean | None = None, requires_grad: bool = False, **options: Any
) -> tuple[Coupling, Any]:
    """One body at a pose (7,), with shapes that `add` gives it, on a sea, and its state. options: of `SolverOcean`."""
    builder = ModelBuilder(up_axis="Z", gravity=-GRAVITY)
    add(builder, builder.add_body(pose))
    model = builder.finalize("cpu", requires_grad=requires_grad, dtype=float64)
    water = SolverOcean(model, calm_ocean() if ocean is None else ocean, **options)
    coupling = Coupling(SolverBodies(model, substeps=1), [water])
    return coupling, coupling.states()[0]


def box(half: Any, density: float) -> Add:
    """Adds a box."""
    return lambda builder, body: builder.add_shape_box(None, *half, ShapeConfig(density=density), body=body)


def moved(coupling: Coupling, state: Any, steps: int, dt: float) -> np.ndarray:
    """Poses of a body after every step, (steps, 7)."""
    poses = []
    for _ in range(steps):
        coupling.step((state, state), (state, state), dt=dt)
        poses.append(state.body_q.numpy()[0].copy())
    return np.array(poses)


def period_of(values: np.ndarray, dt: float) -> float:
    """Mean time between crossings of zero upwards [s]."""
    ups = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
    return dt * float(np.diff(ups - values[ups] / (values[ups + 1] - values[ups])).mean())


@case("O9", "ocean", "floats: draught, and long waves", FULL)
def floating() -> Iterator[Measurement]:
    """Archimedes: draught over height is the ratio of densities; on waves of 25 times its length a float follows the
    surface."""
    for ratio in (0.25, 0.5, 0.8):
        coupling, state = afloat(
            box((1.0, 1.0, 0.25), WATER * ratio), (0.0, 0.0, 0.27 - 0.5 * ratio, *REST), linear_drag=1.0e3
        )
        heights = moved(coupling, state, 400, 0.02)[:, 2]
        yield near(
            f"draught over height, density ratio {ratio:g}", ratio, 0.5 - heights[-100:].mean() / 0.5, relative=1e-3
        )
    ocean = single_mode(4, 0, 0.2, size=200.0)
    coupling, state = afloat(
        box((1.0, 1.0, 0.25), 0.5 * WATER), (0.0, 0.0, 0.2, *REST), ocean, drag=10.0, added_mass=0.5
    )
    misses = []
    for n in range(500):
        coupling.step((state, state), (state, state), dt=0.02)
        x, y, z = state.body_q.numpy()[0, :3]
        if n >= 200:
            misses.append(z - float(query_heights(ocean.evaluate(0.02 * (n + 1)), [x], [y])[0]))
    yield at_most("|heave - surface| / amplitude, 50 m waves", 2e-2, float(np.abs(misses).max()) / 0.2)


@case("C3", "coupling", "heave and roll of a floating body")
def bobbing() -> Iterator[Measurement]:
    """Calm water without drag. Heave: 2 pi sqrt((m + C_a rho V) / (rho g A)) of an upright cylinder half under water;
    roll: 2 pi sqrt((I + I_a) / (m g GM)) of a box, with the metacentre over the centre of mass GM = b^2 / (12 T) -
    (h - T) / 2 at a draught T, I_a the added inertia of half its ellipsoid."""

    def cylinder(builder: ModelBuilder, body: int) -> None:
        builder.add_shape_cylinder(radius=0.5, half_height=1.0, cfg=ShapeConfig(density=0.5 * WATER), body=body)

    still = {"drag": 0.0, "friction": 0.0}
    for added in (0.0, 0.5, 3.0):
        coupling, state = afloat(cylinder, (0.0, 0.0, 0.05, *REST), added_mass=added, **still)
        heights = moved(coupling, state, round(14.0 * math.sqrt(1.0 + added) / 3.0 * 50.0), 0.02)[:, 2]
        expected = 2.0 * math.pi * math.sqrt((1.0 + added) / GRAVITY)
        yield near(f"period of heave, added mass {added:g} [s]", expected, period_of(heights, 0.02), relative=1e-3)
    half = np.array([0.8, 0.6, 0.3])
    turn = (math.sin(0.5 * 0.05), 0.0, 0.0, math.cos(0.5 * 0.05))
    coupling, state = afloat(box(half, 0.5 * WATER), (0.0, 0.0, 0.0, *turn), added_mass=0.5, **still)
    mass, inertia = coupling.bodies.model.body_mass.numpy()[0], coupling.bodies.model.body_inertia.numpy()[0, 0, 0]
    along = 0.5 * WATER * added_inertia_of(half, 8.0 * float(half.prod()))[0]
    lever = 1.2**2 / (12.0 * 0.3) - 0.15
    expected = 2.0 * math.pi * math.sqrt((inertia + along) / (mass * GRAVITY * lever))
    rolls = moved(coupling, state, 400, 0.02)[:, 3]
    yield near("period of roll [s]", expected, period_of(rolls, 0.02), relative=1e-2)


@case("C3-metacentre", "coupling", "which floating box capsizes")
def capsizing() -> Iterator[Measurement]:
    """A box of half the density of water floats upright where its metacentre is above its centre of mass, b^2 / (6 h) >
    h / 4: where its width b is above sqrt(3 / 2) = 1.2247 of its height h. It starts at 1.1 degrees."""
    turn = (math.sin(0.01), 0.0, 0.0, math.cos(0.01))
    for width in (1.20, 1.25):
        coupling, state = afloat(box((1.0, 0.5 * width, 0.5), 0.5 * WATER), (0.0, 0.0, 0.0, *turn), linear_drag=30.0)
        tilt = np.degrees(2.0 * np.arcsin(np.abs(moved(coupling, state, 700, 0.04)[-1, 3])))
        name = f"tilt after 28 s, of a box {width:g} times as wide as high [degrees]"
        yield at_least(name, 8.0, tilt) if width < math.sqrt(1.5) else at_most(name, 1.0, tilt)


@case("C3-gradients", "coupling", "gradients of a box that bobs on waves")
def bobbing_gradients() -> Iterator[Measurement]:
    """Of position and velocity after 8 steps of 0.04 s, along a random direction, against central differences."""
    names = {"body_q": 1e-6, "body_qd": 1e-6, "body_mass": 1e-3, "drag": 1e-5, "friction": 1e-5, "added_mass": 1e-5}
    for name, step in names.items():
        gradient = slope(name, 0.0, True)
        direction = np.random.default_rng(5).standard_normal(gradient.shape)
        if name == "body_q":
            direction[:, 3:] = 0.0
        differences = (slope(name, step * direction) - slope(name, -step * direction)) / (2.0 * step)
        error = abs(float((gradient * direction).sum()) / float(differences) - 1.0)
        yield at_most(f"relative error of the gradient to {name}", 1e-5, error)


def slope(name: str, change: Any, gradient: bool = False) -> Any:
    """A weighted sum of where a box gets, of a changed array; or its gradient to that."""
    turn = np.array([0.1, 0.2, -0.1, 1.0])
    pose = (3.0, 4.0, 0.1, *(turn / np.linalg.norm(turn)))
    ocean = single_mode(8, 0, 0.4, size=200.0)
    coupling, _ = afloat(box((0.5, 0.4, 0.3), 400.0), pose, ocean, requires_grad=True)
    states = [coupling.states() for _ in range(9)]
    owners = (coupling.matter[0], states[0][0], coupling.bodies.model)
    source = next(getattr(owner, name) for owner in owners if hasattr(owner, name))
    source.assign(source.numpy() + change)
    with Tape() as tape:
        for k in range(8):
            coupling.step(states[k], states[k + 1], dt=0.04)
    ends = [states[-1][0].body_q, states[-1][0].body_qd]
    weights = [np.random.default_rng(k).standard_normal(a.numpy().shape) for k, a in enumerate(ends)]
    if not gradient:
        return sum(float((a.numpy() * w).sum()) for a, w in zip(ends, weights, strict=True))
    tape.backward(grads={a: array(w, dtype=a.dtype) for a, w in zip(ends, weights, strict=True)})
    return source.grad.numpy().copy()


@case("C5", "coupling", "terminal speed of a ball that sinks in the ocean")
def sinking() -> Iterator[Measurement]:
    """A ball of three times the density of water, with C_D = 0.47: v = v_t tanh(t / tau) from rest, with v_t =
    sqrt(2 (rho_b - rho) V g / (rho C_D A)), tau = (m + rho V / 2) v_t / ((rho_b - rho) V g), added mass rho V / 2."""

    def ball(builder: ModelBuilder, body: int) -> None:
        builder.add_shape_sphere(radius=0.1, cfg=ShapeConfig(density=3.0 * WATER), body=body)

    coupling, state = afloat(ball, (0.0, 0.0, -1.0, *REST), drag=2.0 * 0.47, friction=0.0)
    volume, area = 4.0 / 3.0 * math.pi * 1e-3, math.pi * 1e-2
    weight = 2.0 * WATER * volume * GRAVITY
    fastest = math.sqrt(2.0 * weight / (WATER * 0.47 * area))
    after = fastest * (3.0 + 0.5) * WATER * volume / weight
    speeds = []
    for _ in range(200):
        coupling.step((state, state), (state, state), dt=5.0 * after / 200)
        speeds.append(-float(state.body_qd.numpy()[0, 5]))
    yield near("speed after tau [m/s]", fastest * math.tanh(1.0), speeds[39], relative=1e-2)
    yield near("terminal speed [m/s]", fastest, speeds[-1], relative=1e-2)
