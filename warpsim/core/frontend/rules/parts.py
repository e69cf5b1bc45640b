"""Parts of operands: names, attributes, elements of arrays, components and slices of vectors."""

from __future__ import annotations

import ast
import enum
import math
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import KernelAttributeError, KernelLookupError, KernelTypeError, KernelValueError, counted
from ...ir.nodes import Constant, Value
from ...ops import construct, memory
from ...ops.registry import TABLE, Op
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.structs import Struct
from ...types.values import Compound
from ..source.captured import MISSING
from ..source.names import steps
from ..translate.callee import Callee
from ..translate.fresh_arrays import note_alias
from ..translate.scope import describe, host_array_error, is_host_array, is_number, typed_value
from ..translate.translator import Translator, suggestion, translates
from .addresses import array_address
from .array_slices import ArraySlice, Shape, element_indices, slice_attribute, sliced_array
from .local_addresses import LocalAddress
from .pieces import pieces_attribute, place_in_pieces
from .tile_elements import is_tile
from .tile_indices import gathered

_PACKAGE = __name__.partition(".")[0]
_PYTHON = {"float": float, "int": int, "range": range}  # `wp.float(x)`
_SWIZZLE = {"x": 0, "y": 1, "z": 2, "w": 3}


@translates(ast.Constant)
def literal(tr: Translator, node: ast.Constant) -> Any:
    return node.value


@translates(ast.Name)
def name(tr: Translator, node: ast.Name) -> Any:
    return plain_enum(tr.lookup(node.id))


@translates(ast.Tuple)
def tuple_display(tr: Translator, node: ast.Tuple) -> Any:
    return tuple(tr.translate(e) for e in node.elts)


@translates(ast.Attribute)
def attribute_access(tr: Translator, node: ast.Attribute) -> Any:
    outside = from_outside(tr, node)
    return attribute(tr, tr.translate(node.value), node.attr) if outside is MISSING else plain_enum(outside)


def from_outside(tr: Translator, node: ast.Attribute) -> Any:
    """What `module.name` meant when the function was defined, or `MISSING`."""
    root, _ = steps(node)
    is_own = root in tr.scope or root in tr.locals
    return MISSING if is_own else tr.source.captured.of_path(node)


def attribute(tr: Translator, base: object, name: str) -> Any:
    if isinstance(base, Value):
        return value_attribute(tr, base, name)
    if isinstance(base, ArraySlice):
        return slice_attribute(tr, base, name)
    if name in ("length", "dtype") and compounds.kind_of(base):  # of a type: how many components, and of which type
        return compounds.size_of(base) if name == "length" else compounds.scalar_of(base)
    if type(base) is int and name == "value":  # of a member of an IntEnum, which is an integer to kernels
        return base
    try:
        member = plain_enum(getattr(base, name))
    except AttributeError as error:
        if isinstance(base, types.ModuleType) and base.__name__ == _PACKAGE and name in _PYTHON:
            return _PYTHON[name]
        raise _missing(base, name, error) from error
    return component_of(base, member) if name in _SWIZZLE else member


def _missing(base: object, name: str, error: AttributeError) -> KernelAttributeError:
    """The error for an attribute that a module, a class or a value lacks. Modules know best what became of a name."""
    if isinstance(base, types.ModuleType):
        message, _, cure = str(error).partition("\nhelp: ")
    else:
        owner = f"type object {base.__name__!r}" if isinstance(base, type) else f"{type(base).__name__!r} object"
        message, cure = f"{owner} has no attribute {name!r}", suggestion(name, dir(base))
    return KernelAttributeError(message, help=cure if "?" in cure else "")


def value_attribute(tr: Translator, base: Value, name: str) -> Any:
    t = base.type
    if isinstance(t, ArrayType):
        return array_attribute(tr, base, name)
    if structs.is_in_pieces(t):
        return pieces_attribute(tr, base, name)
    if structs.is_struct(t):
        return tr.emit(construct.field, base, name=name) if name in t.fields else struct_function(t, name)
    if name == "dtype" and compounds.kind_of(t):
        return compounds.scalar_of(t)
    if compounds.is_compound(t):
        return component_attribute(tr, base, name)
    raise KernelAttributeError(f"{type_name(t)!r} object has no attribute {name!r}")


