"""Kernels as functions of JAX: jit, grad, jvp, vmap and shard_map, by one primitive for all forms of an operator.

On the CPU a call is one typed foreign function of XLA; see `jax_steps` for how it runs. Derivatives of first and second
order follow the calculus of `forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, NotDifferentiableError, user_frames
from .forms import GIVES_TANGENTS, GROUPS, PULLED, PUSHED, VALUE, arranged, joined, rule
from .jax import check_width
from .jax_evaluation import Evaluation
from .jax_plans import plans
from .operator import operator_of
from .signature import Parameter, evaluated

_METHODS = (None, "broadcast_all", "expand_dims", "sequential", "sequential_unrolled", "legacy_vectorized")
_DEFAULT = "broadcast_all"

operator_p = Primitive("warpsim_operator")
operator_p.multiple_results = True


def evaluate(evaluation: Evaluation, operands: Sequence[Any]) -> list[Any]:
    """The results of a form for operands that are traced or not."""
    return operator_p.bind(*same_axes(operands), evaluation=evaluation)


def same_axes(operands: Sequence[Any]) -> list[Any]:
    """Operands that vary over the same axes of a mesh, as inside `shard_map` the operands of one call must."""
    known = [getattr(jax.typeof(a), "manual_axis_type", None) for a in operands]
    varying = [frozenset() if m is None else m.varying for m in known]
    every = frozenset().union(*varying)
    return [
        a if own == every else jax.lax.pcast(a, tuple(every - own), to="varying")
        for a, own in zip(operands, varying, strict=True)
    ]


@operator_p.def_impl
def _(*operands: Any, evaluation: Evaluation) -> list[Any]:
    if not jax.config.jax_disable_jit:
        return compiled(evaluation)(*operands)
    with jax.disable_jit(False):  # one call is a program all the same
        return compiled(evaluation)(*operands)


@lru_cache(maxsize=1024)
def compiled(evaluation: Evaluation) -> Callable[..., Any]:
    """A call outside of `jit`."""
    return jax.jit(lambda *operands: operator_p.bind(*operands, evaluation=evaluation))


@operator_p.def_abstract_eval
def _(*operands: Any, evaluation: Evaluation) -> list[Any]:
    results = evaluation.results(evaluation.own_shapes([a.shape for a in operands])[: len(evaluation.operands)])
    lead = () if evaluation.batch is None else (evaluation.batch,)
    like = jax.typeof(jnp.zeros(())) if not operands else operands[0]
    return [like.update(shape=(*lead, *shape), dtype=param.dtype, weak_type=False) for param, shape in results]


def lowered(ctx: Any, *operands: Any, evaluation: Evaluation) -> Any:
    """The call in a program of XLA."""
    shapes = evaluation.own_shapes([a.shape for a in ctx.avals_in])
    target, plan = plans().plan(evaluation, shapes)
    return jax.ffi.ffi_lowering(target, operand_output_aliases=aliases(evaluation))(ctx, *operands, plan=plan)


mlir.register_lowering(operator_p, lowered, platform="cpu")


def aliases(evaluation: Evaluation) -> dict[int, int]:
    """Operands whose buffers may become those of results: arrays that are changed."""
    if evaluation.form != VALUE or (evaluation.batched and not all(evaluation.batched)):
        return {}
    place = {k: n for n, k in enumerate(evaluation.operands)}
    return {place[k]: n for n, k in enumerate(evaluation.operator.signature.in_out)}


# ----- derivatives and batches ------------------------------------------------------------------------


def pushed(primals: Sequence[Any], tangents: Sequence[Any], *, evaluation: Evaluation) -> tuple[Any, Any]:
    """Forward mode."""
    out = evaluate(evaluation, primals)
    check_differentiable(evaluation)
    parts, moves = evaluation.split(primals), evaluation.split(tangents)
    flags = evaluation.split(evaluation.batched) if evaluation.batched else None
    total: list[Any] | None = None
    for operand, along in moves.items():
        if all(isinstance(d, ad.Zero) for d in along):
            continue
        form, groups = rule(PUSHED, evaluation.form, operand)
        found = moved(evaluation, form, groups, operand, along, parts, flags)
        total = found if total is None else [a + b for a, b in zip(total, found, strict=True)]
    assert total is not None
    if evaluation.form != VALUE:
        return out, total
    floats = dict(zip(evaluation.operator.signature.float_outputs, total, strict=True))
    return out, [floats.get(k, ad.Zero(jax.typeof(y).to_tangent_aval())) for k, y in enumerate(out)]


def moved(
    evaluation: Evaluation, form: str, groups: Sequence[str], operand: str, along: Sequence[Any],
    parts: dict[str, list[Any]], flags: dict[str, list[bool]] | None,
) -> list[Any]:  # fmt: skip
    """Tangents of a form's results when one of its operands moves."""
    operands, inputs = evaluation.operands, dict(zip(evaluation.operands, parts["x"], strict=True))
    chosen = [n for n, d in enumerate(along) if operand == "w" or not isinstance(d, ad.Zero)]
    moves = [jnp.zeros_like(parts[operand][n]) if isinstance(along[n], ad.Zero) else along[n] for n in chosen]
    where = {"w": (), "x": operands}.get(operand, evaluation.active)
    moving = [where[n] for n in chosen] if where else []
    active = joined(evaluation.active, moving)
    own = {**dict.fromkeys("tu", evaluation.active), "d": moving}
    beside = arranged(form, groups, {**parts, "d": moves}, own, active, lambda k: jnp.zeros_like(inputs[k]))
    batched: tuple[bool, ...] = ()
    if flags is not None:
        given, named = dict(zip(operands, flags["x"], strict=True)), {**flags, "d": [flags[operand][n] for n in chosen]}
        batched = (*flags["x"], *arranged(form, groups, named, own, active, given.__getitem__))
    found = evaluate(evaluation._replace(form=form, active=active, batched=batched), [*parts["x"], *beside])
    return found if form in GIVES_TANGENTS else [found[active.index(k)] for k in evaluation.active]


