"""Elastic bodies of XPBD against beam theory and finite elements: bars, cantilevers, strips of cloth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import float64
from ..scene import cloth, soft
from ..scene.builder import ModelBuilder
from ..validate import FULL, Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY, DENSITY = 9.81, 1000.0


def settle(builder: ModelBuilder, seconds: float, damping: float, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) [m] before and after."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, damping=damping, **options), model.state()
    before = state.particle_q.numpy().copy()
    for _ in range(round(60 * seconds)):
        solver.step(state, state, None, None, 1.0 / 60.0)
    return before, state.particle_q.numpy().copy()


@case("X5", "xpbd", "hanging bar of tetrahedra")
def hanging_bar() -> Iterator[Measurement]:
    """The free end of a bar with Poisson's ratio 0 sinks by rho g L^2 / (2 E)."""
    builder = ModelBuilder(gravity=-GRAVITY)
    rubber = {"youngs_modulus": 1e6, "poissons_ratio": 0.0, "fix": lambda p: p[:, 1] > 0.999}
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0, 2, 10, 2, 0.1, 0.1, 0.1, DENSITY, **rubber)
    before, after = settle(builder, 2.0, 8.0, substeps=20, iterations=3)
    sunk = (before - after)[before[:, 1] < 1e-6, 1].mean()
    yield near("displacement of the end [m]", DENSITY * GRAVITY / 2e6, sunk, relative=0.03)


def bar(youngs_modulus: float, poissons_ratio: float = 0.3, damping: float = 0.0) -> ModelBuilder:
    """A hanging bar of 0.2 x 0.6 x 0.2 m, held at its upper end, of 500 kg/m^3."""
    builder = ModelBuilder(gravity=-GRAVITY)
    rubber = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio, "k_damp": damping}
    upper = {"fix": lambda p: p[:, 1] > 0.599}
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0, 2, 6, 2, 0.1, 0.1, 0.1, 500.0, **rubber, **upper)
    return builder


@case("X22", "xpbd", "bars of any stiffness hang at rest")
def stiff_bars() -> Iterator[Measurement]:
    """What the weight can give a bar, half of m g times its sag rho g L^2 / (2 E), is not exceeded by its motion, nor
    twice the sag and a hundredth of what gravity adds in a substep by the way of a particle. A cantilever sags as a
    static finite element solution on the same mesh does. All with the default ten substeps of one iteration."""
    for exponent in (6, 7, 8, 9, 11):
        model = bar(10.0**exponent).finalize(device="cpu", dtype=float64)
        solver, state, most = SolverXPBD(model), model.state(), 0.0
        before = state.particle_q.numpy().copy()
        for _ in range(60):
            solver.step(state, state, None, None, 1.0 / 60.0)
            most = max(most, solver.statistics(state).kinetic_energy)
        sunk = 500.0 * GRAVITY * 0.36 / (2.0 * 10.0**exponent)
        yield at_most(f"largest kinetic energy [J], E = 1e{exponent} Pa", 0.5 * 500.0 * GRAVITY * 0.024 * sunk, most)
        way = np.abs(state.particle_q.numpy() - before).max()
        yield at_most("longest way of a particle [m]", 2.0 * sunk + 0.01 * GRAVITY / 600.0**2, way)
    for exponent in (7, 8, 9):
        before, after = settle(cantilever((5, 1, 1), 10.0**exponent), 2.0, 10.0)
        exact = static_sag((5, 1, 1), 10.0**exponent)
        sunk = float((before - after)[before[:, 0] > 1.0 - 1e-6, 1].mean())
        yield near(f"sag of a cantilever [m], E = 1e{exponent} Pa", exact, sunk, relative=0.01)


@case("X23", "xpbd", "damping does not soften")
def damped_bars() -> Iterator[Measurement]:
    """A bar sinks by rho g L^2 / (2 E), and a chain by m g N (N + 1) / (2 k), however much they are damped."""
    exact = 500.0 * GRAVITY * 0.36 / 2e5
    for damping in (0.0, 0.01, 0.05):
        before, after = settle(bar(1e5, 0.0, damping), 3.0, 3.0)
        sunk = (before - after)[before[:, 1] < 1e-6, 1].mean()
        yield near(f"sag of a bar [m], k_damp = {damping} s", exact, sunk, relative=0.05)
    for damping in (0.0, 5.0, 50.0):
        builder = ModelBuilder(gravity=-GRAVITY)
        builder.add_particles(np.array([[0.0, -0.1 * i, 0.0] for i in range(11)]), mass=[0.0] + [0.1] * 10)
        builder.add_springs([(i, i + 1) for i in range(10)], 1000.0, damping)
        before, after = settle(builder, 6.0, 2.0)
        sunk = (before - after)[-1, 1]
        yield near(f"extension of a chain [m], spring_kd = {damping}", 0.1 * GRAVITY * 110.0 / 2e3, sunk, relative=0.05)


def cantilever(cells: tuple[int, int, int], youngs_modulus: float) -> ModelBuilder:
    """A beam of 1 x 0.2 x 0.2 m along x, held at x = 0."""
    builder = ModelBuilder(gravity=-GRAVITY)
    size = np.array([1.0, 0.2, 0.2]) / cells
    builder.add_soft_grid(
        (0, 0, 0),
        (0, 0, 0, 1),
        0,
        *cells,
        *size,
        DENSITY,
        youngs_modulus=youngs_modulus,
        poissons_ratio=0.3,
        fix=lambda p: p[:, 0] < 1e-6,
    )
    return builder


def sag(cells: tuple[int, int, int], youngs_modulus: float = 1e7, iterations: int = 10) -> float:
    """How far [m] the end face of the cantilever sinks."""
    builder = cantilever(cells, youngs_modulus)
    before, after = settle(builder, 2.0, 10.0, substeps=20, iterations=iterations)
    return float((before - after)[before[:, 0] > 1.0 - 1e-6, 1].mean())


