"""Signed distance of convex forms without the solver: the largest distance of supporting planes, in NumPy and SciPy.

Directions are tried first: a spiral, and the normals of a polytope that is the Minkowski difference of both forms, with
rims as polygons. The best are refined by samples in caps that shrink around them. Every value is that of supporting
planes, so it is a lower bound of the signed distance.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

RIM = 32


class Form(NamedTuple):
    """A form at its pose. sizes: as `ModelBuilder.add_shape_...` has them. points: of a hull."""

    kind: str
    sizes: tuple
    place: np.ndarray
    turn: np.ndarray
    points: np.ndarray = np.zeros((0, 3))

    @property
    def axes(self):
        return Rotation.from_quat(self.turn).as_matrix()

    @property
    def radius(self):
        """Of a ball that holds the form."""
        if self.kind == "hull":
            return np.linalg.norm(self.points - self.points.mean(0), axis=1).max()
        return {"sphere": self.sizes[0], "capsule": sum(self.sizes)}.get(self.kind) or np.linalg.norm(self.sizes)

    def reach(self, n):
        """How far it reaches along directions (n, 3) from the origin of space [m]."""
        m = n @ self.axes
        out, s = np.hypot(m[:, 0], m[:, 1]), self.sizes
        local = {
            "sphere": lambda: s[0] * np.linalg.norm(m, axis=1),
            "capsule": lambda: s[0] * np.linalg.norm(m, axis=1) + s[1] * np.abs(m[:, 2]),
            "box": lambda: np.abs(m) @ np.array(s),
            "cylinder": lambda: s[0] * out + s[1] * np.abs(m[:, 2]),
            "cone": lambda: np.maximum(s[1] * m[:, 2], s[0] * out - s[1] * m[:, 2]),
            "hull": lambda: (m @ self.points.T).max(axis=1),
        }
        return local[self.kind]() + n @ self.place

    def corners(self):
        """Corners of the form, with rims as polygons, of what has a radius only the core."""
        s, turns = self.sizes, np.arange(RIM) * 2 * np.pi / RIM
        ring = np.stack([np.cos(turns), np.sin(turns), 0 * turns], axis=1) * s[0] if s else None
        up = np.array([0, 0, s[1] if len(s) == 2 else 0.0])
        local = {
            "sphere": lambda: np.zeros((1, 3)),
            "capsule": lambda: np.stack([-up, up]),
            "box": lambda: np.array([*itertools.product((-1, 1), repeat=3)]) * np.array(s),
            "cylinder": lambda: np.concatenate([ring - up, ring + up]),
            "cone": lambda: np.concatenate([ring - up, up[None]]),
            "hull": lambda: self.points,
        }
        return local[self.kind]() @ self.axes.T + self.place


def spiral(count):
    """Unit vectors all over a sphere (count, 3)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    return np.stack([np.cos(turn) * np.sqrt(1.0 - z * z), np.sin(turn) * np.sqrt(1.0 - z * z), z], axis=1)


SPIRAL = spiral(1500)
_DISC = (
    np.sqrt((np.arange(60) + 0.5) / 60)[:, None]
    * spiral(60)[:, :2]
    / np.linalg.norm(spiral(60)[:, :2], axis=1, keepdims=True)
)


def separation(a, b, n):
    """Distance of the supporting planes across directions (n, 3) from a to b."""
    return -a.reach(n) - b.reach(-n)


def signed_distance(a, b, starts=12):
    """The signed distance of two forms, and normals (k, 3) with their values (k,): the best one, then other maxima."""
    difference = (b.corners()[:, None] - a.corners()[None]).reshape(-1, 3)
    normals = [SPIRAL]
    try:
        normals.append(-ConvexHull(difference).equations[:, :3])
    except Exception:  # a segment or a point
        pass
    apart = difference[np.argmin(np.linalg.norm(difference, axis=1))]
    if np.linalg.norm(apart) > 0:
        normals.append(apart[None] / np.linalg.norm(apart))
    n = np.concatenate(normals)
    values, chosen = separation(a, b, n), []
    for i in np.argsort(-values):
        if all(n[i] @ n[j] < np.cos(0.04) for j in chosen):
            chosen.append(i)
        if len(chosen) == starts:
            break
    best = [refined(a, b, n[i], values[i]) for i in chosen]
    best.sort(key=lambda pair: -pair[1])
    return best[0][1], np.array([n for n, _ in best]), np.array([v for _, v in best])


def refined(a, b, n, value, wide=0.06):
    """The best direction near one, and its value."""
    rng, limit = np.random.default_rng(0), 1e-9
    while wide > limit:
        u = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        u /= np.linalg.norm(u)
        angle = rng.uniform(0, 2 * np.pi)
        turned = _DISC @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        trial = n + wide * (turned @ np.stack([u, np.cross(n, u)]))
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        values = separation(a, b, trial)
        k = int(np.argmax(values))
        if values[k] > value:
            n, value, wide = trial[k], values[k], wide * 1.2
        else:
            wide *= 0.5
    return n, value
