"""Symbol tables: what names mean at a point of the program, and what operands are.

A name is bound to an *operand*: an IR Value, or a Python object known at compile time (a number, a
tuple of operands, a function, a type). Joining two scopes keeps equal operands, makes a phi of
different ones, and marks names that one side lacks; using a marked name is an error that tells why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import KernelTypeError
from ...ir.nodes import Constant, Value
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.signatures import WEAK_FLOAT, WEAK_INT, weak_fits

RETURNED, BROKE, CONTINUED, RESULT = "<returned>", "<broke>", "<continued>", "<result>"
FLAGS = (RETURNED, BROKE, CONTINUED)


@dataclass(frozen=True)
class Unassigned:
    """Stands for a name that some path leaves without a value, or that has several types (`conflict`)."""

    reason: str
    conflict: bool = False


class Erroneous:
    """Stands for a name whose assignment failed; its uses are not reported again."""


class Parted:
    """Base of operands that exist when the kernel is compiled only, and are made of others: a branch joins these."""

    parts: tuple[Any, ...]

    def like(self, other: object) -> bool:
        """Whether another one differs in its parts alone."""
        raise NotImplementedError

    def of_parts(self, parts: Sequence[Any]) -> Any:
        """One like this of other parts."""
        raise NotImplementedError

    def whole_of(self, operand: object) -> Parted | None:
        """What this one is a part of, as one that is made of parts; None for all else."""
        raise NotImplementedError


class Scope(dict[str, Any]):
    """Names and their operands; copied at branches."""

    def copy(self) -> Scope:
        return Scope(self)


def is_number(x: object) -> bool:
    """A compile-time number: Python's or NumPy's."""
    return isinstance(x, (bool, int, float, np.generic))


def same(a: object, b: object) -> bool:
    """Whether two operands are one and the same."""
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.type is b.type and scalars.is_scalar(a.type) and _identical(a.value, b.value)
    return is_number(a) and is_number(b) and type(a) is type(b) and _identical(a, b)


def _identical(a: object, b: object) -> bool:
    """Equal including the sign of zero."""
    return bool(a == b) and str(a) == str(b)


def typed_value(operand: object, like: object = None) -> Value:
    """The operand as a Value; literals take the type `like` when they fit it, else their default type.

    Raises `KernelTypeError` for things that have no run-time value (functions, types, text).
    """
    if isinstance(operand, Value):
        return operand
    if isinstance(operand, (compounds.Compound, structs.Struct)):
        return Constant(type(operand), without_arrays(operand))
    if not is_number(operand):
        kinds = "a number, vector, matrix or struct"
        raise KernelTypeError(f"{describe(operand)} has no value at run time", expected=kinds)
    if isinstance(operand, np.generic):  # NumPy's numbers are typed, np.float64 too
        t = scalars.canonical(type(operand))
        if not scalars.is_scalar(t):
            raise KernelTypeError(f"{operand!r} is a {type(operand).__name__}", expected="a scalar type of kernels")
        return Constant(t, t(operand))
    if isinstance(operand, bool):
        return Constant(scalars.bool_, np.bool_(operand))
    weak = WEAK_INT if isinstance(operand, int) else WEAK_FLOAT
    t = like if like is not None and scalars.is_scalar(like) and weak_fits(weak, like) else weak.default
    return Constant(t, fitting(operand, t))


def without_arrays(operand: object) -> Any:
    """A host value as a constant; arrays have an address, which no compiled program may hold on to."""
    if isinstance(operand, structs.Struct):
        for name in type(operand).fields:
            if is_host_array(getattr(operand, name)):
                raise host_array_error(f"field {name!r} of a {type(operand).__name__}")
            without_arrays(getattr(operand, name))
    return operand


def is_host_array(x: object) -> bool:
    """Whether a Python object is an array of the host."""
    return isinstance(getattr(x, "type", None), ArrayType) and not isinstance(x, Value)


def host_array_error(what: str) -> KernelTypeError:
    return KernelTypeError(f"{what} is an array of the host", help="pass it as an argument of the kernel")


def fitting(number: Any, t: type) -> Any:
    """A literal as a value of type `t`; raises when it does not fit."""
    if scalars.is_integer(t):
        limits = np.iinfo(t)
        if not limits.min <= int(number) <= limits.max:
            raise KernelTypeError(
                f"{number} does not fit {type_name(t)}",
                expected=f"a number from {limits.min} to {limits.max}",
                help="convert it: wp.int64(...) or wp.uint32(...)",
            )
        return t(number)
    try:
        with np.errstate(over="ignore"):
            converted = t(number)
    except OverflowError:  # an integer that no float holds
        converted = np.inf
    if scalars.is_float(t) and np.isinf(converted) and abs(number) != np.inf:
        raise KernelTypeError(
            f"{number} does not fit {type_name(t)}",
            expected=f"a number up to {scalars.largest(t)}",
            help="convert it: wp.float64(...)",
        )
    return converted


def describe(operand: object) -> str:
    """An operand as messages name it."""
    if isinstance(operand, Value):
        return type_name(operand.type)
    if isinstance(operand, tuple):
        return "(" + ", ".join(map(describe, operand)) + ")"
    if is_number(operand):
        return f"{operand!r} ({type_name(number_type(operand))})"
    if isinstance(operand, str):
        return f"text {operand!r}"
    if operand is None or isinstance(operand, compounds.Compound):
        return repr(operand)
    return f"{getattr(operand, '__name__', None) or type(operand).__name__}"


def number_type(number: object) -> Any:
    """The type of a compile-time number: its own, or the default of a literal."""
    return scalars.canonical(type(number))


def placeholder(t: object) -> Value | None:
    """Zero, or an empty array, for a path on which a value of type `t` is never read; None where there is none."""
    if scalars.is_scalar(t):
        return Constant(t, t(0))
    if compounds.is_compound(t):
        return Constant(t, t.wrap(np.zeros(t.shape, t.dtype)))
    if structs.is_struct(t):
        return Constant(t, t())
    if isinstance(t, ArrayType) and t.local_shape is None:
        return Constant(t, None)
    return None
