"""Devices: `cpu` (compiled, all cores) and `interp` (the interpreter); `cuda:N` where a driver is found.

The default device is the CPU. A device is its own name: `str(device) == "cpu"`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import DeviceError


class Device:
    """A place where arrays live and kernels run."""

    def __init__(self, alias: str, name: str):
        self.alias, self.name = alias, name
        self.is_cpu, self.is_cuda, self.is_interp = alias == "cpu", alias.startswith("cuda"), alias == "interp"
        self.ordinal = int(alias.partition(":")[2] or 0)

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"Device({self.alias!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.alias == other or (self.is_cuda and other == "cuda" and self.ordinal == 0)
        return self is other

    def __hash__(self) -> int:
        return hash(self.alias)

    @property
    def shares_host_memory(self) -> bool:
        """Whether NumPy can see the memory: `cpu` and `interp` share arrays."""
        return not self.is_cuda


CPU = Device("cpu", "CPU")
INTERP = Device("interp", "Interpreter")
_DEVICES = {"cpu": CPU, "interp": INTERP}
_current = threading.local()


def get_device(ident: Any = None) -> Device:
    """The device of a name, a Device, or None for the current one. Raises `DeviceError`."""
    if ident is None:
        return getattr(_current, "device", CPU)
    if isinstance(ident, Device):
        return ident
    found = _DEVICES.get(str(ident))
    if found is not None:
        return found
    if str(ident).startswith("cuda"):
        raise DeviceError(
            f"device {str(ident)!r} is not available: warpsim runs kernels on the CPU in this version\n"
            f"expected: {', '.join(_DEVICES)}\nhelp: leave device out, or use device=\"cpu\""
        )
    raise DeviceError(f"unknown device {ident!r}\nexpected: {', '.join(_DEVICES)}")


def get_devices() -> list[Device]:
    """All devices that kernels can run on for production work."""
    return [CPU]


def get_preferred_device() -> Device:
    """The first CUDA device, else the CPU."""
    return CPU


def set_device(ident: Any) -> None:
    """Make a device the current one of this thread."""
    _current.device = get_device(ident)


def is_device_available(ident: Any) -> bool:
    try:
        get_device(ident)
    except DeviceError:
        return False
    return True


def is_cpu_available() -> bool:
    """Whether kernels can run on the CPU: always."""
    return True


def is_cuda_available() -> bool:
    """Whether kernels can be launched on CUDA here."""
    return False


def get_cuda_devices() -> list[Device]:
    return []


def get_cuda_device_count() -> int:
    return 0


@contextmanager
def _scoped(ident: Any) -> Iterator[Device]:
    before = get_device()
    set_device(ident)
    try:
        yield get_device()
    finally:
        set_device(before)


class ScopedDevice:
    """`with ScopedDevice("cpu"):` makes a device current for a block."""

    def __init__(self, device: Any):
        self.device = get_device(device)
        self._scope: Any = None

    def __enter__(self) -> Device:
        self._scope = _scoped(self.device)
        return self._scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._scope.__exit__(*error)


def synchronize() -> None:
    """Wait for all work: CPU launches have finished when `launch` returns."""


def synchronize_device(device: Any = None) -> None:
    """Wait for all work on a device."""
    get_device(device)