def struct_function(t: type[Struct], name: str) -> Any:
    """The function that the class of a struct has under a name; it does not get the struct, as on the host."""
    member = getattr(t, name, None)
    if isinstance(member, (Callee, Op)):
        return member
    cure = "methods are for the host; kernels call functions made by @wp.func" if callable(member) else ""
    raise KernelAttributeError(f"struct {t.__name__} has no field {name!r}", expected=", ".join(t.fields), help=cure)


def array_attribute(tr: Translator, base: Value, name: str) -> Any:
    if name == "shape":
        if base.type.local_shape:
            return Shape(base.type.local_shape)
        return Shape(tr.emit(memory.shape, base, axis=k) for k in range(base.type.ndim))
    if name in ("ndim", "dtype"):
        return getattr(base.type, name)
    if name == "size":
        if base.type.local_shape:
            return math.prod(base.type.local_shape)
        total = tr.emit(memory.shape, base, axis=0)
        for k in range(1, base.type.ndim):
            total = tr.emit(TABLE["mul"], total, tr.emit(memory.shape, base, axis=k))
        return total
    if name == "ptr":
        return array_address(base) if base.type.local_shape is None else LocalAddress(base, 0)
    message = f"{type_name(base.type)!r} object has no attribute {name!r}"
    raise KernelAttributeError(message, expected="shape, size, ndim, dtype")


def component_attribute(tr: Translator, base: Value, name: str) -> Any:
    positions = swizzle(base.type, name)
    if positions is None:
        message = f"{type_name(base.type)!r} object has no attribute {name!r}"
        raise KernelAttributeError(message, expected=_components_of(base.type))
    if len(positions) == 1:
        return tr.emit(construct.extract, base, positions[0])
    return select_components(tr, base, positions)


@translates(ast.Subscript)
def subscript(tr: Translator, node: ast.Subscript) -> Any:
    base = tr.translate(node.value)
    if isinstance(base, ArraySlice | Value):
        indices = index_operands(tr, node.slice)
        if any(map(is_tile, indices)):
            return gathered(tr, base, indices)
        return element_of_slice(tr, base, indices) if isinstance(base, ArraySlice) else index_into(tr, base, indices)
    if isinstance(base, compounds.Compound):
        return constant_element(tr, base, index_operands(tr, node.slice))
    if is_host_array(base):
        raise host_array_error(ast.unparse(node.value))
    at = node.slice
    index = constant_slice(tr, at) if isinstance(at, ast.Slice) else tr.translate(at)
    if isinstance(index, Value):
        cure = "pass it as an array argument" if isinstance(base, (list, np.ndarray)) else "index it by a constant"
        raise KernelTypeError(f"{describe(base)} is indexed by a value known only at run time", help=cure)
    try:
        return base[index]
    except (TypeError, IndexError, KeyError) as error:
        refused = KernelTypeError if isinstance(error, TypeError) else KernelLookupError
        raise refused(f"{describe(base)} cannot be indexed by {index!r}: {error}") from error


def constant_element(tr: Translator, base: compounds.Compound, indices: list[Any]) -> Any:
    """A part of a vector or matrix known at compile time."""
    if any(isinstance(i, (Value, ast.Slice)) for i in indices):
        return index_into(tr, typed_value(base), indices)
    check_component(type(base), indices)
    return component_of(base, base[tuple(indices) if len(indices) > 1 else indices[0]])


