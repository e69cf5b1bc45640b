"""Loops run as often as in Python, carry what their bodies change, and leave by break, continue and return alike."""

import textwrap

import numpy as np
import pytest
from kernel_runs import filled, like_python, module, ran, refused

import warpsim as wp
from warpsim.core.ir.nodes import For, While, walk
from warpsim.errors import KernelTypeError, UnassignedLocalWarning, UnsupportedSyntaxError

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)
LIMIT = 4


def nodes_of(kernel, kind):
    program = kernel.program(tuple(kernel.patterns.values()))
    return [n for n in walk(program.fn.body) if isinstance(n, kind)]


# ----- range --------------------------------------------------------------------------------


@wp.kernel
def ranges(out: Ints, bounds: wp.array2d(dtype=int)):
    k = wp.tid()
    total = int(0)
    trips = int(0)
    for i in range(bounds[k, 0], bounds[k, 1], bounds[k, 2]):
        total += i * (trips + 1)
        trips += 1
    out[2 * k] = total
    out[2 * k + 1] = trips


BOUNDS = np.array([
    (0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 0, 1), (0, 5, -1), (-4, 4, 2), (10, -11, -7), (3, 4, 100),
], np.int32)  # fmt: skip


def test_ranges_with_bounds_and_steps_of_the_run():
    like_python(ranges, len(BOUNDS), np.zeros(2 * len(BOUNDS), np.int32), BOUNDS)


def test_a_step_of_zero_runs_never():
    assert ran(ranges, 1, np.zeros(2, np.int32), np.array([(0, 5, 0)], np.int32))[0].tolist() == [0, 0]


@wp.kernel
def ranges_with_a_test(out: Ints, bounds: wp.array2d(dtype=int), most: int):
    k = wp.tid()
    for i in range(bounds[k, 0], bounds[k, 1], bounds[k, 2]):
        if out[k] >= most:
            break
        out[k] += 1 + 0 * i


def test_ranges_that_may_break_run_as_often():
    like_python(ranges_with_a_test, len(BOUNDS), np.zeros(len(BOUNDS), np.int32), BOUNDS, 1000)
    like_python(ranges_with_a_test, len(BOUNDS), np.zeros(len(BOUNDS), np.int32), BOUNDS, 2)
    assert ran(ranges_with_a_test, 1, np.zeros(1, np.int32), np.array([(0, 5, 0)], np.int32), 9)[0].tolist() == [0]


@wp.kernel
def steps(out: Ints, x: Ints):
    i = wp.tid()
    s = int(0)
    for a in range(5, -5, x[i]):
        s = s * 2 + a
    for a in range(-5, 5, x[i]):
        s = s * 2 - a
    out[i] = s


def test_steps_alone_are_known_at_the_run_only():
    like_python(steps, 4, np.zeros(4, np.int32), np.array([-3, -1, 2, 20], np.int32))


EDGE = np.array([(2**31 - 4, 2**31 - 1, 2), (-(2**31) + 3, -(2**31), -2), (0, 2**31 - 1, 2**30)], np.int32)


@pytest.mark.parametrize("kernel", [ranges, ranges_with_a_test], ids=["counted", "tested"])
def test_an_index_at_the_end_of_its_type_does_not_wrap_round(kernel):
    """2**31 - 4, 2**31 - 2, and then the next index would be negative."""
    breaks = kernel is ranges_with_a_test
    got = ran(kernel, 3, np.zeros(6, np.int32), EDGE, *([100] if breaks else []))[0]
    assert (got[:3] if breaks else got[1::2]).tolist() == [2, 2, 2]


