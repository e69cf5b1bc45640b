"""Every kind of kernel becomes PTX and machine code for CUDA, on a machine with neither GPU nor driver."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from cuda_corpus import CORPUS

import warpsim as wp
from warpsim.core.emit import layout
from warpsim.core.emit.cpu import cpu
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.cuda.target import CudaTarget
from warpsim.core.emit.program import PRIMAL, Form, FormKind
from warpsim.core.emit.target import Options
from warpsim.core.ir.printer import print_function
from warpsim.errors import CompilerError, DeviceError, KernelTypeError, NativeCodeError

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")


ELF_MACHINE_CUDA = 190


def program(kernel):
    return kernel.program(tuple(kernel.patterns.values()))


def compiled(kernel, options=None, **facts):
    made = program(kernel)
    return cuda.emit(made.fn, made.ndim, options or Options(), made.plan, **facts)


@cache
def corpus_ptx(name):
    return compiled(CORPUS[name].kernel)


ALIGNED = r"and\.b(64|32)\s+%rd?\d+, %rd?\d+, 3;"  # 16-bit elements, too, are swapped in words at multiples of 4

# What must stand in the PTX for the kernel to do its work on a GPU the way this target promises.
EXPECTED = {
    "vectors": [r"ld\.param\.v?\d?\.?f32", r"ld\.global\.f32", r"st\.global\.f32", r"sqrt\.rn\.f32", r"mul\.rn\.f32"],
    "matrices": [r"ld\.global\.f64", r"(div|rcp)\.rn\.f64"],
    "computed_indices": [r"\.local \.align", r"st\.local", r"ld\.local"],
    "loops": [r"ld\.global\.u64", r"st\.global\.u64"],
    "two_dimensions": [r"%ctaid\.x", r"%nctaid\.x", r"div\.u64|div\.u32", r"st\.global\.u8"],
    "atomics_float32": [r"(atom|red)\.global\.add\.f32", r"atom\.global\.min\.s32", r"atom\.global\.cas\.b32"],
    "atomics_float64": [r"(atom|red)\.global\.add\.f64", r"atom\.global\.max\.u64", r"atom\.global\.exch\.b64"],
    "atomics_float16": [r"atom\.global\.cas\.b32", ALIGNED],
    "atomics_uint8": [r"atom\.global\.cas\.b32", ALIGNED],
    "atomics_int32": [
        rf"(atom|red)\.global\.{op}" for op in ("add.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.s32")
    ],
    "atomics_uint64": [rf"(atom|red)\.global\.{op}" for op in ("add.u64", "exch.b64", "cas.b64", "min.u64", "max.u64")],
    "compound_atomics": [r"(atom|red)\.global\.add\.f32", r"(atom|red)\.global\.add\.f64"],
    "shared_updates": [rf"red\.global\.{op}" for op in ("add.f32", "add.u64", "min.s32")],
    "local_arrays": [r"\.local \.align 16", r"st\.local"],
    "conversions_float32": [r"cvt\.rzi\.s32\.f32", r"cvt\.rzi\.u64\.f32", r"setp\.nan\.f32"],
    "conversions_float64": [r"cvt\.rzi\.u32\.f64", r"cvt\.rzi\.s64\.f64"],
    "mathematics_float32": [r"sqrt\.rn\.f32", r"cvt\.rmi\.f32\.f32", r"cvt\.rni\.f32\.f32", r"ex2\.approx"],
    "mathematics_float64": [r"sqrt\.rn\.f64", r"cvt\.rpi\.f64\.f64"],
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_kernel_becomes_ptx(name):
    made = corpus_ptx(name)
    kernel = CORPUS[name].kernel
    offsets, size = layout.argument_offsets(list(kernel.patterns.values()))
    assert (made.entry, made.block_bytes, made.offsets) == (cuda.KERNEL, size, tuple(offsets))
    [head] = re.findall(r"\.visible \.entry (\w+)\(\s*(.*?)\s*\)", made.ptx, re.S)
    block = f".param .align 8 .b8 {cuda.KERNEL}_param_0[{size}]"
    assert head[0] == cuda.KERNEL
    assert re.split(r",\s*", head[1]) == [block, f".param .u64 {cuda.KERNEL}_param_1"]
    assert ".target sm_90" in made.ptx
    for pattern in EXPECTED.get(name, ()):
        assert re.search(pattern, made.ptx), pattern


@pytest.mark.parametrize("name", CORPUS)
def test_its_ptx_becomes_machine_code(name):
    made = corpus_ptx(name)
    code = cuda.assemble(made.ptx, made.arch)
    assert code.startswith(b"\x7fELF")
    assert int.from_bytes(code[18:20], "little") == ELF_MACHINE_CUDA
    assert f".text.{cuda.KERNEL}".encode() in code


def test_atomics_on_a_threads_own_stack_are_plain():
    """The hardware has no atomics on local memory: the program would be stopped."""
    assert "atom" not in corpus_ptx("local_arrays").ptx


def test_division_and_roots_are_correctly_rounded_unless_fast_math_is_asked_for():
    @wp.kernel
    def inverse_sine(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = wp.sqrt(x[i]) / wp.sin(x[i])

    exact, fast = compiled(inverse_sine).ptx, compiled(inverse_sine, Options(fast_math=True)).ptx
    assert "div.rn.f32" in exact and "sqrt.rn.f32" in exact and "sin.approx" not in exact
    assert "div.rn" not in fast and "sqrt.rn" not in fast and "sin.approx" in fast


@pytest.mark.parametrize("name", ("atomics_float32", "atomics_float16", "structs", "local_arrays", "two_dimensions"))
@pytest.mark.parametrize("arch", ((7, 5), (8, 6), (10, 0), (12, 0)), ids=str)
def test_other_generations_compile_too(name, arch):
    """From compute capability 10.0 on, NVVM reads a newer dialect of LLVM."""
    made = compiled(CORPUS[name].kernel, arch=arch)
    assert f".target sm_{arch[0]}{arch[1]}\n" in made.ptx
    assert cuda.assemble(made.ptx, arch).startswith(b"\x7fELF")


@pytest.mark.parametrize("name", ("vectors", "atomics_float32", "structs", "randomness"))
def test_one_program_feeds_both_targets(name):
    kernel = CORPUS[name].kernel
    made = program(kernel)
    before = print_function(made.fn)
    first = cuda.emit(made.fn, made.ndim, Options(), made.plan)
    native = cpu.emit(made.fn, made.ndim, Options(), made.plan)
    again = cuda.emit(made.fn, made.ndim, Options(), made.plan)
    assert native.code.startswith(b"\x7fELF") or sys.platform != "linux"
    assert print_function(made.fn) == before, "emission changes nothing of the program"
    assert first.ptx == again.ptx, "equal programs give equal text, which caches are keyed by"
    assert program(kernel) is made


# ----- options, limits, refusals ------------------------------------------------------------


@wp.kernel
def gather(x: wp.array(dtype=float), j: wp.array(dtype=int), limit: float):
    i = wp.tid()
    assert limit > 0.0, "a positive limit"
    x[i] = x[j[i]] + limit


def test_checks_report_and_let_other_threads_run():
    plain, verified = compiled(gather), compiled(gather, Options(verify=True))
    assert [(s.kind, s.text) for s in plain.sites] == [("assert", "a positive limit")]
    assert [s.kind for s in verified.sites].count("bounds") == 3
    assert plain.ptx.count("atom.global.cas.b64") >= 1
    assert "trap" not in verified.ptx and "exit" not in verified.ptx


@pytest.mark.parametrize("arch", ((9, 0), (12, 0)), ids=str)
def test_machine_code_can_be_related_to_source_lines(arch):
    text = compiled(gather, lineinfo=True, arch=arch).ptx
    first = gather.function.__code__.co_firstlineno
    files = dict(re.findall(r'\.file\s+(\d+) "([^"]+)"', text))
    [number] = [k for k, path in files.items() if path.endswith("test_cuda.py")]
    lines = {int(line) for line in re.findall(rf"\.loc\s+{number} (\d+)", text)}
    assert {first + 3, first + 4} <= lines
    assert ".loc" not in compiled(gather).ptx


@pytest.mark.parametrize("arch", ((9, 0), (12, 0)), ids=str)
def test_blocks_are_bounded_on_request(arch):
    def directives(bounds):
        text = compiled(gather, Options(bounds=bounds), arch=arch).ptx
        return re.findall(r"^\.(maxntid|minnctapersm) ([\d, ]+)", text, re.M)

    assert directives((0, 0)) == []
    assert [(name, int(numbers.split(",")[0])) for name, numbers in directives((192, 0))] == [("maxntid", 192)]
    assert dict(directives((256, 2)))["minnctapersm"] == "2"
    made = program(gather)
    codes = [cuda.machine_code(made.fn, made.ndim, Options(bounds=b), made.plan, arch) for b in ((0, 0), (256, 2))]
    assert [code.max_threads for code in codes] == [0, 256]


def test_contiguous_arrays_need_no_strides():
    strided, contiguous = compiled(gather), compiled(gather, Options(layouts=("C", "C", "")))
    assert strided.ptx.count("ld.param") > contiguous.ptx.count("ld.param")
    assert strided.block_bytes == contiguous.block_bytes, "one block serves both"


def test_long_output_is_printed_in_pieces():
    """A GPU's vprintf reads at most 32 values."""

    @wp.kernel
    def show(m: wp.array(dtype=wp.spatial_matrix)):
        print(m[0])

    text = compiled(show).ptx
    assert len(re.findall(r"^\s*vprintf,", text, re.M)) == 2
    assert len(re.findall(r"\.const .*warpsim_text", text)) == 2


