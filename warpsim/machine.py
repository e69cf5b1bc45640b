"""What there is on a machine that decides what runs there and how: `warpsim info`, and its report for issues."""

from __future__ import annotations

import getpass
import os
import platform
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import warpsim

from . import gallery
from .config import config
from .core.emit.cuda import nvjitlink, nvvm
from .core.emit.cuda import tools as cuda_tools
from .core.emit.disk.cache import ObjectCache, default_directory
from .core.emit.native import native
from .core.runtime.devices.cuda import driver
from .core.runtime.devices.processor import cores, processor
from .core.runtime.launches import pool
from .errors import WarpsimError, counted

CUDA_PACKAGES = {
    "cuda-bindings": "the driver, from Python",
    "nvidia-nvvm": "kernels to PTX",
    "nvidia-nvjitlink": "PTX to machine code",
    "nvidia-cuda-nvrtc": "native functions",
    "cuda-cccl": "sums, scans and sorts of large arrays, which take longer without",
}
"""What the extra `cuda` brings, and what each is for."""

_CUDA_CURE = "pip install 'warpsim[cuda]'"
_PROGRAM = """
target triple = "{}"
target datalayout = "{}"
!nvvmir.version = !{{!0}}
!0 = !{{{}}}
define void @nothing() {{
  ret void
}}
"""

OPTIONAL = {
    "usd-core": "pip install usd-core",
    "matplotlib": "pip install matplotlib",
    "scipy": "pip install scipy",
    "torch": "pip install 'warpsim[torch]'",
    "jax": "pip install 'warpsim[jax]'",
    "paddlepaddle": "pip install 'warpsim[paddle]'",
}

OTHERS = (
    "ml_dtypes tqdm pillow numba jaxlib cma trimesh h5py OpenEXR imageio blosc mpi4py mpich ziglang nvmath-python "
    "nvidia-cufft cupy-cuda13x warp-lang newton"
).split()
"""Packages that a report names where they are installed, beside those of which `warpsim info` tells."""


def facts() -> Iterator[tuple[str, str]]:
    """Names and values of everything that decides what runs here and how."""
    yield "warpsim", f"{warpsim.__version__} in {gallery.PACKAGE}"
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    for name in ("numpy", "llvmlite"):
        yield name, version_of(name) or "not installed: pip install --force-reinstall warpsim"
    yield "CPU", f"{processor()}, {cores()} of {os.cpu_count()} cores usable"
    yield "threads", threads()
    yield "kernel cache", cache_summary(cache())
    yield "CUDA driver", cuda_driver()
    yield from cuda_devices()
    for name, purpose in CUDA_PACKAGES.items():
        yield name, version_of(name) or f"not installed ({purpose}): {_CUDA_CURE}"
    compiles, answer = cuda_compiles()
    yield "CUDA compiles", answer
    yield "CUDA runs", cuda_runs(compiles)
    for name, cure in OPTIONAL.items():
        yield name, version_of(name) or f"not installed: {cure}"


