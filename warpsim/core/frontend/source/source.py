"""The source of a kernel: its text, its syntax tree, the names it can see, and source locations."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import CodeType
from typing import Any

from ....errors import KernelNameError, Location, UnsupportedSyntaxError
from ....forks import cached_property
from ...types.arrays import type_name, without_none
from ...types.enclosing import CURE, names_around
from . import edited, texts
from .captured import Captured
from .syntax_trees import parse_syntax

_CURE = "define it in a file, in a notebook, or from its text with wp.kernel_from_source(text)"
_CURES = {
    "<string>": "in place of exec(text), wp.kernel_from_source(text) makes a kernel of its text",
    "<stdin>": "Python keeps no text of what it reads from a pipe: save it in a file, or pass it by python -c",
}
"""What helps where Python has no text, by the name that it gave the text."""


class Source:
    """The syntax tree of a Python function or lambda, with positions mapped back to its file.

    A function of the user's is read at once, as names get their meanings then. One of the package is read when it is
    first translated, which is never where its programs are on disk: what its names mean changes with its files alone.

    Raises `UnsupportedSyntaxError` when Python does not have the text: of a function made by `exec`, or in a file
    that was edited after Python compiled the function.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.file = texts.file_of(function.__code__)
        self.first_line = function.__code__.co_firstlineno
        self.offset = 0  # from lines of the tree to lines of the file
        self._lines: list[str] = []  # that were parsed, where it was not the whole file
        self.is_library = is_of_package(function)
        if not self.is_library:
            _ = self.captured
        if not self.is_library or "<locals>" in function.__qualname__:
            _ = self.annotations

    @cached_property
    def tree(self) -> ast.FunctionDef | ast.Lambda:
        """The syntax of the function, with lines `offset` before those of the file."""
        return self._lambda() if self.function.__code__.co_name == "<lambda>" else self._definition()

    @property
    def text(self) -> str:
        """The text of the function with its place: equal ones are one syntax, at the same lines and columns."""
        tree = self.tree
        syntax = "".join(self._lines) if self._lines else ast.dump(tree, include_attributes=True)
        return f"{self.file}:{self.offset} {self.name} {syntax}"

    @cached_property
    def captured(self) -> Captured:
        """What the function takes from outside."""
        return Captured(self.function, self.tree)

    def _definition(self) -> ast.FunctionDef:
        line = self._line()
        try:
            in_place = line == self.first_line and self.file == self.function.__code__.co_filename
            statement = self._parse() if in_place else self._find_moved(line)
        except (OSError, TypeError, SyntaxError) as error:
            raise self._unavailable() from error
        if not isinstance(statement, ast.FunctionDef):
            raise UnsupportedSyntaxError(f"{self.name!r} is not a plain function", self.whole())
        return statement

    def _line(self) -> int:
        """Where the function begins in the text as it is now. Raises when its text is another by now."""
        text = self._text()
        if not text or not edited.may_differ(self.file):
            return self.first_line
        lines = edited.lines_of(self.function.__code__, text)
        if not lines:
            raise self._unavailable() if self.file in ("<string>", "<stdin>") else self._edit_error()
        return self.first_line if self.first_line in lines else lines[0]

    def _text(self) -> str:
        edited.note_import(self.file, self.function.__globals__.get("__spec__"))
        linecache.checkcache(self.file)
        return "".join(linecache.getlines(self.file, self.function.__globals__))

    def _parse(self) -> ast.stmt:
        """The statement that begins where the code of the function says."""
        lines, first = inspect.getsourcelines(self.function)
        self._lines = lines
        indented = lines[0][:1].isspace()
        # An indented function becomes the body of an `if`, so that its columns stay those of the file.
        statement = parse_syntax("".join(["if True:\n", *lines] if indented else lines)).body[0]
        self.offset = first - (2 if indented else 1)
        return statement.body[0] if indented and isinstance(statement, ast.If) else statement

    def _find_moved(self, line: int) -> ast.stmt | None:
        """The function at another line of its file, which was edited around it."""
        return next(iter(edited.definitions(self._text(), self.function.__code__.co_name, line)), None)

    def _lambda(self) -> ast.Lambda:
        """The lambda in the tree of its whole file: its own line may be a fragment of a longer expression."""
        text = self._text()
        if not text:
            raise self._unavailable()
        code, line = self.function.__code__, self._line()
        moved = line != self.first_line
        fits = [n for n in _lambdas(text) if (n.lineno == line if moved else _is_code_of(n, code))]
        if len(fits) != 1:
            raise UnsupportedSyntaxError(
                f"{len(fits)} lambdas on one line fit", self.whole(), help="give the function a name with def"
            )
        return fits[0]

    def _edit_error(self) -> UnsupportedSyntaxError:
        where = f"{self.file}:{self.first_line}"
        return UnsupportedSyntaxError(
            f"the text of {self.name!r} is not what Python compiled: it was edited after it was imported from {where}",
            help="import the file again (importlib.reload), or start the program again",
        )

    def _unavailable(self) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            f"the source of {self.name!r} is not available",
            help=_CURES.get(self.file, _CURE),
        )

    def whole(self) -> Location:
        """The head of the function: its `def` and name."""
        tree = vars(self).get("tree")  # not yet where its text is what is wrong
        if not isinstance(tree, ast.FunctionDef):
            return Location(self.file, self.first_line, function=self.name)
        head = self.locate(tree)
        stop = head.column + len("def ") + len(tree.name)
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
        """The Python object that a name from outside means, see `captured`. Raises `KernelNameError`."""
        return self.captured.lookup(name)

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that `name` or `module.name` means, or None."""
        return self.captured.resolve(node)

    def names(self, node: ast.expr, thing: object) -> bool:
        """Whether an expression is the name of an object from outside, which no local of the function hides."""
        if self.resolve(node) is not thing:
            return False
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        bound = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in ast.walk(self.tree) if isinstance(n, ast.arg)}
        return not (isinstance(root, ast.Name) and root.id in bound)

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """Annotations as objects where they can be evaluated already; texts are (postponed) annotations."""
        known = getattr(self.function, "__annotations__", {})
        if not any(isinstance(t, str) for t in known.values()):
            return dict(known)
        scope = self.function.__globals__ | names_around(self.function) | dict(cells_of(self.function))
        return {name: _evaluate(t, scope) if isinstance(t, str) else t for name, t in known.items()}


def cells_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The variables in the closure of a function that have a value, with it."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            yield name, cell.cell_contents


def is_of_package(thing: Any) -> bool:
    """Whether a function or a class stands in a file of the package: not in a text that it runs, as `wp.map` does."""
    code = getattr(thing, "__code__", None)
    if code is not None and code.co_filename.startswith("<"):
        return False
    module = thing.__module__ or ""  # code that `exec` runs may have none
    return module.partition(".")[0] == __name__.partition(".")[0]


def _evaluate(annotation: str, scope: dict[str, Any]) -> Any:
    try:
        return eval(annotation, scope)
    except Exception:  # with a name that comes later, or wrong: said when it is needed
        return annotation


def _characters(text: str, offset: int) -> int:
    """Python counts columns in bytes of UTF-8; a caret stands under a character."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


