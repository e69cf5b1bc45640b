"""`ShapeBodies`: shapes of a model as triangles, where a control or their bodies have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.runtime.arrays.array import array
from ..core.types.scalars import float32
from ..geometry.marching_cubes.marching_cubes import MarchingCubes
from ..solvers.scene.riding import poses_on_host
from ..solvers.scene.shapes import ShapeType
from .body import Body, on_host

if TYPE_CHECKING:
    from ..geometry.volume.volume import Volume
    from ..solvers.scene.control import Control
    from ..solvers.scene.model import Model
    from ..solvers.scene.state import State

_AROUND, _ALONG = 48, 24  # corners of a circle and of half of one
_PLANE = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
_SQUARE = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


class ShapeBodies:
    """Solid shapes as one body "shapes", hollow ones as "vessels", and planes, which have no end, as "planes"."""

    def __init__(self, model: Model):
        self.model = model
        numbers = {name: [] for name in ("shapes", "vessels", "planes")}  # type: dict[str, list[int]]
        for shape, kind in enumerate(model.shape_type):
            hollow = "vessels" if kind.name.startswith("HOLLOW") else "shapes"
            numbers["planes" if kind is ShapeType.PLANE else hollow].append(shape)
        self._planes = np.array(numbers.pop("planes"), int)
        self._meshes = [_Meshes(name, model, shapes) for name, shapes in numbers.items() if shapes]

    def solids(self, state: State, control: Control | None, values: Mapping[str, np.ndarray]) -> list[Body]:
        """Shapes and vessels, if there are any. values: numbers of shapes by name, for their cells."""
        poses = self._poses_of(state, control)
        return [meshes.body(poses, values) for meshes in self._meshes]

    def planes(self, state: State, control: Control | None, box: np.ndarray) -> list[Body]:
        """The body "planes", if there are any: squares around where they are nearest to the middle of a box (2, 3)."""
        if not len(self._planes):
            return []
        poses = self._poses_of(state, control)[self._planes].astype(float)
        middle, reach = box.mean(axis=0), float(np.linalg.norm(box[1] - box[0]))
        normals = _placed(np.tile([0.0, 0.0, 1.0], (len(poses), 1)), poses) - poses[:, :3]
        above = ((middle - poses[:, :3]) * normals).sum(axis=1, keepdims=True)
        poses[:, :3] = middle - above * normals
        points = _placed(np.tile(reach * _PLANE, (len(poses), 1)), np.repeat(poses, len(_PLANE), axis=0))
        cells = (_SQUARE + len(_PLANE) * np.arange(len(poses))[:, None, None]).reshape(-1, 3)
        numbers = np.repeat(self._planes, len(_SQUARE)).astype(np.int32)
        return [Body("planes", points, cells, cell_arrays={"shape": numbers}, is_backdrop=True)]

    def _poses_of(self, state: State, control: Control | None) -> np.ndarray:
        transform = (self.model if control is None else control).shape_transform
        return poses_on_host(self.model, transform, state.body_q).astype(on_host(transform).dtype)


class _Meshes:
    """Meshes of some shapes of a model as one body."""

    def __init__(self, name: str, model: Model, shapes: Sequence[int]):
        self.name, self._poses = name, np.empty(0)
        parts = [shape_mesh(model, shape) for shape in shapes]
        sizes = [len(points) for points, _ in parts]
        first = np.cumsum([0, *sizes[:-1]])
        self._points = np.concatenate([points for points, _ in parts])
        self._owners = np.repeat(shapes, sizes)
        cells = [n + triangles for n, (_, triangles) in zip(first, parts, strict=True)]
        self._cells = np.concatenate(cells).astype(np.int32)
        self._shapes = np.repeat(shapes, [len(triangles) for _, triangles in parts]).astype(np.int32)

    def body(self, poses: np.ndarray, values: Mapping[str, np.ndarray]) -> Body:
        still = not values and np.array_equal(poses, self._poses)
        self._poses = poses.copy()
        points = _placed(self._points, poses[self._owners]).astype(poses.dtype)
        arrays = {"shape": self._shapes, **{name: a[self._shapes] for name, a in values.items()}}
        vessel = self.name == "vessels"
        return Body(self.name, points, self._cells, cell_arrays=arrays, is_vessel=vessel, is_still=still)


def shape_mesh(model: Model, shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) [m] in the frame of a shape that is no plane, and triangles (m, 3)."""
    kind, source = model.shape_type[shape], model.shape_object[shape]
    sizes = on_host(model.shape_scale)[shape].astype(float)
    if kind in (ShapeType.MESH, ShapeType.HOLLOW_MESH):
        return on_host(source.points) * sizes, on_host(source.indices).reshape(-1, 3)
    if kind is ShapeType.BOX:
        return _box(sizes)
    if kind is ShapeType.HEIGHTFIELD:
        return _heights(np.asarray(source) * sizes[2], sizes)
    if kind is ShapeType.SDF:
        return _level_set(source)
    return _revolved(*_outline(kind, sizes[0], sizes[1]))


