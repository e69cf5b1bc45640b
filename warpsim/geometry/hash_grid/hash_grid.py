"""`HashGrid`: finds the neighbours of positions among points, rebuilt as often as the points move.

A build is a few launches on the grid's device, which can be captured in a graph; see `build` for
how it works, `hash_grid_neighbors` and `hash_grid_query` for what queries find.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...forks import fork_safe
from ...arguments import checked
from ...core.language import array, float16, float32, float64, int32, vec3d, vec3f, vec3h, vec3i
from ...core.language import empty, get_device, kernel, launch, tid, zeros
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.devices.unique import Unique
from ...core.runtime.launches.handles import Handle
from ...core.runtime.steps.publication import Publication
from ...core.types.arrays import type_name
from ...core.types.scalars import canonical
from ...errors import ArgumentTypeError, DeviceError, HashGridError, counted
from .buckets import BucketBuild
from .build import Table, Task, most_cells
from .data import LANES, HashGridData, HashGridPlan, lanes_d, lanes_f
from .sort import SortBuild

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

_POINTS = {float16: vec3h, float32: vec3f, float64: vec3d}
_SMALLEST, _LARGEST = 1.0e-300, 1.0e300  # lengths whose inverse is a number with full precision


@kernel(enable_backward=False)
def _widen(points: array(dtype=vec3h), out: array(dtype=vec3f)):
    i = tid()
    out[i] = vec3f(points[i])


class HashGrid(Fixed, Unique):
    """A grid of cells over points in space, for queries of all points near a position.

        grid = wp.HashGrid(128, 128, 128)
        grid.build(points, radius)          # again whenever points moved
        wp.launch(kernel, dim=n, inputs=[grid.id, ...])

    and in the kernel, for the points at most max_dist away from p:

        for i in wp.hash_grid_neighbors(grid, p, max_dist):

    or, for candidates whose distance the kernel tests itself, `wp.hash_grid_query(grid, p, max_dist)`.

    dim_x, dim_y, dim_z: after how many cells of width `radius` along each axis cells repeat. Where points spread
    farther, cells that are so far apart share a place in memory, which costs time; it changes no neighbours, but
    candidates come from all of them. Large numbers cost nothing, because a grid has at most about two cells per point.
    device: where the grid lives, as do all its points. dtype: `float` (float32), `wp.float64` or `wp.float16`, the
    precision of points; those of float16 are sorted as float32 ones, which they are. Positions may be anywhere; beyond
    2^48 radii from the origin they share one cell, which costs time.

    A grid may be used from several Python threads, also to build it, but not while a launch that queries it runs.
    Its id stands for nothing once the grid is gone. Raises `HashGridError` for dimensions below 1,
    `ArgumentTypeError` for another dtype.
    """

    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: type | None = float):
        self.device = get_device(device)
        self.dtype = _checked_dtype(dtype)
        self._sorted_dtype = float64 if self.dtype is float64 else float32
        self.dims = tuple(_checked_dimension(n, name) for n, name in ((dim_x, "x"), (dim_y, "y"), (dim_z, "z")))
        self._capacity = self._group_capacity = 0
        self._lock = fork_safe(threading.Lock())
        self._size = (0, False)  # number of points, and whether they have groups
        with self._lock:
            self._allocate(0)
            self._present = self._data(0, False)
            self._handle = Handle(self._present, device=self.device)

    @property
    def id(self) -> int:
        """What stands for the grid in kernels, a `wp.uint64`. It stays the same as long as the grid lives."""
        return self._handle.id

    @checked
    def reserve(self, num_points: int, with_groups: bool = False) -> None:
        """Make room for points (and for their groups), so that builds of so many allocate nothing."""
        count = operator.index(num_points)
        if not 0 <= count < 2**31 - LANES:
            raise HashGridError(f"reserve: num_points is {count}\nexpected: 0 to {2**31 - LANES - 1}")
        with self._lock:
            self._reserve(count, with_groups)

    def build(self, points: Any, radius: float, groups: Any = None, period: Sequence[float] | None = None) -> None:
        """Sort points into cells.

        points: `vec3` of the grid's dtype [length], of any rank, numbered in C order; there may be none. Points with a
        NaN or an infinity are in no cell. radius: the width of cells [length], best equal to the usual distance of
        queries. groups: int32, one for each point, any numbers; queries can ask for the points of one group, which
        then cost what that group alone costs. period: lengths after which space repeats along x, y and z, 0 for an axis
        along which it does not; points may lie in any period.

        A tape may span builds: each launch is reversed with the grid that it saw, of which the tape keeps what a build
        overwrites. Gradients flow through what kernels do with points, not through the build. In a capture of a
        graph, `reserve` first, and keep the points: every launch of the graph builds anew from them.

        Raises `ArgumentTypeError` for arrays of another dtype, `HashGridError` for a radius or period that is
        no positive, finite length or for another number of groups, `DeviceError` for arrays elsewhere.
        """
        flat = self._flat(self._checked_array(points, "points", _POINTS[self.dtype]))
        kinds = None if groups is None else self._flat(self._checked_array(groups, "groups", int32))
        if kinds is not None and kinds.size != flat.size:
            raise HashGridError(
                f"build: {counted(kinds.size, 'group')} for {counted(flat.size, 'point')}\n"
                "expected: one group per point"
            )
        width, repeat = _checked_length(radius, "radius"), _checked_period(period)
        with self._lock:
            self._reserve(flat.size, kinds is not None)
            self._handle.note_filled(self.own_arrays())
            if flat.size:
                labels = self._group[:0] if kinds is None else kinds
                table = Table(self._plan, self._starts, self._point, self._group, self._coordinates)
                self._builder.sort(Task(flat, labels, width, vec3d(*repeat), vec3i(*self.dims)), table)
            size = (flat.size, kinds is not None)
            if size != self._size:
                self._size, self._present = size, self._data(*size)
            Publication(self._handle, self._present).submit()

    def _flat(self, positions: array) -> Any:
        """An array as one dimension, points of float16 as float32 ones. A graph does again at every launch what must
        be copied for that."""
        if positions.ndim > 1 and not positions.is_contiguous:
            packed = empty(positions.shape, positions.dtype, self.device)
            copy(packed, positions)
            positions = packed
        flat = positions.flatten() if positions.ndim > 1 else positions
        if flat.dtype is not vec3h:
            return flat
        wide = empty(flat.size, vec3f, self.device)
        launch(_widen, flat.size, [flat, wide], device=self.device)
        return wide

    def own_arrays(self) -> list[Any]:
        """The arrays that a build fills, for loops with checkpoints: `scratch=[grid]`."""
        table = [self._point, self._group, self._starts, self._plan]
        return [*self._coordinates, *table, *self._builder.arrays()]

    # ----- memory ---------------------------------------------------------------------------

    def _reserve(self, count: int, with_groups: bool) -> None:
        if count > self._capacity:
            # Half as much again: a number of points that grows step by step allocates now and then.
            self._allocate(max(count, min(self._capacity * 3 // 2, 2**31 - LANES - 1)))
            self._size = (-1, False)
        if with_groups and self._group_capacity < self._capacity:
            self._group_capacity = self._capacity
            self._group = self._ints(self._capacity)
            self._size = (-1, False)

    def _allocate(self, count: int) -> None:
        self._capacity, self._group_capacity = count, 0
        self._coordinates = [empty(count + LANES, self._sorted_dtype, self.device) for _ in range(3)]
        self._windows = [_windows(c, lanes_d if self.dtype is float64 else lanes_f) for c in self._coordinates]
        self._point, self._group = self._ints(count), self._ints(0)
        self._starts = self._ints(most_cells(count) + 2)
        self._plan = zeros(1, HashGridPlan, self.device)
        self._builder = builder_for(self.device)(count, self._sorted_dtype, self.device)

    def _ints(self, count: int) -> Any:
        return empty(count, int32, self.device)

    def _data(self, count: int, grouped: bool) -> Any:
        """What kernels see of the grid."""
        data = HashGridData()
        nothing = {t: _windows(empty(LANES, t.dtype, self.device), t)[:0] for t in (lanes_f, lanes_d)}
        for k, axis in enumerate("xyz"):
            single = self.dtype is not float64
            here = self._windows[k][: count + 1]  # a query looks behind the last point when its row is empty
            setattr(data, axis, here if single else nothing[lanes_f])
            setattr(data, f"{axis}d", nothing[lanes_d] if single else here)
        data.point, data.group = self._point[:count], self._group[: count if grouped else 0]
        data.starts, data.plan = self._starts, self._plan[: 1 if count else 0]
        return data

    # ----- checks ---------------------------------------------------------------------------

    def _checked_array(self, values: object, name: str, dtype: type) -> Any:
        if not isinstance(values, array):
            protocols = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
            if not any(hasattr(values, protocol) for protocol in protocols):
                raise ArgumentTypeError(f"build: {name} is {type(values).__name__}\nexpected: an array")
            values = array(values, dtype=dtype, device=self.device, copy=False)
        if values.dtype is not dtype:
            raise ArgumentTypeError(
                f"build: {name} has dtype {type_name(values.dtype)}\n"
                f"expected: {type_name(dtype)} (this grid's dtype is {type_name(self.dtype)})"
            )
        if values.device is not self.device:
            raise DeviceError(f"build: {name} is on {values.device}\nexpected: {self.device}, where the grid is")
        return values


def builder_for(device: Device) -> Any:
    """What sorts points on a device."""
    return SortBuild if device.runs_many_threads else BucketBuild


def _windows(coordinates: array, lanes: type) -> Any:
    """Element k of the result is elements k to k + LANES - 1 of `coordinates`."""
    memory, size = coordinates._data, coordinates.size
    step = memory.strides[0]
    windows = np.lib.stride_tricks.as_strided(memory, (size - LANES + 1, LANES), (step, step), subok=True)
    return array._wrap(windows, lanes, coordinates.device, owner=coordinates)


def _checked_dtype(dtype: type | None) -> Any:
    kind = canonical(dtype) if dtype is not None else float32
    if not isinstance(kind, type) or kind not in _POINTS:
        raise ArgumentTypeError(f"HashGrid: dtype is {type_name(kind)}\nexpected: float (float32), float64 or float16")
    return kind


def _checked_dimension(n: int, axis: str) -> int:
    try:
        number = operator.index(n)
    except TypeError:
        raise ArgumentTypeError(f"HashGrid: dim_{axis} is {n!r}\nexpected: an integer") from None
    if not 1 <= number < 2**31:
        raise HashGridError(f"HashGrid: dim_{axis} is {number}\nexpected: 1 or more cells, below 2**31")
    return number


def _checked_length(x: float, name: str) -> float:
    try:
        number = float(x)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"build: {name} is {x!r}\nexpected: a number") from None
    if not _SMALLEST <= number <= _LARGEST:
        raise HashGridError(f"build: {name} is {number}\nexpected: a length from {_SMALLEST:g} to {_LARGEST:g}")
    return number


def _checked_period(period: object) -> tuple[float, ...]:
    if period is None:
        return (0.0, 0.0, 0.0)
    if not isinstance(period, Iterable):
        raise ArgumentTypeError(f"build: period is {period!r}\nexpected: three lengths, 0 for axes without a period")
    lengths = tuple(period)
    if len(lengths) != 3:
        raise HashGridError(f"build: period has {len(lengths)} lengths\nexpected: 3, with 0 for axes without a period")
    return tuple(0.0 if x is None or x in (0, math.inf) else _checked_length(x, "a period") for x in lengths)
