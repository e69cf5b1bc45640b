"""Loops by a test and over what is known run as often as in Python, and carry what their bodies change."""

import textwrap

import numpy as np
import pytest
from kernel_runs import filled, like_python, module, nodes_of, ran

import warpsim as wp
from warpsim.core.ir.nodes import For, While
from warpsim.errors import UnassignedLocalWarning

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)


# ----- while --------------------------------------------------------------------------------


@wp.kernel
def collatz(out: Ints, x: Ints):
    i = wp.tid()
    n = x[i]
    steps = int(0)
    while n != 1 and steps < 1000:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    out[i] = steps


def test_while():
    like_python(collatz, 5, np.zeros(5, np.int32), np.array([1, 6, 27, 97, 2], np.int32))


@wp.kernel
def reads_in_the_test(out: Ints, x: Ints):
    i = wp.tid()
    k = int(0)
    while k < len(x) and x[k] < i:
        k += 1
    out[i] = k


def test_the_test_of_a_loop_reads_only_what_it_may():
    like_python(reads_in_the_test, 6, np.zeros(6, np.int32), np.array([0, 1, 2, 3], np.int32), verify=True)


@wp.kernel
def endless(out: Ints):
    i = wp.tid()
    n = int(0)
    while True:
        n += 1
        if n > i:
            break
        if n == 5:
            return
    out[i] = n


def test_while_true():
    like_python(endless, 8, np.zeros(8, np.int32))


@wp.func
def doubled_past(x: float, limit: float):
    while True:
        x = x * 2.0
        if x > limit:
            return x


@wp.kernel
def returns_from_endless(out: Floats):
    i = wp.tid()
    out[i] = doubled_past(float(i + 1), 10.0)


def test_a_function_may_return_from_an_endless_loop_only():
    like_python(returns_from_endless, 4, np.zeros(4, np.float32))


@wp.kernel
def exchanges(out: Ints, x: Ints):
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
    out[i] = a


def test_a_turn_may_exchange_names_or_be_cut_short():
    like_python(exchanges, 3, np.zeros(3, np.int32), np.array([18, 5, 24], np.int32))


@wp.kernel
def random_steps(out: Floats, seed: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    total = float(0)
    while wp.randf(state) < 0.8:
        total += wp.randf(state)
    out[i] = total


def test_a_test_may_change_locals():
    """`randf(state)` rebinds `state`, in the test as well as in the body."""
    expected = []
    for i in range(6):
        stream = ran(stream_of, 1, np.zeros(100, np.float32), 5, i)
        at, total = 0, np.float32(0)
        while stream[at] < np.float32(0.8):
            total += stream[at + 1]
            at += 2
        expected.append(float(total))
    assert filled(random_steps, 6, 5) == expected


@wp.kernel
def stream_of(out: Floats, seed: int, i: int):
    state = wp.rand_init(seed, i)
    for k in range(100):
        out[k] = wp.randf(state)


# ----- loops over what is known -------------------------------------------------------------


@wp.kernel
def over_known_things(out: Floats):
    t = wp.tid()
    for w in (1.0, 2.0, 4.0):
        out[0] += w
    for k, w in ((1, 0.5), (2, 0.25)):
        out[k] += w
    for c in wp.vec3(1.0, 2.0, 3.0):
        out[3] = out[3] * 10.0 + c
    for row in wp.mat22(1.0, 2.0, 3.0, 4.0):
        out[4] = out[4] * 10.0 + row[0] + row[1]
    for f in (wp.floor, wp.ceil):
        out[5] = out[5] * 10.0 + f(1.5)
    for i in wp.static(range(2)):
        out[6 + i] = float(t + i)
    for s in wp.static([0.5, 0.25]):
        out[0] += s


def test_loops_over_tuples_vectors_rows_and_functions():
    assert filled(over_known_things, 8, threads=1) == [7.75, 0.5, 0.25, 123, 37, 12, 0, 1]


@wp.kernel
def leaves_known_loops(out: Ints):
    t = wp.tid()
    for w in (1, 2, 3, 4):
        if w == t:
            continue
        if w + t > 5:
            break
        out[t] += w
        for q in (10, 20):
            if q * w > 40:
                break
            if t == 4:
                return
            out[t] += q
    out[t] += 1000


def test_break_continue_and_return_in_loops_over_known_things():
    like_python(leaves_known_loops, 6, np.zeros(6, np.int32))


@wp.kernel
def assigned_in_known_loop(out: Ints):
    t = wp.tid()
    for w in (1, 2):
        y = w * 10
        if t > 0:
            z = y
        else:
            z = -y
    out[t] = y + z


def test_a_loop_over_known_things_surely_runs():
    like_python(assigned_in_known_loop, 2, np.zeros(2, np.int32))


@pytest.mark.parametrize("way", ["break", "continue"])
def test_what_a_left_turn_skips_is_zero(way):
    text = f"t = wp.tid()\nfor w in (1, 2):\n    if t >= w:\n        {way}\n    y = float(w)\nout[t] = y"
    kernel = module("@wp.kernel\ndef k(out: wp.array(dtype=float)):\n" + textwrap.indent(text, "    "))["k"]
    out = wp.zeros(3, dtype=float)
    with pytest.warns(UnassignedLocalWarning, match="'y' may be used here before it has a value; then it is zero"):
        wp.launch(kernel, 3, inputs=[out])
    assert out.list() == ([2.0, 0.0, 0.0] if way == "break" else [2.0, 2.0, 0.0])


@wp.kernel
def mutated_while_iterated(out: Floats):
    v = wp.vec3(1.0, 2.0, 3.0)
    for c in v:
        v.z = 9.0
        out[0] += c


def test_a_loop_runs_over_the_value_at_its_start():
    assert filled(mutated_while_iterated, 1) == [6]


# ----- shape of the program -----------------------------------------------------------------


@wp.kernel
def counted_loop(out: Ints, n: int):
    for i in range(n):
        if i == 2:
            continue
        out[i] = 1


@wp.kernel
def breaking_loop(out: Ints, n: int):
    for i in range(n):
        if i == 2:
            break
        out[i] = 1


def test_only_loops_that_can_be_left_are_tested():
    """Passes and vectorisers like counted loops; `continue` alone does not cost one."""
    assert (len(nodes_of(counted_loop, For)), len(nodes_of(counted_loop, While))) == (1, 0)
    assert (len(nodes_of(breaking_loop, For)), len(nodes_of(breaking_loop, While))) == (0, 1)
