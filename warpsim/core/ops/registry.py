"""The op table. One row = type rule + value on compiled targets + NumPy oracle + adjoint.

    @op(value=libm("sin"), numpy=np.sin)          # how each target computes it, and the oracle
    def sin(x: Float) -> Float:                   # the annotations are the type rule
        "Sine of `x` [rad]."

    @sin.adjoint                                  # pure: one cotangent per input, traced into IR
    def _(x, out, dout):
        return (dout * cos(x),)

A rule gets the operands, the results and a cotangent per result, and as keyword-only parameters those
attributes of the call that it asks for. A result without a cotangent has None in its place. A rule is
asked when some result has one; that of a write or an atomic always.

A function that returns something is an *expansion*: its body, traced, is the value on every target
and its adjoint is derived. A row without adjoint and without expansion must state why in
`nondiff=`; `seal()` refuses the table otherwise. Several rows of one name are overloads, tried in
order. Effects (`read`, `write`, `atomic`, `output`) keep a call alive and in order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import KernelCallError, KernelTypeError, WarpsimError, shown
from ..ir.builder import Builder, active_builder, constant
from ..ir.nodes import Value
from ..types import compounds, scalars
from ..types.answers import kept_with, per_object
from ..types.arrays import type_name
from ..types.precise import host_result, typed_numbers
from ..types.scalar_classes import own, plain
from ..types.signatures import WEAK_FLOAT, Bindings, Weak, match, match_weak, resolve, weak_type
from ..types.values import Compound
from .documentation import Documentation, Signature

ATOMIC, OUTPUT, PURE, READ, WRITE = "atomic", "output", "", "read", "write"

Numeric = np.ndarray | np.generic
"""What oracles compute with: arrays of NumPy, and its scalars."""


@dataclass(eq=False)
class Row:
    """One overload of an op."""

    name: str
    params: tuple[inspect.Parameter, ...]
    returns: Any
    doc: str
    value: Callable[..., Any] | None = None
    numpy: Callable[..., Any] | None = None
    expansion: Callable[..., Any] | None = None
    rule: Callable[..., Any] | None = None
    domain: tuple[float, float] = (-2.0, 2.0)
    """Where tests take their random floats: there the row is smooth and finite."""
    nondiff: str = ""
    jumps: bool = False
    """Whether the result jumps where operands pass some value, although it has a derivative elsewhere."""
    effect: str = PURE
    opaque: bool = False
    """Native code: it goes anywhere in the arrays among the operands at the positions `reads` and `writes`."""
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    contends: bool = False
    """Whether native code has atomics of its own, whose order matters for all that is known."""
    ulps: int = 0
    """How far a target may be from the oracle, in units in the last place; 0 means equal bits.

    Of the result for a primitive; expansions cancel, and are measured at the largest number in play.
    """
    adjoint_rule: Callable[..., Any] | None = None
    tangent_rule: Callable[..., Any] | None = None
    """Forward mode where it does not follow from the adjoint; see `tangents`."""

    @property
    def needs_kernel(self) -> bool:
        """Whether it means nothing outside of kernels: it asks for the thread, or goes into memory."""
        return self.expansion is None and (self.numpy is None or self.effect in (READ, WRITE, ATOMIC))

    def match(self, types: list[Any], attributes: dict[str, Any]) -> Match | None:
        """The concrete types of this overload at argument `types` (weak ones allowed), or None."""
        required = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in self.params)
        if len(types) < required:
            return None
        if self.rule is not None:
            answer = self.rule(types, attributes)
            return None if answer is None else Match(self, tuple(answer[0]), tuple(answer[1]))
        if len(types) > len(self.params):
            return None
        patterns = [p.annotation for p in self.params[: len(types)]]
        bound: Bindings = {}
        concrete = list(types)
        for pattern, t in zip(patterns, types, strict=True):
            if not isinstance(t, Weak) and not match(pattern, t, bound):
                return None
        for i, (pattern, t) in enumerate(zip(patterns, types, strict=True)):
            if isinstance(t, Weak):
                concrete[i] = match_weak(pattern, t, bound)
                if concrete[i] is None:
                    return None
        returns = self.returns if isinstance(self.returns, tuple) else (self.returns,)
        results = tuple(resolve(r, bound) for r in returns if r is not None)
        return Match(self, tuple(concrete), results)

    def cotangents(
        self, args: tuple[Value, ...], outs: tuple[Value, ...], douts: list[Value | None], attributes: dict[str, Any]
    ) -> tuple[Value | None, ...]:
        """Trace the adjoint: one cotangent per operand, None where there is none."""
        rule = self.adjoint_rule
        assert rule is not None, f"{self.name} has no adjoint"
        cotangents = rule(*args, *outs, *douts, **{name: attributes[name] for name in asked_attributes(rule)})
        assert len(cotangents) == len(args), f"{self.name}: one cotangent per operand"
        return tuple(cotangents)

    def signature(self) -> str:
        """The overload as messages print it."""
        inner = ", ".join(f"{p.name}: {type_name(p.annotation)}" for p in self.params)
        return f"{self.name}({inner})"

    def evaluate(self, args: list[Any], result_types: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
        """The oracle's value: NumPy scalars and arrays in, values of `result_types` out."""
        assert self.numpy is not None, self.name
        with np.errstate(all="ignore"):
            result = self.numpy(*map(as_computed, args), **attributes)
            if not result_types:
                return ()
            parts = result if len(result_types) > 1 else (result,)
            return tuple(_as_type(v, t) for v, t in zip(parts, result_types, strict=True))


