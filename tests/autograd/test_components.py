"""The numbers of an array in one order: read, written and named one by one."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd.components import Components


@wp.struct
class Particle:
    x: wp.vec3
    kind: int
    mass: wp.float64


def test_vectors_count_component_by_component():
    a = wp.array(np.arange(6.0).reshape(2, 3), dtype=wp.vec3)
    parts = Components(a)
    assert (parts.size, parts.per_element, parts.dtype) == (6, 3, np.float32)
    np.testing.assert_array_equal(parts.read(), np.arange(6.0))
    parts[4] = 40.0
    assert parts[4] == 40.0 and a.numpy()[1, 1] == 40.0
    assert [parts.name(k) for k in (0, 4)] == ["[0][0]", "[1][1]"]


def test_structs_count_their_floats_and_skip_integers():
    a = wp.zeros(2, dtype=Particle)
    parts = Components(a)
    assert (parts.size, parts.per_element, parts.dtype) == (8, 4, np.float64)
    for k in range(8):
        parts[k] = k
    np.testing.assert_array_equal(a.numpy()["x"], [[0, 1, 2], [4, 5, 6]])
    np.testing.assert_array_equal(a.numpy()["mass"], [3, 7])
    np.testing.assert_array_equal(parts.read(), np.arange(8.0))
    assert parts.precision(2).dtype == np.float32 and parts.precision(3).dtype == np.float64
    np.testing.assert_array_equal(parts.precisions()[:4], [np.finfo(t).eps for t in ("f4", "f4", "f4", "f8")])


def test_strided_arrays():
    whole = wp.array(np.arange(12.0).reshape(4, 3), dtype=wp.float64)
    column = whole[:, 1]
    parts = Components(column)
    np.testing.assert_array_equal(parts.read(), [1, 4, 7, 10])
    parts[2] = -1.0
    assert whole.numpy()[2, 1] == -1.0


def test_names_in_two_dimensions():
    assert Components(wp.zeros((2, 3), dtype=float)).name(5) == "[1, 2]"
    assert Components(wp.zeros((2, 3), dtype=wp.mat22)).name(13) == "[1, 0][1]"


def test_integers_have_none():
    parts = Components(wp.zeros(3, dtype=int))
    assert parts.size == 0 and parts.leaves == []


def test_a_number_outside():
    with pytest.raises(ValueError):
        Components(wp.zeros(3, dtype=float))[7]
