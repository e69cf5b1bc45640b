"""The binary tree of common prefixes is the one that splitting at the highest bit that differs gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.geometry.bvh.extent import Extent
from warpsim.geometry.bvh.morton import Order
from warpsim.geometry.bvh.radix_tree import radix_tree


def tree_over(keys, strays=0, device=None):
    """The tree over keys and some more, of boxes that are left out."""
    n = len(keys) + strays
    held = np.zeros(2 * n, np.int64)
    held[: len(keys)] = keys
    held[len(keys) : n] = 2**62
    extent = Extent()
    extent.count = len(keys)
    given = wp.array(held, dtype=wp.int64, device=device), wp.zeros(2 * n, dtype=int, device=device)
    bits = max(n - 1, 0).bit_length()
    tree = radix_tree(Order(*given, 30, bits, wp.array([extent], dtype=Extent, device=device)))
    return tree.branches.numpy(), tree.parents.numpy()


def expected_split(keys, first, last):
    """The last position on the left, by the highest bit in which the ends differ."""
    if keys[first] == keys[last]:
        bit = (first ^ last).bit_length() - 1
        return max(k for k in range(first, last) if not k >> bit & 1)
    bit = (keys[first] ^ keys[last]).bit_length() - 1
    return max(k for k in range(first, last) if not keys[k] >> bit & 1)


def check(keys, branches, parents):
    """Walk the tree from its root; every node must be the one that it should be."""
    waiting, seen = [(0, 0, len(keys) - 1)], set()
    while waiting:
        node, first, last = waiting.pop()
        left, right, *ends = branches[node].item()
        assert ends == [first, last] and node in (first, last) and node not in seen
        seen.add(node)
        middle = expected_split(keys, first, last)
        for child, low, high in ((left, first, middle), (right, middle + 1, last)):
            if low == high:
                assert child == ~low and parents[len(branches) + low] == node
            else:
                assert parents[child] == node
                waiting.append((child, low, high))
    assert seen == set(range(len(keys) - 1))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 2**30 - 1) | st.integers(0, 3), min_size=2, max_size=80), st.integers(0, 3))
def test_any_keys_make_the_tree_of_prefixes(keys, strays):
    keys = sorted(keys)
    check(keys, *tree_over(keys, strays))


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("keys", [[5] * 37, [2**k for k in range(30)], list(range(64)), [0] * 20 + [7] * 3])
def test_keys_with_many_common_bits(keys, device):
    check(keys, *tree_over(keys, device=device))


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("strays", [0, 1, 5])
def test_fewer_than_two_keys_have_one_node(count, strays):
    branches, _ = tree_over([3] * count, strays)
    assert branches[0].item()[2:] == (0, count - 1)
