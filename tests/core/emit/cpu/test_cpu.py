"""The CPU back end: ranges of threads, every scalar type, memory of structs, printing."""

import ctypes
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.target import Options
from warpsim.core.runtime.launches.for_device import prepare
from warpsim.core.types.arrays import ArrayType

ROOT = Path(cpu.__file__).parents[4]
INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.float32, wp.float64)


def ranged(kernel, dim, arguments):
    """A function that runs threads [begin, end) of a launch on this thread."""
    call = prepare(kernel, dim, arguments, wp.get_device("cpu"))
    return lambda begin, end, flags=0: call.launcher.function(call.block, begin, end, flags)


def emitted(kernel, *types, **options):
    """The artefact for contiguous arrays."""
    program = kernel.program(tuple(types))
    layouts = tuple("C" if isinstance(t, ArrayType) else "" for t in types)
    return cpu.emit(program.fn, program.ndim, Options(layouts, **options), program.plan)


# ----- ranges of threads ----------------------------------------------------------------------


@wp.kernel
def mark1(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] += i + 1


@wp.kernel
def mark2(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] += i * out.shape[1] + j + 1


@wp.kernel
def mark3(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] += (i * out.shape[1] + j) * out.shape[2] + k + 1


@wp.kernel
def mark4(out: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    out[i, j, k, m] += ((i * out.shape[1] + j) * out.shape[2] + k) * out.shape[3] + m + 1


@pytest.mark.parametrize("shape", [(37,), (5, 7), (7, 1), (1, 9), (3, 4, 5), (2, 3, 1, 4), (3, 2, 2, 5)])
def test_any_range_runs_exactly_its_threads(shape):
    out = wp.zeros(shape, dtype=int)
    run = ranged([mark1, mark2, mark3, mark4][len(shape) - 1], shape, [out])
    total = math.prod(shape)
    numbers = np.arange(1, total + 1)
    for begin in range(total + 1):
        for end in range(begin, total + 1):
            out.zero_()
            run(begin, end)
            threads = (numbers > begin) & (numbers <= end)
            assert np.array_equal(out.numpy().ravel(), numbers * threads), (begin, end)


@pytest.mark.parametrize("size", [1, 3, 64, 1000])
def test_chunks_that_end_inside_rows(size):
    shape = (4, 9, 31)
    out = wp.zeros(shape, dtype=int)
    run = ranged(mark3, shape, [out])
    total = math.prod(shape)
    for begin in range(0, total, size):
        run(begin, min(begin + size, total))
    assert np.array_equal(out.numpy().ravel(), np.arange(1, total + 1))


@wp.kernel
def anonymous(count: wp.array(dtype=wp.int64), total: wp.array(dtype=wp.float64)):
    wp.atomic_add(count, 0, wp.int64(1))
    wp.atomic_add(total, 0, wp.float64(2.0))


def test_kernels_without_an_index_have_as_many_threads_as_dimensions_allow():
    count, total = wp.zeros(1, dtype=wp.int64), wp.zeros(1, dtype=wp.float64)
    run = ranged(anonymous, (2**31 - 1, 2**31 - 1), [count, total])
    for begin in (0, 2**31 - 5, 2**32 - 5, 2**61, (2**31 - 1) ** 2 - 10):
        run(begin, begin + 10)
    assert (count.list(), total.list()) == ([50], [100.0])


def test_threads_near_the_largest_index():
    @wp.kernel
    def far(hits: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(hits, i - 2147483600, 1)

    hits = wp.zeros(48, dtype=int)
    run = ranged(far, 2**31 - 1, [hits])
    run(2**31 - 48, 2**31 - 10)
    run(2**31 - 10, 2**31 - 1)
    assert hits.list() == [1] * 47 + [0]


# ----- scalars --------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("t", INTEGERS)
def test_integers_wrap_and_divide(t, device):
    @wp.kernel
    def every(a: wp.array(dtype=t), b: wp.array(dtype=t), out: wp.array2d(dtype=t)):
        i = wp.tid()
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x & y
        out[4, i] = x ^ y
        out[5, i] = ~x
        out[6, i] = wp.min(x, y)
        out[7, i] = x >> t(1)
        out[8, i] = t(float(x % t(7)))

    limits = np.iinfo(t)
    corners = np.array([limits.min, limits.min + 1, 0, 1, 2, 100, limits.max - 1, limits.max], t)
    a, b = (x.ravel() for x in np.meshgrid(corners, corners))
    out = wp.zeros((9, len(a)), dtype=t)
    wp.launch(every, len(a), [a, b, out], device=device)
    with np.errstate(over="ignore"):
        wanted = [a + b, a - b, a * b, a & b, a ^ b, ~a, np.minimum(a, b), a >> t(1)]
    assert np.array_equal(out.numpy()[:8], wanted)
    assert np.array_equal(out.numpy()[8], np.fmod(a, t(7)))


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
def test_conversions(source):
    @wp.kernel
    def convert(
        x: wp.array(dtype=source),
        small: wp.array(dtype=wp.int16),
        wide: wp.array(dtype=wp.float64),
        half: wp.array(dtype=wp.float16),
        sign: wp.array(dtype=wp.bool),
    ):
        i = wp.tid()
        small[i] = wp.int16(x[i])
        wide[i] = wp.float64(x[i])
        half[i] = wp.float16(x[i])
        sign[i] = wp.bool(x[i])

    x = np.array([0, 1, 2, 100, 117], source)
    if source in FLOATS:
        x = np.append(x, np.array([-2.75, 0.5, -0.0, 6.1e-5], source))
    elif np.iinfo(source).min < 0:
        x = np.append(x, np.array([-1, -128], source))
    small, wide, half, sign = (wp.zeros(len(x), dtype=t) for t in (wp.int16, wp.float64, wp.float16, wp.bool))
    wp.launch(convert, len(x), [x, small, wide, half, sign])
    assert np.array_equal(small.numpy(), x.astype(np.int16))
    assert np.array_equal(wide.numpy(), x.astype(np.float64))
    assert np.array_equal(half.numpy(), x.astype(np.float16))
    assert np.array_equal(sign.numpy(), x.astype(bool))


def test_half_precision_rounds_every_operation():
    @wp.kernel
    def mixed(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16), out: wp.array2d(dtype=wp.float16)):
        i = wp.tid()
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] * y[i] + x[i]
        out[2, i] = x[i] / y[i]
        out[3, i] = wp.sqrt(x[i])
        out[4, i] = wp.floor(y[i]) - wp.abs(x[i])

    rng = np.random.default_rng(2)
    x, y = (rng.uniform(0.01, 200, 500).astype(np.float16) for _ in range(2))
    out = wp.zeros((5, 500), dtype=wp.float16)
    wp.launch(mixed, 500, [x, y, out])
    with np.errstate(over="ignore"):
        wanted = [x + y, x * y + x, x / y, np.sqrt(x), np.floor(y) - np.abs(x)]
    assert np.array_equal(out.numpy(), np.array(wanted, np.float16))


