"""Calls: choosing what a call means by the Python object that is called.

Op rows, user functions, constructors of types and structs, a few Python built-ins, and host
functions that have a form of their own inside kernels (`wp.zeros`, `wp.static`, ...), which carry a
`kernel_form` attribute.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import KernelError, KernelTypeError, UnsupportedSyntaxError, counted
from ...ir.nodes import Value
from ...ops import construct, debug, memory, threads
from ...ops.registry import TABLE, Op
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ..translate.assigned import changed_arguments, inout_arguments, static_callee
from ..translate.callee import Callee
from ..translate.conversions import truth
from ..translate.forms import FORMS, form
from ..translate.scope import describe, is_number, typed_value
from ..translate.translator import Translator, translates
from .addresses import Address
from .array_slices import ArraySlice, element_indices
from .constructors import LOCAL_ARRAYS, call_type, called_type
from .parts import parts_of, plain_enum
from .statics import static_value
from .targets import Element, read, target_of, write

_BY_NAME = {builtins.abs: "abs", builtins.min: "min", builtins.max: "max", builtins.pow: "pow", builtins.round: "round"}
_ARRAY_OPERANDS = {
    "atomic_cas": ("compare", "value"),
    "store": ("value",),
    **{f"atomic_{name}": ("value",) for name in ("add", "sub", "min", "max", "exch", "and", "or", "xor")},
}
_ARRAY_MAKERS = ("array", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros_like")
_INSTEAD = {
    builtins.enumerate: "loop over range(len(x))",
    builtins.zip: "loop over range(len(x))",
    builtins.sum: "add in a loop",
    builtins.any: "test in a loop",
    builtins.all: "test in a loop",
    builtins.map: "write a loop",
    builtins.filter: "write a loop",
    builtins.sorted: "sort on the host, or write a loop",
    builtins.isinstance: "compare types: type(x) == wp.vec3",
    builtins.input: "pass the value as an argument",
    builtins.open: "pass the data as an array",
    builtins.divmod: "write x // y and x % y",
}


MAKERS: dict[Any, Callable[..., Any]] = {}
"""What translates a call of a built-in of Python: from translator, operands and keywords."""


def makes(function: object) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: enters what translates calls of a built-in of Python."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        MAKERS[function] = rule
        return rule

    return enter


@translates(ast.Call)
def call_expression(tr: Translator, node: ast.Call) -> Any:
    callee = called_type(tr, node.func) if isinstance(node.func, ast.Call) else tr.translate(node.func)
    if callee_form(callee) == "static":
        return plain_enum(static_value(tr, node))
    if callee_form(callee) == "address_of":
        return address_in_memory(tr, node)
    if isinstance(callee, Callee):
        return call_callee(tr, callee, node)
    keywords = {str(k.arg): tr.translate(k.value) for k in node.keywords}
    return call_object(tr, callee, arguments(tr, node), keywords)


def arguments(tr: Translator, node: ast.Call) -> list[Any]:
    """Positional arguments; `*v` gives the parts of a tuple or a vector."""
    operands: list[Any] = []
    for a in node.args:
        operands.extend(parts_of(tr, tr.translate(a.value)) if isinstance(a, ast.Starred) else [tr.translate(a)])
    return operands


def call_object(tr: Translator, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    form_name = callee_form(callee)
    if form_name:
        return call_form(tr, form_name, callee, args, keywords)
    if isinstance(callee, Op):
        return call_op(tr, callee, args, keywords)
    if _hashable(callee) and callee in MAKERS:
        return MAKERS[callee](tr, args, keywords)
    if _hashable(callee) and callee in _INSTEAD:
        raise KernelTypeError(f"Python's {callee.__name__} does not run in kernels", help=_INSTEAD[callee])
    if isinstance(callee, type):
        return call_type(tr, callee, args, keywords)
    if isinstance(callee, ArrayType):
        raise KernelTypeError("arrays cannot be made in a kernel", help=LOCAL_ARRAYS)
    return call_python(tr, callee, args, keywords)


def call_value(tr: Translator, callee: Any, args: list[Any]) -> Any:
    """What a function, an operation or a type gives of operands that are translated already."""
    return callee.call(tr, args, {}) if isinstance(callee, Callee) else call_object(tr, callee, args, {})


def call_op(tr: Translator, op: Op, args: list[Any], keywords: dict[str, Any]) -> Any:
    if op is threads.tid:
        if args or keywords:
            raise KernelTypeError("tid takes no arguments", help="i = wp.tid(), or i, j = wp.tid()")
        return emit_tid(tr, 1)
    if op is debug.printf:
        return form_printf(tr, op, args, keywords)
    ordered = in_order(tr, op, args, keywords) if keywords else args
    if op.name == "where" and ordered:
        ordered = [typed_value(truth(tr, ordered[0])), *ordered[1:]]
    if any(isinstance(a, ArraySlice) for a in ordered):
        ordered = on_elements(tr, op, ordered)
    if ordered and all(map(is_number, ordered)):
        return call_on_literals(tr, op, ordered)
    if ordered and isinstance(ordered[0], Value) and isinstance(ordered[0].type, ArrayType):
        return call_on_array(tr, op, ordered)
    return tr.emit(op, *ordered)


def on_elements(tr: Translator, op: Op, args: list[Any]) -> list[Any]:
    """The operands of an op whose first is a slice of an array: the array and the indices of the element in it."""
    view, *rest = args
    rank = len(view.axes) if isinstance(view, ArraySlice) else 0
    if not rank or len(rest) < rank or any(isinstance(a, ArraySlice) for a in rest):
        raise KernelTypeError(f"{op.name} of a slice of an array", help="index it, or pass it to a function")
    return [view.array, *element_indices(tr, view, rest[:rank]), *rest[rank:]]


def call_on_array(tr: Translator, op: Op, args: list[Any]) -> Any:
    """An op on an array; its rows say only that indices and values follow, so the message says which."""
    try:
        return tr.emit(op, *args)
    except KernelTypeError as error:
        t = args[0].type
        values = ", ".join(f"{n}: {type_name(t.dtype)}" for n in _ARRAY_OPERANDS.get(op.name, ()))
        if values:
            error.expected = f"{op.name}(array, {', '.join('ijkl'[: t.ndim])}, {values})"
        raise


def call_on_literals(tr: Translator, op: Op, numbers: list[Any]) -> Any:
    """An op on constants alone: whole literals become floats where nothing else fits, as in `min(1, 2.5)`."""
    floats = [float(n) if type(n) is int else n for n in numbers]
    try:
        return tr.emit(op, *numbers)
    except KernelTypeError:
        if all(type(n) is not float for n in numbers):
            raise
        return tr.emit(op, *floats)


def in_order(tr: Translator, op: Op, args: list[Any], keywords: dict[str, Any]) -> list[Any]:
    """Positional arguments for keywords, or `KernelTypeError`."""
    if op.name in _ARRAY_OPERANDS:
        ordered = on_named_elements(op, args, keywords)
    else:
        ordered = op.in_order(args, {"cond" if n == "arr" else n: v for n, v in keywords.items()})
    if ordered is not None:
        return ordered
    known = "; ".join(row.signature() for row in op.rows)
    unknown = ", ".join(keywords)
    raise KernelTypeError(f"{op.name} has no parameters {unknown}", expected=known, help="check the spelling")


def on_named_elements(op: Op, args: list[Any], keywords: dict[str, Any]) -> list[Any] | None:
    """`atomic_add(arr=a, i=0, value=x)`: the array, an index for each dimension, and values, by position."""
    array = args[0] if args else keywords.get("arr")
    t = array.view_type if isinstance(array, ArraySlice) else getattr(array, "type", None)
    names = ("arr", *"ijkl"[: t.ndim], *_ARRAY_OPERANDS[op.name]) if isinstance(t, ArrayType) else ()
    rest = names[len(args) :]
    return [*args, *(keywords[n] for n in rest)] if rest and set(rest) == set(keywords) else None


def emit_tid(tr: Translator, ndim: int) -> Any:
    if not 1 <= ndim <= 4:
        raise KernelTypeError(
            f"tid() unpacked into {counted(ndim, 'name')}",
            expected="1 to 4, one per launch dimension",
        )
    types_ = (scalars.int32,) * ndim
    row = threads.tid.rows[0]
    return tr.builder.call(row, (), types_, {"ndim": ndim})


def call_callee(tr: Translator, callee: Callee, node: ast.Call) -> Any:
    """Call a user function; arguments that it rebinds are places, found once and written afterwards."""
    changed = {id(a) for a in changed_arguments(tr, node)}
    places: dict[int, Any] = {}

    def operand(argument: ast.expr) -> Any:
        if isinstance(argument, ast.Starred) and changed:
            raise UnsupportedSyntaxError("argument unpacking with * where the function changes its arguments")
        if callee.takes_addresses and is_address(tr, argument):
            return address_of_place(tr, argument)
        if id(argument) not in changed:
            return tr.translate(argument)
        with tr.at(argument):
            places[id(argument)] = place = target_of(tr, argument)
            return read(tr, place)

    starred = any(isinstance(a, ast.Starred) for a in node.args)
    args = arguments(tr, node) if starred and not changed else [operand(a) for a in node.args]
    keywords = {str(k.arg): operand(k.value) for k in node.keywords}
    result = callee.call(tr, args, keywords)
    rebound = inout_arguments(callee, node)
    if not rebound:
        return result
    parts = result if isinstance(result, tuple) else (result,)
    for argument, part in zip(rebound, parts, strict=False):
        if argument is not None and id(argument) in places:
            write(tr, places[id(argument)], part)
        elif callee.by_reference:
            raise KernelTypeError(
                f"{ast.unparse(argument) if argument is not None else 'a default'} is a value without a place",
                expected="a local, a field, a component or an element of an array for wp.ref[...]",
                help="assign it to a local first",
            )
    rest = parts[len(rebound) :]
    return rest if len(rest) > 1 else (rest[0] if rest else None)


def is_address(tr: Translator, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and callee_form(static_callee(tr, node)) == "address_of"


def address_of_place(tr: Translator, node: Any) -> Address:
    """`wp.address_of(place)`."""
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        raise KernelTypeError("wp.address_of takes one local, field, component or element of an array")
    with tr.at(node.args[0]):
        place = target_of(tr, node.args[0])
        if not isinstance(place, Element):
            return Address(place)
        if not place.is_element or place.several:
            raise KernelTypeError(
                f"the address of a part of {type_name(place.array.type)}",
                expected="one element, field or component",
                help="a row begins at its first element, an array at a.ptr",
            )
        return Address(place, None if place.array.type.local_shape else place.array, place.indices)


def address_in_memory(tr: Translator, node: ast.Call) -> Address:
    """An address that a name may hold, or a function pass on: of an element of an array."""
    address = address_of_place(tr, node)
    if address.array is None:
        cure = "call the native function with it here; a function of your own takes wp.ref[T]"
        raise KernelTypeError("the address of a local goes to a native function only", help=cure)
    return address


def call_python(tr: Translator, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    if not _hashable(callee):
        raise KernelTypeError(f"{describe(callee)} cannot be called")
    if callee in _BY_NAME:
        return fold_pairs(tr, TABLE[_BY_NAME[callee]], args, keywords)
    if callee is builtins.len:
        return length_of(tr, args)
    if callee is builtins.print:
        return form_print(tr, callee, args, keywords)
    name = getattr(callee, "__name__", type(callee).__name__)
    if getattr(math, name, None) is callee and name in TABLE:
        return call_op(tr, TABLE[name], args, keywords)
    if isinstance(callee, types.FunctionType):
        ours = (callee.__module__ or "").startswith("warpsim")
        cure = "this function works on the host only" if ours else f"decorate {name!r} with @wp.func"
        cure = LOCAL_ARRAYS if ours and name in _ARRAY_MAKERS else cure
        raise KernelTypeError(f"{name!r} is a Python function", expected="a function made by @wp.func", help=cure)
    if isinstance(callee, np.ufunc):
        raise KernelTypeError(f"NumPy's {name!r} does not run in kernels", help=f"use wp.{name}")
    if type(callee).__module__.startswith("numba."):
        raise KernelTypeError(f"{name!r} is a Numba function", help=f"{name} = wp.from_numba({name}), outside")
    cure = "a kernel is launched from the host; kernels call functions made by @wp.func"
    is_kernel = hasattr(callee, "launchers")
    raise KernelTypeError(f"{describe(callee)} cannot be called in a kernel", help=cure if is_kernel else "")


def fold_pairs(tr: Translator, op: Op, args: list[Any], keywords: dict[str, Any]) -> Any:
    """min(a, b, c) as min(min(a, b), c)."""
    if len(args) <= 2:
        return call_op(tr, op, args, keywords)
    result = args[0]
    for part in args[1:]:
        result = call_op(tr, op, [result, part], keywords)
    return result


def length_of(tr: Translator, args: list[Any]) -> Any:
    if len(args) != 1:
        raise KernelTypeError(f"len takes one value, got {len(args)}")
    [operand] = args
    if isinstance(operand, ArraySlice):
        return operand.axes[0].length
    if isinstance(operand, Value):
        if isinstance(operand.type, ArrayType):
            known = operand.type.local_shape
            return known[0] if known else tr.emit(memory.shape, operand, axis=0)
        if compounds.is_compound(operand.type):
            return operand.type.shape[0]
    if isinstance(operand, (tuple, list, str, compounds.Compound, np.ndarray)):
        return len(operand)
    raise KernelTypeError(f"{describe(operand)} has no length", expected="an array, vector or tuple")


@form("len")
def form_len(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    return length_of(tr, args)


def call_form(
    tr: Translator, form_name: str, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]
) -> Any:
    """A host function in its kernel form; what its signature or its type functions refuse is the user's error."""
    try:
        if form_name != "type_function":
            inspect.signature(callee).bind(*args, **keywords)
        return FORMS[form_name](tr, callee, args, keywords)
    except KernelError:
        raise
    except (TypeError, ValueError) as error:
        raise KernelTypeError(f"{callee.__name__}: {error}") from error


