"""Locals redefined by a piece of syntax, where that depends on what its names mean."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ...ir.nodes import Value
from ...types import structs
from ...types.arrays import ArrayType
from ..source import names
from .callee import Callee
from .translator import Translator


def names_assigned(tr: Translator, nodes: Iterable[ast.AST]) -> set[str]:
    """Locals that the syntax may rebind; writing an element of an array does not."""
    bound, parts = names.assigned_names(nodes, lambda call: changed_arguments(tr, call))
    return bound | {names.steps(p)[0] for p in parts if rebinds(tr, p)} - {""}


def rebinds(tr: Translator, target: ast.expr) -> bool:
    """Whether writing a part makes a new value of its local: not when an array lies on the way."""
    root, path = names.steps(target)
    operand = tr.scope.get(root)
    t: Any = operand.type if isinstance(operand, Value) else None
    for step in path:
        if isinstance(t, ArrayType):
            return False
        t = t.fields.get(step.attr) if isinstance(step, ast.Attribute) and structs.is_struct(t) else None
    return True


def changed_arguments(tr: Translator, node: ast.Call) -> Iterable[ast.expr]:
    """The arguments that a call writes to: parameters marked `inout`, where they are given places.

    Whose address a call takes, the function that gets it may change.
    """
    callee = static_callee(tr, node)
    if getattr(callee, "kernel_form", "") == "address_of":
        return [a for a in node.args if names.steps(a)[0] in tr.scope]
    if not isinstance(callee, Callee):
        return []
    return [a for a in inout_arguments(callee, node) if a is not None and names.steps(a)[0] in tr.scope]


def static_callee(tr: Translator, node: ast.Call) -> Any:
    """The object a call names, without evaluating anything at run time; None when unknown."""
    root, path = names.steps(node.func)
    if root not in tr.scope:
        return tr.source.resolve(node.func)
    target = tr.scope[root]
    for step in path:
        target = _part(target, step.attr) if isinstance(step, ast.Attribute) else None
    return target


def _part(owner: object, name: str) -> Any:
    """An attribute of an object; of a value that is a struct, the type of its field or a function of its class."""
    t = owner.type if isinstance(owner, Value) else owner
    return (t.fields.get(name) or getattr(t, name, None)) if structs.is_struct(t) else getattr(owner, name, None)


def inout_arguments(callee: Callee, node: ast.Call) -> list[ast.expr | None]:
    """The arguments for the `inout` parameters of a function, None where a default stands."""
    by_name = {k.arg: k.value for k in node.keywords}
    rebound = callee.inout(len(node.args), [str(name) for name in by_name])
    return [node.args[at] if at < len(node.args) else by_name.get(name) for at, name in rebound.items()]
