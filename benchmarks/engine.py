"""An engine that stands on Warp, with Warp and with warpsim below it: Newton's solvers on the CPU, values and times.

    python -m benchmarks.engine [cloth] [soft] [particles]    # some of the scenes; default: all; --steps, --solvers

Every run has a process of its own. Warp runs again from starts that are up to 1e-7 of the scene's size off: what that
changes is how far results of another implementation may be from Warp's. Colours of vertices are the same on both sides.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.process import start_command

SCENES, SOLVERS = ("cloth", "soft", "particles"), ("semi-implicit", "xpbd", "vbd")
DT, STEPS = 1.0 / 240.0, 200
PARTS = {"semi-implicit": 16, "xpbd": 2, "vbd": 1}  # of a step; all but VBD are stable for short ones only
MAKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "semi-implicit": ("SolverSemiImplicit", {"enable_tri_contact": False}),  # which tries all pairs of triangles
    "xpbd": ("SolverXPBD", {"iterations": 5, "soft_body_relaxation": 0.3}),
    "vbd": ("SolverVBD", {"iterations": 5}),
}
NUDGES = (1.0e-7, -1.0e-7, 0.7e-7)  # of the scene's size: two ways, and less
CHAOS = 1.0e-2  # a nudged start that goes further off than this says nothing about agreement [m]


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves warpsim to everyone who imports warp."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        is_warp = name.partition(".")[0] == "warp"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_warp else None

    def create_module(self, spec: object) -> None:
        """Python's own kind of module, which gives way below."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module("warpsim" + name.removeprefix("warp"))


# ----- one run, in a process of its own -----------------------------------------------------------


def colors(count: int, *elements: Any) -> list[Any]:
    """Groups of vertices of which no two share an element, first come, first coloured; -1 stands for no vertex."""
    near: list[set[int]] = [set() for _ in range(count)]
    for corners in (row for rows in elements for row in np.asarray(rows, dtype=int).tolist()):
        for corner in corners:
            if corner >= 0:
                near[corner].update(c for c in corners if c >= 0)
    color = [-1] * count
    for vertex, others in enumerate(near):
        taken = {color[other] for other in others}
        color[vertex] = next(c for c in range(count) if c not in taken)
    return [np.flatnonzero(np.array(color) == c) for c in range(max(color) + 1)]


def build(newton: Any, warp: Any, scene: str, solver: str, cells: int) -> Any:
    """A scene for a solver, which has springs for XPBD and triangles for the others where it is a cloth."""
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
    place = {"pos": warp.vec3(0.0, 1.0, 0.0), "rot": warp.quat_identity(), "vel": warp.vec3()}
    size = 0.1 if scene == "cloth" else 1.0 / cells
    builder.default_particle_radius = 0.25 * size  # neighbours of a mesh do not touch
    if scene == "cloth":  # flat and level, held at one side: it swings down without folds, which are chaotic
        place["rot"] = warp.quat_from_axis_angle(warp.vec3(1.0, 0.0, 0.0), 0.5 * math.pi)
        stiffness = {"tri_ke": 1.0e3, "tri_ka": 1.0e3, "tri_kd": 0.0, "edge_ke": 1.0, "edge_kd": 0.0}
        if solver == "xpbd":
            stiffness |= {"add_springs": True, "spring_ke": 1.0e3, "spring_kd": 0.0}
        builder.add_cloth_grid(
            **place, dim_x=cells, dim_y=cells, cell_x=size, cell_y=size, mass=0.1, fix_left=True, **stiffness
        )
    elif scene == "soft":
        third = max(cells // 4, 1)
        builder.add_soft_grid(
            **place, dim_x=cells, dim_y=third, dim_z=third, cell_x=size, cell_y=size, cell_z=size,
            density=1.0e3, k_mu=1.0e4, k_lambda=1.0e4, k_damp=0.0, fix_left=True,
        )  # fmt: skip
    else:
        builder.add_particle_grid(
            **place, dim_x=cells, dim_y=cells, dim_z=cells, cell_x=size, cell_y=size, cell_z=size,
            mass=1.0, jitter=0.0, radius_mean=0.505 * size,
        )  # fmt: skip
    if solver == "vbd":
        builder.set_coloring(colors(
            len(builder.particle_q), builder.tri_indices, builder.tet_indices, builder.edge_indices))  # fmt: skip
    return builder


def simulate(scene: str, solver: str, cells: int, steps: int, nudge: float) -> dict[str, Any]:
    """Positions after the first step and the last [m], and the median time of a step [s]."""
    newton, warp = importlib.import_module("newton"), importlib.import_module("warp")
    warp.config.quiet = True
    model = build(newton, warp, scene, solver, cells).finalize(device="cpu")
    make, options = MAKERS[solver]
    solve = getattr(newton.solvers, make)(model, **options)
    now, after, control = model.state(), model.state(), model.control()
    start = now.particle_q.numpy()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], start.shape)
    now.particle_q.assign((start + nudge * np.abs(start).max() * signs).astype(np.float32))
    first, seconds = None, []
    for _ in range(steps):
        begin = time.perf_counter()
        for _ in range(PARTS[solver]):
            now.clear_forces()
            if scene == "particles":
                model.particle_grid.build(now.particle_q, model.particle_max_radius)
            solve.step(now, after, control, None, DT / PARTS[solver])
            now, after = after, now
        seconds.append(time.perf_counter() - begin)
        first = now.particle_q.numpy().copy() if first is None else first
    return {"first": first, "last": now.particle_q.numpy(), "seconds": np.median(seconds)}


