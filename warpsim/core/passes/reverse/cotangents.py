"""Cotangents of values while a program is reversed: the sum of the contributions that have arrived so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...ir.builder import active_builder
from ...ir.nodes import Call, Constant, Value
from ...ops import construct
from ...ops.arith import add
from ...types import structs
from ...types.cotangents import has_cotangent
from ..analysis.large_compounds import is_large


class Cotangents(dict[Value, Value]):
    """The cotangent of each value, by the name it has in the original program.

    around: in a branch, those that arrived before it was entered. beyond: values from outside of a loop, whose
    cotangents nobody knows in an iteration: other iterations contribute to them, too.
    """

    def __init__(
        self,
        values: Mapping[Value, Value] | Iterable[tuple[Value, Value]] = (),
        around: Cotangents | None = None,
        beyond: Collection[Value] = (),
    ):
        super().__init__(values)
        self.around, self.beyond = around, beyond

    def contribute(self, value: Value, contribution: Value | None) -> None:
        """Add a contribution to the cotangent of a value."""
        if contribution is not None and not isinstance(value, Constant):
            self[value] = accumulate(self[value], contribution) if value in self else contribution

    def take(self, value: Value) -> Value:
        """The cotangent, zero when nothing arrived; it is spent."""
        cotangent = self.pop(value, None)
        return construct.zero(value) if cotangent is None else cotangent

    def so_far(self, value: Value) -> Value | None:
        """The cotangent by all that was reversed yet, not spent; None where it is not known here."""
        here = self.get(value)
        if self.around is not None:
            before = self.around.so_far(value)
        else:
            before = None if value in self.beyond else construct.zero(value)
        return before if here is None or before is None else accumulate(before, here)


def accumulate(a: Value, b: Value) -> Value:
    """The sum of two cotangents of one value; of structs, field by field."""
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    if is_large(a.type) and (place := sole_part(b)) is not None:
        *indices, part = place
        return construct.insert(a, *indices, accumulate(construct.extract(a, *indices), part))  # type: ignore[no-any-return]
    if not structs.is_struct(a.type):
        total: Value = add(a, b)
        return total
    for name, t in a.type.fields.items():
        if has_cotangent(t):
            total = accumulate(construct.field(a, name=name), construct.field(b, name=name))
            a = construct.with_field(a, total, name=name)
    return a


def sole_part(value: Value) -> tuple[Value, ...] | None:
    """The indices of a part of a compound and the part, where all others were just made zero; else None."""
    builder = active_builder()
    nodes = builder.region.nodes if builder is not None else ()
    maker = next((n for n in reversed(nodes) if value in n.results), None)
    sparse = isinstance(maker, Call) and maker.op.name == "insert" and is_zero(maker.args[0])
    return maker.args[1:] if isinstance(maker, Call) and sparse else None


def is_zero(value: Value) -> bool:
    """Whether a cotangent is the constant zero, which sums leave out."""
    if not isinstance(value, Constant) or structs.is_struct(value.type):
        return False
    content = value.value.numpy() if hasattr(value.value, "numpy") else value.value
    return not content.any() if hasattr(content, "any") else not content
