"""The choice of a launcher by kind of device, and launches prepared for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


class LaunchOptions(NamedTuple):
    """What `wp.launch` is told beside kernel, threads, arguments and device.

    deterministic: whether sums may not depend on scheduling, None for what the kernel says. input_count: how many
    arguments are `inputs`, None for all. record: whether tapes record it. block_dim: threads of a block, None for as
    usual. max_blocks: the most blocks on devices that have such, 0 for as many as fit.
    """

    deterministic: bool | None = None
    input_count: int | None = None
    record: bool = True
    block_dim: int | None = None
    max_blocks: int = 0


USUAL = LaunchOptions()


def prepare(
    kernel: Kernel,
    dim: int | tuple[int, ...],
    args: Sequence[Any],
    device: Device,
    form: Form = PRIMAL,
    options: LaunchOptions = USUAL,
) -> LaunchCall:
    """A launch whose arguments are checked and packed, structs as they are now. Raises what `launch` raises."""
    launcher, args = LAUNCHERS[device.kind].of(kernel, [freeze(a) for a in args], device, form, rank(dim))
    launcher = launcher.with_shape(options.block_dim, options.max_blocks)
    total, header = launcher.extent(dim)
    block = launcher.pack_checked(args, header)
    count = len(args) if options.input_count is None else options.input_count
    ordered = launcher.deterministic if options.deterministic is None else bool(options.deterministic)
    return LaunchCall(launcher, dim, total, block, args, count, options.record, ordered)
