"""`wp.utils` under a tape: gradients of sums, scans, casts and sorts; overwrites."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import TapeOverwriteError


def leaf(*values, dtype=wp.float32):
    return wp.array(list(values), dtype=dtype, requires_grad=True)


def plain(*values, dtype=wp.float32):
    return wp.array(list(values), dtype=dtype)


def grad(a):
    return a.grad.numpy().tolist()


def test_array_sum():
    x, loss = leaf(1, 2, 3), leaf(0)
    with wp.Tape() as tape:
        wp.utils.array_sum(x, out=loss, value_count=2)
    tape.backward(loss)
    assert (loss.numpy()[0], grad(x)) == (3.0, [1.0, 1.0, 0.0])


def test_array_sum_of_vectors_along_an_axis():
    x = wp.array(np.arange(12.0).reshape(2, 3, 2), dtype=wp.vec2, requires_grad=True)
    out = wp.zeros((2, 1), dtype=wp.vec2, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_sum(x, out=out, axis=1)
    tape.backward(grads={out: wp.array([[[1, 2]], [[3, 4]]], dtype=wp.vec2)})
    assert grad(x) == [[[1.0, 2.0]] * 3, [[3.0, 4.0]] * 3]


def test_array_inner_needs_contents():
    a, b, loss = leaf(1, 2, 3), leaf(4, 5, 6), leaf(0)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, b, out=loss)
        a.zero_()
    tape.backward(loss)
    assert (loss.numpy()[0], grad(a), grad(b)) == (32.0, [4.0, 5.0, 6.0], [1.0, 2.0, 3.0])


def test_array_inner_of_vectors_with_itself():
    a = wp.array([[1, 2], [3, 4]], dtype=wp.vec2, requires_grad=True)
    loss = leaf(0)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, a, out=loss)
    tape.backward(loss)
    assert (loss.numpy()[0], grad(a)) == (30.0, [[2.0, 4.0], [6.0, 8.0]])


@pytest.mark.parametrize(("inclusive", "expected"), [(True, [111.0, 110.0, 100.0]), (False, [110.0, 100.0, 0.0])])
def test_array_scan(inclusive, expected):
    x, out = leaf(1, 2, 3), leaf(0, 0, 0)
    with wp.Tape() as tape:
        wp.utils.array_scan(x, out, inclusive=inclusive)
    tape.backward(grads={out: plain(1, 10, 100)})
    assert grad(x) == expected


def test_array_scan_in_place():
    x = leaf(1, 2, 3)
    with wp.Tape() as tape:
        wp.utils.array_scan(x, x)
    tape.backward(grads={x: plain(1, 10, 100)})
    assert (x.numpy().tolist(), grad(x)) == ([1.0, 3.0, 6.0], [111.0, 110.0, 100.0])


def test_array_cast():
    x, out = leaf(1, 2, 3), leaf(0, 0, 0, dtype=wp.float64)
    with wp.Tape() as tape:
        wp.utils.array_cast(x, out, count=2)
    tape.backward(grads={out: plain(1, 10, 100, dtype=wp.float64)})
    assert (grad(x), grad(out)) == ([1.0, 10.0, 0.0], [0.0, 0.0, 100.0])


def test_array_cast_between_shapes():
    x = wp.array([[1, 2], [3, 4]], dtype=wp.vec2, requires_grad=True)
    out = leaf(0, 0, 0, 0)
    with wp.Tape() as tape:
        wp.utils.array_cast(x, out)
    tape.backward(grads={out: plain(1, 10, 100, 1000)})
    assert (grad(x), grad(out)) == ([[1.0, 10.0], [100.0, 1000.0]], [0.0] * 4)


def test_sorting_moves_gradients_with_values_and_keys():
    keys, values = leaf(2, 1, 0, 0), leaf(1, 2, 0, 0)
    with wp.Tape() as tape:
        wp.utils.radix_sort_pairs(keys, values, 2)
        keys.zero_()
    tape.backward(grads={values: plain(1, 10, 100, 1000)})
    assert (grad(values), grad(keys)) == ([10.0, 1.0, 100.0, 1000.0], [0.0] * 4)


def test_sorting_within_segments():
    keys, values = wp.array([3, 2, 5, 4, 0, 0, 0, 0], dtype=int), leaf(1, 2, 3, 4, 0, 0, 0, 0)
    with wp.Tape() as tape:
        wp.utils.segmented_sort_pairs(keys, values, 4, wp.array([0, 2, 4], dtype=int))
    tape.backward(grads={values: plain(1, 10, 100, 1000, 0, 0, 0, 0)})
    assert (values.numpy()[:4].tolist(), grad(values)[:4]) == ([2.0, 1.0, 4.0, 3.0], [10.0, 1.0, 1000.0, 100.0])


def test_sorting_integers_is_no_concern_of_gradients():
    keys, values = wp.array([2, 1, 0, 0], dtype=int), wp.array([5, 6, 0, 0], dtype=int)
    x, loss = leaf(1, 2), leaf(0)
    with wp.Tape() as tape:
        wp.utils.radix_sort_pairs(keys, values, 2)
        wp.utils.array_sum(x, out=loss)
    tape.backward(loss)
    assert grad(x) == [1.0, 1.0]


def test_what_they_overwrite_outside_the_tape_is_noticed():
    a, b, loss = leaf(1, 2), leaf(3, 4), leaf(0)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, b, out=loss)
    wp.utils.array_scan(b, a)
    with pytest.raises(TapeOverwriteError, match=r"an argument of wp\.utils\.array_inner .* was changed") as error:
        tape.backward(loss)
    assert f"changed by wp.utils.array_scan at {__file__}:" in str(error.value)


def _array_cast(source, out):
    wp.utils.array_cast(source, out)


def _array_inner(source, out):
    wp.utils.array_inner(source, plain(1, 2, 3), out=out)


OVERWRITING = {
    "scan": (wp.utils.array_scan, 3),
    "sum": (lambda source, out: wp.utils.array_sum(source, out=out), 1),
    "inner": (_array_inner, 1),
    "cast": (_array_cast, 3),
    "cast of integers": (_array_cast, 3),
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_an_operand_without_gradient_stops_the_gradient_of_what_the_result_held_before(name):
    step, size = OVERWRITING[name]
    source = plain(1, 2, 3, dtype=wp.int32 if name == "cast of integers" else wp.float32)
    x, loss = leaf(*range(1, size + 1)), leaf(0)
    with wp.Tape() as tape:
        step(source, x)
        wp.utils.array_inner(x, x, out=loss)
    tape.backward(loss)
    assert grad(x) == [0.0] * size


def test_array_inner_moves_gradients_to_the_one_operand_that_has_one():
    a, b, loss = leaf(1, 2, 3), plain(4, 5, 6), leaf(0)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, b, out=loss)
    tape.backward(loss)
    assert (grad(a), b.grad) == ([4.0, 5.0, 6.0], None)


@pytest.mark.parametrize("source", [leaf, plain])
def test_run_lengths_move_gradients_to_the_first_of_each_run(source):
    values, runs, lengths, loss = source(1, 1, 2), leaf(0, 0, 5), plain(0, 0, 0, dtype=wp.int32), leaf(0)
    with wp.Tape() as tape:
        wp.utils.runlength_encode(values, runs, lengths)
        wp.utils.array_inner(runs, plain(1, 10, 100), out=loss)
    tape.backward(loss)
    assert grad(runs) == [0.0, 0.0, 100.0]
    assert values.grad is None if source is plain else grad(values) == [1.0, 0.0, 10.0]
