"""The forward half of an adjoint: what runs again, and on which memory."""

import numpy as np

import warpsim as wp

Floats = wp.array(dtype=float)


@wp.func
def place_of_largest(x: Floats, n: int) -> int:
    """By a sort in a local array, of which one row is used."""
    order = wp.zeros(shape=(2, 8), dtype=int)
    row = order[1]
    for k in range(n):
        j = int(k)
        while j > 0 and x[row[wp.max(j - 1, 0)]] < x[k]:
            row[j] = row[wp.max(j - 1, 0)]
            j -= 1
        row[j] = k
    return order[1, 0]


@wp.func_grad(place_of_largest)
def _adj_place_of_largest(x: Floats, n: int, adj_place: int):
    """Nothing: a place is a number."""


@wp.kernel
def squared_largest(x: Floats, out: Floats):
    largest = x[place_of_largest(x, x.shape[0])]
    out[0] = largest * largest


def test_local_arrays_of_a_function_with_its_own_gradient():
    """The function runs again in reverse with what it writes to arrays of its own."""
    x = wp.array([1.0, 5.0, 3.0, 4.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squared_largest, dim=1, inputs=[x, out])
    tape.backward(out)
    np.testing.assert_array_equal(x.grad.numpy(), [0, 10, 0, 0])
