"""Arrays in struct parameters: contiguous ones have constant strides in machine code, others are read all the same."""

import numpy as np
import pytest

import warpsim as wp

Vectors = wp.array(dtype=wp.vec3)


@wp.struct
class Inner:
    v: Vectors
    scale: float


@wp.struct
class Moving:
    x: Vectors
    inner: Inner
    unused: wp.array2d(dtype=float)


@wp.kernel
def advance(moving: Moving):
    i = wp.tid()
    moving.x[i] = moving.x[i] + moving.inner.v[i] * moving.inner.scale


def strided(values):
    """Every second element of an array with these values there, and ones between."""
    whole = wp.array(np.repeat(np.asarray(values, np.float32), 2, axis=0), dtype=wp.vec3)
    return whole, whole[::2]


@pytest.mark.parametrize("order", [(False, True, False), (True, False, True)])
def test_both_kinds_of_arrays_in_turn(order):
    start = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    dense = Moving(wp.array(start, dtype=wp.vec3), Inner(wp.array(start, dtype=wp.vec3), 2.0))
    whole, every_second = strided(start)
    spread = Moving(every_second, Inner(wp.array(start, dtype=wp.vec3), 2.0))
    for is_spread in order:
        wp.launch(advance, 4, [spread if is_spread else dense])
    assert dense.x.numpy().tolist() == (start * (1.0 + 2.0 * order.count(False))).tolist()
    assert every_second.numpy().tolist() == (start * (1.0 + 2.0 * order.count(True))).tolist()
    assert whole.numpy()[1::2].tolist() == start.tolist()


def test_recorded_launches_and_graphs_see_other_arrays():
    start = np.ones((4, 3), np.float32)
    moving = Moving(wp.array(start, dtype=wp.vec3), Inner(wp.array(start, dtype=wp.vec3), 1.0))
    command = wp.launch(advance, 4, [moving], record_cmd=True)
    command.launch()
    whole, every_second = strided(start)
    moving.x = every_second
    command.launch()
    assert every_second.numpy().tolist() == (2.0 * start).tolist() and whole.numpy()[1::2].tolist() == start.tolist()


def test_gradients_of_both_kinds():
    start = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    for spread in (False, True):
        x = wp.array(start, dtype=wp.vec3, requires_grad=True)
        v = wp.zeros(8, dtype=wp.vec3, requires_grad=True)
        part = v[::2] if spread else v[:4]
        with wp.Tape() as tape:
            wp.launch(advance, 4, [Moving(x, Inner(part, 3.0))])
        tape.backward(grads={x: wp.array(start, dtype=wp.vec3)})
        np.testing.assert_array_equal(part.grad.numpy(), 3.0 * start)
