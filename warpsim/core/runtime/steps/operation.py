"""Operations on whole arrays (`wp.utils`, `wp.fft`), and the steps that do them: `Operation`; in reverse `Transpose`.

In a file an array is a view and how many dimensions its elements do not take; operations look at numbers, not at
whether four of them are a vector or a quaternion. The library of the loading process does the operation.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from ...types import compounds, scalars
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.device import Device
from ..devices.float_mode import in_standard_mode
from .fields import Fields
from .refusals import damage_error, unsavable
from .step import GraphReader, GraphWriter, Json, Step, Use

Contents = list[np.ndarray]
"""What operands held before the operation."""


STORED: dict[str, type[ArrayOperation]] = {}
"""Operations that files can hold, by name: those that have settings and a name of their own."""


class ArrayOperation(ABC):
    """An operation that computes arrays, its results, from whole arrays, its operands, of which it may write some.

    device: a CUDA device on whose stream it is work, None for the host. Tangents and gradients are arrays like those
    that they belong to; None where there is none.
    """

    name: str
    home = "wp.utils"
    """Where users find it."""
    looks = False
    """Whether derivatives look at what the operands held."""
    bilinear = False
    """Whether results are sums of products of elements of two operands."""
    settings: tuple[str, ...] = ()
    """The attributes, numbers or None, that say with results and operands what is to be done on the host."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls) and cls.settings:
            STORED[cls.name] = cls

    def __init__(self, results: Sequence[array], operands: Sequence[Any], device: Device | None = None):
        self.results, self.operands, self.device = list(results), list(operands), device

    @classmethod
    def again(cls, results: Sequence[array], operands: Sequence[Any], settings: Mapping[str, Any]) -> ArrayOperation:
        """The operation that has these settings, on the host."""
        step = object.__new__(cls)
        step.results, step.operands, step.device = list(results), list(operands), None
        vars(step).update({name: settings[name] for name in cls.settings})
        return step

    def on(self, results: Sequence[array], operands: Sequence[Any]) -> ArrayOperation:
        """The same operation on other arrays."""
        other = copy(self)
        other.results, other.operands = list(results), list(operands)
        return other

    @abstractmethod
    def run(self) -> None:
        """Do it on the host."""

    def ready(self) -> Operation:
        """What does it now, or in the graph that is captured now."""
        return Operation(self)

    def needs_contents(self) -> bool:
        """Whether to keep what the operands hold, as gradients may be asked for."""
        return self.looks

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        """The tangent: set the tangents of results from those of operands. By default, that of a linear operation."""
        self.on(results, operands).ready().run()

    @abstractmethod
    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        """The transpose of the tangent: take gradients of what was overwritten away, add them to operands'."""


class Operation(Step):
    """The step that does an operation. work: on a CUDA device, the steps that it comes down to there."""

    def __init__(self, operation: ArrayOperation, work: Step | None = None):
        self.operation, self.work, self.device = operation, work, operation.device

    @property
    def name(self) -> str:
        return self.operation.name

    @in_standard_mode
    def run(self) -> None:
        (self.work or self.operation).run()

    def uses(self) -> list[Use]:
        written = [Use(a, writes=True) for a in self.operation.results]
        return [*map(Use, self.operation.operands), *written]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        if self.work is not None:
            return self.work.save(file)
        self.check_savable()
        return iter([self.describe(file)])

    def check_savable(self) -> None:
        """Raise unless the library of another process does the same under the name of the operation."""
        kind, operation = type(self.operation), self.operation
        if operation.device is not None or kind is not _find_class(getattr(kind, "name", ""), kind.home):
            raise unsavable(f"{self.name}, work of the host that only this process can do")

    def describe(self, file: GraphWriter) -> Json:
        """The operation as a part of a description."""
        operation = self.operation
        settings = {name: getattr(operation, name) for name in operation.settings}
        sides = {"results": operation.results, "operands": operation.operands}
        arrays = {side: [_array(a, operation.name, file) for a in members] for side, members in sides.items()}
        return {"do": "operation", "name": type(operation).name, "home": operation.home, "settings": settings, **arrays}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Operation:
        kind, settings = _find_class(part.text("name"), part.text("home")), _settings(part.part("settings").value)
        if kind is None or settings is None or set(settings) != set(kind.settings):
            raise damage_error(part.place, f"an operation {part.text('name')!r} that is not known")
        results = [_read_array(p, file) for p in part.parts("results")]
        operands = [_read_array(p, file) for p in part.parts("operands")]
        return cls(kind.again(results, operands, settings))


