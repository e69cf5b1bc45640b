"""Runs rows on the interpreter and as machine code, from IR that is built directly: no front end between.

Machine code runs on the CPU or, where that is the current device, on a GPU over copies of the memory.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
from row_cases import Case

from warpsim.core.emit import build as builder
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.layout import HEADER_WORDS
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
from warpsim.core.emit.program import Program
from warpsim.core.emit.target import Options
from warpsim.core.ir.builder import Builder
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Function, Region, Value, count
from warpsim.core.ir.verify import verify
from warpsim.core.ops import memory, threads
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.runtime.devices.cuda import memory as cuda_memory
from warpsim.core.runtime.devices.cuda.function import CudaFunction
from warpsim.core.runtime.devices.device import get_device
from warpsim.core.types import structs
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import int32

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
CONCURRENT = 1
Gradients = dict[int, np.ndarray]
"""Memory of gradients by the position of their array."""


def called(case: Case) -> Function:
    """A function that is one call of the row, expansions already in place."""
    params = tuple(Value(t) for t in case.types)
    body = Region(params)
    made = Builder(body).call(case.row, params, case.results, case.attributes)
    body.yields = made if isinstance(made, tuple) else (made,)
    return verify(inline(Function(case.row.name, body)))


def interpreted(fn: Function, operands: tuple[Any, ...]) -> list[Any]:
    """The results of a function on the interpreter, without its check for NaN."""
    return Interpreter(check_numbers=False).run(fn.body, list(operands))


# ----- memory -------------------------------------------------------------------------------


def array_of(values: list[Any], t: Any) -> np.ndarray:
    """Interpreter values as the memory of an array."""
    made = np.zeros(len(values), structs.numpy_dtype(t))
    for k, value in enumerate(values):
        if structs.is_struct(t):
            made[k] = record(value, t)
        else:
            made[k] = value
    return made


def record(value: dict[str, Any], t: Any) -> tuple[Any, ...]:
    return tuple(record(value[f], ft) if structs.is_struct(ft) else value[f] for f, ft in t.fields.items())


def descriptor(memory: np.ndarray, rank: int, gradient: np.ndarray | None = None) -> bytes:
    """What a kernel receives for an array: data, gradient, shape, strides."""
    at = 0 if gradient is None else gradient.ctypes.data
    words = (memory.ctypes.data, at, *memory.shape[:rank], *memory.strides[:rank])
    return struct.pack(f"<{len(words)}Q", *words)


def argument_block(parts: list[bytes], extents: tuple[int, ...]) -> bytes:
    header = struct.pack(f"<{HEADER_WORDS}Q", 0, *(*extents, 1, 1, 1, 1)[:4], 1)
    return header + b"".join(parts)


class Compiled:
    """Machine code of a kernel whose parameters are arrays.

    Without optimisation the code is the plain translation of each row, in a fraction of the time.
    """

    def __init__(self, fn: Function, ndim: int = 1, optimized: bool = True):
        if optimized:
            code = cpu.emit(fn, ndim, Options(), analyse(fn)).code
        else:
            code = assemble(cpu.CpuTarget(fn, ndim, Options(), analyse(fn)).llvm_text(), opt=0)
        self.native = NativeObject(code)
        self.run = KERNEL(self.native.address(cpu.KERNEL))

    def __call__(self, parts: list[bytes], threads: int, flags: int = 0) -> None:
        self.run(argument_block(parts, (threads,)), 0, threads, flags)


def run_compiled(
    fn: Function,
    memory: list[np.ndarray],
    threads: int,
    gradients: Gradients | None = None,
    optimized: bool = True,
    in_order: bool = False,
) -> None:
    """Run the threads of a kernel over arrays on the current device; in_order: one after the other on a GPU too."""
    gradients, place = gradients or {}, get_device()
    if not place.is_cuda:
        Compiled(fn, optimized=optimized)(descriptors(fn, memory, gradients), threads)
        return
    program = Program(fn, 1, analyse(fn), nanoseconds=0.0)
    loaded = CudaFunction(builder.build_cuda(program, Options(), place.arch), place)
    there = {id(m): copied_to(m, place) for m in (*memory, *gradients.values())}
    parts = descriptors(fn, [there[id(m)] for m in memory], {k: there[id(m)] for k, m in gradients.items()})
    loaded.run(argument_block(parts, (threads,)), threads, *((1, 1) if in_order else (128, 0)))
    for m in (*memory, *gradients.values()):
        if m.flags.writeable:
            m[...] = there[id(m)].host()


def copied_to(memory: np.ndarray, place: Any) -> np.ndarray:
    """A copy on a GPU, with the same strides."""
    span = memory.itemsize + sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))
    held = place.allocate(span if memory.size else 0)
    made = cuda_memory.view_buffer(held, memory.shape, memory.dtype, memory.strides, place)
    made.put(memory)
    return made


def descriptors(fn: Function, memory: list[np.ndarray], gradients: Gradients) -> list[bytes]:
    pairs = zip(memory, fn.params, strict=True)
    return [descriptor(m, p.type.ndim, gradients.get(k)) for k, (m, p) in enumerate(pairs)]


# ----- many functions at once ---------------------------------------------------------------


def kernel_of(functions: list[Function]) -> Function:
    """A kernel that applies every function to the thread's element of its operand arrays."""
    body = Region()
    params: list[Value] = []
    builder = Builder(body)
    with builder.active():
        i = builder.call(threads.tid.rows[0], (), (int32,), {"ndim": 1})
        for fn in functions:
            operands = [Value(array_type(p.type, 1)) for p in fn.params]
            results = [Value(array_type(t, 1)) for t in fn.result_types]
            made = builder.call(fn, tuple(memory.load(a, i) for a in operands), fn.result_types)
            for array, value in zip(results, made if isinstance(made, tuple) else (made,), strict=True):
                memory.store(array, i, value)
            params += [*operands, *results]
    body.params = tuple(params)
    return verify(inline(Function("rows", body)))


def compiled_results(
    functions: list[Function], points: list[list[tuple[Any, ...]]], optimized: bool = True
) -> list[list[np.ndarray]]:
    """Per function, the arrays of its results at its points; all run in one kernel."""
    threads = max(map(len, points))
    outputs, memory = [], []
    for fn, own in zip(functions, points, strict=True):
        padded = [own[k % len(own)] for k in range(threads)]
        columns = zip(*padded, strict=True)
        operands = [array_of(list(c), p.type) for c, p in zip(columns, fn.params, strict=True)]
        results = [np.zeros(threads, structs.numpy_dtype(t)) for t in fn.result_types]
        memory += [*operands, *results]
        outputs.append(results)
    run_compiled(kernel_of(functions), memory, threads, optimized=optimized)
    return [[r[: len(own)] for r in results] for results, own in zip(outputs, points, strict=True)]


def batches(functions: list[Function], size: int) -> list[list[int]]:
    """Positions of the functions in groups of about `size` nodes each."""
    groups: list[list[int]] = [[]]
    room = size
    for k, fn in enumerate(functions):
        cost = count(fn.body) + 3
        if cost > room and groups[-1]:
            groups.append([])
            room = size
        groups[-1].append(k)
        room -= cost
    return groups
