"""Where a kernel's text comes from: its syntax tree, the names it can see, and source locations."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ...errors import KernelNameError, Location, UnsupportedSyntaxError

_MISSING = object()


class Source:
    """The syntax tree of a Python function or lambda, with positions mapped back to its file.

    Raises `UnsupportedSyntaxError` when Python does not have the text (a function made by `exec`).
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.file = inspect.getsourcefile(function) or "<unknown>"
        try:
            lines, self.first_line = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise UnsupportedSyntaxError(
                f"the source of {self.name!r} is not available",
                help="define kernels in a file or notebook cell; for generated code add it to linecache",
            ) from error
        text = textwrap.dedent("".join(lines))
        first = next(line for line in lines if line.strip())
        self.indent = len(first) - len(first.lstrip())
        self.tree = self._find(text)
        self._free = _free_variables(function)

    def _find(self, text: str) -> ast.FunctionDef | ast.Lambda:
        if self.name == "<lambda>":
            return self._find_lambda(text)
        tree = ast.parse(text).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UnsupportedSyntaxError(f"{self.name!r} is not a plain function", self.whole())
        return tree

    def _find_lambda(self, text: str) -> ast.Lambda:
        wanted = self.function.__code__
        try:
            found = [n for n in ast.walk(ast.parse(text.strip())) if isinstance(n, ast.Lambda)]
        except SyntaxError:  # the line is a fragment of a longer expression
            start = text.index("lambda")
            found = [n for n in ast.walk(_parse_prefix(text[start:])) if isinstance(n, ast.Lambda)]
        names = wanted.co_varnames[: wanted.co_argcount]
        fits = [n for n in found if tuple(a.arg for a in n.args.args) == names]
        if len(fits) != 1:
            raise UnsupportedSyntaxError(
                f"{len(fits)} lambdas on one line fit", self.whole(), help="give the function a name with def"
            )
        return fits[0]

    def whole(self) -> Location:
        """The first line of the function."""
        return Location(self.file, self.first_line, function=self.name)

    def locate(self, node: ast.AST) -> Location:
        """The place of a syntax node in the file."""
        line = self.first_line + getattr(node, "lineno", 1) - 1
        start = getattr(node, "col_offset", 0) + self.indent
        same_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        stop = (getattr(node, "end_col_offset", 0) or 0) + self.indent if same_line else 0
        return Location(self.file, line, start, stop, self.name)

    def lookup(self, name: str) -> Any:
        """The Python object that a free name means: closure, then globals, then builtins."""
        for scope in (self._free, self.function.__globals__, vars(builtins)):
            found = scope.get(name, _MISSING)
            if found is not _MISSING:
                return found
        raise KernelNameError(f"name {name!r} is not defined")

    def namespace(self) -> dict[str, Any]:
        """Globals and closure for evaluating Python expressions (`wp.static`, annotations)."""
        return {**self.function.__globals__, **self._free}


def _free_variables(function: Callable[..., Any]) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet: reported as unknown if it is ever used
            continue
    return found


def _parse_prefix(text: str) -> ast.AST:
    """The longest prefix that is an expression: a lambda cut out of an argument list."""
    for end in range(len(text), 0, -1):
        try:
            return ast.parse(text[:end].strip(), mode="eval")
        except SyntaxError:
            continue
    raise UnsupportedSyntaxError("the lambda cannot be read", help="give the function a name with def")


def annotations(function: Callable[..., Any], source: Source) -> dict[str, Any]:
    """Annotations as objects; strings (postponed evaluation) are evaluated where the function stands."""
    found = {}
    for name, value in getattr(function, "__annotations__", {}).items():
        if isinstance(value, str):
            try:
                value = eval(value, source.namespace())
            except Exception as error:
                raise KernelNameError(
                    f"annotation {value!r} of {name!r} cannot be evaluated: {error}", source.whole(),
                    help="names local to an enclosing function need annotations that are not postponed:"
                    " drop `from __future__ import annotations` in that file",
                ) from error  # fmt: skip
        found[name] = value
    return found