def child(arguments: Sequence[str]) -> None:
    """What a process of its own does: simulate, and leave the arrays in a file."""
    side, scene, solver, cells, steps, nudge, file = arguments
    if side == "warpsim":
        sys.meta_path.insert(0, Replaced())
    np.savez(file, **simulate(scene, solver, int(cells), int(steps), float(nudge)))


# ----- both sides, compared -----------------------------------------------------------------------


def run(side: str, scene: str, solver: str, cells: int, steps: int, nudge: float = 0.0) -> dict[str, Any]:
    """The arrays of a run in a process of its own; exits with what the process said where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "arrays.npz")
        command = start_command(sys.executable, "engine", "--child", side, scene, solver,
                                str(cells), str(steps), str(nudge), file)  # fmt: skip
        paths = [str(Path(__file__).resolve().parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(f"{scene} with {solver} under {side} failed\n{ended.stderr[-2000:]}")
        with np.load(file) as arrays:
            return dict(arrays)


def row(scene: str, solver: str, cells: int, steps: int) -> list[str]:
    """A line of the table: how far from Warp, beside how far nudged starts take Warp from itself [m]."""
    theirs, *nudged = (run("warp", scene, solver, cells, steps, nudge) for nudge in (0.0, *NUDGES))
    ours = [run("warpsim", scene, solver, cells, steps)]

    def off(runs: Sequence[dict[str, Any]], key: str) -> float:
        return max(float(np.abs(of[key] - theirs[key]).max()) for of in runs)

    says_something = off(nudged, "last") <= CHAOS or off(ours, "last") == 0.0
    agrees = says_something and all(off(ours, key) <= off(nudged, key) for key in ("first", "last"))
    return [
        f"{scene} {solver}",
        *(f"{off(ours, key):.1e} / {off(nudged, key):.1e}" for key in ("first", "last")),
        "yes" if agrees else "no",
        *(f"{1.0e3 * side['seconds']:.2f}" for side in (*ours, theirs)),
    ]


def pairs(scenes: Iterable[str], solvers: Iterable[str]) -> list[tuple[str, str]]:
    """What is run: all but free particles with VBD, which does nothing for them."""
    return [(a, b) for a in scenes for b in solvers if (a, b) != ("particles", "vbd")]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    if arguments[:1] == ["--child"]:
        return child(arguments[1:])
    parser = argparse.ArgumentParser(prog="benchmarks.engine", description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(SCENES))
    parser.add_argument("--solvers", nargs="*", choices=SOLVERS, default=SOLVERS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--cells", type=int, help="along an edge; default 64, for soft bodies and particles 16")
    chosen = parser.parse_args(arguments)
    wrong = sorted(set(chosen.scenes) - set(SCENES))
    if wrong:
        sys.exit(f"no scene is named {', '.join(wrong)}; there are {', '.join(SCENES)}")
    print(f"| scene, solver | after 1 step, ours / Warp nudged | after {chosen.steps} | agree | ms warpsim | ms Warp |")
    print("|---|---:|---:|---|---:|---:|")
    for scene, solver in pairs(chosen.scenes or SCENES, chosen.solvers):
        cells = chosen.cells or (64 if scene == "cloth" else 16)
        print("| " + " | ".join(row(scene, solver, cells, chosen.steps)) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
