"""indexedarray on the host: what it selects, what it shares, what it refuses."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, ReadOnlyError


def grid():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


def test_selection_by_tables():
    a = wp.array(grid())
    picked = wp.indexedarray(a, [[2, 0], None])
    assert (picked.shape, picked.size, picked.ndim, picked.dtype, len(picked)) == ((2, 4), 8, 2, wp.float32, 2)
    assert np.array_equal(picked.numpy(), grid()[[2, 0]])
    assert np.array_equal(np.asarray(picked), picked.numpy())
    assert np.asarray(picked, np.float64).dtype == np.float64
    assert wp.indexedarray(a, [np.array([1]), (0, 3)]).list() == [4.0, 7.0]
    assert wp.indexedarray(a, wp.array([1, 1], dtype=int)).shape == (2, 4)
    assert wp.indexedarray(a, [[], None]).shape == (0, 4)
    assert repr(picked) == "indexedarray(shape=(2, 4), dtype=float32, device=cpu)"
    assert str(picked) == str(picked.numpy())


def test_brackets_with_tables():
    a = wp.array(grid())
    for key in ([2, 0], (slice(None), [1, 3]), (1, [0, 2]), ([0, 2], 1), (slice(0, 2), [3]), (np.array([1]), [0, 0])):
        keys = key if isinstance(key, tuple) else (key,)
        parts = [[k] if isinstance(k, int) else np.arange(n)[k] for k, n in zip(keys, (3, 4), strict=False)]
        expected = grid()[np.ix_(*parts)]
        assert np.array_equal(np.squeeze(a[key].numpy()), np.squeeze(expected))
    assert a[1, [0, 2]].shape == (2,)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_memory_and_tables_are_shared():
    a, table = wp.array(grid()), wp.array([0, 1], dtype=int)
    picked = a[table]
    a[1] = 7.0
    assert picked.numpy()[1].tolist() == [7.0] * 4
    table.numpy()[0] = 2
    assert picked.numpy()[0].tolist() == [8.0, 9.0, 10.0, 11.0]


def test_writing_the_selection():
    a = wp.array(grid())
    picked = a[[2, 0]]
    picked.fill_(5.0)
    assert a.numpy()[:, 0].tolist() == [5.0, 4.0, 5.0]
    picked.assign(np.arange(8, dtype=np.float32).reshape(2, 4))
    assert a.numpy()[2].tolist() == [0.0, 1.0, 2.0, 3.0]
    wp.copy(picked, wp.array(grid()[:2]))
    assert a.numpy()[0].tolist() == [4.0, 5.0, 6.0, 7.0]
    picked.zero_()
    assert a.numpy().sum() == 4.0 + 5.0 + 6.0 + 7.0


def test_copies_of_the_selection():
    a = wp.array(grid(), requires_grad=True)
    for copied in (a[[2, 0]].contiguous(), wp.clone(a[[2, 0]]), wp.array(a[[2, 0]])):
        assert copied.is_contiguous
        assert np.array_equal(copied.numpy(), grid()[[2, 0]])
        assert not np.shares_memory(copied.numpy(), a.numpy())


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_gradients_follow_the_array():
    a = wp.array(grid())
    picked = a[[1]]
    assert (picked.requires_grad, picked.grad) == (False, None)
    before = picked._words
    a.requires_grad = True
    a.grad.numpy()[1] = 3.0
    assert picked.requires_grad
    assert picked.grad.numpy().tolist() == [[3.0] * 4]
    assert picked._words != before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: wp.indexedarray(grid(), [[0]]), r"data is ndarray\nexpected: an array: wp.array"),
        (lambda a: wp.indexedarray(a, [None, None, None]), "3 index tables for an array of rank 2"),
        (lambda a: wp.indexedarray(a, [[0, 3]]), "indices reach from 0 to 3\nexpected: 0 to 2"),
        (lambda a: wp.indexedarray(a, [[-1]]), "indices reach from -1 to -1"),
        (lambda a: a[[0.5]], r"indices are float64 of shape \(1,\)\nexpected: one dimension of integers"),
        (lambda a: a[np.array([True, False, True])], "indices are bool .*\n.*\nhelp: a mask becomes indices"),
        (lambda a: a[np.zeros((1, 1), int)], "expected: one dimension of integers"),
        (lambda a: a[wp.array([0], dtype=wp.int64)], "expected: one dimension of int32"),
        (lambda a: wp.indexedarray(a, [[0]], dtype=int), "dtype int32\nexpected: float32, that of the data"),
        (lambda a: wp.indexedarray(a, [[0]], ndim=1), "data has rank 2\nexpected: rank 1, as ndim says"),
        (lambda a: a[[0]].assign(np.zeros((2, 4))), r"assign from .*\nexpected: indexedarray\(shape=\(1, 4\)"),
        (lambda a: a[[0]].fill_([1.0, 2.0]), "fill value of shape"),
    ],
)
def test_what_selects_nothing_sensible_is_refused(make, message):
    with pytest.raises(ArrayError, match=message):
        make(wp.array(grid()))


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_read_only_memory_stays():
    memory = grid()
    memory.flags.writeable = False
    picked = wp.array(memory, copy=False)[[0]]
    for change in (lambda: picked.fill_(1.0), picked.zero_, lambda: picked.assign(np.zeros((1, 4)))):
        with pytest.raises(ReadOnlyError, match="expected: a writable array"):
            change()


def test_numpy_cannot_share_a_selection():
    with pytest.raises(ValueError, match="lie apart"):
        wp.array(grid())[[0]].__array__(copy=False)


def test_a_selection_goes_to_another_device():
    a = wp.array(np.arange(9.0).reshape(3, 3), dtype=float, requires_grad=True)
    picked = wp.indexedarray(a, [wp.array([2, 0], dtype=int), None])
    assert picked.to(a.device) is picked
    there = picked.to("interp")
    assert str(there.device) == "interp" and there.numpy().tolist() == picked.numpy().tolist()
    there.fill_(5.0)
    assert a.numpy()[0].tolist() == [0.0, 1.0, 2.0] and there.requires_grad
