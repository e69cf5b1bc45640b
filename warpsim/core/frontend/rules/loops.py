"""Loops: loop-carried locals, and when a counted loop needs a test instead of a count.

A `for` over `range` without `break` or `return` becomes a counted loop; with them it becomes a
`While` whose test also asks the flags. A local that the body changes is carried: it enters and leaves
through the loop's values and keeps one type. A local that only the body assigns has no value
afterwards, since the body may not run; the index keeps its last value where it had one before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from ....errors import UnsupportedSyntaxError
from ...ir.nodes import Constant, Region, Value
from ...ops.registry import TABLE
from ...types import scalars
from ...types.arrays import ArrayType, type_name
from ..source import names
from ..source.captured import is_static
from ..translate.assigned import names_assigned, static_callee
from ..translate.branches import choose, either, exit_condition
from ..translate.carried import is_runtime, start_value
from ..translate.conversions import truth
from ..translate.flow import statements
from ..translate.scope import (
    BROKE,
    CONTINUED,
    RESULT,
    RETURNED,
    Erroneous,
    Scope,
    Unassigned,
    describe,
    is_number,
    same,
    typed_value,
)
from ..translate.translator import Translator, translates
from .array_slices import ArraySlice
from .calls import arguments, length_of
from .loop_locals import CHANGED, LoopLocals
from .ranges import Range, items_of, range_bounds
from .targets import assign

_MISSING = (Unassigned, Erroneous)
_NOTHING = Unassigned("")


def leave_loop(tr: Translator, body: list[ast.AST], before: Scope) -> None:
    """Forget what only the body assigned."""
    for name in names_assigned(tr, body):
        if name not in before:
            tr.scope[name] = Unassigned("it is assigned only inside a loop, which may run zero times")
        elif not is_runtime(before[name]) and not same(before[name], tr.scope.get(name)):
            tr.scope[name] = CHANGED


@translates(ast.For)
def for_loop(tr: Translator, node: ast.For) -> None:
    callee = static_callee(tr, node.iter) if isinstance(node.iter, ast.Call) else None
    if callee is range:
        assert isinstance(node.iter, ast.Call)
        range_loop(tr, node, node.iter)
        return
    with tr.at(node.iter):
        operand = tr.translate(node.iter)
    if isinstance(operand, Range):
        bounds_loop(tr, node, operand.bounds)
        return
    if isinstance(operand, Value) and hasattr(operand.type, "next_in_kernel"):
        query_loop(tr, node, operand)
        return
    if isinstance(operand, ArraySlice) or (isinstance(operand, Value) and is_sequence(operand.type)):
        sequence_loop(tr, node, operand)
        return
    with tr.at(node.iter):
        unrolled_loop(tr, node, items_of(tr, operand))


def query_loop(tr: Translator, node: ast.For, query: Value) -> None:
    """`for i in query`: as long as the query finds something. Its type says what finds the next one."""
    at = f"<query {node.lineno}:{node.col_offset}>"
    index = f"{at} index"
    before = tr.scope.copy()
    tr.scope[at], tr.scope[index] = query, typed_value(0)
    index_locals = index_carried(tr, node.target.id, scalars.int32) if isinstance(node.target, ast.Name) else []

    def test() -> Any:
        answer = query.type.next_in_kernel.call(tr, [tr.scope[at], tr.scope[index]], {})
        tr.scope[at], tr.scope[index], more = answer
        return truth(tr, more)

    def run() -> None:
        assign(tr, node.target, tr.scope[index])
        statements(tr, node.body)

    loop_with_test(tr, node.body, test, run, [at, index, *index_locals])
    del tr.scope[at], tr.scope[index]
    leave_loop(tr, [node], before)


def is_sequence(t: object) -> bool:
    """Whether values of a type have a length and numbered items: arrays, and structs whose type says how."""
    return isinstance(t, ArrayType) or hasattr(t, "items_in_kernel")


def sequence_loop(tr: Translator, node: ast.For, sequence: Value | ArraySlice) -> None:
    """`for x in sequence`: a counted loop over the items. What the type of a struct names counts and gives them."""
    at = f"<sequence {node.lineno}:{node.col_offset}>"
    index, item_of = f"{at} index", f"{at} item"
    item: ast.expr = ast.Subscript(ast.Name(at, ast.Load()), ast.Name(index, ast.Load()), ast.Load())
    tr.scope[at] = sequence
    if isinstance(sequence, Value) and not isinstance(sequence.type, ArrayType):
        count, tr.scope[item_of] = sequence.type.items_in_kernel
        length = count.call(tr, [sequence], {})
        item = ast.Call(ast.Name(item_of, ast.Load()), [ast.Name(at, ast.Load()), ast.Name(index, ast.Load())], [])
    else:
        length = length_of(tr, [sequence])
    body = [ast.Assign([node.target], item), *node.body]
    loop = ast.copy_location(ast.For(ast.Name(index, ast.Store()), node.iter, body, []), node)
    ast.fix_missing_locations(loop)
    bounds_loop(tr, loop, (typed_value(0), length, typed_value(1)))
    for name in (at, index, item_of):
        tr.scope.pop(name, None)


def unrolled_loop(tr: Translator, node: ast.For, items: list[Any]) -> None:
    """A loop over things known at compile time: one copy of the body each."""
    outer = {flag: tr.scope.get(flag, False) for flag in (BROKE, CONTINUED)}
    for item in items:
        before = tr.scope.copy()
        tr.scope[CONTINUED] = False
        left = exit_condition(tr)
        if left is True:
            break
        if left is False:
            one_turn(tr, node, item)
        else:
            either(tr, tr.emit(TABLE["unot"], left), partial(one_turn, tr, node, item), lambda: None)
        forget_skipped(tr, node, before)
    tr.scope.update(outer)


def one_turn(tr: Translator, node: ast.For, item: object) -> None:
    tr.scope[BROKE] = tr.scope[RETURNED] = False
    assign(tr, node.target, item)
    statements(tr, node.body)


def forget_skipped(tr: Translator, node: ast.For, before: Scope) -> None:
    """What the turn assigned first has no value where the turn was left by `break` or `continue`."""
    if all(tr.scope.get(flag, False) is False for flag in (BROKE, CONTINUED)):
        return
    for name in names_assigned(tr, node.body):
        if isinstance(before.get(name, _NOTHING), Unassigned):
            tr.scope[name] = Unassigned("the loop may be left or continued before it is assigned")


def range_loop(tr: Translator, node: ast.For, call: ast.Call) -> None:
    bounds = (typed_value(0), typed_value(0), typed_value(1))  # after an error, go on to find those of the body

    def find_bounds() -> None:
        nonlocal bounds
        with tr.at(call):
            keywords = {str(k.arg): tr.translate(k.value) for k in call.keywords}
            bounds = range_bounds(arguments(tr, call), keywords)

    tr.attempt(find_bounds, set)
    bounds_loop(tr, node, bounds)


def bounds_loop(tr: Translator, node: ast.For, bounds: tuple[Value, Value, Value]) -> None:
    """A loop over first index, end and step."""
    if not isinstance(node.target, ast.Name):
        raise UnsupportedSyntaxError("the index of range is one name")
    if all(isinstance(b, Constant) for b in bounds) and needs_copies(tr, node):
        start, stop, step = (int(b.value) for b in bounds if isinstance(b, Constant))
        unrolled_loop(tr, node, list(range(start, stop, step)))
        return
    t = bounds[0].type
    before = tr.scope.copy()
    index_locals = index_carried(tr, node.target.id, t)
    loop = tested_range if names.leaves_loop(node.body) else counted_loop
    loop(tr, node, bounds, index_locals)
    tr.scope[CONTINUED] = before.get(CONTINUED, False)
    leave_loop(tr, [node], before)
    if node.target.id in before and not index_locals:
        reason = f"the loop makes it {type_name(t)}, and before it is {describe(before[node.target.id])}"
        tr.scope[node.target.id] = Unassigned(reason, conflict=True)
        return
    last = last_index(tr, node, bounds)
    if last is not None and t is scalars.int32:
        tr.bind(node.target.id, last)


def last_index(tr: Translator, node: ast.For, bounds: tuple[Value, Value, Value]) -> int | None:
    """The index after a loop of constant bounds that runs to its end, as Python leaves it."""
    assert isinstance(node.target, ast.Name)
    if not all(isinstance(b, Constant) for b in bounds) or names.leaves_loop(node.body):
        return None
    turns = range(*(int(b.value) for b in bounds if isinstance(b, Constant)))
    return turns[-1] if turns and node.target.id not in names_assigned(tr, node.body) else None


def needs_copies(tr: Translator, node: ast.For) -> bool:
    """Whether the body uses the index where it must be known: in `wp.static`, or to take a part of a tuple or list."""
    assert isinstance(node.target, ast.Name)
    index = node.target.id
    for inner in (n for statement in node.body for n in ast.walk(statement)):
        if isinstance(inner, ast.Call) and inner.args and is_static(static_callee(tr, inner)):
            if index in names.free_names(inner.args[0]):
                return True
        elif isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Load) and names.is_path(inner.value):
            if index in names.free_names(inner.slice) and isinstance(known_sequence(tr, inner.value), tuple | list):
                return True
    return False


def known_sequence(tr: Translator, node: ast.expr) -> Any:
    """What a name or path means, as far as it is known without translating anything."""
    root, path = names.steps(node)
    return tr.scope.get(root) if root in tr.scope and not path else tr.source.resolve(node)


def index_carried(tr: Translator, name: str, t: object) -> list[str]:
    """The index as a carried local, when a local of its name and type is there before the loop."""
    operand = tr.scope.get(name)
    if not (isinstance(operand, Value) or is_number(operand)) or typed_value(operand, t).type is not t:
        return []
    tr.scope[name] = typed_value(operand, t)
    return [name]


def counted_loop(tr: Translator, node: ast.For, bounds: tuple[Value, Value, Value], index_locals: list[str]) -> None:
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    carried = LoopLocals(tr, node.body, index_locals)
    carried.start()
    index, params = Value(bounds[0].type, name), carried.params()
    body = Region((index, *params))
    outer = tr.scope.copy()

    def run() -> None:
        tr.bind(name, index)
        tr.scope[CONTINUED] = False
        statements(tr, node.body)

    body.yields = loop_body(tr, body, carried, params, run)
    results = tr.builder.loop(*bounds, carried.init, body)
    tr.scope = outer
    carried.leave(tr.scope, results)


def loop_body(
    tr: Translator, body: Region, carried: LoopLocals, params: tuple[Value, ...], run: Callable[[], None]
) -> tuple[Value, ...]:
    """Translate a body with its carried locals bound to parameters; returns what it yields."""
    outer, tr.scope = tr.scope, tr.scope.copy()
    try:
        carried.bind(tr.scope, params)
        with tr.builder.inside(body):
            run()
            yields = carried.collect(tr.scope)
        if carried.changed:
            tr.scope = outer.copy()
            carried.bind(tr.scope, params)
            carried.forget(tr.scope)
            with tr.builder.inside(Region()):
                run()  # for errors alone: no iteration may begin with what the one before left in such a name
        return yields
    finally:
        tr.scope = outer


def tested_range(tr: Translator, node: ast.For, bounds: tuple[Value, Value, Value], index_locals: list[str]) -> None:
    """A counted loop that `break` or `return` may end: the index is carried too."""
    assert isinstance(node.target, ast.Name)
    name, index = node.target.id, "<index>"
    start, stop, step = bounds
    tr.scope[index] = start

    def test() -> Any:
        return before_stop(tr, tr.scope[index], stop, step)

    def run() -> None:
        at = tr.scope[index]
        tr.bind(name, at)
        statements(tr, node.body)
        tr.scope[index] = next_index(tr, at, stop, step)

    loop_with_test(tr, node.body, test, run, [index, *index_locals])
    del tr.scope[index]


def before_stop(tr: Translator, at: Value, stop: Value, step: Value) -> Any:
    if isinstance(step, Constant):
        return tr.emit(TABLE["lt" if int(step.value) > 0 else "gt"], at, stop)
    up, down = tr.emit(TABLE["gt"], step, 0), tr.emit(TABLE["lt"], step, 0)
    rising = tr.emit(TABLE["bit_and"], up, tr.emit(TABLE["lt"], at, stop))
    return tr.emit(TABLE["bit_or"], rising, tr.emit(TABLE["bit_and"], down, tr.emit(TABLE["gt"], at, stop)))


def next_index(tr: Translator, at: Value, stop: Value, step: Value) -> Value:
    """The next index; a step that would wrap round goes to `stop` instead."""
    following = tr.emit(TABLE["add"], at, step)
    if isinstance(step, Constant) and abs(int(step.value)) == 1:  # at most up to `stop`
        return following
    return tr.emit(TABLE["where"], before_stop(tr, at, following, step), following, stop)


@translates(ast.While)
def while_loop(tr: Translator, node: ast.While) -> None:
    before = tr.scope.copy()
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def test() -> Any:
        return truth(tr, tr.translate(node.test))

    loop_with_test(tr, [*node.body, node.test], test, lambda: statements(tr, node.body), [])
    if endless and not names.has(node.body, ast.Break) and RETURNED in tr.scope:
        tr.scope[RETURNED] = True  # there is no other way out
    leave_loop(tr, [node], before)


def loop_with_test(
    tr: Translator, body: list[Any], test: Callable[[], Any], run: Callable[[], None], extra: list[str]
) -> None:
    """A While whose test is `test`, and the flags where the body can leave."""
    outer_flags = {flag: tr.scope.get(flag, False) for flag in (BROKE, CONTINUED)}
    flags = loop_flags(tr, [s for s in body if isinstance(s, ast.stmt)])
    if RETURNED in flags:
        extra = [*extra, *prepared_result(tr, body, run, extra, flags)]
    carried = LoopLocals(tr, body, [*extra, *flags])
    carried.start()
    node_before, node_body = Region(carried.params()), Region()
    outer = tr.scope.copy()
    go_on: list[Value] = []
    passed = loop_body(tr, node_before, carried, node_before.params, lambda: go_on.append(loop_test(tr, test, flags)))
    node_before.yields = (*go_on, *passed)
    node_body.params = tuple(Value(v.type, v.hint) for v in passed)

    def body_run() -> None:
        for flag in (*flags, CONTINUED):
            tr.scope[flag] = False
        run()

    node_body.yields = loop_body(tr, node_body, carried, node_body.params, body_run)
    if carried.changed:  # the test may not read what the iteration before left there either
        loop_body(tr, Region(), carried, node_before.params, lambda: go_on.append(loop_test(tr, test, flags)))
    results = tr.builder.repeat(carried.init, node_before, node_body)
    tr.scope = outer
    carried.leave(tr.scope, results)
    tr.scope.update(outer_flags)


def loop_test(tr: Translator, test: Callable[[], Any], flags: list[str]) -> Value:
    """The test, evaluated only where no flag is set."""
    left: Any = False
    for flag in flags:
        flag_value = tr.scope[flag]
        left = flag_value if left is False else tr.emit(TABLE["bit_or"], left, flag_value)
    if left is False:
        return typed_value(test())
    result: Value = choose(tr, left, lambda: typed_value(False), lambda: typed_value(test()))
    return result


def loop_flags(tr: Translator, body: list[ast.stmt]) -> list[str]:
    """The flags that the body can set, started as False."""
    flags = []
    if names.leaves_loop(body):
        flags = [BROKE, *([RETURNED] if any(True for _ in names.returns(body)) else [])]
    for flag in flags:
        tr.scope[flag] = False
    return flags


def prepared_result(
    tr: Translator, body: list[Any], run: Callable[[], None], extra: list[str], flags: list[str]
) -> list[str]:
    """Give the result, which the loop carries, a value of its type before the loop; says whether there is one.

    The type is found by translating the body once for nothing else, unless it is known already.
    """
    known = tr.scope.get(RESULT)
    if not isinstance(known, Value):
        result = trial_result(tr, body, run, extra, flags)
        if result is None or isinstance(result, _MISSING) or isinstance(known, _MISSING):
            return []
        tr.scope[RESULT] = start_value(known, result)
    return [RESULT]


def trial_result(tr: Translator, body: list[Any], run: Callable[[], None], extra: list[str], flags: list[str]) -> Any:
    carried = LoopLocals(tr, body, [*extra, *flags])
    errors, outer = len(tr.errors), tr.scope
    tr.scope = tr.scope.copy()
    try:
        carried.bind(tr.scope, carried.params())
        tr.scope.update(dict.fromkeys((*flags, CONTINUED), False))
        with tr.builder.inside(Region()):
            run()
        return tr.scope.get(RESULT)
    finally:
        tr.scope = outer
        del tr.errors[errors:]
