"""Rows that ask for the thread (`tid`, `block_dim`) and rows that report (`printf`, `assert`, `breakpoint`)."""

import ctypes
import itertools

import numpy as np
import pytest
from memory_kernels import host_array, kernel, run
from row_devices import KERNEL, argument_block, descriptor

import warpsim as wp
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.layout import HEADER_WORDS, WORD
from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.target import Options
from warpsim.core.ir.builder import Builder, active_builder
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Function, Region, Value
from warpsim.core.ops import registry, store
from warpsim.core.ops.debug import conversions, expect_near, print_format, widen
from warpsim.core.ops.registry import TABLE
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.types import compounds
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import bool_, float16, float32, float64, int8, int32, int64, uint8, uint64
from warpsim.errors import KernelAssertionError

EXTENTS = (3, 4, 2, 5)


def traced(name, *args, **attributes):
    """Append a call of an op, also of one without operands."""
    return registry.emit(active_builder(), TABLE[name], args, attributes)


# ----- threads ------------------------------------------------------------------------------


def indices_kernel(ndim):
    """a[i, j, ...] = i + 10 j + 100 k + ..."""
    a = Value(array_type(int32, ndim), "a")
    body = Region((a,))
    with Builder(body).active():
        found = traced("tid", ndim=ndim)
        found = found if isinstance(found, tuple) else (found,)
        total = registry.constant(int32, 0)
        for k, i in enumerate(found):
            total = i * 10**k + total
        store(a, *found, total)
    return Function("indices", body)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.cpu(reason="calls machine code of the CPU itself")
def test_tid_counts_the_last_dimension_fastest(ndim):
    fn, extents = indices_kernel(ndim), EXTENTS[:ndim]
    want = sum(10**k * grid for k, grid in enumerate(np.indices(extents)))
    simulated, compiled = np.zeros(extents, np.int32), np.zeros(extents, np.int32)
    machine = Interpreter()
    for thread in itertools.product(*map(range, extents)):
        machine.thread = thread
        machine.run(fn.body, [host_array(simulated, array_type(int32, ndim))])
    code = NativeObject(cpu.emit(fn, ndim, Options(), analyse(fn)).code)
    block = argument_block([descriptor(compiled, ndim)], extents)
    for begin, end in ((0, 7), (7, 8), (8, compiled.size)):  # ranges cut rows anywhere
        KERNEL(code.address(cpu.KERNEL))(block, min(begin, compiled.size), min(end, compiled.size), 0)
    np.testing.assert_array_equal(simulated, want)
    np.testing.assert_array_equal(compiled, want)


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.cpu
def test_block_dim_is_one_without_blocks(device):
    out = np.zeros(3, np.int32)
    run(kernel([array_type(int32)], lambda i, a: store(a, i, traced("block_dim"))), [out], 3, device)
    assert out.tolist() == [1, 1, 1]


# ----- printf -------------------------------------------------------------------------------

PRINTED = [(bool_(True), "True"), (int8(-5), "-5"), (uint8(200), "200"), (int64(-(2**62)), str(-(2**62)))]
PRINTED += [(uint64(2**64 - 1), str(2**64 - 1)), (float16(0.5), "0.5"), (float32(-1.25), "-1.25")]
PRINTED += [(float64(1e300), "1e+300"), (compounds.vector(3, float32)(1, 2.5, -3), "[1 2.5 -3]")]
PRINTED += [(compounds.vector(2, uint8)(1, 255), "[1 255]")]
PRINTED += [(compounds.matrix((2, 2), float64)(1, 2, 3, 4), "[[1 2] [3 4]]")]
PRINTED += [(compounds.quaternion()(0, 0, 0, 1), "[0 0 0 1]")]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_printf_shows_every_type(device, capfd):
    values = [registry.constant(type(value), value) for value, _ in PRINTED]
    text = "; ".join(print_format(v.type) for v in values) + "; 100%% of %lld\n"

    def body(i, a):
        traced("printf", *values, i, format=text)

    run(kernel([array_type(int32)], body), [np.zeros(1, np.int32)], 2, device)
    ctypes.CDLL(None).fflush(None)
    line = "; ".join(shown for _, shown in PRINTED)
    assert capfd.readouterr().out == f"{line}; 100% of 0\n{line}; 100% of 1\n"


