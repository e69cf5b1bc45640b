"""Tiles made of what each lane of a block holds: local arrays, as a block has one lane."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....errors import ArgumentTypeError, KernelTypeError, LaunchError
from ...ir.builder import constant
from ...ir.nodes import Region, Value
from ...ops import construct, debug, memory
from ...ops.registry import TABLE
from ...types import compounds
from ...types.arrays import MAX_NDIM, ArrayType, array_type
from ...types.scalars import int32
from ..translate.forms import form
from ..translate.scope import typed_value
from ..translate.translator import Translator
from .tile_elements import new_tile


class LaneTile:
    """`wp.tile`: in a kernel a tile of what lanes hold; in an annotation the type of a tile."""

    __name__ = "tile"
    kernel_form = "tile"

    def __call__(self, x: Any = None, preserve_type: bool = False, *, dtype: Any = None, shape: Any = None) -> Any:
        """In a kernel: the values `x` of all lanes of a block as a tile, a local array with an element for each lane.

        A block has one lane, on every device; a launch with more fails. A vector gives a row for each component, of
        shape (components, lanes), or with `preserve_type`, a constant, one vector for each lane. On the host, with
        `dtype` and `shape`, the type of a tile for annotations, as `wp.tile[float, 4, 4]` is. Raises `KernelTypeError`
        for an array, or a `preserve_type` that is known at run time only; on the host `LaunchError`.
        """
        if x is None and dtype is not None and shape is not None:
            extents = shape if isinstance(shape, tuple) else (shape,)
            return self.__getitem__((dtype, *extents))
        raise LaunchError("wp.tile has a meaning in kernels only")

    def __getitem__(self, key: Any) -> ArrayType:
        """The type of tiles of elements `key[0]` and shape `key[1:]`, of one to four extents, for annotations."""
        dtype, *shape = key if isinstance(key, tuple) else (key,)
        if not 1 <= len(shape) <= MAX_NDIM or not all(type(n) is int and n > 0 for n in shape):
            raise ArgumentTypeError(f"wp.tile[{key!r}]\nexpected: a type and one to four extents, wp.tile[float, 4, 4]")
        return array_type(dtype, len(shape), False, tuple(shape))


tile = LaneTile()


@form("tile")
def form_tile(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
    bound = inspect.signature(callee).bind(*args, **keywords)
    bound.apply_defaults()
    operand, whole = bound.args
    if operand is None or bound.kwargs != {"dtype": None, "shape": None}:
        raise KernelTypeError("wp.tile takes a value of each lane", help="wp.tile_zeros(shape=..., dtype=...)")
    value = typed_value(operand)
    if not isinstance(whole, bool) or isinstance(value.type, ArrayType):
        raise KernelTypeError("wp.tile", expected="a value of each lane, and True or False for preserve_type")
    require_one_lane(tr)
    is_vector = compounds.is_compound(value.type) and value.type.kind == "vector"
    if whole or not is_vector:
        return filled(tr, value.type, [value])
    with tr.builder.active():
        parts = construct.components(value)
    return filled(tr, value.type.dtype, parts, lanes=1)


def require_one_lane(tr: Translator) -> None:
    """Assert, once where a function begins, that blocks have one lane: several would each do the work of all."""
    if tr.takes_one_lane:
        return
    tr.takes_one_lane = True
    start = Region()
    with tr.builder.inside(start):
        one_lane = tr.emit(TABLE["eq"], tr.emit(TABLE["block_dim"]), constant(int32, 1))
        tr.emit(debug.assert_, one_lane, message="a tile of a block with several lanes: launch with block_dim=1")
    tr.entry.nodes[:0] = start.nodes


def filled(tr: Translator, dtype: Any, values: list[Value], lanes: int = 0) -> Value:
    """A local array of values, with a second dimension of `lanes` if there are some."""
    last = (0,) if lanes else ()
    result = new_tile(tr, (len(values), *([lanes] if lanes else [])), dtype)
    for k, value in enumerate(values):
        tr.emit(memory.store, result, *[constant(int32, index) for index in (k, *last)], value)
    return result
