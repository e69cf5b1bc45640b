"""Simple statements: assignments, assertions, calls whose value nobody takes."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

from ....errors import KernelTypeError, UnsupportedSyntaxError
from ...ops.debug import assert_
from ...ops.threads import tid
from ..translate.assigned import static_callee
from ..translate.conversions import convert, truth
from ..translate.scope import typed_value
from ..translate.translator import Translator, translates
from .calls import emit_tid
from .constructors import type_expression
from .operators import binary
from .targets import assign, update
from .tile_elements import is_tile, update_tile


@translates(ast.Pass)
def no_operation(tr: Translator, node: ast.Pass) -> None:
    pass


@translates(ast.Expr)
def expression_statement(tr: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring or `...`
        tr.unused = node.value
        tr.translate(node.value)


@translates(ast.Assign)
def assignment(tr: Translator, node: ast.Assign) -> None:
    operand = value_for(tr, node.targets[0], node.value)
    for target in node.targets:
        assign(tr, target, operand)


def value_for(tr: Translator, target: ast.expr, value: ast.expr) -> Any:
    """The value to assign; `i, j = wp.tid()` asks for as many indices as there are names."""
    if isinstance(value, ast.Call) and isinstance(target, ast.Tuple) and static_callee(tr, value) is tid:
        with tr.at(value):
            return emit_tid(tr, len(target.elts))
    operand = tr.translate(value)
    if operand is None and isinstance(value, ast.Call):
        cure = "call it on a line of its own"
        raise KernelTypeError(f"{ast.unparse(value.func)} returns nothing that could be assigned", help=cure)
    return operand


@translates(ast.AnnAssign)
def annotated_assignment(tr: Translator, node: ast.AnnAssign) -> None:
    if node.value is None:
        raise UnsupportedSyntaxError("a declaration without a value", help="assign the first value here")
    declared = type_expression(tr, node.annotation)
    operand = tr.translate(node.value)
    assign(tr, node.target, convert(operand, declared, "the value") if declared is not None else operand)


@translates(ast.AugAssign)
def augmented_assignment(tr: Translator, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        update(tr, node.target, type(node.op), node.value)
        return
    before = tr.translate(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    operand = tr.translate(node.value)
    if is_tile(before):
        update_tile(tr, partial(binary, tr, type(node.op)), before, operand)
    else:
        assign(tr, node.target, binary(tr, type(node.op), before, operand))


@translates(ast.Assert)
def assertion(tr: Translator, node: ast.Assert) -> None:
    condition = truth(tr, tr.translate(node.test))
    message = tr.translate(node.msg) if node.msg is not None else ""
    if not isinstance(message, str):
        raise KernelTypeError("the message of an assertion is not text", help="use a constant string")
    if condition is not True:
        tr.emit(assert_, typed_value(condition), message=message or ast.unparse(node.test))
