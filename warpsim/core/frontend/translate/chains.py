"""Long chains of alternatives (`elif`, `a if p else b if q else c`) in a nest that grows with their logarithm.

Translated one inside the other, every alternative would be a level of the program, and thousands of levels are more
than the stacks of Python and of what comes after can take. So a long chain is translated in two steps: which test is
the first to hold, then a search for that alternative by halves. Tests are evaluated in order and none after the first
that holds; what is decided when the kernel is compiled is not translated, as in short chains.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ....errors import KernelError
from ...ir.builder import constant
from ...ir.nodes import Region, Value
from ...ops.registry import TABLE
from ...types.scalars import int32
from .branches import choose, either
from .conversions import truth
from .scope import typed_value
from .translator import Suppressed, Translator

LONGEST = 64  # alternatives that are translated one inside the other

Test = Callable[[], Any]


def test_of(tr: Translator, node: ast.expr) -> Test:
    return lambda: truth(tr, tr.translate(node))


def first_of(
    tr: Translator, tests: Sequence[Test], sides: Sequence[Any], take: Callable[[Any], Any], values: bool
) -> Any:
    """`take` the side of the first test that holds, else the last side. values: sides have values to be joined."""
    open_tests, open_sides = [], []
    for test, side in zip(tests, sides, strict=False):
        known = decide(tr, test)
        if known is not False:
            open_sides.append(side)
        if known is True:
            break
        if known is None:
            open_tests.append(test)
    else:
        open_sides.append(sides[-1])
    first = first_holding(tr, open_tests, 0) if open_tests else None
    return search_side(tr, first, open_sides, 0, take, choose if values else either)


def shortcut(tr: Translator, tests: Sequence[Test], conjunction: bool) -> Any:
    """`and` / `or`: the rest is evaluated only when what comes before leaves the answer open."""
    if len(tests) == 1:
        return tests[0]()
    size = len(tests) // 2 if len(tests) > LONGEST else 1
    first = shortcut(tr, tests[:size], conjunction)
    if isinstance(first, bool):
        return shortcut(tr, tests[size:], conjunction) if first is conjunction else first
    rest = lambda: typed_value(shortcut(tr, tests[size:], conjunction))  # noqa: E731
    stop = lambda: typed_value(not conjunction)  # noqa: E731
    return choose(tr, first, rest, stop) if conjunction else choose(tr, first, stop, rest)


def decide(tr: Translator, test: Test) -> bool | None:
    """Whether a test holds, if that is known already; None leaves nothing behind."""
    outer, noted = tr.scope.copy(), len(tr.errors)
    try:
        with tr.builder.inside(Region()):
            outcome = test()
    except (KernelError, Suppressed):
        return None
    finally:
        tr.scope = outer
        del tr.errors[noted:]  # they will be reported in their place
    return outcome if isinstance(outcome, bool) else None


def first_holding(tr: Translator, tests: Sequence[Test], start: int) -> Value:
    """The position, counted from `start`, of the first test that holds; the next position where none does."""
    end = start + len(tests)
    if len(tests) == 1:
        index: Value = tr.emit(TABLE["where"], tests[0](), constant(int32, start), constant(int32, end))
        return index
    half = len(tests) // 2
    before = first_holding(tr, tests[:half], start)
    holds = tr.emit(TABLE["lt"], before, constant(int32, start + half))
    index = choose(tr, holds, lambda: before, lambda: first_holding(tr, tests[half:], start + half))
    return index


def search_side(
    tr: Translator,
    at: Value | None,
    sides: Sequence[Any],
    start: int,
    take: Callable[[Any], Any],
    join: Callable[..., Any],
) -> Any:
    """Take the side at a position, where `sides` begin with that of position `start`."""
    if at is None or len(sides) == 1:
        return take(sides[0])
    half = len(sides) // 2
    below = tr.emit(TABLE["lt"], at, constant(int32, start + half))
    lower, upper = sides[:half], sides[half:]
    return join(
        tr,
        below,
        lambda: search_side(tr, at, lower, start, take, join),
        lambda: search_side(tr, at, upper, start + half, take, join),
    )


def alternatives(node: ast.If | ast.IfExp) -> tuple[list[ast.expr], list[Any]]:
    """The tests of a chain in order, and its sides: one more, since the last has no test."""
    tests, sides = [node.test], [node.body]
    rest: Any = node.orelse
    while True:
        only = rest[0] if isinstance(rest, list) and len(rest) == 1 else rest
        if type(only) is not type(node):
            return tests, [*sides, rest]
        tests.append(only.test)
        sides.append(only.body)
        rest = only.orelse