def test_arrays_of_bools():
    @wp.kernel
    def logic(a: wp.array(dtype=wp.bool), b: wp.array2d(dtype=wp.bool), out: wp.array(dtype=wp.bool)):
        i = wp.tid()
        out[i] = (a[i] and not b[i, 1]) or b[i, 0]

    rng = np.random.default_rng(4)
    a, b = rng.random(1001) < 0.5, rng.random((1001, 2)) < 0.5
    out = wp.zeros(1001, dtype=wp.bool)
    wp.launch(logic, 1001, [a, b, out])
    assert np.array_equal(out.numpy(), (a & ~b[:, 1]) | b[:, 0])
    memory = out.numpy().view(np.uint8)
    assert set(memory.tolist()) <= {0, 1}


# ----- structs through memory -----------------------------------------------------------------


@wp.struct
class Inner:
    tag: wp.int8
    value: wp.float64
    ok: wp.bool


@wp.struct
class Outer:
    half: wp.float16
    inner: Inner
    points: wp.types.matrix(shape=(2, 3), dtype=float)
    count: wp.uint16


def test_nested_structs_keep_their_c_layout():
    @wp.kernel
    def turn(x: wp.array(dtype=Outer), y: wp.array(dtype=Outer)):
        i = wp.tid()
        s = x[i]
        s.inner.value = s.inner.value * wp.float64(2.0)
        s.points[1, 2] = float(s.inner.tag)
        s.inner.ok = not s.inner.ok
        y[i] = s
        y[i].count = y[i].count + wp.uint16(60000)
        x[i].inner.tag = wp.int8(-1)

    layout = Outer.numpy_dtype()
    assert layout.isalignedstruct
    assert layout.fields["inner"][1] == 8
    records = np.zeros(40, layout)
    records["half"], records["count"] = np.arange(40), 60000
    records["inner"]["tag"], records["inner"]["value"] = np.arange(40) - 20, np.arange(40) / 3
    records["inner"]["ok"][::2] = True
    records["points"] = np.arange(240).reshape(40, 2, 3)
    wanted, y = records.copy(), np.zeros(40, layout)
    wanted["inner"]["value"] *= 2
    wanted["points"][:, 1, 2] = wanted["inner"]["tag"]
    wanted["inner"]["ok"] ^= True
    wanted["count"] = 120000 - 65536
    wp.launch(turn, 40, [records, y])
    for name in ("half", "points", "count"):
        assert np.array_equal(y[name], wanted[name])
    for name in ("tag", "value", "ok"):
        assert np.array_equal(y["inner"][name], wanted["inner"][name])
    assert np.all(records["inner"]["tag"] == -1)
    assert np.array_equal(records["inner"]["value"], np.arange(40) / 3)


