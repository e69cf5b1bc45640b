"""The CUDA driver API: located once, called through one function, with errors as exceptions.

`reason()` says why there is no usable driver, or nothing when there is one; asking loads no package and
never fails. `call` runs a function of `cuda.bindings.driver` and returns its result without the status.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsInt

from .....errors import DeviceError, DeviceMemoryError
from .....forks import fork_safe

if TYPE_CHECKING:
    from ..device import Device


OLDEST = 13000  # what the packages of the extra `cuda` are made for, as cuDriverGetVersion counts
_OUT_OF_MEMORY, _NO_DEVICE = 2, 100
_DEAD = {700, 702, 710, 714, 715, 716, 717, 718, 719}
"""Statuses after which the context is of no use: illegal addresses, traps, misaligned accesses, time-outs."""
_GONE = {4, 709}
"""Statuses of calls after the end of the context."""

_looking = fork_safe(threading.Lock())


class _Found:
    """What a look at the machine found."""

    def __init__(self, reason: str, count: int = 0, version: int = 0):
        self.reason, self.count, self.version = reason, count, version
        self.api: Any = None


_found: _Found | None = None


def _look() -> _Found:
    """Look at the driver with the C library alone: bindings that meet no driver have been seen to hang."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return _Found(f"no NVIDIA driver is installed ({name} is not found)")
    status = library.cuInit(0)
    if status:
        why = "it finds no GPU" if status == _NO_DEVICE else f"cuInit returns {status}"
        return _Found(f"the NVIDIA driver is installed and does not start: {why}")
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    library.cuDeviceGetCount(ctypes.byref(count))
    if version.value < OLDEST:
        there, needed = version_text(version.value), version_text(OLDEST)
        return _Found(f"the NVIDIA driver is for CUDA {there}, and {needed} is needed: update it")
    if not count.value:
        return _Found("the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide them)")
    return _Found("", count.value, version.value)


def version_text(version: int) -> str:
    """A version as people write it."""
    return f"{version // 1000}.{version % 1000 // 10}"


def find_driver() -> _Found:
    """The driver, after the first look."""
    global _found
    if _found is None:
        with _looking:
            if _found is None:
                _found = _look()
    return _found


def reason() -> str:
    """Why CUDA cannot be used in this process; nothing when it can."""
    driver = find_driver()
    if not driver.reason and driver.api is None:
        _load(driver)
    return driver.reason


def _after_fork() -> None:
    """In a new process: a driver that was started before the fork does not work here."""
    if _found is not None and not _found.reason:
        _found.reason = "CUDA was in use before this process was forked: start processes with multiprocessing's 'spawn'"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _load(driver: _Found) -> None:
    try:
        driver.api = importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        driver.reason = f"a driver is installed, but not what talks to it ({error}): pip install 'warpsim[cuda]'"


def api() -> Any:
    """The module `cuda.bindings.driver`. Raises `DeviceError` when there is no driver to call."""
    if why := reason():
        raise DeviceError(f"CUDA is not available: {why}\nhelp: `warpsim info` shows what is missing")
    return find_driver().api


def call(name: str, *args: object) -> Any:
    """Run a driver function: its result, a tuple of several, or None.

    Raises `DeviceMemoryError` when a device has no memory left, `DeviceError` for every other status.
    """
    status, *results = getattr(api(), name)(*args)
    if status:
        raise failure(name, status)
    if len(results) == 1:
        return results[0]
    return tuple(results) or None


def finalize(device: Device, action: Callable[[], None]) -> None:
    """Let a finalizer give something back to the driver, if there still is one. Never fails."""
    if sys is None or sys.is_finalizing():
        return  # the driver ends with the process
    with contextlib.suppress(Exception):  # a dead context, a forked process: there is nobody to tell
        device.finish(action)


def failure(name: str, status: SupportsInt) -> DeviceError:
    """The exception for a status that is not success."""
    number, word = int(status), getattr(status, "name", str(status))
    if number == _OUT_OF_MEMORY:
        return DeviceMemoryError(f"{name}: {word}: no memory is left on the device")
    if number in _GONE:
        return DeviceError(
            f"{name}: {word}: other code in this process has ended the context of the device, as cudaDeviceReset does, "
            "and with it all arrays there\nhelp: leave the context alone while arrays are in use"
        )
    if number in _DEAD:
        return DeviceError(
            f"{name}: {word}: a kernel that was launched before this call did something forbidden, and the device "
            "cannot be used by this process any more\nhelp: run the program with config.verify = True, or on "
            "device='cpu' or device='interp', which name the kernel, the line and the index"
        )
    return DeviceError(f"{name} fails: {word}")
