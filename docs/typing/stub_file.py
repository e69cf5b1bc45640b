"""Writes warpsim/__init__.pyi, which editors and type checkers read in place of `__init__.py`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import stub_functions
from stub_functions import COMPOUND_NAMES, SCALAR_NAMES

import warpsim as wp
from warpsim import names
from warpsim.core.frontend.functions.functions import Func
from warpsim.core.ops.registry import Op
from warpsim.core.types.compounds import standard_names
from warpsim.core.types.structs import Struct, StructType

PACKAGE = Path(__file__).resolve().parents[2] / "warpsim"
HEAD = Path(__file__).with_name("head.pyi")

_WHERE = "device: Any = ..., requires_grad: builtins.bool{0} = ..., pinned: builtins.bool{0} = ..."
NEW = f"{_WHERE.format('')}, retain_grad: builtins.bool = ..."
LIKE = f"{_WHERE.format(' | None')}, retain_grad: builtins.bool = ..."


def stub() -> str:
    """The text of the stub."""
    head = HEAD.read_text(encoding="utf-8")
    written = _declared(head)
    face = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = {name: getattr(wp, name) for name in names.HOME if name not in written}
    stub_functions.STRUCTS |= {n for n in names.HOME if isinstance(getattr(wp, n), StructType)}
    functions = {n: v for n, v in found.items() if isinstance(v, Op | Func)}
    created = _creation()
    structs = {n: v for n, v in found.items() if isinstance(v, StructType) and _is_plain(v)}
    covered = {*written, *functions, *structs, *_declared("\n".join(created))}
    lines = [head, *created, "", "# ----- structures that kernels get", ""]
    lines += [line for name, t in structs.items() for line in _struct(name, t)]
    lines += ["", "# ----- vectors, matrices, quaternions and transforms by name", "", *_compounds()]
    lines += ["", "# ----- built-in functions", ""]
    lines += [line for name, value in functions.items() for line in stub_functions.stub_of(name, value)]
    lines += ["", "# ----- everything else, from the module that defines it", "", *_imports(face, covered)]
    lines += ["", *_constants(face), "", "__all__ = [", *(f'    "{name}",' for name in wp.__all__), "]"]
    return "\n".join(lines) + "\n"


def _declared(text: str) -> set[str]:
    """Public names that a stub declares or hands on."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname for a in node.names if a.asname == a.name}
    return {name for name in found if not name.startswith("_")}


def _imports(face: ast.Module, covered: set[str]) -> Iterator[str]:
    for node in face.body:
        if isinstance(node, ast.ImportFrom) and node.module in ("math", "config"):
            names_of = [a.name for a in node.names if a.name not in covered]
            yield from (f"from {'.' * node.level}{node.module} import {name} as {name}" for name in names_of)
    for module, text in (names.NAMES | names.FRAMEWORKS).items():
        for word in text.split():
            public, _, inner = word.partition("=")
            if public not in covered:
                yield f"from .{module} import {inner or public} as {public}"
    for public, path in {**names.MODULES, **{name: name for name in names.FURTHER}}.items():
        above, _, module = path.rpartition(".")
        yield f"from .{above} import {module} as {public}"


def _constants(face: ast.Module) -> list[str]:
    assigned = [target for node in face.body if isinstance(node, ast.Assign) for target in node.targets]
    constants = [node.id for target in assigned for node in ast.walk(target) if isinstance(node, ast.Name)]
    return ["__version__: str", *(f"{name}: float" for name in constants if not name.startswith("_"))]


# ----- arrays, structs, compounds -------------------------------------------------------------------


def _creation() -> list[str]:
    """Functions that make arrays: the element type is that of `dtype`, or of the array they take after."""
    return [*_creation_by_shape(), *_creation_by_model(), *_creation_from_memory()]


def _creation_by_shape() -> Iterator[str]:
    for name in ("empty", "zeros", "ones"):
        strides = "" if name == "ones" else ", strides: Any = ..."
        doc = f'\n    """{_doc(name)}\n    """'
        yield from (
            f"@_overload\ndef {name}(shape: Any = ..., *, {NEW}{strides}, length: int = ...) -> array[float, Any]: ...",
            f"@_overload\ndef {name}(shape: Any = ..., *, dtype: type[_A], {NEW}{strides}, length: int = ...)"
            " -> array[_A, Any]: ...",
            f"@_overload\ndef {name}(shape: Any, dtype: type[_A], {NEW}{strides}) -> array[_A, Any]: ...",
            f"@_overload\ndef {name}(shape: Any = ..., dtype: Any = ..., {NEW}{strides}, **options: Any)"
            f" -> array[Any, Any]:{doc}",
        )
    yield from (
        f"@_overload\ndef full(shape: Any, value: Any, dtype: type[_A], {NEW}) -> array[_A, Any]: ...",
        f"@_overload\ndef full(shape: Any = ..., value: Any = ..., dtype: Any = ..., {NEW}, **options: Any)"
        f' -> array[Any, Any]:\n    """{_doc("full")}\n    """',
    )


def _creation_by_model() -> Iterator[str]:
    for name in ("empty_like", "zeros_like", "ones_like", "full_like", "clone"):
        value = ", value: Any" if name == "full_like" else ""
        yield from (
            f"@_overload\ndef {name}(src: array[_T, _Rank]{value}, {LIKE}) -> array[_T, _Rank]: ...",
            f'@_overload\ndef {name}(src: Any{value}, {LIKE}) -> array[Any, Any]:\n    """{_doc(name)}\n    """',
        )


