"""Overloads of built-in functions as stubs write them, from op rows and library functions."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from warpsim.core.frontend.functions.functions import Func
from warpsim.core.ops.documentation import documentation
from warpsim.core.ops.registry import Op
from warpsim.core.types import compounds, scalars, structs
from warpsim.core.types.arrays import ArrayType
from warpsim.core.types.compounds import standard_names
from warpsim.core.types.signatures import (
    ArrayPattern,
    Bindings,
    C,
    CompoundPattern,
    Float,
    K,
    N,
    R,
    Scalar,
    TypeVariable,
)

SCALAR_NAMES = {
    scalars.float32: "float", scalars.float64: "float64", scalars.float16: "float16", scalars.int32: "int",
    scalars.bool_: "bool",
    **{t: t.__name__ for t in scalars.INTEGERS if t is not scalars.int32},
}  # fmt: skip
COMPOUND_NAMES = {t: name for name, t in reversed(standard_names().items()) if not name.endswith("f")}
FLOATS = (scalars.float64, scalars.float32, scalars.float16)  # float64 is a float: the narrower first
EXTENTS = (2, 3, 4)
GENERIC = {"vector": "_Vector", "matrix": "_Matrix", "quaternion": "_Quaternion", "transform": "_Transform"}

TAKEN = "taken"  # in place of a variable's word: the type of a parameter, which literals fit

ALONE = {
    "tid": ["def tid() -> _Thread: ..."],
    "block_dim": ["def block_dim() -> int: ..."],
    "load": ["def load(array: array[_T, Any], *indices: _Integer) -> _T: ..."],
    "store": ["def store(array: array[_T, Any], *indices_and_value: Any) -> None: ..."],
    "view": ["def view(array: array[_T, Any], *indices: _Integer) -> array[_T, Any]: ..."],
    "printf": ["def printf(format: str, *values: Any) -> None: ..."],
    "breakpoint": ["def breakpoint() -> None: ..."],
    "quat_identity": ["def quat_identity() -> quat: ...", "def quat_identity(dtype: Any) -> Any: ..."],
    "transform_identity": [
        "def transform_identity() -> transform: ...", "def transform_identity(dtype: Any) -> Any: ...",
    ],
    "where": ["def where(condition: Any, if_true: _A, if_false: _A) -> _A: ..."],
    "dot": [
        "def dot(x: _Vector[_N, _S], y: _Vector[_N, _S]) -> _S: ...",
        "def dot(x: _Quaternion[_S], y: _Quaternion[_S]) -> _S: ...",
    ],
    "ddot": ["def ddot(x: _Matrix[_M, _N, _S], y: _Matrix[_M, _N, _S]) -> _S: ..."],
}  # fmt: skip
"""What the table cannot say: functions whose type rule is a program."""


@dataclass(frozen=True)
class Signature:
    """Parameters (name, pattern, whether a default exists) and results of one overload."""

    params: tuple[tuple[str, Any, bool], ...]
    results: tuple[Any, ...]

    @property
    def patterns(self) -> tuple[Any, ...]:
        return (*(pattern for _, pattern, _ in self.params), *self.results)


def stub_of(public: str, function: Op | Func) -> list[str]:
    """Lines that declare a function, with its docstring on the last overload, where editors look for it."""
    lines = list(dict.fromkeys(_lines(public, function)))
    doc = documentation(function) if isinstance(function, Op) else (function.__doc__ or "")
    *before, last = lines
    text = "\n".join(f"    {line}".rstrip() for line in doc.replace("\\", "\\\\").split("\n"))
    declared = [*before, f'{last.removesuffix(" ...")}\n    """{text.strip()}\n    """']
    return [f"@_overload\n{line}" for line in declared] if len(declared) > 1 else declared


def _lines(public: str, function: Op | Func) -> Iterator[str]:
    if public in ALONE:
        yield from ALONE[public]
    elif public.startswith("atomic_"):
        yield from _atomics(public)
    else:
        found = (_of_rows if isinstance(function, Op) else _of_overloads)(function)
        for signature in found:
            yield from (f"def {public}({text}" for text in _overloads(signature))


def _atomics(public: str) -> Iterator[str]:
    values = ["compare", "value"] if public == "atomic_cas" else ["value"]
    for element, of, taken in (("_T", "_T", "_T"), ("_S", "_S", "_Number")):
        for rank in range(1, 5):
            places = [f"{name}: _Integer" for name in "ijkl"[:rank]]
            inner = ", ".join([f"array: array[{element}, Any]", *places, *(f"{v}: {taken}" for v in values)])
            yield f"def {public}({inner}) -> {of}: ..."


def _of_rows(op: Op) -> Iterator[Signature]:
    for row in op.rows:
        results = row.returns if isinstance(row.returns, tuple) else (row.returns,)
        yield Signature(tuple((p.name, p.annotation, p.default is not p.empty) for p in row.params), results)


def _of_overloads(function: Func) -> Iterator[Signature]:
    for overload in function.overloads:
        parameters = overload.signature.parameters
        params = tuple((n, t, parameters[n].default is not parameters[n].empty) for n, t in overload.patterns.items())
        results = _parts(overload.returns)[len(overload.returned) :]
        yield Signature(params, results or (None,))


def _parts(returned: Any) -> tuple[Any, ...]:
    if typing.get_origin(returned) is tuple:
        return typing.get_args(returned)
    return returned if isinstance(returned, tuple) else (returned,)


# ----- one signature as one or several stubs -------------------------------------------------------


def _overloads(signature: Signature) -> Iterator[str]:
    variables = set().union(*map(_variables, signature.patterns))
    if variables and variables <= {Float}:
        for t in FLOATS:
            yield _written(signature, {Float: t})
    elif _kept(signature):
        yield from _generic(signature)
    else:
        yield from _enumerated(signature, variables)


def _variables(pattern: Any) -> set[TypeVariable]:
    if isinstance(pattern, TypeVariable):
        return {pattern}
    if isinstance(pattern, CompoundPattern):
        return {v for part in (*pattern.shape, pattern.dtype) for v in _variables(part)}
    return _variables(pattern.dtype) if isinstance(pattern, ArrayPattern | ArrayType) else set()


def _kept(signature: Signature) -> bool:
    """Whether the results that are compounds have the type of some parameter."""
    taken = {repr(pattern) for _, pattern, _ in signature.params}
    return all(not isinstance(r, CompoundPattern) or repr(r) in taken for r in signature.results)


def _written(signature: Signature, bound: Bindings) -> str:
    """All variables known: vec3d and float64 for `Vec[3, Float]` and `Float` in double precision."""
    compound = any(isinstance(p, CompoundPattern | ArrayPattern) for _, p, _ in signature.params)
    strict = not compound  # the first scalar tells the precision where nothing else does; literals fit the others
    inner = []
    for name, pattern, optional in signature.params:
        t = _concrete(pattern, bound)
        word = type_word(t)
        if isinstance(t, type) and t in SCALAR_NAMES:
            tells = strict and isinstance(pattern, TypeVariable)
            word, strict = (word if tells else _lenient(t)), strict and not tells
        inner.append(f"{name}: {word}{' = ...' * optional}")
    return f"{', '.join(inner)}) -> {_result([type_word(_concrete(r, bound)) for r in signature.results])}: ..."


def _lenient(t: type) -> str:
    """A scalar type as parameters take it: literals become it."""
    word = SCALAR_NAMES[t]
    return word if word in ("float", "int", "bool") else f"{word} | {'float' if t in FLOATS else 'int'}"


def _generic(signature: Signature) -> Iterator[str]:
    """Type variables: of the compound where it is a result, else of its scalars."""
    whole = {repr(r) for r in signature.results if isinstance(r, CompoundPattern)}
    scalar = [p for _, p, _ in signature.params if isinstance(p, TypeVariable)]
    alone = len(scalar) == len(signature.params)
    forms = [["_S"] * len(scalar)]
    if alone and len(scalar) > 1 and all(p.name in ("Scalar", "Int", "Float") for p in scalar):
        rest = len(scalar) - 1
        forms += [["_S", *["float"] * rest], ["float", *["_S"] * rest]]
    for form in forms:
        words = iter(form)
        inner = []
        for name, pattern, optional in signature.params:
            word = _generic_name(pattern, whole, next(words) if isinstance(pattern, TypeVariable) else TAKEN, alone)
            inner.append(f"{name}: {word}{' = ...' * optional}")
        results = [_generic_name(r, whole, "_S", True) for r in signature.results]
        yield f"{', '.join(inner)}) -> {_result(results)}: ..."


def _generic_name(pattern: Any, whole: set[str], word: str, alone: bool) -> str:
    if isinstance(pattern, TypeVariable):
        if pattern.name == "Element":
            return "_A"
        return (word.replace("_S", "_I") if pattern.name == "Int" else word) if alone else "_Number"
    if isinstance(pattern, CompoundPattern):
        if repr(pattern) in whole:
            sized = str(pattern.shape[0]) if isinstance(pattern.shape[0], int) else ""
            return {"vector": f"_Vector{sized}T", "matrix": "_MatrixT"}.get(pattern.kind, "_A")
        extents = [f"_{e.name.replace('R', 'M').replace('C', 'N')}" if isinstance(e, TypeVariable) else f"Literal[{e}]"
                   for e in pattern.shape if pattern.kind in ("vector", "matrix")]  # fmt: skip
        dtype = "_S" if isinstance(pattern.dtype, TypeVariable) else SCALAR_NAMES[scalars.canonical(pattern.dtype)]
        return f"{GENERIC[pattern.kind]}[{', '.join([*extents, dtype])}]"
    if isinstance(pattern, ArrayPattern):
        inner = "_S" if isinstance(pattern.dtype, TypeVariable) and pattern.dtype.name != "Element" else "Any"
        return f"array[{inner}, Any]"
    t = scalars.canonical(pattern)
    return _lenient(t) if word == TAKEN and t in SCALAR_NAMES else type_word(t)


def _enumerated(signature: Signature, variables: set[TypeVariable]) -> Iterator[str]:
    """One overload for each size and precision that has a name, and one for all others."""
    extents = [v for v in (N, R, C, K) if v in variables]
    numbers = [v for v in (Float, Scalar) if v in variables]
    known = len(extents) + len(numbers) == len(variables)
    for sizes in itertools.product(EXTENTS, repeat=len(extents)) if known else ():
        for t in FLOATS if numbers else (scalars.float32,):
            bound = {**dict(zip(extents, sizes, strict=True)), **dict.fromkeys(numbers, t)}
            types = [_concrete(p, bound) for p in signature.patterns]
            if all(not compounds.is_compound(t) or t in COMPOUND_NAMES for t in types):
                yield _written(signature, bound)
    inner = ", ".join(
        f"{name}: {_open(pattern)}{' = ...' * optional}" for name, pattern, optional in signature.params
    )
    yield f"{inner}) -> Any: ..."


def _open(pattern: Any) -> str:
    if isinstance(pattern, CompoundPattern):
        extents = len(pattern.shape) if pattern.kind in ("vector", "matrix") else 0
        return f"{GENERIC[pattern.kind]}[{', '.join(['Any'] * (extents + 1))}]"
    return "Any" if isinstance(pattern, TypeVariable | ArrayPattern) else type_word(scalars.canonical(pattern))


def _concrete(pattern: Any, bound: Bindings) -> Any:
    if isinstance(pattern, TypeVariable):
        return bound[pattern]
    if isinstance(pattern, CompoundPattern):
        shape = tuple(_concrete(e, bound) for e in pattern.shape)
        return compounds.compound_type(pattern.kind, shape, scalars.canonical(_concrete(pattern.dtype, bound)))
    return scalars.canonical(pattern)


def type_word(t: Any) -> str:
    """A type as the stub calls it; `Any` for what has no public name."""
    if t is None:
        return "None"
    if isinstance(t, ArrayType):
        return f"array[{type_word(t.dtype)}, Literal[{t.ndim}]]"
    if isinstance(t, ArrayPattern):
        return f"array[{'float' if t.dtype is float else 'Any'}, Any]"
    if structs.is_struct(t):
        return t.__name__ if t.__name__ in STRUCTS else "Any"
    return SCALAR_NAMES.get(t) or COMPOUND_NAMES.get(t) or "Any"


STRUCTS: set[str] = set()
"""Structs that the stub declares; `stub_file` fills it."""


def _result(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"tuple[{', '.join(words)}]"
