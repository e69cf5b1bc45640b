"""The floating-point mode of the caller, and of the threads that help it, shows in no result."""

import contextlib
import ctypes
import functools
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd.forward import hvp, jvp
from warpsim.core.emit.cpu import float_mode
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
from warpsim.core.runtime.devices.float_mode import StandardMode, in_standard_mode
from warpsim.core.runtime.launches import pool as pool_module
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import KernelAssertionError

pytestmark = pytest.mark.cpu(reason="the modes of the CPU's threads")

ROOT = Path(pool_module.__file__).parents[4]
CASES = int(os.environ.get("WARPSIM_FLOAT_MODE_CASES", "30"))
SOME, MANY = 6000, 60_000  # several chunks, and so many that scattered sums have copies of arrays

# Names, and the bits of MXCSR and FPCR: rounding to nearest, down, up, towards zero; flushing.
MODES = {
    "x86_64": {"nearest": 0x1F80, "down": 0x3F80, "up": 0x5F80, "zero": 0x7F80, "flush": 0x9FC0, "flush up": 0xDFC0},
    "aarch64": {"nearest": 0, "up": 1 << 22, "down": 2 << 22, "zero": 3 << 22, "flush": 1 << 24, "flush up": 5 << 22},
}.get(os.uname().machine if hasattr(os, "uname") else "")

if MODES is None:
    pytest.skip("the register of this processor's modes is not known", allow_module_level=True)


@functools.cache
def register():
    """Read and set the mode of this thread, as PyTorch's set_flush_denormal and C's fesetround do."""
    code = NativeObject(
        assemble(
            float_mode.functions()
            + """
            define i64 @get() {
              %mode = call i64 @float_mode()
              ret i64 %mode
            }
            define void @set(i64 %mode) {
              call void @leave_float_mode(i64 %mode)
              ret void
            }
            """
        )
    )
    get = code.function("get", ctypes.CFUNCTYPE(ctypes.c_uint64))
    return get, code.function("set", ctypes.CFUNCTYPE(None, ctypes.c_uint64))


@contextlib.contextmanager
def mode(name):
    """This thread in a mode, which must still be there in the end."""
    get, set_ = register()
    before = get()
    set_(MODES[name])
    try:
        yield
        assert get() == MODES[name], "the caller's mode was not put back"
    finally:
        set_(before)


# ----- programs -----------------------------------------------------------------------------------


@wp.kernel
def shrink(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i]
    for j in range(20):
        y = y * 0.999 + 1.0e-41 * float(j % 3)
    out[i] = y


