"""Bodies among matter: what a closed system keeps, and weights that a body bears."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..coupling.coupling import Coupling
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..scene.builder import ModelBuilder
from ..scene.model import Model
from ..scene.shape_builder import ShapeConfig
from ..sph.dfsph import SolverDFSPH
from ..sph.filling import add_fluid_box
from ..sph.fluid import Fluid
from ..sph.solver import SolverSPH
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY = 9.81
REST = (0.0, 0.0, 0.0, 1.0)
FLAT = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
Maker = Callable[[Model], Any]
BOUNDS = ((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))


def lattice(count: int, spacing: float) -> np.ndarray:
    """Points of a cube over the origin, (count^3, 3) [m]."""
    axis = (np.arange(count) - 0.5 * (count - 1)) * spacing
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    up: np.ndarray = np.array([0.0, 0.5 * count * spacing, 0.0])
    return points + up


def add_cloth(builder: ModelBuilder, height: float, speed: float) -> Maker:
    """A sheet of 30 cm at a height [m], that falls."""
    builder.add_cloth_grid((-0.15, height, -0.15), FLAT, (0.1, speed, 0.0), 6, 6, 0.05, 0.05, 0.005, spring_ke=500.0)
    return lambda model: SolverXPBD(model, 10)


def add_grains(builder: ModelBuilder, height: float, speed: float) -> Maker:
    """125 grains in a cube."""
    points = lattice(5, 0.021)
    points[:, 1] += height
    builder.add_particles(points, (0.1, speed, 0.0), 0.01, 0.01)
    return lambda model: SolverDEM(model, Material(youngs_modulus=1.0e6, restitution=0.3), substeps=60)


def add_water(builder: ModelBuilder, height: float, speed: float) -> Maker:
    """A cube of water of 12 cm."""
    add_fluid_box(builder, (-0.06, height, -0.06), (0.06, height + 0.12, 0.06), 0.02, vel=(0.1, speed, 0.0))
    return lambda model: SolverSPH(model, Fluid(sound=20.0), bounds=BOUNDS)


def add_stiff_water(builder: ModelBuilder, height: float, speed: float) -> Maker:
    """The same for the incompressible solver."""
    add_water(builder, height, speed)
    return lambda model: SolverDFSPH(model, Fluid(), bounds=BOUNDS)


MATTER = {"cloth": add_cloth, "grains": add_grains, "SPH": add_water, "DFSPH": add_stiff_water}


def couple(bodies: ModelBuilder, add: Callable[[ModelBuilder, float, float], Maker], *start: float) -> Coupling:
    """Bodies of one builder, and matter that starts at a height [m] with a speed [m/s], in float64."""
    builder = ModelBuilder(gravity=bodies.gravity)
    builder.add_bodies(bodies)
    make = add(builder, *start)
    one, other = (b.finalize(device="cpu", dtype=float64) for b in (bodies, builder))
    return Coupling(SolverBodies(one, 2), [make(other)])


def momentum(coupling: Coupling, states: tuple[Any, ...]) -> np.ndarray:
    """Of bodies and matter together [kg m/s]."""
    own = (coupling.bodies.model.body_mass.numpy()[:, None] * states[0].body_qd.numpy()[:, 3:]).sum(axis=0)
    mass = coupling.matter[0].model.particle_mass.numpy()[:, None]
    total: np.ndarray = own + (mass * states[1].particle_qd.numpy()).sum(axis=0)
    return total


@case("C1", "coupling", "momentum of a closed system")
def closed_system() -> Iterator[Measurement]:
    """Matter that hits a free block gives it what it loses."""
    for name, add in MATTER.items():
        bodies = ModelBuilder(gravity=0.0)
        bodies.add_shape_box(hx=0.1, hy=0.05, hz=0.1, cfg=ShapeConfig(density=500.0), body=bodies.add_body())
        coupling = couple(bodies, add, 0.07, -1.0)
        states = coupling.states()
        before = momentum(coupling, states)
        for _ in range(30):
            coupling.step(states, states, dt=1.0 / 240.0)
        lost = np.abs(momentum(coupling, states) - before).max() / np.linalg.norm(before)
        yield at_most(f"{name}: change of momentum, relative", 1e-6, lost)


def add_tray(builder: ModelBuilder) -> None:
    """An open box, which a joint holds."""
    body = builder.add_body()
    wall = ShapeConfig(mu=0.3, density=800.0)
    builder.add_shape_box((0.0, -0.01, 0.0, *REST), 0.1, 0.01, 0.1, wall, body=body)
    for x, z in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        half = 0.01 if x else 0.1, 0.1, 0.01 if z else 0.1
        builder.add_shape_box((0.09 * x, 0.09, 0.09 * z, *REST), *half, wall, body=body)
    builder.add_joint_fixed(-1, body)


@case("C2", "coupling", "weight of matter in a tray")
def weights() -> Iterator[Measurement]:
    """The joint that holds a tray bears the weight of the tray and of what has come to rest in it, mean of 0.2 s."""
    for name in ("grains", "SPH"):
        bodies = ModelBuilder(gravity=-GRAVITY)
        add_tray(bodies)
        coupling = couple(bodies, MATTER[name], 0.02, 0.0)
        states, borne = coupling.states(), []
        for k in range(300):
            coupling.step(states, states, dt=1.0 / 240.0)
            if k >= 252:
                borne.append(states[0].joint_f.numpy()[0, 4])
        mass = coupling.bodies.model.body_mass.numpy().sum() + coupling.matter[0].model.particle_mass.numpy().sum()
        yield near(f"{name}: force of the joint [N]", mass * GRAVITY, float(np.mean(borne)), relative=0.02)
