"""`Volume`: a sparse grid of values in space, in the NanoVDB format (K. Museth, "NanoVDB", SIGGRAPH 2021 Talks).

Guarantees: bytes from outside were checked before kernels see them; what kernels work on is in the order of the
format, so it can be saved at any time. The tree of a volume changes by `rebuild` alone; values do by `volume_store`
and by `leaf_values`. The id of a volume that is gone stands for one without voxels, whose background is zero.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...core.language import array, get_device, int32, uint8, vec3i
from ...core.runtime.arrays.array import array as Array
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.steps.host_call import call_or_record
from ...core.runtime.devices.unique import Unique
from ...core.runtime.launches.handles import Handle
from ...core.types.arrays import type_name
from ...core.types.scalars import canonical
from ...core.types.structs import numpy_dtype
from ...errors import VolumeError, instance
from ..nanovdb import file as nanovdb_file
from ..nanovdb import statistics as nanovdb_statistics
from ..nanovdb import voxels as nanovdb_voxels
from ..nanovdb.check import check
from ..nanovdb.grid import Grid, aligned_copy
from ..nanovdb.layout import ALIGNMENT, LEAF_LOG2, LEAF_SLOTS, GridFlag, GridType
from ..nanovdb.read import VALUE_TYPES
from . import info, rebuild
from .allocate import box_grid, dense_grid, tile_grid, voxel_grid
from .from_memory import bytes_of, grid_at
from .data import leaf_values, present, seen_by_kernels, volume_data, voxel_count
from .rebuild import Plan, check_status, room_of, tell
from .sample import CLOSEST, LINEAR

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import Device
    from .points import Points

_TYPE_NAMES = {GridType.FLOAT: "float", GridType.DOUBLE: "double", GridType.VEC3F: "Vec3f", GridType.VEC3D: "Vec3d"}
_TYPE_NAMES |= {GridType.VEC4F: "Vec4f", GridType.VEC4D: "Vec4d", GridType.INDEX: "Index", GridType.ONINDEX: "OnIndex"}
_TYPE_NAMES |= {GridType.MASK: "Mask", GridType.BOOL: "Bool"}


class Volume(Fixed, Unique):
    """A sparse grid; `id` stands for it in kernels.

    data: the bytes of an .nvdb file or of a grid, as an array of uint8 or any buffer.
    copy: with False the volume works on the memory of `data`: one grid, which begins at a multiple of 32 bytes. Bytes
    of the host cannot be those of a volume on CUDA, or the other way round: they are copied then.
    device: where kernels are to use it; by default where `data` is. Bytes are checked on the host.
    Raises `VolumeFormatError` for bytes that are no sound grid.
    """

    CLOSEST, LINEAR = CLOSEST, LINEAR
    REBUILD_SUCCESS, REBUILD_INVALID_INPUT = rebuild.SUCCESS, rebuild.NO_POINTS
    REBUILD_LEAF_CAPACITY_EXCEEDED, REBUILD_LOWER_CAPACITY_EXCEEDED = rebuild.TOO_MANY_LEAVES, rebuild.TOO_MANY_LOWER
    REBUILD_UPPER_CAPACITY_EXCEEDED, REBUILD_VOXEL_CAPACITY_EXCEEDED = rebuild.TOO_MANY_UPPER, rebuild.TOO_MANY_VOXELS
    RebuildInfo = rebuild.Room
    GridInfo = info.GridInfo
    ActiveStats = info.ActiveStats
    FeatureArrayInfo = info.FeatureArrayInfo

    def __init__(
        self,
        data: Array | bytes | bytearray | memoryview | np.ndarray,
        copy: bool = True,
        device: Device | str | None = None,
    ):
        memory = data.numpy() if isinstance(data, array) else bytes_of(data)
        if memory.dtype != np.uint8 or memory.ndim != 1:
            raise VolumeError(f"data of a volume: dtype {memory.dtype}, shape {memory.shape}\nexpected: bytes in a row")
        device = get_device(data.device if device is None and isinstance(data, array) else device)
        if copy:
            self._adopt(nanovdb_file.read(memory.tobytes()), 0, device)
        elif not device.shares_host_memory and isinstance(data, array) and data.device is device:
            if data._address % ALIGNMENT or not data.is_contiguous:
                raise VolumeError(f"data of a volume at {data._address:#x}\nexpected: packed, at a multiple of 32")
            self._adopt([check(aligned_copy(memory))], 0, device, data)
        else:
            self._adopt([check(memory)], 0, device)

    def _adopt(
        self, grids: list[Grid], position: int, device: Device | str | None, shared: Array | None = None
    ) -> Volume:
        self._grids, self._position, self._grid, self.device = grids, position, grids[position], get_device(device)
        self._data = volume_data(self._grid, self.device, shared=shared)
        self._saved = zlib.crc32(self._grid.buffer.data)
        self._handle = Handle(self._data, device=self.device)
        self._plan: Plan | None = None
        return self

    @classmethod
    def _of(cls, grids: list[Grid], device: Device | str | None, position: int = 0) -> Volume:
        return cls.__new__(cls)._adopt(grids, position, device)

    def __repr__(self) -> str:
        header = self.get_grid_info()
        return (
            f"Volume({header.type_str} {header.name!r}, {len(self._grid.leaves)} tiles, {header.size_in_bytes} bytes)"
        )

    # ----- files and arrays -----------------------------------------------------------------------

    @classmethod
    def load_from_nvdb(
        cls, file_or_buffer: str | Path | bytes | bytearray | memoryview | BinaryIO, device: Device | str | None = None
    ) -> Volume:
        """The first grid of an .nvdb file; `load_next_grid` gives the others.

        file_or_buffer: a path, the bytes of a file, or a binary file object.
        Raises `VolumeFormatError` for what is not a sound NanoVDB file, OSError where it cannot be opened.
        """
        return cls._of(nanovdb_file.read(file_or_buffer), device)

    @classmethod
    def load_from_address(cls, grid_ptr: int, buffer_size: int = 0, device: Device | str | None = None) -> Volume:
        """A volume over a grid in memory, without a copy; `buffer_size` and errors as of `from_memory.grid_at`."""
        return cls(grid_at(grid_ptr, buffer_size, get_device(device)), copy=False)

    def load_next_grid(self) -> Volume | None:
        """The grid after this one in the file or buffer, None behind the last."""
        following = self._position + 1
        return Volume._of(self._grids, self.device, following) if following < len(self._grids) else None

    def save_to_nvdb(self, path: str | Path | BinaryIO, codec: str = "none") -> None:
        """Write this grid as an .nvdb file, with the values of now.

        path: a path or a binary file object. codec: "none", "zip", or "blosc", which needs the package of that name.
        """
        grid = present(self._data, self._grid)
        if zlib.crc32(grid.buffer.data) != self._saved:
            grid = grid.copy()
            ordered = grid.flags & GridFlag.BREADTH_FIRST and not grid.tree["tile_count"].any()
            (nanovdb_statistics.fill if ordered else nanovdb_statistics.clear)(grid)
        nanovdb_file.write(path, grid, codec)

    @classmethod
    def load_from_numpy(
        cls,
        ndarray: np.ndarray,
        min_world: ArrayLike = (0.0, 0.0, 0.0),
        voxel_size: ArrayLike = 1.0,
        bg_value: ArrayLike = 0.0,
        device: Device | str | None = None,
    ) -> Volume:
        """A volume of all values of a dense array.

        ndarray: (nx, ny, nz), or (nx, ny, nz, 3 or 4) for vectors. min_world: where voxel (0, 0, 0) is in the world.
        bg_value: the value elsewhere, which decides the type of the volume: float32 for a Python float, int32 for
        an int, its own for a typed value such as `float64(0.0)`, which vectors take their precision from too.
        """
        return cls._of([dense_grid(ndarray, min_world, voxel_size, bg_value)], device)

    from_numpy = load_from_numpy

    def to_numpy(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> np.ndarray:
        """The values of all voxels of a box, (nx, ny, nz) or (nx, ny, nz, components); both corners are inside.

        min, max: voxels, three integers each; by default the box around all active voxels.
        Of index volumes these are the indices, from 0, and -1 for voxels that have none.
        """
        dense = nanovdb_voxels.to_dense(present(self._data, self._grid), min, max)
        return dense.astype(np.int64) - 1 if self.is_index else dense

    # ----- new volumes ----------------------------------------------------------------------------

    @classmethod
    def allocate(
        cls, min: Sequence[float] | np.ndarray, max: Sequence[float] | np.ndarray, voxel_size: ArrayLike,
        bg_value: ArrayLike | None = 0.0, translation: ArrayLike = (0.0, 0.0, 0.0),
        points_in_world_space: bool = False, device: Device | str | None = None,
    ) -> Volume:  # fmt: skip
        """A volume with all tiles of 8^3 voxels that meet the box from `min` to `max`, both inside.

        min, max: voxels, or points of the world with `points_in_world_space`. voxel_size: a number or three.
        bg_value: the value of all voxels for now; it decides the type as in `load_from_numpy`, a vector or list
        of three or four asks for vectors, and None for an index volume.
        Raises `VolumeError` for corners outside of int32 and for what would be a grid of 8 GiB or more.
        """
        grid = box_grid(min, max, points_in_world_space, bg_value, voxel_size, translation)
        return cls._of([grid], device)

    @classmethod
    def allocate_by_tiles(
        cls, tile_points: Points, voxel_size: ArrayLike | None = None, bg_value: ArrayLike | None = 0.0,
        translation: ArrayLike = (0.0, 0.0, 0.0), device: Device | str | None = None,
        transform: ArrayLike | None = None, rebuildable: bool = False, max_tiles: int | None = None,
        max_lower_nodes: int | None = None, max_upper_nodes: int | None = None, status: Array | None = None,
        point_mask: ArrayLike | None = None,
    ) -> Volume:  # fmt: skip
        """A volume with the tiles of 8^3 voxels that contain some points.

        tile_points: vec3i or (n, 3) integers are voxels; vec3f or (n, 3) floats are points of the world, which
        belong to the nearest voxel. They may repeat. voxel_size: a number or three; or transform: (3, 3), with
        world = transform @ index + translation. bg_value: as in `allocate`. point_mask: (n,) integers, which points
        count: those where it is not 0.
        rebuildable: allow `rebuild`, as each of these does: the most tiles, and the most nodes of 128^3 and of 4096^3
        voxels, by default as many as there are points. status: (1,) uint32, the flags of `rebuild`; a volume whose
        points need more than it may have begins without tiles.
        A tile with no other one near costs 300 kB. Raises `VolumeError` as `allocate` does.
        """
        background = copy.deepcopy(bg_value)
        build = partial(
            tile_grid, bg_value=background, voxel_size=voxel_size, transform=transform, translation=translation
        )
        most = {"max_tiles": max_tiles, "max_lower_nodes": max_lower_nodes, "max_upper_nodes": max_upper_nodes}
        plan = Plan(build, room_of("tiles", tile_points, rebuildable, most))
        return cls._of_plan(plan, tile_points, point_mask, status, device)

    @classmethod
    def allocate_by_voxels(
        cls, voxel_points: Points, voxel_size: ArrayLike | None = None, translation: ArrayLike = (0.0, 0.0, 0.0),
        device: Device | str | None = None, transform: ArrayLike | None = None, rebuildable: bool = False,
        max_active_voxels: int | None = None, max_leaf_nodes: int | None = None, max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None, status: Array | None = None, point_mask: ArrayLike | None = None,
    ) -> Volume:  # fmt: skip
        """An index volume with the voxels that contain some points: parameters as of `allocate_by_tiles`."""
        build = partial(voxel_grid, voxel_size=voxel_size, transform=transform, translation=translation)
        most = {
            "max_active_voxels": max_active_voxels,
            "max_leaf_nodes": max_leaf_nodes,
            "max_lower_nodes": max_lower_nodes,
            "max_upper_nodes": max_upper_nodes,
        }
        plan = Plan(build, room_of("voxels", voxel_points, rebuildable, most))
        return cls._of_plan(plan, voxel_points, point_mask, status, device)

    @classmethod
    def _of_plan(
        cls, plan: Plan, points: Points, mask: ArrayLike | None, status: Array | None, device: Device | str | None
    ) -> Volume:
        check_status(status)
        flags, grid = plan.try_build(points, mask)
        tell(status, flags)
        volume = cls._of([plan.empty if grid is None else grid], device)
        volume._plan = plan if plan.room is not None else None
        return volume

    # ----- the same from other points -------------------------------------------------------------

    @property
    def is_rebuildable(self) -> bool:
        """Whether the volume was made for `rebuild`."""
        return self._plan is not None

    def get_rebuild_info(self) -> Volume.RebuildInfo:
        """The kind of points that `rebuild` takes, "tiles" or "voxels", and the most voxels and nodes there may be.

        None and zeros for a volume that is not made for it.
        """
        room = self._plan.room if self._plan is not None else None
        return room or Volume.RebuildInfo()

    def rebuild(self, points: Points, status: Array | None = None, point_mask: ArrayLike | None = None) -> Array | None:
        """Give the volume the tiles, or voxels, of other points; its id, map and background stay, values are new.

        points, point_mask: as for the method that made the volume. status: (1,) uint32, gets 0 (`REBUILD_SUCCESS`), or
        the sum of flags that say why all stays as it was: more nodes or voxels than the volume may have
        (`REBUILD_LEAF_CAPACITY_EXCEEDED` ...), or no points (`REBUILD_INVALID_INPUT`). Returns `status`.
        Arrays over the memory of the volume (`array()`, `leaf_values`) are of the grid before. In a graph that is
        captured, points and mask are read when it runs.
        Raises `VolumeError` for a volume that is not made for it, and what making volumes raises.
        """
        if self._plan is None:
            raise VolumeError(f"{self!r} is not rebuildable\nhelp: allocate_by_tiles(..., rebuildable=True)")
        check_status(status)
        self._handle.note_replaced("Volume.rebuild()", "make a new Volume in the step")
        call_or_record(partial(self._rebuild, points, status, point_mask))
        return status

    def _rebuild(self, points: Points, status: Array | None, mask: ArrayLike | None) -> None:
        assert self._plan is not None
        flags, grid = self._plan.try_build(points, mask)
        tell(status, flags)
        if grid is not None:
            data = volume_data(grid, self.device)
            data.words.requires_grad = self.requires_grad
            self._grids, self._grid, self._data = [grid], grid, data
            self._saved = zlib.crc32(grid.buffer.data)
            self._handle.update(data)

    # ----- what it is -----------------------------------------------------------------------------

    @property
    def id(self) -> int:
        """What stands for the volume in kernels, a uint64."""
        return self._handle.id

    @property
    def dtype(self) -> Any:
        """The type of the values; None for index volumes and types that kernels have no name for."""
        return VALUE_TYPES.get(self._grid.type)

    @property
    def is_index(self) -> bool:
        """Whether the volume numbers its voxels instead of holding values."""
        return self._grid.layout.is_index

    def array(self) -> Array:
        """All bytes of the grid, as an array of uint8 over the volume's memory."""
        return self._over(self._grid.buffer, uint8)

    def _over(self, view: np.ndarray, element: type) -> Array:
        """An array over the memory that kernels have where a view of the host's buffer lies."""
        return array._wrap(seen_by_kernels(self._data, self._grid, view), element, self.device, owner=self._data.words)

    def get_grid_info(self) -> info.GridInfo:
        """Name, size, place in its file, type and transform."""
        grid, header = self._grid, self._grid.header
        size, place = len(grid.buffer), (int(header["grid_index"]), int(header["grid_count"]))
        return info.GridInfo(grid.name, size, *place, _type_name(grid.type), grid.translation, grid.matrix)

    def get_grid_count(self) -> int:
        """How many grids the file or buffer has."""
        return len(self._grids)

    def get_grid_index(self) -> int:
        """Which of them this is, from 0."""
        return self._position

    def get_voxel_size(self) -> tuple[float, float, float]:
        """The edge lengths of a voxel, as the header gives them."""
        x, y, z = self._grid.voxel_size.tolist()
        return x, y, z

    # ----- voxels ---------------------------------------------------------------------------------

    def get_tile_count(self) -> int:
        """How many blocks of 8^3 voxels there are; in a volume for `rebuild`, how many there may be."""
        return len(self._grid.leaves) if self._plan is None else self.get_rebuild_info().max_leaf_node_count

    def get_tiles(self, out: Array | None = None) -> Array:
        """The lowest voxel of each tile there is, (tiles, 3) int32. `out`: an array to write them to, or of vec3i.

        In a volume for `rebuild`, `out` may have room for the tiles that there may be, and the first ones are written.
        """
        return self._put_rows(nanovdb_voxels.tiles(self._grid), out, self.get_tile_count())

    def get_voxel_count(self) -> int:
        """The number of voxels with an index: all 512 of each tile, in on-index volumes the active ones.

        In a volume for `rebuild`, how many there may be: arrays with an element for each of them serve all builds.
        """
        return voxel_count(self._grid) if self._plan is None else self.get_rebuild_info().max_voxel_count

    def get_active_stats(self) -> info.ActiveStats:
        """The numbers of voxels with an index, of leaves, and of inner nodes that there are."""
        return info.ActiveStats(voxel_count(self._grid), *self._grid.node_counts)

    def get_voxels(self, out: Array | None = None) -> Array:
        """The voxels in the order of their indices, (voxels, 3) int32. `out`: as of `get_tiles`."""
        grid = self._grid
        if grid.type == GridType.ONINDEX:
            voxels = nanovdb_voxels.active_voxels(grid)
            voxels = voxels[np.argsort(nanovdb_voxels.lookup(grid, voxels), kind="stable")]
        else:
            inside = nanovdb_voxels.local_coordinates(np.arange(LEAF_SLOTS), LEAF_LOG2)
            origins = nanovdb_voxels.leaf_origins(grid)
            if grid.type == GridType.INDEX:
                origins = origins[np.argsort(grid.leaves["offset"], kind="stable")]
            voxels = (origins[:, None] + inside).reshape(-1, 3).astype(np.int32)
        return self._put_rows(voxels, out, self.get_voxel_count())

    def _put_rows(self, rows: np.ndarray, out: Array | None, room: int) -> Array:
        """Coordinates as an array (n, 3) of int32; or in the user's array, which may also be (n,) of vec3i."""
        if out is None:
            return array(rows, dtype=int32, device=self.device)
        instance(out, array, "out")
        fits = (out.dtype, out.shape[1:]) in ((vec3i, ()), (int32, (3,))) and out.shape[0] in (len(rows), room)
        if not fits:
            shown = f"{out.dtype.__name__} of shape {out.shape}"
            raise VolumeError(f"out is {shown}\nexpected: vec3i of shape {(room,)}, or int32 of {(room, 3)}")
        out[: len(rows)].assign(rows)
        return out

    # ----- values ---------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether values have gradients: `leaf_values.grad`, which take as much memory as the grid."""
        return bool(self._data.words.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and (self.dtype is None or self._grid.layout.scalar.kind != "f"):
            held = _type_name(self._grid.type)
            raise VolumeError(f"a volume of {held} has no gradients\nexpected: floating-point values")
        self._data.words.requires_grad = value  # its views have the same
        self._handle.update(self._data)

    @property
    def leaf_values(self) -> Array:
        """The values of all voxels in tiles, (tiles, 512): the volume's own memory, in the order of `get_voxels`.

        Its `grad` collects the gradients of what kernels read from the volume, once `requires_grad` is set.
        Raises `VolumeError` for an index volume.
        """
        if self.dtype is None:
            raise VolumeError(f"a volume of {_type_name(self._grid.type)} holds no values that kernels can read")
        return leaf_values(self._data, self._grid)

    # ----- arrays beside the tree -----------------------------------------------------------------

    def get_feature_array_count(self) -> int:
        """How many arrays the grid carries."""
        return len(self._grid.blind_descriptions)

    def get_feature_array_info(self, feature_index: int) -> info.FeatureArrayInfo:
        """Name, address, size and type of an array that the grid carries."""
        feature = self._feature(feature_index)
        meta, values = self._grid.blind_descriptions[feature_index], feature.array
        count = int(meta["value_count"])
        size = values.nbytes // count if count else 0
        address = seen_by_kernels(self._data, self._grid, values).ctypes.data
        return info.FeatureArrayInfo(feature.name, address, size, count, _type_name(feature.data_type))

    def feature_array(self, feature_index: int, dtype: type | None = None) -> Array:
        """An array that the grid carries, over the volume's memory.

        dtype: its type; by default the one that the grid gives, uint8 where it gives none.
        """
        feature = self._feature(feature_index)
        element = VALUE_TYPES.get(feature.data_type, uint8) if dtype is None else canonical(dtype)
        layout, data = numpy_dtype(element), feature.array.view(np.uint8).reshape(-1)
        if data.nbytes % layout.itemsize:
            shown = f"feature array {feature_index} has {data.nbytes} bytes"
            raise VolumeError(f"{shown}\nexpected: elements of {layout.itemsize}, the size of {type_name(element)}")
        values = np.ndarray((data.nbytes // layout.itemsize, *layout.shape), layout.base, data)
        return self._over(values, element)

    def _feature(self, index: int) -> Any:
        count = self.get_feature_array_count()
        if not 0 <= instance(index, (int, np.integer), "feature_index") < count:
            raise IndexError(f"feature array {index}\nexpected: 0 to {count - 1}; the grid carries {count}")
        return self._grid.features[index]


def _type_name(kind: GridType) -> str:
    """The name of a grid type as files and other tools print it."""
    return _TYPE_NAMES.get(kind, kind.name.lower())
