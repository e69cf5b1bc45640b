"""NVIDIA's tools for CUDA code: location, availability, versions.

Importing this needs none of them.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

PACKAGES = {"nvvm": "nvidia-nvvm", "nvJitLink": "nvidia-nvjitlink", "nvrtc": "nvidia-cuda-nvrtc"}
"""The package that brings each library."""

_HELP = "help: pip install 'warpsim[cuda]' brings everything that CUDA code needs"


@functools.cache
def binding(name: str) -> Any:
    """The Python module for one of NVIDIA's libraries, which is then loaded.

    Raises `ImportError` that names the package to install.
    """
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        module = importlib.import_module(f"cuda.bindings.{name.lower()}")
    except ImportError as error:
        raise ImportError(f"CUDA code needs the package cuda-bindings: {error}\n{_HELP}") from error
    try:
        pathfinder.load_nvidia_dynamic_lib(name)
    except pathfinder.DynamicLibNotFoundError as error:
        raise ImportError(f"CUDA code needs the package {PACKAGES[name]}: {error}\n{_HELP}") from error
    return module


@functools.cache
def device_functions() -> bytes:
    """libdevice, NVIDIA's mathematics, as bitcode. Raises `ImportError` without nvidia-nvvm, which brings it."""
    binding("nvvm")
    pathfinder = importlib.import_module("cuda.pathfinder")
    try:
        return Path(pathfinder.find_bitcode_lib("device")).read_bytes()
    except pathfinder.BitcodeLibNotFoundError as error:
        raise ImportError(f"CUDA code needs libdevice.10.bc of nvidia-nvvm: {error}\n{_HELP}") from error


def missing() -> list[str]:
    """The packages without which there is no CUDA code; of native functions NVRTC makes it, which is listed too."""
    packages = []
    for name, package in PACKAGES.items():
        try:
            binding(name)
        except ImportError as error:
            packages.append("cuda-bindings" if "cuda-bindings" in str(error) else package)
    return sorted(set(packages))


@functools.cache
def versions() -> str:
    """What tells one set of tools from another, for keys of caches: the code that they make may differ."""
    return " ".join(_version(name, package) for name, package in PACKAGES.items())


def _version(name: str, package: str) -> str:
    # Its import takes 15 ms, which a program without CUDA does not spend.
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version(package))
    except metadata.PackageNotFoundError:
        return _identity(name)


def _identity(name: str) -> str:
    """A library of a toolkit that was installed otherwise, by its file."""
    pathfinder = importlib.import_module("cuda.pathfinder")
    try:
        path = Path(pathfinder.load_nvidia_dynamic_lib(name).abs_path)
    except pathfinder.DynamicLibNotFoundError:
        return "none"
    facts = path.stat()
    return f"{path}:{facts.st_size}:{facts.st_mtime_ns}"
