"""The estimate of work orders kernels as their running times do, and depends on the program alone."""

from pass_kernels import GALLERY
from pass_runs import lowered

import warpsim as wp
from warpsim.core.passes.analysis.cost import estimate
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll

Floats, Matrices = wp.array(dtype=float), wp.array(dtype=wp.mat44)


def work(kernel):
    return estimate(unroll(inline(lowered(kernel)), 16))


@wp.kernel
def copies(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel
def scales(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = 2.0 * x[i] + 1.0


@wp.kernel
def curves(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + 1.0


@wp.kernel
def repeats(x: Floats, y: Floats, n: int):
    i = wp.tid()
    for _ in range(n):
        y[i] = wp.sin(x[i]) + 1.0


@wp.kernel
def long_block(x: Floats, y: Floats):
    i = wp.tid()
    for k in range(1000):
        y[1000 * i + k] = wp.sin(x[1000 * i + k]) + 1.0


@wp.kernel
def backward_block(x: Floats, y: Floats):
    i = wp.tid()
    for k in range(999, -1, -1):
        y[1000 * i + k] = wp.sin(x[1000 * i + k]) + 1.0


@wp.kernel
def nested(x: Floats, y: Floats, n: int):
    i = wp.tid()
    for _a in range(n):
        for _b in range(n):
            y[i] = wp.sin(x[i]) + 1.0


@wp.kernel
def products(x: Matrices, y: Matrices):
    i = wp.tid()
    y[i] = x[i] * y[i]


def test_trips_that_are_known_count():
    one, block, backward = (work(kernel) for kernel in (curves, long_block, backward_block))
    assert block.moved == backward.moved == 1000 * one.moved
    assert 1000 * one.operations < block.operations == backward.operations < 1300 * one.operations


def test_more_work_costs_more():
    order = [copies, scales, curves, repeats, nested]
    times = [work(kernel).nanoseconds for kernel in order]
    assert times == sorted(times) and len(set(times)) == len(times)


def test_memory_is_counted_by_scalars():
    assert work(copies).moved == 2 and work(products).moved == 3 * 16
    assert work(copies).operations == 0


def test_loops_of_unknown_length_repeat():
    once, many, squared = (work(kernel).operations for kernel in (curves, repeats, nested))
    assert many == 8 * once and squared == 64 * once


def test_wide_elements_decide_against_vectors():
    assert work(products).wide == work(products).moved == 48.0 and not work(products).gains_from_vectors
    assert work(curves).gains_from_vectors


def test_the_estimate_is_the_same_in_every_run():
    for kernel in GALLERY:
        fn = inline(lowered(kernel))
        again = inline(lowered(kernel))
        assert estimate(fn) == estimate(again) and estimate(fn).nanoseconds > 0
