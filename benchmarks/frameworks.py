"""The frameworks that take part: module names, environment, set-up, version and thread count.

Guarantees that each one runs on the CPU, with its default options otherwise, with all cores or
with the number of threads asked for, or on the GPU that was asked for, and that its disk cache lies
in the directory it is given.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

ORDER = ("warpsim", "warp", "taichi", "numba", "cpp")
MODULES = {"warpsim": "warpsim", "warp": "warp", "taichi": "taichi", "numba": "numba", "cpp": "benchmarks.native"}
DIALECTS = {"warpsim": "warp", "warp": "warp", "taichi": "taichi", "numba": "numba", "cpp": "cpp"}


def environment(cache: str, threads: int | None, device: str = "cpu") -> dict[str, str]:
    """Variables that a child needs before it imports a framework; ``cache`` is a directory."""
    variables = {
        "BENCH_CACHE": cache,
        "BENCH_DEVICE": device,
        "TMPDIR": cache,  # what a framework leaves behind goes when the run ends
        "NUMBA_CACHE_DIR": os.path.join(cache, "numba"),
        "WARPSIM_CACHE_PATH": os.path.join(cache, "warpsim"),
        "TI_LOG_LEVEL": "warn",
    }
    if threads is not None:
        for name in ("BENCH_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "WARPSIM_NUM_THREADS"):
            variables[name] = str(threads)
    return variables


def able(device: str) -> tuple[str, ...]:
    """The frameworks whose workloads here run on a device."""
    return ORDER if device == "cpu" else tuple(name for name in ORDER if DIALECTS[name] == "warp")


def device() -> str:
    """Where the workloads of this process run."""
    return os.environ.get("BENCH_DEVICE", "cpu")


def load(name: str) -> ModuleType:
    """Import a framework. Raises ``ModuleNotFoundError`` where it is not installed."""
    return importlib.import_module(MODULES[name])


def prepare(name: str, module: ModuleType, *, forward_only: bool = False) -> None:
    """Do what a user's script does after the import, before its first kernel."""
    cache = os.environ["BENCH_CACHE"]
    if name == "warpsim" and device() != "cpu":
        module.set_device(device())
    elif name == "warp":
        _prepare_warp(module, os.path.join(cache, "warp"), forward_only)
    elif name == "taichi":
        threads = os.environ.get("BENCH_THREADS")
        limit = {"cpu_max_num_threads": int(threads)} if threads else {}
        folder = os.path.join(cache, "taichi")
        module.init(arch=module.cpu, offline_cache_file_path=folder, **limit)


def _prepare_warp(wp: Any, folder: str, forward_only: bool) -> None:
    wp.config.quiet = True
    wp.config.kernel_cache_dir = folder
    if forward_only:
        wp.config.enable_backward = False
    wp.set_device(device())


def settle(module: Any) -> Callable[[], object] | None:
    """What waits until all work on the GPU is done; ``None`` on the CPU, where calls return when it is."""
    if device() == "cpu":
        return None
    return lambda: module.synchronize_device(device())


def describe(name: str, module: Any) -> dict[str, Any]:
    """Version, threads in use and a remark on how the framework runs here."""
    return {
        "version": str(getattr(module, "__version__", "unknown")).removeprefix("v"),
        **_DESCRIBE[name](module),
    }


def _describe_warpsim(wp: Any) -> dict[str, Any]:
    if device() != "cpu":
        return {"threads": 1, "note": f"default options, {wp.get_device().name}"}
    pool = importlib.import_module("warpsim.core.runtime.launches.pool").get_pool()
    return {"threads": pool.threads, "note": "default options"}


def _describe_warp(wp: Any) -> dict[str, Any]:
    where = "CPU launches run on one thread" if device() == "cpu" else wp.get_device().name
    note = f"{where}; adjoint code is compiled with each module"
    return {"threads": 1, "version": wp.config.version, "note": note}


def _describe_taichi(ti: Any) -> dict[str, Any]:
    configured = ti.lang.impl.current_cfg().cpu_max_num_threads
    version = ".".join(str(part) for part in ti.__version__)
    return {"threads": int(configured), "version": version,
            "note": "fields; fast_math on, its default"}


def _describe_numba(nb: Any) -> dict[str, Any]:
    # a threading layer has a name only once a parallel function has run
    @nb.njit(parallel=True)
    def touch(n: int) -> int:
        total = 0
        for i in nb.prange(n):
            total += i
        return total

    touch(10)
    return {"threads": nb.get_num_threads(),
            "note": f"njit(parallel=True), {nb.threading_layer()} threads"}


def _describe_cpp(native: Any) -> dict[str, Any]:
    return {"threads": native.THREADS, "note": f"hand-written loops, g++ {' '.join(native.FLAGS[:3])}"}


_DESCRIBE = {
    "warpsim": _describe_warpsim,
    "warp": _describe_warp,
    "taichi": _describe_taichi,
    "numba": _describe_numba,
    "cpp": _describe_cpp,
}