def _creation_from_memory() -> Iterator[str]:
    options = f"shape: Any = ..., {NEW.replace('pinned: builtins.bool = ..., ', '')}"
    yield from (
        f"@_overload\ndef from_numpy(arr: Any, dtype: type[_A], {options}) -> array[_A, Any]: ...",
        f"@_overload\ndef from_numpy(arr: Any, dtype: Any = ..., {options}) -> array[Any, Any]:"
        f'\n    """{_doc("from_numpy")}\n    """',
        f'def from_dlpack(source: Any, dtype: Any = ...) -> array[Any, Any]:\n    """{_doc("from_dlpack")}\n    """',
        "def from_ptr(ptr: int, length: int, dtype: Any = ..., shape: Any = ..., device: Any = ...) -> array[Any, Any]:"
        f'\n    """{_doc("from_ptr")}\n    """',
    )


def _doc(name: str) -> str:
    return str(getattr(wp, name).__doc__).strip()


def _is_plain(t: StructType) -> bool:
    """Whether a struct is its fields and nothing more: others are imported."""
    return bool(t.fields) and t.__init__ is Struct.__init__  # type: ignore[misc]


def _struct(name: str, t: StructType) -> Iterator[str]:
    yield f'class {name}:\n    """{t.__doc__}"""'
    for field, of in t.fields.items():
        yield f"    {field}: {stub_functions.type_word(of)}"
    yield ""


def _compounds() -> Iterator[str]:
    known = standard_names()
    for name in names.COMPOUNDS:
        t = known[name]
        if COMPOUND_NAMES.get(t, name) != name:
            yield f"{name}: TypeAlias = {COMPOUND_NAMES[t]}"
        else:
            yield from _compound(name, t)
        yield ""


def _compound(name: str, t: Any) -> Iterator[str]:
    scalar = SCALAR_NAMES[t.dtype]
    extents = [f"Literal[{n}]" for n in t.shape] if t.kind in ("vector", "matrix") else []
    yield f"class {name}({stub_functions.GENERIC[t.kind]}[{', '.join([*extents, scalar])}]):"
    parts = {"vector": _vector, "matrix": _matrix, "quaternion": _quaternion, "transform": _transform}[t.kind]
    yield from (f"    {line}" for line in parts(t))


def _named(kind: str, shape: tuple[int, ...], like: Any) -> str:
    of = wp.core.types.compounds.compound_type(kind, shape, like.dtype)
    return COMPOUND_NAMES.get(of, "Any")


def _constructors(*forms: str) -> Iterator[str]:
    for form in forms:
        yield "@_overload"
        yield f"def __init__(self{form}) -> None: ..."


def _vector(t: Any) -> Iterator[str]:
    letters = "xyzw"[: t.size] if t.size <= 4 else ""
    sized = f"_Vector[Literal[{t.size}], Any] | Sequence[Any] | np.ndarray[Any, Any]"
    each = "".join(f", {c}: _Number" for c in letters or [f"c{k}" for k in range(t.size)])
    halves = [", a: _Vector[Literal[3], Any], b: _Vector[Literal[3], Any], /"] if t.size == 6 else []
    split = {
        3: [", xy: _Vector[Literal[2], Any], z: _Number, /"],
        4: [", xyz: _Vector[Literal[3], Any], w: _Number, /"],
    }
    yield from _constructors(
        "", ", value: _Number, /", f"{each}, /", f", values: {sized}, /", *split.get(t.size, []), *halves
    )
    scalar = SCALAR_NAMES[t.dtype]
    yield from (f"{c}: {scalar}" for c in letters)
    for count in (2, 3, 4):
        for chosen in itertools.permutations(letters, count):
            yield f"{''.join(chosen)}: {_named('vector', (count,), t) if count != t.size else 'Self'}"


def _matrix(t: Any) -> Iterator[str]:
    rows, columns = t.shape
    row, column = _named("vector", (columns,), t), _named("vector", (rows,), t)
    yield from _constructors("", ", value: _Number, /", ", *parts: Any")
    yield "@_overload  # type: ignore[override]"
    yield f"def __getitem__(self, index: tuple[_Integer, _Integer]) -> {SCALAR_NAMES[t.dtype]}: ..."
    yield "@_overload"
    yield f"def __getitem__(self, index: _Integer) -> {row}: ..."
    yield "@_overload"
    yield "def __getitem__(self, index: Any) -> Any: ..."
    for operator in ("__mul__", "__matmul__"):
        yield "@_overload  # type: ignore[override]"
        yield f"def {operator}(self, other: {row}) -> {column}: ..."
        yield "@_overload"
        yield f"def {operator}(self, other: Self{' | _Number' * (operator == '__mul__')}) -> Self: ..."
        yield "@_overload"
        yield f"def {operator}(self, other: _Matrix[Literal[{columns}], Any, Any]) -> Any: ..."


def _quaternion(t: Any) -> Iterator[str]:
    yield from _constructors(
        "", ", x: _Number, y: _Number, z: _Number, w: _Number, /", ", xyz: _Vector[Literal[3], Any], w: _Number, /",
        ", values: _Compound[Any] | Sequence[Any] | np.ndarray[Any, Any], /",
    )  # fmt: skip


def _transform(t: Any) -> Iterator[str]:
    yield from _constructors("", ", p: Any = ..., q: Any = ...", ", *values: Any")
    yield f"p: {_named('vector', (3,), t)}"
    yield f"q: {_named('quaternion', (4,), t)}"
