"""Refuses Python that is not in the kernel language, before anything is translated.

One line per construct: what it is and what to write instead. All refusals of a function are found
in one walk and reported together. Decorators, annotations and the argument of `wp.static` are
Python's business and not looked at.
"""

from __future__ import annotations

import ast

from ....errors import CustomGradientError, KernelError, UnsupportedSyntaxError
from ..source.source import Source
from .forms import adjoint

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", "write a loop over a local array: wp.zeros(shape=8, dtype=float)"),
    ast.SetComp: ("a set comprehension", "write a loop"),
    ast.DictComp: ("a dict comprehension", "write a loop"),
    ast.GeneratorExp: ("a generator expression", "write a loop"),
    ast.List: ("a list", "use a vector wp.vec3(...) or a local array wp.zeros(shape=8, dtype=float)"),
    ast.Dict: ("a dict", "use a @wp.struct"),
    ast.Set: ("a set", "use an array"),
    ast.Try: ("try/except", "kernels have no exceptions: test the condition first"),
    ast.Raise: ("raise", "use assert, or write an error code to an array"),
    ast.With: ("with", "set resources up outside the kernel"),
    ast.ClassDef: ("a class", "define a @wp.struct outside the kernel"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.Global: ("global", "write to an array argument"),
    ast.Nonlocal: ("nonlocal", "return the value instead"),
    ast.Delete: ("del", "locals need no deletion"),
    ast.Yield: ("yield", "write results to an array"),
    ast.YieldFrom: ("yield from", "write results to an array"),
    ast.Await: ("await", "launches are asynchronous by themselves"),
    ast.AsyncFunctionDef: ("async def", "use def"),
    ast.AsyncFor: ("async for", "use for"),
    ast.AsyncWith: ("async with", "set resources up outside the kernel"),
    ast.JoinedStr: ("an f-string", 'use print(a, b) or wp.printf("%f", a)'),
    ast.NamedExpr: ("an assignment expression :=", "assign on a line of its own"),
}
if hasattr(ast, "Match"):
    _REFUSED[ast.Match] = ("match", "use if/elif")
if hasattr(ast, "TryStar"):
    _REFUSED[ast.TryStar] = ("try/except*", "kernels have no exceptions: test the condition first")
if hasattr(ast, "TypeAlias"):
    _REFUSED[ast.TypeAlias] = ("a type alias", "define it outside the kernel")
if hasattr(ast, "TemplateStr"):
    _REFUSED[ast.TemplateStr] = ("a template string", 'use print(a, b) or wp.printf("%f", a)')

_REFUSED_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Is: ("`is`", "compare with =="),
    ast.IsNot: ("`is not`", "compare with !="),
    ast.In: ("`in`", "write a loop"),
    ast.NotIn: ("`not in`", "write a loop"),
}


def fence(source: Source) -> list[KernelError]:
    """Every refusal in the function's text, in order."""
    errors: list[KernelError] = []
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        refusal = _refusal(node)
        if isinstance(node, ast.Subscript) and source.names(node.value, adjoint):
            cure = f"it is known inside a gradient: @wp.func_grad({source.name})"
            message = "wp.adjoint outside a function made by @wp.func_grad"
            errors.append(CustomGradientError(message, source.locate(node), help=cure))
        if refusal is not None:
            what, instead = refusal
            message = f"{what} is not part of the kernel language"
            errors.append(UnsupportedSyntaxError(message, source.locate(node), help=instead))
        if refusal is None or isinstance(node, ast.stmt):  # what a refused expression is made of goes with it
            waiting.extend(reversed(_kernel_parts(source, node)))
    return errors


def _kernel_parts(source: Source, node: ast.AST) -> list[ast.AST]:
    """The children that are kernel code."""
    if isinstance(node, ast.FunctionDef):
        return [*(node.args.defaults if node is not source.tree else ()), *node.body]
    if isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)):
        return []
    if isinstance(node, ast.AnnAssign):
        return [part for part in (node.target, node.value) if part is not None]
    if isinstance(node, ast.Call) and getattr(source.resolve(node.func), "kernel_form", "") == "static":
        return []
    return list(ast.iter_child_nodes(node))


def _has_star(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Starred) for part in ast.iter_child_nodes(node))


def _is_foreign(operator: ast.cmpop, right: ast.expr) -> bool:
    """Whether a comparison is not in the language: of identity, that with None is."""
    with_none = isinstance(operator, ast.Is | ast.IsNot) and isinstance(right, ast.Constant) and right.value is None
    return type(operator) in _REFUSED_OPERATORS and not with_none


def _refusal(node: ast.AST) -> tuple[str, str] | None:
    """What a node is called and what to write instead, when it is not in the language."""
    if type(node) in _REFUSED:
        return _REFUSED[type(node)]
    if isinstance(node, ast.Compare):
        pairs = zip(node.ops, node.comparators, strict=True)
        return next((_REFUSED_OPERATORS[type(o)] for o, right in pairs if _is_foreign(o, right)), None)
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        return ("else on a loop", "set a flag before `break` and test it after the loop")
    if isinstance(node, (ast.FunctionDef, ast.Lambda)) and (node.args.vararg or node.args.kwarg):
        return ("*args or **kwargs", "name every parameter")
    if isinstance(node, (ast.Tuple, ast.Subscript, ast.Assign)) and _has_star(node):
        return ("unpacking with * outside the arguments of a call", "name the values one by one")
    if isinstance(node, ast.keyword) and node.arg is None:
        return ("argument unpacking with **", "pass the values one by one")
    if isinstance(node, ast.Constant) and isinstance(node.value, (complex, bytes)):
        cure = "use two floats" if isinstance(node.value, complex) else "write to an array of wp.uint8"
        return (f"a {type(node.value).__name__} literal", cure)
    return None
