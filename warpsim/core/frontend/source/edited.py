"""Stale sources: whether the text of a function is still the one that its code was compiled from.

A file may be edited while a program runs. Python goes on with the code that it has; text read afterwards belongs to
another function. So what was parsed is compiled and compared with the code wherever the file changed.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any

from .syntax_trees import parse_syntax

_STARTED = time.time() - 10.0  # a file may have been read some time before this line runs
_FUTURE = __future__.annotations.compiler_flag
_PARTS = ("co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount")


_specs: dict[str, Any] = {}  # of the modules whose text was read, by file
_reloaded: set[str] = set()


def note_import(file: str, spec: Any) -> None:
    """Forget the text of a module that was imported again since: a file may be rewritten with its time and size."""
    if spec is not None and _specs.setdefault(file, spec) is not spec:
        _specs[file] = spec
        _reloaded.add(file)
        linecache.cache.pop(file, None)


def may_differ(file: str) -> bool:
    """Whether a file changed since the program started, or its module was imported again; text that lies in no file may
    change at any time."""
    if file in _reloaded:
        return True
    try:
        return os.stat(file).st_mtime >= _STARTED
    except OSError:
        return True


def lines_of(code: CodeType, text: str) -> list[int]:
    """The lines of a text at which functions begin that compile to `code`.

    The whole text is compiled, because the code of a function depends on what is around it.
    """
    if not all(name.isidentifier() for name in (*code.co_varnames, *code.co_names)):
        return [code.co_firstlineno]  # a tool rewrote the tree before it was compiled, as pytest does with assert
    return [other.co_firstlineno for other in _codes(text, code.co_flags & _FUTURE) if _equal(other, code)]


def definitions(text: str, name: str, line: int) -> list[ast.FunctionDef]:
    """The functions of a name in a text that begin at a line, with their decorators."""
    functions = [n for n in ast.walk(parse_syntax(text)) if isinstance(n, ast.FunctionDef) and n.name == name]
    return [f for f in functions if min([f.lineno, *(d.lineno for d in f.decorator_list)]) == line]


@lru_cache(maxsize=4)
def _codes(text: str, flags: int) -> list[CodeType]:
    try:
        flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as notebooks do
        return list(_inside(compile(text, "", "exec", flags, dont_inherit=True)))
    except (SyntaxError, ValueError):  # in the middle of an edit
        return []


def _inside(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _inside(part)


def _equal(a: CodeType, b: CodeType) -> bool:
    if any(getattr(a, part) != getattr(b, part) for part in _PARTS) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(map(_equal_constants, a.co_consts, b.co_consts))


def _equal_constants(a: object, b: object) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _equal(a, b)
    return type(a) is type(b) and repr(a) == repr(b)  # repr: 0.0 is not -0.0, and NaN is NaN
