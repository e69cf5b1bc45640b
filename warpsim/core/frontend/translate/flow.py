"""Structured control flow: lists of statements, `if`, and leaving by `return`, `break` and `continue`.

What leaves sets a flag in the scope and ends its list of statements. After a branch that leaves on one side
only, the rest of the list continues inside the other side; when it is not known which side leaves,
the rest runs under a test of the flags. No later pass sees anything but structured regions.
"""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ...ops.registry import TABLE
from ..source.names import has, leaves_loop
from .assigned import names_assigned
from .branches import Arm, exit_condition, fill, join
from .chains import LONGEST, alternatives, first_of
from .conversions import truth
from .scope import BROKE, CONTINUED, FLAGS, typed_value
from .translator import Translator, translates


def statements(tr: Translator, body: list[ast.stmt]) -> None:
    """Translate a list of statements."""
    for part in parts(body):
        nest(tr, part)


def nest(tr: Translator, body: list[ast.stmt]) -> None:
    """Statements of which those after a branch that may leave go inside it."""
    for k, node in enumerate(body):
        left = exit_condition(tr)
        if left is True:
            return
        if left is not False:
            guard(tr, left, body[k:])
            return
        if isinstance(node, ast.If):
            if branch(tr, node, body[k + 1 :]):
                return
        else:
            statement(tr, node)


def statement(tr: Translator, node: ast.stmt) -> None:
    """A statement by its rule; after an error, the names that it would have assigned are used without complaint."""
    tr.attempt(lambda: tr.translate(node), lambda: names_assigned(tr, [node]))


def guard(tr: Translator, left: Value, rest: list[ast.stmt]) -> None:
    """Run the rest only where the flags are not set."""
    staying, leaving = Arm(tr.scope.copy()), Arm(tr.scope.copy(), left=True)
    set_here = [flag for flag in FLAGS if tr.scope.get(flag, False) is not False]
    if len(set_here) == 1:
        leaving.scope[set_here[0]] = True
    for flag in FLAGS:
        staying.scope[flag] = False
    fill(tr, staying, lambda: statements(tr, rest))
    join(tr, tr.emit(TABLE["unot"], left), staying, leaving)


@translates(ast.Break)
def break_statement(tr: Translator, node: ast.Break) -> None:
    tr.scope[BROKE] = True


@translates(ast.Continue)
def continue_statement(tr: Translator, node: ast.Continue) -> None:
    tr.scope[CONTINUED] = True


def branch(tr: Translator, node: ast.If, rest: list[ast.stmt]) -> bool:
    """Translate an `if`; returns whether the rest of the list was taken along."""
    tests, sides = alternatives(node)
    if len(tests) > LONGEST:
        tried = [lambda t=t: test_value(tr, t) for t in tests]
        first_of(tr, tried, sides, lambda side: statements(tr, side), values=False)
        return False
    condition = test_value(tr, node.test)
    if isinstance(condition, bool):
        statements(tr, node.body if condition else node.orelse)
        return False
    with tr.at(node):
        return two_sided(tr, condition, node, rest)


def test_value(tr: Translator, node: ast.expr) -> Any:
    """A test: a bool where it is decided already, else a Value."""
    outcome: Any = typed_value(False)  # after an error, go on to find those of both sides

    def test() -> None:
        nonlocal outcome
        with tr.at(node):
            outcome = truth(tr, tr.translate(node))

    tr.attempt(test, set)
    return outcome


def two_sided(tr: Translator, condition: Value, node: ast.If, rest: list[ast.stmt]) -> bool:
    """Both sides of an `if`; the rest of the list goes into the one side that does not leave."""
    then, orelse = Arm(tr.scope.copy()), Arm(tr.scope.copy())
    fill(tr, then, lambda: statements(tr, node.body))
    fill(tr, orelse, lambda: statements(tr, node.orelse))
    taken = False
    for arm, other in ((then, orelse), (orelse, then)):
        if rest and other.leaves and not arm.may_leave:
            fill(tr, arm, lambda: statements(tr, rest))
            taken = True
            break
    join(tr, condition, then, orelse)
    return taken or (then.leaves and orelse.leaves)


def parts(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    """Statements in pieces with so few branches that may leave that the nest of what follows them is not too deep."""
    if len(body) <= LONGEST:
        return [body]
    groups: list[list[ast.stmt]] = [[]]
    leaving = 0
    for node in body:
        leaving += isinstance(node, ast.If) and (leaves_loop([node]) or has([node], ast.Continue))
        if leaving > LONGEST:
            groups.append([])
            leaving = 1
        groups[-1].append(node)
    return groups
