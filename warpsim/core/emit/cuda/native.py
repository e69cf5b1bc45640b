"""Native text for CUDA: C++ source compiled by NVRTC for linking to a kernel.

A kernel declares the functions that native texts define; `cuda` compiles the texts with this module and
links both. There the texts see CUDA's own functions: shared memory, barriers, atomics.
Neither a GPU nor a driver is needed. The source is that of the CPU (see `cpp`).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ....errors import DeviceError, NativeCodeError
from . import tools

_SHOWN_LINES = 12


def native_ptx(source: str, arch: tuple[int, int]) -> bytes:
    """PTX of a native source for compute capability `arch`.

    Raises `NativeCodeError` with the compiler's words, `DeviceError` for an `arch` that NVRTC does not
    know, and `ImportError` without nvidia-cuda-nvrtc.
    """
    # Without -rdc a function that no kernel calls is dropped.
    return _compile(source, arch, b"-rdc=true", "PTX").rstrip(b"\0")


def native_lto(source: str, arch: tuple[int, int], fast_math: bool = False) -> bytes:
    """As `native_ptx`, but in NVIDIA's form for optimisation when all is linked: calls can be inlined then."""
    return _compile(source, arch, b"-dlto", "LTOIR", fast_math)


def _compile(source: str, arch: tuple[int, int], option: bytes, form: str, fast_math: bool = False) -> bytes:
    nvrtc = tools.binding("nvrtc")
    program = _check(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cpp", 0, [], []))
    try:
        contract = b"--fmad=true" if fast_math else b"--fmad=false"  # as kernels, and as the CPU's compiler is told
        options = [f"--gpu-architecture=compute_{arch[0]}{arch[1]}".encode(), b"-std=c++17", contract, option]
        [status] = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise DeviceError(f"NVRTC has no compute capability {arch[0]}.{arch[1]}")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            said = _output_of(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            shown = [line for line in said.splitlines() if line.strip()][:_SHOWN_LINES]
            raise NativeCodeError(
                "the text of a native function does not compile for CUDA",
                found="\n".join(shown),
                help="lines are those of the text given to func_native",
            )
        return _output_of(nvrtc, program, form)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _output_of(nvrtc: ModuleType, program: Any, form: str) -> bytes:
    """What NVRTC keeps for a program: `PTX`, `LTOIR` or `ProgramLog`."""
    content: bytes = b" " * _check(nvrtc, getattr(nvrtc, f"nvrtcGet{form}Size")(program))  # NVRTC writes into it
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{form}")(program, content))
    return content


def _check(nvrtc: ModuleType, answer: tuple[Any, ...]) -> Any:
    status, *results = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise DeviceError(f"NVRTC fails: {status}")
    return results[0] if results else None
