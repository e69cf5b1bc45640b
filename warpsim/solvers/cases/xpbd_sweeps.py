"""Surfaces of XPBD that fly into each other by several lengths of an edge in a substep, against closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import float64
from ..scene.builder import ModelBuilder
from ..contact.surface_contacts import SurfaceContacts
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

EDGE, SUBSTEP = 0.05, 1.0 / 600.0
SPEED = 3.0 * EDGE / SUBSTEP  # three edges in a substep
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def fly(builder: ModelBuilder, substeps: int, friction: float = 0.0) -> tuple[np.ndarray, int]:
    """Velocities afterwards (n, 3) [m/s], and after how many substeps something was entangled."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state, entangled = SolverXPBD(model, substeps=1), model.state(), 0
    contacts = SurfaceContacts(model, friction=friction)
    for _ in range(substeps):
        solver.step(state, state, None, contacts, SUBSTEP)
        entangled += solver.statistics(state).crossed() is not None
    return state.particle_qd.numpy(), entangled


def free_space() -> ModelBuilder:
    builder = ModelBuilder(gravity=0.0)
    builder.default_particle_radius = 0.002
    return builder


def corner_on_triangle(phase: float, mass: float = 1.0, friction: float = 0.0, along: float = 0.0) -> np.ndarray:
    """Velocity [m/s] of 0.1 kg that hits the middle of a triangle of three times `mass`, that part of a substep after
    the second; along: its speed along the triangle."""
    builder = free_space()
    corners = EDGE * np.array([[1.0, 0.0, 0.0], [-0.5, 0.866, 0.0], [-0.5, -0.866, 0.0]])
    builder.add_particles(corners, mass=mass)
    builder.add_triangles([(0, 1, 2)])
    v = np.array([along, 0.0, -SPEED])
    builder.add_particle([0.0, 0.0, 0.004] - (2.0 + phase) * SUBSTEP * v, v, 0.1)
    return np.asarray(fly(builder, 6, friction)[0][3])


def edge_on_edge(phase: float) -> float:
    """The speed [m/s] of an edge of 0.2 kg after its middle has hit that of another of 0.6 kg, across."""
    builder = free_space()
    x, y, z = 0.5 * EDGE * np.eye(3)
    down = np.array([0.0, 0.0, -SPEED])
    height = [0.0, 0.0, 0.004] - (2.0 + phase) * SUBSTEP * down
    places = np.array([-x, x, 9.0 * y - 9.0 * z, height - y, height + y, height + 9.0 * x + 9.0 * z])
    builder.add_particles(places[:3], 0.0, [0.3, 0.3, 1e-6])
    builder.add_particles(places[3:], down, [0.1, 0.1, 1e-6])
    builder.add_triangles([(0, 1, 2), (3, 4, 5)])
    return float(fly(builder, 6)[0][3:5, 2].mean())


def sheets(phase: float) -> tuple[np.ndarray, float, int]:
    """Of a sheet that flies into its own image, turned by half: momentum won per that of one, the median of velocities
    along the normal of the one per that before, and after how many substeps something was entangled."""
    builder, cells = free_space(), 8
    half = 0.5 * cells * EDGE
    for side in (1.0, -1.0):
        turn = UPRIGHT if side > 0.0 else (1.0, 0.0, 0.0, 0.0)
        corner = [-half + 0.13 * EDGE, side * (-half + 0.21 * EDGE), side * (0.002 + (2.0 + phase) * SPEED * SUBSTEP)]
        v = (0.1 * SPEED, side * 0.07 * SPEED, -side * SPEED)
        builder.add_cloth_grid(corner, turn, v, cells, cells, EDGE, EDGE, 0.01, spring_ke=10.0, edge_ke=1.0e-4)
    before = builder.particles["qd"].sum(axis=0)
    v, entangled = fly(builder, 8)
    n = len(v) // 2
    return (v.sum(axis=0) - before) / (n * SPEED), float(np.median(v[:n, 2]) / SPEED), entangled


@case("X26", "xpbd", "surfaces that meet at three edges in a substep")
def clashes() -> Iterator[Measurement]:
    """Impacts without rebound: what hits the middle of the other goes on with it at m v / (m + M), whenever in a
    substep it comes, and friction takes mu v_n of its speed along what is held. Two sheets that fly into each
    other stop, but for particles that pass beside a border; no edge is in a triangle at the end of any substep."""
    for phase in (0.05, 0.5, 0.95):
        common = -SPEED * 0.1 / (0.1 + 3.0)
        yield near(f"corner and triangle [m/s], phase {phase}", common, corner_on_triangle(phase)[2], relative=0.01)
        yield near(f"edge and edge [m/s], phase {phase}", -SPEED * 0.2 / 0.8, edge_on_edge(phase), relative=0.01)
        slide: Any = 0.25 * SPEED - corner_on_triangle(phase, 0.0, 0.1, 0.25 * SPEED)[0]
        yield near(f"friction 0.1 of an impact [m/s], phase {phase}", 0.1 * SPEED, slide, relative=0.01)
    gains, medians, entangled = zip(*(sheets(phase) for phase in (0.05, 0.35, 0.65, 0.95)), strict=True)
    yield at_most("momentum that two sheets win, per theirs", 1e-12, np.abs(gains).max())
    yield near("median of speeds along the normal, per that before", 0.0, np.abs(medians).max(), absolute=0.03)
    yield at_most("substeps after which something is entangled", 0, sum(entangled))
