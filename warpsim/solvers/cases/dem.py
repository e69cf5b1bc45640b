"""Validation of `SolverDEM`: impacts, sliding and rolling of single grains, and what grains do together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.language import float64
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import FULL, Measurement, at_most, case, near

ALUMINA = {"youngs_modulus": 380.0e9, "poissons_ratio": 0.23}
ALUMINA_RADIUS, ALUMINA_DENSITY, SPEED = 2.5e-3, 4000.0, 3.9

# Chung and Ooi 2011, test 4: angle from the normal [deg], tangential restitution, -spin [rad/s], rebound angle of the
# contact point [deg]
OBLIQUE = np.fromstring(
    """5 0.948 19.3 3.76  10 0.687 213.0 -1.56  15 0.624 377.8 -5.54  20 0.616 510.6 -7.54
    25 0.634 599.4 -7.54  30 0.684 616.5 -3.55  35 0.737 582.3 3.43  40 0.781 544.8 11.57
    50 0.845 457.0 29.35  60 0.893 357.5 47.79  70 0.932 246.2 64.58  80 0.966 126.3 78.70
    85 0.983 63.1 84.52""",
    sep=" ",
).reshape(-1, 4)


def ball_mass(radius: float, density: float) -> float:
    """[kg]."""
    return density * 4.0 / 3.0 * math.pi * radius**3


class Scene:
    """One state of a model in float64, stepped in place; dt [s] is that of a substep."""

    def __init__(self, builder: ModelBuilder, material: Material, dt: float, substeps: int = 1, **options: Any):
        self.model = builder.finalize(dtype=float64)
        self.solver = SolverDEM(self.model, material, substeps=substeps, **options)
        self.state, self.dt, self.substeps = self.model.state(), dt, substeps

    def run(self, substeps: int) -> None:
        for _ in range(substeps // self.substeps):
            self.solver.step(self.state, self.state, dt=self.dt * self.substeps)

    @property
    def q(self) -> np.ndarray:
        return self.state.particle_q.numpy()

    @property
    def v(self) -> np.ndarray:
        return self.state.particle_qd.numpy()

    @property
    def w(self) -> np.ndarray:
        return self.state.particle_w.numpy()


def head_on(radius: float, density: float, speed: float, material: Material, dt: float, **options: Any) -> Scene:
    """Two equal grains about to meet."""
    builder, gap = ModelBuilder(gravity=0.0), 1.0e-6 * radius
    mass = ball_mass(radius, density)
    x, v = radius + gap, speed
    builder.add_particles([(-x, 0.0, 0.0), (x, 0.0, 0.0)], [(v, 0.0, 0.0), (-v, 0.0, 0.0)], mass, radius)
    return Scene(builder, material, dt, **options)


def onto_plane(
    radius: float,
    density: float,
    velocity: Any,
    spin: Any,
    material: Material,
    surface: ShapeConfig,
    dt: float,
    gravity: float = 0.0,
    height: float = 1.0e-6,
    **options: Any,
) -> Scene:
    """A grain just above the ground, which is across y."""
    builder = ModelBuilder(gravity=gravity)
    builder.add_particle((0.0, radius * (1.0 + height), 0.0), velocity, ball_mass(radius, density), radius)
    builder.add_ground_plane(cfg=surface)
    scene = Scene(builder, material, dt, **options)
    scene.state.particle_w.assign(np.array([spin], dtype=np.float64))
    return scene


def follow(scene: Scene, overlap: Any, steps: int, mass: float) -> tuple[float, float, float]:
    """Run one impact; returns the largest overlap [m], how long there was one [s] and the largest force [N], which is
    what the momentum of the last grain tells of it."""
    overlaps, speeds = [], [scene.v[-1].copy()]
    for _ in range(steps):
        scene.run(1)
        overlaps.append(overlap(scene))
        speeds.append(scene.v[-1].copy())
    lasted = float((np.array(overlaps) > 0.0).sum() * scene.dt)
    pushes = np.linalg.norm(np.diff(speeds, axis=0), axis=1)
    return max(overlaps), lasted, float(mass * pushes.max() / scene.dt)


def of_impact(name: str, expected: Sequence[float], measured: Sequence[float]) -> Iterator[Measurement]:
    """Overlap, duration and largest force of an impact, to half a percent."""
    rows = (("overlap [um]", 1.0e6), ("duration [us]", 1.0e6), ("largest force [kN]", 1.0e-3))
    for (what, scale), should, does in zip(rows, expected, measured, strict=True):
        yield near(f"{name}: {what}", should * scale, does * scale, relative=5.0e-3)


@case("D1", "dem", "elastic impact of two spheres")
def impact_of_two() -> Iterator[Measurement]:
    """Hertz 1882: d = (15 m* v^2 / (16 E* sqrt(R*)))^(2/5), t = 2.9432 d / v. Chung and Ooi 2011, test 1."""
    radius, speed = 0.01, 10.0
    for name, young, nu, density, depth, time, force in (
        ("glass", 48.0e9, 0.2, 2800.0, 274.1e-6, 40.34e-6, 10.697e3),
        ("limestone", 20.0e9, 0.25, 2500.0, 368.3e-6, 54.20e-6, 7.108e3),
    ):
        scene = head_on(radius, density, speed, Material(young, nu, 1.0, 0.0), 2.0e-8)
        steps = round(1.1 * time / scene.dt)
        mass = ball_mass(radius, density)
        met = follow(scene, lambda s: 2.0 * radius - (s.q[1, 0] - s.q[0, 0]), steps, mass)
        yield from of_impact(name, (depth, time, force), met)


@case("D2", "dem", "elastic impact on a rigid plane")
def impact_on_plane() -> Iterator[Measurement]:
    """Hertz with E* = E / (1 - nu^2). Chung and Ooi 2011, test 2."""
    radius = 0.1
    for name, young, nu, density, depth, time, force in (
        ("aluminium", 70.0e9, 0.3, 2699.0, 49.72e-6, 731.6e-6, 11.370e3),
        ("magnesium", 40.0e9, 0.35, 1800.0, 52.12e-6, 767.0e-6, 7.233e3),
    ):
        scene = onto_plane(
            radius,
            density,
            (0.0, -0.2, 0.0),
            (0.0, 0.0, 0.0),
            Material(young, nu, 1.0, 0.0),
            ShapeConfig(mu=0.0, restitution=1.0),
            5.0e-7,
            height=1.0e-9,
        )
        steps = round(1.1 * time / scene.dt)
        met = follow(scene, lambda s: radius - s.q[0, 1], steps, ball_mass(radius, density))
        yield from of_impact(name, (depth, time, force), met)


@case("D3", "dem", "restitution of normal impacts")
def restitution() -> Iterator[Measurement]:
    """What was asked for is what comes out, while contacts may pull; cut at zero, e = 0.5 gives 0.550 (T. Schwager and
    T. Poeschel 2007)."""
    for e in (0.2, 0.4, 0.6, 0.8, 0.9, 1.0):
        material = Material(**ALUMINA, restitution=e, friction=0.0)
        scene = head_on(ALUMINA_RADIUS, ALUMINA_DENSITY, SPEED, material, 2.0e-8, substeps=100)
        scene.run(600)
        yield near(f"restitution of {e}", e, scene.v[1, 0] / SPEED, absolute=1.0e-3)
    for e, expected in ((0.3, 0.397), (0.5, 0.550), (0.7, 0.718), (0.9, 0.902)):
        for law in ("hertz", "linear"):
            material = Material(**ALUMINA, restitution=e, friction=0.0, stiffness=4.0e7)
            scene = head_on(
                ALUMINA_RADIUS, ALUMINA_DENSITY, SPEED, material, 2.0e-8, substeps=100, force_limit=True, law=law
            )
            scene.run(900)
            yield near(f"restitution of {e}, limited, {law}", expected, scene.v[1, 0] / SPEED, absolute=2.0e-3)


@case("D4", "dem", "oblique impact on a rigid plane")
def oblique_impact() -> Iterator[Measurement]:
    """Chung and Ooi 2011, test 4, after A. Kharaz, D. Gorham, A. Salman 2001: 13 angles."""
    rebounds, material = [], Material(**ALUMINA, restitution=0.98, friction=0.092)
    for degrees in OBLIQUE[:, 0]:
        angle = math.radians(degrees)
        velocity = (SPEED * math.sin(angle), -SPEED * math.cos(angle), 0.0)
        scene = onto_plane(
            ALUMINA_RADIUS,
            ALUMINA_DENSITY,
            velocity,
            (0.0, 0.0, 0.0),
            material,
            ShapeConfig(mu=0.092, restitution=0.98),
            2.0e-8,
            substeps=100,
        )
        scene.run(700)
        v, w = scene.v[0], scene.w[0, 2]
        rebound = math.degrees(math.atan2(v[0] + ALUMINA_RADIUS * w, v[1]))
        rebounds.append((v[0] / velocity[0], -w, rebound))
    measured, expected = np.array(rebounds), OBLIQUE[:, 1:]
    error = np.linalg.norm(measured - expected, axis=0) / np.linalg.norm(expected, axis=0)
    yield at_most("tangential restitution, relative L2 error", 0.016, error[0])
    yield at_most("spin, relative L2 error", 0.022, error[1])
    yield at_most("rebound angle, largest error [deg]", 1.5, np.abs(measured - expected)[:, 2].max())


@case("D5", "dem", "sliding that becomes rolling")
def slide_to_roll() -> Iterator[Measurement]:
    """A ball that starts to slide at v0 rolls after t = 2 v0 / (7 mu g), at 5/7 v0; down a slope a = 5/7 g sin."""
    radius, mu, g = 0.005, 0.3, 9.81
    material = Material(1.0e6, 0.25, 0.5, mu)
    surface = ShapeConfig(mu=mu, restitution=0.5)
    start = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    scene = onto_plane(radius, 2500.0, *start, material, surface, 1.0e-5, -g, -1.0e-4, substeps=100)
    rolls = 2.0 / (7.0 * mu * g)
    scene.run(round(rolls / scene.dt))
    yield near("way until it rolls [m]", 12.0 / (49.0 * mu * g), scene.q[0, 0], relative=0.01)
    scene.run(1000)
    yield near("speed when it rolls [m/s]", 5.0 / 7.0, scene.v[0, 0], relative=0.01)
    yield near("spin times radius [m/s]", -5.0 / 7.0, scene.w[0, 2] * radius, relative=0.01)
    slope = math.radians(20.0)
    builder = ModelBuilder(gravity=-g)
    normal = np.array([math.sin(slope), math.cos(slope), 0.0])
    builder.add_particle(normal * radius * (1.0 - 1.0e-4), 0.0, ball_mass(radius, 2500.0), radius)
    builder.add_shape_plane(normal, cfg=surface)
    scene = Scene(builder, material, 1.0e-5, 100)
    scene.run(4000)
    early = scene.v[0, 0]
    scene.run(4000)
    acceleration = (scene.v[0, 0] - early) / (4000 * scene.dt) / math.cos(slope)
    yield near("acceleration down 20 degrees [m/s^2]", 5.0 / 7.0 * g * math.sin(slope), acceleration, relative=0.01)


@case("D6", "dem", "rolling resistance")
def rolling_resistance() -> Iterator[Measurement]:
    """A torque mu_r R N slows a rolling ball by 5/7 mu_r g until it stops, and it stays (Ai et al. 2011)."""
    radius, resistance, g, v0 = 0.005, 0.05, 9.81, 0.5
    material = Material(1.0e6, 0.25, 0.5, 0.5, rolling_friction=resistance)
    start, surface = ((v0, 0.0, 0.0), (0.0, 0.0, -v0 / radius)), ShapeConfig(mu=0.5, restitution=0.5)
    options = {"substeps": 100, "rolling": "spring"}
    scene = onto_plane(radius, 2500.0, *start, material, surface, 5.0e-5, -g, -1.0e-4, **options)
    scene.run(4000)
    early = scene.v[0, 0]
    scene.run(8000)
    a = 5.0 / 7.0 * resistance * g
    yield near("deceleration [m/s^2]", a, (early - scene.v[0, 0]) / (8000 * scene.dt), relative=0.02)
    scene.run(26000)
    yield near("way until it stops [m]", 0.5 * v0**2 / a, scene.q[0, 0], relative=0.02)
    yield at_most("speed afterwards [m/s]", 1.0e-4, abs(scene.v[0, 0]))


@case("D10", "dem", "conservation in impacts of two")
def conservation() -> Iterator[Measurement]:
    """Momentum and angular momentum of an oblique impact with friction; energy over ten elastic bounces."""
    radius, mass = 0.01, ball_mass(0.01, 2500.0)
    builder = ModelBuilder(gravity=0.0)
    points, velocities = [(-0.0101, 0.0, 0.0), (0.0101, 0.006, 0.001)], [(1.0, 0.2, 0.0), (-1.0, 0.0, 0.3)]
    builder.add_particles(points, velocities, mass, radius)
    scene = Scene(builder, Material(1.0e7, 0.25, 0.7, 0.4), 2.0e-6, 100)
    before = _momenta(scene, mass, radius)
    scene.run(1500)
    after = _momenta(scene, mass, radius)
    change, spin = (np.abs(b - a).max() for a, b in zip(before, after, strict=True))
    yield at_most("momentum, relative change", 1.0e-6, change / (mass * 2.0))
    yield at_most("angular momentum, relative change", 1.0e-6, spin / np.abs(before[1]).max())
    still, material, surface = (0.0, 0.0, 0.0), Material(1.0e7, 0.25, 1.0, 0.0), ShapeConfig(mu=0.0, restitution=1.0)
    scene = onto_plane(radius, 2500.0, still, still, material, surface, 5.0e-6, -9.81, 2.0, substeps=50)
    top = scene.q[0, 1]
    period = 2.0 * math.sqrt(2.0 * (top - radius) / 9.81)
    heights = []
    for _ in range(round(10.2 * period / (50 * scene.dt))):
        scene.run(50)
        heights.append(scene.q[0, 1])
    yield near("height after ten bounces [m]", top, max(heights[-round(period / (50 * scene.dt)) :]), relative=5.0e-3)


def _momenta(scene: Scene, mass: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Momentum, and angular momentum about the origin with that of spin."""
    linear = mass * scene.v
    spin = 0.4 * mass * radius**2 * scene.w
    return linear.sum(axis=0), (np.cross(scene.q, linear) + spin).sum(axis=0)