def static_sag(cells: tuple[int, int, int], youngs_modulus: float = 1e7) -> float:
    """The same by linear finite elements on the same tetrahedra, a dense solve."""
    rest, tets = soft.block(cells, tuple(np.array([1.0, 0.2, 0.2]) / cells))
    volumes, (mu, lam) = soft.volumes(rest, tets), soft.lame(youngs_modulus, 0.3)
    n = len(rest)
    stiffness, force = np.zeros((n, 3, n, 3)), np.zeros((n, 3))
    for tet, volume in zip(tets, volumes, strict=True):
        slopes = np.linalg.inv((rest[tet[1:]] - rest[tet[0]]).T)
        g = np.vstack([-slopes.sum(axis=0), slopes])
        force[tet, 1] -= DENSITY * GRAVITY * volume / 4.0
        block = lam * np.einsum("ai,bj->aibj", g, g) + mu * np.einsum("bi,aj->aibj", g, g)
        block += mu * np.einsum("ak,bk,ij->aibj", g, g, np.eye(3))
        stiffness[np.ix_(tet, range(3), tet, range(3))] += volume * block
    free = np.repeat(rest[:, 0] > 1e-6, 3)
    u = np.zeros(3 * n)
    u[free] = np.linalg.solve(stiffness.reshape(3 * n, 3 * n)[np.ix_(free, free)], force.ravel()[free])
    return float(-u.reshape(n, 3)[rest[:, 0] > 1.0 - 1e-6, 1].mean())


@case("X6", "xpbd", "cantilever of tetrahedra", tier=FULL)
def beam() -> Iterator[Measurement]:
    """Linear tetrahedra lock, so the reference is a static finite element solution on the same mesh; with refinement
    it tends to Timoshenko's 0.0383 m. The sag goes with 1 / E."""
    coarse = sag((5, 1, 1))
    medium = sag((10, 2, 2))
    yield near("sag with 5 x 1 x 1 cells [m]", static_sag((5, 1, 1)), coarse, relative=0.05)
    yield near("sag with 10 x 2 x 2 cells [m]", static_sag((10, 2, 2)), medium, relative=0.05)
    yield near("sag with E doubled, relative", 0.5, sag((10, 2, 2), 2e7, iterations=20) / medium, relative=0.03)


def strip(gamma: float, bending: str, seconds: float = 3.0, up: str = "Y", push: float = 0.0) -> np.ndarray:
    """Where the end (3,) [m] of a strip of length 1 m along x is after some seconds, which is held at its other end.

    gamma: weight per length times L^3 / rigidity. One row of square cells with stiff springs; the first is held, and so
    clamps the next. push: how far the strip leans to one side at first, by its height.
    """
    segments = 40
    cell, columns = 1.0 / segments, np.arange(-1, segments + 1)
    builder = ModelBuilder(gravity=-GRAVITY, up_axis=up)
    mass = np.where(columns <= 0, 0.0, np.where(columns == segments, 0.25, 0.5) * cell / GRAVITY)
    rows = []
    for z in (0.0, cell):
        points = np.stack([columns * cell, 0.0 * columns, 0.0 * columns + z], axis=1)
        rows.append(np.array(builder.add_particles(points, mass=mass)))
    builder.add_springs(cloth.grid_springs(np.array(rows)), ke=1e5)
    builder.add_edges(cloth.hinges(cloth.grid_triangles(np.array(rows))), edge_ke=1.0 / (gamma * cell))
    builder.particles["q"][:, 1] += push * np.maximum(builder.particles["q"][:, 0], 0.0)
    _, after = settle(builder, seconds, 4.0, substeps=max(50, round(400 / gamma)), iterations=10, bending=bending)
    return after[[row[-1] for row in rows]].mean(axis=0)


@case("X7", "xpbd", "heavy elastica: cloth bends by its weight", tier=FULL)
def elastica() -> Iterator[Measurement]:
    """Drop of a horizontally clamped inextensible strip of weight w per length, rigidity B: Gamma = w L^3 / B. The
    chord of 41.5 degrees at Gamma = 8 is the cloth test of Peirce and ASTM D1388. Stiff strips need short substeps for
    ten iterations to reach across their hinges: at Gamma = 1, 50 substeps of a sixtieth of a second leave a drop of
    0.2007, 100 one of 0.1276, 200 and 400 one of 0.1233."""
    exact = {1: 0.12347, 2: 0.23851, 8: 0.64063, 20: 0.82988}
    for gamma, drop in exact.items():
        for bending in ("dihedral", "isometric"):
            yield near(f"drop H/L at Gamma = {gamma}, {bending}", drop, -strip(gamma, bending)[1], relative=0.01)


@case("X24", "xpbd", "strip that buckles under its weight", tier=FULL)
def self_buckling() -> Iterator[Measurement]:
    """An upright strip stands for Gamma = w L^3 / B below 7.837 (A. Greenhill 1881). At 12 it leans by 0.84953 of its
    length at a height of 0.16214: theta'' = -Gamma (1 - s) sin theta, theta(0) = theta'(1) = 0, by shooting."""
    for bending in ("dihedral", "isometric"):
        yield at_most(f"lean at Gamma = 7, {bending}", 0.01, abs(strip(7.0, bending, 8.0, "X", 0.01)[1]))
        height, lean, _ = strip(12.0, bending, 8.0, "X", 0.01)
        yield near(f"lean at Gamma = 12, {bending}", 0.84953, lean, relative=0.02)
        yield near(f"height at Gamma = 12, {bending}", 0.16214, height, absolute=0.02)
