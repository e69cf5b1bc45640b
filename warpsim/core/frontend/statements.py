"""Statements, and how `return`, `break` and `continue` become structure.

They set flags in the scope and end their list of statements. After a branch that leaves on one side
only, the rest of the list continues inside the other side; when it is not known which side leaves,
the rest runs under a test of the flags. No later pass sees anything but structured regions.
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import KernelError, KernelTypeError, UnsupportedSyntaxError
from ..ir.nodes import Value
from ..ops.debug import assert_
from ..ops.registry import TABLE
from ..ops.threads import tid
from .branches import Arm
from .loops import Loops
from .scope import BROKE, CONTINUED, FLAGS, RESULT, RETURNED, Unassigned


class Statements(Loops):
    """Translates `ast.stmt` nodes; `statements` is the entry for a list of them."""

    def statements(self, body: list[ast.stmt]) -> None:
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

        def run() -> None:
            for flag in FLAGS:
                self.scope[flag] = False
            self.statements(rest)

        self.either(self.emit(TABLE["unot"], left), run, lambda: None)

    def statement(self, node: ast.stmt) -> None:
        handler = getattr(self, f"stmt_{type(node).__name__}", None)

        def run() -> None:
            with self.at(node):
                if handler is None:
                    raise UnsupportedSyntaxError(f"{type(node).__name__} is not part of the kernel language")
                handler(node)

        self.attempt(run, self.names_assigned([node]))

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
        return self.expr(value)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise UnsupportedSyntaxError("a declaration without a value", help="assign the first value here")
        wanted = self.type_expression(node.annotation)
        operand = self.expr(node.value)
        self.assign(node.target, self.convert(operand, wanted, "the value") if wanted is not None else operand)

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        operand = self.expr(node.value)
        if isinstance(node.target, ast.Name):
            before = self.lookup(node.target.id)
            self.assign(node.target, self.binary(type(node.op), before, operand))
        else:
            self.update(self.place(node.target), type(node.op), operand)

    def stmt_Assert(self, node: ast.Assert) -> None:
        condition = self.truth(self.expr(node.test))
        message = self.expr(node.msg) if node.msg is not None else ""
        if not isinstance(message, str):
            raise KernelTypeError("the message of an assertion is not text", help="use a constant string")
        if isinstance(condition, bool):
            if not condition:
                raise KernelTypeError(f"assertion on constants fails: {message or ast.unparse(node.test)}")
            return
        self.emit(assert_, condition, message=message or ast.unparse(node.test))

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
        try:
            with self.at(node.test):
                condition = self.truth(self.expr(node.test))
        except KernelError as error:
            self.errors.append(error)
            condition = True  # go on with one side, to find its errors too
        if isinstance(condition, bool):
            self.statements(node.body if condition else node.orelse)
            return False
        with self.at(node):
            return self.two_sided(condition, node, rest)

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


def result_of(scope: dict[str, Any]) -> Any:
    """What a translated function returns: its result operand, or None."""
    found = scope.get(RESULT)
    if isinstance(found, Unassigned):
        raise KernelTypeError(f"the returned values do not fit together: {found.reason}")
    return found
