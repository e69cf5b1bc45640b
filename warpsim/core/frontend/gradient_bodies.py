"""The body of a gradient that a user wrote: `wp.adjoint[x]` as a local variable, or as gradients in memory.

The cotangent of a number, vector or struct is a local of its type, zero at first, that branches and loops carry
like any other; it goes to the caller with what it holds at the end. That of an array is its gradient array: reads
and writes go to memory, where the array has one; elsewhere reads are zero and writes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import CustomGradientError
from ..ir.nodes import Value
from ..ops import construct, memory
from ..types import structs
from ..types.arrays import ArrayType
from ..types.cotangents import has_cotangent
from . import names
from .forms import adjoint
from .function import FunctionTranslator
from .places import Memory
from .scope import describe, placeholder, typed
from .source import Source


class CotangentNames(ast.NodeTransformer):
    """Makes a local variable of every `wp.adjoint[x]` in the text of a gradient.

    known: the parameters of the gradient; inputs: those of its function, for messages.
    """

    def __init__(self, source: Source, known: list[str], inputs: list[str]):
        self.source, self.known, self.inputs = source, known, inputs
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not self.source.names(node.value, adjoint):
            return self.generic_visit(node)
        place = self.source.locate(node)
        if self.depth > 1:
            message = "wp.adjoint in a function inside a gradient"
            raise CustomGradientError(message, place, help="compute the value there, and add it outside")
        key = node.slice
        if not isinstance(key, ast.Name) or key.id not in self.known:
            raise CustomGradientError(
                f"{ast.unparse(node)} is the adjoint of no parameter", place, found=ast.unparse(key),
                expected=f"an input: {', '.join(self.inputs)}",
                help="index arrays and select components after it: wp.adjoint[a][i]",
            )  # fmt: skip
        return ast.copy_location(ast.Name(cotangent_name(key.id), node.ctx), node)


def cotangent_name(parameter: str) -> str:
    """The local variable that holds the cotangent of a parameter; its name is what the user wrote."""
    return f"wp.adjoint[{parameter}]"


class GradientTranslator(FunctionTranslator):
    """Translates the body of a gradient: cotangents of inputs are locals, those of arrays are memory."""

    def begin(self, inputs: dict[str, Any]) -> None:
        """Set the cotangents of inputs that have one to zero."""
        self.inputs = {cotangent_name(name): operand for name, operand in inputs.items()}
        for name, operand in self.inputs.items():
            zero = _zero(operand)
            if zero is not None:
                self.scope[name] = zero

    def cotangents(self) -> tuple[Value, ...]:
        """What the locals hold at the end, one for each value among the inputs that has a derivative."""
        pairs = [(self.scope.get(name), operand) for name, operand in self.inputs.items()]
        return tuple(v for held, operand in pairs for v in _flat(held, operand))

    # ----- locals ---------------------------------------------------------------------------

    def named(self, operand: Any, name: str) -> Any:
        if name.startswith("wp.adjoint["):
            self.check_input(name)
            operand = self.like(operand, self.inputs[name], name)
        return super().named(operand, name)

    def like(self, operand: Any, wanted: Any, name: str) -> Any:
        """The operand in the type of an input."""
        if isinstance(wanted, tuple) and isinstance(operand, tuple) and len(wanted) == len(operand):
            return tuple(self.like(a, b, name) for a, b in zip(operand, wanted, strict=True))
        return self.convert(operand, typed(wanted).type, name)

    def lookup(self, name: str) -> Any:
        if name.startswith("wp.adjoint["):
            self.check_input(name)
        return super().lookup(name)

    def check_input(self, name: str) -> None:
        """Refuse what has no cotangent, or one that is memory and must be indexed."""
        operand = self.inputs.get(name)
        if name not in self.inputs:
            known = ", ".join(self.inputs)
            what, cure = f"{name} is the adjoint of an adjoint", "use the parameter itself"
            raise CustomGradientError(what, expected=known, help=cure)
        if isinstance(operand, Value) and _is_float_array(operand.type):
            cure = f"read and write its elements: {name}[i] += ..."
            raise CustomGradientError(f"{name} is an array of gradients", help=cure)
        if name not in self.scope:
            raise CustomGradientError(
                f"{name}: {describe(operand)} has no derivative", expected="a float, or something made of floats",
                help="leave it out",
            )  # fmt: skip

    # ----- memory ---------------------------------------------------------------------------

    def array_of(self, node: ast.expr) -> Value | None:
        """The array among the inputs whose gradient array an expression is, if it is one."""
        root, path = names.steps(node)
        operand = self.inputs.get(root)
        for step in path:
            if not isinstance(operand, Value) or not structs.is_struct(operand.type):
                return None
            if not isinstance(step, ast.Attribute) or step.attr not in operand.type.fields:
                return None
            operand = self.emit(construct.field, operand, name=step.attr)
        return operand if isinstance(operand, Value) and _is_float_array(operand.type) else None

    def owner(self, node: ast.expr) -> Value | None:
        """The array in whose gradient array a target or expression lies."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
            found = self.array_of(node)
            if found is not None:
                return found
        return None

    def place(self, node: ast.expr) -> Any:
        array = self.array_of(node)
        return super().place(node) if array is None else self.gradient_place(array)

    def where_there(self, node: ast.expr, run: Callable[[], None]) -> None:
        """Run what writes an element of a gradient array where there is one."""
        array = self.owner(node)
        if array is None:
            run()
        else:
            self.either(self.emit(memory.has_gradient, array), run, lambda: None)

    def assign(self, target: ast.expr, operand: Any) -> None:
        whole = isinstance(target, (ast.Tuple, ast.Name))
        run = lambda: super(GradientTranslator, self).assign(target, operand)  # noqa: E731
        run() if whole else self.where_there(target, run)

    def update(self, target: ast.expr, kind: type[ast.AST], value: ast.expr) -> None:
        self.where_there(target, lambda: super(GradientTranslator, self).update(target, kind, value))

    def gradient_place(self, array: Value) -> Memory:
        return Memory(self.emit(memory.gradient, array), [])

    def expr_Subscript(self, node: ast.Subscript) -> Any:
        return super().expr_Subscript(node) if self.owner(node) is None else self.element_read(node)

    def expr_Attribute(self, node: ast.Attribute) -> Any:
        if self.array_of(node) is not None:
            raise CustomGradientError(
                f"{ast.unparse(node)} is an array of gradients", help="read and write its elements: [i] += ..."
            )
        return super().expr_Attribute(node) if self.owner(node) is None else self.element_read(node)

    def element_read(self, node: ast.expr) -> Any:
        """An element of a gradient array, or a part of one; zero where the array has none."""
        array, place = self.owner(node), self.place(node)
        nothing = placeholder(self.place_type(place))
        if nothing is None:
            raise CustomGradientError(
                f"{ast.unparse(node)} is a view of gradients", help="give it an index for every dimension of the array"
            )
        return self.choose(self.emit(memory.has_gradient, array), lambda: self.read(place), lambda: nothing)


def _is_float_array(t: Any) -> bool:
    return isinstance(t, ArrayType) and has_cotangent(t.dtype)


def _zero(operand: Any) -> Any:
    """The cotangent of an input before anything arrived; None where it has none."""
    if isinstance(operand, tuple):
        parts = tuple(map(_zero, operand))
        return None if None in parts else parts
    return construct.zero(operand) if isinstance(operand, Value) and has_cotangent(operand.type) else None


def _flat(held: Any, operand: Any) -> list[Value]:
    """The cotangents of the values that an input is made of."""
    if isinstance(operand, tuple):
        parts = held if isinstance(held, tuple) else (None,) * len(operand)
        return [v for part, each in zip(parts, operand, strict=True) for v in _flat(part, each)]
    if not isinstance(operand, Value) or not has_cotangent(operand.type):
        return []
    return [construct.zero(operand) if held is None else held]
