"""The bits of a value taken for those of another type: `wp.cast`.

The value is laid out as in memory (see `types.structs`), padding is zero, and read again as the other type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.nodes import Call
from ..types import compounds, scalars, structs
from ..types.arrays import ValueType
from ..types.signatures import Element
from .lanes import for_lanes, like
from .registry import Numeric, op
from .target import Target
from .values import from_memory, llvm_type, memory_type, to_memory


def layout(t: ValueType) -> list[tuple[type, int]]:
    """The scalars of a type, with their offsets [bytes]."""
    return list(structs.leaves(t))


def _rule(types: list[Any], attributes: dict[str, Any]) -> Any:
    source, to = types[0], attributes["to"]
    numbers = not (structs.holds_arrays(source) or structs.holds_arrays(to))
    fits = numbers and structs.numpy_dtype(source).itemsize == structs.numpy_dtype(to).itemsize
    return ([source], [to]) if fits else None


def _one_by_one(call: Call) -> bool:
    """Whether every scalar becomes one scalar, of registers that hold what memory does."""
    kinds = [layout(t) for t in (call.args[0].type, call.results[0].type)]
    places = [[(scalars.bits(t), offset) for t, offset in kind] for kind in kinds]
    odd = any(t is scalars.bool_ or scalars.is_bfloat16(t) for kind in kinds for t, _ in kind)
    return places[0] == places[1] and not odd


def _value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    source, to, b = call.args[0].type, call.results[0].type, target.builder
    if _one_by_one(call):
        return [b.bitcast(x, like(llvm_type(t), x)) for x, (t, _) in zip(args[0], layout(to), strict=True)]
    whole = ll.IntType(8 * structs.numpy_dtype(source).itemsize)
    bits = whole(0)
    for x, (t, offset) in zip(args[0], layout(source), strict=True):
        word = b.bitcast(to_memory(b, x, t), ll.IntType(scalars.bits(t)))
        wide = word if word.type == whole else b.zext(word, whole)
        bits = b.or_(bits, b.shl(wide, whole(8 * offset)))
    return [_part(b, bits, t, offset) for t, offset in layout(to)]


def _part(b: ll.IRBuilder, bits: ll.Value, t: type, offset: int) -> Any:
    """A scalar out of the bits of all."""
    moved, word = b.lshr(bits, bits.type(8 * offset)), ll.IntType(scalars.bits(t))
    return from_memory(b, b.bitcast(moved if word == bits.type else b.trunc(moved, word), memory_type(t)), t)


def _flat(value: Numeric) -> Iterator[Any]:
    """The scalars of a value as oracles hold it."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _flat(part)
    else:
        yield from np.ravel(value)


def _nest(t: ValueType, parts: Iterator[Any]) -> Any:
    """A value of a type as oracles hold it, made of its scalars."""
    if structs.is_struct(t):
        return {name: _nest(field, parts) for name, field in t.fields.items()}
    if compounds.is_compound(t):
        return np.array([next(parts) for _ in range(t.size)], t.dtype).reshape(t.shape)
    return next(parts)


def _oracle(value: Numeric, *, source: ValueType, to: ValueType) -> Any:
    memory = bytearray(structs.numpy_dtype(source).itemsize)
    for x, (t, offset) in zip(_flat(value), layout(source), strict=True):
        number = np.array(x, t).tobytes()
        memory[offset : offset + len(number)] = number
    return _nest(to, (np.frombuffer(memory, t, 1, offset)[0] for t, offset in layout(to)))


@op(for_lanes(_value, _one_by_one), numpy=_oracle, rule=_rule, nondiff="bits have no derivative")
def reinterpret(x: Element) -> Element:
    """The bits of `x` as a value of the type `to`, of the same size in memory."""
