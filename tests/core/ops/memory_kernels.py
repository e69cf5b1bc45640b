"""Small kernels on arrays, built from IR, and three ways to run them.

Devices: `interp`, the interpreter; `cpu`, one call for all threads; `threads`, a call per range of
threads, by several Python threads at once, so that atomics are real. With a GPU as the current device the
last two are a launch there, of one thread or of many.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from row_devices import CONCURRENT, Compiled, Gradients, argument_block, descriptors, run_compiled

from warpsim.core.ir.builder import Builder
from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Function, Region, Value
from warpsim.core.ir.verify import verify
from warpsim.core.ops import threads
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.runtime.devices.device import get_device
from warpsim.core.types.arrays import ArrayType
from warpsim.core.types.scalars import int32

DEVICES = ("interp", "cpu", "threads")
WORKERS = 4


def kernel(types: list[Any], body: Callable[..., None]) -> Function:
    """A kernel whose body is traced: `body(i, *arrays)` with the thread index i."""
    params = tuple(Value(t, f"a{k}") for k, t in enumerate(types))
    region = Region(params)
    builder = Builder(region)
    with builder.active():
        body(builder.call(threads.tid.rows[0], (), (int32,), {"ndim": 1}), *params)
    return verify(inline(Function("kernel", region)))


def run(
    fn: Function, memory: list[np.ndarray], count: int, device: str = "cpu", gradients: Gradients | None = None
) -> None:
    """Run `count` threads over arrays given as NumPy memory with the layout of their elements."""
    gradients = gradients or {}
    if device == "interp":
        run_interpreted(fn, memory, count, gradients)
        return
    if device == "cpu" or get_device().is_cuda:
        run_compiled(fn, memory, count, gradients, in_order=device != "threads")
        return
    compiled, block = Compiled(fn), argument_block(descriptors(fn, memory, gradients), (count,))
    edges = np.linspace(0, count, 4 * WORKERS + 1).astype(int)
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(compiled.run, block, int(a), int(b), CONCURRENT) for a, b in pairwise(edges)]:
            done.result()


def run_interpreted(fn: Function, memory: list[np.ndarray], count: int, gradients: Gradients) -> None:
    pairs = enumerate(zip(memory, fn.params, strict=True))
    values = [host_array(m, p.type, p.hint, gradients.get(k)) for k, (m, p) in pairs]
    machine = Interpreter(check_numbers=False)
    for i in range(count):
        machine.thread = (i,)
        machine.run(fn.body, values)


def host_array(memory: np.ndarray, t: ArrayType, name: str = "a", gradient: np.ndarray | None = None) -> HostArray:
    slopes = None if gradient is None else HostArray(gradient, t, f"{name}.grad")
    return HostArray(memory, t, name, slopes)