def version_of(package: str) -> str:
    """The installed version of a distribution, or nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def threads() -> str:
    """How many threads a launch takes."""
    try:
        return str(pool.get_pool().threads)
    except WarpsimError as error:
        return "; ".join(str(error).splitlines())


def cuda_driver() -> str:
    """The driver that was found, or why there is none to use."""
    cuda = driver.find_driver()
    if not cuda.version:
        return f"{cuda.reason}; kernels run on the CPU"
    return f"for CUDA {driver.version_text(cuda.version)}, {cuda.count} device{'s' if cuda.count > 1 else ''}"


def cuda_devices() -> Iterator[tuple[str, str]]:
    """The GPUs that kernels can run on; none of them is touched."""
    for device in warpsim.get_cuda_devices():
        major, minor = device.arch
        size = int(driver.call("cuDeviceTotalMem", device.handle)) / 2**30
        yield (
            str(device),
            (f"{device.name}, compute capability {major}.{minor}, {size:.1f} GiB, {device.sm_count} multiprocessors"),
        )


def cuda_compiles() -> tuple[bool, str]:
    """Whether kernels become machine code here, which needs no GPU: tried with the tools themselves."""
    if absent := cuda_tools.missing():
        return False, f"no, not without {', '.join(absent)}: {_CUDA_CURE}"
    version = ", ".join(f"i32 {n}" for n in nvvm.ir_version())
    program = _PROGRAM.format(nvvm.TRIPLE, nvvm.DATA_LAYOUT, version)
    known = nvvm.known_archs()
    for arch in dict.fromkeys([*(device.arch for device in warpsim.get_cuda_devices()), known[0], known[-1]]):
        try:
            nvjitlink.assemble([nvvm.ptx(program, "nothing", arch).encode()], arch)
        except WarpsimError as error:
            return False, f"no: {'; '.join(str(error).splitlines())}"
    first, last = (f"{major}.{minor}" for major, minor in (known[0], known[-1]))
    return True, f"yes, for compute capabilities from {first} to {last}"


def cuda_runs(compiles: bool) -> str:
    """Whether kernels can be launched on a GPU here."""
    if why := driver.reason():
        return f"no: {why}"
    return "yes" if compiles else "only what the kernel cache holds"


# ----- the report for issues --------------------------------------------------------------------


def report() -> str:
    """What an issue should say about its machine: text of lines below 120 characters, with nothing private in it.

    Versions of all packages that matter, system, processor with its features, threads, the kernel cache, devices, and
    the environment variables of warpsim. The home folder is `~` in it, and the name of the user is USER.
    """
    rows = [*_report_facts()]
    width = max(len(name) for name, _ in rows)
    wrapped = textwrap.TextWrapper(
        118, break_long_words=False, break_on_hyphens=False, subsequent_indent=" " * (width + 2)
    )
    return "\n".join(wrapped.fill(f"{name:{width}}  {without_names(value)}") for name, value in rows)


def _report_facts() -> Iterator[tuple[str, str]]:
    requirements = native.requirements()
    yield "warpsim", f"{warpsim.__version__}, {'a clone' if gallery.checkout() else 'installed'}"
    build, compiler = platform.python_implementation(), platform.python_compiler()
    yield "Python", f"{platform.python_version()}, {build}, {compiler}{_environment()}"
    libc = " ".join(platform.libc_ver())
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()} {libc}".rstrip()
    yield "CPU", f"{processor()}, {cores()} of {os.cpu_count()} cores usable"
    yield "CPU features", " ".join(str(feature).removeprefix("+") for feature in requirements["features"])
    yield "libmvec", "used" if requirements["libmvec"] else "not used"
    yield "threads", threads()
    yield "kernel cache", cache_summary(cache())
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("WARPSIM_")]
    yield "environment", " ".join(settings) or "no variables of warpsim"
    yield "CUDA driver", cuda_driver()
    yield from cuda_devices()
    compiles, answer = cuda_compiles()
    yield "CUDA compiles", answer
    yield "CUDA runs", cuda_runs(compiles)
    names = ("numpy", "llvmlite", *OPTIONAL, *CUDA_PACKAGES, *OTHERS)
    versions = {name: version_of(name) for name in names}
    yield "packages", ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield "not installed", ", ".join(name for name, version in versions.items() if not version)


def _environment() -> str:
    return ", in a virtual environment" if sys.prefix != sys.base_prefix else ""


def without_names(value: str) -> str:
    """A text in which the home folder is `~`, and the name of the user, as a part of a path, is `USER`."""
    home = Path.home()
    for folder in sorted({str(home), str(home.resolve())}, key=len, reverse=True):
        if folder != home.anchor:
            value = re.sub(rf"{re.escape(folder)}(?=$|[\\/\s;,:\"'])", "~", value)
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # of a container whose user has no name
        return value
    return re.sub(rf"(?<=[\\/]){re.escape(user)}(?=$|[\\/\s;,:\"'])", "USER", value)


# ----- the kernel cache -------------------------------------------------------------------------


def cache() -> ObjectCache:
    """The folder of compiled kernels, as `config` and the environment choose it."""
    chosen = Path(config.kernel_cache_dir) if config.kernel_cache_dir else default_directory()
    return ObjectCache(chosen, config.max_cache_bytes)


def cache_summary(kernels: ObjectCache) -> str:
    count, size, most = len(kernels.entries()), megabytes(kernels.size()), megabytes(kernels.max_bytes)
    return f"{counted(count, 'entry')}, {size} of at most {most} in {kernels.directory}"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
