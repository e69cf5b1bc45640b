"""Kernels in lanes: every case computes what the interpreter computes thread by thread, bit for bit."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu.lanes import Lanes
from warpsim.core.emit.native import native
from warpsim.errors import WarpsimError

pytestmark = [pytest.mark.cpu(reason="lanes are those of the host"), pytest.mark.assembled_one_in(7)]
Floats, Ints, Vectors = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=wp.vec3)
THREADS = 43  # five strips and a rest
RNG = np.random.default_rng(3)
NUMBERS = RNG.standard_normal(THREADS).astype(np.float32)
INDICES = RNG.integers(-THREADS, THREADS, THREADS).astype(np.int32)
POINTS = RNG.standard_normal((THREADS, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setattr(native, "lanes", lambda: 8)
    wp.config.cache_kernels = wp.config.check_numbers = False


@pytest.fixture
def strips(monkeypatch):
    """The strips that were emitted."""
    emitted, strip = [], Lanes.strip
    monkeypatch.setattr(Lanes, "strip", lambda self, body: emitted.append(body) or strip(self, body))
    return emitted


def run(kernel, given, out, device=None, dim=THREADS):
    """What a kernel leaves in its last argument."""
    args = [wp.array(a, dtype=wp.vec3 if a.shape[-1] == 3 else a.dtype, device=device) for a in (*given, out)]
    wp.launch(kernel, dim=dim, inputs=args, device=device)
    return args[-1].numpy()


def check(strips, kernel, given, out, dim=THREADS):
    """Lanes and single threads leave the same bits."""
    wp.config.lanes = "always"
    found = run(kernel, given, out, dim=dim)
    assert strips, "not in lanes"
    np.testing.assert_array_equal(found, run(kernel, given, out, "interp", dim))
    wp.config.lanes = "off"
    emitted = len(strips)
    np.testing.assert_array_equal(found, run(kernel, given, out, dim=dim))
    assert len(strips) == emitted


@wp.kernel
def scatters(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    wp.atomic_add(f, at[i], x[i] * 1.1)
    wp.atomic_sub(f, 0, x[at[i]])
    wp.atomic_add(f, at[i] / 2, x[i])


def test_sums_keep_the_order_of_the_threads(strips):
    check(strips, scatters, [NUMBERS, INDICES], np.zeros_like(NUMBERS))


@wp.kernel
def last_one_wins(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    f[at[i] / 8] = x[i]
    if x[i] > 0.0:
        f[at[i] / 4] = x[i] * 2.0


def test_of_several_stores_the_last_one_stays(strips):
    check(strips, last_one_wins, [NUMBERS, INDICES], np.zeros_like(NUMBERS))


@wp.kernel
def guarded(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    if i + 1 >= x.shape[0]:
        return
    k = at[i]
    if k > 0:
        f[i] = x[i + 1] / x[k - 1]
    elif k < -5:
        wp.atomic_add(f, i, x[-k] + float(100 / (k + 5)))


def test_lanes_outside_a_branch_read_nothing(strips):
    """Their indices lie far outside."""
    check(strips, guarded, [NUMBERS, np.where(INDICES > 0, INDICES, -np.abs(INDICES) // 2)], np.zeros_like(NUMBERS))


@wp.kernel
def rows(x: wp.array2d(dtype=float), n: Ints, f: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 1:
        wp.atomic_add(f, n[j], i, x[i, j] * float(j))
    if n[i] > 2:
        wp.atomic_add(f, i, j, x[i - 1, j])


def test_branches_that_all_threads_of_a_row_take_or_none(strips):
    n = np.abs(INDICES[:21]) % 6
    x = RNG.standard_normal((6, 21)).astype(np.float32)
    check(strips, rows, [x, n.astype(np.int32)], np.zeros((21, 21), np.float32), (6, 21))


@wp.kernel
def collatz(x: Ints, f: Ints):
    i = wp.tid()
    n, steps = wp.abs(x[i]) + 1, int(0)
    while n != 1:
        if n % 2 == 0:
            n = n / 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 60:
            break
    f[i] = 1000 * steps + n


@wp.kernel
def windows(x: Floats, n: Ints, f: Floats):
    i = wp.tid()
    total = float(0.0)
    for k in range(n[i], i, 2):
        if k % 3 == 1:
            continue
        total = total * 0.5 + x[k]
    for k in range(x.shape[0] - 1, -1, -3):
        total += x[k] * float(k - i)
    f[i] = total


def test_loops_end_for_each_thread_in_its_own_time(strips):
    check(strips, collatz, [INDICES], np.zeros_like(INDICES))
    check(strips, windows, [NUMBERS, np.abs(INDICES)], np.zeros_like(NUMBERS))


@wp.struct
class Mixed:
    n: wp.int8
    flag: bool
    d: wp.float64
    v: wp.vec3


@wp.kernel
def structs(given: wp.array(dtype=Mixed), at: Ints, f: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = given[at[i]]
    if s.flag:
        s.v = s.v * 2.0
    f[i] = s.d + wp.float64(s.v[1]) * wp.float64(s.n)


def test_structs_and_all_widths(strips):
    memory = np.zeros(THREADS, Mixed.numpy_dtype())
    memory["n"], memory["flag"], memory["d"], memory["v"] = INDICES, INDICES % 3 == 0, NUMBERS, POINTS
    results = {}
    for device, lanes in ((None, "always"), ("interp", "off"), (None, "off")):
        wp.config.lanes = lanes
        given, out = wp.array(memory, dtype=Mixed, device=device), wp.zeros(THREADS, dtype=wp.float64, device=device)
        wp.launch(structs, THREADS, [given, wp.array(INDICES, device=device), out], device=device)
        results[device, lanes] = out.numpy()
    assert strips
    np.testing.assert_array_equal(results[None, "always"], results["interp", "off"])
    np.testing.assert_array_equal(results[None, "always"], results[None, "off"])


@wp.kernel
def functions(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    y = x[at[i]]
    f[i] = wp.sin(y) + wp.exp(y) * wp.atan2(y, x[i]) + y**2.0 + wp.mod(y, 0.3)


def test_library_functions_have_the_bits_of_single_threads(strips):
    wp.config.lanes = "always"
    found = run(functions, [NUMBERS, INDICES], np.zeros_like(NUMBERS))
    assert strips
    wp.config.lanes = "off"
    np.testing.assert_array_equal(found, run(functions, [NUMBERS, INDICES], np.zeros_like(NUMBERS)))


@wp.kernel
def bits(x: Ints, at: Ints, f: Ints):
    i = wp.tid()
    k = x[at[i]]
    f[i] = k / (k & 3) + k % (k & 1) + (k << k) + (k >> 2) + int(wp.uint8(k)) + int(float(k) * 1.0e9)


def test_integers(strips):
    check(strips, bits, [INDICES, INDICES], np.zeros_like(INDICES))


@wp.kernel
def neighbours(p: Vectors, q: Vectors):
    i = wp.tid()
    q[i] = p[i - 1] * 2.0 - p[wp.min(i + 1, p.shape[0] - 1)]


def test_vectors_of_neighbouring_threads(strips):
    check(strips, neighbours, [POINTS], np.zeros_like(POINTS))


@wp.kernel
def follows(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    f[i] = x[at[i]] + 1.0


def test_arrays_that_overlap_are_left_to_single_threads():
    """Thread by thread, each reads what the one before it wrote."""
    at, found = np.arange(THREADS, dtype=np.int32), {}
    for lanes in ("always", "off"):
        wp.config.lanes = lanes
        x = wp.array(np.zeros(THREADS + 1, np.float32))
        wp.launch(follows, THREADS, [x, wp.array(at), x[1:]])
        found[lanes] = x.numpy()
    np.testing.assert_array_equal(found["always"], np.arange(THREADS + 1))
    np.testing.assert_array_equal(found["off"], found["always"])


@wp.kernel
def reads_what_others_write(at: Ints, f: Floats):
    i = wp.tid()
    f[i] = f[at[i]] + 1.0


@wp.kernel
def asks_for_its_ticket(x: Ints, f: Ints):
    i = wp.tid()
    f[wp.atomic_add(f, 0, 1) % 7] = x[i]


@wp.kernel
def sums_in_a_loop(n: Ints, f: Floats):
    i = wp.tid()
    for k in range(n[i]):
        wp.atomic_add(f, k, 0.1)


def test_kernels_whose_threads_need_their_order_stay_as_they_are(strips):
    wp.config.lanes = "always"
    run(reads_what_others_write, [INDICES], np.zeros_like(NUMBERS))
    run(asks_for_its_ticket, [INDICES], np.zeros_like(INDICES))
    run(sums_in_a_loop, [np.abs(INDICES)], np.zeros(THREADS + 1, np.float32))
    assert not strips


@wp.kernel
def adds_to_a_shared_row(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    for k in range(at.shape[0]):
        y = x[i] - x[at[k]]
        if y > 0.5:
            wp.atomic_add(f, at[k], wp.rint(8.0 * y))
        wp.atomic_sub(f, k, wp.rint(4.0 * y))
    wp.atomic_add(f, i, 3.0)


@wp.kernel
def adds_vectors_to_a_shared_row(p: Vectors, at: Ints, f: Vectors):
    i = wp.tid()
    for k in range(at.shape[0]):
        wp.atomic_add(f, at[k], wp.vec3(wp.rint(8.0 * p[i][0]), wp.rint(8.0 * p[at[k]][1]), float(i)))


def test_sums_of_whole_numbers_to_an_element_that_all_lanes_share(strips):
    check(strips, adds_to_a_shared_row, [NUMBERS, INDICES], NUMBERS.round())
    check(strips, adds_vectors_to_a_shared_row, [POINTS, INDICES], POINTS.round())


def test_the_switch_takes_three_words():
    with pytest.raises(WarpsimError, match=r"expected: one of auto, off, always"):
        wp.config.lanes = "on"
    with pytest.raises(WarpsimError, match=r"option lanes is 8\nexpected: one of auto, off, always"):
        wp.kernel(lanes=8)(lambda x: None)
