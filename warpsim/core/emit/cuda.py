"""CUDA kernels as PTX and machine code, made without a GPU or a driver.

    void warpsim_kernel(<argument block> by value, int64 count)

runs threads [0, count) of the launch on any one-dimensional grid. The argument block is the CPU's (see
`layout`), passed as one kernel parameter. numba-cuda supplies the module, NVVM and libdevice; one
intrinsic carries the whole body (see `cuda_target`), and Numba never sees the kernel. NVVM contracts
a * b + c to one rounding, as CUDA compilers do by default.

This module needs numba-cuda: import it only when CUDA code is asked for.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from cuda.bindings.nvvm import nvvmError
from llvmlite import ir as ll
from numba import cuda
from numba.cuda import types as cuda_types
from numba.cuda.cudadrv.error import CCSupportError
from numba.cuda.datamodel.models import PrimitiveModel
from numba.cuda.extending import intrinsic, register_model

from ...errors import CompilerError, DeviceError, KernelTypeError
from ..ir.nodes import Function
from ..passes.access import Plan
from . import layout, snippets
from .cpp import cpp_source
from .cuda_native import native_ptx
from .cuda_target import CudaTarget
from .layout import I64, WORD
from .target import Options, Site

KERNEL = "warpsim_kernel"
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


def emit(
    fn: Function, ndim: int, options: Options, plan: Plan, *, arch: tuple[int, int] = (9, 0), lineinfo: bool = False
) -> CudaArtefact:
    """Compile a kernel whose calls are inlined to PTX for compute capability `arch`.

    `lineinfo` relates the machine code to the user's source lines, for profilers and debuggers.
    Raises `KernelTypeError` when the arguments exceed what a CUDA kernel can be given, `DeviceError`
    for an `arch` that NVVM no longer knows, and `CompilerError` when NVVM refuses the code, which is a
    defect of the emitter.
    """
    offsets, size = layout.argument_offsets([p.type for p in fn.params])
    if size > MAX_BLOCK:
        raise KernelTypeError(
            f"the arguments of kernel {fn.name!r} take {size} bytes", fn.location,
            expected=f"at most {MAX_BLOCK} on CUDA", help="pass large values in an array",
        )  # fmt: skip
    target = CudaTarget(fn, ndim, options, plan, lineinfo)
    block = _Block(target, size // WORD)
    signature = cuda_types.void(block, cuda_types.int64)
    try:
        ptx, _ = cuda.compile(
            _wrapper, signature, device=False, abi="numba", cc=arch, fastmath=options.fast_math, lineinfo=lineinfo
        )
    except CCSupportError as error:
        raise DeviceError(f"no code for compute capability {arch[0]}.{arch[1]}: {error}") from error
    except nvvmError as error:
        raise CompilerError(f"NVVM refuses the code of kernel {fn.name!r}: {error}") from error
    finally:
        block.target = None  # Numba keeps types for ever
    natives = tuple(cpp_source(unit) for unit in snippets.units(fn))
    return CudaArtefact(_renamed(ptx), KERNEL, tuple(target.sites), size, tuple(offsets), arch, natives)


def _renamed(ptx: str) -> str:
    """The PTX under a stable name, without Numba's unused environment."""
    [name] = re.findall(r"\.entry\s+([\w$]+)", ptx)
    lines = (line for line in ptx.splitlines() if "NumbaEnv" not in line)
    return "\n".join(lines).replace(name, KERNEL) + "\n"


def assemble(ptx: str, arch: tuple[int, int], natives: tuple[str, ...] = ()) -> bytes:
    """Machine code (a cubin) of PTX and native sources, linked by nvJitLink; needs no driver.

    Raises `ImportError` without nvidia-nvjitlink (with `natives` also without nvidia-cuda-nvrtc),
    `DeviceError` for an `arch` that it does not know, `NativeCodeError` for a native source that does not
    compile, and `CompilerError` with the assembler's words when it refuses the text.
    """
    texts = [ptx.encode(), *(native_ptx(source, arch) for source in natives)]
    from cuda.bindings import nvjitlink as linker  # noqa: PLC0415  (optional: PTX alone does without it)

    try:
        handle = linker.create(1, [f"-arch=sm_{arch[0]}{arch[1]}"])
    except linker.nvJitLinkError as error:
        raise DeviceError(
            f"nvJitLink has no assembler for compute capability {arch[0]}.{arch[1]}: {error}\n"
            "help: newer GPUs need a newer nvidia-nvjitlink"
        ) from error
    try:
        for data in texts:
            linker.add_data(handle, linker.InputType.PTX, data, len(data), KERNEL)
        linker.complete(handle)
        code = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, code)
    except linker.nvJitLinkError as error:
        log = bytearray(linker.get_error_log_size(handle))
        linker.get_error_log(handle, log)
        raise CompilerError(f"the assembler refuses this PTX: {error}\n{log.decode().rstrip(chr(0))}") from error
    finally:
        linker.destroy(handle)
    return bytes(code)


# ----- what Numba sees ----------------------------------------------------------------------

_serial = itertools.count()


class _Block(cuda_types.Type):
    """The type of an argument block of so many words; it brings the body's emitter along."""

    def __init__(self, target: CudaTarget, words: int):
        self.target: CudaTarget | None = target
        self.words = words
        super().__init__(f"WarpsimBlock{next(_serial)}")


@register_model(_Block)
class _BlockModel(PrimitiveModel):
    """One aggregate, so that it becomes one kernel parameter."""

    def __init__(self, manager: Any, kind: _Block):
        super().__init__(manager, kind, ll.ArrayType(I64, kind.words))


@intrinsic
def _body(typing_context, block, count):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        block.target.function(builder, *args)
        return context.get_dummy_value()

    return cuda_types.void(block, count), generate


def _wrapper(block, count):  # type: ignore[no-untyped-def]
    _body(block, count)