@case("D12", "dem", "oblique impacts with restitution")
def damped_oblique_impact() -> Iterator[Measurement]:
    """Impacts that slide and stick, in 20 and 50 substeps, end as in 2,000; one that slides throughout loses mu times
    the impulse across (W. Goldsmith 1960)."""
    for law in ("hertz", "linear"):
        fine = [_graze(e, law, 2000) for e in (0.1, 0.5, 0.9)]
        for steps, slip, turn in ((20, 0.02, 0.05), (50, 0.01, 0.02)):
            coarse = [_graze(e, law, steps) for e in (0.1, 0.5, 0.9)]
            speed, spin = np.abs(np.array(coarse) - fine).max(axis=(0, 1))
            yield at_most(f"{law}, {steps} substeps: error of speed along the wall, by that before", slip, speed)
            yield at_most(f"{law}, {steps} substeps: error of spin, by the largest that friction allows", turn, spin)
    radius, mu = 0.01, 0.2
    scene = onto_plane(
        radius,
        2500.0,
        (3.0, -1.0, 0.0),
        (0.0, 0.0, 0.0),
        Material(1.0e10, 0.25, 0.4, mu),
        ShapeConfig(mu=mu, restitution=0.4),
        1.0e-7,
        substeps=100,
        force_limit=True,
    )
    scene.run(4000)
    across = 1.0 + scene.v[0, 1]
    yield near("speed lost by sliding [m/s]", mu * across, 3.0 - scene.v[0, 0], relative=1.0e-3)
    yield near("speed of the surface by spin [m/s]", 2.5 * mu * across, -radius * scene.w[0, 2], relative=1.0e-2)


