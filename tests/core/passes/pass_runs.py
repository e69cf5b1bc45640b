"""Runs programs of any stage on the interpreter, and compares what they leave in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpsim.core.frontend.function import kernel_function
from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Call, Function, Node, walk


def lowered(kernel: Any) -> Function:
    """The program as the front end made it, calls of functions included."""
    return kernel_function(kernel.source, kernel.patterns, list(kernel.patterns.values()))


def run(fn: Function, arguments: list[np.ndarray], threads: int) -> list[np.ndarray]:
    """Memory after the program; the arguments stay as they are."""
    memory = [a.copy() for a in arguments]
    values = [HostArray(m, p.type, p.hint) for m, p in zip(memory, fn.params, strict=True)]
    machine = Interpreter(check_numbers=False)
    for i in range(threads):
        machine.thread = (i,)
        machine.run(fn.body, values)
    return memory


def nodes(fn: Function, kind: type[Node] = Node) -> list[Any]:
    return [node for node in walk(fn.body) if isinstance(node, kind)]


def names(fn: Function) -> list[str]:
    """The ops a program calls, in order."""
    return [node.op.name for node in nodes(fn, Call)]
