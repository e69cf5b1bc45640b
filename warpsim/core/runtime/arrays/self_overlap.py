"""Internal overlap: whether two elements of a strided layout share memory.

Guarantees: exact for every layout that has, once dimensions that follow on each other are joined, at most two
dimensions left, and for all others unless that takes more than some thousand steps; then the answer is yes.

Elements share memory if the layout has two indices whose difference d, each component less than an extent, leads no
farther than an element is long: |sum of d[k] strides[k]| < itemsize. Where every stride clears what lies inside of it,
as in slices of packed arrays, there is none. Otherwise it is a bounded integer problem.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_MOST_STEPS = 4096

Axis = tuple[int, int]
"""A stride [bytes], and the largest difference of two indices along it."""


def meets_itself(memory: np.ndarray) -> bool:
    """Whether two elements share memory, as in a broadcast."""
    return elements_meet(memory.shape, memory.strides, memory.itemsize)


@lru_cache(maxsize=1024)
def elements_meet(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """`meets_itself` of any memory with this shape and these strides [bytes]."""
    if 0 in shape:
        return False
    axes, block = join_axes(sorted((abs(s), n - 1) for s, n in zip(strides, shape, strict=True) if n > 1), itemsize)
    if is_nested(axes, block):
        return False
    if axes[0][0] < block:
        return True
    return pair_meets(axes[0], axes[1], block) if len(axes) == 2 else Search(axes, block).finds()


def join_axes(axes: list[Axis], itemsize: int) -> tuple[list[Axis], int]:
    """As few axes as have the same elements, the smallest stride first; packed inner ones make blocks of bytes."""
    result: list[Axis] = []
    block = itemsize
    for stride, most in axes:
        if not result and stride == block:
            block += stride * most
        elif result and stride == result[-1][0] * (result[-1][1] + 1):
            result[-1] = (result[-1][0], result[-1][1] + (result[-1][1] + 1) * most)
        else:
            result.append((stride, most))
    return result, block


def is_nested(axes: list[Axis], block: int) -> bool:
    """Whether every stride clears what lies inside of it."""
    reach = block
    for stride, most in axes:
        if stride < reach:
            return False
        reach += stride * most
    return True


def pair_meets(inner: Axis, outer: Axis, block: int) -> bool:
    """The exact answer for two strides, the smaller one first: some multiple of one comes close to one of the other."""
    (short, most_short), (long, most_long) = inner, outer
    reach = short * most_short
    last = min(most_long, reach // long)  # steps along the longer stride that do not lead out
    if most_long > last and (last + 1) * long < reach + block:
        return True
    if last == 0:
        return False
    if 2 * block > short:
        return True
    low, high = (-long - block + 1) % short, (-long + block - 1) % short
    steps = 0 if low > high else first_multiple(long % short, short, low, high)
    return steps is not None and steps + 1 <= last


def first_multiple(a: int, m: int, low: int, high: int) -> int | None:
    """The least x from 0 on with low <= (a x mod m) <= high, for 0 <= low <= high < m, by Euclid's algorithm."""
    if low == 0:
        return 0
    if a == 0:
        return None
    x = -(-low // a)
    if x * a <= high:
        return x
    rounds = first_multiple(m % a, a, -high % a, -low % a)
    return None if rounds is None else -(-(low + m * rounds) // a)


class Search:
    """A search for two elements that meet: differences along one axis after the other, the longest stride first."""

    def __init__(self, axes: list[Axis], block: int):
        self.axes, self.block, self.steps = axes[::-1], block, 0
        self.reach = [sum(s * n for s, n in self.axes[k + 1 :]) for k in range(len(axes))]

    def finds(self, k: int = 0, offset: int = 0, apart: bool = False) -> bool:
        """Whether there are differences along the axes from `k` on that lead from an offset to less than an element."""
        if k == len(self.axes):
            return apart and abs(offset) < self.block
        stride, most = self.axes[k]
        room = self.reach[k] + self.block - 1
        low, high = max(-most, -((room + offset) // stride)), min(most, (room - offset) // stride)
        for d in range(low if apart else 0, high + 1):  # of two opposite differences, one will do
            self.steps += 1
            if self.steps > _MOST_STEPS or self.finds(k + 1, offset + d * stride, apart or d > 0):
                return True
        return False
