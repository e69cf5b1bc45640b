"""Functions and lambdas defined inside a kernel: closures, translated in place at every call."""

from __future__ import annotations

import ast
from typing import Any

from ....errors import KernelTypeError, RecursionNotSupportedError, UnsupportedSyntaxError
from ..translate.bodies import result_with_chain
from ..translate.callee import Callee
from ..translate.scope import Scope, describe
from ..translate.translator import Translator, translates


class LocalFunction(Callee):
    """A function or lambda defined inside a kernel: translated in place at every call.

    As in Python it sees the variables of the function around it as they are when it is called;
    `definer` is the translator of that function, `defaults` the operands of its default values.
    """

    def __init__(self, node: ast.FunctionDef | ast.Lambda, name: str, definer: Translator, defaults: dict[str, Any]):
        self.node, self.__name__, self.definer, self.defaults = node, name, definer, defaults

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        if any(at.body_node is self.node for at in caller.callers()):
            raise RecursionNotSupportedError(f"{self.__name__!r} calls itself", help="write a loop")
        return inline(caller, self, self.bind(args, keywords))

    def bind(self, args: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        """Operands by parameter name, defaults filled in."""
        arguments = self.node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        named = {**dict(zip(names, args, strict=False)), **keywords}
        parameters = [*names, *(a.arg for a in arguments.kwonlyargs)]
        bound = {**self.defaults, **named}
        if len(args) > len(names) or len(named) < len(args) + len(keywords) or set(bound) != set(parameters):
            shown = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in keywords.items())])
            raise KernelTypeError(f"{self.__name__} cannot take ({shown})", expected=f"({', '.join(parameters)})")
        return bound


@translates(ast.FunctionDef)
def function_definition(tr: Translator, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise UnsupportedSyntaxError("a decorated function inside a kernel", help="define it outside")
    tr.scope[node.name] = local_function(tr, node, node.name)


@translates(ast.Lambda)
def lambda_expression(tr: Translator, node: ast.Lambda) -> Any:
    return local_function(tr, node, "<lambda>")


def local_function(tr: Translator, node: ast.FunctionDef | ast.Lambda, name: str) -> LocalFunction:
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    optional = names[len(names) - len(arguments.defaults) :]
    defaults = dict(zip(optional, map(tr.translate, arguments.defaults), strict=True))
    for parameter, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            defaults[parameter.arg] = tr.translate(value)
    return LocalFunction(node, name, tr, defaults)


def inline(tr: Translator, function: LocalFunction, bound: dict[str, Any]) -> Any:
    """Translate a local function's body here and now; it sees the scope of the function around it."""
    definer = function.definer
    inner = Translator(definer.source, tr.builder, Scope(), tr, node=function.node)
    around = {k: v for k, v in definer.scope.items() if k not in inner.locals and not k.startswith("<")}
    inner.scope.update(around, **bound)
    inner.locals |= definer.locals - set(bound)
    return result_with_chain(inner)