def _graze(restitution: float, law: str, steps: int) -> np.ndarray:
    """Impacts at 1 m/s across the ground, at angles from 3 to 80 degrees that touch it at four phases of a substep:
    speed along it by that before, and spin by that which friction or rolling allow at most; `steps` to an impact."""
    radius, mu, stiffness = 0.01, 0.3, 1.0e4
    mass = ball_mass(radius, 2500.0)
    impact = math.pi * math.sqrt(mass / stiffness)
    if law == "hertz":
        young = 1.0e7 / (1.0 - 0.25**2)
        impact = 2.9432 * (15.0 * mass / (16.0 * young * math.sqrt(radius))) ** 0.4
    slip = np.repeat(np.tan(np.radians([3.0, 10.0, 20.0, 30.0, 40.0, 60.0])), 4)
    builder = ModelBuilder(gravity=0.0)
    for k, (along, phase) in enumerate(zip(slip, np.tile([0.1, 0.35, 0.6, 0.85], 6), strict=True)):
        builder.add_particle((0.0, radius + phase * impact / 20, 0.1 * k), (along, -1.0, 0.0), mass, radius)
    builder.add_ground_plane(cfg=ShapeConfig(mu=mu, restitution=restitution))
    material = Material(1.0e7, 0.25, restitution, mu, stiffness=stiffness)
    scene = Scene(builder, material, impact / steps, steps, law=law)
    scene.run(6 * steps)
    largest = np.minimum(5.0 / 7.0 * slip, 2.5 * mu * (1.0 + restitution))
    return np.stack([scene.v[:, 0] / slip, -radius * scene.w[:, 2] / largest], axis=1)