Wide = wp.types.matrix(shape=(16, 16), dtype=wp.float64)


@wp.struct
class Bulk:
    a: Wide
    b: Wide
    c: Wide
    d: Wide


@pytest.mark.not_for_cuda("take 32848 bytes")
def test_arguments_beyond_what_a_kernel_can_take_are_refused():
    @wp.kernel
    def fits(a: Bulk, b: Bulk, c: Bulk, out: wp.array(dtype=wp.float64)):
        out[wp.tid()] = a.a[0, 0] + b.b[1, 1] + c.d[15, 15]

    @wp.kernel
    def exceeds(a: Bulk, b: Bulk, c: Bulk, d: Bulk, out: wp.array(dtype=wp.float64)):
        out[wp.tid()] = a.a[0, 0] + b.b[1, 1] + c.d[15, 15] + d.d[0, 1]

    made = compiled(fits)
    assert made.block_bytes > 3 * 8192
    assert ".local" not in made.ptx, "the block is read where it is, not copied"
    with pytest.raises(KernelTypeError) as refusal:
        compiled(exceeds)
    assert "the arguments of kernel 'exceeds' take 32848 bytes" in str(refusal.value)
    assert f"expected: at most {cuda.MAX_BLOCK} on CUDA\nhelp: pass large values in an array" in str(refusal.value)
    assert cuda.assemble(made.ptx, made.arch)