@wp.kernel
def conversions_of_c(x: int, y: wp.uint8, z: float):
    wp.printf("%d %i %u %x %X %o %c %hhu %ld %5d|%-5d|%05d %% ll %6.2f\n", x, x, x, x, x, x, y, y, x, x, x, x, z)


@pytest.mark.parametrize(
    ("x", "line"),
    [
        (77, "77 77 77 4d 4D 115 M 77 77    77|77   |00077 % ll   2.50\n"),
        (-2, f"-2 -2 {2**64 - 2} {'f' * 15}e {'F' * 15}E 1{'7' * 20}6 M 77 -2    -2|-2   |-0002 % ll   2.50\n"),
    ],
)
@pytest.mark.cpu(reason="reads what this process prints")
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_printf_takes_the_conversions_of_c(x, line, device, capfd):
    wp.launch(conversions_of_c, 1, [x, 77, 2.5], device=device)
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == line


def test_a_format_is_widened_for_arguments_of_64_bits():
    text = "%d %5.2f %u %x %% %c %-8d %ld %hhu %g"
    assert widen(text) == "%lld %5.2f %llu %llx %% %c %-8lld %lld %llu %g"
    assert conversions(text) == list("dfuxcddug")


# ----- assert and breakpoint ----------------------------------------------------------------


def asserting(i, a):
    traced("assert", TABLE["lt"](i, 3), message="too far")
    store(a, i, 1)


def test_a_failed_assertion_stops_the_interpreter():
    out = np.zeros(6, np.int32)
    with pytest.raises(KernelAssertionError, match="too far\nthread 3"):
        run(kernel([array_type(int32)], asserting), [out], 6, "interp")
    assert out.tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.cpu(reason="calls machine code of the CPU itself")
def test_a_failed_assertion_is_reported_and_ends_the_range():
    """Word 0 of the argument block points at the report: claimed, site, index, extent, thread."""
    fn = kernel([array_type(int32)], asserting)
    artefact = cpu.emit(fn, 1, Options(), analyse(fn))
    assert [(site.kind, site.text) for site in artefact.sites] == [("assert", "too far")]
    out, report = np.zeros(6, np.int32), np.zeros(cpu.REPORT_WORDS, np.int64)
    block = bytearray(argument_block([descriptor(out, 1)], (6,)))
    block[:WORD] = report.ctypes.data.to_bytes(WORD, "little")
    assert len(block) > HEADER_WORDS * WORD
    NativeObject(artefact.code).function(cpu.KERNEL, KERNEL)(bytes(block), 0, 6, 0)
    assert out.tolist() == [1, 1, 1, 0, 0, 0]
    assert report[0] == 1 and report[1] == 0 and report[4] == 3


@pytest.mark.parametrize(
    "difference, passes", [(0.0, True), (9e-7, True), (2e-6, False), (-2e-6, False), (np.nan, False)]
)
def test_expect_near_compares_every_component(difference, passes):
    v = compounds.vector(3, float64)

    def body(i, a):
        expect_near(registry.constant(v, v(1.0, 2.0, 3.0 + difference)), registry.constant(v, v(1.0, 2.0, 3.0)))

    fn = kernel([array_type(int32)], body)
    if passes:
        run(fn, [np.zeros(1, np.int32)], 1, "interp")
    else:
        with pytest.raises(KernelAssertionError, match="expect_near failed"):
            run(fn, [np.zeros(1, np.int32)], 1, "interp")


def test_breakpoint_stops_the_interpreter_alone(monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda *a, **k: stops.append("here"))
    fn = kernel([array_type(int32)], lambda i, a: traced("breakpoint"))
    run(fn, [np.zeros(1, np.int32)], 2, "cpu")
    assert stops == []
    run(fn, [np.zeros(1, np.int32)], 2, "interp")
    assert stops == ["here", "here"]