@case("D7", "dem", "packing of poured spheres", FULL)
def packing() -> Iterator[Measurement]:
    """2,560 spheres rain into a periodic box of ten diameters; fraction of solid between 20 and 75 % of the height.
    Random close packing has 0.64, friction loosens it (L. Silbert 2010)."""
    fractions = []
    for mu, low, high in ((0.0, 0.63, 0.665), (0.1, 0.615, 0.65), (0.5, 0.585, 0.615), (1.0, 0.57, 0.605)):
        fraction, load = _pour(mu)
        fractions.append(fraction)
        yield Measurement(f"fraction of solid, mu = {mu:g}", 0.5 * (low + high), fraction, low, high)
        yield near(f"force on the floor by weight, mu = {mu:g}", 1.0, load, absolute=0.04)
    yield at_most("largest increase with friction", 0.0, float(np.diff(fractions).max()))


def _pour(mu: float) -> tuple[float, float]:
    """Fraction of solid in the middle of the bed, and the mean force on the floor by the weight."""
    radius, density, width, number = 0.0025, 2500.0, 0.05, 2560
    rng = np.random.default_rng(1)
    layers = np.stack(np.meshgrid(np.arange(8), np.arange(40), np.arange(8), indexing="ij"), axis=-1).reshape(-1, 3)
    points = (layers + 0.5) * [width / 8, 2.6 * radius, width / 8] + rng.uniform(-0.2, 0.2, (number, 3)) * radius
    builder = ModelBuilder()
    mass = ball_mass(radius, density)
    builder.add_particles(points, rng.uniform(-0.1, 0.1, (number, 3)), mass, radius)
    builder.add_ground_plane(cfg=ShapeConfig(mu=mu, restitution=0.5))
    model = builder.finalize()
    solver = SolverDEM(model, Material(5.0e6, 0.25, 0.5, mu), substeps=20, period=(width, 0.0, width))
    state, loads = model.state(), []
    for step in range(1500):
        solver.step(state, state, dt=1.0e-3)
        if step >= 1300:
            loads.append(float(solver.shape_force.numpy()[0, 4]))
    y = state.particle_q.numpy()[:, 1].astype(np.float64)
    top = np.quantile(y, 0.98)
    low, high = 0.2 * top, 0.75 * top

    def below(height: float) -> np.ndarray:
        """How much of each ball lies below a height [m^3]."""
        h = np.clip(height - y + radius, 0.0, 2.0 * radius)
        return math.pi * h * h * (radius - h / 3.0)

    solid = float((below(high) - below(low)).sum())
    return solid / (width * width * (high - low)), -float(np.mean(loads)) / (number * mass * 9.81)
