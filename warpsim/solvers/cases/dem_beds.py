"""Validation of `SolverDEM`: what grains do together in silos, through an outlet, and when their walls go."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ...core.language import array, int32, vec3f
from ...geometry.mesh.mesh import Mesh
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import FULL, Measurement, at_least, at_most, case, near
from .dem import ball_mass

GRAIN, DENSITY, GRAVITY = 0.005, 2500.0, 9.81  # diameter [m], [kg/m^3], [m/s^2]
STEP, SUBSTEPS = 1.0e-3, 20
UPRIGHT = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # turns z to y


class Bed:
    """Grains that rain into an upright pipe with a floor; `more` adds shapes to its builder."""

    def __init__(
        self, count: int, radius: float, mu: float, wall_mu: float, floor: bool = True, more: Any = None, **options: Any
    ):
        rng, pitch = np.random.default_rng(1), 1.08 * GRAIN
        across = pitch * (np.arange(-40, 41))
        flat = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
        flat = flat[np.hypot(*flat.T) < radius - 0.6 * GRAIN]
        layer = np.arange(count) // len(flat)
        points = np.stack([*flat[np.arange(count) % len(flat)].T, pitch * (layer + 0.6)], axis=1)[:, [0, 2, 1]]
        points += rng.uniform(-0.03, 0.03, points.shape) * GRAIN
        builder = ModelBuilder(gravity=-GRAVITY)
        self.mass = ball_mass(0.5 * GRAIN, DENSITY)
        builder.add_particles(points, rng.uniform(-0.05, 0.05, points.shape), self.mass, 0.5 * GRAIN)
        surface = ShapeConfig(mu=mu, restitution=0.3)
        self.pipe = builder.add_shape_cylinder(
            [0.0, 0.0, 0.0, *UPRIGHT], radius, 100.0, ShapeConfig(mu=wall_mu, restitution=0.3), hollow=True
        )
        self.floor = builder.add_ground_plane(cfg=surface) if floor else -1
        self.added = more(builder, surface) if more else ()
        self.model = builder.finalize()
        material = Material(5.0e6, 0.25, 0.3, mu, rolling_friction=0.1)
        self.solver = SolverDEM(self.model, material, substeps=SUBSTEPS, **options)
        self.state, self.control = self.model.state(), self.model.control()
        self.weight = count * self.mass * GRAVITY

    def run(self, seconds: float, each: Any = None) -> None:
        for _ in range(round(seconds / STEP)):
            self.solver.step(self.state, self.state, self.control, dt=STEP)
            self.control.advance(STEP)
            if each:
                each()

    def widen(self) -> None:
        """Take the pipe away: as wide as that it is never met."""
        scale = self.model.shape_scale.numpy()
        scale[self.pipe, 0] = 1.0e6
        self.model.shape_scale.assign(scale)

    @property
    def q(self) -> np.ndarray:
        return self.state.particle_q.numpy().astype(np.float64)


@case("D8", "dem", "load on the floor of a silo", FULL)
def janssen() -> Iterator[Measurement]:
    """Walls carry grains: floor load / weight = (l / H)(1 - exp(-H / l)), l = D / (4 mu K), with K = 1/2 (H. Janssen
    1895). The wall moves up by 2 mm, so that friction is mobilised everywhere."""
    for count, mu in ((1120, 0.5), (2130, 0.5), (3200, 0.5), (1120, 0.0)):
        bed = Bed(count, 5.0 * GRAIN, 0.5, mu)
        bed.run(0.6)
        bed.control.set_shape(bed.pipe, velocity=(0.0, 0.005, 0.0))
        bed.run(0.3)
        loads: list[float] = []
        bed.run(0.1, lambda bed=bed, loads=loads: loads.append(-float(bed.solver.shape_force.numpy()[bed.floor, 4])))
        height = 2.0 * bed.q[:, 1].mean() / (10.0 * GRAIN)
        name = f"load by weight, H/D = {height:.2f}"
        if mu == 0.0:
            yield near(f"{name}, smooth wall", 1.0, np.mean(loads) / bed.weight, absolute=0.07)
        else:
            janssens = (1.0 - math.exp(-height)) / height
            yield near(name, janssens, np.mean(loads) / bed.weight, relative=0.12)


@case("D9", "dem", "collapse of columns", FULL)
def collapse() -> Iterator[Measurement]:
    """A column spreads by 1.24 a of its radius for aspect ratios a < 1.7, by 1.6 sqrt(a) above (G. Lube et al. 2004),
    up to the edge of what hangs together: a tenth of the balls roll on alone. Columns of ten diameters in radius end
    short, because a heap ends one grain high: for a = 0.7 by a third, columns of twenty by a sixth. The slope is that
    of short columns; tall ones splash, and end flatter."""
    spreads = []
    for count, wide in ((2200, 10.0), (3900, 10.0), (11000, 10.0)):
        radius = wide * GRAIN
        bed = Bed(count, radius, 0.5, 0.0, rolling="spring")
        bed.run(0.5)
        aspect = 2.0 * bed.q[:, 1].mean() / radius
        bed.widen()
        bed.run(1.0)
        heap = _heap(bed.q)
        reach = np.hypot(heap[:, 0], heap[:, 2])
        spread = float(np.quantile(reach, 0.99)) / radius - 1.0
        expected = 1.24 * aspect if aspect < 1.7 else 1.6 * math.sqrt(aspect)
        name = f"a = {aspect:.2f}"
        yield Measurement(f"runout by radius, {name}", expected, spread, 0.65 * expected, 1.2 * expected)
        if aspect < 1.7:
            yield Measurement(f"slope of the heap [deg], {name}", 18.5, _slope(reach, heap[:, 1]), 12.0, 25.0)
        rest = bed.solver.statistics(bed.state).kinetic_energy / (count * bed.mass * GRAVITY * GRAIN)
        yield at_most(f"kinetic energy per grain by m g d, {name}", 1.0e-3, rest)
        spreads.append(spread)
    yield at_least("smallest increase with a", 0.0, float(np.diff(spreads).min()))


def _heap(points: np.ndarray) -> np.ndarray:
    """The grains that hang together, (n, 3): the largest group of those that touch within a tenth of a diameter."""
    pairs = cKDTree(points).query_pairs(1.1 * GRAIN, output_type="ndarray")
    touching = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(points), len(points)))
    groups = connected_components(touching, directed=False)[1]
    return points[groups == np.bincount(groups).argmax()]


def _slope(reach: np.ndarray, height: np.ndarray) -> float:
    """Of the surface between a fifth and four fifths of the way to the edge [deg]."""
    edge = np.quantile(reach, 0.99)
    rings = np.linspace(0.2, 0.8, 9) * edge
    tops = [np.quantile(height[(reach >= low) & (reach < high)], 0.97) for low, high in itertools.pairwise(rings)]
    return -math.degrees(math.atan(np.polyfit(0.5 * (rings[1:] + rings[:-1]), tops, 1)[0]))


@case("D11", "dem", "discharge of a silo", FULL)
def discharge() -> Iterator[Measurement]:
    """W = 0.58 rho_b sqrt(g) (D - 1.4 d)^(5/2) through a round outlet, however high the silo is filled (W. Beverloo,
    H. Leniger, J. van de Velde 1961); +- 20 %."""
    for outlet in (5.0, 7.0):
        bed = Bed(3600, 6.5 * GRAIN, 0.5, 0.5, floor=False, more=lambda b, s, outlet=outlet: _outlet(b, s, outlet))
        bed.run(0.6)
        y = bed.q[:, 1]
        middle = (y > 5.0 * GRAIN) & (y < 15.0 * GRAIN)
        bulk = middle.sum() * bed.mass / (math.pi * (6.5 * GRAIN) ** 2 * 10.0 * GRAIN)
        bed.control.set_shape(bed.added[1], position=(0.0, -1.0, 0.0))
        bed.run(0.2)
        before = (bed.q[:, 1] < 0.0).sum()
        bed.run(0.5)
        flow = ((bed.q[:, 1] < 0.0).sum() - before) * bed.mass / 0.5
        expected = 0.58 * bulk * math.sqrt(GRAVITY) * ((outlet - 1.4) * GRAIN) ** 2.5
        yield near(f"flow [kg/s], outlet of {outlet:g} diameters", expected, flow, relative=0.2)


def _outlet(builder: ModelBuilder, surface: ShapeConfig, outlet: float) -> tuple[int, int]:
    """A floor with a hole, and what closes it: two shapes."""
    inner, outer, sectors = 0.5 * outlet * GRAIN, 8.0 * GRAIN, 48
    angles = 2.0 * math.pi * np.arange(sectors) / sectors
    rings = [(inner, 0.0), (outer, 0.0), (outer, -GRAIN), (inner, -GRAIN)]
    circle = np.stack([np.cos(angles), np.zeros(sectors), np.sin(angles)], axis=1)
    points = np.concatenate([r * circle + [0.0, y, 0.0] for r, y in rings])
    k, after = np.arange(sectors), (np.arange(sectors) + 1) % sectors
    faces = []
    for ring in range(4):
        here, there = ring * sectors, (ring + 1) % 4 * sectors
        faces += [
            np.stack([here + k, here + after, there + k], 1),
            np.stack([here + after, there + after, there + k], 1),
        ]
    mesh = Mesh(array(points, dtype=vec3f), array(np.concatenate(faces).reshape(-1), dtype=int32))
    floor = builder.add_shape_mesh(mesh=mesh, cfg=surface)
    plug = builder.add_shape_cylinder([0.0, -0.5 * GRAIN, 0.0, *UPRIGHT], inner, 0.5 * GRAIN, surface)
    return floor, plug
