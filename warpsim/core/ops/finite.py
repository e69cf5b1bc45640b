"""Tests of floats for infinity and NaN, of numbers and of whatever is made of them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..types import scalars
from ..types.compounds import is_compound
from ..types.scalars import bool_
from ..types.signatures import Element, Float
from .construct import components
from .logic import bit_and, bit_or
from .registry import TABLE, expansion, op
from .target import Target
from .values import elementwise


def _float_test(kind: str) -> Any:
    def scalar_value(target: Target, t: type, x: ll.Value) -> Any:
        b = target.builder
        if kind == "nan":
            return b.fcmp_unordered("uno", x, x)
        infinity = ll.Constant(x.type, float("inf"))
        size = target.math("fabs", t, (x,))
        return b.fcmp_ordered("==", size, infinity) if kind == "inf" else b.fcmp_ordered("<", size, infinity)

    return elementwise(scalar_value)


@op(_float_test("finite"), numpy=np.isfinite, nondiff="a boolean has no derivative")
def isfinite(a: Float) -> bool_:
    """Whether `a` is neither infinite nor NaN."""


@op(_float_test("inf"), numpy=np.isinf, nondiff="a boolean has no derivative")
def isinf(a: Float) -> bool_:
    """Whether `a` is infinite."""


@op(_float_test("nan"), numpy=np.isnan, nondiff="a boolean has no derivative")
def isnan(a: Float) -> bool_:
    """Whether `a` is not a number."""


def _compound_test(name: str, all_of: bool, doc: str) -> None:
    """Declare a test of numbers for vectors, matrices, quaternions and transforms of floats."""

    def rule(types: list[Any], attributes: dict) -> Any:
        fits = len(types) == 1 and is_compound(types[0]) and scalars.is_float(types[0].dtype)
        return (types, [bool_]) if fits else None

    one = TABLE[name]
    oracle: Any = one.rows[0].numpy
    combine = bit_and if all_of else bit_or

    def signature(x: Element) -> bool_:
        return functools.reduce(combine, [one(part) for part in components(x)])

    signature.__doc__ = doc
    reduced = np.all if all_of else np.any
    expansion(numpy=lambda x: reduced(oracle(x)), name=name, rule=rule)(signature)


_compound_test("isfinite", True, "Whether every component is neither infinite nor NaN.")
_compound_test("isinf", False, "Whether some component is infinite.")
_compound_test("isnan", False, "Whether some component is not a number.")
