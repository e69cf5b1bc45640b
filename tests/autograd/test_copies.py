"""Private copies: nothing reaches the originals, and what shared memory shares it still."""

import numpy as np

import warpsim as wp
from warpsim.autograd.copies import PrivateCopies


@wp.struct
class State:
    q: wp.array(dtype=float)
    dt: float


@wp.kernel
def shift(state: State, x: wp.array(dtype=float), picked: wp.indexedarray(dtype=float)):
    i = wp.tid()
    x[i] += state.q[i] * state.dt
    picked[i] = 9.0


def test_views_still_share_memory_and_gradients():
    whole = wp.array(np.arange(8.0), dtype=float, requires_grad=True)
    copies = PrivateCopies([whole, whole[2:5], whole])
    first, part, again = copies.args
    assert first is again
    part[0] = -1.0
    part.grad[0] = 5.0
    assert first.numpy()[2] == -1.0 and first.grad.numpy()[2] == 5.0
    assert whole.numpy()[2] == 2.0 and not whole.grad.numpy().any()
    copies.restore()
    np.testing.assert_array_equal(first.numpy(), whole.numpy())
    assert not first.grad.numpy().any()


def test_strides_and_alignment_stay():
    whole = wp.zeros((4, 5), dtype=float, requires_grad=True)
    (column,) = PrivateCopies([whole[:, 2]]).args
    assert column.strides == whole[:, 2].strides and column.grad.strides == column.strides
    assert column.ptr % 64 == whole[:, 2].ptr % 64


def test_structs_indexed_arrays_and_numbers():
    state = State()
    state.q, state.dt = wp.ones(2), 0.5
    x = wp.zeros(2)
    base = wp.zeros(4)
    picked = wp.indexedarray(base, [wp.array([1, 3], dtype=int)])
    copies = PrivateCopies([state, x, picked, 3.5])
    wp.launch(shift, dim=2, inputs=copies.args[:3])
    assert copies.args[3] == 3.5
    np.testing.assert_array_equal(copies.args[1].numpy(), [0.5, 0.5])
    np.testing.assert_array_equal(copies.args[2].data.numpy(), [0, 9, 0, 9])
    assert not x.numpy().any() and not base.numpy().any()


def test_an_array_without_elements():
    (empty,) = PrivateCopies([wp.zeros(0, dtype=wp.vec3, requires_grad=True)]).args
    assert empty.shape == (0,) and empty.requires_grad
