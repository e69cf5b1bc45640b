"""Control flow as machine code: loops run as often as Python's `range`, values meet right after branches."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config

DEVICES = ("cpu", "interp")
INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
CAPACITY = 16


def launch(kernel, *arguments, dim=1, device="cpu"):
    wp.launch(kernel, dim, list(arguments), device=device)


# ----- counted loops --------------------------------------------------------------------------


def counter(t, leaves=False):
    """A kernel that lists the indices of a range; `leaves`: through a loop that may be left."""

    @wp.kernel
    def counted(start: t, stop: t, step: t, out: wp.array(dtype=t), n: wp.array(dtype=int)):
        m = int(0)
        for i in range(start, stop, step):
            if m < out.shape[0]:
                out[m] = i
            m += 1
        n[0] = m

    @wp.kernel
    def left(start: t, stop: t, step: t, out: wp.array(dtype=t), n: wp.array(dtype=int)):
        m = int(0)
        for i in range(start, stop, step):
            out[m] = i
            m += 1
            if m == out.shape[0]:
                break
        n[0] = m

    return left if leaves else counted


def ranges(t):
    """Bounds about the limits of `t`, where a sum or a distance does not fit it; few turns each."""
    low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
    quarter = (high - low) // 4
    found = [(low, high, min(quarter, high)), (0, high, quarter), (low, high, high), (high - 7, high, 3)]
    found += [(high - 7, high, 1), (high - 1, high, high), (5, 5, 1), (6, 5, 1), (high, low, 1), (0, 3, 0), (3, 0, 0)]
    found += [(2, 9, 3)]
    if low < 0:
        found += [
            (high, low, -quarter),
            (high, low, low),
            (low + 7, low, -3),
            (low + 7, low, -1),
            (-1, low, low + 1),
            (5, 5, -1),
            (5, 6, -2),
            (9, 2, -3),
            (-low - 1, low, low),
        ]
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("t", INTEGERS)
def test_ranges_of_every_integer(t, leaves, device):
    kernel = counter(t, leaves)
    for bounds in ranges(t):
        out, n = wp.zeros(CAPACITY, dtype=t), wp.zeros(1, dtype=int)
        launch(kernel, *bounds, out, n, device=device)
        wanted = list(range(*bounds)) if bounds[2] else []  # a step of zero runs nothing
        assert [int(x) for x in out.list()[: n.list()[0]]] == wanted, bounds


@pytest.mark.parametrize("step", [1, 2, 7, -1, -3])
def test_constant_steps(step):
    @wp.kernel
    def counted(start: int, stop: int, out: wp.array(dtype=int)):
        m = int(0)
        for i in range(start, stop, step):
            out[m] = i
            m += 1
        out[15] = m

    for start, stop in itertools.product((-5, 0, 3, 2**31 - 6, -(2**31)), (-6, 0, 8, 2**31 - 1, -(2**31) + 5)):
        wanted = range(start, stop, step)
        if len(wanted) < CAPACITY:
            out = wp.zeros(CAPACITY, dtype=int)
            launch(counted, start, stop, out)
            assert out.list()[15] == len(wanted)
            assert out.list()[: len(wanted)] == list(wanted)


def test_constant_steps_of_unsigned_and_long_bounds():
    @wp.kernel
    def counted(n: wp.array(dtype=int), high: wp.uint64, low: wp.int64):
        for _ in range(wp.uint64(3), high, wp.uint64(2**62)):
            n[0] += 1
        for _ in range(wp.int64(0), low, wp.int64(-(2**61))):
            n[1] += 1
        for i in range(wp.uint8(250), wp.uint8(255)):
            n[2] += int(i)

    n = wp.zeros(3, dtype=int)
    launch(counted, n, 2**64 - 1, -(2**63))
    assert n.list() == [4, 4, sum(range(250, 255))]


def test_more_turns_than_32_bits_count():
    @wp.kernel
    def jump(n: wp.int64, out: wp.array(dtype=wp.int64)):
        last = wp.int64(0)
        for i in range(n):
            last = i
        out[0] = last

    out = wp.zeros(1, dtype=wp.int64)
    launch(jump, 2**40, out)  # LLVM knows the last value, or this would take minutes
    assert out.list() == [2**40 - 1]


@pytest.mark.parametrize("limit", [0, 16])
@pytest.mark.parametrize("device", DEVICES)
def test_carried_values_of_every_kind(device, limit):
    @wp.struct
    class State:
        v: wp.vec2
        n: int

    @wp.kernel
    def carry(turns: int, x: wp.array(dtype=float), out: wp.array(dtype=float), flags: wp.array(dtype=wp.bool)):
        s = State()
        s.v = wp.vec2(1.0, 2.0)
        m = wp.mat22(1.0, 0.0, 0.0, 1.0)
        ok = bool(True)
        a = float(0.0)
        b = float(1.0)
        for k in range(turns):
            a, b = b, a + b
            s.v = wp.vec2(s.v.y, s.v.x + x[k])
            s.n += k
            m = m * wp.mat22(1.0, 1.0, 0.0, 1.0)
            ok = not ok
            for j in range(3):
                if j == k:
                    s.n += 100
        out[0] = a
        out[1] = s.v.x
        out[2] = s.v.y
        out[3] = float(s.n)
        out[4] = m[0, 1]
        flags[0] = ok

    config.max_unroll = limit
    x = np.array([3, 5, 7, 11], np.float32)
    for turns in (0, 1, 4):
        out, flags = wp.zeros(5, dtype=float), wp.zeros(1, dtype=wp.bool)
        launch(carry, turns, x, out, flags, device=device)
        v, fibonacci = [1.0, 2.0], [0.0, 1.0]
        for k in range(turns):
            v, fibonacci = [v[1], v[0] + x[k]], [fibonacci[1], sum(fibonacci)]
        wanted = [fibonacci[0], *v, sum(range(turns)) + 100 * min(turns, 3), turns]
        assert out.list() == wanted
        assert flags.list() == [turns % 2 == 0]


# ----- while, break, continue, return ---------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_leaving_loops(device):
    @wp.kernel
    def search(x: wp.array2d(dtype=int), wanted: int, out: wp.array(dtype=int)):
        seen = int(0)
        for i in range(x.shape[0]):
            if x[i, 0] < 0:
                continue
            j = int(0)
            while True:
                if j >= x.shape[1]:
                    break
                seen += 1
                if x[i, j] == wanted:
                    out[0] = i
                    out[1] = j
                    out[2] = seen
                    return
                j += 1
        out[2] = -seen

    rows = np.array([[1, 2, 3], [-1, 9, 9], [4, 9, 6], [7, 8, 9]], np.int32)
    for wanted, found in ((3, [0, 2, 3]), (9, [2, 1, 5]), (7, [3, 0, 7]), (5, [0, 0, -9])):
        out = wp.zeros(3, dtype=int)
        launch(search, rows, wanted, out, device=device)
        assert out.list() == found
    out = wp.zeros(3, dtype=int)
    launch(search, None, 1, out, device=device)
    assert out.list() == [0, 0, 0]


@pytest.mark.parametrize("device", DEVICES)
def test_while_tests_are_evaluated_as_often_as_in_python(device):
    @wp.func
    def tick(n: wp.array(dtype=int), at: int):
        n[at] += 1
        return n[at]

    @wp.kernel
    def collatz(n: wp.array(dtype=int), start: wp.int64):
        k = start
        while tick(n, 0) < 1000 and k != wp.int64(1):
            k = k / wp.int64(2) if k % wp.int64(2) == wp.int64(0) else k * wp.int64(3) + wp.int64(1)
            n[1] += 1

    n = wp.zeros(2, dtype=int)
    launch(collatz, n, 27, device=device)
    assert n.list() == [112, 111]


# ----- branches -------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_values_meet_after_branches(device):
    @wp.kernel
    def choose(kind: int, out: wp.array(dtype=wp.vec3)):
        v = wp.vec3(0.0, 0.0, 0.0)
        scale = float(1.0)
        if kind > 0:
            if kind == 1:
                v = wp.vec3(1.0, 2.0, 3.0)
            elif kind == 2:
                scale = -1.0
                v.y = 5.0
            else:
                v = v + wp.vec3(float(kind), 0.0, 0.0)
                if kind > 5:
                    scale = scale * 2.0
        else:
            v[2] = 7.0 if kind == 0 else 8.0
        out[0] = v * scale

    wanted = {-1: (0, 0, 8), 0: (0, 0, 7), 1: (1, 2, 3), 2: (0, -5, 0), 3: (3, 0, 0), 6: (12, 0, 0)}
    for kind, result in wanted.items():
        out = wp.zeros(1, dtype=wp.vec3)
        launch(choose, kind, out, device=device)
        assert out.numpy()[0].tolist() == list(result)


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_are_chosen_by_branches_and_carried_by_loops(device):
    @wp.kernel
    def rows(x: wp.array2d(dtype=float), n: int, out: wp.array(dtype=float)):
        row = x[0]
        for k in range(n):
            if k % 2 == 1:
                row = x[k]
        out[0] = row[1]

    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    for n, found in ((0, 1), (2, 3), (3, 3), (4, 7)):
        out = wp.zeros(1, dtype=float)
        launch(rows, x, n, out, device=device)
        assert out.list() == [found]


def test_only_the_branch_taken_runs():
    @wp.kernel
    def guarded(x: wp.array(dtype=float), i: int, d: int, out: wp.array(dtype=float)):
        out[0] = x[i] if i >= 0 and i < x.shape[0] else -1.0
        if d != 0 and 12 / d > 2:
            out[1] = 1.0

    config.verify = True  # a read outside would be an error
    for i, d, found in ((2, 3, [2, 1]), (-9, 0, [-1, 0]), (10**6, 12, [-1, 0])):
        out = wp.zeros(2, dtype=float)
        launch(guarded, np.arange(4, dtype=np.float32), i, d, out)
        assert out.list() == found
