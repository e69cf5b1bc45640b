"""Grains that settle on a floor: grain-steps a second of `SolverDEM`, beside Warp's example and LAMMPS.

    python -m benchmarks.grains [--warp] [--lammps "mpiexec -n 2 lmp"] [grains ...]

Hertz and Mindlin with damping, the history of sliding, friction, rotation and torque, float32, periodic across. A step
is one substep, new lists of neighbours included where they are due. Grains start as a shaken lattice that falls
together; after `--settle` steps all programs go on from the same positions and velocities, in turn, and the least time
of several runs is reported. The gradient of a step is given by its own time.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import warpsim as wp
from benchmarks.machine import describe
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM

RADIUS, SPREAD, DENSITY = 0.005, 0.1, 2500.0  # [m], part by which radii differ, [kg/m^3]
SAND = Material(youngs_modulus=4.0e6, restitution=0.4, friction=0.5)
PITCH, SHAKE, SPEED = 2.06, 0.03, 0.3  # of the lattice in radii, of it in pitches, of grains at first [m/s]
DT, SUBSTEPS, SETTLE = 5.0e-5, 20, 4000  # substep [s], of a step, before times are taken unless told otherwise
ROUNDS, STEPS = 5, 10  # steps of so many substeps


class Bed:
    """A bed of about `count` grains that is as high as it is wide, and repeats across."""

    def __init__(self, count: int):
        side, pitch = round(count ** (1.0 / 3.0)), PITCH * RADIUS
        rng = np.random.default_rng(0)
        cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        points = pitch * (cells + 0.5 + rng.uniform(-SHAKE, SHAKE, cells.shape))
        self.radius = RADIUS * rng.uniform(1.0 - SPREAD, 1.0, len(points))
        self.length = side * pitch
        builder = ModelBuilder()
        mass = DENSITY * 4.0 / 3.0 * math.pi * self.radius**3
        builder.add_particles(points, rng.uniform(-SPEED, SPEED, points.shape), mass, self.radius)
        builder.add_ground_plane(cfg=ShapeConfig(mu=SAND.friction, restitution=SAND.restitution))
        model = builder.finalize(requires_grad=True)
        self.solver = SolverDEM(model, SAND, 0, SUBSTEPS, period=(self.length, 0.0, self.length), overlaps="ignore")
        self.state = model.state()

    def run(self, substeps: int) -> None:
        for _ in range(substeps // SUBSTEPS):
            self.solver.step(self.state, self.state, dt=DT * SUBSTEPS)

    def seconds(self) -> float:
        """Of a substep."""
        begin = time.perf_counter()
        self.run(STEPS * SUBSTEPS)
        return (time.perf_counter() - begin) / (STEPS * SUBSTEPS)

    def gradient_seconds(self) -> float:
        """Of the adjoint of a substep, without that of the substep."""
        times, seed = [], wp.ones_like(self.state.particle_q)
        for _ in range(ROUNDS):
            with wp.Tape() as tape:
                self.run(SUBSTEPS)
            begin = time.perf_counter()
            tape.backward(grads={self.state.particle_q: seed})
            times.append((time.perf_counter() - begin) / SUBSTEPS)
            tape.zero()
        return min(times)


class Lammps:
    """The same bed in LAMMPS: pair style granular with hertz/material, mindlin and tsuji. Its z is up."""

    def __init__(self, command: str, bed: Bed, folder: Path):
        self.command, self.folder = shlex.split(command), folder
        x, v = (a.numpy()[:, [2, 0, 1]] for a in (bed.state.particle_q, bed.state.particle_qd))
        x[:, :2] %= bed.length
        ids = np.arange(1, len(x) + 1)[:, None]
        sizes = np.column_stack([2.0 * bed.radius, np.full(len(x), DENSITY)])
        atoms = np.column_stack([ids, np.ones(len(x)), sizes, x])
        moves = np.column_stack([ids, v, bed.state.particle_w.numpy()[:, [2, 0, 1]]])
        box = "\n".join(f"0 {bed.length:.9g} {a}lo {a}hi" for a in "xy") + f"\n-{RADIUS} {2.0 * bed.length:.9g} zlo zhi"
        with (folder / "bed.data").open("w", encoding="ascii") as file:
            file.write(f"bed\n\n{len(x)} atoms\n1 atom types\n{box}\n\nAtoms # sphere\n\n")
            np.savetxt(file, atoms, "%d %d %.9g %.9g %.9g %.9g %.9g")
            file.write("\nVelocities\n\n")
            np.savetxt(file, moves, "%d" + 6 * " %.9g")
        law = f"hertz/material {SAND.youngs_modulus} {SAND.restitution} {SAND.poissons_ratio}"
        law += f" tangential mindlin NULL 1.0 {SAND.friction} damping coeff_restitution"
        (folder / "in.bed").write_text(
            "units si\natom_style sphere\nboundary p p f\nnewton off\ncomm_modify vel yes\nread_data bed.data\n"
            f"neighbor {0.3 * RADIUS} bin\nneigh_modify delay 0 every 1 check yes\n"
            f"pair_style granular\npair_coeff * * {law}\n"
            f"fix wall all wall/gran granular {law} zplane 0.0 NULL\n"
            "fix move all nve/sphere\nfix pull all gravity 9.81 vector 0 0 -1\n"
            f"timestep {DT}\nthermo 1000000\nrun {SUBSTEPS}\nrun {STEPS * SUBSTEPS}\n",
            encoding="ascii",
        )

    def seconds(self) -> float:
        """Of a step."""
        command = [*self.command, "-in", "in.bed", "-log", "none"]
        shown = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout
        return float(re.findall(r"Loop time of (\S+)", shown)[-1]) / (STEPS * SUBSTEPS)


class WarpExample:
    """65,536 grains of Warp's own example: springs, dashpots, no history and no rotation."""

    def __init__(self) -> None:
        import warp  # noqa: PLC0415
        from warp.examples.core import example_dem  # noqa: PLC0415

        warp.config.quiet = True
        with warp.ScopedDevice("cpu"):
            self.example = example_dem.Example(stage_path=None)
        self.count, self.seconds()

    @property
    def count(self) -> int:
        return len(self.example.x)

    def seconds(self) -> float:
        """Of a substep."""
        begin = time.perf_counter()
        self.example.grid.build(self.example.x, self.example.grid_cell_size)
        self.example.simulate()
        return (time.perf_counter() - begin) / self.example.sim_substeps


