"""Constructors of values: scalar, compound and struct types, and local arrays.

`vec3(...)`, `S(field=...)`, `float(...)`, `vector(...)`, `matrix_from_rows(...)`, `identity(...)`,
`zeros(shape=..., dtype=...)`. Components are never converted silently, except literals.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import KernelAttributeError, KernelTypeError, counted
from ...ir.nodes import Value
from ...ops import construct, matrices, memory
from ...ops.constructors import parts_by_name
from ...ops.registry import TABLE
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, ValueType, type_name
from ...types.structs import Struct
from ...types.values import Compound
from ..source.syntax_trees import parse_syntax
from ..translate.conversions import constructor_name, convert, converted_scalar
from ..translate.forms import form
from ..translate.fresh_arrays import note_array
from ..translate.scope import describe, fitting, is_number, typed_value
from ..translate.translator import Translator
from .local_addresses import LocalAddress, array_at

LOCAL_ARRAYS = "local arrays are made by wp.zeros(shape=8, dtype=float)"


def call_type(tr: Translator, callee: type, args: list[Any], keywords: dict[str, Any]) -> Any:
    if callee is type:
        return type_of(args)
    t = scalars.canonical(callee)
    if structs.is_struct(t):
        return make_struct(tr, t, args, keywords)
    if compounds.is_compound(t):
        return make_compound(tr, t, args, keywords)
    if scalars.is_scalar(t) or issubclass(callee, int):  # IntEnum classes
        if not args and set(keywords) == {"a"}:
            args, keywords = [keywords["a"]], {}
        if len(args) > 1 or keywords:
            raise KernelTypeError(f"{type_name(t)} takes one value, got {len(args) + len(keywords)}")
        return make_scalar(tr, t if scalars.is_scalar(t) else scalars.int32, args)
    cure = ""
    if callee.__module__.startswith("warpsim") and "array" in callee.__name__:
        cure = LOCAL_ARRAYS
        if isinstance(keywords.get("ptr"), LocalAddress) and not args:
            return array_at(keywords.pop("ptr"), keywords)
        if "ptr" in keywords:
            cure = "kernels reach the memory of arguments: pass a.reshape(...), a.view(...) or wp.array(ptr=...)"
    raise KernelTypeError(f"{callee.__name__} is not a type of the kernel language", help=cure)


def type_of(args: list[Any]) -> Any:
    if len(args) != 1:
        raise KernelTypeError(f"type takes one value, got {len(args)}")
    return typed_value(args[0]).type


def make_scalar(tr: Translator, t: type, args: list[Any]) -> Any:
    if not args:
        return typed_value(t(0))
    if isinstance(args[0], str) and scalars.is_float(t):
        return typed_value(infinity_or_nan(args[0], t))
    return converted_scalar(tr, args[0], t)


def make_compound(tr: Translator, t: type[Compound], args: list[Any], keywords: dict[str, Any]) -> Value:
    own = {"dtype": t.dtype, "length": t.shape[0], "shape": t.shape}
    keywords = {k: v for k, v in keywords.items() if k not in own or scalars.canonical(v) != own[k]}
    if t.kind == "transform":
        args, keywords = pose(t, args, keywords)
    if keywords and (ordered := parts_by_name(_kind_of_parts(t), args, keywords)) is not None:
        args, keywords = ordered, {}
    if keywords:
        named = ", ".join(f"{name}=" for name in keywords)
        raise KernelTypeError(f"{t.__name__} cannot be made with {named}", expected=components_of(t))
    if not args:
        return typed_value(t.wrap(np.zeros(t.shape, t.dtype)))  # a transform too: `t()` on the host is the identity
    parts = [typed_value(part, t.dtype) for a in args for part in (a if isinstance(a, tuple) else (a,))]
    if len(parts) == 1:
        source = parts[0].type
        if source is t:
            return parts[0]
        if compounds.kind_of(source) == t.kind and source.shape == t.shape:
            return tr.emit(TABLE["cast"], parts[0], to=t)
    try:
        return tr.emit(construct.construct, *parts, to=t)
    except KernelTypeError:
        names = ", ".join(type_name(part.type) for part in parts)
        mixed = any(compounds.scalar_of(part.type) is not t.dtype for part in parts)
        cure = f"convert components: {constructor_name(t.dtype)}(...)" if mixed else ""
        raise KernelTypeError(
            f"{t.__name__} cannot be made of ({names})", expected=components_of(t), help=cure
        ) from None


def _kind_of_parts(t: type[Compound]) -> str:
    """Whose names the parts of a type have."""
    return "vec6" if t.kind == "vector" and t.size == 6 else t.kind


def pose(t: ValueType, args: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A position, a rotation or both become two arguments, of which the identity has what is left out; `p` may stand
    in its place. Arguments of another kind stay as they are."""
    if len(args) == 1 and _size(args[0]) == 3 and "p" not in keywords:
        args, keywords = [], {**keywords, "p": args[0]}
    if args or not keywords or set(keywords) - {"p", "q"}:
        return args, keywords
    still = compounds.transformation(t.dtype)()
    return [keywords.get("p", typed_value(still.p)), keywords.get("q", typed_value(still.q))], {}


