"""Bodies in water of `SolverSPH`: how one bobs, how one sinks, and a pendulum whose bob is full of water."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..bodies.solver import SolverBodies
from ..coupling.coupling import Coupling
from ..scene.builder import ModelBuilder
from ..sph.filling import add_fluid_box
from ..sph.fluid import Fluid
from ..sph.solver import SolverSPH
from ..validate import FULL, Measurement, case, near
from .sph import G, add_tank

REST = (0.0, 0.0, 0.0, 1.0)
WATER = 1000.0  # its density [kg/m^3]
SPACING, DT = 0.02, 2.0e-3  # of particles [m], of steps [s]


def particles(low: tuple[float, float], high: tuple[float, float]) -> np.ndarray:
    """A sheet of them between two corners, (n, 3) [m]."""
    block = ModelBuilder()
    add_fluid_box(block, (*low, 0.0), (*high, 0.0), SPACING)
    q: np.ndarray = block.particles["q"]
    return q


def in_water(builder: ModelBuilder, q: np.ndarray, fluid: Fluid, bounds: Any, **options: Any) -> tuple[Coupling, Any]:
    """The coupling of the bodies of a builder and a sheet of water that bears its own weight, and their state."""
    builder.add_particles(q, 0.0, WATER * SPACING * SPACING)
    model = builder.finalize("cpu")
    coupling = Coupling(SolverBodies(model, substeps=1), [SolverSPH(model, fluid, dim=2, bounds=bounds, **options)])
    state = coupling.states()[0]
    depth = q[:, 1].max() + 0.5 * SPACING - q[:, 1]
    state.particle_rho.assign(fluid.density_at(WATER * G * depth))
    return coupling, state


@case("C3-water", "coupling", "heave of a floating box in SPH", FULL)
def bobbing() -> Iterator[Measurement]:
    """A box of side 2 T, half of the density of water, let go 4 cm too high in a tank of ten times its width: from its
    lowest to its next highest place is half of 2 pi sqrt(T (1 + C_a) / g). The added mass of a square deep in water is
    1.51 pi rho T^2 (J. N. Newman 1977, Marine hydrodynamics, table 4.3), so C_a = 1.19 for the half of it that is under
    water, if waves are short; at the frequency of heave it is less, here at least 0.6 is accepted."""
    draught, width, depth = 0.1, 2.0, 0.5
    builder, mass = ModelBuilder(gravity=-G), 2.0 * WATER * draught**2
    pose, moments = (0.5 * width, depth + 0.04, 0.0, *REST), (1.0, 1.0, mass * (2.0 * draught) ** 2 / 6.0)
    body = builder.add_body(pose, mass=mass, com=(0.0, 0.0, 0.0), inertia=moments)
    builder.add_shape_box(None, draught, draught, 0.5, body=body)
    add_tank(builder, width)
    q = particles((0.0, 0.0), (width, depth))
    q = q[np.abs(q - pose[:3]).max(axis=1) > draught]
    bounds = ((0.0, 0.0, 0.0), (width, depth + 0.4, 0.0))
    coupling, state = in_water(builder, q, Fluid(sound=20.0, alpha=0.02), bounds)
    heights = []
    for _ in range(500):
        coupling.step((state, state), (state, state), dt=DT)
        heights.append(float(state.body_q.numpy()[0, 1]))
    lowest = int(np.argmin(heights))
    half = DT * int(np.argmax(heights[lowest:]))
    low, high = (2.0 * math.pi * math.sqrt(draught * (1.0 + added) / G) for added in (0.6, 1.19))
    yield near("period [s]", 0.5 * (low + high), 2.0 * half, absolute=0.5 * (high - low))


@case("C5-water", "coupling", "a disc that sinks between walls through a viscous fluid of SPH", FULL)
def sinking() -> Iterator[Measurement]:
    """O. H. Faxen 1946 (in J. Happel and H. Brenner, Low Reynolds number hydrodynamics): between walls at a distance W,
    k = d / W, the drag of a cylinder is 4 pi mu U / (ln(1 / k) - 0.9157 + 1.7244 k^2 - 1.7302 k^4) per length, at a
    small Reynolds number, here 0.5. Ten particles across the disc make it half a spacing too wide; the tank rings like
    an organ pipe, so the speed is the mean over a whole period of that, 4 H / c."""
    d, width, height, middle, density = 0.2, 1.0, 1.2, 0.78, 4000.0
    area, fluid = 0.25 * math.pi * d * d, Fluid(sound=15.0, alpha=0.0, viscosity=0.15)
    builder, mass = ModelBuilder(gravity=-G), density * area
    pose, moments = (0.5 * width, middle, 0.0, *REST), (1.0, 1.0, 0.125 * mass * d * d)
    body = builder.add_body(pose, mass=mass, com=(0.0, 0.0, 0.0), inertia=moments)
    builder.add_shape_sphere(None, 0.5 * d, body=body)
    add_tank(builder, width)
    q = particles((0.0, 0.0), (width, height))
    q = q[np.linalg.norm(q - pose[:3], axis=1) > 0.5 * d + 0.3 * SPACING]
    coupling, state = in_water(builder, q, fluid, ((0.0, 0.0, 0.0), (width, height + 0.2, 0.0)), no_slip=True)
    k, speeds = d / width, []
    for _ in range(225):
        coupling.step((state, state), (state, state), dt=DT)
        speeds.append(-float(state.body_qd.numpy()[0, 4]))
    drag = 4.0 * math.pi * WATER * 0.15 / (-math.log(k) - 0.9157 + 1.7244 * k**2 - 1.7302 * k**4)
    ringing = round(4.0 * height / 15.0 / DT)
    mean = float(np.mean(speeds[-ringing:]))
    yield near("terminal speed [m/s]", (density - WATER) * G * area / drag, mean, relative=0.12)


@case("C7", "coupling", "a pendulum whose bob is a box full of water", FULL)
def pendulum() -> Iterator[Measurement]:
    """A square box of side a, full of water, on a hinge: 2 pi sqrt(I / (M g L)) (1 + A^2 / 16) at an amplitude A, with
    the moment I of the frame and of the water, m (L^2 + j a^2 / 6). Ideal water does not turn with its box but by j =
    0.156 (the polar moment of the square less its torsion constant), frozen water by j = 1."""
    side, arm, wall, angle = 0.2, 0.6, 0.04, 0.15
    half, water, builder = 0.5 * side, WATER * side**2, ModelBuilder(gravity=-G)
    frame = 1.5 * water
    own = frame * (side + wall) ** 2 / 3.0
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    hung = turn @ [0.0, -arm]
    pose = (*hung, 0.0, 0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle))
    body = builder.add_body(pose, mass=frame, com=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, own))
    for x, y in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        place = ((half + 0.5 * wall) * x, (half + 0.5 * wall) * y, 0.0, *REST)
        sizes = (0.5 * wall, half + wall) if x else (half, 0.5 * wall)
        builder.add_shape_box(place, *sizes, 0.5, body=body)
    builder.add_joint_revolute(-1, body, axis=(0.0, 0.0, 1.0), child_xform=(0.0, arm, 0.0, *REST))
    q = particles((-half, -half), (half, half))
    q[:, :2] = q[:, :2] @ turn.T + hung
    fluid = Fluid(sound=15.0, alpha=0.02)
    coupling, state = in_water(builder, q, fluid, ((-1.0, -1.0, 0.0), (1.0, 0.2, 0.0)))
    angles = []
    for _ in range(1500):
        coupling.step((state, state), (state, state), dt=DT)
        x, y = state.body_q.numpy()[0, :2]
        angles.append(math.atan2(x, -y))
    a = np.array(angles)
    through = np.flatnonzero((a[:-1] > 0.0) != (a[1:] > 0.0))
    period = 2.0 * DT * float(np.diff(through - a[through] / (a[through + 1] - a[through])).mean())
    inertia = own + frame * arm**2 + water * (arm**2 + 0.156 * side**2 / 6.0)
    expected = 2.0 * math.pi * math.sqrt(inertia / ((water + frame) * G * arm)) * (1.0 + angle**2 / 16.0)
    yield near("period [s]", expected, period, relative=3e-3)
    yield near("amplitude at the end [rad]", angle, float(np.abs(a[-700:]).max()), relative=0.05)
