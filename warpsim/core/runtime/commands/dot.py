"""`capture_debug_dot_print`: a captured graph as text for Graphviz, as far as anybody knows what waits for what.

Steps run in the order in which they were captured, so an edge leads from each to the next. Launches that run as one
loop, whose threads wait for nothing of each other's (see `fusion`), stand in a box.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....atomic_file import AtomicFile
from ....errors import instance
from ..devices.transfer import Transfer, name_of
from ..launches.launcher import LaunchCall
from ..tape.adjoint_launch import Launches
from .command import Launch
from .fusion import loops
from .graph import Graph


def capture_debug_dot_print(graph: Graph, path: str | os.PathLike[str], verbose: bool = True) -> None:
    """Write a captured graph into a file as text for Graphviz: `dot -Tsvg PATH`.

    Nodes are launches, with kernel and dimensions, and work of the host; verbose: also the arguments. On every device.
    Raises `ArgumentTypeError` for what is no graph, `OSError` where the file cannot be written.
    """
    instance(graph, Graph, "graph")
    with AtomicFile(path) as partial:
        partial.write_text(dot_text(graph, verbose), encoding="utf-8")


def dot_text(graph: Graph, verbose: bool) -> str:
    """The graph in Graphviz's language."""
    lines, count = [], 0
    for number, labels in enumerate(_labels_of_loaded(graph) if graph.is_loaded else _labels(graph, verbose)):
        nodes = [f"n{count + k} [label={_quoted(label)}];" for k, label in enumerate(labels)]
        count += len(nodes)
        if len(nodes) > 1:
            inner = "\n    ".join(['label="one loop";', *nodes])
            nodes = [f"subgraph cluster_{number} {{\n    {inner}\n  }}"]
        lines += nodes
    lines += [f"n{k} -> n{k + 1};" for k in range(count - 1)]
    return "\n".join(["digraph captured {", "  node [shape=box];", *(f"  {line}" for line in lines), "}", ""])


def _labels(graph: Graph, verbose: bool) -> Iterator[list[str]]:
    """What stands in the nodes, those of a loop together."""
    for kind, steps in graph.groups():
        if kind is True:
            for loop in loops(step.ready.call for step in steps):
                yield [_launch(call, verbose) for call in loop.calls]
        else:
            for step in steps:
                yield from ([label] for label in _lone(step, verbose))


def _labels_of_loaded(graph: Graph) -> Iterator[list[str]]:
    """The same of a graph out of a file, which has no arguments to show."""
    for part in graph.report().parts:
        yield [f"{kernel}\n{part.threads} threads" for kernel in part.kernels] or [part.what]


def _lone(step: Any, verbose: bool) -> list[str]:
    """A step that is no part of a loop; adjoints may be several launches."""
    if isinstance(step, Launch):
        return [_launch(step.ready.call, verbose)]
    if isinstance(step.run, Launches):
        return [_launch(call, verbose) for call in step.run.calls]
    moves = step.run.moves() if verbose and isinstance(step.run, Transfer) else ()
    return ["\n".join([name_of(step.run), *(f"{_memory(m.source)} to {_memory(m.target)}" for m in moves or ())])]


def _launch(call: LaunchCall, verbose: bool) -> str:
    launcher = call.launcher
    form = "" if launcher.form.kind == "primal" else f" ({launcher.form.kind})"
    lines = [f"{launcher.kernel.key}{form}", f"dim {call.dim}"]
    if verbose:
        lines += [f"{n} = {_argument(a)}" for n, a in zip(launcher.kernel.patterns, call.args, strict=False)]
    return "\n".join(lines)


def _memory(memory: Any) -> str:
    """Memory that a step copies."""
    return f"{memory.dtype}{list(memory.shape)}" if isinstance(memory, np.ndarray) else repr(memory)


def _argument(value: Any) -> str:
    """An argument, as it tells itself apart from others."""
    address = getattr(value, "ptr", None)
    return repr(value) if address is None else f"{value!r} at {address:#x}"


def _quoted(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{escaped}\\l"'
