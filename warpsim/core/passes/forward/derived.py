"""Forward mode of kernels and of adjoint kernels, with what their further parameters are."""

from __future__ import annotations

from ...ir.nodes import Function, Value
from ...ops.tangents import has_floats
from ..reverse.extra_params import Extras, GradientArray, TangentOf
from ..simplify.inline import inline
from .gradients_as_params import gradient_arrays, gradients_as_params
from .recomputed import recomputed_tangent
from .tangent import Floats, chosen_floats, float_params, tangent


def forward_mode(fn: Function, gradients: frozenset[str]) -> tuple[Function, Extras]:
    """A kernel with tangents: one further parameter for each of `chosen_floats`."""
    chosen = chosen_floats(fn.params, gradients)
    return tangent(fn, chosen), tuple(TangentOf(ref.position) for ref in chosen)


def forward_again(fn: Function, gradients: frozenset[str], ndim: int) -> tuple[Function, Extras]:
    """Forward mode of a kernel that was launched, along `moving_floats`; see `recomputed`."""
    pushed, extras = recomputed_tangent(fn, moving_floats(fn.params, gradients), ndim)
    return inline(pushed), extras


def second_order(adjoint: Function, extras: Extras, gradients: frozenset[str]) -> tuple[Function, Extras]:
    """How gradients change along a direction: forward mode of an adjoint kernel, whose extras are given.

    Its parameters: those of the adjoint, a gradient array for each of `gradient_arrays` of the kernel's own,
    and a tangent for each of `moving_floats` of all these.
    """
    own = gradient_arrays(adjoint.params[: len(adjoint.params) - len(extras)], gradients)
    plain = gradients_as_params(adjoint, own)
    moving = moving_floats(plain.params, gradients)
    gradients_of_own = (GradientArray(ref.position) for ref in own)
    tangents = (TangentOf(ref.position) for ref in moving)
    return tangent(plain, moving), (*extras, *gradients_of_own, *tangents)


def moving_floats(params: tuple[Value, ...], gradients: frozenset[str]) -> Floats:
    """What moves along a direction: all arrays of floats, and the parameters that are named."""
    named = chosen_floats(params, gradients)
    return {ref: t for ref, t in float_params(params).items() if not has_floats(t) or ref in named}