def test_code_that_nvvm_refuses_is_a_defect_of_the_compiler(monkeypatch):
    def negated(target, name, t, parts):
        return target.builder.fneg(parts[0])  # NVVM's older dialect has no such instruction

    monkeypatch.setattr(CudaTarget, "math", negated)
    with pytest.raises(CompilerError, match=r"NVVM refuses the code of kernel 'body'(.|\n)*expected instruction"):
        compiled(CORPUS["mathematics_float32"].kernel)


@wp.func_native(
    """
    __shared__ float sum[128];
    sum[i] = wp::dot(x[i], x[i]);
    __syncthreads();
    for (int stride = 64; stride > 0; stride >>= 1) {
        if (i < stride) sum[i] += sum[i + stride];
        __syncthreads();
    }
    if (i == 0) atomicAdd(out, sum[0]);
    """,
    "adj_x[i] += x[i] * (2.0f * adj_out[0]);",
)
def norm_in_shared_memory(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float), i: int): ...


@wp.kernel
def norms(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    norm_in_shared_memory(x, out, wp.tid())


def native_artefact(kernel, form):
    made = kernel.program(tuple(kernel.patterns.values()), form=form)
    return cuda.emit(made.fn, made.ndim, Options(), made.plan)


@pytest.mark.parametrize("form", [PRIMAL, Form(FormKind.ADJOINT, frozenset({"x", "out"}))], ids=["primal", "adjoint"])
def test_native_text_is_carried_compiled_and_linked(form):
    made = native_artefact(norms, form)
    [source] = made.natives
    [name] = re.findall(r"\.extern \.func (\w+)", made.ptx)
    assert f"WP_OUTCOME {name}(char *arguments, char *results)" in source
    assert cuda.assemble(made.ptx, made.arch, made.natives).startswith(b"\x7fELF")
    with pytest.raises(CompilerError, match=name):
        cuda.assemble(made.ptx, made.arch)


def test_native_text_is_inlined_in_machine_code():
    made = program(norms)
    code = cuda.machine_code(made.fn, made.ndim, Options(), made.plan, (9, 0)).code
    [name] = re.findall(r"\.extern \.func (\w+)", cuda.emit(made.fn, made.ndim, Options(), made.plan).ptx)
    assert f".text.{cuda.KERNEL}".encode() in code
    assert f".text.{name}".encode() not in code, "no function of its own is left"


def test_native_text_that_does_not_compile_for_cuda_is_quoted():
    made = native_artefact(norms, PRIMAL)
    broken = made.natives[0].replace("sum[i] = wp::dot", "sum[i] = wp::missing")
    with pytest.raises(NativeCodeError, match=r"norm_in_shared_memory\.snippet\(3\): error: .*missing"):
        cuda.assemble(made.ptx, made.arch, (broken,))


def test_ptx_that_the_assembler_refuses_is_named():
    broken = corpus_ptx("branches").ptx.replace("ld.global.f32", "ld.globe.f32")
    with pytest.raises(CompilerError, match=r"assembler refuses this PTX(.|\n)*globe"):
        cuda.assemble(broken, (9, 0))


def test_a_generation_without_support_is_named():
    with pytest.raises(DeviceError, match=r"no code for compute capability 5\.0\nexpected: one of 7\.5, "):
        compiled(CORPUS["branches"].kernel, arch=(5, 0))


def test_a_generation_that_the_assembler_does_not_know_is_named():
    with pytest.raises(DeviceError, match=r"no assembler for compute capability 9\.1(.|\n)*newer nvidia-nvjitlink"):
        cuda.assemble(corpus_ptx("branches").ptx, (9, 1))


def test_a_gpu_newer_than_the_tools_gets_code_of_its_generation():
    made = program(CORPUS["branches"].kernel)
    codes = [cuda.machine_code(made.fn, made.ndim, Options(), made.plan, arch) for arch in ((9, 0), (9, 5))]
    assert codes[0] == codes[1]


def test_nothing_of_cuda_is_loaded_before_it_is_wanted():
    text = "import sys, warpsim; print([m for m in sys.modules if m.split('.')[0] in ('numba', 'cuda')])"
    paths = {"PYTHONPATH": str(Path(wp.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", text], env=os.environ | paths, capture_output=True, text=True, timeout=300
    )
    assert (run.stdout.strip(), run.returncode) == ("[]", 0), run.stderr


def test_the_corpus_covers_what_it_says():
    ops = {node.op.name for entry in CORPUS.values() for node in _calls(program(entry.kernel).fn.body)}
    atomics = {f"atomic_{kind}" for kind in ("add", "sub", "min", "max", "exch", "cas", "and", "or", "xor")}
    assert atomics | {"load", "store", "view", "field_view", "local_array", "tid", "block_dim", "cast"} <= ops
    assert len(CORPUS) > 10


def _calls(region):
    for node in region.nodes:
        if hasattr(node, "op"):
            yield node
        for inner in node.regions():
            yield from _calls(inner)


@wp.kernel
def crossing(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.cross(a[i], b[i]) + a[i] * 0.3


def test_products_round_before_they_are_added_unless_fast_math_is_asked_for():
    """Signs of determinants, and so which face a ray hits, rely on it. Without `.rn` the assembler would fuse."""
    exact, fast = compiled(crossing).ptx, compiled(crossing, Options(fast_math=True)).ptx
    assert "fma" not in exact and re.findall(r"\b(?:mul|add|sub)\.f32", exact) == []
    assert len(re.findall(r"\bmul\.rn\.f32", exact)) == 9
    assert "fma.rn" in fast


@wp.kernel
def deciding(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] * 3.0 + y[i] > 1.0:
        out[i] = x[i] * 7.0 + y[i]


def test_what_decides_rounds_as_in_the_adjoint_with_fast_math_too():
    """Contraction depends on what stands around; a decision that is made again must not."""
    text = compiled(deciding, Options(fast_math=True)).ptx
    assert len(re.findall(r"\bmul\.rn\.ftz\.f32", text)) == 1 and len(re.findall(r"\bfma\.rn\.ftz\.f32", text)) == 1


@wp.kernel
def nest(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    s = float(0.0)
    for a in range(wp.clamp(n, 0, 4)):
        for b in range(wp.clamp(n + a, 0, 4)):
            for c in range(wp.clamp(n + b, 0, 4)):
                s = wp.sin(s) * x[a] + x[b] * wp.cos(x[c])
    y[0] = s


@pytest.mark.parametrize("arch", [(9, 0), (12, 0)])
def test_nests_of_loops_are_not_unrolled_as_a_whole(arch):
    """Trips whose largest number is known are otherwise unrolled by the recent NVVM, here to megabytes of code."""
    made = program(nest)
    text = cuda.emit_module(made.fn, made.ndim, Options(), made.plan)[1]
    assert text.count(", !llvm.loop !") == 2  # the two outer loops
    assert len(cuda.emit(made.fn, made.ndim, Options(), made.plan, arch=arch).ptx) < 100_000