# ----- printing -------------------------------------------------------------------------------


@wp.kernel
def talk(x: wp.array(dtype=float), v: wp.vec3, big: wp.uint64):
    i = wp.tid()
    print("thread", i, x[i], v)
    wp.printf("%d|%5.2f|%u%%\n", i, x[i], big)


def test_what_threads_print_is_there_when_the_launch_ends(capfd):
    wp.launch(talk, 2, [np.array([1.5, -2.0], np.float32), (1.0, 2.5, 0.0), 2**64 - 1])
    assert capfd.readouterr().out == (
        "thread 0 1.5 [1 2.5 0]\n0| 1.50|18446744073709551615%\nthread 1 -2 [1 2.5 0]\n1|-2.00|18446744073709551615%\n"
    )


def test_printing_into_a_pipe_keeps_its_place(tmp_path):
    """The C library keeps text for a pipe back, and Python prints through a buffer of its own."""
    script = tmp_path / "speak.py"
    script.write_text(
        "import os, sys\nimport warpsim as wp\n@wp.kernel\ndef speak():\n    print(wp.tid())\n"
        "wp.launch(speak, 2)\nprint('then', flush=True)\nwp.launch(speak, 1)\nos._exit(0)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert done.stdout.split() == [b"0", b"1", b"then", b"0"], done.stderr


def test_what_was_printed_before_a_failure_is_shown(capfd):
    @wp.kernel
    def fail(x: wp.array(dtype=int)):
        i = wp.tid()
        print(x[i])
        assert x[i] < 3

    with pytest.raises(AssertionError):
        wp.launch(fail, 5, [np.arange(5, dtype=np.int32)])
    assert capfd.readouterr().out.split() == ["0", "1", "2", "3"]


# ----- fast math ------------------------------------------------------------------------------


@wp.kernel
def arithmetic(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i] + 3.0 * x[i] - x[i] / 2.0


FLAGS = re.compile(r"\b(?:fadd|fsub|fmul|fdiv|fcmp) (?:\w+ )*?(fast|reassoc|nnan|ninf|nsz|arcp|contract|afn)\b")


def test_fast_math_flags_only_when_asked_for():
    types = [wp.array[float]] * 2
    plain, fast = (emitted(arithmetic, *types, fast_math=f).llvm for f in (False, True))
    assert not FLAGS.search(plain)
    assert {"fadd fast", "fsub fast", "fmul fast", "fdiv fast"} <= set(re.findall(r"f(?:add|sub|mul|div) fast", fast))
    assert fast.count(" fast ") == len(re.findall(r"= f(?:add|sub|mul|div)", plain))


def test_sums_at_one_address_may_be_reordered_and_nothing_else():
    @wp.kernel
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        v = x[wp.tid()]
        wp.atomic_add(out, 0, v * v)

    text = emitted(total, wp.array[float], wp.array[float]).llvm
    assert FLAGS.findall(text) == ["reassoc"]
    assert "fmul float" in text


# ----- large bodies ---------------------------------------------------------------------------


def test_huge_bodies_are_not_vectorised():
    """The vectoriser's time grows with the square of the body."""

    def long(turns):
        @wp.kernel(max_unroll=turns)
        def iterate(x: wp.array(dtype=float)):
            v = x[wp.tid()]
            for k in range(turns):
                v = v * v + float(k) - v / 3.0
            x[wp.tid()] = v

        return iterate

    texts = [emitted(long(turns), wp.array[float]) for turns in (1, 500)]
    assert [text.assembly["vectorize"] for text in texts] == [True, False]


def test_the_symbol_and_its_signature():
    """`void kernel(args, begin, end, flags)`: what the pool calls."""
    artefact = emitted(mark1, wp.array[int])
    memory = np.zeros(4, np.int32)
    header = np.array([0, 4, 1, 1, 1, 1, memory.ctypes.data, 0, 4, 4], np.uint64)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    kernel = NativeObject(artefact.code).function(cpu.KERNEL, signature)
    kernel(header.ctypes.data, 1, 3, 0)
    assert memory.tolist() == [0, 2, 3, 0]
    assert artefact.sites == ()