def make_struct(tr: Translator, t: type[Struct], args: list[Any], keywords: dict[str, Any]) -> Value:
    if len(args) > len(t.fields) or set(list(t.fields)[: len(args)]) & set(keywords):
        fields = ", ".join(f"{name}: {type_name(f)}" for name, f in t.fields.items())
        raise KernelTypeError(
            f"{counted(len(args), 'value')} for struct {t.__name__}",
            expected=f"each field once: {fields}",
        )
    keywords = dict(zip(t.fields, args, strict=False)) | keywords
    unknown = sorted(set(keywords) - set(t.fields))
    if unknown:
        raise KernelAttributeError(f"struct {t.__name__} has no field {unknown[0]!r}", expected=", ".join(t.fields))
    value = typed_value(t())
    for name, operand in keywords.items():
        converted = convert(operand, t.fields[name], f"field {name!r}")
        value = tr.emit(construct.with_field, value, converted, name=name)
    return value


def type_expression(tr: Translator, node: ast.expr) -> Any:
    """An annotation inside a body as a type; None where it leaves the type open."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.copy_location(parse_syntax(node.value, "eval").body, node)
    t = scalars.canonical(tr.translate(node))
    return t if scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t) else None


@form("construct")
def form_construct(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
    """wp.vector(...), wp.matrix(...): the type follows from the arguments or from keywords."""
    dtype = scalars.canonical(keywords.get("dtype"))
    parts = [p for a in args for p in (a if isinstance(a, tuple) else (a,))]
    name = callee.__name__
    named = {k: v for k, v in keywords.items() if k not in ("dtype", "length", "shape") and v is not None}
    scalar = dtype or _scalar_among([*parts, *named.values()])
    if name == "matrix":
        shape: Any = constant_shape(keywords["shape"], "matrix") if keywords.get("shape") else _shape_of(parts)
        return make_compound(tr, compounds.matrix(shape, scalar), parts, {})
    if name == "vector":
        length, least = keywords.get("length"), 0
        if length is None:
            length, least = sum(_size(p) for p in parts), 1
        [extent] = constant_shape(length, "vector", least)
        return make_compound(tr, compounds.vector(extent, scalar), parts, {})
    make = {"quaternion": compounds.quaternion, "transformation": compounds.transformation}[name]
    return make_compound(tr, make(scalar), parts, named)


@form("matrix_from_rows")
def form_matrix_from_rows(
    tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]
) -> Value:
    rows = [typed_value(a) for a in args]
    kinds = [compounds.kind_of(row.type) for row in rows]
    if set(kinds) != {"vector"} or len({row.type for row in rows}) != 1:
        types = ", ".join(type_name(row.type) for row in rows)
        raise KernelTypeError(f"{callee.__name__} of ({types})", expected="vectors of one type")
    to = compounds.matrix((len(rows), rows[0].type.size), rows[0].type.dtype)
    return tr.emit(construct.construct, *rows, to=to)


@form("matrix_from_cols")
def form_matrix_from_cols(
    tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]
) -> Value:
    return tr.emit(matrices.transpose, form_matrix_from_rows(tr, callee, args, keywords))


@form("identity")
def form_identity(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
    [n] = constant_shape(args[0] if args else keywords["n"], "matrix")
    t = compounds.matrix((n, n), args[1] if len(args) > 1 else keywords.get("dtype", float))
    return typed_value(t.wrap(np.eye(n, dtype=t.dtype)))


@form("cast")
def form_cast(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    """The bits of a value as another type."""
    operand, dtype = inspect.signature(callee).bind(*args, **keywords).args
    value, to = typed_value(operand), scalars.canonical(dtype)
    sizes = [structs.numpy_dtype(t).itemsize if is_plain(t) else None for t in (value.type, to)]
    if None in sizes or sizes[0] != sizes[1]:
        raise KernelTypeError(
            f"cast of {describe(value)} to {describe(to)}",
            expected="numbers, vectors, matrices or structs of equal size",
            help="cast takes the bits as they are; the type converts a number: wp.float32(x)",
        )
    return tr.emit(TABLE["reinterpret"], value, source=value.type, to=to)


def is_plain(t: object) -> bool:
    """Whether a type holds numbers alone."""
    return structs.is_field_type(t) and not structs.holds_arrays(t)


@form("resolve")
def form_resolve(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
    number, to = inspect.signature(callee).bind(*args, **keywords).args
    return tr.emit(TABLE["resolve"], number, to=to)


@form("local_array")
def form_local_array(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
    options = dict(zip(("shape", "dtype"), args, strict=False)) | keywords
    if set(options) - {"shape", "dtype"} or "shape" not in options:
        raise KernelTypeError("wp.zeros in a kernel takes shape= and dtype=", help="wp.zeros(shape=8, dtype=float)")
    shape, dtype = constant_shape(options["shape"], "local array"), scalars.canonical(options.get("dtype", float))
    if not structs.is_field_type(dtype) or isinstance(dtype, ArrayType):
        elements = "a scalar, vector, matrix or struct type"
        raise KernelTypeError(f"a local array of {describe(dtype)}", expected=elements)
    array: Value = tr.emit(memory.local_array, shape=shape, dtype=dtype)
    note_array(tr, array)
    return array


@form("type_function")
def form_type_function(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    """`wp.types.vector`: a type of `(3, float)`, which the host writes too; else a value, as `wp.vector` makes it."""
    if args and isinstance(args[-1], type):
        return callee(*args, **keywords)
    return form_construct(tr, callee, args, keywords)


def called_type(tr: Translator, node: ast.Call) -> Any:
    """What `wp.types.vector(length=3, dtype=float)(...)` calls: a type, where the inner call by itself is a value."""
    callee = tr.translate(node.func)
    if getattr(callee, "kernel_form", "") != "type_function":
        return tr.translate(node)
    return callee(*map(tr.translate, node.args), **{str(k.arg): tr.translate(k.value) for k in node.keywords})


def constant_shape(shape: object, what: str, least: int = 1) -> tuple[int, ...]:
    """Extents that are known when the kernel is compiled, each `least` or more."""
    extents = shape if isinstance(shape, tuple) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and n >= least for n in extents):
        shown = ", ".join(map(describe, extents))
        expected = "positive integer constants" if least else "an integer constant that is not negative"
        raise KernelTypeError(f"the shape of a {what} is ({shown})", expected=expected)
    return tuple(int(n) for n in extents)


def components_of(t: type[Compound]) -> str:
    """What a compound type is made of, as messages say it."""
    scalar = type_name(t.dtype)
    if t.kind == "transform":
        return f"no value, a position, a rotation or both, or {t.size} components of {scalar}"
    one = f"one {scalar}, " if t.kind in ("vector", "matrix") else ""
    return f"no value, {one}or {t.size} components of {scalar}"


def infinity_or_nan(text: str, t: type) -> Any:
    """`float("inf")`, as Python writes what has no literal."""
    try:
        return fitting(float(text), t)
    except ValueError:
        raise KernelTypeError(f"text {text!r} cannot become {type_name(t)}", expected="'inf' or 'nan'") from None


def _scalar_among(parts: list[Any]) -> type:
    for p in parts:
        if not is_number(p) or isinstance(p, np.generic):
            return compounds.scalar_of(typed_value(p).type)
    return scalars.bool_ if parts and all(type(p) is bool for p in parts) else scalars.float32


def _size(part: object) -> int:
    if isinstance(part, tuple):
        return sum(_size(p) for p in part)
    return 1 if is_number(part) else compounds.size_of(typed_value(part).type)


def _shape_of(parts: list[Any]) -> tuple[int, int]:
    """The shape of a matrix made of one matrix, or else of a square number of components."""
    if len(parts) == 1 and compounds.kind_of(typed_value(parts[0]).type) == "matrix":
        shape: tuple[int, int] = typed_value(parts[0]).type.shape
        return shape
    return _square(parts)


def _square(parts: list[Any]) -> tuple[int, int]:
    total = sum(_size(p) for p in parts)
    side = round(total**0.5)
    if side * side != total:
        raise KernelTypeError("the shape of the matrix is not known", help="wp.matrix(..., shape=(2, 3))")
    return side, side
