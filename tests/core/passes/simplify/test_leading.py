"""`tid()` of fewer indices than the launch has dimensions takes the leading ones, and nothing else changes."""

import pytest

import warpsim as wp
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.ir.verify import verify
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.leading import with_leading_indices


@wp.func
def first():
    return wp.tid()


@wp.kernel
def one_index(out: wp.array[int]):
    if wp.tid() > 2:
        out[first()] = 1


@wp.kernel
def two_indices(out: wp.array2d[int]):
    i, j = wp.tid()
    out[i, j] = i * j


def tids(fn):
    return [node for node in walk(fn.body) if isinstance(node, Call) and node.op.name == "tid"]


def lowered(kernel):
    return inline(kernel.lower(tuple(kernel.patterns.values())))


@pytest.mark.parametrize("kernel, own", [(one_index, 1), (two_indices, 2)])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_the_other_indices_go_behind(kernel, own, rank):
    fn = lowered(kernel)
    wide = with_leading_indices(fn, rank)
    verify(wide)
    for before, after in zip(tids(fn), tids(wide), strict=True):
        assert after.results[:own] == before.results and len(after.results) == max(own, rank)
        assert after.attributes["ndim"] == len(after.results)
    assert len(tids(fn)[0].results) == own  # the original is as it was
    assert kernel is one_index or rank > 2 or wide.body is fn.body


def test_no_rank_leaves_all_as_it_is():
    fn = lowered(one_index)
    assert with_leading_indices(fn, 0) is fn