@wp.kernel
def static_ranges(out: Ints):
    for i in range(3):
        out[0] += i + 1
    for i in range(2, 8, 2):
        out[1] += i
    for i in range(5, 0, -2):
        out[2] = out[2] * 10 + i
    for i in range(0):
        out[3] = i + 100
    for i in range(7, 2):
        out[3] = i + 100
    for _ in range(LIMIT):
        out[4] += 1
    for i in range(wp.static(LIMIT // 2), LIMIT):
        out[5] += i


def test_ranges_of_constants():
    assert filled(static_ranges, 6, threads=1, dtype=np.int32) == [6, 12, 531, 0, 4, 5]
    assert nodes_of(static_ranges, For) == []


@wp.kernel
def ranges_of_types(out: wp.array(dtype=wp.uint64), n: wp.uint32, m: wp.int64, b: wp.uint8):
    for i in range(n):
        out[0] += wp.uint64(i)
    for j in range(m, m + wp.int64(2)):
        out[1] += wp.uint64(j)
    for k in range(b):
        if k == 200:
            break
        out[2] += wp.uint64(1)


def test_indices_have_the_type_of_the_bounds():
    got = filled(ranges_of_types, 3, 4, 2**40, 255, threads=1, dtype=np.uint64)
    assert got == [6, 2**41 + 1, 200]


@wp.kernel
def index_afterwards(out: Ints, n: int):
    t = wp.tid()
    i = -1
    for i in range(n):
        out[8] += 1 + 0 * i
    out[4 * t] = i
    j = int(-5)
    for j in range(10):
        if j > t:
            break
    out[4 * t + 1] = j
    k = t
    for k in range(3):
        k = k * 100
    out[4 * t + 2] = k
    for q in range(2):
        out[8] += q
    for q in range(2):
        out[8] += q


@pytest.mark.parametrize("n", [0, 3])
def test_the_index_keeps_its_last_value(n):
    like_python(index_afterwards, 2, np.zeros(9, np.int32), n)


def test_an_index_that_had_no_value_before_has_its_last_afterwards():
    head = "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n"
    kernel = module(head + "    for i in range(3):\n        out[i] = 1.0\n    out[i] = 2.0")["k"]
    out = wp.zeros(3, dtype=float)
    with pytest.warns(UnassignedLocalWarning, match="'i' may be used here"):
        wp.launch(kernel, 1, inputs=[out])
    assert out.list() == [1.0, 1.0, 2.0]


def test_an_index_that_was_something_else_before_has_no_single_type_afterwards():
    error = refused("i = 0.5\nfor i in range(3):\n    out[i] = 1.0\nout[0] = i")
    assert isinstance(error, KernelTypeError)
    assert error.message == (
        "'i' has no single type here: the loop makes it int32, and before it is 0.5 (float32)"
    )


@wp.kernel
def bounds_once(out: Ints, n: int):
    m = n
    for i in range(m):
        m += 10
        out[i] = m
    out[7] = m


def test_bounds_are_evaluated_once():
    like_python(bounds_once, 1, np.zeros(8, np.int32), 3)


@pytest.mark.parametrize(
    ("head", "kind", "message"),
    [
        ("range(1.5)", KernelTypeError, "range over 0 (int32), 1.5 (float32), 1 (int32)"),
        ("range(n, u)", KernelTypeError, "range over int32, uint32, 1 (int32)"),
        ("range(0, 10, 0)", KernelTypeError, "the step of range is zero"),
        ("range()", KernelTypeError, "range takes one to three integers"),
        ("range(1, 2, 3, 4)", KernelTypeError, "range takes one to three integers"),
        ("range(u, -1, -1)", KernelTypeError, "-1 does not fit uint32"),
        ("out", KernelTypeError, "a loop over array(float32, ndim=1)"), ("n", KernelTypeError, "a loop over int32"),
    ],
)  # fmt: skip
def test_wrong_heads(head, kind, message):
    error = refused(f"for i in {head}:\n    pass", "out: wp.array(dtype=float), n: int, u: wp.uint32")
    assert (type(error), error.message) == (kind, message)


def test_a_range_has_one_index():
    error = refused("for i, j in range(3):\n    pass")
    assert (type(error), error.message) == (UnsupportedSyntaxError, "the index of range is one name")


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


# ----- break, continue, return --------------------------------------------------------------


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
