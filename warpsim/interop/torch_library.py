"""Operators in the dispatcher of PyTorch, for compiled graphs: a schema, a fake implementation, a gradient.

The gradient is an operator of its own, so that compilers see neither. Extents are arguments, which may be symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..core.types import compounds, scalars
from .forms import VALUE, VJP
from .signature import Parameter
from .torch_function import Evaluation

if TYPE_CHECKING:
    from .torch_operator import TorchOperator

_LIBRARY = torch.library.Library("warpsim", "DEF")
_WORD = 1 << 64


def is_taken(name: str) -> bool:
    """Whether an operator has this name."""
    return hasattr(torch.ops.warpsim, name)


def overload(name: str) -> Any:
    """The operator of a name, as graphs call it."""
    return getattr(torch.ops.warpsim, name).default


class Registered:
    """An operator whose inputs at some positions are tensors, and its gradient, registered under a name."""

    def __init__(self, op: TorchOperator, tensors: tuple[bool, ...], name: str):
        self.op, self.tensors, self.name = op, tensors, name
        s = op.signature
        self.count, self.outputs = len(s.inputs), s.outputs
        inputs = [f"{schema_type(p, t)} x{k}" for k, (p, t) in enumerate(zip(s.inputs, tensors, strict=True))]
        extents = ["SymInt[] dims", *(f"SymInt[] shape{k}" for k in range(len(s.outputs)))]
        args = ", ".join([*inputs, *extents])
        _LIBRARY.define(f"{name}({args}) -> ({', '.join('Tensor' for _ in s.outputs)})")
        _LIBRARY.define(f"{name}_vjp({args}, Tensor[] w, int[] active) -> Tensor[]")
        self.implement(name, self.value, self.fake_value)
        self.implement(f"{name}_vjp", self.vjp, self.fake_vjp)
        torch.library.register_autograd(
            f"warpsim::{name}", self.backward, setup_context=self.setup_context, lib=_LIBRARY
        )

    def implement(self, name: str, function: Any, fake: Any) -> None:
        """Give an operator its function, and the one that tells shapes alone."""
        _LIBRARY.impl(name, function, "CompositeExplicitAutograd")
        torch.library.register_fake(f"warpsim::{name}", fake, lib=_LIBRARY)

    def evaluation(self, args: Sequence[Any], form: str, active: Sequence[int] = ()) -> Evaluation:
        """What the arguments say beside tensors."""
        numbers = self.op.numbers([unsigned(a, p) for a, p in zip(args, self.op.signature.inputs, strict=False)])
        dims, *shapes = args[self.count : self.count + 1 + len(self.outputs)]
        tensors = tuple(k for k, number in enumerate(numbers) if number is None)
        return Evaluation(self.op, form, numbers, tensors, tuple(dims), tuple(map(tuple, shapes)), tuple(active))

    def value(self, *args: Any) -> Any:
        results = self.evaluation(args, VALUE).run([a for a in args[: self.count] if isinstance(a, torch.Tensor)])
        return results[0] if len(results) == 1 else tuple(results)

    def fake_value(self, *args: Any) -> Any:
        like = next((a for a in args if isinstance(a, torch.Tensor)), torch.empty(()))
        pairs = zip(self.outputs, args[self.count + 1 :], strict=True)
        results = [like.new_empty(shape, dtype=self.op.dtypes[param.name]) for param, shape in pairs]
        return results[0] if len(results) == 1 else tuple(results)

    def vjp(self, *args: Any) -> Any:
        *rest, w, active = args
        operands = [a for a in rest[: self.count] if isinstance(a, torch.Tensor)]
        return self.evaluation(rest, VJP, active).run([*operands, *w])

    def fake_vjp(self, *args: Any) -> Any:
        return [args[k].new_empty(args[k].shape) for k in args[-1]]

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Note what the gradient needs."""
        ctx.save_for_backward(*(a for a in inputs if isinstance(a, torch.Tensor)))
        ctx.rest = [None if isinstance(a, torch.Tensor) else a for a in inputs]
        ctx.results = [(y.shape, y.dtype, y.device) for y in (output if isinstance(output, tuple) else (output,))]

    def backward(self, ctx: Any, *cotangents: Any) -> Any:
        """Call the operator of the gradient."""
        saved = iter(ctx.saved_tensors)
        are_tensors = (*self.tensors, *[False] * (len(ctx.rest) - self.count))
        args = [next(saved) if tensor else rest for tensor, rest in zip(are_tensors, ctx.rest, strict=True)]
        active = [k for k, needed in enumerate(ctx.needs_input_grad[: self.count]) if needed]
        w = [
            c if c is not None else torch.zeros(shape, dtype=dtype, device=device)
            for c, (shape, dtype, device) in zip(cotangents, ctx.results, strict=True) if dtype.is_floating_point
        ]  # fmt: skip
        gradients = dict(zip(active, overload(f"{self.name}_vjp")(*args, w, active), strict=True))
        return tuple(gradients.get(k) for k in range(len(args)))


def schema_type(param: Parameter, tensor: bool) -> str:
    """The type of an input in a schema of PyTorch."""
    if tensor:
        return "Tensor"
    if compounds.is_compound(param.type):
        return "float[]" if scalars.is_float(param.element.dtype) else "int[]"
    return "float" if scalars.is_float(param.type) else "bool" if param.type is scalars.bool_ else "int"


def signed(value: Any, param: Parameter) -> Any:
    """A number as schemas have it: their integers are signed."""
    wide = param.type is scalars.uint64 and isinstance(value, int)
    return value - _WORD if wide and value >= _WORD // 2 else value


def unsigned(value: Any, param: Parameter) -> Any:
    """The inverse of `signed`."""
    return value + _WORD if param.type is scalars.uint64 and isinstance(value, int) and value < 0 else value
