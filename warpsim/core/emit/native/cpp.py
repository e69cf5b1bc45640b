"""C++ source of native text: a function with the parameters' names and types, and its entry point.

Guarantees: the source stands alone (it holds `snippet.h`); the user's lines keep their numbers under the
name of their text; every type has in C++ the size that kernels give it, or the source does not compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ...ops.native import Unit, ascii_name, has_gradient_array, holds_arrays, offsets
from ...types import compounds, scalars, structs
from ...types.array_ref import array_fields, array_refs
from ...types.arrays import ArrayType, ValueType
from ...types.cotangents import has_cotangent

_SCALARS = {
    scalars.bool_: "bool",
    scalars.float16: "wp::float16",
    scalars.float32: "float",
    scalars.float64: "double",
    **{t: f"{t.__name__}_t" for t in scalars.INTEGERS},
}
_EXPORT = """
#if defined(WP_CUDA)
#define WP_EXPORT extern "C" __device__
#define WP_OUTCOME void
#define WP_TRY
#define WP_CATCH
#elif defined(_WIN32)
#define WP_EXPORT extern "C" __declspec(dllexport)
#else
#define WP_EXPORT extern "C" __attribute__((visibility("default")))
#endif
#if !defined(WP_CUDA)
#define WP_OUTCOME const char *
#define WP_TRY try {
#define WP_CATCH return nullptr; \\
    } catch (const std::exception &error) { return wp::thrown(error.what()); \\
    } catch (const char *said) { return wp::thrown(said); \\
    } catch (...) { return wp::thrown("(not a std::exception)"); }