def _outline(kind: ShapeType, radius: float, half: float) -> tuple[np.ndarray, np.ndarray]:
    """The outline of a solid of revolution around z, from below: distances from the axis, and heights."""
    if kind in (ShapeType.CYLINDER, ShapeType.HOLLOW_CYLINDER):
        return np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half])
    if kind is ShapeType.CONE:
        return np.array([0.0, radius, 0.0]), np.array([-half, -half, half])
    arc = np.linspace(-np.pi / 2.0, np.pi / 2.0, _ALONG + 1)
    if kind in (ShapeType.CAPSULE, ShapeType.HOLLOW_CAPSULE):
        arc = np.insert(arc, _ALONG // 2, 0.0)  # the equator twice: both ends of the straight part
        heights = radius * np.sin(arc) + np.repeat([-half, half], [_ALONG // 2 + 1, _ALONG // 2 + 1])
        return radius * np.cos(arc), heights
    return radius * np.cos(arc), radius * np.sin(arc)


def _revolved(distance: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An outline turned around z, with one point at either end; triangles face outward."""
    angle = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(_AROUND)], axis=1)
    rings = distance[1:-1, None, None] * circle + height[1:-1, None, None] * np.array([0.0, 0.0, 1.0])
    points = np.concatenate([rings.reshape(-1, 3), [(0.0, 0.0, height[0]), (0.0, 0.0, height[-1])]])
    here, last = np.arange(_AROUND), len(points) - 1
    after = np.roll(here, -1)
    top = (len(rings) - 1) * _AROUND
    strip = np.concatenate(
        [np.stack([here, after, after + _AROUND], axis=1), np.stack([here, after + _AROUND, here + _AROUND], axis=1)]
    )
    walls = [strip + ring * _AROUND for ring in range(len(rings) - 1)]
    ends = [
        np.stack([after, here, np.full(_AROUND, last - 1)], axis=1),
        np.stack([top + here, top + after, np.full(_AROUND, last)], axis=1),
    ]
    return points, np.concatenate([*walls, *ends])


def _box(half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    points = half * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    sides = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    return points, np.concatenate([sides[:, [0, 1, 2]], sides[:, [0, 2, 3]]])


def _heights(table: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    columns, rows = table.shape
    x, y = np.meshgrid(np.linspace(-half[0], half[0], columns), np.linspace(-half[1], half[1], rows), indexing="ij")
    numbers = np.arange(columns * rows).reshape(columns, rows)
    a, b, c, d = (part.reshape(-1) for part in (numbers[:-1, :-1], numbers[1:, :-1], numbers[1:, 1:], numbers[:-1, 1:]))
    points = np.stack([x, y, table], axis=-1).reshape(-1, 3)
    return points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _level_set(volume: Volume) -> tuple[np.ndarray, np.ndarray]:
    """Where the values of a volume are zero."""
    values, info = np.asarray(volume.to_numpy(), np.float32), volume.get_grid_info()
    low = on_host(volume.get_voxels()).min(axis=0)
    corners, triangles = MarchingCubes.extract(array(values, dtype=float32, device="cpu"))
    matrix = np.array(info.transform_matrix, float).reshape(3, 3)
    points = (on_host(corners) + low) @ matrix.T + np.array(info.translation, float)
    return points, on_host(triangles).reshape(-1, 3)


def _placed(points: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Points (n, 3) by poses (n, 7), each its own: p + 2 w (u x p) + 2 u x (u x p), and where that stands."""
    axis, real = poses[:, 3:6], poses[:, 6:]
    across = np.cross(axis, points)
    placed: np.ndarray = points + 2.0 * (real * across + np.cross(axis, across)) + poses[:, :3]
    return placed