def index_operands(tr: Translator, node: ast.expr) -> list[Any]:
    """Index operands; slices stay syntax."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return [p if isinstance(p, ast.Slice) else tr.translate(p) for p in parts]


def index_into(tr: Translator, base: Value, indices: list[Any]) -> Any:
    """base[indices]: an array element or view, a component, a row, or a slice of a vector."""
    t = base.type
    if any(isinstance(i, ast.Slice) for i in indices):
        if isinstance(t, ArrayType):
            return element_of_slice(tr, sliced_array(tr, base, indices[: t.ndim]), indices[t.ndim :])
        if not compounds.is_compound(t):
            raise KernelTypeError(f"{type_name(t)} cannot be sliced", expected="an array, vector or matrix")
        return select_components(tr, base, select_slices(tr, t, indices))
    if isinstance(t, ArrayType):
        return array_element(tr, base, indices)
    if compounds.is_compound(t):
        check_component(t, indices)
        return tr.emit(construct.extract, base, *indices)
    if structs.is_in_pieces(t):
        piece, place = place_in_pieces(tr, base, array_index(indices[0]))
        rest = [*place, *indices[1:]]
        return array_element(tr, piece, rest) if rest else piece
    raise KernelTypeError(f"{type_name(t)} cannot be indexed", expected="an array, vector or matrix")


def element_of_slice(tr: Translator, base: ArraySlice, indices: list[Any]) -> Any:
    """base[indices] of a slice of an array: a smaller slice, an element, or a part of one."""
    if not indices:
        return base
    rank = len(base.axes)
    if len(indices) < rank or any(isinstance(i, ast.Slice) for i in indices[:rank]):
        return element_of_slice(tr, sliced_array(tr, base, indices[:rank]), indices[rank:])
    return index_into(tr, base.array, [*element_indices(tr, base, indices[:rank]), *indices[rank:]])


def array_element(tr: Translator, base: Value, indices: list[Any]) -> Any:
    t = base.type
    at = [array_index(i) for i in indices[: t.ndim]]
    check_extents(t, at)
    if len(at) < t.ndim:
        row: Value = tr.emit(memory.view, base, *at)
        note_alias(tr, row, base)
        return row
    rest = indices[t.ndim :]
    if rest and not compounds.is_compound(t.dtype):
        raise KernelTypeError(f"{type_name(t)} takes {counted(t.ndim, 'index')}, got {len(indices)}")
    element = tr.emit(memory.load, base, *at)
    return index_into(tr, element, rest) if rest else element


def array_index(index: object) -> Any:
    """An index operand."""
    if isinstance(index, Constant) and scalars.is_integer(index.type):
        index = int(index.value)
    if isinstance(index, Value):
        if not scalars.is_integer(index.type):
            raise KernelTypeError(f"array index is {type_name(index.type)}", expected="an integer", help="int(...)")
        return index
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        raise KernelTypeError(f"array index is {describe(index)}", expected="an integer")
    return typed_value(int(index))


def check_extents(t: ArrayType, indices: list[Value]) -> None:
    """Refuse constants outside of an array of known extents: other memory of the thread is there."""
    for axis, index in enumerate(indices):
        extent = t.local_shape[axis] if t.local_shape else 0
        if extent and isinstance(index, Constant) and not -extent <= int(index.value) < extent:
            shown = f"index {index.value} of axis {axis} of {t!r}"
            raise KernelLookupError(shown, expected=f"{-extent} to {extent - 1}")


def check_component(t: type[Compound], indices: list[Any]) -> None:
    """Refuse too many indices, indices that are no integers, and constants out of range."""
    if len(indices) > len(t.shape):
        raise KernelTypeError(f"{type_name(t)} takes {counted(len(t.shape), 'index')}, got {len(indices)}")
    for axis, index in enumerate(indices):
        kind = index.type if isinstance(index, Value) else type(index)
        if not scalars.is_integer(kind) and kind is not int:
            raise KernelTypeError(f"index of a {type_name(t)} is {describe(index)}", expected="an integer")
        index = index.value if isinstance(index, Constant) else index
        if is_number(index) and not -t.shape[axis] <= index < t.shape[axis]:
            raise KernelLookupError(f"component {index} of {type_name(t)}", expected=f"0 to {t.shape[axis] - 1}")


def constant_slice(tr: Translator, node: ast.Slice) -> slice:
    parts = [None if p is None else tr.translate(p) for p in (node.lower, node.upper, node.step)]
    if not all(p is None or isinstance(p, (int, np.integer)) for p in parts):
        cure = "the length of a vector is part of its type"
        raise KernelTypeError("slice bounds must be integer constants", help=cure)
    if parts[2] == 0:
        raise KernelValueError("slice step cannot be zero")
    return slice(*parts)


def slice_positions(tr: Translator, t: type[Compound], node: ast.Slice) -> list[int]:
    """The components that a slice of a vector selects."""
    return list(range(t.shape[0])[constant_slice(tr, node)])


class Cells(tuple[Any, ...]):
    """Entries of a matrix that a slice selects, as pairs of indices row by row; `shape` is that of the selection."""

    shape: tuple[int, ...]


def select_slices(tr: Translator, t: type[Compound], indices: list[Any]) -> list[int] | Cells:
    """What slices, and indices beside them, select from a vector or a matrix."""
    check_component(t, [i for i in indices if not isinstance(i, ast.Slice)] if len(indices) > 1 else [])
    if len(t.shape) == 1:
        if len(indices) != 1:
            raise KernelTypeError(f"{type_name(t)} takes one index, got {len(indices)}")
        return slice_positions(tr, t, indices[0])
    if len(indices) > 2:
        raise KernelTypeError(f"{type_name(t)} takes 2 indices, got {len(indices)}")
    axes: list[list[Any]] = []
    for extent, index in zip(t.shape, [*indices, ast.Slice()][:2], strict=True):
        at = constant_slice(tr, index) if isinstance(index, ast.Slice) else None
        axes.append([index] if at is None else list(range(extent)[at]))
    cells = Cells((i, j) for i in axes[0] for j in axes[1])
    is_range = [True if k >= len(indices) else isinstance(indices[k], ast.Slice) for k in range(2)]
    cells.shape = tuple(len(axis) for axis, keep in zip(axes, is_range, strict=True) if keep)
    if 0 in cells.shape and len(cells.shape) == 2:
        raise KernelValueError(f"the slice of {type_name(t)} is empty")
    return cells


def select_components(tr: Translator, base: Value, positions: Sequence[Any]) -> Value:
    """Several components as a vector (or the rotation of a transform, or a part of a matrix)."""
    to = selection_type(base.type, positions)
    if not positions:
        return typed_value(to())
    parts = [tr.emit(construct.extract, base, *(k if isinstance(k, tuple) else (k,))) for k in positions]
    return tr.emit(construct.construct, *parts, to=to)


def component_of(base: object, part: object) -> Any:
    """A component of a constant vector keeps the type that the vector has."""
    return base.dtype(part) if isinstance(base, compounds.Compound) and isinstance(part, (int, float)) else part


def plain_enum(member: object) -> Any:
    """Members of IntEnum and IntFlag are integers to a kernel."""
    return int(member) if isinstance(member, enum.IntEnum | enum.IntFlag) else member


def swizzle(t: type[Compound], name: str) -> list[int] | None:
    """Component positions of `v.x`, `v.xy`, and of the parts `p` and `q` of a transform."""
    if t.kind == "transform":
        return {"p": [0, 1, 2], "q": [3, 4, 5, 6]}.get(name)
    if len(t.shape) != 1 or not 1 <= len(name) <= 4 or any(c not in _SWIZZLE for c in name):
        return None
    positions = [_SWIZZLE[c] for c in name]
    return positions if max(positions) < t.size else None


def selection_type(t: type[Compound], positions: Sequence[Any]) -> Any:
    """The type of several components of a vector or a matrix."""
    if isinstance(positions, Cells):
        return compounds.compound_type("vector" if len(positions.shape) == 1 else "matrix", positions.shape, t.dtype)
    kind = "quaternion" if t.kind == "transform" and list(positions) == [3, 4, 5, 6] else "vector"
    return compounds.compound_type(kind, (len(positions),), t.dtype)


def _components_of(t: type[Compound]) -> str:
    if t.kind == "transform":
        return "p, q, or an index"
    return ", ".join("xyzw"[: t.size]) if len(t.shape) == 1 and t.size <= 4 else "an index"


def parts_of(tr: Translator, operand: object) -> tuple[Any, ...]:
    """What `a, b = operand` unpacks: a tuple, the components of a vector, the rows of a matrix."""
    if isinstance(operand, tuple):
        return operand
    if isinstance(operand, compounds.Compound):
        operand = typed_value(operand)
    if isinstance(operand, Value) and compounds.is_compound(operand.type):
        return tuple(tr.emit(construct.extract, operand, k) for k in range(operand.type.shape[0]))
    raise KernelTypeError(f"{describe(operand)} cannot be unpacked", expected="a tuple or a vector")
