"""Forward mode of kernels and of adjoint kernels, with what their further parameters are."""

from __future__ import annotations

from ...ir.nodes import Function, Value
from ...ops.tangents import has_floats
from ..reverse.primal_reads import ExtraParam
from ..simplify.inline import inline
from .gradients_as_params import gradient_slots, gradients_as_params
from .recomputed import recomputed_tangent
from .tangent import Slot, chosen_slots, parameter_slots, tangent


def forward_mode(fn: Function, gradients: frozenset[str]) -> tuple[Function, tuple[ExtraParam, ...]]:
    """A kernel with tangents: one further parameter for each of `chosen_slots`.

    Extras: `tangent` (the tangent of parameter `position`, or of an array or float in it).
    """
    chosen = chosen_slots(fn.params, gradients)
    return tangent(fn, chosen), tuple(ExtraParam("tangent", slot.position) for slot in chosen)


def forward_again(fn: Function, gradients: frozenset[str], ndim: int) -> tuple[Function, tuple[ExtraParam, ...]]:
    """Forward mode of a kernel that was launched, along `moving_slots`; see `recomputed`."""
    pushed, extras = recomputed_tangent(fn, moving_slots(fn.params, gradients), ndim)
    return inline(pushed), extras


def second_order(
    adjoint: Function, extras: tuple[ExtraParam, ...], gradients: frozenset[str]
) -> tuple[Function, tuple[ExtraParam, ...]]:
    """How gradients change along a direction: forward mode of an adjoint kernel, whose extras are given.

    Its parameters: those of the adjoint, a gradient array for each of `gradient_slots` of the kernel's own,
    and a tangent for each of `moving_slots` of all these. Extras: `gradient` and `tangent`, by position.
    """
    own = gradient_slots(adjoint.params[: len(adjoint.params) - len(extras)], gradients)
    plain = gradients_as_params(adjoint, own)
    moving = moving_slots(plain.params, gradients)
    gradients_of_own = (ExtraParam("gradient", slot.position) for slot in own)
    tangents = (ExtraParam("tangent", slot.position) for slot in moving)
    return tangent(plain, moving), (*extras, *gradients_of_own, *tangents)


def moving_slots(params: tuple[Value, ...], gradients: frozenset[str]) -> list[Slot]:
    """What moves along a direction: all arrays of floats, and the parameters that are named."""
    named = chosen_slots(params, gradients)
    return [slot for slot in parameter_slots(params) if not has_floats(slot.type) or slot in named]
