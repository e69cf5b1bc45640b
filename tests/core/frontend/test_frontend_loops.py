"""Loops run as they do in Python."""

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
def ranges(x: Ints, y: Ints):
    i = wp.tid()
    n = x[i]
    s = int(0)
    for a in range(4):
        s = s * 3 + a
    for b in range(n):
        s += b
    for c in range(n, -2, -2):
        s = s * 2 + c
    for d in range(5, 5):
        s += 1000 + d
    y[i] = s


def plain_ranges(n):
    s = 0
    for a in range(4):
        s = s * 3 + a
    s += sum(range(n))
    for c in range(n, -2, -2):
        s = s * 2 + c
    return s


def test_ranges(device):
    assert ran(ranges, [-3, 0, 1, 6], device) == [plain_ranges(n) for n in (-3, 0, 1, 6)]


@wp.kernel
def steps(x: Ints, y: Ints):
    i = wp.tid()
    s = int(0)
    for a in range(5, -5, x[i]):
        s = s * 2 + a
    for a in range(-5, 5, x[i]):
        s = s * 2 - a
    y[i] = s


def test_variable_step(device):
    def plain(n):
        s = 0
        for a in range(5, -5, n):
            s = s * 2 + a
        for a in range(-5, 5, n):
            s = s * 2 - a
        return s

    assert ran(steps, [-3, -1, 2, 20], device) == [plain(n) for n in (-3, -1, 2, 20)]


@wp.kernel
def leaves_loops(x: Ints, y: Ints):
    i = wp.tid()
    s = int(0)
    for a in range(x[i]):
        if a == 5:
            break
        for b in range(x[i]):
            if b == a:
                continue
            if b > 3:
                break
            s += 10 * a + b
    y[i] = s


def test_nested_break_and_continue(device):
    def plain(n):
        return sum(10 * a + b for a in range(min(n, 5)) for b in range(min(n, 4)) if a != b)

    assert ran(leaves_loops, [0, 1, 4, 5, 9], device) == [plain(n) for n in (0, 1, 4, 5, 9)]


@wp.kernel
def collatz(x: Ints, y: Ints):
    i = wp.tid()
    n = x[i]
    steps = int(0)
    while n > 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
    while True:
        steps += 1
        if steps % 4 == 0:
            break
    y[i] = steps


def test_while(device):
    def plain(n):
        k = 0
        while n > 1:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k + 4 - k % 4

    assert ran(collatz, [0, 1, 6, 27], device) == [plain(n) for n in (0, 1, 6, 27)]


@wp.kernel
def carries(x: Ints, y: Ints):
    i = wp.tid()
    v = wp.vec2(0.0, 1.0)
    for _k in range(x[i]):
        v = wp.vec2(v[1], v[0] + v[1])
    total = int(v[0])
    for a in (100, 200, 300):
        total += a
    y[i] = total


def test_carried_vector_and_loop_over_tuple(device):
    assert ran(carries, [0, 1, 7, 10], device) == [600, 601, 613, 655]


@wp.func
def first_divisor(n: int):
    k = int(1)
    while True:
        k += 1
        if k > n:
            return 0
        if k % 2 == 0 and n != 6:
            continue
        for j in range(n):
            if j * k == n:
                return k


@wp.kernel
def searches(x: Ints, y: Ints):
    i = wp.tid()
    y[i] = first_divisor(x[i])


def test_returns_out_of_an_endless_loop(device):
    assert ran(searches, [0, 6, 9, 35, 7], device) == [0, 2, 3, 5, 7]


@wp.kernel
def swaps(x: Ints, y: Ints):
    i = wp.tid()
    a, b = x[i], 12
    while b != 0:
        a, b = b, a % b
    n = int(0)
    while n < 20:
        n += 3
        if n % 2 == 1:
            continue
        a += 100
    y[i] = a


def test_swapping_names_and_continue_in_while(device):
    assert ran(swaps, [18, 5, 24], device) == [306, 301, 312]
