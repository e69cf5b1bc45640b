"""Mirrors: zeroed memory with the shapes, strides and overlaps of arrays."""

import numpy as np

import warpsim as wp
from warpsim.core.runtime.arrays.mirrors import Mirror


def test_a_mirror_has_the_layout_and_starts_at_zero():
    a = wp.array(np.arange(24.0).reshape(4, 6), dtype=float)[:, ::2]
    found = Mirror([a]).of(a)
    assert (found.shape, found.strides, found.dtype) == (a.shape, a.strides, a.dtype)
    assert np.all(found.numpy() == 0.0)
    assert found.ptr != a.ptr


def test_views_overlap_in_the_mirror_as_they_do():
    whole = wp.zeros(8, dtype=float)
    low, high, apart = whole[:5], whole[3:], wp.zeros(8, dtype=float)
    mirror = Mirror([low, high, apart])
    mirror.set(high, np.arange(5.0))
    np.testing.assert_array_equal(mirror.of(low).numpy(), [0.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(mirror.of(whole[4:6]).numpy(), [1.0, 2.0])
    assert np.all(mirror.of(apart).numpy() == 0.0)
    assert np.all(whole.numpy() == 0.0)


def test_indexed_arrays_and_arrays_without_elements():
    data = wp.zeros(6, dtype=wp.vec3)
    picked = wp.indexedarray(data, [wp.array([5, 0], dtype=int)])
    empty = wp.zeros(0, dtype=float)
    mirror = Mirror([picked, empty])
    mirror.set(picked, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    np.testing.assert_array_equal(mirror.of(data).numpy()[[5, 0], 1], [2.0, 5.0])
    assert mirror.of(empty).shape == (0,)


def test_mirrors_stand_to_cache_lines_as_their_arrays_do():
    a = wp.zeros(100, dtype=float)[3:]
    assert Mirror([a]).of(a).ptr % 64 == a.ptr % 64


def test_an_array_is_mirrored_by_one_array_and_memory_of_another_type_by_its_own():
    a = wp.zeros(6, dtype=wp.float32)
    mirror = Mirror([a])
    assert mirror.of(a) is mirror.of(a)
    bits = a.view(wp.int32)
    assert mirror.of(bits).dtype is wp.int32 and mirror.of(a).dtype is wp.float32
    assert mirror.of(bits).ptr == mirror.of(a).ptr == mirror.of(a[:3]).ptr