#endif
"""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)


def cpp_source(unit: Unit) -> str:
    """The whole source of a unit; it defines `unit.symbol`."""
    types = _Types([*unit.argument_types, *unit.result_types])
    function = f"snippet_of_{ascii_name(unit.function)}"
    returned = "void" if unit.reverse or unit.result is None else types.name(unit.result)
    declared, entry = ", ".join(_parameters(unit, types)), list(_entry(unit, types, function))
    includes = "".join(f"{line.strip()}\n" for line in _INCLUDE.findall(unit.text))
    lines = [
        "#define WP_REVERSE" if unit.reverse else "",
        includes,
        '#line 1 "snippet.h"',
        prelude(),
        '#line 1 "unit.cpp"',
        _EXPORT,
        *types.definitions,
        f"static WP_FN {returned} {function}({declared}) {{",
        f'#line 1 "{file_name(unit)}"',
        _INCLUDE.sub("", unit.text),
        "}",
        '#line 1 "unit.cpp"',
        *entry,
    ]
    return "\n".join(lines) + "\n"


@cache
def prelude() -> str:
    return Path(__file__).with_name("snippet.h").read_text(encoding="utf-8")


def file_name(unit: Unit) -> str:
    """What compilers call the text of a unit."""
    return f"{ascii_name(unit.function)}.{unit.part}"


# ----- types ----------------------------------------------------------------------------------


class _Types:
    """Names of types in C++; structs are defined on the way, inner ones first."""

    def __init__(self, types: list[Any]):
        self.definitions: list[str] = []
        self.structs: dict[tuple[type, bool], str] = {}
        for t in dict.fromkeys(types):
            size = structs.numpy_dtype(t).itemsize
            self.definitions.append(f'static_assert(sizeof({self.name(t)}) == {size}, "layout of a type");')

    def name(self, t: ValueType, constant: bool = False) -> str:
        if isinstance(t, ArrayType):
            kind = "indexedarray_t" if t.indexed else "array_t"
            return f"wp::{kind}<{'const ' if constant else ''}{self.name(t.dtype, constant)}, {t.ndim}>"
        if structs.is_struct(t):
            return self.struct(t, constant)
        if not compounds.is_compound(t):
            return _SCALARS[t]
        extents = "".join(f"{n}, " for n in t.shape) if t.kind in ("vector", "matrix") else ""
        stem = {"vector": "vec", "matrix": "mat", "quaternion": "quat", "transform": "transform"}[t.kind]
        return f"wp::{stem}_t<{extents}{_SCALARS[t.dtype]}>"

    def struct(self, t: type, constant: bool) -> str:
        key = (t, constant and holds_arrays(t))
        if key not in self.structs:
            fields = "".join(f" {self.name(f, constant)} {name};" for name, f in t.fields.items())  # type: ignore[attr-defined]
            taken = set(self.structs.values())
            stem = name = ascii_name(t.__name__)
            while name in taken:
                name = f"{stem}_{len(taken)}"
            self.structs[key] = name
            self.definitions.append(f"struct {name} {{{fields} }};")
        return self.structs[key]


# ----- the function -----------------------------------------------------------------------------


def _parameters(unit: Unit, types: _Types) -> Iterator[str]:
    """Declarations of the parameters, and in reverse of what stands beside them."""
    for name, t in unit.params:
        by_reference = name in unit.refs and not unit.reverse
        yield f"{types.name(t, name in unit.constants)} {'&' if by_reference else ''}{name}"
        if unit.reverse:
            yield f"{types.name(t)} {'' if isinstance(t, ArrayType) else '&'}adj_{name}"
    if unit.reverse and has_cotangent(unit.result):
        yield f"{types.name(unit.result)} adj_ret"


def _entry(unit: Unit, types: _Types, function: str) -> Iterator[str]:
    """The exported function: values out of the argument block, the call, results into theirs."""
    starts = iter(offsets(unit.argument_types)[0])
    places = [next(starts) for _ in unit.params]
    pairs = list(zip(unit.params, places, strict=True))
    values = [f"*({types.name(t, name in unit.constants)} *)(arguments + {at})" for (name, t), at in pairs]
    yield f"WP_EXPORT WP_OUTCOME {unit.symbol}(char *arguments, char *results) {{"
    yield "    WP_TRY"
    if not unit.reverse:
        yield from _forward_call(unit, types, function, values)
    else:
        yield f"    alignas(16) char nowhere[{_largest_element(unit)}];"
        changed = [(name, types.name(t)) for name, t in _refs(unit) if has_cotangent(t)]
        arrived = {name: f"*({kind} *)(arguments + {next(starts)})" for name, kind in changed}
        seed = [f"*({types.name(unit.result)} *)(arguments + {next(starts)})"] if has_cotangent(unit.result) else []
        arguments = []
        for ((name, t), at), value in zip(pairs, values, strict=True):
            yield from _beside(types, name, t, at, next(starts) if has_gradient_array(t) else None)
            if name in arrived:
                yield f"    adj_{name} = {arrived[name]};"
            arguments += [value, f"adj_{name}"]
        yield f"    {function}({', '.join([*arguments, *seed])});"
        yield from _cotangents(unit, types)
    yield "    WP_CATCH"
    yield "}"


def _forward_call(unit: Unit, types: _Types, function: str, values: list[str]) -> Iterator[str]:
    """The call, with references to variables whose values are results afterwards."""
    places = offsets(unit.result_types)[0]
    passed = [f"changed_{name}" if name in unit.refs else v for (name, _), v in zip(unit.params, values, strict=True)]
    for (name, t), value in zip(unit.params, values, strict=True):
        if name in unit.refs:
            yield f"    {types.name(t)} changed_{name} = {value};"
    call = f"{function}({', '.join(passed)});"
    target = "" if unit.result is None else f"*({types.name(unit.result)} *)(results + {places[-1]}) = "
    yield f"    {target}{call}"
    for (name, t), at in zip(_refs(unit), places, strict=False):
        yield f"    *({types.name(t)} *)(results + {at}) = changed_{name};"


def _refs(unit: Unit) -> list[tuple[str, Any]]:
    return [(name, t) for name, t in unit.params if name in unit.refs]


def _beside(types: _Types, name: str, t: ValueType, at: int, grad: int | None) -> Iterator[str]:
    """What a parameter is accumulated into: the gradient array, or a variable that begins at zero."""
    if grad is not None:
        yield f"    {types.name(t)} adj_{name} = *({types.name(t)} *)(arguments + {grad});"
    else:
        yield f"    {types.name(t)} adj_{name}{{}};"
    if isinstance(t, ArrayType):
        yield f"    wp::lend(adj_{name}, nowhere);"
    elif structs.is_struct(t):
        for path in map(".".join, dict(array_fields(t))):
            yield f"    adj_{name}.{path} = wp::gradient_of((*({types.name(t)} *)(arguments + {at})).{path});"
            yield f"    wp::lend(adj_{name}.{path}, nowhere);"


def _cotangents(unit: Unit, types: _Types) -> Iterator[str]:
    """The variables go to the results; arrays in them were only lent."""
    results = [(name, t) for name, t in unit.params if has_cotangent(t)]
    for (name, t), at in zip(results, offsets(unit.result_types)[0], strict=True):
        for path in map(".".join, dict(array_fields(t)) if structs.is_struct(t) else ()):
            yield f"    adj_{name}.{path} = {{}};"
        yield f"    *({types.name(t)} *)(results + {at}) = adj_{name};"


def _largest_element(unit: Unit) -> int:
    """Room for an element of any array that the text sees, in bytes."""

    arrays = array_refs([t for _, t in unit.params]).values()
    return max((structs.numpy_dtype(t.dtype).itemsize for t in arrays), default=1)