@wp.kernel
def curve(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.sin(x[i]) / wp.float64(3.0) + wp.sqrt(wp.abs(x[i])) * wp.exp(-x[i])


@wp.kernel
def gather(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, i % 7, x[i] / 3.0)


@wp.kernel
def spread(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    j = (i * 7919) % out.shape[0]
    if x[i] > 0.1:
        wp.atomic_add(out, j, x[i] / 3.0)
    wp.atomic_add(out, (j + 1) % out.shape[0], x[i] * 0.7)


@wp.kernel
def chain(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(8, dtype=float)
    v = wp.normalize(x[i] + wp.vec3(1.0e-3, 0.0, 0.0))
    for j in range(8):
        a[j] = wp.dot(v, x[i]) / float(j + 1)
    out[i] = a[i % 8] + a[3]


KERNELS = {shrink: float, curve: wp.float64, gather: float, spread: float, chain: wp.vec3}


class Case:
    """One use of a kernel. Its arrays are made before the mode is set: NumPy converts numbers in that of its thread."""

    def __init__(self, kernel, how, count, device, seed):
        self.kernel, self.how, self.count, self.device = kernel, how, count, device
        dtype = KERNELS[kernel]
        out_type = wp.float64 if dtype is wp.float64 else float
        rng = np.random.default_rng(seed)
        shape = (count, 3) if dtype is wp.vec3 else (count,)
        numbers = np.where(rng.random(shape) < 0.3, 3.0e-40, rng.standard_normal(shape))
        with wp.ScopedDevice(device):
            self.x = wp.array(numbers, dtype=dtype, requires_grad=True)
            self.out = wp.zeros(count, dtype=out_type, requires_grad=True)
            self.wide = wp.zeros((count, 2), dtype=out_type)
            self.seeds = wp.full(count, 1.0 / 3.0, dtype=out_type)

    def run(self):
        with wp.ScopedDevice(self.device):
            getattr(self, self.how)()
        return [a.numpy().tobytes() for a in (self.out, self.wide, self.x.grad)]

    def launch(self):
        wp.launch(self.kernel, self.count, [self.x, self.out])

    def adjoint(self):
        with wp.Tape() as tape:
            self.launch()
        tape.backward(grads={self.out: self.seeds})

    def command(self):
        command = wp.launch(self.kernel, self.count, [self.x, self.out], record_cmd=True)
        command.launch()
        command.launch()

    def graph(self):
        with wp.ScopedCapture() as capture:
            self.launch()
        wp.capture_launch(capture.graph)
        wp.capture_launch(capture.graph)

    def column(self):
        """Into elements apart, whose copies NumPy adds up."""
        wp.launch(self.kernel, self.count, [self.x, self.wide[:, 0]])


def drawn(seed):
    rng = random.Random(seed)
    kernel, how = rng.choice(list(KERNELS)), rng.choice(["launch", "adjoint", "command", "graph", "column"])
    # Sums in the interpreter are of one thread after the other, and so slow that few will do.
    device, count = rng.choice([("cpu", MANY), ("cpu", SOME), ("cpu", 17), ("interp", 17)])
    if device == "interp" and how in ("command", "graph"):
        how = "launch"
    return kernel, how, count, device, rng.choice([1, 2, 4]), rng.choice(sorted(MODES)), seed


@pytest.mark.parametrize("seed", range(CASES))
def test_results_have_the_bits_of_the_standard_mode(seed):
    kernel, how, count, device, threads, name, seed = drawn(seed)
    get_pool().set_num_threads(1)
    expected = Case(kernel, how, count, device, seed).run()
    get_pool().set_num_threads(threads)
    case = Case(kernel, how, count, device, seed)
    with mode(name):
        found = case.run()
    assert found == expected, (kernel.key, how, count, device, threads, name)


@pytest.mark.parametrize("name", sorted(MODES))
def test_equal_elements_of_a_launch_are_equal(name):
    get_pool().set_num_threads(4)
    x, out = wp.full(100_000, 3.0e-40, dtype=float), wp.zeros(100_000, dtype=float)
    with mode(name):
        wp.launch(shrink, len(x), [x, out])
    assert np.unique(out.numpy().view(np.uint32)).size == 1


def test_workers_started_in_another_mode_compute_in_the_standard_one():
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import test_float_modes as t
t.get_pool().always_fork(True)
with t.mode("flush up"):
    t.get_pool().set_num_threads(4)
    t.test_equal_elements_of_a_launch_are_equal("flush up")
cases = [t.Case(t.shrink, "launch", 100_000, "cpu", 0) for _ in range(2)]
expected = cases[0].run()
with t.mode("down"):
    assert cases[1].run() == expected
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@wp.kernel
def divide(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    assert n > 0
    x[i] = x[i] / float(n)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_launch_that_fails_puts_the_mode_back(device):
    x = wp.ones(3, dtype=float, device=device)
    with mode("up"):
        with pytest.raises(KernelAssertionError):
            wp.launch(divide, 3, [x, 0], device=device)
        wp.launch(divide, 3, [x, 3], device=device)
    assert x.numpy()[0] == np.float32(1.0) / np.float32(3.0)


@pytest.mark.parametrize("name", MODES)
def test_a_function_that_numba_calls_computes_in_the_standard_mode(name):
    pytest.importorskip("numba")

    @wp.func
    def third(x: wp.float32) -> wp.float32:
        return x * 1.0e-20 * 1.0e-20 * 1.0e30 / 3.0  # subnormal in between: Numba takes and returns none in such modes

    compiled = wp.to_numba(third)
    values = np.array([1.0, 2.0, 7.0], np.float32)
    expected = [np.float32(compiled(x)).tobytes() for x in values]
    with mode(name):
        found = [compiled(x) for x in values]
    assert [np.float32(x).tobytes() for x in found] == expected


def test_modes_of_pytorch_change_nothing():
    torch = pytest.importorskip("torch")
    x, out = wp.full(50_000, 3.0e-40, dtype=float), wp.zeros(50_000, dtype=float)
    wp.launch(shrink, len(x), [x, out])
    expected = out.numpy().copy()
    if not torch.set_flush_denormal(True):
        pytest.skip("PyTorch cannot flush here")
    try:
        wp.launch(shrink, len(x), [x, out])
    finally:
        torch.set_flush_denormal(False)
    assert np.array_equal(out.numpy(), expected) and expected[0] > 0.0


# ----- what the host computes -----------------------------------------------------------------------


class HostCase:
    """Arrays made before the mode is set, and what is computed of them without a launch."""

    def __init__(self, size):
        rng = np.random.default_rng(5)
        tiny = rng.uniform(0.5, 1.0, (8, 8)) * (1.0e-39 if size == "tiny" else 1.0)
        self.numbers = tiny.astype(np.float64) / 3.0
        self.x = wp.array(tiny, dtype=float, requires_grad=True)
        self.line = wp.array(tiny.ravel(), dtype=float, requires_grad=True)
        self.doubles = wp.array(self.numbers.ravel(), dtype=wp.float64, requires_grad=True)
        self.seeds = wp.array(tiny.ravel() / 7.0, dtype=float)

    def sums(self):
        return wp.utils.array_sum(self.line), wp.utils.array_inner(self.line, self.line)

    def scan(self):
        out = wp.zeros(64, dtype=float)
        wp.utils.array_scan(self.line, out)
        return [out]

    def cast(self):
        out = wp.zeros(64, dtype=float)
        wp.utils.array_cast(self.doubles, out)
        return [out]

    def transform(self):
        return [wp.fft.rfft2(self.x)]

    def conversions(self):
        assigned, part = wp.zeros(64, dtype=float), wp.zeros(64, dtype=float)
        assigned.assign(self.numbers.ravel())
        part[3:] = self.numbers.ravel()[3:]
        return wp.array(self.numbers, dtype=float), assigned, part

    def recorded(self):
        """A tape of copies, casts and products, and the arrays that it writes."""
        lines = [wp.zeros(64, dtype=float, requires_grad=True) for _ in range(2)]
        total = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.copy(lines[0], self.line)
            lines[0].assign(self.line)
            wp.utils.array_cast(self.doubles, lines[1])
            wp.utils.array_inner(self.line, self.line, out=total)
        return tape, [*lines, total]

    def gradients(self):
        """Contributions of several operations, which the host adds up."""
        tape, results = self.recorded()
        tape.backward(grads={a: self.seeds[: a.size] for a in results})
        return self.line.grad, self.doubles.grad

    def tangents(self):
        tape, results = self.recorded()
        moved = jvp(tape, tangents={self.line: self.seeds, self.doubles: self.doubles})
        return [moved[a] for a in results]

    def second_derivatives(self):
        tape, results = self.recorded()
        products = hvp(tape, vector={self.line: self.seeds}, cotangents={results[2]: self.seeds[:1]})
        return [products[self.line]]

    def graph(self):
        out, total = wp.zeros(64, dtype=float), wp.zeros(1, dtype=float)
        with wp.ScopedCapture() as capture:
            wp.utils.array_scan(self.line, out)
            wp.utils.array_sum(self.line, out=total)
        wp.capture_launch(capture.graph)
        return out, total


def bits(values):
    return [np.asarray(v.numpy() if hasattr(v, "numpy") else v).tobytes() for v in values]


@pytest.mark.parametrize(
    "what", ["sums", "scan", "cast", "transform", "conversions", "gradients", "tangents", "second_derivatives", "graph"]
)
@pytest.mark.parametrize("size", ["tiny", "usual"])
@pytest.mark.parametrize("name", sorted(MODES))
def test_the_host_computes_in_the_standard_mode(what, size, name):
    expected = bits(getattr(HostCase(size), what)())
    case = HostCase(size)
    with mode(name):
        values = getattr(case, what)()
    assert bits(values) == expected


def test_a_host_algorithm_that_fails_puts_the_mode_back():
    @in_standard_mode
    def fail():
        raise ZeroDivisionError

    with mode("flush up"):
        with pytest.raises(ZeroDivisionError):
            fail()
        with pytest.raises(ZeroDivisionError), StandardMode():
            raise ZeroDivisionError
