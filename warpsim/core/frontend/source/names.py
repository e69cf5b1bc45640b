"""Definitions in a piece of syntax, by its text alone: names that it may assign, and whether it leaves its loop."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

Changed = Callable[[ast.Call], Iterable[ast.expr]]


def assigned_names(nodes: Iterable[ast.AST], changed: Changed) -> tuple[set[str], list[ast.expr]]:
    """Names that the syntax may rebind, and the targets by which it writes a part (`v[0] = x`, `s.f = x`).

    `changed` tells which arguments a call writes to. Functions defined inside have names of their own.
    """
    names_bound: set[str] = set()
    parts: list[ast.expr] = []
    for inner in (n for node in nodes for n in _walk_function(node)):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names_bound.add(inner.id)
        elif isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.ctx, ast.Store):
            parts.append(inner)
        elif isinstance(inner, ast.FunctionDef):
            names_bound.add(inner.name)
        elif isinstance(inner, ast.Call):
            parts.extend(changed(inner))
    return names_bound, parts


def rebound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that the syntax gives another value by itself: not by `+=`, which changes an array in place."""
    inside = [n for node in nodes for n in _walk_function(node)]
    updated = {id(n.target) for n in inside if isinstance(n, ast.AugAssign)}
    return {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in updated}


def steps(target: ast.expr) -> tuple[str, list[ast.Attribute | ast.Subscript]]:
    """The name that a target starts from (or nothing), and what is selected from it, outermost first."""
    path: list[ast.Attribute | ast.Subscript] = []
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        path.insert(0, target)
        target = target.value
    return (target.id if isinstance(target, ast.Name) else ""), path


def leaves_loop(body: list[ast.stmt]) -> bool:
    """Whether a loop body holds a `break` of its own, or a `return`."""
    return has(body, ast.Break) or any(True for _ in returns(body))


def returns(body: list[ast.stmt]) -> Iterator[ast.Return]:
    """The `return` statements of this function among statements, at any depth."""
    return (n for s in body for n in _walk_function(s) if isinstance(n, ast.Return))


def has_value(node: ast.Return) -> bool:
    """Whether a `return` hands anything but None back."""
    return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)


def has(body: list[ast.stmt], kind: type[ast.AST]) -> bool:
    """Whether a statement of `kind` occurs outside inner loops."""
    for statement in body:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, ast.If) and (has(statement.body, kind) or has(statement.orelse, kind)):
            return True
    return False


def free_names(expression: ast.expr) -> set[str]:
    """Names that an expression takes from outside: not those of its own comprehensions and lambdas."""
    used = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return used - own - {n.arg for n in ast.walk(expression) if isinstance(n, ast.arg)}


def outside(root: ast.FunctionDef | ast.Lambda) -> Iterator[ast.Name | ast.Attribute]:
    """The names that the code of a function takes from outside, each with the attributes that follow it."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, own = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            around = () if node is root else (*node.args.defaults, *filter(None, node.args.kw_defaults))
            waiting.extend((part, own) for part in around)
            body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            own = (
                own
                | {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
                | assigned_names(body, _no_calls)[0]
            )
            waiting.extend((part, own) for part in body)
        elif is_path(node):
            if steps(node)[0] not in own:  # type: ignore[arg-type]
                yield node  # type: ignore[misc]
        else:
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):  # in wp.static
                own = own | assigned_names([node], _no_calls)[0]
            waiting.extend((part, own) for part in ast.iter_child_nodes(node))


def is_path(node: ast.AST) -> bool:
    """Whether an expression reads a name, or attributes of one: `x`, `module.part.x`."""
    while isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        node = node.value
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _no_calls(call: ast.Call) -> Iterable[ast.expr]:
    return ()


def _walk_function(root: ast.AST) -> Iterator[ast.AST]:
    """Every node but the insides of nested functions."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
