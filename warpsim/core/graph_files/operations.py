"""Operations on whole arrays in files: those of `wp.utils`, which the library of the loading process does again.

An array is a view and how many dimensions its elements do not take; operations look at numbers, not at whether four
of them are a vector or a quaternion.
"""

from __future__ import annotations

from typing import Any

from ...errors import GraphFileError
from ..runtime.algorithms.casts import Cast
from ..runtime.algorithms.reductions import Inner, Scan, Sum
from ..runtime.algorithms.sorting import RadixSort, RunLengths, SegmentedSort
from ..runtime.arrays.array import array
from ..runtime.arrays.indexed import indexedarray
from ..runtime.devices.device import Device
from ..runtime.tape.array_step import ArrayStep
from ..types import compounds, scalars
from .fields import Fields, damaged
from .memory import Memory

_BY_NAME = {operation.name: operation for operation in (Cast, Inner, RadixSort, RunLengths, Scan, SegmentedSort, Sum)}


def operation_of(work: Any) -> ArrayStep | None:
    """The operation that a step of the host does, None for another step and for one that files do not know."""
    operation = getattr(work, "__self__", None)
    known = isinstance(operation, ArrayStep) and type(operation) is _BY_NAME.get(operation.name)
    return operation if known and work.__name__ == "run" else None


def described(operation: ArrayStep, view: Any) -> dict[str, Any]:
    """An operation as a part of a description; view: describes memory. Raises `GraphFileError`."""
    settings = {name: getattr(operation, name) for name in operation.settings}
    sides = {"results": operation.results, "operands": operation.operands}
    arrays = {side: [_described(a, operation.name, view) for a in members] for side, members in sides.items()}
    return {"do": "operation", "name": operation.name, "settings": settings, **arrays}


def _described(a: Any, name: str, view: Any) -> dict[str, Any]:
    if isinstance(a, indexedarray) or a._data.dtype.names is not None:
        what = "elements that index tables pick" if isinstance(a, indexedarray) else "structs"
        raise GraphFileError(f"this graph cannot be saved: it holds {name} of {what}")
    return {"view": view(a._data), "rank": a.ndim}


def taken(part: Fields, memory: Memory, device: Device) -> ArrayStep:
    """The operation of a part of a description."""
    kind, settings = _BY_NAME.get(part.text("name")), part.part("settings").value
    if kind is None or set(settings) != set(kind.settings) or any(type(v) not in _NUMBERS for v in settings.values()):
        raise damaged(part.place, f"an operation {part.text('name')!r} with settings {settings}")
    results, operands = ([_array(p, memory, device) for p in part.parts(side)] for side in ("results", "operands"))
    operation = kind.again(results, operands, settings)
    return operation


_NUMBERS = (int, bool, type(None))


def _array(part: Fields, memory: Memory, device: Device) -> array:
    view = memory.view(part.part("view"))
    rank = part.integer("rank", low=1, high=view.ndim)
    scalar, inner = scalars.canonical(view.dtype), view.shape[rank:]
    if len(inner) > 2:
        raise damaged(part.place, f"an array of elements of shape {inner}")
    make = (lambda: scalar, lambda: compounds.vector(inner[0], scalar), lambda: compounds.matrix(inner, scalar))
    return array._wrap(view, make[len(inner)](), device)
