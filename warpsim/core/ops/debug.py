"""Rows that report: printing, assertions, expectations, breakpoints.

Text goes to the C library's standard output on compiled devices and to Python's in the interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import KernelAssertionError, KernelTypeError, counted
from ..ir.builder import OPERATORS
from ..ir.nodes import Call
from ..types import compounds, scalars
from ..types.arrays import type_name
from ..types.compounds import is_compound
from ..types.signatures import weak_type
from .registry import OUTPUT, TABLE, op
from .target import Target

_REPORT = "a report has no value"
_UNSIGNED = {"u": 64, "x": 64, "X": 64, "o": 64, "c": 8}  # bits


def _print_rule(types: list[Any], attributes: dict) -> Any:
    concrete = [getattr(t, "default", t) for t in types]
    return (concrete, []) if all(compounds.kind_of(t) for t in concrete) else None


def conversion(t: type) -> str:
    """The printf conversion of a scalar type."""
    if scalars.is_float(t):
        return "%g"
    if t is scalars.bool_:
        return "%s"
    return "%lld" if scalars.is_signed(t) else "%llu"


def print_format(t: type) -> str:
    """How `print` shows a value: components in brackets, matrices row by row."""
    if not is_compound(t):
        return conversion(t)
    row = "[" + " ".join([conversion(t.dtype)] * t.shape[-1]) + "]"
    return row if len(t.shape) == 1 else "[" + " ".join([row] * t.shape[0]) + "]"


def _print_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    types = [compounds.scalar_of(v.type) for v, flat in zip(call.args, args, strict=True) for _ in flat]
    text, flat_values = call.attributes["format"], [x for flat in args for x in flat]
    values = []
    for letter, x, t in zip(conversions(text), flat_values, types, strict=True):
        worded = letter == "s"  # of bools, as `print` shows them
        choice = target.builder.select(x, target.text("True"), target.text("False")) if worded else None
        values.append(choice if worded else target.promote(x, t))
    target.printf(text, values)
    return []


def _print_oracle(*values: Any, format: str, shows_adjoints: bool = False) -> None:
    flat = [x.item() for v in values for x in np.ravel(v)]
    pairs = zip(conversions(format), flat, strict=True)
    values = tuple(x % 2 ** _UNSIGNED[letter] if letter in _UNSIGNED else x for letter, x in pairs)
    text = _CONVERSION.sub(lambda match: match[0].replace("ll", ""), format)  # Python's numbers have any width
    print(text % values, end="")


@op(_print_value, numpy=_print_oracle, rule=_print_rule, effect=OUTPUT, nondiff=_REPORT, name="printf")
def printf(*values: Any) -> None:
    """Print `values` by the C conversions of the constant `format`."""


def print_adjoints(format: str, types: Sequence[Any], cotangents: Sequence[Any]) -> None:
    """Print the cotangents of what a `print` showed (a printf with `shows_adjoints`); None of a value shows as "-"."""
    matches = (match for match in _CONVERSION.finditer(format) if match[1])
    text, end = "adj: ", 0
    for t, cotangent in zip(types, cotangents, strict=True):
        shown = print_format(t)
        start = next(matches).start() - shown.index("%")
        for _ in range(shown.count("%") - 1):
            next(matches)
        text += format[end:start] + ("-" if cotangent is None else shown)
        end = start + len(shown)
    text += format[end:].rstrip() + "\n"
    printf(*(cotangent for cotangent in cotangents if cotangent is not None), format=text)


def _printf_on_host(format: str, *values: object) -> None:
    """`wp.printf` outside of kernels. Raises `KernelTypeError` for what kernels refuse."""
    format, values = with_texts(format, values)
    types = [getattr(t, "default", t) for t in map(weak_type, values)]
    check_format(format, types)
    _print_oracle(*values, format=format)


printf.host = _printf_on_host


def with_texts(format: object, values: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The format with constant texts in the places of their `%s`, and the values that are left."""
    if not isinstance(format, str) or not any(isinstance(v, str) for v in values):
        return format, tuple(values)
    rest, left = list(values), []

    def show(match: re.Match[str]) -> str:
        if not match[1] or not rest:
            return match[0]
        value = rest.pop(0)
        if match[1] == "s" and isinstance(value, str):
            return (match[0] % value).replace("%", "%%")
        left.append(value)
        return match[0]

    text = _CONVERSION.sub(show, format)
    return text, (*left, *rest)


