"""`wp.static(expression)`: evaluated by Python when the function is defined, else when it is compiled.

It sees constants, names from outside, and of what only the run will know the types: `len(v)`, `a.ndim`, `type(x)`.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from ....errors import KernelTypeError, KernelValueError
from ...ir.nodes import Value
from ...types import compounds
from ...types.arrays import ArrayType
from ..source.names import free_names
from ..translate.translator import Translator


class Unknown:
    """Stands in `wp.static` for a value of the run: what its type tells is known."""

    def __init__(self, name: str, value: Value):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_type", value.type)

    def __getattr__(self, name: str) -> Any:
        t = self._type
        if name == "dtype":
            return t.dtype if hasattr(t, "dtype") else t
        if name == "ndim" and isinstance(t, ArrayType):
            return t.ndim
        if name == "shape" and compounds.is_compound(t):
            return t.shape
        if name == "shape" and isinstance(t, ArrayType) and t.local_shape:
            return t.local_shape
        raise _unknown(self._name)

    def __len__(self) -> int:
        return int(self.shape[0])


def _refuses(self: Unknown, *operands: object) -> Any:
    raise _unknown(self._name)


for _operator in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow lt le gt ge eq ne neg pos abs "
    "bool int float index getitem iter call"
).split():
    setattr(Unknown, f"__{_operator}__", _refuses)
Unknown.__hash__ = object.__hash__  # type: ignore[method-assign]


def static_value(tr: Translator, node: ast.Call) -> Any:
    """The value of `wp.static(expression)`. Raises `KernelValueError` where the expression fails."""
    if len(node.args) != 1 or node.keywords:
        raise KernelTypeError("wp.static takes one expression")
    if node in tr.source.captured.statics:
        return tr.source.captured.statics[node]
    known = {name: _static_view(name, tr.lookup(name)) for name in free_names(node.args[0]) if name in tr.scope}
    text = ast.unparse(node.args[0])
    try:
        expression = ast.unparse(_with_values(node.args[0], tr.source.captured.statics, known))
        value = eval(expression, {**tr.source.captured.namespace(), "type": _type_of, **known})
    except KernelValueError as error:
        error.message = f"wp.static({text}) {error.message}"
        raise
    except Exception as error:
        cure = "only names known when the kernel is compiled can be used" if isinstance(error, NameError) else ""
        raise KernelValueError(f"wp.static({text}) fails: {type(error).__name__}: {error}", help=cure) from error
    if isinstance(value, Unknown):
        raise KernelValueError(f"wp.static({text}) {_unknown(value._name).message}")
    return value


def _with_values(node: ast.AST, statics: dict[ast.AST, Any], names: dict[str, Any]) -> Any:
    """A copy of syntax with names for the calls of `wp.static` in it that have values already; `names` gets these."""
    if isinstance(node, list):
        return [_with_values(part, statics, names) for part in node]
    if not isinstance(node, ast.AST):
        return node
    if node in statics:
        name = f"static_{len(names)}_"
        names[name] = statics[node]
        return ast.Name(name, ast.Load())
    copied = copy.copy(node)
    for field, value in ast.iter_fields(node):
        setattr(copied, field, _with_values(value, statics, names))
    return copied


def _static_view(name: str, operand: object) -> Any:
    """An operand as `wp.static` sees it."""
    if isinstance(operand, tuple):
        return tuple(_static_view(name, part) for part in operand)
    return Unknown(name, operand) if isinstance(operand, Value) else operand


def _type_of(x: object, *more: object) -> Any:
    return x._type if isinstance(x, Unknown) else type(x, *more)


def _unknown(name: str) -> KernelValueError:
    return KernelValueError(
        f"uses {name!r}, which is known only at run time",
        help="wp.static sees constants, names from outside the kernel, locals that are constants, and types",
    )
