"""Calls: choosing what a call means by the Python object that is called.

Op rows, user functions, constructors of types and structs, a few Python built-ins, and host
functions that have a form of their own inside kernels (`wp.zeros`, `wp.static`, ...), which carry a
`kernel_form` attribute.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...errors import KernelError, KernelNameError, KernelTypeError, KernelValueError
from ..ir.nodes import Value
from ..ops import construct, debug, matrices, memory, threads
from ..ops.registry import TABLE, Op
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from .functions import Func, LocalFunction
from .scope import describe, is_number, typed
from .statements import Statements

_BY_NAME = {builtins.abs: "abs", builtins.min: "min", builtins.max: "max", builtins.pow: "pow", builtins.round: "rint"}


class Calls(Statements):
    """Translates `ast.Call`."""

    def expr_Call(self, node: ast.Call) -> Any:
        callee = self.expr(node.func)
        if callee_form(callee) == "static":
            return self.static(node)
        args = [self.expr(a) for a in node.args]
        keywords = {k.arg: self.expr(k.value) for k in node.keywords if k.arg is not None}
        with self.at(node):
            if isinstance(callee, Func):
                return self.call_function(callee, node, args, keywords)
            return self.call(callee, args, keywords)

    def call(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        form = callee_form(callee)
        if form:
            return getattr(self, f"form_{form}")(callee, args, keywords)
        if isinstance(callee, Op):
            return self.call_op(callee, args, keywords)
        if isinstance(callee, LocalFunction):
            return self.call_local(callee, args, keywords)
        if isinstance(callee, type):
            return self.call_type(callee, args, keywords)
        if isinstance(callee, ArrayType):
            cure = "local arrays: wp.zeros(shape=8, dtype=float)"
            raise KernelTypeError("arrays cannot be made in a kernel", help=cure)
        return self.call_python(callee, args, keywords)

    def static_callee(self, node: ast.Call) -> Any:
        """The object a call names, without evaluating anything at run time; None when unknown."""
        try:
            found: Any = node.func
            path = []
            while isinstance(found, ast.Attribute):
                path.insert(0, found.attr)
                found = found.value
            if not isinstance(found, ast.Name):
                return None
            operand = self.scope.get(found.id) if found.id in self.scope else self.source.lookup(found.id)
            for name in path:
                operand = getattr(operand, name)
            return operand
        except (AttributeError, KernelError):
            return None

    def inout_positions(self, node: ast.Call) -> Iterable[int]:
        callee = self.static_callee(node)
        return callee.inout_positions if isinstance(callee, Func) else ()

    # ----- ops ------------------------------------------------------------------------------

    def call_op(self, op: Op, args: list[Any], keywords: dict[str, Any]) -> Any:
        if op is threads.tid:
            return self.emit_tid(1)
        if op is debug.printf:
            return self.form_printf(op, args, keywords)
        ordered = self.ordered(op, args, keywords) if keywords else args
        if op.name in ("where", "select"):
            ordered = [self.truth(ordered[0]), *ordered[1:]]
            if isinstance(ordered[0], bool):
                ordered[0] = typed(ordered[0])
        if all(is_number(a) for a in ordered) and ordered:
            ordered = [typed(ordered[0], None), *ordered[1:]]
        return self.emit(op, *ordered)

    def ordered(self, op: Op, args: list[Any], keywords: dict[str, Any]) -> list[Any]:
        """Positional arguments for keywords, by the parameter names of a row that has them."""
        for row in op.rows:
            names = [p.name for p in row.params]
            rest = names[len(args) :]
            if set(keywords) <= set(rest) and rest[: len(keywords)] == [n for n in rest if n in keywords]:
                return [*args, *(keywords[n] for n in rest[: len(keywords)])]
        known = "; ".join(row.signature() for row in op.rows)
        unknown = ", ".join(keywords)
        raise KernelTypeError(f"{op.name} has no parameters {unknown}", expected=known, help="check the spelling")

    def emit_tid(self, ndim: int) -> Any:
        if not 1 <= ndim <= 4:
            raise KernelTypeError(f"tid() unpacked into {ndim} names", expected="1 to 4, one per launch dimension")
        types_ = (scalars.int32,) * ndim
        row = threads.tid.rows[0]
        return self.builder.call(row, (), types_, {"ndim": ndim})

    # ----- functions ------------------------------------------------------------------------

    def call_function(self, callee: Func, node: ast.Call, args: list[Any], keywords: dict[str, Any]) -> Any:
        result = callee.call(self, args, keywords)
        positions = callee.inout_positions
        if not positions:
            return result
        parts = result if isinstance(result, tuple) else (result,)
        for position, part in zip(positions, parts, strict=False):
            target = node.args[position]
            if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
                self.write(self.place(target), part)
        rest = parts[len(positions) :]
        return rest if len(rest) > 1 else (rest[0] if rest else None)

    def call_local(self, callee: LocalFunction, args: list[Any], keywords: dict[str, Any]) -> Any:
        return callee.call(self, args, keywords)

    def local_function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> LocalFunction:
        return LocalFunction(node, name, self.source, self.scope.copy())

    def call_python(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        if callee in (builtins.round,) and len(args) == 1:
            return self.call_op(TABLE["rint"], args, keywords)
        if not _hashable(callee):
            raise KernelTypeError(f"{describe(callee)} cannot be called")
        if callee in _BY_NAME:
            return self.fold_pairs(TABLE[_BY_NAME[callee]], args, keywords)
        if callee is builtins.len:
            return self.length(args[0])
        if callee is builtins.print:
            return self.form_print(callee, args, keywords)
        if isinstance(callee, types.BuiltinFunctionType) and callee.__module__ == "math" and callee.__name__ in TABLE:
            return self.call_op(TABLE[callee.__name__], args, keywords)
        name = getattr(callee, "__name__", type(callee).__name__)
        if inspect.isfunction(callee):
            cure = f"decorate {name!r} with @wp.func"
            if callee.__module__.startswith("warpsim"):
                cure = "this function works on the host only"
            raise KernelTypeError(f"{name!r} is a Python function", expected="a function made by @wp.func", help=cure)
        if isinstance(callee, np.ufunc):
            raise KernelTypeError(f"NumPy's {name!r} does not run in kernels", help=f"use wp.{name}")
        raise KernelTypeError(f"{describe(callee)} cannot be called in a kernel")

    def fold_pairs(self, op: Op, args: list[Any], keywords: dict[str, Any]) -> Any:
        """min(a, b, c) as min(min(a, b), c)."""
        if len(args) <= 2:
            return self.call_op(op, args, keywords)
        result = args[0]
        for part in args[1:]:
            result = self.call_op(op, [result, part], keywords)
        return result

    def length(self, operand: Any) -> Any:
        if isinstance(operand, Value):
            if isinstance(operand.type, ArrayType):
                return self.emit(memory.shape, operand, axis=0)
            if compounds.is_compound(operand.type):
                return operand.type.shape[0]
        if isinstance(operand, (tuple, list, str, compounds.Compound)):
            return len(operand)
        raise KernelTypeError(f"{describe(operand)} has no length", expected="an array, vector or tuple")

    # ----- types ----------------------------------------------------------------------------

    def call_type(self, callee: type, args: list[Any], keywords: dict[str, Any]) -> Any:
        if callee is type:
            return typed(args[0]).type
        if callee is str or callee is tuple or callee is list or callee is dict:
            raise KernelTypeError(f"{callee.__name__} is not a type of the kernel language")
        t = scalars.canonical(callee)
        if structs.is_struct(t):
            return self.make_struct(t, args, keywords)
        if compounds.is_compound(t):
            return self.make_compound(t, args, keywords)
        if scalars.is_scalar(t):
            return self.make_scalar(t, args)
        if issubclass(callee, int) and len(args) == 1:  # IntEnum classes
            return self.cast(args[0], scalars.int32)
        raise KernelTypeError(f"{callee.__name__} is not a type of the kernel language")

    def make_scalar(self, t: type, args: list[Any]) -> Any:
        if len(args) > 1:
            raise KernelTypeError(f"{type_name(t)} takes one value, got {len(args)}")
        return self.cast(args[0], t) if args else typed(t(0))

    def make_compound(self, t: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        keywords = {k: v for k, v in keywords.items() if k not in ("dtype", "length", "shape")}
        if keywords:
            if t.kind != "transform" or set(keywords) - {"p", "q"} or args:
                raise KernelTypeError(f"{t.__name__} has no parameters {', '.join(keywords)}")
            args = [keywords["p"], keywords["q"]]
        if not args:
            return typed(t())
        flat = [part for a in args for part in (a if isinstance(a, tuple) else (a,))]
        if len(flat) == 1:
            source = typed(flat[0], t.dtype).type
            if source is t:
                return typed(flat[0])
            if compounds.kind_of(source) == t.kind and source.shape == t.shape:
                return self.emit(TABLE["cast"], typed(flat[0]), to=t)
        try:
            return self.emit(construct.construct, *flat, to=t)
        except KernelTypeError:
            names = ", ".join(type_name(typed(v, t.dtype).type) for v in flat)
            raise KernelTypeError(
                f"{t.__name__} cannot be made of ({names})",
                expected=f"no value, one {type_name(t.dtype)}, or {t.size} components of {type_name(t.dtype)}",
                help=f"convert components: {type_name(t.dtype)}(...)",
            ) from None

    def make_struct(self, t: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        if args:
            raise KernelTypeError(f"struct {t.__name__} is made with keywords", help=f"{t.__name__}(field=value)")
        unknown = set(keywords) - set(t.fields)
        if unknown:
            raise KernelNameError(f"struct {t.__name__} has no field {unknown.pop()!r}", expected=", ".join(t.fields))
        value = typed(t())
        for name, operand in keywords.items():
            converted = self.convert(operand, t.fields[name], f"field {name!r}")
            value = self.emit(construct.with_field, value, converted, name=name)
        return value

    def type_expression(self, node: ast.expr) -> Any:
        """An annotation inside a body as a type; None for Any."""
        found = self.expr(node) if not isinstance(node, ast.Constant) else None
        t = scalars.canonical(found)
        return t if scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t) else None

    # ----- forms of host functions ------------------------------------------------------------

    def static(self, node: ast.Call) -> Any:
        """`wp.static(expression)`: evaluated by Python when the kernel is compiled."""
        if len(node.args) != 1 or node.keywords:
            raise KernelTypeError("wp.static takes one expression")
        known = {k: v for k, v in self.scope.items() if not isinstance(v, Value)}
        text = ast.unparse(node.args[0])
        try:
            return eval(text, {**self.source.namespace(), **known})
        except Exception as error:
            raise KernelValueError(
                f"wp.static({text}) fails: {type(error).__name__}: {error}",
                help="only names known when the kernel is compiled can be used",
            ) from error

    def form_local_array(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        extents = args[0] if args else keywords.pop("shape", None)
        dtype = scalars.canonical(args[1] if len(args) > 1 else keywords.pop("dtype", float))
        if keywords or extents is None:
            raise KernelTypeError("wp.zeros in a kernel takes shape= and dtype=", help="wp.zeros(shape=8, dtype=float)")
        extents = extents if isinstance(extents, tuple) else (extents,)
        if not all(is_number(n) and int(n) == n and n > 0 for n in extents):
            raise KernelTypeError("the shape of a local array is not constant", expected="positive integer constants")
        if not (structs.is_field_type(dtype) and not isinstance(dtype, ArrayType)):
            wanted = "a scalar, vector, matrix or struct type"
            raise KernelTypeError(f"a local array of {describe(dtype)}", expected=wanted)
        shape = tuple(int(n) for n in extents)
        return self.emit(memory.local_array, shape=shape, dtype=dtype)

    def form_construct(self, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Value:
        """wp.vector(...), wp.matrix(...): the type follows from the arguments or from keywords."""
        dtype = scalars.canonical(keywords.get("dtype"))
        parts = [p for a in args for p in (a if isinstance(a, tuple) else (a,))]
        name = callee.__name__
        scalar = dtype or _scalar_among(parts)
        if name == "matrix":
            shape = keywords.get("shape") or _square(parts)
            return self.make_compound(compounds.matrix(tuple(shape), scalar), parts, {})
        if name == "vector":
            length = keywords.get("length") or sum(_size(p) for p in parts)
            return self.make_compound(compounds.vector(int(length), scalar), parts, {})
        make = {"quaternion": compounds.quaternion, "transformation": compounds.transformation}[name]
        if name == "transformation" and not parts:
            parts = [keywords[k] for k in ("p", "q") if k in keywords]
        return self.make_compound(make(scalar), parts, {})

    def form_matrix_from_rows(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        rows = [typed(a) for a in args]
        to = compounds.matrix((len(rows), rows[0].type.size), rows[0].type.dtype)
        return self.emit(construct.construct, *rows, to=to)

    def form_matrix_from_cols(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        return self.emit(matrices.transpose, self.form_matrix_from_rows(callee, args, keywords))

    def form_identity(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Value:
        n = args[0] if args else keywords["n"]
        dtype = args[1] if len(args) > 1 else keywords.get("dtype", float)
        t = compounds.matrix((n, n), dtype)
        return typed(t.wrap(np.eye(n, dtype=t.dtype)))

    def form_cast(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        return self.call_type(args[1], [args[0]], {})

    def form_select(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        condition, if_false, if_true = args
        return self.call_op(TABLE["where"], [condition, if_true, if_false], {})

    def form_expect(self, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> None:
        with self.builder.active():
            callee(*[typed(a) for a in args[:2]], *args[2:], **keywords)

    def form_print(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> None:
        """print(a, "text", b): text and values separated by blanks."""
        pieces, values = [], []
        for a in args:
            if isinstance(a, str):
                pieces.append(a.replace("%", "%%"))
            else:
                value = typed(a)
                pieces.append(debug.print_format(value.type))
                values.append(value)
        self.emit(debug.printf, *values, format=" ".join(pieces) + "\n")

    def form_printf(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> None:
        if not args or not isinstance(args[0], str):
            raise KernelTypeError("the first argument of printf is a constant format string")
        values = [typed(a) for a in args[1:]]
        conversions = debug.conversions(args[0])
        if len(conversions) != len(values):
            raise KernelTypeError(f"printf has {len(conversions)} conversions for {len(values)} values")
        self.emit(debug.printf, *values, format=debug.widened(args[0]))

    def form_type_function(self, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
        """Host functions on types, such as wp.types.vector(length=3, dtype=float)."""
        return callee(*args, **keywords)


def callee_form(callee: Any) -> str:
    """The name of the in-kernel form of a host function, or nothing."""
    return getattr(callee, "kernel_form", "") if callable(callee) and not isinstance(callee, type) else ""


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _scalar_among(parts: list[Any]) -> type:
    for p in parts:
        if not is_number(p) or isinstance(p, np.generic):
            return compounds.scalar_of(typed(p).type)
    return scalars.float32


def _size(part: Any) -> int:
    return 1 if is_number(part) else compounds.size_of(typed(part).type)


def _square(parts: list[Any]) -> tuple[int, int]:
    total = sum(_size(p) for p in parts)
    side = int(round(total**0.5))
    if side * side != total:
        raise KernelTypeError("the shape of the matrix is not known", help="wp.matrix(..., shape=(2, 3))")
    return side, side
