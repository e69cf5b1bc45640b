"""XPBD of cloth: warpsim beside a plain loop and beside Newton under Warp, in one run on the CPU.

    python -m benchmarks.cloth [projections] [newton] [growth] [backward]    # some of the tables; default: all

Sides take turns and minima are reported, so that a slow minute of the machine falls on all of them. Newton solves the
very springs, bending edges, obstacles and particles of warpsim's scene, on one thread as it does on a CPU; its solver
averages the corrections of a particle (Jacobi), so that its cloth is softer at equal work, which no figure here shows.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import warpsim as wp
from benchmarks.turns import timed
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

CELLS, SUBSTEPS, ROUNDS, DT = 127, 10, 7, 1.0 / 60.0
RADIUS = 0.3  # of the ball below the cloth [m]


def sheet(cells: int, bending: float | None = 1.0e-4) -> ModelBuilder:
    """A square metre of cloth, a hand above a ball and a floor."""
    builder, lying = ModelBuilder(), (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
    corner, size = (-0.5, RADIUS + 0.32, -0.5), 1.0 / cells
    builder.default_particle_radius = 0.25 * size
    builder.add_cloth_grid(
        corner, lying, 0.0, cells, cells, size, size, 0.2 / (cells + 1) ** 2, spring_ke=1.0e4, edge_ke=bending
    )
    surface = ShapeConfig(mu=0.3)
    builder.add_ground_plane(cfg=surface)
    builder.add_shape_sphere((0.0, RADIUS, 0.0, 0.0, 0.0, 0.0, 1.0), RADIUS, surface)
    return builder


# ----- projections of distances -------------------------------------------------------------------


def plain_loop() -> Any:
    """The projection as one writes it for one core, compiled by Numba; None without it."""
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def project(x: Any, pairs: Any, rest: Any, soft: Any) -> None:
        for c in range(len(pairs)):
            i, j = pairs[c, 0], pairs[c, 1]
            dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            distance = np.sqrt(dx * dx + dy * dy + dz * dz)
            w = x[i, 3] + x[j, 3] + soft[c]
            if distance > 0.0 and w > 0.0:
                change = -(distance - rest[c]) / (w * distance)
                a, b = change * x[i, 3], change * x[j, 3]
                x[i, 0] += a * dx
                x[i, 1] += a * dy
                x[i, 2] += a * dz
                x[j, 0] -= b * dx
                x[j, 1] -= b * dy
                x[j, 2] -= b * dz

    return project


def projections(cells: int = CELLS) -> list[list[str]]:
    """All springs of a cloth once, colour by colour: replayed as one call, and in a plain loop on one core."""
    builder = sheet(cells, bending=None)
    model = builder.finalize("cpu")
    solver, state = SolverXPBD(model, 1), model.state()
    solver.step(state, state, None, None, DT)
    springs, w, n = solver.constraints["springs"], solver.workspace, model.spring_count
    with wp.ScopedCapture(device="cpu") as sweep:
        springs.project(w.x)
    sides: dict[str, Callable[[], Any]] = {"warpsim": lambda: wp.capture_launch(sweep.graph)}
    plain = plain_loop()
    if plain is not None:
        order, material = springs.coloring.order, springs.material.numpy().copy()
        pairs = model.spring_indices.numpy()[order].astype(np.int64)
        x = w.x.numpy().copy()
        sides["plain loop"] = lambda: plain(x, pairs, material[:, 0], material[:, 1])
    best = timed(sides, 40)
    title = f"distance projections, {cells + 1} x {cells + 1}, {n} in {len(springs.coloring.ranges)} colours"
    return [[title, name, f"{n / s / 1.0e6:.0f} M/s", f"{1.0e9 * s / n:.1f} ns each"] for name, s in best.items()]


# ----- the same scene in Newton -------------------------------------------------------------------


def newton_frame(builder: ModelBuilder) -> Callable[[], Any]:
    """A function that advances Newton's copy of a scene by a frame."""
    newton, warp = importlib.import_module("newton"), importlib.import_module("warp")
    warp.config.quiet = True
    other = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
    q, mass, radius = (builder.particles[name] for name in ("q", "mass", "radius"))
    for position, m, r in zip(q.tolist(), mass.tolist(), radius.tolist(), strict=True):
        other.add_particle(pos=warp.vec3(position), vel=warp.vec3(), mass=m, radius=r)
    for i, j in builder.springs["indices"].tolist():
        other.add_spring(i, j, 1.0e4, 0.0, 0.0)
    for i, j, k, m in builder.edges["indices"].tolist():
        other.add_edge(i, j, k, m, edge_ke=1.0e-4, edge_kd=0.0)
    surface = newton.ModelBuilder.ShapeConfig(mu=0.3)
    other.add_ground_plane(cfg=surface)
    pose = warp.transform((0.0, RADIUS, 0.0), warp.quat_identity())
    other.add_shape_sphere(-1, xform=pose, radius=RADIUS, cfg=surface)
    model = other.finalize(device="cpu")
    model.particle_grid = None  # without collisions of particles, as on the other side
    model.particle_max_radius = 0.0
    solver = newton.solvers.SolverXPBD(model, iterations=1)
    states, control = [model.state(), model.state()], model.control()
    pipeline = newton.CollisionPipeline(model)
    contacts = pipeline.contacts()

    def frame() -> None:
        pipeline.collide(states[0], contacts)
        for _ in range(SUBSTEPS):
            states[0].clear_forces()
            solver.step(states[0], states[1], control, contacts, DT / SUBSTEPS)
            states.reverse()

    return frame