def row(name: str, grains: int, seconds: float, rest: str = "| |") -> None:
    print(f"| {name} | {grains} | {1e3 * seconds:.2f} | {grains / seconds / 1e6:.2f} {rest}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grains", type=int, nargs="*", default=[10_000, 65_000, 1_000_000])
    parser.add_argument("--lammps", help="command with which to run it")
    parser.add_argument("--settle", type=int, default=SETTLE, help="steps before times are taken")
    parser.add_argument("--warp", action="store_true", help="run Warp's example, too")
    args = parser.parse_args(arguments)
    example = WarpExample() if args.warp else None
    print("| program | grains | ms a step | M grain-steps/s | pairs a grain | gradient by step |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    ends = []
    for size in args.grains:
        bed = Bed(size)
        bed.run(args.settle)
        n = len(bed.radius)
        with tempfile.TemporaryDirectory() as folder:
            programs = {"warpsim": bed}
            if args.lammps:
                programs["LAMMPS"] = Lammps(args.lammps, bed, Path(folder))
            if example and size == 65_000:
                programs["Warp's example"] = example
            times = [{name: program.seconds() for name, program in programs.items()} for _ in range(ROUNDS)]
        least = {name: min(t[name] for t in times) for name in programs}
        ratio = f"{bed.gradient_seconds() / least['warpsim']:.1f}" if n < 200_000 else ""
        ends.append((n, least["warpsim"]))
        row("warpsim", n, least["warpsim"], f"| {bed.solver.contact_count / n:.1f} | {ratio} |")
        for name in list(programs)[1:]:
            row(name, n if name == "LAMMPS" else example.count, least[name])
    if len(ends) > 1:
        (few, short), (many, long) = ends[0], ends[-1]
        print(f"\ntime of a step grows as n^{math.log(long / short) / math.log(many / few):.2f}")
    print("; ".join(f"{name}: {fact}" for name, fact in describe().items()))


if __name__ == "__main__":
    main()
