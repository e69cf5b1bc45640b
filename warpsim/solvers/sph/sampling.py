"""Wall particles: shapes filled with rows of particles just below their surface.

Points of a lattice that are less than some depth inside a shape are moved along the normal until they lie in the middle
of a row, k + 1/2 spacings deep. Flat walls along the lattice so become the lattice itself, as S. Adami, X. Hu and
N. Adams 2012 have it, and curved ones have smooth rows. Walls that are thinner than a spacing have one row, in the
middle between their sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from ...core.language import array, empty, kernel, launch, tid, uint64
from ...errors import ModelError
from ..scene.bands import check_band
from ..scene.model import Model
from ..scene.riding import poses_at_start
from ..scene.rotations import rotate
from ..scene.shapes import for_shape
from .extents import ENDLESS, corners

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

_CLOSE = 0.3  # of a spacing: particles nearer than this are one; more would leave gaps in edges, where water leaks
_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # times a rotation: its inverse
_LARGEST = 50_000_000  # places of a lattice
_ROUNDING = 1.0e-4  # of a spacing
THINNEST_WALL = 0.02  # of a spacing: the two sides of a thinner one are not told apart


@dataclass(frozen=True)
class Rows:
    """Wall particles, ordered by shape and then by world: local, in the frame of their shape, and toward, from there to
    the surface before them, (n, 3) [m]; shape and world, (n,). Shapes of all worlds have particles in each."""

    local: np.ndarray
    toward: np.ndarray
    shape: np.ndarray
    world: np.ndarray


@dataclass(frozen=True)
class Lattice:
    """Where wall particles lie: spacing of the lattice, depth below surfaces that they fill [m]; dim, of space; period,
    lengths after which it repeats [m], 0 for none."""

    spacing: float
    depth: float
    dim: int
    period: Sequence[float]


def sample_shapes(model: Model, lattice: Lattice, corners: np.ndarray, bounds: np.ndarray | None) -> Rows:
    """The wall particles of all shapes.

    corners (worlds, 3): of the lattice of each world, and of the one period that is filled; z is the plane of fluids
    with two dimensions [m]. bounds (worlds, 2, 3): corners of what endless shapes are needed in [m]. Worlds with the
    same shapes are sampled once.

    Raises `ModelError` for endless shapes without bounds, for shapes so large that no memory holds their rows, and for
    walls so thin that their sides are not told apart, and for volumes that do not know distances as deep as the rows.
    """
    owners, shapes = model.shape_world.numpy(), [_key(model, s) for s in range(model.shape_count)]
    worlds = [np.flatnonzero((owners == w) | (owners < 0)) for w in range(model.world_count)]
    known: dict[Any, tuple[np.ndarray, ...]] = {}
    sampled = []
    for w, own in enumerate(worlds):
        box = None if bounds is None else bounds[w]
        key = corners[w].tobytes(), None if box is None else box.tobytes(), *(shapes[s] for s in own)
        if key not in known:
            known[key] = _sample_world(model, own, lattice, corners[w], box)
        sampled.append(known[key])
    local, toward = (np.concatenate([part[k] for part in sampled]) for k in range(2))
    shape = np.concatenate([own[nth] for own, (*_, nth) in zip(worlds, sampled, strict=True)])
    world = np.repeat(np.arange(model.world_count), [len(nth) for *_, nth in sampled])
    order = np.argsort(shape, kind="stable")
    return Rows(local[order], toward[order], shape[order].astype(np.int32), world[order].astype(np.int32))


def _key(model: Model, s: int) -> object:
    """Equal for shapes with the same wall particles in their frame."""
    arrays = (model.shape_scale[s : s + 1].numpy(), poses_at_start(model)[s], model.shape_heights[s].numpy())
    return model.shape_type[s], id(model.shape_object[s]), *(a.tobytes() for a in arrays)


def _sample_world(
    model: Model, shapes: np.ndarray, lattice: Lattice, origin: np.ndarray, bounds: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local and toward of the wall particles of a world, (n, 3), and the places of their shapes in a list, (n,)."""
    poses = poses_at_start(model)
    spacing, depth, places, towards = lattice.spacing, lattice.depth, [np.empty((0, 3))], [np.empty((0, 3))]
    for s in shapes.tolist():
        check_band(model, s, depth, f"rows of wall particles {depth:g} m deep")
        points, toward = _sample(model, s, lattice, origin, _box(model, s, poses[s], bounds, depth))
        inside = _in_period(points, origin, lattice.period, spacing)
        points, toward = points[inside], toward[inside]
        taken = np.concatenate(places)
        if len(taken) and len(points):
            near = cKDTree(taken).query(points)[0]
            points, toward = (a[near > _CLOSE * spacing] for a in (points, toward))
        places.append(points)
        towards.append(rotate(poses[s, 3:] * _BACK, toward))
    nth = np.repeat(np.arange(len(shapes)), [len(p) for p in places[1:]])
    local = [_local(poses[s], points) for s, points in zip(shapes, places[1:], strict=True)]
    return np.concatenate([np.empty((0, 3)), *local]), np.concatenate(towards), nth


def _in_period(points: np.ndarray, origin: np.ndarray, period: Sequence[float], spacing: float) -> np.ndarray:
    """Which points are in the one period that is filled."""
    place, length = points - origin + 1.0e-3 * spacing, np.asarray(period)
    return ((length == 0.0) | ((place >= 0.0) & (place < length))).all(axis=1)


