"""Library functions of bfloat16: they compute in single precision, and their results are rounded once."""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Value
from ...ops import choice
from ...types import compounds, scalars
from ..translate.translator import Translator


def is_bfloat16(operand: object) -> bool:
    """Whether an operand is a number, or a vector or matrix of numbers, of type bfloat16."""
    return isinstance(operand, Value) and scalars.is_bfloat16(compounds.scalar_of(operand.type))


def widen(tr: Translator, operands: list[Any]) -> list[Any]:
    """Operands with those of bfloat16 in single precision."""
    return [tr.emit(choice.cast, o, to=_over(o.type, scalars.float32)) if is_bfloat16(o) else o for o in operands]


def narrow(tr: Translator, result: object) -> Any:
    """A result with what is in single precision, in tuples too, rounded to bfloat16."""
    if isinstance(result, tuple):
        return tuple(narrow(tr, part) for part in result)
    if not isinstance(result, Value) or compounds.scalar_of(result.type) is not scalars.float32:
        return result
    return tr.emit(choice.cast, result, to=_over(result.type, scalars.bfloat16))


def _over(t: object, scalar: type) -> Any:
    return compounds.with_scalar(t, scalar)
