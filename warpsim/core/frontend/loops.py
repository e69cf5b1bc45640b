"""Loops: which locals they carry, and when a counted loop needs a test instead of a count.

A `for` over `range` without `break` or `return` becomes a counted loop; with them it becomes a
`While` whose test also asks the flags. A local that the body changes is carried: it enters and leaves
through the loop's values and keeps one type. A local that only the body assigns has no value
afterwards, since the body may not run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import KernelTypeError
from ..ir.nodes import Constant, Region, Value
from ..ops.registry import TABLE
from ..types import compounds, scalars
from ..types.arrays import ArrayType, type_name
from . import names
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
    placeholder,
    same,
    typed,
)  # fmt: skip


class Carried:
    """Locals that travel round a loop, flattened to values."""

    def __init__(self, names: list[str], scope: Scope):
        self.names = names
        self.templates = {name: scope[name] for name in names}
        self.init = tuple(v for name in names for v in flatten(scope[name]))

    def params(self) -> tuple[Value, ...]:
        return tuple(Value(v.type, v.hint) for v in self.init)

    def bind(self, scope: Scope, values: tuple[Value, ...]) -> None:
        rest = list(values)
        for name in self.names:
            scope[name] = unflatten(self.templates[name], rest)
            if isinstance(scope[name], Value):
                scope[name].hint = scope[name].hint or name

    def collect(self, scope: Scope) -> tuple[Value, ...]:
        """The values to yield; raises when a local changed its type."""
        return tuple(v for name in self.names for v in self.matching(name, scope[name], self.templates[name]))

    def matching(self, name: str, operand: Any, template: Any) -> list[Value]:
        if isinstance(template, tuple):
            if not isinstance(operand, tuple) or len(operand) != len(template):
                raise KernelTypeError(f"{name!r} changes from {describe(template)} to {describe(operand)} in a loop")
            return [v for a, b in zip(operand, template, strict=True) for v in self.matching(name, a, b)]
        if isinstance(operand, Unassigned):
            raise KernelTypeError(f"{name!r} has no single type in this loop: {operand.reason}")
        wanted = typed(template).type
        value = typed(operand, wanted)
        if value.type is not wanted:
            cure = f"start it as {_start(value.type)}" if is_number(template) else "use another name for the new value"
            raise KernelTypeError(
                f"{name!r} changes its type in a loop",
                found=type_name(value.type),
                expected=type_name(wanted),
                help=cure,
            )
        return [value]


class Loops(Places):
    """Translates `for` and `while`."""

    def names_assigned(self, nodes: list[Any]) -> set[str]:
        """Locals that the syntax may rebind; writing an element of an array does not."""
        bound, parts = names.assigned(nodes, self.inout_positions)
        return bound | {n for n in parts if not is_array_operand(self.scope.get(n))}

    def carried(self, body: list[ast.stmt], extra: list[str]) -> Carried:
        changed = self.names_assigned(list(body))
        missing = (Unassigned, Erroneous)
        known = [n for n in sorted(changed) if n in self.scope and not isinstance(self.scope[n], missing)]
        runtime = [n for n in known if is_runtime(self.scope[n])]
        return Carried(runtime + extra, self.scope)

    def leave_loop(self, body: list[ast.AST], before: Scope) -> None:
        """Forget what only the body assigned."""
        for name in self.names_assigned(body):
            if name not in before:
                self.scope[name] = Unassigned("it is assigned only inside a loop, which may run zero times")
            elif not is_runtime(before[name]) and not same(before[name], self.scope.get(name)):
                self.scope[name] = Unassigned("a loop changes it, and it is not a number, vector, matrix or struct")

    # ----- for ------------------------------------------------------------------------------

    def stmt_For(self, node: ast.For) -> None:
        callee = self.static_callee(node.iter) if isinstance(node.iter, ast.Call) else None
        if callee is range:
            assert isinstance(node.iter, ast.Call)
            self.range_loop(node, node.iter)
            return
        items = self.expr(node.iter)
        if isinstance(items, range):
            items = tuple(items)
        self.each(node, list(self.parts_of(items)))

    def each(self, node: ast.For, items: list[Any]) -> None:
        """A loop over things known at compile time: one copy of the body each."""
        before = self.scope.copy()
        for item in items:
            self.scope[CONTINUED] = False
            left = self.exit_condition()
            if left is True:
                break
            if left is False:
                self.assign(node.target, item)
                self.statements(node.body)
            else:
                self.either(self.emit(TABLE["unot"], left), lambda item=item: self.one(node, item), lambda: None)
        for flag in (BROKE, CONTINUED):
            self.scope[flag] = before.get(flag, False)

    def one(self, node: ast.For, item: Any) -> None:
        self.scope[BROKE] = self.scope[RETURNED] = False
        self.assign(node.target, item)
        self.statements(node.body)

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
            raise KernelTypeError("the index of range is one name")
        with self.at(call):
            start, stop, step = self.range_bounds(call)
        before = self.scope.copy()
        if names.leaves_loop(node.body):
            self.tested_range(node, start, stop, step)
        else:
            self.counted(node, start, stop, step)
        self.scope[CONTINUED] = before.get(CONTINUED, False)
        self.leave_loop([node], before)

    def counted(self, node: ast.For, start: Value, stop: Value, step: Value) -> None:
        assert isinstance(node.target, ast.Name)
        carried = self.carried(node.body, [])
        index, params = Value(start.type, node.target.id), carried.params()
        body = Region((index, *params))
        outer = self.scope.copy()

        def run() -> None:
            self.scope[node.target.id] = index  # type: ignore[union-attr]
            self.scope[CONTINUED] = False
            self.statements(node.body)

        body.yields = self.loop_body(body, carried, params, run)
        results = self.builder.loop(start, stop, step, carried.init, body)
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

    def tested_range(self, node: ast.For, start: Value, stop: Value, step: Value) -> None:
        """A counted loop that `break` or `return` may end: the index is carried too."""
        assert isinstance(node.target, ast.Name)
        index = "<index>"
        self.scope[index] = start

        def test() -> Any:
            return self.before_stop(self.scope[index], stop, step)

        def run() -> None:
            at = self.scope[index]
            self.scope[node.target.id] = at  # type: ignore[union-attr]
            self.statements(node.body)
            self.scope[index] = self.emit(TABLE["add"], at, step)

        self.tested(node.body, test, run, [index])
        del self.scope[index]

    def before_stop(self, at: Value, stop: Value, step: Value) -> Any:
        if isinstance(step, Constant):
            return self.emit(TABLE["lt" if int(step.value) > 0 else "gt"], at, stop)
        up = self.emit(TABLE["gt"], step, 0)
        return self.choose(up, lambda: self.emit(TABLE["lt"], at, stop), lambda: self.emit(TABLE["gt"], at, stop))

    def stmt_While(self, node: ast.While) -> None:
        before = self.scope.copy()

        def test() -> Any:
            return self.truth(self.expr(node.test))

        self.tested([*node.body, node.test], test, lambda: self.statements(node.body), [])
        self.leave_loop([node], before)

    def tested(self, body: list[Any], test: Callable[[], Any], run: Callable[[], None], extra: list[str]) -> None:
        """A While whose test is `test`, and the flags where the body can leave."""
        outer_flags = {flag: self.scope.get(flag, False) for flag in (BROKE, CONTINUED)}
        statements = [s for s in body if isinstance(s, ast.stmt)]
        flags = self.loop_flags(statements)
        if RETURNED in flags and names.returns(statements):
            self.prepare_result(body, run, extra, flags)
            extra = [*extra, *([RESULT] if RESULT in self.scope else [])]
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
            flags = [BROKE, *([RETURNED] if names.returns(statements) else [])]
        for flag in flags:
            self.scope[flag] = False
        return flags

    def prepare_result(self, body: list[Any], run: Callable[[], None], extra: list[str], flags: list[str]) -> None:
        """Translate the body once for nothing but the type of what it returns."""
        carried = self.carried(body, [*extra, *flags])
        scratch, errors, outer = Region(), len(self.errors), self.scope
        self.scope = self.scope.copy()
        try:
            carried.bind(self.scope, carried.params())
            self.scope.update(dict.fromkeys((*flags, CONTINUED), False))
            with self.builder.inside(scratch):
                run()
            found = self.scope.get(RESULT)
        finally:
            self.scope = outer
            del self.errors[errors:]
        if found is not None and not isinstance(found, Unassigned):
            self.scope[RESULT] = _placeholders(found)


def is_runtime(operand: Any) -> bool:
    """Whether the operand can live in a loop variable."""
    if isinstance(operand, tuple):
        return all(map(is_runtime, operand))
    return isinstance(operand, (Value, compounds.Compound)) or is_number(operand)


def is_array_operand(operand: Any) -> bool:
    return isinstance(operand, Value) and isinstance(operand.type, ArrayType)


def flatten(operand: Any) -> list[Value]:
    if isinstance(operand, tuple):
        return [v for part in operand for v in flatten(part)]
    return [typed(operand)]


def unflatten(template: Any, values: list[Value]) -> Any:
    if isinstance(template, tuple):
        return tuple(unflatten(part, values) for part in template)
    return values.pop(0)


def _placeholders(operand: Any) -> Any:
    from_tuple = isinstance(operand, tuple)
    return tuple(map(_placeholders, operand)) if from_tuple else _placeholder(typed(operand))


def _placeholder(value: Value) -> Value:
    found = placeholder(value.type)
    if found is None:
        raise KernelTypeError(f"a loop cannot return {type_name(value.type)}", help="return it after the loop")
    return found


def _start(t: Any) -> str:
    return {scalars.float32: "float(...)", scalars.int32: "int(...)"}.get(t, f"wp.{type_name(t)}(...)")
