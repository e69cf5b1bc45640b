"""Refuses Python that is not in the kernel language, before anything is translated.

One line per construct: what it is and what to write instead. All refusals of a function are found
in one walk and reported together.
"""

from __future__ import annotations

import ast

from ...errors import KernelError, UnsupportedSyntaxError
from .source import Source

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
    ast.JoinedStr: ("an f-string", "use print(a, b) or wp.printf(\"%f\", a)"),
    ast.Starred: ("argument unpacking with *", "pass the values one by one"),
    ast.NamedExpr: ("an assignment expression :=", "assign on a line of its own"),
}
if hasattr(ast, "Match"):
    _REFUSED[ast.Match] = ("match", "use if/elif")
if hasattr(ast, "TryStar"):
    _REFUSED[ast.TryStar] = ("try/except*", "kernels have no exceptions: test the condition first")

_REFUSED_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Is: ("`is`", "compare with =="),
    ast.IsNot: ("`is not`", "compare with !="),
    ast.In: ("`in`", "write a loop"),
    ast.NotIn: ("`not in`", "write a loop"),
}


def fence(source: Source) -> list[KernelError]:
    """Every refusal in the function's text, in order."""
    errors: list[KernelError] = []
    for node in ast.walk(source.tree):
        found = _REFUSED.get(type(node))
        if isinstance(node, ast.Compare):
            found = next((_REFUSED_OPERATORS[type(o)] for o in node.ops if type(o) in _REFUSED_OPERATORS), None)
        elif isinstance(node, (ast.For, ast.While)) and node.orelse:
            found = ("else on a loop", "set a flag before `break` and test it after the loop")
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            found = _refused_parameters(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (complex, bytes)):
            cure = "use two floats" if isinstance(node.value, complex) else ""
            found = (f"a {type(node.value).__name__} literal", cure)
        if found is not None:
            what, instead = found
            errors.append(
                UnsupportedSyntaxError(
                    f"{what} is not part of the kernel language", source.locate(node), help=instead
                )
            )
    return errors


def _refused_parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, str] | None:
    if node.args.vararg or node.args.kwarg:
        return ("*args or **kwargs", "name every parameter")
    return None