def _local(pose: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points of the world in the frame of a pose."""
    return rotate(pose[3:] * _BACK, points - pose[:3])


def in_world(model: Model, local: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Points (n, 3) in the frames of their shapes, by which they are ordered, as points of the world [m]."""
    poses = poses_at_start(model)
    ends = np.searchsorted(shape, np.arange(len(poses) + 1))
    parts = [rotate(pose[3:], local[ends[s] : ends[s + 1]]) + pose[:3] for s, pose in enumerate(poses)]
    return np.concatenate([np.empty((0, 3)), *parts])


def _box(model: Model, s: int, pose: np.ndarray, bounds: np.ndarray | None, depth: float) -> np.ndarray:
    """Corners (2, 3) [m] around a shape and its rows."""
    kind = model.shape_type[s]
    if kind in ENDLESS:
        if bounds is None:
            raise ModelError(
                f"shape {s} is a {kind.name.lower()}, which has no end\n"
                "help: SolverSPH(..., bounds=(low, high)) says where its wall is needed"
            )
        return np.asarray(bounds, dtype=np.float64) + np.array([[-depth], [depth]])
    reach = np.linalg.norm(np.abs(corners(model, s)).max(axis=0)) + depth
    return pose[:3] + np.array([[-reach], [reach]])


def _sample(
    model: Model, s: int, lattice: Lattice, origin: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points of the world in the rows of one shape, and from there to its surface, (n, 3) [m]."""
    spacing, depth, dim = lattice.spacing, lattice.depth, lattice.dim
    first = np.floor((box[0] - origin) / spacing + _ROUNDING).astype(int)
    last = np.ceil((box[1] - origin) / spacing - _ROUNDING).astype(int)
    if dim == 2:
        first[2], last[2] = 0, 1
    if np.prod((last - first).astype(float)) > _LARGEST:
        raise ModelError(f"shape {s} needs a lattice of {(last - first).tolist()} particles\nhelp: narrower bounds")
    axes = [origin[k] + (np.arange(first[k], last[k]) + 0.5) * spacing for k in range(3)]
    if dim == 2:
        axes[2] = origin[2:]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    pose = poses_at_start(model)[s]
    away, normal = distances(model, s, pose, points, 2.0 * depth)
    near = (away <= 0.5 * spacing) & (away > -depth)
    points, away, normal = points[near], away[near], normal[near]
    thickness = _thickness(model, s, pose, points - normal * away[:, None], normal, spacing)
    thin, past = thickness < (1.0 - _ROUNDING) * spacing, _ROUNDING * spacing
    row = np.where(thin, 0.5 * thickness, (np.floor(-away / spacing + _ROUNDING) + 0.5) * spacing)
    inside = np.where(thin, np.abs(away + row) <= 0.5 * spacing + past, away <= past)
    moved, toward = points - normal * (row + away)[:, None], normal * row[:, None]
    if dim == 2:
        moved[:, 2] = origin[2]
    inside[np.flatnonzero(thin & inside)[_find_repeats(moved[thin & inside], spacing)]] = False
    return moved[inside], toward[inside]


def _thickness(
    model: Model, s: int, pose: np.ndarray, surface: np.ndarray, normal: np.ndarray, spacing: float
) -> np.ndarray:
    """How thick a shape is below points of its surface (n,) [m], a spacing at most."""
    out, _ = distances(model, s, pose, surface - normal * spacing, 2.0 * spacing)
    thickness = spacing - np.clip(out, 0.0, spacing)
    thin = thickness < (1.0 - _ROUNDING) * spacing
    middle = float(np.median(thickness[thin])) if thin.any() else spacing  # edges may be sharper
    if middle < THINNEST_WALL * spacing:
        raise ModelError(
            f"walls of shape {s} are {middle:.3g} m thin, particles are {spacing:.3g} m apart\n"
            f"expected: at least a fiftieth of that, {THINNEST_WALL * spacing:.3g} m; help: thicker walls, or smaller "
            "particles"
        )
    return thickness


def _find_repeats(points: np.ndarray, spacing: float) -> np.ndarray:
    """Which points (n, 3) are at the place of one before them: lattices on both sides of a thin wall give both."""
    pairs = cKDTree(points).query_pairs(_CLOSE * spacing, output_type="ndarray") if len(points) else np.empty((0, 2))
    return np.unique(pairs.max(axis=1, initial=0)[pairs[:, 0] != pairs[:, 1]]).astype(int)


def distances(
    model: Model, s: int, pose: np.ndarray, points: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Signed distances (n,) [m] and normals (n, 3) of a shape with a pose (7,) at points (n, 3) [m]."""
    device, n = model.device, len(points)
    local = array(_local(pose, points), dtype=model.vec3, device=device)
    out, normal = empty(n, model.dtype, device), empty(n, model.vec3, device)
    args = [s, model.shape_scale, model.shape_source[s], model.shape_heights[s], model.dtype(reach), local, out, normal]
    launch(_distance_kernel(model.shape_type[s]), n, args, device=device, record_tape=False)
    return out.numpy().astype(np.float64), rotate(pose[3:], normal.numpy().astype(np.float64))


@for_shape
def _distance_kernel(distance: Func) -> Any:
    @kernel(enable_backward=False)
    def measure(
        s: int, scale: array(dtype=Any), source: uint64, heights: array(dtype=Any, ndim=2), reach: Any,
        local: array(dtype=Any), out: array(dtype=Any), normal: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        away, inward = distance(local[i], scale[s], source, heights, reach)
        out[i] = away
        normal[i] = inward

    return measure
