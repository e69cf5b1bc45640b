"""Host functions that mean something of their own inside kernels, marked by `kernel_form`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.registry import TABLE, evaluate
from ...types import scalars
from ...types.precise import host_result
from .scope import typed_value

FORMS: dict[str, Callable[..., Any]] = {}
"""What translates a call of a host function, by its `kernel_form`: from translator, callee, operands and keywords."""


def form(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: enters what translates calls of the host functions marked with a form."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        FORMS[name] = rule
        return rule

    return enter


def static(expr: Any) -> Any:
    """In a kernel: evaluate a Python expression when the kernel is compiled. On the host: the value itself."""
    return expr


def constant(x: Any) -> Any:
    """Mark a module-level constant; kernels see any number, vector or matrix of their module anyway."""
    return x


def cast(a: Any, dtype: Any) -> Any:
    """The bits of `a` as a value of the type `dtype`, of the same size. `dtype(a)` converts numbers.

    Raises `KernelTypeError` for types of other sizes, or that hold arrays.
    """
    operand = typed_value(a)
    result = evaluate(TABLE["reinterpret"], operand.value, source=operand.type, to=scalars.canonical(dtype))  # type: ignore[attr-defined]
    return host_result(result)


def select(cond: Any, value_if_false: Any, value_if_true: Any) -> Any:
    """One of two values; note the order: the value for False comes first."""
    return value_if_true if cond else value_if_false


def length(a: Any) -> int:
    """The number of elements along the first dimension."""
    return len(a)


def print_(*values: Any) -> None:
    """Print values separated by blanks."""
    print(*values)


class Adjoint:
    """`wp.adjoint`: inside a gradient made by `wp.func_grad`, `wp.adjoint[x]` is the cotangent of the input `x`."""

    __name__ = "wp.adjoint"

    def __repr__(self) -> str:
        return self.__name__

    def __getitem__(self, key: Any) -> Any:
        raise TypeError("wp.adjoint[...] has a meaning inside functions made by @wp.func_grad only")

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key]


adjoint = Adjoint()

length.kernel_form = "len"  # type: ignore[attr-defined]
print_.kernel_form = "print"  # type: ignore[attr-defined]
static.kernel_form = "static"  # type: ignore[attr-defined]
constant.kernel_form = "static"  # type: ignore[attr-defined]
cast.kernel_form = "cast"  # type: ignore[attr-defined]
select.kernel_form = "select"  # type: ignore[attr-defined]
