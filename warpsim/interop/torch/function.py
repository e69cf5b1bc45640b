"""A form of an operator as a function of tensors that autograd and `torch.func` differentiate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch._C._functorch import TransformType
from torch.autograd import forward_ad

from ...core.language import array
from ...errors import NotDifferentiableError
from ..forms import GIVES_TANGENTS, GROUPS, PULLED, PUSHED, VALUE, VJP, add_active, arrange, rule
from ..operator import Active, Call
from ..signature import Parameter
from .arrays import to_torch
from .repeat import repeat_adjoint, repeat_launch

if TYPE_CHECKING:
    from .operator import TorchOperator


class Evaluation(NamedTuple):
    """What a call of an operator has beside tensors.

    numbers: the inputs that are no tensors, None for those that are; tensors: the positions of these. dims: the threads
    of the launch; shapes: full shapes of the outputs. active: the inputs that derivatives are taken in.
    """

    op: TorchOperator
    form: str
    numbers: tuple[Any, ...]
    tensors: tuple[int, ...]
    dims: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    active: Active = ()

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
        """Compute the form, or let those see it who trace or who have tensors of their own."""
        if not is_traced(operands):
            return self.compute(operands)
        with torch._C._AutoDispatchBelowAutograd():
            return list(self.op.trace(self, operands))

    def compute(self, operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Compute the form for tensors in memory; for those without memory, as they have none either."""
        again = {VALUE: repeat_launch, VJP: repeat_adjoint}.get(self.form)
        if again is not None and (results := again(self, operands)) is not None:
            return results
        if operands and all(a.is_meta for a in operands):
            return self.fake(operands)
        parts = self.split(operands)
        s, tensors = self.op.signature, iter(parts["x"])
        inputs = [s.inputs[k] for k in self.tensors]
        like = {"t": [s.inputs[k] for k in self.active], "w": [s.outputs[k] for k in s.float_outputs]}
        like["u"] = like["t"]
        x = list(self.numbers)
        for k, param in zip(self.tensors, inputs, strict=True):
            x[k] = self.op.as_argument(next(tensors), param, as_value=not param.is_array)
        groups = [
            [self.op.as_argument(a, param) for a, param in zip(parts[group], like[group], strict=True)]
            for group in GROUPS[self.form]
        ]
        call = Call(x, self.dims, self.shapes, self.op.device_of(operands))
        computed = self.op.operator.run(self.form, call, self.active, groups)
        return [as_tensor(a, param) for a, param in zip(computed, self.results_like(), strict=True)]

    def fake(self, operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Tensors like the results, without contents."""
        like = operands[0] if operands else torch.empty(())
        if self.form == VALUE:
            shapes: Sequence[Any] = self.shapes
        elif self.form in GIVES_TANGENTS:
            shapes = [self.shapes[k] for k in self.op.signature.float_outputs]
        else:
            of_input = dict(zip(self.tensors, operands, strict=False))
            shapes = [of_input[k].shape for k in self.active]
        dtypes = [self.op.dtypes[param.name] for param in self.results_like()]
        return [like.new_empty(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Classes of tensors that have memory and nothing to say."""


def is_traced(operands: Sequence[torch.Tensor]) -> bool:
    """Whether modes of the dispatcher, such as those that trace graphs, or classes of tensors follow what happens."""
    return bool(_modes() or is_before_dispatch() or not are_plain(operands))


def are_plain(operands: Sequence[torch.Tensor]) -> bool:
    """Whether all tensors are of PyTorch's own class, with strides or a layout; a loop, faster than `all`."""
    for a in operands:
        if type(a) not in PLAIN or a.is_nested:
            return False
    return True


def any_gradient(operands: Sequence[torch.Tensor]) -> bool:
    """Whether a tensor requires a gradient; a loop, faster than `any`."""
    for a in operands:
        if a.requires_grad:
            return True
    return False


_modes = torch._C._len_torch_dispatch_stack
_is_included, _BEFORE = torch._C._dispatch_tls_is_dispatch_key_included, torch._C.DispatchKey.PreDispatch


def is_before_dispatch() -> bool:
    """Whether a graph is traced of what is called before autograd sees it, as `torch.export` does."""
    return bool(_is_included(_BEFORE))


def as_tensor(a: array, param: Parameter) -> torch.Tensor:
    """A result as a tensor; the gradient of a number has no extent."""
    tensor = to_torch(a, requires_grad=False)
    return tensor if param.is_array else tensor.reshape(param.inner)


class Gradient(torch.autograd.Function):
    """An operator as a function of tensors whose gradient alone may be asked for, the cheapest way."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """As that of every `Function`, which looks its own signature up in each call: longer than a launch takes."""
        return super(torch.autograd.Function, cls).apply(*args)

    @staticmethod
    def forward(ctx: Any, evaluation: Evaluation, *operands: torch.Tensor) -> Any:
        results = tuple(evaluation.run(operands))
        Derivative.setup_context(ctx, (evaluation, *operands), results)
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        if torch.is_grad_enabled() or is_transformed():
            return second_order(ctx, *cotangents)
        evaluation, flags = ctx.evaluation, ctx.needs_input_grad[1:]
        active = tuple([k for k, flag in zip(evaluation.tensors, flags, strict=True) if flag])
        asked = evaluation._replace(form=VJP, active=active)
        gradients = iter(asked.run([*ctx.saved_tensors, *seeds(ctx, cotangents)]))
        return None, *[next(gradients) if flag else None for flag in flags]


def function_for(operands: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """What computes an operator, by the derivatives that somebody may want."""
    if is_transformed():
        return evaluator()
    if torch.is_grad_enabled() and any_gradient(operands):
        return Gradient.apply
    return lambda evaluation, *operands: evaluation.run(operands)


def evaluator() -> Callable[..., Any]:
    """What computes an operator inside of `torch.func`. Raises `NotDifferentiableError` where PyTorch has no rule."""
    kinds = layers()
    if kinds and kinds[-1] == TransformType.Functionalize:
        return lambda evaluation, *operands: evaluation.op.trace(evaluation, operands)
    if TransformType.Functionalize in kinds:
        raise NotDifferentiableError(
            "an operator inside a transformation of torch.func inside torch.func.functionalize",
            help="leave functionalize out: operators change no tensor and give no views",
        )
    if (kinds and is_before_dispatch()) or (TransformType.Grad in kinds and torch.compiler.is_exporting()):
        raise NotDifferentiableError(
            "an operator inside a transformation of torch.func that torch.export or make_fx(pre_dispatch=True) traces",
            help="export the function and transform what comes out, or trace it by make_fx or torch.compile",
        )
    return Derivative.apply


def layers() -> list[Any]:
    """The kinds of transformations of `torch.func` around, the innermost last."""
    return [layer.key() for layer in torch._C._functorch.get_interpreter_stack() or ()]


def is_transformed() -> bool:
    """Whether forward mode or a transformation of `torch.func` follows what happens."""
    return bool(torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0)


@torch.compiler.disable
def second_order(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
    """Gradients that are differentiated again; compilers give functions up that call this, instead of failing in it."""
    return Derivative.backward(ctx, *cotangents)


def seeds(ctx: Any, cotangents: Sequence[Any]) -> list[torch.Tensor]:
    """The cotangents of results that are floats, zeros for those that nothing depends on; sparse ones as dense ones."""
    refuse_older_batches(cotangents, ctx.evaluation.op.signature.owner)
    return [
        dense(c) if c is not None else torch.zeros(shape, dtype=dtype, device=device)
        for c, (shape, dtype, device) in zip(cotangents, ctx.results, strict=True)
        if dtype.is_floating_point
    ]


def dense(t: torch.Tensor) -> torch.Tensor:
    """A tensor with strides, as kernels read them."""
    return t if t.layout is torch.strided else t.to_dense()


class Derivative(torch.autograd.Function):
    """A form of an operator as a function of tensors; see `forms` for what follows from what."""

    @staticmethod
    def forward(evaluation: Evaluation, *operands: torch.Tensor) -> Any:
        return tuple(evaluation.run(operands))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        evaluation, *operands = inputs
        ctx.evaluation = evaluation
        ctx.set_materialize_grads(False)
        if len(evaluation.op.signature.float_outputs) < len(evaluation.op.signature.outputs):
            ctx.mark_non_differentiable(*(y for y in output if not y.is_floating_point()))
        ctx.results = [(y.shape, y.dtype, y.device) for y in output]
        ctx.save_for_backward(*evaluation.op.saved_operands(evaluation, operands, ctx.needs_input_grad[1:]))
        ctx.save_for_forward(*operands)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        evaluation, needed = ctx.evaluation, ctx.needs_input_grad[1:]
        parts, arriving = evaluation.split(ctx.saved_tensors), seeds(ctx, cotangents)
        gradients: list[Any] = [None]
        for operand, flags in evaluation.split(needed).items():
            known = {**parts, "c": arriving}
            gradients += pull_back(evaluation, operand, flags, known) if any(flags) else [None] * len(flags)
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, _: object, *tangents: torch.Tensor | None) -> Any:
        evaluation = ctx.evaluation
        parts, moves = evaluation.split(ctx.saved_tensors), evaluation.split(tangents)
        total = None
        for operand, along in moves.items():
            if any(d is not None for d in along):
                tangents_out = push_forward(evaluation, operand, along, parts)
                total = tangents_out if total is None else [a + b for a, b in zip(total, tangents_out, strict=True)]
        if evaluation.form != VALUE:
            return tuple(total)
        floats = dict(zip(evaluation.op.signature.float_outputs, total, strict=True))
        return tuple(floats.get(k) for k in range(len(evaluation.op.signature.outputs)))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], evaluation: Evaluation, *operands: torch.Tensor) -> Any:
        pairs = list(zip(operands, in_dims[1:], strict=True))
        rows = [
            Derivative.apply(evaluation, *(a if d is None else a.select(d, b) for a, d in pairs))
            for b in range(info.batch_size)
        ]
        if not rows:
            like = (a if d is None else a.new_zeros(a.movedim(d, 0).shape[1:]) for a, d in pairs)
            empty = tuple(y.new_zeros((0, *y.shape)) for y in Derivative.apply(evaluation, *like))
            return empty, (0,) * len(empty)
        stacked = tuple(torch.stack(column) for column in zip(*rows, strict=True))
        return stacked, (0,) * len(stacked)


def refuse_older_batches(cotangents: Sequence[Any], owner: str) -> None:
    """Raise `NotDifferentiableError` for batches that have neither memory nor rules for functions of autograd."""
    if any(c is not None and torch._C._functorch.is_legacy_batchedtensor(c) for c in cotangents):
        raise NotDifferentiableError(
            f"the gradient of {owner} for a batch that PyTorch makes without torch.func, as is_grads_batched=True and "
            "vectorize=True do",
            help="use torch.func.vmap, torch.func.jacrev or torch.func.hessian",
        )


def pull_back(evaluation: Evaluation, operand: str, flags: Sequence[bool], parts: dict[str, Any]) -> list[Any]:
    """Gradients of one of a form's operands."""
    chosen = [k for k, flag in zip(evaluation.tensors, flags, strict=True) if flag] if operand == "x" else []
    active, gradients = derive(evaluation, *rule(PULLED, evaluation.form, operand), parts, chosen)
    if operand != "x":
        return gradients
    by_input = dict(zip(active, gradients, strict=True))
    return [by_input[k] if k in chosen else None for k in evaluation.tensors]


def push_forward(evaluation: Evaluation, operand: str, along: Sequence[Any], parts: dict[str, Any]) -> list[Any]:
    """Tangents of a form's results when one of its operands moves."""
    if operand == "x":
        moving = [k for k, d in zip(evaluation.tensors, along, strict=True) if d is not None]
        moves = [d for d in along if d is not None]
    else:
        moving = list(evaluation.active)
        moves = [torch.zeros_like(a) if d is None else d for d, a in zip(along, parts[operand], strict=True)]
    form, groups = rule(PUSHED, evaluation.form, operand)
    active, tangents_out = derive(evaluation, form, groups, {**parts, "d": moves}, moving)
    return tangents_out if form in GIVES_TANGENTS else [tangents_out[active.index(k)] for k in evaluation.active]


def derive(
    evaluation: Evaluation, form: str, groups: Sequence[str], parts: dict[str, Any], further: Sequence[int]
) -> tuple[Active, list[Any]]:
    """The active inputs and the results of a form's derivative, in further inputs perhaps."""
    x, active = dict(zip(evaluation.tensors, parts["x"], strict=True)), add_active(evaluation.active, further)
    own = {**dict.fromkeys("tuc", evaluation.active), "d": further}
    beside = arrange(form, groups, parts, own, active, lambda k: torch.zeros_like(x[k]))
    return active, list(Derivative.apply(evaluation._replace(form=form, active=active), *parts["x"], *beside))
