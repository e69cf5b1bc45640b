"""Text in the dot language of Graphviz: escaped, indented, one statement a line.

The language: https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

Attributes = Mapping[str, str]


class Markup(str):
    """An attribute value that is HTML-like already, for `label=<...>`."""


class DotText:
    """Collects the lines of one directed graph."""

    def __init__(self, name: str):
        self._lines = [f"digraph {quote(name)} {{"]
        self._depth = 1
        self._clusters = 0

    def attributes(self, **values: object) -> None:
        """Attributes of the graph or cluster that is open."""
        for name, value in values.items():
            self._add(f"{name}={_value(value)};")

    def defaults(self, kind: str, **values: object) -> None:
        """Attributes of every `node` or `edge` that follows."""
        self._add(f"{kind}{_list(values)};")

    def node(self, key: str, **values: object) -> None:
        self._add(f"{key}{_list(values)};")

    def edge(self, tail: str, head: str, **values: object) -> None:
        """An edge between nodes, or between ports of them (`key:port`)."""
        self._add(f"{tail} -> {head}{_list(values)};")

    @contextmanager
    def cluster(self, **values: object) -> Any:
        """A box with a label around what is added inside."""
        self._add(f"subgraph cluster{self._clusters} {{")
        self._clusters += 1
        self._depth += 1
        self.attributes(**values)
        yield
        self._depth -= 1
        self._add("}")

    def text(self) -> str:
        return "\n".join([*self._lines, "}"]) + "\n"

    def _add(self, line: str) -> None:
        self._lines.append("  " * self._depth + line)


def quote(text: str) -> str:
    """A double-quoted string; backslashes would otherwise start escapes such as `\\N`."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def escape(text: str) -> str:
    """Text inside an HTML-like label."""
    return html.escape(text, quote=True)


def _value(value: object) -> str:
    return f"<{value}>" if isinstance(value, Markup) else quote(str(value))


def _list(values: Mapping[str, object]) -> str:
    return f" [{', '.join(f'{name}={_value(value)}' for name, value in values.items())}]" if values else ""
