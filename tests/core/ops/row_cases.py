"""Concrete forms of every pure row of the op table, and operands to try them on.

A row whose annotations are its type rule gives its own cases: each type variable takes each of a few
values. Rows with a rule of their own are listed in `RULED`. Rows that touch memory, print or ask for
the thread are listed in `ELSEWHERE` with the test file that covers them.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpsim.core.ops.registry import Match, Row, rows
from warpsim.core.types import compounds, scalars, structs
from warpsim.core.types.scalars import bool_, float16, float32, float64, int32, int64, uint8, uint32
from warpsim.core.types.signatures import CompoundPattern, TypeVariable, resolve

ELSEWHERE = {
    "load": "test_memory_rows", "store": "test_memory_rows", "view": "test_memory_rows",
    "field_view": "test_memory_rows", "component_view": "test_memory_rows", "gradient": "test_memory_rows",
    "has_gradient": "test_memory_rows", "is_none": "test_memory_rows",
    "shape": "test_memory_rows", "local_array": "test_memory_rows", "atomic_add": "test_atomic_rows",
    "atomic_sub": "test_atomic_rows", "atomic_min": "test_atomic_rows", "atomic_max": "test_atomic_rows",
    "atomic_exch": "test_atomic_rows", "atomic_cas": "test_atomic_rows", "atomic_and": "test_atomic_rows",
    "atomic_or": "test_atomic_rows", "atomic_xor": "test_atomic_rows", "tid": "test_report_rows",
    "block_dim": "test_report_rows", "printf": "test_report_rows", "assert": "test_report_rows",
    "breakpoint": "test_report_rows", "resolve": "test_handle_rows", "reinterpret": "test_reinterpret",
}  # fmt: skip


@structs.struct
class Inner:
    a: float64
    v: compounds.vector(3, float64)


@structs.struct
class Outer:
    flag: bool_
    n: int32
    x: float64
    inner: Inner
    m: compounds.matrix((2, 2), float64)


@dataclass(frozen=True, eq=False)
class Case:
    """One overload at concrete types."""

    row: Row
    types: tuple[Any, ...]
    results: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(t.__name__ for t in self.types)
        facts = "".join(f" {k}={getattr(v, '__name__', v)}" for k, v in self.attributes.items())
        return f"{self.row.name}({names}){facts}"


# ----- types --------------------------------------------------------------------------------

FEW = (float16, float32, float64, int32)


def compound_types(numbers: tuple[type, ...] = FEW) -> list[Any]:
    shapes = [(compounds.vector, n) for n in (2, 3, 4, 5)]
    shapes += [(compounds.matrix, s) for s in ((2, 2), (3, 3), (4, 4), (2, 3))]
    found = [make(extent, t) for make, extent in shapes for t in numbers]
    kinds = (compounds.quaternion, compounds.transformation)
    return found + [kind(t) for kind in kinds for t in numbers if scalars.is_float(t)]


CHOICES: dict[str, tuple[Any, ...]] = {
    "Float": scalars.FLOATS,
    "Int": scalars.INTEGERS,
    "Scalar": scalars.NUMBERS,
    "AnyScalar": scalars.SCALARS,
    "Element": (*scalars.NUMBERS, *compound_types(), compounds.vector(3, uint8)),
    "N": (2, 3, 4, 5),
    "R": (2, 3, 4),
    "K": (2, 3),
    "C": (2, 3, 4),
}
IN_COMPOUNDS = (*FEW, uint8)
"""Component types of compounds: fewer, since components compute as scalars do."""


def variables(pattern: Any) -> dict[TypeVariable, tuple[Any, ...]]:
    """The variables of a pattern with the values to try."""
    if isinstance(pattern, TypeVariable):
        return {pattern: CHOICES[pattern.name]}
    if isinstance(pattern, CompoundPattern):
        found = {v: c for part in pattern.shape for v, c in variables(part).items()}
        for v, c in variables(pattern.dtype).items():
            found[v] = tuple(t for t in c if t in IN_COMPOUNDS)
        return found
    return {}


def annotated(row: Row) -> Iterator[Case]:
    """The cases of a row whose annotations are its type rule, with and without its defaults."""
    required = sum(p.default is p.empty for p in row.params)
    for count in range(required, len(row.params) + 1):
        patterns = [p.annotation for p in row.params[:count]]
        free: dict[TypeVariable, tuple[Any, ...]] = {}
        for pattern in patterns:
            for v, choices in variables(pattern).items():
                free[v] = choices if len(choices) <= len(free.get(v, choices)) else free[v]
        for values in itertools.product(*free.values()):
            bound = dict(zip(free, values, strict=True))
            types = tuple(resolve(p, bound) for p in patterns)
            returns = row.returns if isinstance(row.returns, tuple) else (row.returns,)
            yield Case(row, types, tuple(resolve(r, bound) for r in returns))


def ruled(row: Row) -> Iterator[Case]:
    for types, results, attributes in RULED[row.name](row):
        if row.rule(list(types), attributes) is not None:
            yield Case(row, tuple(types), tuple(results), attributes)


# ----- rows with a rule of their own: operand types, result types, attributes -----------------


def _same_pair(row: Row) -> Iterator[Any]:
    for t in compound_types():
        inner = row.name in ("inner", "dot", "ddot")
        yield (t, t), (t.dtype if inner else t,), {}


def _scaled(row: Row) -> Iterator[Any]:
    for t in compound_types((*FEW, uint8)):
        yield (t, t.dtype), (t,), {}
        yield (t.dtype, t), (t,), {}


def _casts(row: Row) -> Iterator[Any]:
    for a, b in itertools.product(scalars.SCALARS, repeat=2):
        yield (a,), (b,), {"to": b}
    for a, b in itertools.product(compound_types(), repeat=2):
        if (a.kind, a.shape) == (b.kind, b.shape):
            yield (a,), (b,), {"to": b}


def _choices(row: Row) -> Iterator[Any]:
    for t in (*scalars.SCALARS, *compound_types(), Outer):
        yield (bool_, t, t), (t,), {}


def _parts(row: Row) -> Iterator[Any]:
    """construct: all components, one for all, smaller compounds in order, fields."""
    for t in compound_types():
        yield (t.dtype,) * t.size, (t,), {"to": t}
        yield (t.dtype,), (t,), {"to": t}
    for t in FEW:
        v2, v3, v4 = (compounds.vector(n, t) for n in (2, 3, 4))
        yield (v3, t), (v4,), {"to": v4}
        yield (t, v2, t), (v4,), {"to": v4}
        yield (v2, v2), (compounds.matrix((2, 2), t),), {"to": compounds.matrix((2, 2), t)}
        if scalars.is_float(t):
            rigid, turn = compounds.transformation(t), compounds.quaternion(t)
            yield (v3, turn), (rigid,), {"to": rigid}
            yield (v3, t), (turn,), {"to": turn}
    yield tuple(Inner.fields.values()), (Inner,), {"to": Inner}
    yield tuple(Outer.fields.values()), (Outer,), {"to": Outer}


def _picks(row: Row) -> Iterator[Any]:
    """extract and insert, at indices of several types."""
    for t in compound_types():
        for count in range(1, len(t.shape) + 1):
            part = t.dtype if count == len(t.shape) else compounds.vector(t.shape[1], t.dtype)
            for index in (int32, int64, uint32) if t.dtype is float64 else (int32,):
                indices = (index,) * count
                if row.name == "extract":
                    yield (t, *indices), (part,), {}
                else:
                    yield (t, *indices, part), (t,), {}


def _fields(row: Row) -> Iterator[Any]:
    for s in (Inner, Outer):
        for name, t in s.fields.items():
            if row.name == "field":
                yield (s,), (t,), {"name": name}
            else:
                yield (s, t), (s,), {"name": name}


def _with_scalars(row: Row) -> Iterator[Any]:
    """Vectors and matrices with scalars, and with each other."""
    yield from _scaled(row)
    yield from _same_pair(row)


def _tests(row: Row) -> Iterator[Any]:
    for t in compound_types():
        yield (t,), (bool_,), {}


def _blends(row: Row) -> Iterator[Any]:
    for t in compound_types():
        yield (t, t, t.dtype), (t,), {}


RULED = {"inner": _same_pair, "dot": _same_pair, "ddot": _same_pair, "min": _same_pair, "max": _same_pair}
RULED |= {"add": _with_scalars, "sub": _with_scalars, "mod": _with_scalars, "lerp": _blends, "isfinite": _tests}
RULED |= {"isinf": _tests, "isnan": _tests, "mul": _scaled, "div": _scaled, "cast": _casts, "where": _choices}
RULED |= {"construct": _parts, "extract": _picks, "insert": _picks, "field": _fields, "with_field": _fields}


def cases_of(row: Row) -> list[Case]:
    """Every case of one row; none for the rows of `ELSEWHERE`."""
    if row.name in ELSEWHERE:
        return []
    return list(annotated(row) if row.rule is None else ruled(row))


ALL = [case for row in rows() for case in cases_of(row)]


def match(case: Case) -> Match | None:
    return case.row.match(list(case.types), case.attributes)


# ----- operands -----------------------------------------------------------------------------


def random_source(case: Case) -> np.random.Generator:
    """Random numbers of a case, the same in every run."""
    return np.random.default_rng(zlib.crc32(str(case).encode()))


def random_value(t: Any, low: float, high: float, rng: np.random.Generator) -> Any:
    """A value as the interpreter holds it; floats between `low` and `high`, integers of any size."""
    if structs.is_struct(t):
        return {name: random_value(f, low, high, rng) for name, f in t.fields.items()}
    if compounds.is_compound(t):
        flat = [random_value(t.dtype, low, high, rng) for _ in range(t.size)]
        return np.array(flat, t.dtype).reshape(t.shape)
    if t is bool_:
        return bool_(rng.integers(2))
    if scalars.is_float(t):
        return t(rng.uniform(low, high))
    limits = np.iinfo(t)
    reach = (limits.min, limits.max) if rng.integers(2) else (max(limits.min, -9), 9)
    return rng.integers(*reach, dtype=t, endpoint=True)


def special_values(t: Any, tame: bool = False) -> list[Any]:
    """Values at which a scalar type behaves in its own way; `tame` leaves out limits and what is not finite."""
    if t is bool_:
        return [bool_(False), bool_(True)]
    if scalars.is_float(t):
        info = np.finfo(t)
        plain = [t(x) for x in (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5)] + [t(1) + info.eps, np.nextafter(t(0.5), t(0))]
        wild = [t(x) for x in (np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal)]
        return plain if tame else plain + wild
    info = np.iinfo(t)
    return [t(x) for x in (0, 1, 2, info.max, info.max - 1, info.min, info.min + 1)] + (
        [t(-1), t(-2)] if info.min < 0 else []
    )


def index_like(case: Case, position: int) -> bool:
    """Whether an operand is an index of extract or insert; others than those of components are errors."""
    return (
        case.row.name in ("extract", "insert")
        and 0 < position
        and scalars.is_integer(case.types[position])
        and (case.row.name == "extract" or position < len(case.types) - 1)
    )


def component(case: Case, position: int, rng: np.random.Generator) -> Any:
    """An index of a component, from the end now and then."""
    t, extent = case.types[position], case.types[0].shape[position - 1]
    return t(rng.integers(0 if t in scalars.UNSIGNED else -extent, extent))


def random_operands(case: Case, rng: np.random.Generator) -> tuple[Any, ...]:
    """One point of the domain; matrices to invert are far from singular."""
    found = []
    for position, t in enumerate(case.types):
        if index_like(case, position):
            found.append(component(case, position, rng))
        else:
            found.append(random_value(t, *case.row.domain, rng))
    if case.row.name == "inverse":
        found[0] += 4 * np.eye(len(found[0]), dtype=found[0].dtype)
    return tuple(found)


def special_operands(case: Case, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Special values: every combination for scalars, scattered over the components of compounds."""
    if all(scalars.is_scalar(t) for t in case.types) and len(case.types) <= 2:
        return list(itertools.product(*map(special_values, case.types)))
    return [tuple(_scattered(case, k, t, rng) for k, t in enumerate(case.types)) for _ in range(8)]


def _scattered(case: Case, position: int, t: Any, rng: np.random.Generator) -> Any:
    if index_like(case, position):
        return component(case, position, rng)
    value = random_value(t, *case.row.domain, rng)
    if structs.is_struct(t):
        return value
    choices = special_values(compounds.scalar_of(t), tame=case.row.ulps >= 64)
    if not compounds.is_compound(t):
        return choices[rng.integers(len(choices))]
    for at in np.ndindex(t.shape):
        if rng.integers(2):
            value[at] = choices[rng.integers(len(choices))]
    return value
