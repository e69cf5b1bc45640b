"""`Bvh`: finds boxes that meet a box, a ray, a sphere or a capsule, among many."""

from __future__ import annotations

import threading

from ...forks import fork_safe
from ...core.language import array, int32, vec3
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.devices.unique import Unique
from ...core.runtime.launches.handles import Handle
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, BvhError, DeviceError, counted
from .build import check_not_captured
from .constructors import CONSTRUCTORS, construct
from .nodes import MAX_PRIMITIVES, BvhData
from .refit import leaf_slots, refit


class Bvh(Fixed, Unique):
    """A hierarchy over boxes ("primitives").

        bvh = wp.Bvh(lowers, uppers)
        wp.launch(kernel, dim=n, inputs=[bvh.id, ...])

    and in the kernel, with `bvh_query_aabb`, `bvh_query_sphere`, `bvh_query_ray` or `bvh_query_capsule`:

        for i in wp.bvh_query_aabb(bvh, low, high):

    lowers, uppers: (n,) vec3, corners of boxes [length]; they stay the caller's, and are read again by `refit` and
    `rebuild`; others of the same shape may take their place. Boxes with a NaN or an infinity are left out: no query
    finds them. A lower corner above the upper one is taken as it stands, see `query`. constructor, leaf_size:
    accepted for scripts that choose them; hierarchies are built by binned splits that minimise surface area, with one
    box to a leaf, because four boxes are tested at once anyway. groups: (n,) int32; queries can then start at the boxes
    of one group, see `bvh_get_group_root`.

    Builds have the same bits for any number of threads. A hierarchy may be used from several Python threads, but not
    be refit or rebuilt while a launch that queries it runs. Its id stands for nothing once it is gone.

    Raises `ArgumentTypeError` for arrays of another dtype or rank, `BvhError` for different numbers of boxes, more than
    2**27 of them, or an unknown constructor, `DeviceError` for arrays on different devices, `LaunchError` while a graph
    is captured: there, only `refit` is possible.
    """

    replaceable = ("lowers", "uppers", "groups")
    unfit = BvhError

    def __init__(
        self,
        lowers: array,
        uppers: array,
        constructor: str | None = None,
        groups: array | None = None,
        leaf_size: int = 1,
    ):
        check_not_captured("Bvh(...)")
        self._constructor = _checked_constructor(constructor)
        _check_leaf_size(leaf_size)
        _check_boxes(lowers, uppers)
        if groups is not None:
            _check_groups(groups, lowers)
        self.lowers, self.uppers, self.groups = lowers, uppers, groups
        self.device = lowers.device
        self._lock = fork_safe(threading.Lock())
        self._handle = Handle(self._build(), device=self.device)

    @property
    def id(self) -> int:
        """What stands for the hierarchy in kernels, a `wp.uint64`. It stays the same as long as the hierarchy lives."""
        return self._handle.id

    def refit(self) -> None:
        """Take up the present contents of `lowers` and `uppers`; the tree stays as it is, and gets worse as boxes
        move far. Boxes that had a NaN or an infinity when the tree was built stay left out.

        In loops with checkpoints: `scratch=[bvh]`.
        """
        self.check_replaced("Bvh")
        with self._lock:
            self._handle.note_filled(self.own_arrays())
            refit(self._built, self._slots, self.lowers, self.uppers)

    def rebuild(self, constructor: str | None = None) -> None:
        """Build the tree anew from the present contents of `lowers` and `uppers`; without a constructor, as before.

        Raises `LaunchError` while a graph is captured, `CheckpointError` in steps of loops with checkpoints.
        """
        check_not_captured("Bvh.rebuild()")
        if constructor is not None:
            self._constructor = _checked_constructor(constructor)
        self.check_replaced("Bvh")
        with self._lock:
            self._handle.note_replaced("Bvh.rebuild()", "bvh.refit(), or make a new Bvh in the step")
            self._handle.update(self._build())

    def own_arrays(self) -> list[array]:
        """The arrays that a refit fills, for loops with checkpoints."""
        return [self._handle.data.tree.nodes]

    def _build(self) -> BvhData:
        self._built, names, roots = construct(self._constructor, self.lowers, self.uppers, 1, self.groups)
        self._slots = leaf_slots(self._built.tree)
        return BvhData(tree=self._built.tree, groups=names, roots=roots)


def _checked_constructor(constructor: str | None) -> str | None:
    if constructor not in CONSTRUCTORS:
        raise BvhError(f"Bvh: constructor is {constructor!r}\nexpected: one of {', '.join(map(repr, CONSTRUCTORS))}")
    return constructor


def _check_leaf_size(leaf_size: int) -> None:
    if not isinstance(leaf_size, int) or leaf_size < 1:
        raise BvhError(f"Bvh: leaf_size is {leaf_size!r}\nexpected: a positive integer")


def _check_array(name: str, value: array, dtype: type, expected: str) -> None:
    if not isinstance(value, array) or value.dtype is not dtype or value.ndim != 1:
        shown = f"{type_name(value.dtype)}, rank {value.ndim}" if isinstance(value, array) else repr(value)
        raise ArgumentTypeError(f"Bvh: {name} is {shown}\nexpected: an array of {expected}, rank 1")


def _check_boxes(lowers: array, uppers: array) -> None:
    _check_array("lowers", lowers, vec3, "vec3")
    _check_array("uppers", uppers, vec3, "vec3")
    if lowers.device is not uppers.device:
        raise DeviceError(f"Bvh: lowers are on {lowers.device}, uppers on {uppers.device}\nexpected: one device")
    if lowers.size != uppers.size:
        raise BvhError(f"Bvh: {lowers.size} lowers and {uppers.size} uppers\nexpected: one of each per box")
    if lowers.size > MAX_PRIMITIVES:
        raise BvhError(f"Bvh: {lowers.size} boxes\nexpected: at most {MAX_PRIMITIVES}")


def _check_groups(groups: array, lowers: array) -> None:
    _check_array("groups", groups, int32, "int32")
    if groups.device is not lowers.device:
        raise DeviceError(f"Bvh: lowers are on {lowers.device}, groups on {groups.device}\nexpected: one device")
    if groups.size != lowers.size:
        raise BvhError(f"Bvh: {counted(groups.size, 'group')} for {lowers.size} boxes\nexpected: one group per box")
