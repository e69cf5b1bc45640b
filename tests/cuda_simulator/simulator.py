"""Runs warpsim's CUDA runtime where there is no GPU: a simulated driver, and kernels as functions of the host.

`start()` compiles the C files beside this one to a `libcuda.so.1` and loads it, so that `cuda.bindings` and
everything else in the process finds it in place of a driver; and from then on `compile.build_cuda` returns
images for that driver: the CUDA target's own LLVM code in the form that runs on the CPU (see `cuda_on_cpu`).
Such an image holds addresses of this process and never reaches the kernel cache. Native functions run in
their C++ form. README.md lists the switches.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIBRARY = "libcuda.so.1"
_MAGIC = b"WSIMCUDA"
_FLAGS = ["-std=c11", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{LIBRARY}"]

_library: ctypes.CDLL | None = None
_kept: list[Any] = []  # code of kernels: modules of the driver hold its addresses


class SimulatorUnavailable(Exception):
    """The simulator cannot start; the message says why."""


def missing() -> str:
    """Why this machine cannot simulate a driver; nothing when it can."""
    if not sys.platform.startswith("linux"):
        return "the simulated CUDA driver is made for Linux"
    if shutil.which("cc") is None:
        return "this machine has no C compiler `cc` to build the simulated CUDA driver"
    try:
        import cuda.bindings  # noqa: F401, PLC0415  (optional package)
    except ImportError:
        return "cuda-bindings is not installed: pip install warpsim[cuda]"
    return ""


def build(folder: Path, *more: Path) -> Path:
    """The driver as a library in a folder, with `more` C files in it. Raises `SimulatorUnavailable`."""
    target = folder / LIBRARY
    sources = [str(path) for path in (*sorted(HERE.glob("*.c")), *more)]
    command = ["cc", *_FLAGS, "-o", str(target), *sources, "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SimulatorUnavailable(f"the C compiler refuses the simulated driver:\n{done.stderr}")
    return target


def start_driver(built: Path | None = None) -> ctypes.CDLL:
    """Put the simulated driver, built now or before, in place of the real one. Raises `SimulatorUnavailable`."""
    global _library
    if _library is None:
        if why := missing():
            raise SimulatorUnavailable(why)
        if _is_loaded():
            raise SimulatorUnavailable("a CUDA driver is loaded already: start the simulator before anything uses CUDA")
        with tempfile.TemporaryDirectory(prefix="warpsim-simulator-") as folder:
            # Later requests for the library by its name find the one that is loaded here.
            _library = ctypes.CDLL(str(built or build(Path(folder))), mode=ctypes.RTLD_GLOBAL)
        _library.fake_cuda_counters.restype = ctypes.c_int64
    return _library


def _is_loaded() -> bool:
    try:
        ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def start(built: Path | None = None) -> ctypes.CDLL:
    """Put the simulated driver in place, and let warpsim compile its kernels for it. Repeated calls do nothing."""
    library = start_driver(built)
    # Only now: warpsim looks for a driver once.
    from warpsim.core.emit import build as builder  # noqa: PLC0415

    builder.build_cuda = build_cuda
    sys.modules.setdefault("cuda.compute", None)  # type: ignore[arg-type]  # as if not installed: it builds for GPUs
    return library


def counter(name: str) -> int:
    """Calls of an entry such as "cuMemAlloc", or `launches`, `kernels`, `executed`, `live_bytes`, `live_blocks`, ..."""
    return max(0, int(start_driver().fake_cuda_counters(name.encode())))


def fail(symbol: str, code: int, after: int = 0) -> None:
    """Let an entry return an error once, after so many more calls of it that work."""
    if start_driver().fake_cuda_fail(symbol.encode(), code, after):
        raise ValueError(f"the simulated driver has no entry {symbol!r}")


# ----- kernels ------------------------------------------------------------------------------


def build_cuda(program: Any, options: Any, arch: tuple[int, int]) -> Any:
    """`compile.build_cuda` for the simulated driver: nothing is kept on disk."""
    from warpsim.core.emit import build as builder  # noqa: PLC0415  (see `start`)

    with builder.compiling:
        return machine_code(program.fn, program.ndim, options, program.plan, arch)


def machine_code(fn: Any, ndim: int, options: Any, plan: Any, arch: tuple[int, int], lineinfo: bool = False) -> Any:
    """`emit.cuda.machine_code` for the simulated driver."""
    emulator = _emulator()
    from warpsim.core.emit import layout  # noqa: PLC0415  (see `start`)
    from warpsim.core.emit.cuda.code import CudaCode  # noqa: PLC0415
    from warpsim.core.emit.cuda.target import CudaTarget  # noqa: PLC0415
    from warpsim.core.emit.native import linker, native, snippets  # noqa: PLC0415  (see `start`)

    target = CudaTarget(fn, ndim, options, plan)
    types = tuple(p.type for p in fn.params)
    text = emulator.emulation(target, types)
    printer = ctypes.cast(start_driver().fake_cuda_vprintf, ctypes.c_void_p).value
    libraries = snippets.libraries(fn)
    symbols = {"emulated_vprintf": printer, **{name: library.address for name, library in libraries.items()}}
    code = native.assemble(text, opt=1, vectorize=False, unroll=False)
    made = linker.NativeObject(code, symbols, callees=tuple(libraries.values()))
    _kept.append(made)
    _, size = layout.argument_offsets(list(types))
    image = _MAGIC + struct.pack("<3Q", made.address(emulator.KERNEL), made.address("registers"), size)
    return CudaCode(image, tuple(target.sites), size, target.accumulators.used, options.bounds[0])


def _emulator() -> Any:
    """The module `cuda_on_cpu` of the emitter's tests."""
    folder = str(HERE.parent / "core" / "emit")
    if folder not in sys.path:
        sys.path.append(folder)
    import cuda_on_cpu  # noqa: PLC0415  (found now)

    return cuda_on_cpu
