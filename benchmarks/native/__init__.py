"""Hand-written C++ as a peer: kernels.cpp, compiled for this processor when the package is imported.

Raises `ImportError` where there is no C++ compiler with OpenMP, so that the run goes on without this peer.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
SOURCE = Path(__file__).with_name("kernels.cpp")


def compiler() -> str:
    """The command of the compiler: CXX, or g++. Raises `ImportError`."""
    command = shutil.which(os.environ.get("CXX", "g++"))
    if command is None:
        raise ImportError("no C++ compiler: install g++, or name one in CXX")
    return command


def compiled() -> ctypes.CDLL:
    """The library, from a folder that goes once it is loaded. Raises `ImportError` with the compiler's text."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernels.so"
        done = subprocess.run([compiler(), *FLAGS, SOURCE, "-o", target], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ImportError(f"kernels.cpp does not compile: {done.stderr.strip()[:500]}")
        return ctypes.CDLL(str(target))


def _version() -> str:
    line = subprocess.run([compiler(), "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=True)
    return line.stdout.split()[0]


_library = compiled()
__version__ = _version()
THREADS = int(_library.threads())


for _name in ("copy", "saxpy", "integrate", "wave", "springs"):
    getattr(_library, _name).restype = None
_library.uniform_sum.restype = ctypes.c_float


def bound(name: str, *arguments: object) -> Callable[[], Any]:
    """A function called with these int (64 bits), float (32 bits) and array arguments, which it keeps."""
    function, ready = getattr(_library, name), [_argument(a) for a in arguments]

    def run(alive: object = arguments) -> Any:
        return function(*ready)

    return run


def _argument(value: object) -> object:
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("an array with strides\nexpected: a contiguous one")
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_float(value)
