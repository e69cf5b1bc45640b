"""Native text for CUDA: from C++ source to PTX that is linked to a kernel's, by NVRTC.

A kernel's PTX declares the functions that native texts define; `cuda.assemble` compiles the texts with
this module and links both. There the texts see CUDA's own functions: shared memory, barriers, atomics.
Neither a GPU nor a driver is needed. The source is that of the CPU (see `cpp`).
"""

from __future__ import annotations

from typing import Any

from cuda.bindings import nvrtc
from cuda.pathfinder import DynamicLibNotFoundError

from ...errors import DeviceError, NativeCodeError

_SHOWN_LINES = 12


def native_ptx(source: str, arch: tuple[int, int]) -> bytes:
    """PTX of a native source for compute capability `arch`.

    Raises `NativeCodeError` with the compiler's words, `DeviceError` for an `arch` that NVRTC does not
    know, and `ImportError` without nvidia-cuda-nvrtc.
    """
    try:
        program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cpp", 0, [], []))
    except DynamicLibNotFoundError as error:
        raise ImportError(f"native functions on CUDA need NVRTC: {error}\nhelp: pip install warpsim[cuda]") from error
    try:
        # Without -rdc a function that no kernel calls is dropped.
        options = [f"--gpu-architecture=compute_{arch[0]}{arch[1]}".encode(), b"-std=c++17", b"-rdc=true"]
        [status] = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise DeviceError(f"NVRTC has no compute capability {arch[0]}.{arch[1]}")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            said = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode(errors="replace")
            shown = [line for line in said.splitlines() if line.strip()][:_SHOWN_LINES]
            raise NativeCodeError(
                "the text of a native function does not compile for CUDA", found="\n".join(shown),
                help="lines are those of the text given to func_native",
            )  # fmt: skip
        return _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _text(program: Any, size_of: Any, fill: Any) -> bytes:
    """What NVRTC keeps for a program, without the zero at its end."""
    content = b" " * _checked(size_of(program))  # NVRTC writes into it
    _checked(fill(program, content))
    return content.rstrip(b"\0")


def _checked(answer: tuple[Any, ...]) -> Any:
    status, *found = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise DeviceError(f"NVRTC fails: {status}")
    return found[0] if found else None
