"""Stable text of a function, for dumps, goldens and cache keys.

Values are numbered in the order they appear, so equal programs print equally whatever names their
author gave; source lines and those names (`%14.trips`) appear only on request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..types.arrays import type_name
from ..types.scalars import is_float
from ..types.structs import Struct
from ..types.values import Compound
from .nodes import Call, Constant, For, Function, If, Node, Region, Value, While


class Printer:
    """Prints one function; numbering starts afresh for each."""

    def __init__(self, lines: bool = False, hints: bool = False):
        self.show_lines, self.show_hints = lines, hints
        self.names: dict[Value, str] = {}
        self.types: dict[Any, str] = {}
        self.out: list[str] = []

    def function(self, fn: Function) -> str:
        params = self.typed_names(fn.params)
        results = ", ".join(type_name(t) for t in fn.result_types)
        self.out.append(f"function {fn.name}({params}) -> ({results})")
        self.region(fn.body, 1)
        return "\n".join(self.out) + "\n"

    def region(self, region: Region, depth: int) -> None:
        for node in region.nodes:
            self.node(node, depth)
        self.write(depth, f"yield {self.list(region.yields)}".rstrip(), None)

    def node(self, node: Node, depth: int) -> None:
        before = [self.name(v) for v in node.operands()]  # number operands before results
        head = self.typed_names(node.results)
        text = _head(node, before)
        self.write(depth, f"{head} = {text}" if head else text, node)
        for label, region in zip(_LABELS[type(node)], node.regions(), strict=True):
            params = self.typed_names(region.params)
            self.write(depth, f"{label}({params}):" if params else f"{label}:", None)
            self.region(region, depth + 1)

    def write(self, depth: int, text: str, node: Node | None) -> None:
        where = f"  # line {node.location.line}" if self.show_lines and node and node.location else ""
        self.out.append("  " * depth + text + where)

    def list(self, values: Iterable[Value]) -> str:
        return ", ".join([self.name(v) for v in values])

    def typed_names(self, values: Iterable[Value]) -> str:
        return ", ".join([f"{self.name(v)}: {self.type(v.type)}" for v in values])

    def name(self, value: Value) -> str:
        name = self.names.get(value)
        if name is None:
            if isinstance(value, Constant):
                return f"{literal(value.value)}:{self.type(value.type)}"
            shown = self.show_hints and value.hint.replace(".", "").isidentifier()
            name = self.names[value] = f"%{len(self.names)}.{value.hint}" if shown else f"%{len(self.names)}"
        return name

    def type(self, t: Any) -> str:
        name = self.types.get(t)
        if name is None:
            name = self.types[t] = type_name(t)
        return name


_LABELS: dict[type, tuple[str, ...]] = {If: ("then", "else"), For: ("body",), While: ("before", "body"), Call: ()}


def _head(node: Node, names: list[str]) -> str:
    if isinstance(node, Call):
        facts = node.attributes.items()
        attributes = "".join(f" {k}={v if isinstance(v, str) else type_name(v)}" for k, v in facts)
        return f"{node.op.name}({', '.join(names)}){attributes}"
    if isinstance(node, If):
        return f"if {names[0]}"
    if isinstance(node, For):
        return f"for {names[0]} to {names[1]} by {names[2]} with ({', '.join(names[3:])})"
    return f"while with ({', '.join(names)})"


def literal(value: Any) -> str:
    """Exact text of a constant: floats round-trip."""
    if isinstance(value, np.generic) and is_float(type(value)):
        return float(value).hex() if np.isfinite(value) else str(value)
    if isinstance(value, Struct):
        return "{" + " ".join(f"{name}={literal(getattr(value, name))}" for name in type(value).fields) + "}"
    if isinstance(value, Compound):
        return "[" + " ".join(literal(x) for x in np.ravel(value.numpy())) + "]"
    return str(value)


def print_function(fn: Function, lines: bool = False, hints: bool = False) -> str:
    """The text of `fn`; with `lines`, each node ends in its source line, with `hints` values carry readable names."""
    return Printer(lines, hints).function(fn)
