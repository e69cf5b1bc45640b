"""The primitive of JAX for all forms of an operator: how it is lowered, differentiated and batched.

On the CPU a call is one typed foreign function of XLA; see `steps.py` for how it runs. Derivatives of first and second
order follow the calculus of `forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ...errors import DeviceError, NotDifferentiableError
from ..forms import GIVES_TANGENTS, GROUPS, PULLED, PUSHED, VALUE, add_active, arrange, rule
from .evaluation import Evaluation, Passing
from .modes import check_captured
from .plans import plans

_MOST_KNOWN = 1024
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
        return compile_call(evaluation)(*operands)
    with jax.disable_jit(False):  # one call is a program all the same
        return compile_call(evaluation)(*operands)


def compile_call(evaluation: Evaluation) -> Callable[..., Any]:
    """A call outside of `jit`, compiled once; it goes with what it calls, as a global cache would keep both."""
    callee = evaluation.callee.itself
    known = callee.compiled
    if evaluation not in known:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        passing = evaluation._replace(callee=Passing(callee))
        known[evaluation] = jax.jit(lambda *operands: operator_p.bind(*operands, evaluation=passing))
    return known[evaluation]


@operator_p.def_effectful_abstract_eval
def _(*operands: Any, evaluation: Evaluation) -> tuple[list[Any], Any]:
    results = evaluation.results(evaluation.own_shapes([a.shape for a in operands])[: len(evaluation.operands)])
    lead = () if evaluation.batch is None else (evaluation.batch,)
    like = jax.typeof(jnp.zeros(())) if not operands else operands[0]
    abstract = [like.update(shape=(*lead, *shape), dtype=param.dtype, weak_type=False) for param, shape in results]
    return abstract, launch_effects() if stays(evaluation) else frozenset()


def stays(evaluation: Evaluation) -> bool:
    """Whether a program runs the call also where nobody needs its results."""
    return bool(evaluation.callee.has_side_effect) and evaluation.form == VALUE


@cache
def launch_effects() -> frozenset[Any]:
    """The effects that JAX gives a foreign function with side effects: it knows what may be around them."""
    call = jax.ffi.ffi_call("warpsim_native", (), has_side_effect=True)
    return frozenset(jax.make_jaxpr(call)().effects)


def lower(ctx: Any, *operands: Any, evaluation: Evaluation) -> Any:
    """The call in a program of XLA."""
    shapes = evaluation.own_shapes([a.shape for a in ctx.avals_in])
    check_captured(evaluation.callee.graph_mode, evaluation.operator.signature.owner)
    target, plan = plans().plan(evaluation, shapes)
    options = {"operand_output_aliases": aliases(evaluation), "has_side_effect": stays(evaluation)}
    return jax.ffi.ffi_lowering(target, **options)(ctx, *operands, plan=plan)


def refuse(ctx: Any, *_: Any, evaluation: Evaluation) -> Any:
    """Raise `DeviceError`: programs for other devices than the CPU do not launch kernels."""
    platforms = ", ".join(ctx.module_context.platforms)
    raise DeviceError(
        f"a call of {evaluation.operator.signature.owner} in a program of JAX for {platforms}\nexpected: cpu\n"
        "help: run it under jax.default_device(jax.devices('cpu')[0]), or launch it over wp.from_jax(x)"
    )


mlir.register_lowering(operator_p, refuse)
mlir.register_lowering(operator_p, lower, platform="cpu")


def aliases(evaluation: Evaluation) -> dict[int, int]:
    """Operands whose buffers may become those of results: arrays that are changed."""
    if evaluation.form != VALUE or (evaluation.batched and not all(evaluation.batched)):
        return {}
    index = {k: n for n, k in enumerate(evaluation.operands)}
    return {index[k]: n for n, k in enumerate(evaluation.operator.signature.in_out)}


# ----- derivatives and batches ------------------------------------------------------------------------


def push(primals: Sequence[Any], tangents: Sequence[Any], *, evaluation: Evaluation) -> tuple[Any, Any]:
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
        results = batch(evaluation, form, groups, operand, along, parts, flags)
        total = results if total is None else [a + b for a, b in zip(total, results, strict=True)]
    assert total is not None
    if evaluation.form != VALUE:
        return out, total
    floats = dict(zip(evaluation.operator.signature.float_outputs, total, strict=True))
    return out, [floats.get(k, ad.Zero(jax.typeof(y).to_tangent_aval())) for k, y in enumerate(out)]


def batch(
    evaluation: Evaluation,
    form: str,
    groups: Sequence[str],
    operand: str,
    along: Sequence[Any],
    parts: dict[str, list[Any]],
    flags: dict[str, list[bool]] | None,
) -> list[Any]:
    """Tangents of a form's results when one of its operands moves."""
    operands, inputs = evaluation.operands, dict(zip(evaluation.operands, parts["x"], strict=True))
    chosen = [n for n, d in enumerate(along) if operand == "w" or not isinstance(d, ad.Zero)]
    moves = [jnp.zeros_like(parts[operand][n]) if isinstance(along[n], ad.Zero) else along[n] for n in chosen]
    where = {"w": (), "x": operands}.get(operand, evaluation.active)
    moving = [where[n] for n in chosen] if where else []
    active = add_active(evaluation.active, moving)
    own = {**dict.fromkeys("tu", evaluation.active), "d": moving}
    beside = arrange(form, groups, {**parts, "d": moves}, own, active, lambda k: jnp.zeros_like(inputs[k]))
    batched: tuple[bool, ...] = ()
    if flags is not None:
        flag_of = dict(zip(operands, flags["x"], strict=True))
        named = {**flags, "d": [flags[operand][n] for n in chosen]}
        batched = (*flags["x"], *arrange(form, groups, named, own, active, flag_of.__getitem__))
    results = evaluate(evaluation._replace(form=form, active=active, batched=batched), [*parts["x"], *beside])
    return results if form in GIVES_TANGENTS else [results[active.index(k)] for k in evaluation.active]


