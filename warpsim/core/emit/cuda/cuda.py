"""CUDA kernels as PTX and machine code, made without a GPU or a driver.

    void warpsim_kernel(<argument block> by value, int64 count)

runs threads [0, count) of the launch on any one-dimensional grid. The argument block is the CPU's (see
`layout`), passed as one kernel parameter. `CudaTarget` emits the body, `nvvm` makes PTX of it and
`nvjitlink` a cubin. Without `fast_math` nothing is contracted: products round as they do on the CPU.

This module needs the packages of the extra `cuda`: import it only when CUDA code is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llvmlite import ir as ll

from ....errors import KernelTypeError, Location
from ...ir.nodes import Function
from ...passes.analysis.atomics import AtomicPlan
from .. import layout
from ..layout import BYTES, I32, I64, WORD
from ..native import snippets
from ..native.cpp import cpp_source
from ..target import Options, Site
from . import nvjitlink, nvvm
from .code import KERNEL, CudaCode
from .native import native_lto, native_ptx
from .target import CudaTarget

MAX_BLOCK = 32764 - WORD  # bytes of kernel parameters, less the count


@dataclass(frozen=True)
class CudaArtefact:
    """PTX of a kernel, and what a launch must know of it.

    `entry` names the function; its parameters are `block_bytes` bytes of argument block, in which
    argument k starts at `offsets[k]`, and a 64-bit thread count. `sites` are the places whose checks
    it may report; `arch` is the compute capability it was made for.
    """

    ptx: str
    entry: str
    sites: tuple[Site, ...]
    block_bytes: int
    offsets: tuple[int, ...]
    arch: tuple[int, int]
    natives: tuple[str, ...] = ()
    """C++ sources of the native functions that the PTX only declares; `assemble` compiles and links them."""


def machine_code(
    fn: Function, ndim: int, options: Options, plan: AtomicPlan, arch: tuple[int, int], lineinfo: bool = False
) -> CudaCode:
    """Compile a kernel whose calls are inlined to machine code that GPUs of compute capability `arch` run.

    Native functions are compiled by NVRTC and inlined when all is linked. `lineinfo` relates the code to
    the user's source lines, for profilers and debuggers. Raises `KernelTypeError` when the arguments exceed
    what a CUDA kernel can be given, `DeviceError` for an `arch` that the tools do not know, `NativeCodeError`
    for native text that does not compile, `ImportError` for a package that is missing, and `CompilerError`
    when NVVM or the assembler refuses the code, which is a defect of the emitter.
    """
    [code] = machine_codes(fn, ndim, options, plan, [arch], lineinfo)
    return code


def machine_codes(
    fn: Function,
    ndim: int,
    options: Options,
    plan: AtomicPlan,
    archs: Sequence[tuple[int, int]],
    lineinfo: bool = False,
) -> list[CudaCode]:
    """As `machine_code`, for several compute capabilities: the kernel is emitted once."""
    target, text, size = emit_module(fn, ndim, options, plan, lineinfo)
    natives = [cpp_source(unit) for unit in snippets.units(fn)]
    codes = [_cubin(text, natives, fn.name, nvvm.runs_on(arch), options.fast_math, lineinfo) for arch in archs]
    return [CudaCode(c, tuple(target.sites), size, target.accumulators.used, options.bounds[0]) for c in codes]


def _cubin(text: str, natives: list[str], name: str, arch: tuple[int, int], fast_math: bool, lineinfo: bool) -> bytes:
    """Machine code of a module for NVVM and the native sources that it calls."""
    if natives:
        parts = [nvvm.lto(text, name, arch, fast_math), *(native_lto(source, arch, fast_math) for source in natives)]
    else:
        parts = [nvvm.ptx(text, name, arch, fast_math).encode()]
    more = nvvm.rounding(fast_math) if natives else []  # of PTX, each instruction says how it rounds
    return nvjitlink.assemble(parts, arch, lto=bool(natives), lineinfo=lineinfo, more=more)


def emit(
    fn: Function,
    ndim: int,
    options: Options,
    plan: AtomicPlan,
    *,
    arch: tuple[int, int] = (9, 0),
    lineinfo: bool = False,
) -> CudaArtefact:
    """The PTX that `machine_code` assembles; raises what that raises but for the assembler's refusals."""
    target, text, size = emit_module(fn, ndim, options, plan, lineinfo)
    offsets, _ = layout.argument_offsets([p.type for p in fn.params])
    natives = tuple(cpp_source(unit) for unit in snippets.units(fn))
    assembly = nvvm.ptx(text, fn.name, arch, options.fast_math)
    return CudaArtefact(assembly, KERNEL, tuple(target.sites), size, tuple(offsets), arch, natives)


