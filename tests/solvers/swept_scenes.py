"""Scenes of surfaces that fly into each other, or into themselves, by 0.2 to 5 lengths of an edge per substep.

Lengths are about 1 m, substeps 1 s long.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from warpsim.solvers import ModelBuilder
from warpsim.solvers.scene.cloth import edges

KINDS = ("two sheets", "a sheet that crumples", "sheets on a held one", "sheets on a floor", "a ball in a sheet")


class Scene:
    """One scene by its seed. speed: lengths per substep; steps: until all has met, and some more."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.speed = float(np.exp(rng.uniform(np.log(0.2), np.log(5.0))))
        self.floor = self.kind == KINDS[3]
        self.builder = ModelBuilder(gravity=-0.05 * self.speed if self.floor else 0.0)
        self.builder.default_particle_radius = rng.choice([0.02, 0.1, 0.3])
        self.turn = Rotation.from_euler("x", -90.0, degrees=True) if self.floor else Rotation.random(random_state=seed)
        self.spacing = 2.5 + self.speed
        self.steps = int(np.ceil(self.spacing / self.speed)) + 6
        self._fill()

    def _fill(self):
        kind, count = self.kind, {KINDS[1]: 1, KINDS[2]: 3, KINDS[3]: 3}.get(self.kind, 2)
        for k in range(count):
            across = 0.3 * self.speed * self.rng.normal(size=2)
            height, down = (k + 0.5) * self.spacing, (0.5 * count - 0.5 - k) * self.speed
            if self.floor:
                down = -self.speed * (0.5 + k)
            mass = 0.0 if kind == KINDS[2] and k == 1 else float(np.exp(self.rng.normal()))
            v = self.turn.apply([*across, down]) if mass else np.zeros(3)
            if kind == KINDS[4] and k == 1:
                self._add_ball(height, v, mass)
            else:
                self._add_sheet(height, v, mass)
        if self.floor:
            self.builder.add_ground_plane()

    def _add_sheet(self, height, v, mass):
        """Askew, with cells of its own size, and with a velocity field and noise."""
        rng, builder, first = self.rng, self.builder, self.builder.particle_count
        n, cell, crumples = int(rng.integers(3, 9)), rng.uniform(0.7, 1.4), self.kind == KINDS[1]
        skew = Rotation.from_rotvec(0.15 * rng.normal(size=3)) * Rotation.from_rotvec([0.0, 0.0, rng.uniform(0.0, 6.3)])
        centre, turn = self.turn.apply([*rng.uniform(-1.0, 1.0, 2), height]), self.turn * skew
        corner, stiffness = centre - turn.apply([0.5 * n * cell, 0.5 * n * cell, 0.0]), np.exp(rng.uniform(-2.0, 3.0))
        builder.add_cloth_grid(corner, tuple(turn.as_quat()), v, n, n, cell, cell, mass, spring_ke=float(stiffness))
        self._stir(first, centre, mass, n * cell, (6.0, 1.0) if crumples else (0.5, 0.1))

    def _add_ball(self, height, v, mass):
        points, faces = ball(2)
        first, centre = self.builder.particle_count, self.turn.apply([0.0, 0.0, height])
        self.builder.add_cloth_mesh(
            tuple(centre), (0.0, 0.0, 0.0, 1.0), 1.3, v, points, faces, density=mass, spring_ke=30.0
        )
        self._stir(first, centre, mass, 2.6, (0.3, 0.1))

    def _stir(self, first, centre, mass, size, amounts):
        """Give particles velocities that are linear in places, and others of their own."""
        if mass:
            places = self.builder.particles["q"][first:] - centre
            field = self.rng.normal(size=(3, 3)) * amounts[0] * self.speed / size
            noise = amounts[1] * self.speed * self.rng.normal(size=places.shape)
            self.builder.particles["qd"][first:] += places @ field.T + noise


def ball(divisions):
    """Points on the unit sphere and triangles: an octahedron whose triangles were divided by four."""
    points = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(divisions):
        ends = edges(faces)
        names = {tuple(e): len(points) + k for k, e in enumerate(ends.tolist())}
        split = []
        for a, b, c in faces.tolist():
            ab, bc, ca = (names[min(e), max(e)] for e in ((a, b), (b, c), (c, a)))
            split += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        points, faces = np.concatenate([points, 0.5 * points[ends].sum(axis=1)]), np.array(split)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, faces


def crossings(q, faces, rounding=1e-11):
    """How many edges pass through a triangle that they share no corner with, by more than rounding: all pairs."""
    ends = edges(faces)
    e, f = np.divmod(np.arange(len(ends) * len(faces)), len(faces))
    apart = ~(ends[e][:, :, None] == faces[f][:, None, :]).any(axis=(1, 2))
    (a, b), (c, d, g) = q[ends[e[apart]].T], q[faces[f[apart]].T]
    normal = np.cross(d - c, g - c)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    above, below = ((a - c) * normal).sum(axis=1), ((b - c) * normal).sum(axis=1)
    through = (above * below < 0.0) & (np.minimum(np.abs(above), np.abs(below)) > rounding)
    a, b, c, d, g, normal = (x[through] for x in (a, b, c, d, g, normal))
    x = a + (b - a) * (above[through] / (above[through] - below[through]))[:, None]
    inside = [(np.cross(r - p, x - p) * normal).sum(axis=1) > 0.0 for p, r in ((c, d), (d, g), (g, c))]
    return int(np.logical_and.reduce(inside).sum())
