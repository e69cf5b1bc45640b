"""Reads of a loop at an index that does not change: their gradients add up in a variable where nobody could see it."""

import numpy as np
import pytest
from adjoint_runs import adjoint_program

import warpsim as wp
from warpsim.core.ir.nodes import Call, For, While, walk

Floats = wp.array(dtype=wp.float64)


@wp.kernel
def reads(x: Floats, y: Floats, n: int):
    i = wp.tid()
    v = wp.float64(1.0)
    for k in range(n):
        for _ in range(k):
            if v > 0.5:
                v = v * x[i] + x[0]
        v = v * wp.sin(x[i])
    y[i] = v


@wp.kernel
def moving(x: Floats, y: Floats, n: int):
    i = wp.tid()
    v = wp.float64(1.0)
    for k in range(n):
        v = v * x[k % 3]
    y[i] = v


@wp.kernel
def written(x: Floats, y: Floats, n: int):
    i = wp.tid()
    v = wp.float64(1.0)
    for k in range(n):
        v = v * y[i]
        x[k] = v
        y[i] = v * wp.float64(0.5)
    y[i] = v


def sums_in_loops(kernel):
    """Additions to memory in the loops of an adjoint."""
    loops = [n for n in walk(adjoint_program(kernel, "x", "y").fn.body) if isinstance(n, For | While)]
    inside = {inner for loop in loops for region in loop.regions() for inner in walk(region)}
    return sum(isinstance(n, Call) and n.op.name == "atomic_add" for n in inside)


@pytest.mark.parametrize("kernel, some", [(reads, False), (moving, True)], ids=["invariant", "moving"])
def test_sums_leave_loops_where_their_elements_do_not_change(kernel, some):
    assert bool(sums_in_loops(kernel)) == some


@pytest.mark.parametrize("kernel", [reads, moving, written], ids=lambda k: k.key)
@pytest.mark.parametrize("n", [0, 3, 7])
def test_gradients_are_those_of_differences(kernel, n):
    start = np.linspace(0.4, 1.2, 8)

    def ends(x):
        y = wp.full(3, 0.7, dtype=wp.float64, requires_grad=True)
        a = wp.array(x, dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, 3, [a, y, n])
        return tape, a, y

    tape, a, y = ends(start)
    tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    for k in range(8):
        shift = np.zeros(8)
        shift[k] = 1e-6
        above, below = (float(ends(start + sign * shift)[2].numpy().sum()) for sign in (1, -1))
        assert a.grad.numpy()[k] == pytest.approx((above - below) / 2e-6, rel=1e-6, abs=1e-8)


def test_an_element_that_is_never_read_is_not_touched():
    """The index lies outside where the loop has no iterations: gradients of other arrays stay as they are."""

    @wp.kernel
    def far(x: Floats, y: Floats, at: int, n: int):
        v = wp.float64(1.0)
        for _ in range(n):
            v = v * x[at]
        y[0] = v

    x, y = wp.ones(2, dtype=wp.float64, requires_grad=True), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(far, 1, [x, y, 10**9, 0])
    tape.backward(grads={y: wp.ones(1, dtype=wp.float64)})
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
