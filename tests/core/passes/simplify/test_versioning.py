"""Two versions of loops: which loops get them, and that both compute the same."""

import numpy as np
import pytest
from pass_runs import lowered, nodes, run

import warpsim as wp
from warpsim.core.ir.nodes import For, If
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.versioning import add_versions

Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)


@wp.kernel
def between(x: Floats, r: Ints, y: Floats):
    i = wp.tid()
    for k in range(r[i], r[i + 1]):
        y[i] += x[k + 1]


@wp.kernel
def from_zero(x: Floats, r: Ints, y: Floats):
    i = wp.tid()
    for k in range(r[i]):
        y[i] += x[k]


@wp.kernel
def downwards(x: Floats, r: Ints, y: Floats):
    i = wp.tid()
    for k in range(r[i], -2, -1):
        y[i] += x[k]


@wp.kernel
def no_index_in_it(x: Floats, r: Ints, y: Floats):
    i = wp.tid()
    for k in range(r[i], 5):
        y[i] += x[0] * float(k)


def program(kernel):
    return dce(fold(inline(lowered(kernel))))


@pytest.mark.parametrize(
    ("kernel", "gains"), [(between, True), (from_zero, False), (downwards, False), (no_index_in_it, False)]
)
def test_which_loops_get_two_versions(kernel, gains):
    fn = program(kernel)
    found = add_versions(fn)
    assert len(nodes(found, For)) == 1 + gains
    assert len(nodes(found, If)) == gains
    arguments = [np.arange(1, 7, dtype=np.float32), np.array([-3, 2, 4], np.int32), np.zeros(2, np.float32)]
    for before, after in zip(run(fn, arguments, 2), run(found, arguments, 2), strict=True):
        np.testing.assert_array_equal(before, after)