class Transpose(Step):
    """The step that moves the gradients of an operation's results to its operands'.

    gradients: gives those of results and of operands, None for arrays without; contents: what operands held.
    """

    def __init__(
        self,
        operation: ArrayOperation,
        gradients: Callable[[], tuple[list[Any], list[Any]]],
        contents: Callable[[], Contents],
    ):
        self.operation, self.gradients, self.contents = operation, gradients, contents

    @property
    def name(self) -> str:
        return f"{self.operation.name} (adjoint)"

    @in_standard_mode
    def run(self) -> None:
        results, operands = self.gradients()
        if any(a is not None for a in results):
            self.operation.pull(results, operands, self.contents())

    def uses(self) -> list[Use]:
        return [Use(a, writes=True) for side in self.gradients() for a in side if a is not None]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        operation = Operation(self.operation)
        operation.check_savable()
        results, operands = self.gradients()
        yield {
            "do": "transpose",
            "of": operation.describe(file),
            "results": [None if a is None else _array(a._array, "gradients", file) for a in results],
            "operands": [None if a is None else _array(a._array, "gradients", file) for a in operands],
            "contents": [file.view(memory) for memory in self.contents()],
        }

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Transpose:
        operation = Operation.read(part.part("of"), file).operation
        results, operands = (
            [None if p is None else _read_array(p, file) for p in part.optional_parts(side)]
            for side in ("results", "operands")
        )
        contents = [file.memory.view(p) for p in part.parts("contents")]
        if (len(results), len(operands)) != (len(operation.results), len(operation.operands)):
            raise damage_error(part.place, "a transpose with gradients of other arrays")
        return cls(operation, lambda: (results, operands), lambda: contents)


# ----- in files -----------------------------------------------------------------------------------

_MODULES = {"wp.utils": "utils", "wp.fft": "fft"}
"""Modules of the package whose operations files may name; they are entered in `STORED` when one is loaded."""


def _find_class(name: str, home: str) -> type[ArrayOperation] | None:
    """The class of operations of a name; None for one that files do not know."""
    if home in _MODULES and name not in STORED:
        getattr(sys.modules["warpsim"], _MODULES[home])
    kind = STORED.get(name)
    return kind if kind is not None and kind.home == home else None


def _array(a: Any, name: str, file: GraphWriter) -> Json:
    if isinstance(a, indexedarray) or a._data.dtype.names is not None:
        what = "elements that index tables pick" if isinstance(a, indexedarray) else "structs"
        raise unsavable(f"{name} of {what}")
    return {"view": file.view(a._data), "rank": a.ndim}


def _settings(values: dict[str, Any]) -> Mapping[str, Any] | None:
    """Settings with tuples where a file has lists; None for values that no operation has."""
    settings = {name: tuple(v) if type(v) is list else v for name, v in values.items()}
    flat = [x for v in settings.values() for x in (v if type(v) is tuple else (v,))]
    return settings if all(type(x) in (int, bool, str, type(None)) for x in flat) else None


def _read_array(part: Fields, file: GraphReader) -> array:
    view = file.memory.view(part.part("view"))
    rank = part.integer("rank", low=1, high=view.ndim)
    scalar, inner = scalars.canonical(view.dtype), view.shape[rank:]
    if len(inner) > 2:
        raise damage_error(part.place, f"an array of elements of shape {inner}")
    make = (lambda: scalar, lambda: compounds.vector(inner[0], scalar), lambda: compounds.matrix(inner, scalar))
    return array._wrap(view, make[len(inner)](), file.device)
