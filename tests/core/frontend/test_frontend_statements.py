"""Statements mean what they mean in Python."""

import numpy as np
import pytest

import warpsim as wp

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)
pytestmark = pytest.mark.parametrize("device", ["interp", "cpu"])


def ran(kernel, values, device):
    """What an integer kernel (x, y) makes of the values."""
    x = wp.array(np.array(values, np.int32), dtype=int, device=device)
    y = wp.zeros(len(values), dtype=int, device=device)
    wp.launch(kernel, dim=len(values), inputs=[x, y], device=device)
    return y.numpy().tolist()


@wp.kernel
def chosen(x: Ints, y: Ints):
    i = wp.tid()
    if x[i] < 0:
        y[i] = -1
    elif x[i] == 0:
        pass
    else:
        y[i] = 1


def test_if_elif_else(device):
    assert ran(chosen, [-5, 0, 7], device) == [-1, 0, 1]


@wp.kernel
def leaves(x: Ints, y: Ints):
    i = wp.tid()
    if x[i] < 0:
        return
    for k in range(10):
        y[i] = k
        if k == x[i]:
            return
    y[i] = 100


def test_early_return_from_kernel(device):
    assert ran(leaves, [-1, 0, 3, 50], device) == [0, 0, 3, 100]


@wp.func
def product_pair(n: int):
    for a in range(1, 6):
        for b in range(1, 6):
            if a * b == n:
                return 10 * a + b
    return -1


@wp.kernel
def finds(x: Ints, y: Ints):
    i = wp.tid()
    y[i] = product_pair(x[i])


def test_return_from_nested_loops_of_a_function(device):
    assert ran(finds, [1, 6, 20, 7, 25], device) == [11, 23, 45, -1, 55]


@wp.kernel
def asserts(x: Ints, y: Ints):
    i = wp.tid()
    assert x[i] > 0, "positive"
    n: int = x[i]
    n += 2
    n *= 3
    n -= 1
    n //= 2
    n <<= 1
    n |= 1
    n ^= 4
    y[i] = n
    y[i] += 1


def test_assert_annotation_and_augmented_assignment(device):
    def plain(n):
        n = (((n + 2) * 3 - 1) // 2) << 1
        return ((n | 1) ^ 4) + 1

    assert ran(asserts, [1, 2, 9], device) == [plain(n) for n in (1, 2, 9)]


@wp.struct
class Counter:
    total: int
    v: wp.vec3


@wp.kernel
def augments(x: Ints, y: Ints):
    i = wp.tid()
    c = Counter()
    c.total += x[i]
    c.total *= 2
    c.v[1] += float(x[i])
    c.v[1] *= 3.0
    y[i] = c.total + int(c.v[1])


def test_augmented_fields_and_components(device):
    assert ran(augments, [1, 4], device) == [5, 20]
