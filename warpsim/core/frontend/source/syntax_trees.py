"""Syntax trees of texts, which several threads may ask for at once."""

from __future__ import annotations

import ast
from typing import Any


def parse_syntax(text: str, mode: str = "exec") -> Any:
    """`ast.parse`, again where another thread disturbed it.

    CPython before 3.11.8 and 3.12.2 counts the depth of all threads' trees together, and refuses a tree for what
    another thread does (https://github.com/python/cpython/issues/106905). Raises `SyntaxError`.
    """
    for _ in range(100):
        try:
            return ast.parse(text, mode=mode)
        except SystemError as error:
            disturbed = error
    raise disturbed
