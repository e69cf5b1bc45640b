"""`print_diagnostics`: versions and devices, for reports of faults; `warpsim info` says more."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import numpy as np
from llvmlite import binding

from .config import config
from .core.runtime.devices.cuda.access import get_cuda_driver_version
from .core.runtime.devices.device import Device, get_devices, is_cuda_available
from .warp.profiling import get_cuda_toolkit_version, is_cubql_available

FRAMEWORKS = ("torch", "jax", "jaxlib", "paddlepaddle", "usd-core", "newton")


def print_diagnostics() -> dict[str, Any]:
    """Print versions, switches and devices; returns them by name.

    The names are those that programs written for Warp read: "warp_python" is the version of Warp whose interface
    this is, and what is not part of warpsim ("mathdx_enabled", "libmathdx") is False or None.
    """
    software, switches, devices = _software(), _switches(), [_facts(d) for d in get_devices()]
    for title, facts in (("Software", software), ("Build", switches)):
        _print_table(title, facts)
    for facts in devices:
        _print_table(f"Device {facts['alias']}", facts)
    return {**software, **switches, "devices": devices}


def _software() -> dict[str, Any]:
    versions = {name: _version(name) for name in FRAMEWORKS}
    return {
        "warpsim": _own_version(),
        "warp_python": config.version,
        "warp_native": config.version,
        "warp_clang": None,
        "llvm": ".".join(map(str, binding.llvm_version_info)),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "nanovdb": _nanovdb_version(),
        "host_compiler": f"LLVM, by llvmlite {_version('llvmlite')}",
        **{name: version for name, version in versions.items() if version},
    }


def _own_version() -> str:
    from . import __version__  # noqa: PLC0415 - this module is a part of it

    return __version__


def _nanovdb_version() -> str:
    from .geometry.nanovdb.layout import NEW_MAGIC, unpack_version  # noqa: PLC0415 - few programs need volumes

    return ".".join(map(str, unpack_version(NEW_MAGIC)))


def _switches() -> dict[str, Any]:
    return {
        "cuda_enabled": is_cuda_available(),
        "cuda_toolkit": get_cuda_toolkit_version(),
        "cuda_driver": get_cuda_driver_version(),
        "nvrtc": _version("nvidia-cuda-nvrtc") or None,
        "cuda_compatibility": None,
        "mathdx_enabled": False,
        "libmathdx": None,
        "cubql_enabled": is_cubql_available(),
        "debug": config.mode == "debug",
        "verify_fp": config.verify_fp,
        "fast_math": config.fast_math,
    }


def _facts(device: Device) -> dict[str, Any]:
    """What is known of a device."""
    facts: dict[str, Any] = {"alias": device.alias, "name": device.name}
    if device.sm_count:
        major, minor = device.arch
        facts |= {
            "arch": f"sm_{major}{minor}",
            "sm_count": device.sm_count,
            "memory_gb": device.total_memory / 2**30,
            "mempool_enabled": device.is_mempool_enabled,
            "pci_bus_id": device.pci_bus_id,
            **{name: getattr(device, name) for name in REACH},
        }
    return facts


REACH = (
    "is_cpu_memory_access_from_gpu_supported",
    "is_gpu_memory_access_from_cpu_supported",
    "is_cpu_gpu_atomic_supported",
)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _print_table(title: str, facts: dict[str, Any]) -> None:
    print(title)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"  {name:{width}}  {value}")