def assemble(ptx: str, arch: tuple[int, int], natives: tuple[str, ...] = ()) -> bytes:
    """Machine code of PTX and the native sources that it calls."""
    return nvjitlink.assemble([ptx.encode(), *(native_ptx(source, arch) for source in natives)], arch)


# ----- the module ---------------------------------------------------------------------------


def emit_module(
    fn: Function, ndim: int, options: Options, plan: AtomicPlan, lineinfo: bool = False
) -> tuple[CudaTarget, str, int]:
    """What emitted the kernel, its module as LLVM text for NVVM, and the bytes of its argument block."""
    _, size = layout.argument_offsets([p.type for p in fn.params])
    if size > MAX_BLOCK:
        raise KernelTypeError(
            f"the arguments of kernel {fn.name!r} take {size} bytes",
            fn.location,
            expected=f"at most {MAX_BLOCK} on CUDA",
            help="pass large values in an array",
        )
    target = CudaTarget(fn, ndim, options, plan)
    return target, str(_module(target, size // WORD, fn.location if lineinfo else None)), size


def _module(target: CudaTarget, words: int, place: Location | None) -> ll.Module:
    """The kernel as a module for NVVM; with a `place`, its instructions carry source lines."""
    module = ll.Module(KERNEL)
    module.triple, module.data_layout = nvvm.TRIPLE, nvvm.DATA_LAYOUT
    kernel = ll.Function(module, ll.FunctionType(ll.VoidType(), [ll.ArrayType(I64, words), I64]), KERNEL)
    builder = ll.IRBuilder(kernel.append_basic_block("entry"))
    if place is not None:
        builder.debug_metadata = _line_table(module, kernel, place)
    target.function(builder, *kernel.args)
    builder.ret_void()
    _keep(module, kernel)
    most, least = target.options.bounds
    for name, number in (("kernel", 1), ("maxntidx", most), ("minctasm", least)):
        if number:
            module.add_named_metadata("nvvm.annotations", [kernel, name, ll.Constant(I32, number)])
    module.add_named_metadata("nvvmir.version", [ll.Constant(I32, n) for n in nvvm.ir_version()])
    return module


def _keep(module: ll.Module, kernel: ll.Function) -> None:
    """Say that the kernel is wanted: optimisation at link time removes what no one calls."""
    used = ll.GlobalVariable(module, ll.ArrayType(BYTES, 1), "llvm.used")
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = ll.Constant(used.value_type, [kernel.bitcast(BYTES)])


def _line_table(module: ll.Module, kernel: ll.Function, place: Location) -> Any:
    """Where the kernel begins, as debug information; `CudaTarget` adds the place of each instruction."""
    path = Path(place.file)
    file = module.add_debug_info("DIFile", {"filename": path.name, "directory": str(path.parent)})
    unit = {
        "language": ll.DIToken("DW_LANG_C_plus_plus"),
        "file": file,
        "producer": "warpsim",
        "isOptimized": True,
        "runtimeVersion": 0,
        "emissionKind": ll.DIToken("DebugDirectivesOnly"),
    }
    compiled = module.add_debug_info("DICompileUnit", unit, is_distinct=True)
    nothing = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([None])})
    function = {"name": KERNEL, "linkageName": KERNEL, "scope": file, "file": file, "line": place.line, "type": nothing}
    function |= {"isLocal": False, "isDefinition": True, "scopeLine": place.line, "isOptimized": True, "unit": compiled}
    scope = module.add_debug_info("DISubprogram", function, is_distinct=True)
    kernel.set_metadata("dbg", scope)
    module.add_named_metadata("llvm.dbg.cu", compiled)
    for name, version in (("Dwarf Version", 4), ("Debug Info Version", 3)):
        flag = [ll.Constant(I32, 2), name, ll.Constant(I32, version)]  # 2: modules that differ only warn
        module.add_named_metadata("llvm.module.flags", flag)
    return module.add_debug_info("DILocation", {"line": place.line, "column": place.column + 1, "scope": scope})
