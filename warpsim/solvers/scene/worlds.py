"""Many worlds in one model: copies of scenes that never touch each other, one after the other in every array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import numbers
from ...errors import ModelError
from .rotations import rotate, turn_after

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .builder import ModelBuilder

_NAMED: dict[str, dict[str, str]] = {
    "particles": {},
    "shapes": {"source": "sources"},
    "springs": {"indices": "particles"},
    "edges": {"indices": "particles"},
    "triangles": {"indices": "particles"},
    "tetrahedra": {"indices": "particles"},
    "attachments": {"particle": "particles", "shape": "shapes"},
    "pressures": {},
    "tethers": {"indices": "particles"},
}
"""Tables of a builder, and what the numbers in their columns are numbers of."""
_HERE = (0.0, 0.0, 0.0, 1.0)


def add(builder: ModelBuilder, other: ModelBuilder, n: int, xforms: ArrayLike | None) -> range:
    """Add n worlds, each a copy of what another builder holds now; returns their numbers.

    xforms: where their frames are, positions (n, 3) [m], or (n, 7) with quaternions (x, y, z, w); None: at the same
    place, which they do not notice. Gravity is that of `other`, and does not turn with a frame. Shapes of this builder
    itself are in all worlds; it may hold nothing else of its own. Copies share meshes and volumes.
    Raises `ModelError` for builders that cannot be worlds, and for numbers of other shapes.
    """
    _check(builder, other, n)
    copies, poses = np.arange(n), None if xforms is None else _poses(xforms, n)
    starts = {
        what: getattr(builder, what).count + copies * getattr(other, what).count for what in ("particles", "shapes")
    }
    starts["sources"] = np.full(n, len(builder.sources))
    builder.sources += other.sources
    builder.pressure_faces += [faces + start for start in starts["particles"] for faces in other.pressure_faces]
    placed = {} if poses is None else _placed(other, poses)
    for name, columns in _NAMED.items():
        shifts = {column: starts[what] for column, what in columns.items()}
        getattr(builder, name).repeat(getattr(other, name), n, shifts, placed.get(name, {}))
    sizes = {"particles": other.particles.count, "shapes": other.shapes.count, "first": starts["shapes"]}
    return builder.worlds.add(n, gravity=other.gravity * other.up, **sizes)


def _check(builder: ModelBuilder, other: ModelBuilder, n: int) -> None:
    """Raise `ModelError` for what cannot be a world of a builder."""
    check_own(builder)
    problem = None
    if n < 1:
        problem = f"n is {n}\nexpected: 1 or more copies"
    elif other is builder or other.worlds.count:
        what = "the builder itself" if other is builder else f"a builder with {other.worlds.count} worlds"
        problem = f"a world is {what}\nexpected: a builder of its own, without worlds"
    elif other.up_axis != builder.up_axis:
        problem = f"up_axis of a world is {other.up_axis!r}\nexpected: {builder.up_axis!r}, as of the builder"
    if problem:
        raise ModelError(problem)


def check_own(builder: ModelBuilder) -> None:
    """Raise `ModelError` for a builder with particles beside its worlds."""
    own = builder.particles.count - int(builder.worlds["particles"].sum())
    if own and builder.worlds.count:
        raise ModelError(
            f"the builder has {own} particles of its own beside those of its worlds\nexpected: shapes at most, which "
            "are in all worlds\nhelp: put them into the builder that add_world takes"
        )


def _poses(xforms: ArrayLike, n: int) -> np.ndarray:
    """Frames of worlds, (n, 7)."""
    poses = numbers(xforms, "xforms")
    if poses.shape == (n, 3):
        poses = np.hstack([poses, np.tile(_HERE, (n, 1))])
    if poses.shape != (n, 7) or not np.allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0, rtol=1.0e-4):
        raise ModelError(
            f"xforms have shape {np.shape(xforms)}\nexpected: ({n}, 3) positions, or ({n}, 7) with unit quaternions"
        )
    if not np.isfinite(poses).all():
        raise ModelError(f"xforms of world {int(np.argmin(np.isfinite(poses).all(axis=1)))} are not finite")
    return poses


def _placed(other: ModelBuilder, poses: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """Columns of copies that depend on where they are, table by table."""
    p, held = other.particles, other.attachments
    in_world = held["shape"] < 0
    q, qd, target, transform = [], [], [], []
    for pose in poses:
        place, turn = pose[:3], pose[3:]
        q.append(rotate(turn, p["q"]) + place)
        qd.append(rotate(turn, p["qd"]))
        target.append(np.where(in_world[:, None], rotate(turn, held["target"]) + place, held["target"]))
        shapes = other.shapes["transform"]
        transform.append(np.hstack([rotate(turn, shapes[:, :3]) + place, turn_after(shapes[:, 3:], turn)]))
    joined = {
        name: np.concatenate(rows)
        for name, rows in zip(("q", "qd", "target", "transform"), (q, qd, target, transform), strict=True)
    }
    return {
        "particles": {"q": joined["q"], "qd": joined["qd"]},
        "attachments": {"target": joined["target"]},
        "shapes": {"transform": joined["transform"]},
    }


def of_particles(builder: ModelBuilder) -> np.ndarray:
    """The world of each particle, (particles,); without worlds there is one."""
    worlds = builder.worlds
    if not worlds.count:
        return np.zeros(builder.particles.count, dtype=np.int32)
    return np.repeat(np.arange(worlds.count, dtype=np.int32), worlds["particles"])


def of_shapes(builder: ModelBuilder) -> np.ndarray:
    """The only world that each shape is in, (shapes,); -1: all."""
    worlds, of = builder.worlds, np.full(builder.shapes.count, -1, dtype=np.int32)
    counts = worlds["shapes"]
    before = np.cumsum(counts) - counts
    rows = np.repeat(worlds["first"] - before, counts) + np.arange(counts.sum())
    of[rows] = np.repeat(np.arange(worlds.count), counts)
    return of
