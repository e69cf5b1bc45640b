"""Passes keep what a program means: for every kernel of the gallery, memory is the same to the bit before and after.

They also keep the grammar, and never touch the program they are given.
"""

import numpy as np
import pytest
from pass_kernels import GALLERY, THREADS, arguments
from pass_runs import lowered, run

import warpsim as wp
from warpsim.core.ir.printer import print_function
from warpsim.core.ir.verify import verify
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll

PASSES = {
    "inline": inline,
    "unroll": lambda fn: unroll(fn, 16),
    "unroll2": lambda fn: unroll(fn, 2),
    "fold": fold,
    "dce": dce,
}
ORDERS = [
    ("inline",),
    ("unroll", "inline"),
    ("dce", "fold", "inline"),
    ("inline", "unroll", "fold", "dce"),
    ("inline", "fold", "unroll", "fold", "dce"),
    ("inline", "dce", "unroll2", "dce", "fold", "unroll", "fold", "dce"),
]


@pytest.fixture(scope="module")
def reference():
    found = {}
    for kernel in GALLERY:
        found[kernel.key] = run(lowered(kernel), arguments(), THREADS)
    return found


@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_the_gallery_does_something(kernel, reference):
    changed = [not np.array_equal(a, b) for a, b in zip(arguments(), reference[kernel.key], strict=True)]
    assert any(changed)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_memory_is_the_same_after_every_pass(kernel, order, reference):
    fn = lowered(kernel)
    for name in order:
        before = print_function(fn, lines=True)
        after = verify(PASSES[name](fn), name)
        assert print_function(fn, lines=True) == before, f"{name} changed the program it was given"
        for want, got in zip(reference[kernel.key], run(after, arguments(), THREADS), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=name)
        fn = after


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_a_second_round_finds_nothing_to_do(kernel, name):
    fn = inline(lowered(kernel))
    once = PASSES[name](fn)
    assert print_function(PASSES[name](once)) == print_function(once)


@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_the_cpu_agrees_with_the_program_before_any_pass(kernel, reference):
    memory = [wp.array(a, dtype=t.dtype) for a, t in zip(arguments(), kernel.patterns.values(), strict=True)]
    wp.launch(kernel, THREADS, memory, block_dim=1, max_blocks=1)  # in order, as the program runs
    for want, got in zip(reference[kernel.key], memory, strict=True):
        np.testing.assert_array_equal(got.numpy(), want)
