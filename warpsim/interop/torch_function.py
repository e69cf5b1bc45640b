"""A form of an operator as a function of tensors that autograd and `torch.func` differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..core.language import array
from .forms import GIVES_TANGENTS, GROUPS, PULLED, PUSHED, VALUE, VJP, rule
from .operator import Active, Call
from .signature import Parameter
from .torch import to_torch
from .torch_repeat import repeated, repeated_adjoint

if TYPE_CHECKING:
    from .torch_operator import TorchOperator


class Evaluation(NamedTuple):
    """What a call of an operator has beside tensors.

    numbers: the inputs that are no tensors, None for those that are. dims: the threads of the launch; shapes: full
    shapes of the outputs. active: the inputs that derivatives are taken in.
    """

    op: TorchOperator
    form: str
    numbers: tuple[Any, ...]
    dims: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    active: Active = ()

    @property
    def tensors(self) -> tuple[int, ...]:
        """The positions of the inputs that are tensors."""
        return tuple(k for k, number in enumerate(self.numbers) if number is None)

    def split(self, operands: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """The operands by what they are: `x`, and the groups of the form."""
        at = len(self.tensors)
        parts = {"x": operands[:at]}
        for group in GROUPS[self.form]:
            size = self.size(group)
            parts[group] = operands[at : at + size]
            at += size
        return parts

    def size(self, group: str) -> int:
        return len(self.op.signature.float_outputs) if group == "w" else len(self.active)

    def results_like(self) -> list[Parameter]:
        """The parameters that the results are like."""
        s = self.op.signature
        if self.form == VALUE:
            return s.outputs
        if self.form in GIVES_TANGENTS:
            return [s.outputs[k] for k in s.float_outputs]
        return [s.inputs[k] for k in self.active]

    def run(self, operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Compute the form for tensors in memory."""
        again = {VALUE: repeated, VJP: repeated_adjoint}.get(self.form)
        if again is not None and (results := again(self, operands)) is not None:
            return results
        parts = self.split(operands)
        s, tensors = self.op.signature, iter(parts["x"])
        inputs = [s.inputs[k] for k in self.tensors]
        like = {"t": [s.inputs[k] for k in self.active], "w": [s.outputs[k] for k in s.float_outputs]}
        like["u"] = like["t"]
        x = list(self.numbers)
        for k, param in zip(self.tensors, inputs, strict=True):
            x[k] = self.op.taken(next(tensors), param, as_value=not param.is_array)
        groups = [
            [self.op.taken(a, param) for a, param in zip(parts[group], like[group], strict=True)]
            for group in GROUPS[self.form]
        ]
        call = Call(x, self.dims, self.shapes, self.op.place(operands))
        found = self.op.operator.run(self.form, call, self.active, groups)
        return [given(a, param) for a, param in zip(found, self.results_like(), strict=True)]


def given(a: array, param: Parameter) -> torch.Tensor:
    """A result as a tensor; the gradient of a number has no extent."""
    made = to_torch(a, requires_grad=False)
    return made if param.is_array else made.reshape(param.inner)


class Derivative(torch.autograd.Function):
    """A form of an operator as a function of tensors; see `forms` for what follows from what."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """As that of every `Function`, which looks its own signature up in each call: longer than a launch takes."""
        if torch._C._are_functorch_transforms_active():
            return super().apply(*args)
        return super(torch.autograd.Function, cls).apply(*args)

    @staticmethod
    def forward(evaluation: Evaluation, *operands: torch.Tensor) -> Any:
        return tuple(evaluation.run(operands))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        evaluation, *operands = inputs
        ctx.evaluation = evaluation
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in output if not y.is_floating_point()))
        ctx.results = [(y.shape, y.dtype, y.device) for y in output]
        ctx.save_for_backward(*evaluation.op.kept(evaluation, operands, ctx.needs_input_grad[1:]))
        ctx.save_for_forward(*operands)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        evaluation, wanted = ctx.evaluation, ctx.needs_input_grad[1:]
        seeds = [
            c if c is not None else torch.zeros(shape, dtype=dtype, device=device)
            for c, (shape, dtype, device) in zip(cotangents, ctx.results, strict=True) if dtype.is_floating_point
        ]  # fmt: skip
        parts = evaluation.split(ctx.saved_tensors)
        found: list[Any] = [None]
        for operand, flags in evaluation.split(wanted).items():
            found += pulled(evaluation, operand, flags, {**parts, "c": seeds}) if any(flags) else [None] * len(flags)
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        evaluation = ctx.evaluation
        parts, moves = evaluation.split(ctx.saved_tensors), evaluation.split(tangents)
        total = None
        for operand, along in moves.items():
            if any(d is not None for d in along):
                found = pushed(evaluation, operand, along, parts)
                total = found if total is None else [a + b for a, b in zip(total, found, strict=True)]
        if evaluation.form != VALUE:
            return tuple(total)
        floats = dict(zip(evaluation.op.signature.float_outputs, total, strict=True))
        return tuple(floats.get(k) for k in range(len(evaluation.op.signature.outputs)))

    @staticmethod
    def vmap(info: Any, in_dims: Any, evaluation: Evaluation, *operands: Any) -> Any:
        rows = []
        for b in range(info.batch_size):
            row = [a if d is None else a.select(d, b) for a, d in zip(operands, in_dims[1:], strict=True)]
            rows.append(Derivative.apply(evaluation, *row))
        stacked = tuple(torch.stack(column) for column in zip(*rows, strict=True))
        return stacked, (0,) * len(stacked)


def pulled(evaluation: Evaluation, operand: str, flags: Sequence[bool], parts: dict[str, Any]) -> list[Any]:
    """Gradients of one of a form's operands."""
    form, groups = rule(PULLED, evaluation.form, operand)
    if operand == "x" and evaluation.form == VALUE:
        active = tuple(k for k, flag in zip(evaluation.tensors, flags, strict=True) if flag)
    else:
        active = evaluation.active
    asked = evaluation._replace(form=form, active=active)
    found = Derivative.apply(asked, *parts["x"], *(a for group in groups for a in parts[group]))
    if operand != "x":
        return list(found)
    place = dict(zip(active, found, strict=True))
    return [place.get(k) if flag else None for k, flag in zip(evaluation.tensors, flags, strict=True)]


def pushed(evaluation: Evaluation, operand: str, along: Sequence[Any], parts: dict[str, Any]) -> list[Any]:
    """Tangents of a form's results when one of its operands moves."""
    form, groups = rule(PUSHED, evaluation.form, operand)
    active, moved = evaluation.active, list(along)
    if operand == "x" and evaluation.form == VALUE:
        active = tuple(k for k, d in zip(evaluation.tensors, along, strict=True) if d is not None)
    if operand == "x":
        moved = [d for k, d in zip(evaluation.tensors, along, strict=True) if k in active]
        given_x = [a for k, a in zip(evaluation.tensors, parts["x"], strict=True) if k in active]
    else:
        given_x = list(parts[operand])
    moved = [torch.zeros_like(a) if d is None else d for d, a in zip(moved, given_x, strict=True)]
    operands = [a for group in groups for a in (moved if group == "d" else parts[group])]
    return list(Derivative.apply(evaluation._replace(form=form, active=active), *parts["x"], *operands))
