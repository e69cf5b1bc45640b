"""Which strided layouts have elements that share memory: against the bytes of all elements, one by one.

300 layouts every day; WARPSIM_STRIDED_LAYOUTS=100000 looks at that many others.
"""

import itertools
import os

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.arrays.self_overlap import Search, elements_meet, first_multiple, join_axes

MORE = int(os.environ.get("WARPSIM_STRIDED_LAYOUTS", "0"))
EXTENTS = {1: 60, 2: 16, 3: 7, 4: 5, 5: 4}


def bytes_meet(shape, strides, itemsize):
    """Whether some byte belongs to two elements."""
    taken = set()
    for index in itertools.product(*map(range, shape)):
        first = sum(i * s for i, s in zip(index, strides, strict=True))
        if not taken.isdisjoint(range(first, first + itemsize)):
            return True
        taken.update(range(first, first + itemsize))
    return False


def layout(rng):
    """Strides of any sizes and signs, or those of a packed array with gaps, in any order."""
    rank = int(rng.integers(1, 6))
    shape = rng.integers(1, EXTENTS[rank] + 1, rank)
    unit = int(rng.choice([1, 1, 2, 4]))
    itemsize = unit * int(rng.integers(1, 7))
    strides = unit * rng.integers(-40, 61, rank)
    if rng.random() < 0.3:
        reach = itemsize
        for k in range(rank):
            strides[k], reach = reach, reach * shape[k] + unit * int(rng.integers(0, 2))
        order = rng.permutation(rank)
        shape, strides = shape[order], strides[order]
    return tuple(shape.tolist()), tuple(strides.tolist()), itemsize


def test_layouts_meet_as_their_bytes_do():
    rng = np.random.default_rng(MORE)
    answers = []
    for _ in range(MORE or 300):
        case = layout(rng)
        answers.append(elements_meet(*case))
        assert answers[-1] == bytes_meet(*case), case
    assert 0.1 < np.mean(answers) < 0.9


@pytest.mark.parametrize(
    "shape, strides, meet",
    [
        ((3, 3), (16, 12), False),  # 0 12 24, 16 28 40, 32 44 56
        ((4, 4), (16, 12), False),
        ((4, 5), (16, 12), True),  # 3 * 16 = 4 * 12
        ((10**6, 3), (16, 12), False),
        ((10**6, 10**6), (16, 12), True),
        ((10**9, 10**9), (4 * 999_983, 4 * 1_000_003), True),
        ((999_983, 999_983), (4 * 999_983, 4 * 1_000_003), False),
        ((5, 0), (0, 0), False),
        ((5, 1), (4, 0), False),
        ((5, 2), (4, 0), True),
    ],
)
def test_answers_for_two_strides_are_exact_at_any_extent(shape, strides, meet):
    assert elements_meet(shape, strides, 4) == meet


def test_least_multiples_are_found():
    for m in range(1, 24):
        for a, low, high in itertools.product(range(m), range(m), range(m)):
            if low <= high:
                found = next((x for x in range(m) if low <= a * x % m <= high), None)
                assert first_multiple(a, m, low, high) == found


def test_dimensions_that_follow_on_each_other_are_joined():
    assert join_axes([(4, 2), (12, 4), (100, 3), (400, 1)], 4) == ([(100, 7)], 60)


def test_long_searches_end_with_yes():
    axes = [(997 * 8, 10**6), (991 * 8 * 10**3, 10**6), (983 * 8 * 10**6, 10**6)]
    search = Search(axes, 4)
    assert search.finds() and search.steps < 10_000


@wp.kernel
def fill(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = y[i, j] + x[i, j] * x[i, j]


def test_gradients_pass_through_interleaved_elements():
    x = wp.array(np.arange(9.0).reshape(3, 3), dtype=float, requires_grad=True)
    y = wp.zeros(shape=(3, 3), strides=(16, 12), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(fill, (3, 3), [x, y])
    tape.backward(grads={y: wp.ones((3, 3), dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * np.arange(9.0).reshape(3, 3))
    np.testing.assert_array_equal(y.numpy(), np.arange(9.0).reshape(3, 3) ** 2)
