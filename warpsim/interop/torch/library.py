"""Operators in the dispatcher of PyTorch, for graphs: a schema, an implementation, a fake one and derivatives by form.

The value of an operator is the overload `default`, its derivatives are the overloads `jvp`, `vjp`, `hvp` and `jjvp`
(see `forms`), so that whoever traces finds the form that it evaluates as one node, which is differentiable itself.
Extents are arguments, which may be symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._subclasses.functional_tensor import FunctorchFunctionalizeAPI

from ...core.types import compounds, scalars
from ..forms import GROUPS, VALUE
from ..operator import Operator
from ..signature import Parameter
from .function import Evaluation, function_for, layers

if TYPE_CHECKING:
    from .operator import TorchOperator

_LIBRARY = torch.library.Library("warpsim", "DEF")
_WORD = 1 << 64
_registered: dict[tuple[Any, ...], Registered] = {}


def is_taken(name: str) -> bool:
    """Whether an operator has this name."""
    return hasattr(torch.ops.warpsim, name)


def overload(name: str, form: str = VALUE) -> Any:
    """The operator that computes a form, as graphs call it."""
    return getattr(getattr(torch.ops.warpsim, name), "default" if form == VALUE else form)


def dispatcher_operators(op: TorchOperator, tensors: tuple[bool, ...]) -> Registered:
    """The operators of the dispatcher for tensors in the place of these inputs.

    PyTorch keeps operators as long as the process, since graphs know them by name; so operators that are made again of
    the same kernel share them.
    """
    key = (*kind_of(op.operator), op.chosen_name, tensors)
    if key not in _registered:
        _registered[key] = Registered(op, tensors)
    return _registered[key]


def kind_of(operator: Operator) -> tuple[Any, ...]:
    """What operators have in common that compute the same, whatever their extents."""
    s = operator.signature
    return operator.subject, len(s.outputs), tuple(s.in_out)


class Registered:
    """The forms of an operator in the dispatcher, whose inputs at some positions are tensors."""

    def __init__(self, op: TorchOperator, tensors: tuple[bool, ...]):
        s = op.signature
        usual = all(t == param.is_array for t, param in zip(tensors, s.inputs, strict=True))
        self.op, self.tensors = op, tensors
        self.name = op.name if usual else f"{op.name}_{''.join('nt'[t] for t in tensors)}"
        for form in GROUPS:
            self.register(form)

    def register(self, form: str) -> None:
        """Enter a form in the dispatcher: what it computes, the shapes of that, and how it is differentiated."""
        title = self.name if form == VALUE else f"{self.name}.{form}"
        _LIBRARY.define(title + self.schema(form))

        def compute(*args: Any) -> Any:
            evaluation, operands = self.parse(form, args)
            return as_returned(evaluation, evaluation.compute(operands))

        def fake(*args: Any) -> Any:
            evaluation, operands = self.parse(form, args)
            return as_returned(evaluation, evaluation.fake(operands))

        def differentiable(*args: Any) -> Any:
            evaluation, operands = self.parse(form, args)
            return as_returned(evaluation, function_for(operands)(evaluation, *operands))

        def transform(*args: Any) -> Any:
            if layers()[-1] == TransformType.Functionalize:
                return call_functionalized(overload(self.name, form), args)
            return differentiable(*args)

        _LIBRARY.impl(title, compute, "CompositeExplicitAutograd")
        _LIBRARY.impl(title, differentiable, "Autograd")
        _LIBRARY.impl(title, transform, "FuncTorchDynamicLayerFrontMode")
        torch.library.register_fake(f"warpsim::{title}", fake, lib=_LIBRARY)

    def schema(self, form: str) -> str:
        """The arguments of a form and what it returns."""
        s = self.op.signature
        inputs = [f"{schema_type(p, t)} x{k}" for k, (p, t) in enumerate(zip(s.inputs, self.tensors, strict=True))]
        extents = ["SymInt[] dims", *(f"SymInt[] shape{k}" for k in range(len(s.outputs)))]
        if form == VALUE:
            return f"({', '.join([*inputs, *extents])}) -> ({', '.join('Tensor' for _ in s.outputs)})"
        groups = [f"Tensor[] {group}" for group in GROUPS[form]]
        return f"({', '.join([*inputs, *extents, *groups, 'int[] active'])}) -> Tensor[]"

    def parse(self, form: str, args: Sequence[Any]) -> tuple[Evaluation, list[torch.Tensor]]:
        """The arguments of a form as an evaluation and its operands."""
        s = self.op.signature
        count, first = len(s.inputs), len(s.inputs) + 1 + len(s.outputs)
        inputs, (dims, *shapes), rest = args[:count], args[count:first], args[first:]
        *groups, active = rest if form != VALUE else ((),)
        numbers = self.op.numbers([from_signed(a, param) for a, param in zip(inputs, s.inputs, strict=True)])
        tensors = tuple(k for k, number in enumerate(numbers) if number is None)
        evaluation = Evaluation(self.op, form, numbers, tensors, tuple(dims), tuple(map(tuple, shapes)), tuple(active))
        return evaluation, [*(inputs[k] for k in tensors), *(a for group in groups for a in group)]


def trace(evaluation: Evaluation, operands: Sequence[Any]) -> list[Any]:
    """The results of a form by the dispatcher: a node of whatever graph is traced."""
    op, parts = evaluation.op, evaluation.split(operands)
    args = list(evaluation.numbers)
    for k, a in zip(evaluation.tensors, parts["x"], strict=True):
        args[k] = a
    are_tensors = tuple(k in evaluation.tensors for k in range(len(args)))
    groups = [list(parts[group]) for group in GROUPS[evaluation.form]]
    rest = [*groups, list(evaluation.active)] if evaluation.form != VALUE else []
    target = overload(op.variant(are_tensors), evaluation.form)
    results = target(*schema_arguments(op, args, evaluation.dims, evaluation.shapes), *rest)
    return [results] if isinstance(results, torch.Tensor) else list(results)


def schema_arguments(op: TorchOperator, args: Sequence[Any], dims: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Inputs and extents as schemas have them."""
    values = [to_signed(a, param) for a, param in zip(args, op.signature.inputs, strict=True)]
    return [*values, list(dims), *(list(shape) for shape in shapes)]


def as_returned(evaluation: Evaluation, results: Sequence[Any]) -> Any:
    """Results as the schema of their form has them."""
    if evaluation.form != VALUE:
        return list(results)
    return results[0] if len(results) == 1 else tuple(results)


def call_functionalized(target: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call an operator inside `torch.func.functionalize`, which has nothing to do for it: it changes no argument."""
    layer = FunctorchFunctionalizeAPI(retrieve_current_functorch_interpreter())
    inner = layer.unwrap_tensors(tuple(args))
    with layer.redispatch_to_next():
        return layer.wrap_tensors(target(*inner))


def schema_type(param: Parameter, tensor: bool) -> str:
    """The type of an input in a schema of PyTorch."""
    if tensor:
        return "Tensor"
    if compounds.is_compound(param.type):
        return "float[]" if scalars.is_float(param.element.dtype) else "int[]"
    return "float" if scalars.is_float(param.type) else "bool" if param.type is scalars.bool_ else "int"


def to_signed(value: Any, param: Parameter) -> Any:
    """A number as schemas have it: their integers are signed."""
    wide = param.type is scalars.uint64 and isinstance(value, int)
    return value - _WORD if wide and value >= _WORD // 2 else value


def from_signed(value: Any, param: Parameter) -> Any:
    """The inverse of `to_signed`."""
    return value + _WORD if param.type is scalars.uint64 and isinstance(value, int) and value < 0 else value
