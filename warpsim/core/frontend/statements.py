"""Statements, and how `return`, `break` and `continue` become structure.

They set flags in the scope and end their list of statements. After a branch that leaves on one side
only, the rest of the list continues inside the other side; when it is not known which side leaves,
the rest runs under a test of the flags. No later pass sees anything but structured regions.
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import KernelTypeError, UnsupportedSyntaxError
from ..ir.nodes import Value
from ..ops.debug import assert_
from ..ops.registry import TABLE
from ..ops.threads import tid
from .branches import Arm
from .chains import LONGEST, alternatives
from .loops import Loops
from .names import has, leaves_loop
from .scope import BROKE, CONTINUED, FLAGS, RESULT, RETURNED, Unassigned, typed


class Statements(Loops):
    """Translates `ast.stmt` nodes; `statements` is the entry for a list of them."""

    def statements(self, body: list[ast.stmt]) -> None:
        for part in parts(body):
            self.nested(part)

    def nested(self, body: list[ast.stmt]) -> None:
        """Statements of which those after a branch that may leave go inside it."""
        for k, node in enumerate(body):
            left = self.exit_condition()
            if left is True:
                return
            if left is not False:
                self.guarded(left, body[k:])
                return
            if isinstance(node, ast.If):
                if self.branch(node, body[k + 1 :]):
                    return
            else:
                self.statement(node)

    def guarded(self, left: Value, rest: list[ast.stmt]) -> None:
        """Run the rest only where the flags are not set."""
        staying, leaving = Arm(self.scope.copy()), Arm(self.scope.copy(), left=True)
        set_here = [flag for flag in FLAGS if self.scope.get(flag, False) is not False]
        if len(set_here) == 1:
            leaving.scope[set_here[0]] = True
        for flag in FLAGS:
            staying.scope[flag] = False
        self.fill(staying, lambda: self.statements(rest))
        self.join(self.emit(TABLE["unot"], left), staying, leaving)

    def statement(self, node: ast.stmt) -> None:
        handler = getattr(self, f"stmt_{type(node).__name__}", None)

        def run() -> None:
            with self.at(node):
                if handler is None:
                    raise UnsupportedSyntaxError(f"{type(node).__name__} is not part of the kernel language")
                handler(node)

        self.attempt(run, lambda: self.names_assigned([node]))

    # ----- simple statements ----------------------------------------------------------------

    def stmt_Pass(self, node: ast.Pass) -> None:
        pass

    def stmt_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring or `...`
            self.expr(node.value)

    def stmt_Assign(self, node: ast.Assign) -> None:
        operand = self.value_for(node.targets[0], node.value)
        for target in node.targets:
            self.assign(target, operand)

    def value_for(self, target: ast.expr, value: ast.expr) -> Any:
        """The value to assign; `i, j = wp.tid()` asks for as many indices as there are names."""
        if isinstance(value, ast.Call) and isinstance(target, ast.Tuple) and self.static_callee(value) is tid:
            with self.at(value):
                return self.emit_tid(len(target.elts))
        operand = self.expr(value)
        if operand is None and isinstance(value, ast.Call):
            cure = "call it on a line of its own"
            raise KernelTypeError(f"{ast.unparse(value.func)} returns nothing that could be assigned", help=cure)
        return operand

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise UnsupportedSyntaxError("a declaration without a value", help="assign the first value here")
        wanted = self.type_expression(node.annotation)
        operand = self.expr(node.value)
        self.assign(node.target, self.convert(operand, wanted, "the value") if wanted is not None else operand)

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.update(node.target, type(node.op), node.value)
            return
        before = self.expr(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.assign(node.target, self.binary(type(node.op), before, self.expr(node.value)))

    def stmt_Assert(self, node: ast.Assert) -> None:
        condition = self.truth(self.expr(node.test))
        message = self.expr(node.msg) if node.msg is not None else ""
        if not isinstance(message, str):
            raise KernelTypeError("the message of an assertion is not text", help="use a constant string")
        if condition is not True:
            self.emit(assert_, typed(condition), message=message or ast.unparse(node.test))

    def stmt_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise UnsupportedSyntaxError("a decorated function inside a kernel", help="define it outside")
        self.scope[node.name] = self.local_function(node, node.name)

    # ----- leaving --------------------------------------------------------------------------

    def stmt_Return(self, node: ast.Return) -> None:
        value = self.returned_value(node)
        if value is not None:
            self.scope[RESULT] = value
        self.scope[RETURNED] = True

    def stmt_Break(self, node: ast.Break) -> None:
        self.scope[BROKE] = True

    def stmt_Continue(self, node: ast.Continue) -> None:
        self.scope[CONTINUED] = True

    def returned_value(self, node: ast.Return) -> Any:
        raise NotImplementedError

    # ----- if -------------------------------------------------------------------------------

    def branch(self, node: ast.If, rest: list[ast.stmt]) -> bool:
        """Translate an `if`; returns whether the rest of the list was taken along."""
        tests, sides = alternatives(node)
        if len(tests) > LONGEST:
            self.first_of([lambda t=t: self.condition(t) for t in tests], sides, self.statements, values=False)
            return False
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            self.statements(node.body if condition else node.orelse)
            return False
        with self.at(node):
            return self.two_sided(condition, node, rest)

    def condition(self, node: ast.expr) -> Any:
        """A test: a bool where it is decided already, else a Value."""
        found: Any = typed(False)  # after an error, go on to find those of both sides

        def test() -> None:
            nonlocal found
            with self.at(node):
                found = self.truth(self.expr(node))

        self.attempt(test, set)
        return found

    def two_sided(self, condition: Value, node: ast.If, rest: list[ast.stmt]) -> bool:
        then, orelse = Arm(self.scope.copy()), Arm(self.scope.copy())
        self.fill(then, lambda: self.statements(node.body))
        self.fill(orelse, lambda: self.statements(node.orelse))
        taken = False
        for arm, other in ((then, orelse), (orelse, then)):
            if rest and other.leaves and not arm.may_leave:
                self.fill(arm, lambda: self.statements(rest))
                taken = True
                break
        self.join(condition, then, orelse)
        return taken or (then.leaves and orelse.leaves)


def parts(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    """Statements in pieces with so few branches that may leave that the nest of what follows them is not too deep."""
    if len(body) <= LONGEST:
        return [body]
    found: list[list[ast.stmt]] = [[]]
    leaving = 0
    for node in body:
        leaving += isinstance(node, ast.If) and (leaves_loop([node]) or has([node], ast.Continue))
        if leaving > LONGEST:
            found.append([])
            leaving = 1
        found[-1].append(node)
    return found


def result_of(scope: dict[str, Any]) -> Any:
    """What a translated function returns: its result operand, or None."""
    found = scope.get(RESULT)
    if isinstance(found, Unassigned):
        cure = "convert them to one type, or annotate the function with the type it returns"
        raise KernelTypeError(f"the returned values do not fit together: {found.reason}", help=cure)
    return found