@dataclass(frozen=True)
class Match:
    """An overload chosen for a call, with the types its arguments are converted to."""

    row: Row
    arg_types: tuple[Any, ...]
    result_types: tuple[Any, ...]


@dataclass(eq=False)
class Op:
    __doc__ = Documentation("A public name and its overloads; calling it traces (Values) or evaluates (host values).")
    __signature__ = Signature()

    name: str
    rows: list[Row] = field(default_factory=list)
    matches: dict[Any, Match] = field(default_factory=dict, repr=False)
    """Overloads by the types and attributes that they were chosen for, where no struct is among these."""
    host: Callable[..., Any] | None = None
    """What a call outside of kernels does, where that is not the value of an overload."""

    def adjoint(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Declare the adjoint of the row declared last."""
        self.rows[-1].adjoint_rule = rule
        return rule

    def tangent(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Declare how tangents go through all rows of the op, see `tangents`."""
        for row in self.rows:
            row.tangent_rule = rule
        return rule

    def find(self, types: list[Any], attributes: dict[str, Any] | None = None) -> Match:
        """The first overload that fits; raises `KernelTypeError` listing the candidates."""
        key = (self, len(self.rows), *types, *(attributes.items() if attributes else ()))
        matches = kept_with((*types, *attributes.values()) if attributes else types, self.matches)
        try:
            if key in matches:
                return matches[key]
        except TypeError:
            raise KernelTypeError(f"{self.name}: an argument that is no value of kernels, in {shown(types)}") from None
        for row in self.rows:
            chosen = row.match(types, attributes or {})
            if chosen is not None:
                matches[key] = chosen
                return chosen
        raise KernelTypeError(
            f"{self.name}: no overload for ({', '.join(map(type_name, types))})",
            expected="one of " + "; ".join(self.signatures()),
            help=_hint(self.name, types),
        )

    def signatures(self) -> list[str]:
        """The overloads as messages print them, those of equal types once."""
        by_types: dict[Any, str] = {}
        for row in self.rows:
            by_types.setdefault(tuple(p.annotation for p in row.params), row.signature())
        return list(by_types.values())

    def in_order(self, args: Sequence[Any], keywords: dict[str, Any]) -> list[Any] | None:
        """Arguments by position for keywords, by the parameter names of a row that has them; None without one."""
        for row in self.rows:
            rest = [p.name for p in row.params][len(args) :]
            if set(keywords) <= set(rest) and rest[: len(keywords)] == [n for n in rest if n in keywords]:
                return [*args, *(keywords[n] for n in rest[: len(keywords)])]
        return None

    def __call__(self, *args: Any, **attributes: Any) -> Any:
        builder = active_builder()
        if builder is not None and any(isinstance(a, Value) for a in args):
            return emit(builder, self, args, attributes)
        if builder is None and attributes and (ordered := self.in_order(args, attributes)) is not None:
            args, attributes = tuple(ordered), {}
        if builder is None and self.host is not None:
            return self.host(*args, **attributes)
        result = evaluate(self, *args, **attributes)
        return result if builder is not None else host_result(result)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@per_object
def asked_attributes(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The attributes of a call that an adjoint rule asks for."""
    parameters = inspect.signature(rule).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


TABLE: dict[str, Op] = {}


def op(
    value: Callable[..., Any] | None = None, *, numpy: Callable[..., Any] | None = None, name: str = "", **facts: Any
) -> Callable[[Callable[..., Any]], Op]:
    """Declare a primitive row; see the module docstring. `facts` are fields of `Row`."""

    def declare(signature: Callable[..., Any]) -> Op:
        return _add(signature, name, value=value, numpy=numpy, **facts)

    return declare


def expansion(
    *, numpy: Callable[..., Any] | None = None, name: str = "", **facts: Any
) -> Callable[[Callable[..., Any]], Op]:
    """Declare a row by its body in terms of other ops."""

    def declare(body: Callable[..., Any]) -> Op:
        return _add(body, name, expansion=body, numpy=numpy, **facts)

    return declare


def _add(signature: Callable[..., Any], name: str, **facts: Any) -> Op:
    declared = inspect.signature(signature, eval_str=True)
    name = name or signature.__name__.rstrip("_")
    entry = TABLE.setdefault(name, Op(name))
    returns = None if declared.return_annotation is declared.empty else declared.return_annotation
    params = tuple(declared.parameters.values())
    entry.matches.clear()
    entry.rows.append(Row(name, params, returns, inspect.getdoc(signature) or "", **facts))
    return entry


def rows() -> Iterator[Row]:
    """Every row of the table."""
    for entry in TABLE.values():
        yield from entry.rows


def seal() -> None:
    """Refuse a table in which some row has no value, or neither a derivative nor a reason for none."""
    for row in rows():
        if row.value is None and row.expansion is None:
            raise WarpsimError(f"op row {row.signature()} has neither value nor expansion")
        if row.adjoint_rule is None and row.expansion is None and not row.nondiff:
            raise WarpsimError(f"op row {row.signature()} has no adjoint; declare one or say why in nondiff=")


# ----- tracing and evaluation ---------------------------------------------------------------


def operand_type(x: object) -> Any:
    """The type of a Value or of a host constant (weak for Python numbers)."""
    return x.type if isinstance(x, Value) else weak_type(x)


def emit(builder: Builder, operation: Op, args: tuple[Any, ...], attributes: dict[str, Any] | None = None) -> Any:
    """Choose an overload, turn literals into constants of its types, append the call."""
    chosen = operation.find([operand_type(a) for a in args], attributes)
    pairs = zip(args, chosen.arg_types, strict=True)
    values = tuple(a if isinstance(a, Value) else constant(t, a) for a, t in pairs)
    return builder.call(chosen.row, values, chosen.result_types, attributes)


def evaluate(operation: Op, *args: Any, **attributes: Any) -> Any:
    """The value of an op at host values, typed as in kernels."""
    if all(row.needs_kernel for row in operation.rows):
        raise KernelCallError(f"wp.{operation.name} works inside kernels only\nhelp: launch a kernel, or use NumPy")
    chosen = operation.find([weak_type(a) for a in args], attributes)
    pairs = zip(args, chosen.arg_types, strict=True)
    values = [a if isinstance(a, t) else t(a) for a, t in pairs]
    row = chosen.row
    if row.numpy is None:
        assert row.expansion is not None, row.name
        with typed_numbers():
            return row.expansion(*values)
    results = row.evaluate([_for_oracle(v) for v in values], chosen.result_types, attributes)
    wrapped = tuple(to_host(v, t) for v, t in zip(results, chosen.result_types, strict=True))
    return wrapped if len(wrapped) > 1 else (wrapped[0] if wrapped else None)


def to_host(value: Any, t: object) -> Any:
    """The oracle's representation as a host value of type `t`."""
    return t.wrap(value) if compounds.is_compound(t) else own(value)


def _for_oracle(value: object) -> Any:
    """A host value as oracles compute with it."""
    return value.numpy() if isinstance(value, Compound) else plain(value)


def as_computed(x: Any) -> Any:
    """An operand as oracles compute with it: bfloat16 in single precision."""
    dtype = getattr(x, "dtype", None)
    narrow = dtype is not None and scalars.is_bfloat16(getattr(dtype, "type", None))
    return x.astype(np.float32) if narrow else x


def _as_type(value: object, t: object) -> Any:
    if scalars.is_scalar(t):
        cls = scalars.numpy_class(t)
        return value if type(value) is cls else cls(value)
    if compounds.is_compound(t):
        return np.asarray(value, t.dtype).reshape(t.shape)
    return value


def _conversion(types: list[Any]) -> str:
    """A conversion that lets one of these types meet the others: to floats, the scalar of vectors, wide numbers."""
    scalar_of = {t: compounds.scalar_of(t) if compounds.is_compound(t) else t for t in types if _holds_number(t)}

    def rank(t: object) -> tuple[bool, bool, int, bool]:
        scalar = scalar_of[t]
        return scalars.is_float(scalar), compounds.is_compound(t), np.dtype(scalar).itemsize, t in scalars.UNSIGNED

    target = scalar_of[max(scalar_of, key=rank)]
    other = next(t for t, scalar in scalar_of.items() if scalar is not target)
    if compounds.is_compound(other):
        return f"wp.{type_name(compounds.compound_type(other.kind, other.shape, target))}(v)"
    to = _BUILT_IN.get(target, f"wp.{type_name(target)}")
    return f"{to}({'x' if scalars.is_float(other) else 'n'})"


_BUILT_IN = {scalars.float32: "float", scalars.int32: "int"}


def _holds_number(t: object) -> bool:
    return scalars.is_number(t) or compounds.is_compound(t)


def _hint(name: str, types: list[Any]) -> str:
    numbers = {t for t in types if scalars.is_number(t)}
    numbers |= {compounds.scalar_of(t) for t in types if compounds.is_compound(t)}
    if len(numbers) > 1:
        return f"scalar types do not mix silently: convert one side, for example {_conversion(types)}"
    if name == "mul" and all(compounds.kind_of(t) == "vector" for t in types):
        return "the component-wise product is wp.cw_mul, the dot product wp.dot"
    if any(hasattr(t, "__dlpack__") for t in types):
        return f"wp.{name} takes single values; wp.map(wp.{name}, a) takes the elements of arrays"
    if WEAK_FLOAT in types and any(scalars.is_integer(t) for t in types):
        return "a float literal does not fit an integer: convert the variable, for example float(i)"
    return ""
