"""Operations on whole arrays in files: those of `wp.utils` and `wp.fft`, which the library of the loading process does.

An array is a view and how many dimensions its elements do not take; operations look at numbers, not at whether four
of them are a vector or a quaternion. A `Transpose` is what a tape does with an operation in reverse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..runtime.arrays.array import array
from ..runtime.arrays.indexed import indexedarray
from ..runtime.devices.device import Device
from ..runtime.tape.array_step import STORED, ArrayStep, StepEntry, TransposedStep
from ..types import compounds, scalars
from .fields import Fields
from .memory import Memory
from .refusals import damaged, unsavable

View = Callable[[Any], Any]
"""Describes memory."""

_MODULES = {"wp.utils": "utils", "wp.fft": "fft"}
"""Modules of the package whose operations files may name; they are entered in `STORED` when one is loaded."""


def _kind(name: str, home: str) -> type[ArrayStep] | None:
    """The class of operations of a name; None for one that files do not know."""
    if home in _MODULES and name not in STORED:
        getattr(sys.modules["warpsim"], _MODULES[home])
    kind = STORED.get(name)
    return kind if kind is not None and kind.home == home else None


def operation_of(work: Any) -> ArrayStep | StepEntry | None:
    """The operation that a step of the host does, or that it transposes; None for another step."""
    step = work.entry if isinstance(work, TransposedStep) else work
    operation = step.operation if isinstance(step, StepEntry) else step
    if not isinstance(operation, ArrayStep) or operation.device is not None:
        return None
    return step if type(operation) is _kind(type(operation).name, operation.home) else None


def describe(step: ArrayStep | StepEntry, view: View) -> dict[str, Any]:
    """An operation, or the transpose of one, as a part of a description. Raises `GraphFileError`."""
    operation = step.operation if isinstance(step, StepEntry) else step
    part = _operation(operation, view)
    if not isinstance(step, StepEntry):
        return part
    gradients = {
        "results": [_optional(a._gradient, view) for a in step.results],
        "operands": [_optional(a._array._gradient, view) for a in step.operands],
        "contents": [view(memory) for memory in step.contents()],
    }  # fmt: skip
    return {"do": "transpose", "of": part, **gradients}


def _operation(operation: ArrayStep, view: View) -> dict[str, Any]:
    settings = {name: getattr(operation, name) for name in operation.settings}
    sides = {"results": operation.results, "operands": operation.operands}
    arrays = {side: [_array(a, operation.name, view) for a in members] for side, members in sides.items()}
    return {"do": "operation", "name": type(operation).name, "home": operation.home, "settings": settings, **arrays}


def _array(a: Any, name: str, view: View) -> dict[str, Any]:
    if isinstance(a, indexedarray) or a._data.dtype.names is not None:
        what = "elements that index tables pick" if isinstance(a, indexedarray) else "structs"
        raise unsavable(f"{name} of {what}")
    return {"view": view(a._data), "rank": a.ndim}


def _optional(a: Any, view: View) -> dict[str, Any] | None:
    return None if a is None else _array(a, "gradients", view)


class Transpose:
    """Moves the gradients of an operation's results to its operands'. Arrays as `ArrayStep.pull` takes them."""

    def __init__(self, operation: ArrayStep, results: list[Any], operands: list[Any], contents: list[Any]):
        self.name, self.operation = operation.name, operation
        self.results, self.operands, self.contents = results, operands, contents

    def run(self) -> None:
        """Do it, where a gradient passes through."""
        if any(a is not None for a in self.results):
            self.operation.pull(self.results, self.operands, self.contents)


def read_operation(part: Fields, memory: Memory, device: Device) -> ArrayStep:
    """The operation of a part of a description."""
    kind, settings = _kind(part.text("name"), part.text("home")), _settings(part.part("settings").value)
    if kind is None or settings is None or set(settings) != set(kind.settings):
        raise damaged(part.place, f"an operation {part.text('name')!r} that is not known")
    results = [_read_array(p, memory, device) for p in part.parts("results")]
    operands = [_read_array(p, memory, device) for p in part.parts("operands")]
    return kind.again(results, operands, settings)


def read_transpose(part: Fields, memory: Memory, device: Device) -> Transpose:
    """The transpose of a part of a description."""
    operation = read_operation(part.part("of"), memory, device)
    results, operands = (
        [None if p is None else _read_array(p, memory, device) for p in part.optional_parts(side)]
        for side in ("results", "operands")
    )
    contents = [memory.view(p) for p in part.parts("contents")]
    if (len(results), len(operands)) != (len(operation.results), len(operation.operands)):
        raise damaged(part.place, "a transpose with gradients of other arrays")
    return Transpose(operation, results, operands, contents)


def _settings(values: dict[str, Any]) -> Mapping[str, Any] | None:
    """Settings with tuples where a file has lists; None for values that no operation has."""
    settings = {name: tuple(v) if type(v) is list else v for name, v in values.items()}
    flat = [x for v in settings.values() for x in (v if type(v) is tuple else (v,))]
    return settings if all(type(x) in (int, bool, str, type(None)) for x in flat) else None


def _read_array(part: Fields, memory: Memory, device: Device) -> array:
    view = memory.view(part.part("view"))
    rank = part.integer("rank", low=1, high=view.ndim)
    scalar, inner = scalars.canonical(view.dtype), view.shape[rank:]
    if len(inner) > 2:
        raise damaged(part.place, f"an array of elements of shape {inner}")
    make = (lambda: scalar, lambda: compounds.vector(inner[0], scalar), lambda: compounds.matrix(inner, scalar))
    return array._wrap(view, make[len(inner)](), device)
