"""Affine forms of integers: a constant plus multiples of thread indices, loop indices and other unknowns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.nodes import Call, Constant, Function, Value
from ...ops.registry import PURE
from ...types import scalars

Atom = Any
"""An unknown: `("tid", axis)`, a value, or a tuple that names a call and the forms of its operands."""


@dataclass(frozen=True)
class Affine:
    """A whole number: a constant plus multiples of unknowns."""

    terms: frozenset[tuple[Atom, int]] = frozenset()
    constant: int = 0

    def plus(self, other: Affine, times: int = 1) -> Affine:
        factors = dict(self.terms)
        for atom, factor in other.terms:
            factors[atom] = factors.get(atom, 0) + times * factor
        terms = frozenset((atom, factor) for atom, factor in factors.items() if factor)
        return Affine(terms, self.constant + times * other.constant)

    def times(self, factor: int) -> Affine:
        return Affine().plus(self, factor)


class AffineForms:
    """The affine forms of the integers of a program, derived once each; arithmetic is taken not to overflow.

    exact: a cast that may lose bits is an unknown. Else one that keeps 32 bits is none, and equal calls of equal
    operands are one unknown.
    """

    def __init__(self, definitions: Mapping[Value, Call], exact: bool = False):
        self.definitions, self.exact = definitions, exact
        self.forms: dict[Value, Affine] = {}

    def of(self, value: Value) -> Affine:
        if isinstance(value, Constant):
            return Affine(constant=int(value.value))
        if value not in self.forms:
            self.forms[value] = self.derive(value)
        return self.forms[value]

    def equate(self, value: Value, other: Value) -> None:
        """Note that a value is the same number as another one."""
        self.forms[value] = self.of(other)

    def derive(self, value: Value) -> Affine:
        """The form of a value by what computes it."""
        call = self.definitions.get(value)
        if call is None or isinstance(call.op, Function) or call.op.effect != PURE:
            return _unknown(value)
        if call.op.name == "tid":
            return _unknown(("tid", call.results.index(value)))
        if not all(scalars.is_integer(a.type) for a in call.args) or not scalars.is_integer(value.type):
            return _unknown(value)
        computed = self.compute(call, value)
        if computed is not None:
            return computed
        if self.exact or len(call.results) > 1:
            return _unknown(value)
        attributes = tuple(sorted(call.attributes.items(), key=str))
        return _unknown((call.op.name, attributes, tuple(map(self.of, call.args))))

    def compute(self, call: Call, value: Value) -> Affine | None:
        """The form of the result of arithmetic on integers; None where it is not affine."""
        name, args = call.op.name, call.args
        if name in ("add", "sub"):
            return self.of(args[0]).plus(self.of(args[1]), 1 if name == "add" else -1)
        if name == "cast" and self.narrows(args[0].type, value.type):
            return None if self.exact else _unknown(("low", value.type, self.of(args[0])))
        if name in ("neg", "cast", "pos"):
            return self.of(args[0]).times(-1 if name == "neg" else 1)
        if name == "mul":
            for a, b in (args, args[::-1]):
                if not self.of(b).terms:
                    return self.of(a).times(self.of(b).constant)
        return None

    def narrows(self, source: Any, target: Any) -> bool:
        """Whether a cast may lose bits that count."""
        size = np.dtype(source).itemsize
        return bool(np.dtype(target).itemsize < (size if self.exact else min(4, size)))


def _unknown(atom: Atom) -> Affine:
    return Affine(frozenset({(atom, 1)}))


def leaves(atom: Atom) -> Iterator[Value]:
    """The values that an unknown is made of."""
    if isinstance(atom, Value):
        yield atom
    elif isinstance(atom, Affine):
        for inner, _ in atom.terms:
            yield from leaves(inner)
    elif isinstance(atom, tuple):
        for inner in atom:
            yield from leaves(inner)
