"""`for x in a`: loops over arrays, slices and structs that say what their items are, as Python runs them."""

import numpy as np
import pytest
from kernel_runs import like_python, nodes_of

import warpsim as wp
from warpsim.core.ir.nodes import For

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)


@wp.kernel
def over_elements(out: Floats, a: Floats):
    total = float(0.0)
    k = int(0)
    for x in a:
        k += 1
        total += x * float(k)
    out[wp.tid()] = total


@wp.kernel
def over_a_slice(out: Floats, a: Floats, n: int):
    i = wp.tid()
    for x in a[i : i + n]:
        out[i] += 2.0 * x


@wp.kernel
def left_early(out: Ints, a: Ints):
    i = wp.tid()
    last = int(-1)
    for x in a:
        if x == 3:
            continue
        if x > i + 4:
            break
        last = x
    out[i] = last


@wp.kernel
def returned_from(out: Ints, a: Ints):
    i = wp.tid()
    for x in a:
        if x > i:
            out[i] = x
            return


@wp.kernel
def over_rows(out: wp.array2d(dtype=float), a: wp.array2d(dtype=float)):
    i = wp.tid()
    n = int(0)
    for row in a:
        for x in row:
            out[i, n] += x * float(i)
        n += 1


@wp.kernel
def last_value(out: Ints, a: Ints):
    x = int(7)
    for x in a:  # noqa: B007
        pass
    out[wp.tid()] = x


@wp.kernel
def changed_within(out: Ints, a: Ints, b: Ints):
    i = wp.tid()
    for x in a:
        a = b
        out[i] += x
    out[i] += 100 * a[0]


A, B = np.array([2, 3, 1, 6, 9], np.int32), np.array([5, 5], np.int32)
X = np.array([0.5, -1.0, 2.0, 4.0], np.float32)


@pytest.mark.parametrize(
    ("kernel", "dim", "args"),
    [
        (over_elements, 2, [np.zeros(2, np.float32), X]),
        (over_elements, 2, [np.zeros(2, np.float32), X[:0]]),
        (over_a_slice, 5, [np.zeros(5, np.float32), X, 3]),
        (left_early, 6, [np.zeros(6, np.int32), A]),
        (returned_from, 10, [np.zeros(10, np.int32), A]),
        (over_rows, 3, [np.zeros((3, 2), np.float32), X.reshape(2, 2)]),
        (last_value, 1, [np.zeros(1, np.int32), A]),
        (last_value, 1, [np.zeros(1, np.int32), A[:0]]),
        (changed_within, 2, [np.zeros(2, np.int32), A, B]),
    ],
)
def test_loops_run_as_in_python(kernel, dim, args):
    like_python(kernel, dim, *args)


def test_a_loop_over_an_array_is_a_counted_loop():
    assert len(nodes_of(over_elements, For)) == 1


@wp.kernel
def weighted(a: Floats, weights: Floats, loss: Floats):
    i = wp.tid()
    for w in weights[i:]:
        loss[0] += w * w * a[i]


def test_gradients_reach_the_elements():
    a, weights, loss = (wp.array(x, dtype=float, requires_grad=True) for x in ([2.0, 3.0], [1.0, -4.0], [0.0]))
    with wp.Tape() as tape:
        wp.launch(weighted, 2, [a, weights, loss])
    tape.backward(loss)
    assert loss.numpy().tolist() == [(1.0 + 16.0) * 2.0 + 16.0 * 3.0]
    assert a.grad.numpy().tolist() == [17.0, 16.0]
    assert weights.grad.numpy().tolist() == [2.0 * 2.0, -8.0 * 5.0]


# ----- structs that are sequences -------------------------------------------------------------


@wp.struct
class Row:
    ids: wp.array2d(dtype=int)
    row: int
    count: int


@wp.func
def count_of(row: Row) -> int:
    return row.count


@wp.func
def item_of(row: Row, k: int) -> int:
    return row.ids[row.row, k]


Row.items_in_kernel = count_of, item_of


@wp.func
def row_of(ids: wp.array2d(dtype=int), counts: Ints, i: int) -> Row:
    return Row(ids, i, counts[i])


@wp.kernel
def gathered(ids: wp.array2d(dtype=int), counts: Ints, x: Floats, out: Floats):
    i = wp.tid()
    for j in row_of(ids, counts, i):
        out[i] += x[j]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_struct_can_be_a_sequence(device):
    ids = wp.array([[0, 2, 9], [1, 9, 9], [9, 9, 9]], dtype=int, device=device)
    counts = wp.array([2, 1, 0], dtype=int, device=device)
    x = wp.array([1.0, 10.0, 100.0], dtype=float, device=device, requires_grad=True)
    out = wp.zeros(3, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(gathered, 3, [ids, counts, x, out], device=device)
    tape.backward(grads={out: wp.array([1.0, 2.0, 3.0], dtype=float, device=device)})
    assert out.numpy().tolist() == [101.0, 10.0, 0.0]
    assert x.grad.numpy().tolist() == [1.0, 2.0, 1.0]