def transposed(cotangents: Sequence[Any], *operands: Any, evaluation: Evaluation) -> list[Any]:
    """Reverse mode, of forms in what they are linear in."""
    parts = evaluation.split(operands)
    [group] = [g for g in GROUPS[evaluation.form] if any(ad.is_undefined_primal(a) for a in parts[g])]
    form, groups = rule(PULLED, evaluation.form, group)
    flags = evaluation.split(evaluation.batched) if evaluation.batched else None
    lead = () if evaluation.batch is None else (evaluation.batch,)
    shapes = evaluation.own_shapes([a.aval.shape if ad.is_undefined_primal(a) else a.shape for a in operands])
    results = evaluation.results(shapes[: len(evaluation.operands)])
    seeds = [
        jnp.zeros((*lead, *shape), param.dtype) if isinstance(c, ad.Zero) else c
        for c, (param, shape) in zip(cotangents, results, strict=True)
    ]
    named, batched = {**parts, "c": seeds}, ()
    if flags is not None:
        known = {**flags, "c": [True] * len(seeds)}
        batched = (*flags["x"], *(flag for g in groups for flag in known[g]))
    asked = evaluation._replace(form=form, batched=batched)
    found = evaluate(asked, [*parts["x"], *(a for g in groups for a in named[g])])
    if flags is not None:
        found = [a if flag else a.sum(0) for a, flag in zip(found, flags[group], strict=True)]
    place = iter(found)
    answers: list[Any] = [None] * len(evaluation.operands)
    for each in GROUPS[evaluation.form]:
        for a in parts[each]:
            value = next(place) if each == group else None
            answers.append(value if ad.is_undefined_primal(a) else None)
    return answers


def batched_rule(operands: Sequence[Any], dims: Sequence[Any], *, evaluation: Evaluation) -> tuple[Any, Any]:
    """`vmap`: one call for the whole batch."""
    size = next(a.shape[d] for a, d in zip(operands, dims, strict=True) if d is not None)
    rows = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(operands, dims, strict=True)]
    flags = [d is not None for d in dims]
    if evaluation.batch is None:
        found = evaluate(evaluation._replace(batch=size, batched=tuple(flags)), rows)
        return found, [0] * len(found)
    inner, old = evaluation.batch, evaluation.batched
    merged = [
        merge(a, size, inner, outer, before) if outer or before else a
        for a, outer, before in zip(rows, flags, old, strict=True)
    ]
    both = tuple(outer or before for outer, before in zip(flags, old, strict=True))
    found = evaluate(evaluation._replace(batch=size * inner, batched=both), merged)
    return [a.reshape(size, inner, *a.shape[1:]) for a in found], [0] * len(found)


