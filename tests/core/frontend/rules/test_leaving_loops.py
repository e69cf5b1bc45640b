"""Loops are left by `break`, `continue` and `return` as in Python, nested ones too."""

import numpy as np
from kernel_runs import like_python

import warpsim as wp

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)


@wp.kernel
def leaving(out: Ints, n: int, m: int):
    t = wp.tid()
    s = int(0)
    for i in range(n):
        if i == t:
            continue
        for j in range(m):
            if j == i:
                break
            if (i + j) % 3 == t % 3:
                continue
            s += 10 * i + j
            if s > 150 and t == 5:
                out[t] = -1
                return
        else_part = s
        while s > 60 + t:
            s -= 7
            if s == 66:
                break
            if s % 5 == 0:
                s -= 1
                continue
            else_part += 1
        s += else_part % 3
    out[t] = s


def test_every_way_to_leave_nested_loops():
    like_python(leaving, 8, np.zeros(8, np.int32), 7, 6)


@wp.kernel
def several_in_a_row(out: Ints):
    t = wp.tid()
    s = int(0)
    for i in range(20):
        if i < t:
            continue
        if i % 4 == 3:
            continue
        if i > 15:
            break
        if i == 12 and t == 2:
            break
        if i % 2 == 0:
            if i == 10:
                break
            s += 100
        elif i == 7:
            continue
        else:
            s += 1
        s += 1000
    out[t] = s


def test_several_ways_to_leave_one_loop():
    like_python(several_in_a_row, 12, np.zeros(12, np.int32))


@wp.kernel
def unconditional(out: Ints):
    t = wp.tid()
    for i in range(5):
        out[t] += i + 1
        break
    for _ in range(5):
        out[t] += 10
        continue
    while t >= 0:
        out[t] += 100
        break


def test_leaving_without_a_condition():
    like_python(unconditional, 2, np.zeros(2, np.int32))


@wp.func
def first_at_least(x: Ints, limit: int):
    for i in range(len(x)):
        if x[i] >= limit:
            return i
    return -1


@wp.func
def found_pair(x: Ints, total: int):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] + x[j] == total:
                return i, j
    return -1, -1


@wp.kernel
def searches(out: Ints, x: Ints):
    t = wp.tid()
    out[3 * t] = first_at_least(x, t)
    i, j = found_pair(x, t)
    out[3 * t + 1] = i
    out[3 * t + 2] = j


def test_returns_from_loops_and_nested_loops():
    like_python(searches, 9, np.zeros(27, np.int32), np.array([1, 4, 2, 3], np.int32))


@wp.func
def deep(n: int):
    for i in range(n):
        for j in range(n):
            k = int(0)
            while k < n:
                if i * j * k == 6:
                    return 100 * i + 10 * j + k
                k += 1
    return 0


@wp.kernel
def deep_search(out: Ints):
    t = wp.tid()
    out[t] = deep(t)


def test_a_return_from_three_loops():
    like_python(deep_search, 5, np.zeros(5, np.int32))


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
def divisors(out: Ints, x: Ints):
    i = wp.tid()
    out[i] = first_divisor(x[i])


def test_returns_from_loops_in_an_endless_loop():
    like_python(divisors, 5, np.zeros(5, np.int32), np.array([0, 6, 9, 35, 7], np.int32))
