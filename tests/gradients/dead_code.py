"""What kernels of random programs do to arrays, as one sees it from their text without what has no effect."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from functools import lru_cache


class WithoutDeadCode(ast.NodeTransformer):
    """Takes out loops of no round, branches without content or never taken, what comes after a return or break, and
    local variables that nobody reads or that are set again before.

    No array is used there. live: names that are read, but by what sets them anew.
    """

    def __init__(self, tree):
        loads = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                loads[name] -= sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value))
        self.live = {name for name, count in loads.items() if count > 0}

    def generic_visit(self, node):
        super().generic_visit(node)
        for name in ("body", "orelse"):
            if isinstance(block := getattr(node, name, None), list) and block:
                block = [s for k, s in enumerate(block) if not is_overwritten(s, block[k + 1 :])]
                setattr(node, name, reachable(block) or [ast.Pass()])
        return node

    def visit_For(self, node):
        return ast.Pass() if ast.unparse(node.iter) == "range(0)" else self.generic_visit(node)

    def visit_If(self, node):
        self.generic_visit(node)
        if (taken := constant_outcome(node.test)) is not None:
            return (node.body if taken else node.orelse) or ast.Pass()
        empty = all(isinstance(s, ast.Pass) for s in (*node.body, *node.orelse))
        return ast.Pass() if empty and is_pure(node.test) else node

    def visit_Assign(self, node):
        dead = isinstance(node.targets[0], ast.Name) and node.targets[0].id not in self.live
        return ast.Pass() if dead and is_pure(node.value) else node


def is_overwritten(statement, after):
    """Whether a local variable is set in vain: set again, in the same block, before anything reads it."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    for later in after:
        if any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(later)):
            return False
        if isinstance(later, ast.Assign) and ast.unparse(later.targets[0]) == name:
            return is_pure(statement.value)
    return False


def reachable(block):
    """The statements of a block up to one that leaves it."""
    leaving = (k for k, s in enumerate(block) if isinstance(s, ast.Return | ast.Break | ast.Continue))
    return block[: next(leaving, len(block)) + 1]


def constant_outcome(test):
    """What a test of numbers alone decides, None for other tests."""
    text = ast.unparse(test)
    literal = re.fullmatch(r"wp\.float64\((-?[0-9.]+)\) ([<>]) (-?[0-9.]+)", text)
    if literal is None:
        return None
    left, sign, right = literal.groups()
    return float(left) > float(right) if sign == ">" else float(left) < float(right)


def is_pure(expression):
    """Whether computing a value changes no array."""
    return not any(word in ast.unparse(expression) for word in ("wp.atomic", "touch"))


def without_dead_code(tree):
    """The same program with nothing in it that has no effect, as far as one sees from names."""
    while (text := ast.unparse(tree)) and ast.unparse(WithoutDeadCode(tree).visit(tree)) != text:
        pass
    return tree


@lru_cache(maxsize=8)
def accesses(function, by_name=False):
    """The arrays whose elements a kernel reads with an effect, and those that it changes, by parameter.

    by_name: all that its text names, in dead code too.
    """
    read, changed = set(), set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree if by_name else without_dead_code(tree)):
        if isinstance(node, ast.Subscript):
            (read if isinstance(node.ctx, ast.Load) else changed).add(ast.unparse(node.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("wp.atomic", "touch")):
            changed.add(ast.unparse(node.args[0]))
    return read, changed