def merge(a: Any, size: int, inner: int, outer: bool, before: bool) -> Any:
    """Two leading extents as one, repeated where an operand lacks one."""
    if not outer:
        a = a[None]
    if not before:
        a = a[:, None]
    rest = a.shape[2:]
    return jnp.broadcast_to(a, (size, inner, *rest)).reshape(size * inner, *rest)


ad.primitive_jvps[operator_p] = pushed
ad.primitive_transposes[operator_p] = transposed
batching.primitive_batchers[operator_p] = batched_rule


def check_differentiable(evaluation: Evaluation) -> None:
    """Raise `NotDifferentiableError` for a kernel that was declared to have no derivative."""
    if not evaluation.op.enable_backward:
        raise NotDifferentiableError(
            f"a derivative of {evaluation.operator.signature.owner}, which has enable_backward=False",
            help="make it with enable_backward=True",
        )


# ----- functions ------------------------------------------------------------------------------------------


class JaxFunction:
    """A kernel, or a function that launches kernels, as a function of JAX; made by `jax_kernel` and `jax_callable`."""

    def __init__(
        self, subject: Any, num_outputs: int | None, in_out_argnames: Any, launch_dims: Any, output_dims: Any,
        enable_backward: bool,
    ):  # fmt: skip
        self.subject, self.num_outputs, self.in_out_argnames = subject, num_outputs, in_out_argnames
        self.launch_dims, self.output_dims, self.enable_backward = launch_dims, output_dims, enable_backward
        self.operator = operator_of(subject, num_outputs or 1, in_out_argnames)
        self.__name__ = getattr(subject, "key", None) or subject.__name__

    def __deepcopy__(self, memo: Any) -> JaxFunction:
        return self  # a part of models that are copied, without a state

    def __repr__(self) -> str:
        return f"<JAX function of {self.operator.signature.owner}>"

    @user_frames
    def __call__(
        self, *args: Any, launch_dims: Any = None, output_dims: Any = None, vmap_method: str | None = None
    ) -> list[jax.Array]:
        """The outputs, as a list. launch_dims, output_dims: as of `jax_kernel`, for this call."""
        check_method(vmap_method)
        self.fit(len(args))
        signature = self.operator.signature
        signature.check_count(args)
        numbers, operands, shapes = [], [], []
        for a, param in zip(args, signature.inputs, strict=True):
            if not param.is_array and not isinstance(a, jax.Array):
                numbers.append(constant(a, param, signature.owner))
                shapes.append(())
            else:
                operands.append(operand(a, param, signature.owner))
                numbers.append(None)
                shapes.append(operands[-1].shape)
        for param in signature.outputs:
            check_width(param.dtype, f"output {param.name!r} of {signature.owner}")
        launch_dims = evaluated(self.launch_dims if launch_dims is None else launch_dims, args)
        output_dims = evaluated(self.output_dims if output_dims is None else output_dims, args)
        dims, full = signature.dims(shapes, launch_dims, output_dims)
        return list(evaluate(Evaluation(self, VALUE, tuple(numbers), dims, tuple(full)), operands))

    def fit(self, count: int) -> None:
        """Where the number of outputs was not said, it follows from that of the arguments."""
        signature = self.operator.signature
        pure = len(signature.params) - count
        if self.num_outputs is None and pure > 0 and pure != len(signature.pure):
            self.operator = operator_of(self.subject, pure + len(signature.in_out), self.in_out_argnames)


def check_method(vmap_method: Any) -> None:
    """Raise `ArgumentTypeError` for a method that JAX does not have."""
    if vmap_method not in _METHODS:
        raise ArgumentTypeError(f"vmap_method={vmap_method!r}\nexpected: one of {', '.join(map(repr, _METHODS[1:]))}")


