"""Doubles: memory beside that of arrays, on the same device, overlapping as they do."""

import numpy as np

import warpsim as wp
from warpsim.core.runtime.arrays.doubles import Doubles


def wrapped(memory, like):
    return wp.array._wrap(memory, like.dtype, like.device)


def test_doubles_of_views_overlap_and_are_apart_from_the_views():
    whole, other = wp.array(np.arange(12.0), dtype=wp.float64), wp.ones(3, dtype=wp.float64)
    low, odd = whole[:8], whole[3::2]
    doubles = Doubles([low._data, odd._data, other._data])
    of_low, of_odd = wrapped(doubles.of(low._data), low), wrapped(doubles.of(odd._data), odd)
    assert (of_odd.shape, of_odd.strides, of_odd.dtype) == (odd.shape, odd.strides, odd.dtype)
    of_odd.fill_(5.0)
    np.testing.assert_array_equal(of_low.numpy(), [0, 0, 0, 5, 0, 5, 0, 5])
    np.testing.assert_array_equal(wrapped(doubles.of(other._data), other).numpy(), 0.0)
    np.testing.assert_array_equal(whole.numpy(), np.arange(12.0))


def test_copies_hold_the_contents_and_get_them_back():
    whole = wp.array(np.arange(6.0), dtype=wp.float64)
    doubles = Doubles([whole[1:]._data], contents=True)
    double = wrapped(doubles.of(whole[1:]._data), whole)
    np.testing.assert_array_equal(double.numpy(), [1, 2, 3, 4, 5])
    double.fill_(9.0)
    whole.zero_()
    doubles.restore()
    np.testing.assert_array_equal(double.numpy(), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(whole.numpy(), 0.0)


def test_every_device_has_its_own():
    here, host = wp.ones(4, dtype=float), wp.ones(4, dtype=float, device="cpu")
    doubles = Doubles([here._data, host._data], contents=True)
    for a in (here, host):
        double = wrapped(doubles.of(a._data), a)
        assert type(double._data) is type(a._data)
        double[0] = 3.0
        np.testing.assert_array_equal(double.numpy(), [3, 1, 1, 1])
    assert here.numpy()[0] == host.numpy()[0] == 1.0


def test_nothing_and_one_element_many_times():
    empty = wp.zeros((0, 3), dtype=wp.vec3)
    assert Doubles([empty._data]).of(empty._data).shape == (0, 3, 3)
    cell = wp.ones(1, dtype=float)
    same = wp.array(ptr=cell.ptr, dtype=float, shape=5, strides=(0,))
    double = Doubles([same._data], contents=True).of(same._data)
    assert (double.shape, double.strides) == ((5,), (0,))
    np.testing.assert_array_equal(wrapped(double, same).numpy(), 1.0)
