"""The binary tree of common prefixes of sorted keys, every inner node found by a thread of its own.

Of m sorted keys, inner node i < m - 1 is one end of the range of all keys that share its prefix, which is split where
the next bit changes (Karras 2012, Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees). Equal
keys are told apart by their positions. Node 0 is the root. Where nodes are meant, ~j is a leaf: the key at position j.

A path has at most as many inner nodes as keys and positions have bits. Of fewer than two keys there is one node,
whose range is all there is.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.language import array, array_type, empty, func, int32, int64, kernel, launch, max, min, struct, tid, where
from .extent import Extent
from .morton import Order


@struct
class Branch:
    """An inner node: its children, and its range of keys, both ends included."""

    left: int32
    right: int32
    first: int32
    last: int32


class RadixTree(NamedTuple):
    """Tables with places for as many boxes as there are, finite or not."""

    branches: array  # (n,) `Branch`: inner node i at i
    parents: array  # (2 n,) int32: of inner node i at i, of leaf ~j at n + j; the root's is not defined


@func
def difference(keys: array_type(int64, 1), position_bits: int32, i: int32, j: int32, count: int32) -> int64:
    """The bits in which two keys, each followed by its position, differ; all bits where there is no key j.

    Of two numbers that stand for pairs with a common key, the smaller one stands for the longer common prefix, if
    these prefixes differ in length.
    """
    if j < 0 or j >= count:
        return int64(0x7FFFFFFFFFFFFFFF)
    return (keys[i] ^ keys[j]) << int64(position_bits) | int64(i ^ j)


@func
def range_end(keys: array_type(int64, 1), position_bits: int32, i: int32, step: int32, count: int32) -> int32:
    """The other end of the range of inner node i, which goes on from i in direction `step`."""
    limit = difference(keys, position_bits, i, i - step, count)
    reach = int32(2)
    while difference(keys, position_bits, i, i + reach * step, count) < limit:
        reach = reach * 2
    length = int32(0)
    while reach > 1:
        reach = reach >> 1
        if difference(keys, position_bits, i, i + (length + reach) * step, count) < limit:
            length += reach
    return i + length * step


@func
def split_of(keys: array_type(int64, 1), position_bits: int32, first: int32, last: int32, count: int32) -> int32:
    """The last position of the left half of a range: of keys that share more bits with the first than the last does."""
    whole = difference(keys, position_bits, first, last, count)
    low, high = first, last
    while high - low > 1:
        at = (low + high) >> 1
        here = difference(keys, position_bits, first, at, count)
        # x < y and x < x ^ y says that the highest bit of x is below that of y.
        if here < whole and here < (here ^ whole):
            low = at
        else:
            high = at
    return low


@kernel
def _link(
    keys: array(dtype=int64),
    position_bits: int32,
    extent: array(dtype=Extent),
    branches: array(dtype=Branch),
    parents: array(dtype=int32),
):
    """Find one inner node, and tell its children."""
    i = tid()
    count = extent[0].count
    if count < 2:
        if i == 0:
            branches[0] = Branch(left=-1, right=-1, first=0, last=count - 1)
    elif i < count - 1:
        before = difference(keys, position_bits, i, i - 1, count)
        after = difference(keys, position_bits, i, i + 1, count)
        end = range_end(keys, position_bits, i, where(after < before, 1, -1), count)
        first, last = min(i, end), max(i, end)
        at = split_of(keys, position_bits, first, last, count)
        left = where(at == first, ~at, at)
        right = where(at + 1 == last, ~(at + 1), at + 1)
        branches[i] = Branch(left=left, right=right, first=first, last=last)
        parents[where(left >= 0, at, branches.shape[0] + at)] = i
        parents[where(right >= 0, at + 1, branches.shape[0] + at + 1)] = i


def radix_tree(order: Order) -> RadixTree:
    """The tree over boxes in order."""
    device, n = order.keys.device, order.keys.size // 2 or 1
    branches, parents = empty(n, Branch, device), empty(2 * n, int32, device)
    inputs = [order.keys, order.position_bits, order.extent]
    launch(_link, n, inputs, [branches, parents], device=device, record_tape=False)
    return RadixTree(branches, parents)