def operand(a: Any, param: Parameter, owner: str) -> Any:
    """An argument as an operand of the kernel's dtype and rank."""
    what = f"argument {param.name!r} of {owner}"
    check_width(param.dtype, what)
    if not isinstance(a, jax.Array | np.ndarray):
        raise ArgumentTypeError(f"{what} is {type(a).__name__}\nexpected: a JAX array")
    found = jnp.asarray(a)
    if not param.is_array:
        if found.shape != param.inner:
            raise ArrayError(f"{what} has shape {found.shape}\nexpected: {param.inner}, for {type_name(param.type)}")
        if found.dtype.kind not in "biu" and not scalars.is_float(compounds.scalar_of(param.type)):
            raise ArgumentTypeError(f"{what} is an array of {found.dtype}\nexpected: {type_name(param.type)}")
        return found.astype(param.dtype)
    if found.dtype != param.dtype:
        raise ArgumentTypeError(
            f"{what} is an array of {found.dtype}\nexpected: {param.dtype}\nhelp: x.astype({str(param.dtype)!r})"
        )
    param.outer(found.shape, owner)
    return found


def constant(a: Any, param: Parameter, owner: str) -> Any:
    """A number, vector or matrix that is a constant of the program."""
    try:
        if compounds.is_compound(param.type):
            return tuple(np.asarray(a, param.dtype).ravel().tolist())
        if scalars.is_integer(param.type) and not isinstance(a, int | np.integer | np.bool_):
            raise TypeError
        return param.type(a).item()
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"argument {param.name!r} of {owner} is {type(a).__name__}\nexpected: {type_name(param.type)}"
        ) from None


@user_frames
def jax_kernel(
    kernel: Any, num_outputs: int | None = None, vmap_method: str = _DEFAULT, launch_dims: Any = None,
    output_dims: Any = None, in_out_argnames: Any = None, module_preload_mode: Any = None,
    enable_backward: bool = True,
) -> JaxFunction:  # fmt: skip
    """A kernel as a function of JAX, which returns a list of its outputs.

        [y] = jax_kernel(saxpy)(x, 2.0)

    The last parameters of the kernel are its outputs: `num_outputs` of them, or as many as a call has no arguments for.
    Numbers are constants, or JAX arrays without extents, traced or not; elements of vectors and matrices are trailing
    extents. jit, grad, jvp, vmap and shard_map work, gradients to second order. A kernel that sums into outputs finds
    zeros there.

    in_out_argnames: names of arrays that are read and written; they are returned first, in their own buffers where JAX
    needs them no more. launch_dims: the threads, by default the extents of the first array; output_dims: shapes of
    outputs, by default those of the launch: one for all, or a dict by name; both may be functions of the arguments,
    and may be given to a call. vmap_method: accepted; every method gives the results of one call after the other.
    module_preload_mode: accepted; a kernel is compiled when a program that calls it is. enable_backward: whether it
    has derivatives.

    Raises `ArgumentTypeError` for parameters that JAX has no values for; calls raise it for other dtypes, `ArrayError`
    for shapes that do not fit and 64-bit numbers that JAX is not told to have. What fails later is an error of JAX.
    """
    check_method(vmap_method)
    return JaxFunction(kernel, num_outputs, in_out_argnames, launch_dims, output_dims, enable_backward)


@user_frames
def jax_callable(
    func: Callable[..., None], num_outputs: int | None = None, graph_compatible: bool = True,
    vmap_method: str = _DEFAULT, output_dims: Any = None, in_out_argnames: Any = None, graph_mode: Any = None,
    module_preload_mode: Any = None, enable_backward: bool = True,
) -> JaxFunction:  # fmt: skip
    """A Python function that launches kernels as a function of JAX, which returns a list of its outputs.

    The function is annotated like a kernel and gets arrays and numbers. Derivatives come from a tape: arrays that it
    makes between inputs and outputs need `requires_grad=True`. output_dims: shapes of outputs, by default the extents
    of the first array. graph_compatible, graph_mode: whether and by whom it is captured in CUDA graphs. The other
    arguments, and what is raised, are as of `jax_kernel`.
    """
    check_method(vmap_method)
    return JaxFunction(func, num_outputs, in_out_argnames, None, output_dims, enable_backward)
