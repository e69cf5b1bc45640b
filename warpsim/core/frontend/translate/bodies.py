"""The body of a function: what it returns, and all of its errors at once."""

from __future__ import annotations

import ast
from typing import Any

from ....errors import CompilerError, KernelError, KernelErrors, KernelTypeError, counted
from ...ir.nodes import Value
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.signatures import CompoundPattern, is_generic
from .conversions import convert
from .fence import fence
from .flow import statements
from .missing_values import restart_with_zeros, warn_of_zero
from .scope import RESULT, RETURNED, Unassigned, typed_value
from .translator import MAX_ERRORS, Suppressed, Translator, translates


def run_body(tr: Translator) -> Any:
    """Translate the body; returns the result operand. Raises all errors of the body at once."""
    refused = fence(tr.source) if tr.body_node is tr.source.tree else []
    if refused:
        raise_all(refused)
    try:
        if isinstance(tr.body_node, ast.Lambda):
            tr.scope[RESULT] = tr.translate(tr.body_node.body)
        else:
            statements(tr, tr.body_node.body)
        result = result_of(tr.scope)
    except KernelError as error:
        if error not in tr.errors and len(tr.errors) < MAX_ERRORS:
            error.location = error.location or tr.source.whole()
            tr.errors.append(error)
        restart_with_zeros(tr)
        raise_all(tr.errors)
    except Suppressed:
        restart_with_zeros(tr)
        raise_all(tr.errors)
    if tr.errors:
        restart_with_zeros(tr)
        raise_all(tr.errors)
    if result is not None and tr.scope.get(RETURNED, True) is not True:
        warn_of_zero(f"{tr.source.name!r} returns a value on some paths only; on the others", tr.source.whole())
    return result


@translates(ast.Return)
def return_statement(tr: Translator, node: ast.Return) -> None:
    value = None if node.value is None else tr.translate(node.value)
    if tr.kernel and value is not None:
        raise KernelTypeError("a kernel returns nothing", help="write the result to an array argument")
    if value is None and tr.returns_value:
        raise KernelTypeError("this returns nothing, and elsewhere the function returns a value")
    if value is not None:
        tr.scope[RESULT] = value if tr.expected is None else as_declared(value, tr.expected)
    tr.scope[RETURNED] = True


def as_declared(value: object, annotation: object) -> Any:
    """The returned operand converted to the annotation, where that is concrete."""
    if isinstance(annotation, tuple):
        parts = value if isinstance(value, tuple) else (value,)
        if len(parts) != len(annotation):
            raise KernelTypeError(
                f"{counted(len(parts), 'value')} returned",
                expected=f"{len(annotation)} by the annotation",
            )
        return tuple(as_declared(v, w) for v, w in zip(parts, annotation, strict=True))
    t = scalars.canonical(annotation)
    if not (scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t)):
        return value
    if isinstance(value, tuple):
        raise KernelTypeError(
            f"{counted(len(value), 'value')} returned",
            expected=f"one {type_name(t)} by the annotation",
        )
    return convert(value, t, "the returned value")


def result_with_chain(inner: Translator) -> Any:
    """What a called function returns; its errors show the calls that led there."""
    try:
        return run_body(inner)
    except KernelError as error:
        add_chain(error, inner.call_sites())
        raise


def declared_type(annotation: Any) -> Any:
    """A return annotation as a type, a tuple of types, or None when it says nothing concrete."""
    if annotation is None or annotation is type(None):
        return None
    origin = getattr(annotation, "__origin__", None)
    if origin is tuple:
        return tuple(annotation.__args__)
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    if isinstance(annotation, (CompoundPattern, ArrayType)) or is_generic(annotation):
        return None
    return annotation


def raise_all(errors: list[KernelError]) -> None:
    """Raise one error, or several together."""
    flat = [e for error in errors for e in (error.errors if isinstance(error, KernelErrors) else [error])]
    if not flat:
        raise CompilerError("translation stopped without an error to report")
    raise flat[0] if len(flat) == 1 else KernelErrors(flat)


def add_chain(error: KernelError, sites: list[Any]) -> None:
    for each in error.errors if isinstance(error, KernelErrors) else [error]:
        if not each.chain:
            each.chain = tuple(sites)


def typed_result(result: object) -> Any:
    """Literals among results become Values, so that callers see run-time values."""
    if isinstance(result, tuple):
        return tuple(typed_result(part) for part in result)
    if result is None or isinstance(result, Value):
        return result
    try:
        return typed_value(result)
    except KernelTypeError:
        return result


def result_of(scope: dict[str, Any]) -> Any:
    """What a translated function returns: its result operand, or None."""
    result = scope.get(RESULT)
    if isinstance(result, Unassigned):
        cure = "convert them to one type, or annotate the function with the type it returns"
        raise KernelTypeError(f"the returned values do not fit together: {result.reason}", help=cure)
    return result
