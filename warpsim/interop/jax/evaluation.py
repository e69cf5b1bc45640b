"""One call of an operator in a program of JAX, and how Python computes it for buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from ...core.language import Kernel, array
from ...core.runtime.devices.device import CPU
from ...core.types import compounds
from ..forms import GIVES_TANGENTS, GROUPS, VALUE
from ..operator import Active, Call, Operator
from ..signature import Parameter, Shape


class Callee:
    """What programs of JAX call: an operator, and how. compiled: calls outside of `jit`, by their evaluations."""

    def __init__(self, operator: Operator, enable_backward: bool, has_side_effect: bool, graph_mode: Any):
        self.operator, self.enable_backward = operator, enable_backward
        self.has_side_effect, self.graph_mode = has_side_effect, graph_mode
        self.compiled: dict[Evaluation, Callable[..., Any]] = {}

    @property
    def itself(self) -> Callee:
        return self


class Passing:
    """A callee in a program that must not hold it: one that the callee itself holds, for calls outside of `jit`.

    JAX keeps what it knows of a function as long as the function; if that held the function, both would stay for ever.
    """

    def __init__(self, callee: Callee):
        self._callee = ref(callee)

    @property
    def itself(self) -> Callee:
        """The callee, as long as somebody calls it."""
        callee = self._callee()
        assert callee is not None
        return callee

    def __getattr__(self, name: str) -> Any:
        return getattr(self.itself, name)


_callees: WeakValueDictionary[tuple[Any, ...], Callee] = WeakValueDictionary()
_WITH_SUBJECT = "_callees_in_jax"


def callee_of(operator: Operator, block_dim: int | None, *how: object) -> Callee:
    """The callee of an operator: the same one for all that are made alike, which share their compiled programs.

    JAX knows programs by what they call. Were that new with every `jax_kernel(k)`, every one would be compiled anew. So
    callees stay with their kernel or function; those of other things, such as methods, as long as they are used.
    """
    s, subject = operator.signature, operator.subject
    key = (subject, len(s.outputs), tuple(s.in_out), block_dim, *how)
    stays = isinstance(subject, Kernel | FunctionType)
    callees = vars(subject).setdefault(_WITH_SUBJECT, {}) if stays else _callees
    known: Callee | None = callees.get(key)
    if known is None:
        known = callees[key] = Callee(operator, *how)
    return known


class Evaluation(NamedTuple):
    """One call of an operator in a program of JAX.

    numbers: the bits of the inputs that are constants, None for operands. dims: threads of the launch; shapes: full
    shapes of the outputs; active: the inputs that derivatives are taken in. batch: how many calls it stands for;
    batched: which operands have a leading extent for them. All results have one, where there is a batch.
    """

    callee: Callee | Passing
    form: str
    numbers: tuple[bytes | None, ...]
    dims: tuple[int, ...]
    shapes: tuple[Shape, ...]
    active: Active = ()
    batch: int | None = None
    batched: tuple[bool, ...] = ()

    @property
    def operator(self) -> Operator:
        return self.callee.operator

    @property
    def operands(self) -> tuple[int, ...]:
        """The positions of the inputs that are operands."""
        return tuple(k for k, number in enumerate(self.numbers) if number is None)

    def split(self, operands: Sequence[Any]) -> dict[str, list[Any]]:
        """The operands by what they are: `x`, and the groups of the form."""
        at = len(self.operands)
        parts = {"x": list(operands[:at])}
        for group in GROUPS[self.form]:
            size = len(self.operator.signature.float_outputs) if group == "w" else len(self.active)
            parts[group] = list(operands[at : at + size])
            at += size
        return parts

    def params(self) -> list[Parameter]:
        """The parameters that the operands are like."""
        s = self.operator.signature
        parameters = [s.inputs[k] for k in self.operands]
        for group in GROUPS[self.form]:
            in_group = [s.outputs[k] for k in s.float_outputs] if group == "w" else [s.inputs[k] for k in self.active]
            parameters += in_group
        return parameters

    def results(self, shapes: Sequence[Shape]) -> list[tuple[Parameter, Shape]]:
        """What the results are like, and their full shapes; shapes: those of x without a batch."""
        s = self.operator.signature
        if self.form == VALUE:
            return list(zip(s.outputs, self.shapes, strict=True))
        if self.form in GIVES_TANGENTS:
            return [(s.outputs[k], self.shapes[k]) for k in s.float_outputs]
        shape_of = dict(zip(self.operands, shapes, strict=True))
        return [(s.inputs[k], shape_of[k]) for k in self.active]

    def own_shapes(self, shapes: Sequence[Shape]) -> list[Shape]:
        """Shapes of operands without the extent of the batch."""
        if self.batch is None:
            return [tuple(shape) for shape in shapes]
        return [tuple(shape[1:] if flag else shape) for shape, flag in zip(shapes, self.batched, strict=True)]


def value_of(param: Parameter, number: bytes | None) -> Any:
    """A constant as the kernel takes it; None for an operand, which comes later."""
    if number is None:
        return None
    parts = np.frombuffer(number, param.dtype).tolist()
    return param.type(*parts) if compounds.is_compound(param.type) else parts[0]


def run(evaluation: Evaluation, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Compute a form for buffers, one member of the batch after the other."""
    flags = evaluation.batched or (False,) * len(operands)
    for b in range(1 if evaluation.batch is None else evaluation.batch):
        row = [a[b] if flag else a for a, flag in zip(operands, flags, strict=True)]
        for target, result in zip(results, run_one(evaluation, row), strict=True):
            place = target if evaluation.batch is None else target[b, ...]
            place[...] = result.numpy().reshape(place.shape)


def run_one(evaluation: Evaluation, operands: Sequence[np.ndarray]) -> list[array]:
    parts, s = evaluation.split(operands), evaluation.operator.signature
    inputs = [value_of(param, number) for param, number in zip(s.inputs, evaluation.numbers, strict=True)]
    for k, a in zip(evaluation.operands, parts["x"], strict=True):
        param = s.inputs[k]
        inputs[k] = over(a, param) if param.is_array else param.type(*a.ravel().tolist())
    like = {"w": [s.outputs[k] for k in s.float_outputs], "t": [s.inputs[k] for k in evaluation.active]}
    like["u"] = like["t"]
    groups = [[over(a, p) for a, p in zip(parts[g], like[g], strict=True)] for g in GROUPS[evaluation.form]]
    call = Call(inputs, evaluation.dims, evaluation.shapes, CPU)
    return evaluation.operator.run(evaluation.form, call, evaluation.active, groups)


def over(a: np.ndarray, param: Parameter) -> array:
    """An array over a buffer; one element for a number."""
    return array._wrap(a if param.is_array else a.reshape(1, *param.inner), param.element, CPU)