def beside_newton() -> list[list[str]]:
    """A frame of a cloth that falls on a ball."""
    builder = sheet(CELLS)
    model = builder.finalize("cpu")
    solver, state = SolverXPBD(model, SUBSTEPS), model.state()
    ours = lambda: solver.step(state, state, None, None, DT)  # noqa: E731
    ours()  # the step is captured the second time
    best = timed({"warpsim": ours, "Newton": newton_frame(builder)}, ROUNDS)
    title = f"a frame of {SUBSTEPS} substeps: {model.spring_count} springs, {model.edge_count} bending edges, contact"
    times = [[title, name, f"{1.0e3 * s:.1f} ms", f"{s / best['warpsim']:.1f}"] for name, s in best.items()]
    return times


# ----- how costs grow, and gradients --------------------------------------------------------------


def growth() -> list[list[str]]:
    """A substep with bending and contact from a thousand springs to a million, and the exponent of its cost."""
    found = []
    for cells in (16, 50, 158, 500):
        model = sheet(cells).finalize("cpu")
        solver, state = SolverXPBD(model, 1), model.state()
        step = lambda solver=solver, state=state: solver.step(state, state, None, None, DT / SUBSTEPS)  # noqa: E731
        step()
        found.append((model.spring_count, timed({"": step}, ROUNDS)[""]))
    rows = [["a substep, with bending and contact", f"{n:,} springs", f"{1.0e9 * s / n:.1f} ns a spring", ""]
            for n, s in found]  # fmt: skip
    (small, quick), (large, slow) = found[0], found[-1]
    rows[-1][3] = f"cost grows as n^{math.log(slow / quick) / math.log(large / small):.2f}"
    return rows


def backward() -> list[list[str]]:
    """Twenty frames on a tape, and back."""
    model = sheet(CELLS).finalize("cpu")
    solver, states = SolverXPBD(model, SUBSTEPS), [model.state(requires_grad=True) for _ in range(21)]
    weight = wp.ones(model.particle_count, dtype=wp.vec3, device="cpu")
    tapes: list[Any] = []

    def forward() -> None:
        for before, after in itertools.pairwise(states):
            solver.step(before, after, None, None, DT)

    def record() -> None:
        with wp.Tape() as tape:
            forward()
        tapes[:] = [tape]

    best = timed({
        "forward": forward, "forward, recorded": record,
        "backward": lambda: tapes[0].backward(grads={states[-1].particle_q: weight}),
    }, 3)  # fmt: skip
    title = f"{20 * SUBSTEPS} substeps with contact"
    return [[title, name, f"{1.0e3 * s:.0f} ms", f"{s / best['forward']:.1f}"] for name, s in best.items()]


TABLES = {"projections": projections, "newton": beside_newton, "growth": growth, "backward": backward}


def main(arguments: list[str]) -> None:
    """Print the tables that are asked for."""
    wrong = sorted(set(arguments) - set(TABLES))
    if wrong:
        sys.exit(f"no table is named {', '.join(wrong)}; there are {', '.join(TABLES)}")
    print("| | | time | |\n|---|---|---:|---:|")
    for name in arguments or TABLES:
        for row in TABLES[name]():
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
