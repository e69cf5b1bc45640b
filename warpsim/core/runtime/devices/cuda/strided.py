"""Strided copies and sums within the memory of one device, by kernels of our own.

They are compiled here, as kernels and launches stand on memory, not under it. Copied elements travel as words of
1, 2, 4 or 8 bytes, the widest that strides and addresses allow. Extents that lie in one line are joined first; where
more than four are left, the outermost are walked here.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .... import compile as compiler
from ....emit.layout import header
from ....emit.target import Options
from ....frontend.source.source import Source
from ....ops import tid
from ....types.arrays import array_type
from ....types.extents import MAX_EXTENT
from ....types.scalars import float16, float32, float64, uint8, uint16, uint32, uint64
from .function import CudaFunction

if TYPE_CHECKING:
    from .device import CudaDevice
    from .memory import CudaMemory


_WORDS = {8: uint64, 4: uint32, 2: uint16, 1: uint8}
_RANK = 4
SUMMED = {"e": float16, "f": float32, "d": float64}
"""Kernel types of the numbers that `add` takes, by NumPy's letter."""


def move(target: Any, source: Any) -> None:
    i, j, k, m = tid()
    target[i, j, k, m] = source[i, j, k, m]


def accumulate(target: Any, source: Any) -> None:
    i, j, k, m = tid()
    target[i, j, k, m] = target[i, j, k, m] + source[i, j, k, m]


def copy(target: CudaMemory, source: CudaMemory) -> None:
    """target[...] = source on the current stream, for views of one shape and dtype that share no element."""
    lines = _lines(target, source)
    size = target.itemsize
    word = next(w for w in _WORDS if all(not x % w for x in (size, target.address, source.address, *_steps(lines))))
    if size > word:
        lines = join_lines([*lines, (size // word, word, word)])
    _walk(move, _WORDS[word], lines, target, source)


def add(target: CudaMemory, source: CudaMemory) -> None:
    """target += source on the current stream, for views of one shape and dtype of `SUMMED` numbers."""
    _walk(accumulate, SUMMED[target.dtype.char], _lines(target, source), target, source)


def join_lines(lines: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Extents with their strides [bytes] in both views, neighbours joined where they lie in one line."""
    axes: list[tuple[int, int, int]] = []
    for n, t, s in lines:
        if axes and axes[-1][1:] == (n * t, n * s) and axes[-1][0] * n <= MAX_EXTENT:
            axes[-1] = (axes[-1][0] * n, t, s)
        else:
            axes.append((n, t, s))
    return axes


def _steps(lines: list[tuple[int, int, int]]) -> list[int]:
    return [step for _, t, s in lines for step in (t, s)]


def _lines(target: CudaMemory, source: CudaMemory) -> list[tuple[int, int, int]]:
    return join_lines(
        [(n, t, s) for n, t, s in zip(target.shape, target.strides, source.strides, strict=True) if n != 1]
    )


def _walk(
    body: Callable[..., None], word: type, lines: list[tuple[int, int, int]], target: CudaMemory, source: CudaMemory
) -> None:
    """Run the body of a kernel for all extents."""
    outer, inner = lines[:-_RANK], lines[-_RANK:]
    loaded = _load(body, word, target.device)
    for place in itertools.product(*(range(n) for n, _, _ in outer)):
        at = [sum(k * line[which] for k, line in zip(place, outer, strict=True)) for which in (1, 2)]
        _run(loaded, inner, target.address + at[0], source.address + at[1])


@cache
def _load(body: Callable[..., None], word: type, device: CudaDevice) -> CudaFunction:
    """A kernel on a device, for elements of a type."""
    t = array_type(word, _RANK)
    program = compiler.finish(compiler.lower(Source(body), {"target": t, "source": t}, [t, t]), max_unroll=0)
    function: CudaFunction = device.build(program, Options(layouts=("A", "A")))
    return function


def _run(loaded: CudaFunction, lines: list[tuple[int, int, int]], target: int, source: int) -> None:
    """Launch over up to four extents."""
    lines = [(1, 0, 0)] * (_RANK - len(lines)) + lines
    shape = tuple(n for n, _, _ in lines)
    views = [(address, 0, *shape, *(line[k] for line in lines)) for k, address in ((1, target), (2, source))]
    block = header(shape) + b"".join(struct.pack("<10Q", *v) for v in views)
    loaded.run(block, math.prod(shape), loaded.checked_block_dim(None, ""), 0)
