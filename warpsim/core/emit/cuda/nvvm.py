"""LLVM text to PTX by libNVVM, called directly: neither a GPU nor a driver is needed.

NVVM reads two dialects of LLVM: that of version 7 for compute capabilities below 10.0, and a recent one
from there on. llvmlite's text is both where pointers name what they point to and every intrinsic has its
older name, which the emitter takes care of. libdevice is linked lazily: only what a kernel calls is read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ....errors import CompilerError, DeviceError
from . import tools

TRIPLE = "nvptx64-nvidia-cuda"
DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-"
    "f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
_OLDEST, _NEWEST = 50, 199  # compute capabilities that may be asked about, as NVVM writes them


def ptx(text: str, name: str, arch: tuple[int, int], fast_math: bool = False) -> str:
    """The PTX of a module for compute capability `arch`. Every operation rounds, as on the CPU.

    `fast_math` approximates division and square roots and flushes subnormal numbers to zero. Products are rounded
    before they are added where the text does not carry LLVM's flag contract: geometry relies on their signs. Raises
    `ImportError` without libNVVM, `DeviceError` for an `arch` that it does not know, and `CompilerError`
    with its words when it refuses the text of the kernel `name`, which is a defect of the emitter.
    """
    return _compile(text, name, arch, fast_math).decode().rstrip("\0")


def lto(text: str, name: str, arch: tuple[int, int], fast_math: bool = False) -> bytes:
    """As `ptx`, but in NVIDIA's form for optimisation when modules are linked."""
    return _compile(text, name, arch, fast_math, "-gen-lto")


def rounding(fast_math: bool) -> list[str]:
    """Options about rounding, which NVVM and the linker share."""
    fast = int(fast_math)
    return [f"-ftz={fast}", f"-prec-sqrt={1 - fast}", f"-prec-div={1 - fast}", "-fma=0"]


def ir_version() -> tuple[int, ...]:
    """The version of NVVM's language and of its debug information, which modules state."""
    return tuple(_library().ir_version())


def runs_on(arch: tuple[int, int]) -> tuple[int, int]:
    """The newest known compute capability whose machine code a GPU of `arch` runs: of the same generation.

    `arch` itself where there is none, about which `ptx` then complains.
    """
    return max((known for known in known_archs() if known[0] == arch[0] and known <= arch), default=arch)


@functools.cache
def known_archs() -> tuple[tuple[int, int], ...]:
    """The compute capabilities that this libNVVM makes code for."""
    numbers = (n for n in range(_OLDEST, _NEWEST + 1) if _knows(_library(), n))
    return tuple((n // 10, n % 10) for n in numbers)


def _compile(text: str, name: str, arch: tuple[int, int], fast_math: bool, *more: str) -> bytes:
    options = [f"-arch=compute_{arch[0]}{arch[1]}", *rounding(fast_math), "-opt=3", *more]
    content, library, device = text.encode(), _library(), tools.device_functions()
    with _program(library) as program:
        try:
            library.add_module_to_program(program, content, len(content), name)
            library.lazy_add_module_to_program(program, device, len(device), "libdevice")
            library.compile_program(program, len(options), options)
        except library.nvvmError as error:
            if error.status == library.Result.ERROR_INVALID_OPTION:  # the other options are right for every arch
                raise _unknown(arch) from error
            said = f"NVVM refuses the code of kernel {name!r}: {error}\n{_log(library, program)}"
            raise CompilerError(said.rstrip()) from error
        code = bytearray(library.get_compiled_result_size(program))
        library.get_compiled_result(program, code)
    return bytes(code)


@contextmanager
def _program(library: ModuleType) -> Iterator[int]:
    program = library.create_program()
    try:
        yield program
    finally:
        library.destroy_program(program)


def _log(library: ModuleType, program: int) -> str:
    text = bytearray(library.get_program_log_size(program))
    library.get_program_log(program, text)
    return text.decode(errors="replace").strip("\0\n ")


def _unknown(arch: tuple[int, int]) -> DeviceError:
    known = ", ".join(f"{major}.{minor}" for major, minor in known_archs())
    return DeviceError(
        f"no code for compute capability {arch[0]}.{arch[1]}\nexpected: one of {known}\n"
        "help: newer GPUs need a newer nvidia-nvvm; older ones are no longer supported by NVIDIA"
    )


def _knows(library: ModuleType, number: int) -> bool:
    empty = f'target triple = "{TRIPLE}"\ntarget datalayout = "{DATA_LAYOUT}"\n'.encode()
    with _program(library) as program:
        try:
            library.add_module_to_program(program, empty, len(empty), "empty")
            library.verify_program(program, 1, [f"-arch=compute_{number}"])
        except library.nvvmError as error:  # options are looked at before the module, which is not whole
            return bool(error.status != library.Result.ERROR_INVALID_OPTION)
    return True


def _library() -> Any:
    return tools.binding("nvvm")