@form("grad")
def form_grad(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    """`wp.grad(f)`: something to call, known when the kernel is compiled."""
    return callee(*args, **keywords)


@form("select")
def form_select(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
    bound = inspect.signature(callee).bind(*args, **keywords)
    condition, if_false, if_true = bound.args
    return call_op(tr, TABLE["where"], [condition, if_true, if_false], {})


@form("expect")
def form_expect(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> None:
    bound = inspect.signature(callee).bind(*args, **keywords)
    bound.apply_defaults()
    a, b, *rest = bound.args
    first = typed_value(a, b.type if isinstance(b, Value) else None)
    with tr.builder.active():
        callee(first, typed_value(b, first.type), *rest)


@form("print")
def form_print(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> None:
    """print(a, "text", b): text and values separated by blanks, or by what `sep` and `end` say."""
    options = {"sep": " ", "end": "\n", **keywords}
    if len(options) > 2 or not all(isinstance(text, str) for text in options.values()):
        raise KernelTypeError(f"print({', '.join(keywords)}=)", expected="constant text for sep and end")
    pieces, values = [], []
    for a in args:
        text, shown = print_parts(tr, a)
        pieces.append(text)
        values.extend(shown)
    text = _literal(options["sep"]).join(pieces) + _literal(options["end"])
    tr.emit(debug.printf, *values, format=text, shows_adjoints=True)


def print_parts(tr: Translator, operand: object) -> tuple[str, list[Value]]:
    """How print shows an operand: text with conversions, and the values for them."""
    if isinstance(operand, str):
        return _literal(operand), []
    value = typed_value(operand)
    if isinstance(value.type, ArrayType):
        extents = [tr.emit(memory.shape, value, axis=k) for k in range(value.type.ndim)]
        return f"array(shape=({', '.join(['%lld'] * len(extents))}), dtype={type_name(value.type.dtype)})", extents
    if structs.is_struct(value.type):
        parts = [(name, *print_parts(tr, tr.emit(construct.field, value, name=name))) for name in value.type.fields]
        inner = ", ".join(f"{name}={text}" for name, text, _ in parts)
        return f"{value.type.__name__}({inner})", [v for _, _, values in parts for v in values]
    return debug.print_format(value.type), [value]


@form("printf")
def form_printf(tr: Translator, callee: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> None:
    if keywords:
        raise KernelTypeError(f"printf({', '.join(keywords)}=)", expected="a format and values, without names")
    format, rest = debug.with_texts(args[0] if args else None, args[1:])
    values = [typed_value(a) for a in rest]
    debug.check_format(format, [value.type for value in values])
    tr.emit(debug.printf, *values, format=debug.widen(format))


def callee_form(callee: object) -> str:
    """The name of the in-kernel form of a host function, or nothing."""
    return getattr(callee, "kernel_form", "") if callable(callee) and not isinstance(callee, type) else ""


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _hashable(x: object) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
