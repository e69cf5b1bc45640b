"""Many worlds in one model: copies of scenes that never touch each other, one after the other in every array."""

from __future__ import annotations

from collections.abc import Callable
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
    "bodies": {},
    "joints": {"parent": "bodies", "child": "bodies"},
    "shapes": {"source": "sources", "body": "bodies"},
    "exclusions": {"shapes": "shapes"},
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
    counted = ("particles", "bodies", "shapes")
    starts = {what: getattr(builder, what).count + copies * getattr(other, what).count for what in counted}
    starts["sources"] = np.full(n, len(builder.sources))
    builder.sources += other.sources
    builder.pressure_faces += [faces + start for start in starts["particles"] for faces in other.pressure_faces]
    placed = {} if poses is None else _placed(other, poses)
    for name, columns in _NAMED.items():
        shifts = {column: starts[what] for column, what in columns.items()}
        getattr(builder, name).repeat(getattr(other, name), n, shifts, placed.get(name, {}))
    sizes = {what: getattr(other, what).count for what in counted}
    sizes["first"] = starts["shapes"]
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
    """Raise `ModelError` for a builder with particles or bodies beside its worlds."""
    for what in ("particles", "bodies"):
        own = getattr(builder, what).count - int(builder.worlds[what].sum())
        if not own or not builder.worlds.count:
            continue
        raise ModelError(
            f"the builder has {own} {what} of its own beside those of its worlds\nexpected: shapes at most, which "
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
    p, held, b, s, joints = other.particles, other.attachments, other.bodies, other.shapes, other.joints
    fixed = {"attachments": held["shape"] < 0, "shapes": s["body"] < 0, "joints": joints["parent"] < 0}

    def copies(of_copy: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([of_copy(pose[:3], pose[3:]) for pose in poses])

    def moved_where(table: str, rows: np.ndarray) -> np.ndarray:
        """Rows (n, 7) or (n, 3): those that are in the world move with it, those in the frame of another stay."""
        return copies(lambda place, turn: np.where(fixed[table][:, None], _moved(rows, place, turn), rows))

    return {
        "particles": {
            "q": copies(lambda place, turn: _moved(p["q"], place, turn)),
            "qd": copies(lambda place, turn: rotate(turn, p["qd"])),
        },
        "attachments": {"target": moved_where("attachments", held["target"])},
        "shapes": {"transform": moved_where("shapes", s["transform"])},
        "bodies": {
            "q": copies(lambda place, turn: _moved(b["q"], place, turn)),
            "qd": copies(lambda place, turn: rotate(turn, b["qd"].reshape(-1, 3)).reshape(-1, 6)),
        },
        "joints": {"parent_frame": moved_where("joints", joints["parent_frame"])},
    }


def _moved(rows: np.ndarray, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Points (n, 3) or poses (n, 7) turned about the origin and moved."""
    points = rotate(turn, rows[:, :3]) + place
    return points if rows.shape[1] == 3 else np.hstack([points, turn_after(rows[:, 3:], turn)])


def of_each(builder: ModelBuilder, what: str) -> np.ndarray:
    """The world of each row of the table "particles" or "bodies"; without worlds there is one."""
    worlds = builder.worlds
    if not worlds.count:
        return np.zeros(getattr(builder, what).count, dtype=np.int32)
    return np.repeat(np.arange(worlds.count, dtype=np.int32), worlds[what])


def of_shapes(builder: ModelBuilder) -> np.ndarray:
    """The only world that each shape is in, (shapes,); -1: all."""
    worlds, of = builder.worlds, np.full(builder.shapes.count, -1, dtype=np.int32)
    counts = worlds["shapes"]
    before = np.cumsum(counts) - counts
    rows = np.repeat(worlds["first"] - before, counts) + np.arange(counts.sum())
    of[rows] = np.repeat(np.arange(worlds.count), counts)
    return of
