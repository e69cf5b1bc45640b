"""Arrays are followed into functions that stay calls, for their gradients or replays."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError


@wp.func
def squared(x: wp.array(dtype=float), i: int):
    return x[i] * x[i]


@wp.func_replay(squared)
def squared_again(x: wp.array(dtype=float), i: int):
    return x[i] * x[i]


@wp.func
def cubed(x: wp.array(dtype=float), i: int):
    return x[i] * x[i] * x[i]


@wp.func_grad(cubed)
def adj_cubed(x: wp.array(dtype=float), i: int, adj_ret: float):
    wp.adjoint[x][i] += 3.0 * x[i] * x[i] * adj_ret


@wp.func
def copied(x: wp.array(dtype=float), i: int):
    return x[i]


@wp.func_grad(copied)
def adj_copied(x: wp.array(dtype=float), i: int, adj_ret: float):
    wp.adjoint[x][i] += adj_ret


@wp.kernel
def two_arrays(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = squared(x, i) + 3.0 * squared(y, i)


@wp.kernel
def changed_afterwards(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = cubed(x, i) + copied(y, i)
    x[i] = 0.0


@wp.kernel
def changed_without_harm(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = copied(x, i) + cubed(y, i)
    x[i] = 0.0


def slopes(kernel):
    x, y, out = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(3))
    with wp.Tape() as tape:
        wp.launch(kernel, dim=2, inputs=[x, y], outputs=[out])
    tape.backward(grads={out: wp.ones(2, dtype=float)})
    return x.grad.numpy(), y.grad.numpy()


def test_a_function_that_has_a_replay_alone_gives_gradients_of_the_arrays_that_it_reads():
    found = slopes(two_arrays)
    np.testing.assert_array_equal(found, [[2.0, 4.0], [6.0, 12.0]])


def test_a_written_gradient_that_looks_at_an_array_changed_afterwards_is_refused():
    with pytest.raises(NotDifferentiableError) as caught:
        slopes(changed_afterwards)
    assert str(caught.value).startswith("the gradient of 'cubed' looks at 'x', which the kernel changes after the call")
    assert str(caught.value).endswith("help: write the result to another array")


def test_one_that_does_not_look_is_not():
    np.testing.assert_array_equal(slopes(changed_without_harm), [[1.0, 1.0], [3.0, 12.0]])


@wp.struct
class Inner:
    data: wp.array(dtype=float)
    scale: float


@wp.struct
class Outer:
    inner: Inner


@wp.kernel
def fresh_struct_of_structs(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    held = Outer()
    empty = len(held.inner.data)
    held.inner.data = x
    out[i] = held.inner.data[i] * held.inner.data[i] + float(empty)


def test_a_struct_in_a_new_struct_holds_no_arrays_until_it_is_given_some():
    x, out = (wp.array([2.0, 3.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(fresh_struct_of_structs, 2, [x], [out])
    assert out.numpy().tolist() == [4.0, 9.0]
    tape.backward(grads={out: wp.array([1.0, 1.0], dtype=float)})
    assert x.grad.numpy().tolist() == [4.0, 6.0]