@lru_cache(maxsize=4)
def _lambdas(text: str) -> list[ast.Lambda]:
    try:
        return [node for node in ast.walk(parse_syntax(text)) if isinstance(node, ast.Lambda)]
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


def kernel_parameters(source: Source) -> list[str]:
    """The parameters of a kernel in order. Raises `UnsupportedSyntaxError` for kinds that a launch cannot fill."""
    code = source.function.__code__
    if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        arguments = source.tree.args
        refused = next(a for a in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if a is not None)
        raise UnsupportedSyntaxError(
            f"parameter {refused.arg!r} of kernel {source.name!r} has no place in a launch",
            source.locate(refused),
            expected="plain parameters, given in order",
            help="drop the *",
        )
    return list(code.co_varnames[: code.co_argcount])


def evaluated_annotations(source: Source) -> dict[str, Any]:
    """Annotations as objects; strings (postponed evaluation) are evaluated where the function stands."""
    evaluated = {}
    for name, value in source.annotations.items():
        if isinstance(value, str):
            try:
                value = eval(value, source.captured.namespace())
            except Exception as error:
                raise KernelNameError(
                    f"annotation {value!r} of {name!r} cannot be evaluated: {error}",
                    source.whole(),
                    help=_help_with(error, name),
                ) from error
        evaluated[name] = without_none(value)
    return evaluated


def _help_with(error: Exception, name: str) -> str:
    """What to do about an annotation in quotes, or a postponed one, that is no Python or names what is not seen."""
    if isinstance(error, SyntaxError):
        return f"annotate with types: {name}: float, {name}: wp.array[float]"
    return CURE


def typed_text(source: Source, patterns: dict[str, Any], types: list[Any]) -> str:
    """The function as it was parsed, under the types its parameters have in this compilation."""
    comments = (f"# {name}: {type_name(t)}\n" for name, t in zip(patterns, types, strict=True))
    return f"{''.join(comments)}{ast.unparse(source.tree)}\n"
