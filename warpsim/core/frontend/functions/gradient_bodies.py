"""The body of a gradient that a user wrote: `wp.adjoint[x]` as a local variable, or as gradients in memory.

The cotangent of a number, vector or struct is a local of its type, zero at first, that branches and loops carry
like any other; it goes to the caller with what it holds at the end. That of an array is its gradient array: reads
and writes go to memory, where the array has one; elsewhere reads are zero and writes nothing.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable
from typing import Any

from ....errors import CustomGradientError
from ...ir.nodes import Value
from ...ops import construct, memory
from ...types import structs
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from ..rules.targets import read, target_of, target_type
from ..source import names
from ..source.source import Source
from ..translate.branches import choose, either
from ..translate.conversions import convert
from ..translate.forms import adjoint
from ..translate.scope import describe, placeholder, typed_value
from ..translate.translator import RULES, Translator


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
        whole = _root(node.slice)
        if whole is None or whole.id not in self.known:
            raise CustomGradientError(
                f"{ast.unparse(node)} is the adjoint of no parameter",
                place,
                found=ast.unparse(node.slice),
                expected=f"an input or a part of one: {', '.join(self.inputs)}",
            )
        return ast.copy_location(_cotangent_of(node.slice, node.ctx), node)


def _root(key: ast.expr) -> ast.Name | None:
    """The name that an expression selects a field, a component or an element of."""
    while isinstance(key, ast.Attribute | ast.Subscript):
        key = key.value
    return key if isinstance(key, ast.Name) else None


def _cotangent_of(key: ast.expr, context: ast.expr_context) -> ast.expr:
    """The same part of the cotangent: that of `x.v[i]` is the part `.v[i]` of that of `x`."""
    if isinstance(key, ast.Name):
        return ast.copy_location(ast.Name(cotangent_name(key.id), context), key)
    if isinstance(key, ast.Attribute):
        part: ast.expr = ast.Attribute(_cotangent_of(key.value, ast.Load()), key.attr, context)
    else:
        assert isinstance(key, ast.Subscript)
        part = ast.Subscript(_cotangent_of(key.value, ast.Load()), key.slice, context)
    return ast.copy_location(part, key)


def cotangent_name(parameter: str) -> str:
    """The local variable that holds the cotangent of a parameter; its name is what the user wrote."""
    return f"wp.adjoint[{parameter}]"


class GradientTranslator(Translator):
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

    def bind(self, name: str, operand: object) -> None:
        if name.startswith("wp.adjoint["):
            self.check_input(name)
            operand = self.like(operand, self.inputs[name], name)
        super().bind(name, operand)

    def like(self, operand: object, like: object, name: str) -> Any:
        """The operand in the type of an input."""
        if isinstance(like, tuple) and isinstance(operand, tuple) and len(like) == len(operand):
            return tuple(self.like(a, b, name) for a, b in zip(operand, like, strict=True))
        return convert(operand, typed_value(like).type, name)

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
                f"{name}: {describe(operand)} has no derivative",
                expected="a float, or something made of floats",
                help="leave it out",
            )

    # ----- memory ---------------------------------------------------------------------------

    def gradient_array(self, node: ast.expr) -> Value | None:
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
            array = self.gradient_array(node)
            if array is not None:
                return array
        return None

    def writing(self, target: ast.expr, write: Callable[[], None]) -> None:
        """Write an element of a gradient array only where there is one."""
        array = self.owner(target)
        if array is None:
            write()
        else:
            either(self, self.emit(memory.has_gradient, array), write, lambda: None)


def gradient_subscript(tr: GradientTranslator, node: ast.Subscript) -> Any:
    return RULES[ast.Subscript](tr, node) if tr.owner(node) is None else element_read(tr, node)


def gradient_attribute(tr: GradientTranslator, node: ast.Attribute) -> Any:
    if tr.gradient_array(node) is not None:
        raise CustomGradientError(
            f"{ast.unparse(node)} is an array of gradients", help="read and write its elements: [i] += ..."
        )
    return RULES[ast.Attribute](tr, node) if tr.owner(node) is None else element_read(tr, node)


def element_read(tr: GradientTranslator, node: ast.expr) -> Any:
    """An element of a gradient array, or a part of one; zero where the array has none."""
    array, target = tr.owner(node), target_of(tr, node)
    zero = placeholder(target_type(tr, target))
    if zero is None or isinstance(zero.type, ArrayType):
        raise CustomGradientError(
            f"{ast.unparse(node)} is a view of gradients", help="give it an index for every dimension of the array"
        )
    return choose(tr, tr.emit(memory.has_gradient, array), lambda: read(tr, target), lambda: zero)


GradientTranslator.rules = ChainMap({ast.Subscript: gradient_subscript, ast.Attribute: gradient_attribute}, RULES)


def _is_float_array(t: object) -> bool:
    return isinstance(t, ArrayType) and has_cotangent(t.dtype)


def _zero(operand: object) -> Any:
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
