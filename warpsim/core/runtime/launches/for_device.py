"""The choice of a launcher by kind of device, and launches prepared for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...emit.program import PRIMAL, Form
from ...types.structs import freeze
from ..devices.device import Device
from .cpu_launcher import CpuLauncher
from .cuda_launcher import CudaLauncher
from .dimensions import rank
from .interp import InterpLauncher
from .kernel import Kernel
from .launcher import LaunchCall, Launcher

LAUNCHERS: dict[str, type[Launcher]] = {"cpu": CpuLauncher, "interp": InterpLauncher, "cuda": CudaLauncher}


def launcher_for(
    kernel: Kernel, args: Sequence[Any], device: Device, form: Form = PRIMAL, rank: int = 0
) -> tuple[Launcher, list[Any]]:
    """The launcher of a kernel's form for arguments, see `Launcher.of`."""
    return LAUNCHERS[device.kind].of(kernel, args, device, form, rank)


def prepare(
    kernel: Kernel, dim: int | tuple[int, ...], args: Sequence[Any], device: Device, form: Form = PRIMAL,
    deterministic: bool | None = None, input_count: int | None = None, record: bool = True,
) -> LaunchCall:  # fmt: skip
    """A launch whose arguments are checked and packed, structs as they are now. Raises what `launch` raises."""
    launcher, args = launcher_for(kernel, [freeze(a) for a in args], device, form, rank(dim))
    total, header = launcher.extent(dim)
    ordered = launcher.deterministic if deterministic is None else deterministic
    count = len(args) if input_count is None else input_count
    return LaunchCall(launcher, dim, total, launcher.pack_checked(args, header), args, count, record, bool(ordered))
