"""Derivatives of an operator up to second order, and how they follow from one another: one calculus for all frameworks.

An operator is a function y = f(x). Its forms, with `t`, `u`, `dx` directions of x and `w` cotangents of y:

    VALUE  f(x)
    JVP    f'(x) t                     tangent, linear in t
    VJP    f'(x)^T w                   gradient, linear in w
    HVP    the derivative of VJP(x, w) along u, linear in w and in u
    JJVP   f''(x)[t, u], the derivative of JVP(x, t) along u, linear in t and in u

Each is a transpose or a derivative of another, so that every framework composes them with its own transformations.
Third derivatives are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ..errors import GradientError

VALUE, JVP, VJP, HVP, JJVP = "value", "jvp", "vjp", "hvp", "jjvp"

GROUPS: dict[str, tuple[str, ...]] = {VALUE: (), JVP: ("t",), VJP: ("w",), HVP: ("w", "u"), JJVP: ("t", "u")}
"""What a form takes beside x: `t` and `u` have a part for every active input, `w` for every output of floats."""

GIVES_TANGENTS = (JVP, JJVP)
"""Forms whose results are like the outputs of floats; those of VJP and HVP are like the active inputs."""

Rules = dict[str, dict[str, tuple[str, tuple[str, ...]]]]

PUSHED: Rules = {
    VALUE: {"x": (JVP, ("d",))},
    JVP: {"x": (JJVP, ("t", "d")), "t": (JVP, ("d",))},
    VJP: {"x": (HVP, ("w", "d")), "w": (VJP, ("d",))},
    HVP: {"w": (HVP, ("d", "u")), "u": (HVP, ("w", "d"))},
    JJVP: {"t": (JJVP, ("d", "u")), "u": (JJVP, ("t", "d"))},
}
"""The tangent of a form's results when one of its operands moves along `d`: a form, and what it takes."""

PULLED: Rules = {
    VALUE: {"x": (VJP, ("c",))},
    JVP: {"x": (HVP, ("c", "t")), "t": (VJP, ("c",))},
    VJP: {"x": (HVP, ("w", "c")), "w": (JVP, ("c",))},
    HVP: {"w": (JJVP, ("c", "u")), "u": (HVP, ("w", "c"))},
    JJVP: {"t": (HVP, ("c", "u")), "u": (HVP, ("c", "t"))},
}
"""The gradient of one of a form's operands for cotangents `c` of its results: a form, and what it takes."""


def rule(rules: Rules, form: str, operand: str) -> tuple[str, tuple[str, ...]]:
    """The derivative of a form in one of its operands. Raises `GradientError` for a third derivative."""
    answer = rules[form].get(operand)
    return refuse_third(form) if answer is None else answer


def add_active(active: Sequence[int], more: Iterable[int]) -> tuple[int, ...]:
    """The inputs that a derivative is taken in when it is one of a form in further inputs."""
    return tuple(sorted({*active, *more}))


def arrange(
    form: str,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[Any]],
    own: Mapping[str, Sequence[int]],
    active: Sequence[int],
    zero: Callable[[int], Any],
) -> list[Any]:
    """What a form takes beside x, of what `rule` named for it.

    parts: what there is by name; own: the inputs that each has a part for, fewer than the active ones where the form
    is a derivative in further inputs; zero: the part of such an input.
    """
    operands: list[Any] = []
    for slot, group in zip(GROUPS[form], groups, strict=True):
        known = dict(zip(own[group], parts[group], strict=True)) if slot != "w" else {}
        operands += parts[group] if slot == "w" else [known[k] if k in known else zero(k) for k in active]
    return operands


def refuse_third(form: str) -> NoReturn:
    raise GradientError(
        f"a third derivative: the derivative of {form} in its inputs\nexpected: derivatives of first and second order"
    )