def transpose(cotangents: Sequence[Any], *operands: Any, evaluation: Evaluation) -> list[Any]:
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
    gradients = evaluate(asked, [*parts["x"], *(a for g in groups for a in named[g])])
    if flags is not None:
        gradients = [a if flag else a.sum(0) for a, flag in zip(gradients, flags[group], strict=True)]
    in_order = iter(gradients)
    answers: list[Any] = [None] * len(evaluation.operands)
    for each in GROUPS[evaluation.form]:
        for a in parts[each]:
            value = next(in_order) if each == group else None
            answers.append(value if ad.is_undefined_primal(a) else None)
    return answers


def batched_rule(operands: Sequence[Any], dims: Sequence[Any], *, evaluation: Evaluation) -> tuple[Any, Any]:
    """`vmap`: one call for the whole batch."""
    size = next(a.shape[d] for a, d in zip(operands, dims, strict=True) if d is not None)
    rows = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(operands, dims, strict=True)]
    flags = [d is not None for d in dims]
    if evaluation.batch is None:
        results = evaluate(evaluation._replace(batch=size, batched=tuple(flags)), rows)
        return results, [0] * len(results)
    inner, old = evaluation.batch, evaluation.batched
    merged = [
        merge(a, size, inner, outer, before) if outer or before else a
        for a, outer, before in zip(rows, flags, old, strict=True)
    ]
    both = tuple(outer or before for outer, before in zip(flags, old, strict=True))
    results = evaluate(evaluation._replace(batch=size * inner, batched=both), merged)
    return [a.reshape(size, inner, *a.shape[1:]) for a in results], [0] * len(results)


def merge(a: Any, size: int, inner: int, outer: bool, before: bool) -> Any:
    """Two leading extents as one, repeated where an operand lacks one."""
    if not outer:
        a = a[None]
    if not before:
        a = a[:, None]
    rest = a.shape[2:]
    return jnp.broadcast_to(a, (size, inner, *rest)).reshape(size * inner, *rest)


ad.primitive_jvps[operator_p] = push
ad.primitive_transposes[operator_p] = transpose
batching.primitive_batchers[operator_p] = batched_rule


def check_differentiable(evaluation: Evaluation) -> None:
    """Raise `NotDifferentiableError` for a kernel that was declared to have no derivative."""
    if not evaluation.callee.enable_backward:
        raise NotDifferentiableError(
            f"a derivative of {evaluation.operator.signature.owner}, which has enable_backward=False",
            help="make it with enable_backward=True",
        )
