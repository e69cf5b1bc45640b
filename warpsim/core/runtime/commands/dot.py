"""`capture_debug_dot_print`: a captured graph as text for Graphviz, as far as anybody knows what waits for what.

Steps run in the order in which they were captured, so an edge leads from each to the next. Launches that run as one
loop, whose threads wait for nothing of each other's (see `steps.fusion`), stand in a box.
"""

from __future__ import annotations

import os

from ....atomic_file import AtomicFile
from ....errors import instance
from .graph import Graph


def capture_debug_dot_print(graph: Graph, path: str | os.PathLike[str], verbose: bool = True) -> None:
    """Write a captured graph into a file as text for Graphviz: `dot -Tsvg PATH`.

    Nodes are launches, with kernel and dimensions, copies, operations, branches and calls of functions; verbose: also
    the arguments, and the memory that a step reads and writes. On every device.
    Raises `ArgumentTypeError` for what is no graph, `OSError` where the file cannot be written.
    """
    instance(graph, Graph, "graph")
    with AtomicFile(path) as partial:
        partial.write_text(dot_text(graph, verbose), encoding="utf-8")


def dot_text(graph: Graph, verbose: bool) -> str:
    """The graph in Graphviz's language."""
    lines, count = [], 0
    for number, piece in enumerate(graph.pieces()):
        labels = piece.step.labels(verbose)
        nodes = [f"n{count + k} [label={_quote(label)}];" for k, label in enumerate(labels)]
        count += len(nodes)
        if len(nodes) > 1:
            inner = "\n    ".join(['label="one loop";', *nodes])
            nodes = [f"subgraph cluster_{number} {{\n    {inner}\n  }}"]
        lines += nodes
    lines += [f"n{k} -> n{k + 1};" for k in range(count - 1)]
    return "\n".join(["digraph captured {", "  node [shape=box];", *(f"  {line}" for line in lines), "}", ""])


def _quote(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}\\l"'