def check_format(format: object, types: Sequence[Any]) -> None:
    """Raise `KernelTypeError` unless the format of a printf is constant text that shows values of these types."""
    if not isinstance(format, str):
        raise KernelTypeError("the first argument of printf is a constant format string")
    letters = conversions(format)
    unknown = "%s" if "s" in letters else bad_conversion(format)
    if unknown:
        known = "%d %i %u %x %o %c %f %e %g, and %% for a %"
        raise KernelTypeError(f"printf does not know {unknown!r}", expected=known)
    if len(letters) != len(types):
        raise KernelTypeError(f"printf has {counted(len(letters), 'conversion')} for {counted(len(types), 'value')}")
    for letter, t in zip(letters, types, strict=True):
        if not scalars.is_scalar(t) or scalars.is_float(t) != (letter in "eEfFgG"):
            cure = "%f for floats, %d for integers; vectors component by component, or with print"
            raise KernelTypeError(f"printf shows {type_name(t)} with %{letter}", help=cure)


def _assert_rule(types: list[Any], attributes: dict) -> Any:
    return (types, []) if types == [scalars.bool_] else None


def _assert_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    target.check(args[0][0], call)
    return []


def _assert_oracle(condition: object, message: str, replayed: bool = False) -> None:
    if not condition:
        raise KernelAssertionError(message or "assertion failed")


@op(_assert_value, numpy=_assert_oracle, rule=_assert_rule, effect=OUTPUT, nondiff=_REPORT, name="assert")
def assert_(condition: Any) -> None:
    """Stop the launch with the constant `message` unless the condition holds; `replayed`: also in its reverse."""


def expect_eq(a: Any, b: Any) -> None:
    """Stop the launch unless `a` equals `b`."""
    assert_(OPERATORS["=="](a, b), message="expect_eq failed")


def expect_neq(a: Any, b: Any) -> None:
    """Stop the launch unless `a` differs from `b`."""
    assert_(OPERATORS["!="](a, b), message="expect_neq failed")


def expect_near(a: Any, b: Any, tolerance: Any = 1.0e-6) -> None:
    """Stop the launch unless every component of `a - b` is at most `tolerance` in size."""
    difference = a - b
    t = getattr(difference, "type", type(difference))
    parts = list(_each(difference, t.shape)) if is_compound(t) else [difference]
    for part in parts:
        assert_(OPERATORS["<="](TABLE["abs"](part), tolerance), message="expect_near failed")


def _each(x: object, shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 2:
        return [x[i, j] for i in range(shape[0]) for j in range(shape[1])]
    return [x[i] for i in range(shape[0])]


def _breakpoint_rule(types: list[Any], attributes: dict) -> Any:
    return [], []


@op(
    lambda target, call, args: [],
    numpy=lambda: breakpoint(),
    rule=_breakpoint_rule,
    effect=OUTPUT,
    nondiff=_REPORT,
    name="breakpoint",
)
def breakpoint_() -> None:
    """Stop in Python's debugger on device="interp"; nothing on compiled devices."""


_CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l)?([diouxXeEfgGcs]))")


def conversions(text: str) -> list[str]:
    """The conversion letters of a printf format, in order."""
    return [letter for letter in _CONVERSION.findall(text) if letter]


def bad_conversion(text: str) -> str:
    """The first thing in a printf format that starts like a conversion and is none, or nothing."""
    rest = _CONVERSION.sub("", text)
    at = rest.find("%")
    return rest[at : at + 2] if at >= 0 else ""


def widen(text: str) -> str:
    """The format for arguments that are all 64 bits wide: `%d` becomes `%lld`."""

    def wide(match: re.Match[str]) -> str:
        letter = match.group(1)
        if not letter or letter in "eEfgGs":
            return match.group(0)
        return match.group(0)[:-1].rstrip("hl") + ("c" if letter == "c" else f"ll{letter}")

    return _CONVERSION.sub(wide, text)


expect_eq.kernel_form = "expect"
expect_near.kernel_form = "expect"
expect_neq.kernel_form = "expect"
