"""Which names a piece of syntax may assign, and whether it leaves its loop. Pure syntax."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

InOut = Callable[[ast.Call], Iterable[int]]


def assigned(nodes: Iterable[ast.AST], inout: InOut) -> tuple[set[str], set[str]]:
    """Names that the syntax may rebind, and names of which it may write a part (`v[0] = x`, `s.f = x`).

    `inout` tells which arguments a call changes.
    """
    found: set[str] = set()
    parts: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.ctx, ast.Store):
                parts.update(_root(inner))
            elif isinstance(inner, ast.FunctionDef):
                found.add(inner.name)
            elif isinstance(inner, ast.Call):
                for position in inout(inner):
                    if position < len(inner.args):
                        parts.update(_root(inner.args[position]))
    return found, parts


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def leaves_loop(body: list[ast.stmt]) -> bool:
    """Whether a loop body holds a `break` of its own, or a `return`."""
    return _has(body, ast.Break) or returns(body)


def returns(body: list[ast.stmt]) -> bool:
    """Whether statements hold a `return` of this function, at any depth."""
    return any(isinstance(n, ast.Return) for s in body for n in _walk_function(s))


def _walk_function(node: ast.AST) -> Iterable[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield from _walk_function(child)


def _has(body: list[ast.stmt], kind: type[ast.AST]) -> bool:
    """Whether `kind` occurs outside inner loops."""
    for statement in body:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, ast.If) and (_has(statement.body, kind) or _has(statement.orelse, kind)):
            return True
    return False
