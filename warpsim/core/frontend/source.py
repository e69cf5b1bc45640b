"""Where a kernel's text comes from: its syntax tree, the names it can see, and source locations."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
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
        self.first_line = function.__code__.co_firstlineno
        self.offset = 0  # from lines of the tree to lines of the file
        self.tree: ast.FunctionDef | ast.Lambda
        self.tree = self._lambda() if function.__code__.co_name == "<lambda>" else self._definition()
        self._free = _free_variables(function)

    def _definition(self) -> ast.FunctionDef:
        try:
            lines, first = inspect.getsourcelines(self.function)
            indented = lines[0][:1].isspace()
            # An indented function becomes the body of an `if`, so that its columns stay those of the file.
            found = ast.parse("".join(["if True:\n", *lines] if indented else lines)).body[0]
        except (OSError, TypeError, SyntaxError) as error:
            raise self._unavailable() from error
        self.offset = first - (2 if indented else 1)
        tree = found.body[0] if indented and isinstance(found, ast.If) else found
        if not isinstance(tree, ast.FunctionDef):
            raise UnsupportedSyntaxError(f"{self.name!r} is not a plain function", self.whole())
        return tree

    def _lambda(self) -> ast.Lambda:
        """The lambda in the tree of its whole file: its own line may be a fragment of a longer expression."""
        code = self.function.__code__
        text = "".join(linecache.getlines(self.file, self.function.__globals__))
        if not text:
            raise self._unavailable()
        fits = [node for node in _lambdas(text) if _is_code_of(node, code)]
        if len(fits) != 1:
            raise UnsupportedSyntaxError(
                f"{len(fits)} lambdas on one line fit", self.whole(), help="give the function a name with def"
            )
        return fits[0]

    def _unavailable(self) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            f"the source of {self.name!r} is not available",
            help="define kernels in a file or notebook cell; for generated code add it to linecache",
        )

    def whole(self) -> Location:
        """The head of the function: its `def` and name."""
        if not isinstance(getattr(self, "tree", None), ast.FunctionDef):
            return Location(self.file, self.first_line, function=self.name)
        head = self.locate(self.tree)
        stop = head.column + len("def ") + len(self.tree.name)  # type: ignore[union-attr]
        return Location(self.file, head.line, head.column, stop, self.name)

    def locate(self, node: ast.AST) -> Location:
        """The place of a syntax node in the file."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        line = self.offset + first
        text = linecache.getline(self.file, line)
        start = _characters(text, getattr(node, "col_offset", 0))
        stop = _characters(text, getattr(node, "end_col_offset", None) or 0) if last == first else 0
        return Location(self.file, line, start, stop, self.name)

    def lookup(self, name: str) -> Any:
        """The Python object that a free name means: closure, then globals, then builtins."""
        for scope in (self._free, self.function.__globals__, vars(builtins)):
            found = scope.get(name, _MISSING)
            if found is not _MISSING:
                return found
        raise KernelNameError(f"name {name!r} is not defined")

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that `name` or `module.name` means, or None."""
        try:
            if isinstance(node, ast.Attribute):
                return getattr(self.resolve(node.value), node.attr, None)
            return self.lookup(node.id) if isinstance(node, ast.Name) else None
        except KernelNameError:
            return None

    def names(self, node: ast.expr, thing: Any) -> bool:
        """Whether an expression is the name of an object from outside, which no local of the function hides."""
        if self.resolve(node) is not thing:
            return False
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        bound = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in ast.walk(self.tree) if isinstance(n, ast.arg)}
        return not (isinstance(root, ast.Name) and root.id in bound)

    def namespace(self) -> dict[str, Any]:
        """Globals and closure for evaluating Python expressions (`wp.static`, annotations)."""
        return {**self.function.__globals__, **self._free}


def _characters(text: str, offset: int) -> int:
    """Python counts columns in bytes of UTF-8; a caret stands under a character."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


@lru_cache(maxsize=4)
def _lambdas(text: str) -> list[ast.Lambda]:
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda)]
    except SyntaxError:  # a file that changed under us
        return []


def _is_code_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether `code` was compiled from this lambda: line, parameter names, and columns where Python keeps them."""
    names = code.co_varnames[: code.co_argcount]
    if node.lineno != code.co_firstlineno or tuple(a.arg for a in node.args.args) != names:
        return False
    body = node.body
    first, last = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = code.co_positions() if hasattr(code, "co_positions") else ()  # Python 3.11
    known = [(line, column) for line, _, column, _ in places if line is not None and column is not None]
    inside = [first <= place < last for place in known if place > (node.lineno, 0)]
    return all(inside) if inside else True


def _free_variables(function: Callable[..., Any]) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet: reported as unknown if it is ever used
            continue
    return found


def kernel_parameters(source: Source) -> list[str]:
    """The parameters of a kernel in order. Raises `UnsupportedSyntaxError` for kinds that a launch cannot fill."""
    arguments = source.tree.args
    refused = [a for a in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if a is not None]
    if refused:
        raise UnsupportedSyntaxError(
            f"parameter {refused[0].arg!r} of kernel {source.name!r} has no place in a launch",
            source.locate(refused[0]), expected="plain parameters, given in order", help="drop the *",
        )  # fmt: skip
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args)]


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
