"""Native text sees the same atomics on CUDA as on processors: for every type, on arrays and elements."""

import re

import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.cuda.native import native_ptx
from warpsim.core.emit.target import Options

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")

KINDS = ("Add", "Sub", "Min", "Max", "Exch")
TYPES = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64)


def native_code(t, text):
    """The PTX of a native function of an array and a number of type `t`."""

    @wp.func_native(text)
    def update(a: wp.array(dtype=t), x: t): ...

    @wp.kernel
    def run(a: wp.array(dtype=t), x: t):
        update(a, x)

    made = run.program(tuple(run.patterns.values()))
    [source] = cuda.emit(made.fn, made.ndim, Options(), made.plan).natives
    return native_ptx(source, (9, 0)).decode()


@pytest.mark.parametrize("t", TYPES, ids=lambda t: t.__name__)
def test_every_atomic_compiles_for_every_type(t):
    calls = [f"atomic{kind}(&a[1], x); atomic{kind}(a, x);" for kind in KINDS]
    if t not in (wp.float32, wp.float64):
        calls += [f"atomic{kind}(&a[1], x);" for kind in ("And", "Or", "Xor")]
    ptx = native_code(t, " ".join([*calls, "atomicCAS(&a[0], x, x); atomicCAS(a, x, x);"]))
    assert ptx.count("atom.") + ptx.count("red.") >= len(calls)


@pytest.mark.parametrize(
    "t, instruction",
    [
        (wp.int32, "add.u32"),
        (wp.uint32, "add.u32"),
        (wp.int64, "add.u64"),
        (wp.uint64, "add.u64"),
        (wp.float32, "add.f32"),
        (wp.float64, "add.f64"),
    ],
)
def test_sums_are_one_instruction(t, instruction):
    ptx = native_code(t, "atomicAdd(&a[1], x);")
    assert re.search(rf"(atom|red)\.(global\.)?{instruction}", ptx)
    assert "cas" not in ptx


def test_a_byte_is_swapped_with_the_word_around_it():
    ptx = native_code(wp.int8, "atomicAdd(&a[1], x);")
    assert "cas.b32" in ptx and re.search(r"and\.b64\s+%rd\d+, %rd\d+, -4;", ptx)


def test_vectors_are_added_component_by_component():
    ptx = native_code(wp.vec3, "atomicAdd(&a[1], x);")
    assert len(re.findall(r"(?:atom|red)\.(?:global\.)?add\.f32", ptx)) == 3
