"""Loops: which locals they carry, and when a counted loop needs a test instead of a count.

A `for` over `range` without `break` or `return` becomes a counted loop; with them it becomes a
`While` whose test also asks the flags. A local that the body changes is carried: it enters and leaves
through the loop's values and keeps one type. A local that only the body assigns has no value
afterwards, since the body may not run; the index keeps its last value where it had one before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import KernelTypeError, UnsupportedSyntaxError
from ..ir.nodes import Constant, Region, Value
from ..ops.registry import TABLE
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from . import names
from .carried import Carried, is_runtime, started
from .places import Places
from .scope import (
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
    typed,
)  # fmt: skip

_MISSING = (Unassigned, Erroneous)


class Loops(Places):
    """Translates `for` and `while`."""

    def names_assigned(self, nodes: Iterable[ast.AST]) -> set[str]:
        """Locals that the syntax may rebind; writing an element of an array does not."""
        bound, parts = names.assigned(nodes, self.changed_arguments)
        return bound | {names.steps(p)[0] for p in parts if self.rebinds(p)} - {""}

    def rebinds(self, target: ast.expr) -> bool:
        """Whether writing a part makes a new value of its local: not when an array lies on the way."""
        root, path = names.steps(target)
        operand = self.scope.get(root)
        t = operand.type if isinstance(operand, Value) else None
        for step in path:
            if isinstance(t, ArrayType):
                return False
            t = t.fields.get(step.attr) if isinstance(step, ast.Attribute) and structs.is_struct(t) else None
        return True

    def changed_arguments(self, node: ast.Call) -> Iterable[ast.expr]:
        raise NotImplementedError

    def carried(self, body: Iterable[ast.AST], extra: list[str]) -> Carried:
        changed = self.names_assigned(body)
        known = [n for n in sorted(changed) if n in self.scope and not isinstance(self.scope[n], _MISSING)]
        return Carried([*(n for n in known if is_runtime(self.scope[n])), *extra], self.scope)

    def leave_loop(self, body: list[ast.AST], before: Scope) -> None:
        """Forget what only the body assigned."""
        for name in self.names_assigned(body):
            if name not in before:
                self.scope[name] = Unassigned("it is assigned only inside a loop, which may run zero times")
            elif not is_runtime(before[name]) and not same(before[name], self.scope.get(name)):
                reason = "a loop changes it, and it is not a number, vector, matrix or struct"
                self.scope[name] = Unassigned(reason, conflict=True)

    # ----- for ------------------------------------------------------------------------------

    def stmt_For(self, node: ast.For) -> None:
        callee = self.static_callee(node.iter) if isinstance(node.iter, ast.Call) else None
        if callee is range:
            assert isinstance(node.iter, ast.Call)
            self.range_loop(node, node.iter)
            return
        with self.at(node.iter):
            operand = self.expr(node.iter)
        if isinstance(operand, Value) and hasattr(operand.type, "next_in_kernel"):
            self.query_loop(node, operand)
            return
        with self.at(node.iter):
            self.each(node, self.items_of(operand))

    def query_loop(self, node: ast.For, query: Value) -> None:
        """`for i in query`: as long as the query finds something. Its type says what finds the next one."""
        at = f"<query {node.lineno}:{node.col_offset}>"
        index = f"{at} index"
        before = self.scope.copy()
        self.scope[at], self.scope[index] = query, typed(0)

        def test() -> Any:
            found = query.type.next_in_kernel.call(self, [self.scope[at], self.scope[index]], {})
            self.scope[at], self.scope[index], more = found
            return self.truth(more)

        def run() -> None:
            self.assign(node.target, self.scope[index])
            self.statements(node.body)

        self.tested(node.body, test, run, [at, index])
        del self.scope[at], self.scope[index]
        self.leave_loop([node], before)

    def items_of(self, operand: Any) -> list[Any]:
        """What a loop runs over, when that is known at compile time."""
        if isinstance(operand, (range, list, tuple)):
            return list(operand)
        t = operand.type if isinstance(operand, Value) else type(operand)
        if not compounds.is_compound(t):
            cure = "loop over indices: for i in range(len(a))" if isinstance(t, ArrayType) else "for i in range(n)"
            wanted = "range(...), a tuple, a vector or a query"
            raise KernelTypeError(f"a loop over {describe(operand)}", expected=wanted, help=cure)
        return list(self.parts_of(operand))

    def each(self, node: ast.For, items: list[Any]) -> None:
        """A loop over things known at compile time: one copy of the body each."""
        outer = {flag: self.scope.get(flag, False) for flag in (BROKE, CONTINUED)}
        for item in items:
            before = self.scope.copy()
            self.scope[CONTINUED] = False
            left = self.exit_condition()
            if left is True:
                break
            if left is False:
                self.turn(node, item)
            else:
                self.either(self.emit(TABLE["unot"], left), lambda item=item: self.turn(node, item), lambda: None)
            self.forget_skipped(node, before)
        self.scope.update(outer)

    def turn(self, node: ast.For, item: Any) -> None:
        self.scope[BROKE] = self.scope[RETURNED] = False
        self.assign(node.target, item)
        self.statements(node.body)

    def forget_skipped(self, node: ast.For, before: Scope) -> None:
        """What the turn assigned first has no value where the turn was left by `break` or `continue`."""
        if all(self.scope.get(flag, False) is False for flag in (BROKE, CONTINUED)):
            return
        for name in self.names_assigned(node.body):
            if isinstance(before.get(name, _NOTHING), Unassigned):
                self.scope[name] = Unassigned("the loop may be left or continued before it is assigned")

    def range_bounds(self, call: ast.Call) -> tuple[Value, Value, Value]:
        parts = [self.expr(a) for a in call.args]
        if not 1 <= len(parts) <= 3 or call.keywords:
            raise KernelTypeError("range takes one to three integers")
        parts = {1: [0, *parts, 1], 2: [*parts, 1], 3: parts}[len(parts)]
        found = {p.type for p in parts if isinstance(p, Value)}
        found |= {type(p) for p in parts if not isinstance(p, (Value, int))}
        if len(found) > 1 or not all(scalars.is_integer(t) for t in found):
            raise KernelTypeError(
                f"range over {', '.join(map(describe, parts))}", expected="integers of one type", help="int(...)"
            )
        t = found.pop() if found else scalars.int32
        bounds = tuple(typed(p, t) for p in parts)
        if isinstance(bounds[2], Constant) and int(bounds[2].value) == 0:
            raise KernelTypeError("the step of range is zero")
        return bounds  # type: ignore[return-value]

    def range_loop(self, node: ast.For, call: ast.Call) -> None:
        if not isinstance(node.target, ast.Name):
            raise UnsupportedSyntaxError("the index of range is one name")
        bounds = (typed(0), typed(0), typed(1))  # after an error, go on to find those of the body

        def find_bounds() -> None:
            nonlocal bounds
            with self.at(call):
                bounds = self.range_bounds(call)

        self.attempt(find_bounds, set)
        t = bounds[0].type
        before = self.scope.copy()
        kept = self.kept_index(node.target.id, t)
        loop = self.tested_range if names.leaves_loop(node.body) else self.counted
        loop(node, bounds, kept)
        self.scope[CONTINUED] = before.get(CONTINUED, False)
        self.leave_loop([node], before)
        if node.target.id in before and not kept:
            reason = f"the loop makes it {type_name(t)}, and before it is {describe(before[node.target.id])}"
            self.scope[node.target.id] = Unassigned(reason, conflict=True)

    def kept_index(self, name: str, t: Any) -> list[str]:
        """The index as a carried local, when a local of its name and type is there before the loop."""
        operand = self.scope.get(name)
        if not (isinstance(operand, Value) or is_number(operand)) or typed(operand, t).type is not t:
            return []
        self.scope[name] = typed(operand, t)
        return [name]

    def counted(self, node: ast.For, bounds: tuple[Value, Value, Value], kept: list[str]) -> None:
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        carried = self.carried(node.body, kept)
        index, params = Value(bounds[0].type, name), carried.params()
        body = Region((index, *params))
        outer = self.scope.copy()

        def run() -> None:
            self.scope[name] = index
            self.scope[CONTINUED] = False
            self.statements(node.body)

        body.yields = self.loop_body(body, carried, params, run)
        results = self.builder.loop(*bounds, carried.init, body)
        self.scope = outer
        carried.bind(self.scope, results)

    def loop_body(
        self, body: Region, carried: Carried, params: tuple[Value, ...], run: Callable[[], None]
    ) -> tuple[Value, ...]:
        """Translate a body with its carried locals bound to parameters; returns what it yields."""
        outer, self.scope = self.scope, self.scope.copy()
        try:
            carried.bind(self.scope, params)
            with self.builder.inside(body):
                run()
                return carried.collect(self.scope)
        finally:
            self.scope = outer

    # ----- loops with a test ----------------------------------------------------------------

    def tested_range(self, node: ast.For, bounds: tuple[Value, Value, Value], kept: list[str]) -> None:
        """A counted loop that `break` or `return` may end: the index is carried too."""
        assert isinstance(node.target, ast.Name)
        name, index = node.target.id, "<index>"
        start, stop, step = bounds
        self.scope[index] = start

        def test() -> Any:
            return self.before_stop(self.scope[index], stop, step)

        def run() -> None:
            at = self.scope[index]
            self.scope[name] = at
            self.statements(node.body)
            self.scope[index] = self.advanced(at, stop, step)

        self.tested(node.body, test, run, [index, *kept])
        del self.scope[index]

    def before_stop(self, at: Value, stop: Value, step: Value) -> Any:
        if isinstance(step, Constant):
            return self.emit(TABLE["lt" if int(step.value) > 0 else "gt"], at, stop)
        up, down = self.emit(TABLE["gt"], step, 0), self.emit(TABLE["lt"], step, 0)
        rising = self.emit(TABLE["bit_and"], up, self.emit(TABLE["lt"], at, stop))
        return self.emit(TABLE["bit_or"], rising, self.emit(TABLE["bit_and"], down, self.emit(TABLE["gt"], at, stop)))

    def advanced(self, at: Value, stop: Value, step: Value) -> Value:
        """The next index; a step that would wrap round goes to `stop` instead."""
        following = self.emit(TABLE["add"], at, step)
        if isinstance(step, Constant) and abs(int(step.value)) == 1:  # at most up to `stop`
            return following
        return self.emit(TABLE["where"], self.before_stop(at, following, step), following, stop)

    def stmt_While(self, node: ast.While) -> None:
        before = self.scope.copy()
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def test() -> Any:
            return self.truth(self.expr(node.test))

        self.tested([*node.body, node.test], test, lambda: self.statements(node.body), [])
        if endless and not names.has(node.body, ast.Break) and RETURNED in self.scope:
            self.scope[RETURNED] = True  # there is no other way out
        self.leave_loop([node], before)

    def tested(self, body: list[Any], test: Callable[[], Any], run: Callable[[], None], extra: list[str]) -> None:
        """A While whose test is `test`, and the flags where the body can leave."""
        outer_flags = {flag: self.scope.get(flag, False) for flag in (BROKE, CONTINUED)}
        statements = [s for s in body if isinstance(s, ast.stmt)]
        flags = self.loop_flags(statements)
        if RETURNED in flags:
            extra = [*extra, *self.prepared_result(body, run, extra, flags)]
        carried = self.carried(body, [*extra, *flags])
        node_before, node_body = Region(carried.params()), Region()
        outer = self.scope.copy()
        passed = self.loop_body(node_before, carried, node_before.params, lambda: self.loop_test(test, flags))
        node_before.yields = (self.last_test, *passed)
        node_body.params = tuple(Value(v.type, v.hint) for v in passed)

        def body_run() -> None:
            for flag in (*flags, CONTINUED):
                self.scope[flag] = False
            run()

        node_body.yields = self.loop_body(node_body, carried, node_body.params, body_run)
        results = self.builder.repeat(carried.init, node_before, node_body)
        self.scope = outer
        carried.bind(self.scope, results)
        self.scope.update(outer_flags)

    def loop_test(self, test: Callable[[], Any], flags: list[str]) -> None:
        """Evaluate the test (only where no flag is set) and keep it for the region's yield."""
        left: Any = False
        for flag in flags:
            found = self.scope[flag]
            left = found if left is False else self.emit(TABLE["bit_or"], left, found)
        if left is False:
            self.last_test = typed(test())
        else:
            self.last_test = self.choose(left, lambda: typed(False), lambda: typed(test()))

    last_test: Value

    def loop_flags(self, statements: list[ast.stmt]) -> list[str]:
        """The flags that the body can set, started as False."""
        flags = []
        if names.leaves_loop(statements):
            flags = [BROKE, *([RETURNED] if any(True for _ in names.returns(statements)) else [])]
        for flag in flags:
            self.scope[flag] = False
        return flags

    def prepared_result(
        self, body: list[Any], run: Callable[[], None], extra: list[str], flags: list[str]
    ) -> list[str]:
        """Give the result, which the loop carries, a value of its type before the loop; says whether there is one.

        The type is found by translating the body once for nothing else, unless it is known already.
        """
        known = self.scope.get(RESULT)
        if not isinstance(known, Value):
            found = self.trial_result(body, run, extra, flags)
            if found is None or isinstance(found, _MISSING) or isinstance(known, _MISSING):
                return []
            self.scope[RESULT] = started(known, found)
        return [RESULT]

    def trial_result(self, body: list[Any], run: Callable[[], None], extra: list[str], flags: list[str]) -> Any:
        carried = self.carried(body, [*extra, *flags])
        errors, outer = len(self.errors), self.scope
        self.scope = self.scope.copy()
        try:
            carried.bind(self.scope, carried.params())
            self.scope.update(dict.fromkeys((*flags, CONTINUED), False))
            with self.builder.inside(Region()):
                run()
            return self.scope.get(RESULT)
        finally:
            self.scope = outer
            del self.errors[errors:]


_NOTHING = Unassigned("")
