"""Launching kernels: from arguments to a call of machine code.

A launch of few threads runs on the calling thread; a large one is cut into chunks whose boundaries
depend on the number of threads alone, and all cores take chunks. Float atomics that scatter go to
private copies (see `scatter`), so results do not depend on scheduling.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any

from ...config import config
from ...errors import ArgumentTypeError, LaunchError
from ..passes.access import Part
from ..types.arrays import ArrayType
from ..types.signatures import is_generic
from . import graph, interp, pool, scatter
from .arguments import UNFIT, adapted, block_packer, check_writable, exact_packer, mismatch, packer, unfit
from .array import memory_of_part, overlap
from .device import CPU, Device, get_device
from .dimensions import extent, normalized
from .kernel import Kernel, Settings
from .report import Report


class Launcher:
    """One compiled form of a kernel, for fixed tags of its array arguments."""

    def __init__(
        self, kernel: Kernel, types: tuple[Any, ...], args: list[Any], settings: Settings, aliased: bool
    ):
        self.kernel, self.types, self.aliased = kernel, types, aliased
        self.program = kernel.program(types, settings, aliased)
        self.summed = kernel.program(types, settings).plan.summed()
        layouts = tuple("C" if _contiguous(a, t) else "" for a, t in zip(args, types, strict=True))
        tags = [a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True)]
        open_types = [is_generic(p) for p in kernel.patterns.values()]
        self.packers = [exact_packer(t) if generic else packer(t) for t, generic in zip(types, open_types, strict=True)]
        self.join = block_packer(tags, self.packers)
        self.code = kernel.compiled(types, layouts, settings, aliased)
        self.call = pool.KERNEL_PROTOTYPE(self.code.address)
        self.ndim = self.program.ndim
        self.cost = max(0.25, self.program.nanoseconds)
        self.serial_limit = serial_limit(self.cost)
        self.reports = bool(self.code.sites)
        plan = self.program.plan
        self.sums = plan.summed()
        self.has_atomics = bool(plan.atomics())
        self.generation = config.generation

    def pack(self, args: Sequence[Any], header: bytes) -> bytes | None:
        """The argument block, or None when an argument needs a closer look."""
        try:
            block = self.join(args, header)
        except UNFIT:
            return None
        if self.summed and block is not None and meets_others(args, self.summed, self.types) is not self.aliased:
            return None
        return block

    def packed(self, args: list[Any], header: bytes) -> bytes:
        """The argument block; raises `ArgumentTypeError` when an argument does not fit."""
        block = self.pack(args, header)
        if block is None:
            explain(self, args)
        assert block is not None
        return block

    def prepared(self, args: list[Any]) -> tuple[Launcher, list[Any]]:
        """The compiled form of the kernel for other arguments."""
        return prepared(self.kernel, args, CPU)

    def execute(self, block: bytes, total: int, args: list[Any], deterministic: bool) -> None:
        """Run with an argument block."""
        execute(self, block, total, args, deterministic)


def meets_others(args: Sequence[Any], summed: list[Part], types: tuple[Any, ...]) -> bool:
    """Whether memory that is only summed into is shared with an array or gradient that is used otherwise.

    Then sums may be kept neither in registers nor in private copies: the other name would not see them.
    """
    if not summed:
        return False
    arrays = [k for k, t in enumerate(types) if isinstance(t, ArrayType)]
    parts = [(k, slope) for k in arrays for slope in (False, True)]
    others = [found for part in parts if part not in summed and (found := memory_of_part(args, part)) is not None]
    sums = [found for part in summed if (found := memory_of_part(args, part)) is not None]
    return any(overlap(a, b) for a in sums for b in others)


def serial_limit(cost: float) -> int:
    """The largest launch that `pool.chunk_size` leaves whole."""
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pool.chunk_size(middle, cost) >= middle else (low, middle)
    return low


def _contiguous(arg: Any, t: Any) -> bool:
    return isinstance(t, ArrayType) and not t.indexed and arg._tag.contiguous


def launch(
    kernel: Kernel, dim: int | Sequence[int], inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (), adj_outputs: Sequence[Any] = (), device: Any = None, stream: Any = None,
    adjoint: bool = False, record_tape: bool = True, record_cmd: bool = False, max_blocks: int = 0,
    block_dim: int | None = None, deterministic: bool | None = None, **misspelt: Any,
) -> Any:  # fmt: skip
    """Run `kernel` on `dim` threads (an integer, or up to four extents).

    inputs, outputs: the kernel's arguments in order; arrays, numbers, vectors, structs, NumPy arrays
    and objects with an array protocol. device: where to run. record_cmd: return a `Launch` instead of
    running. deterministic: independence of scheduling for scattered float atomics as well (they are
    summed in private copies or serially). max_blocks, block_dim: for CUDA.

    Any number of Python threads may launch at once. Atomics are atomic among the threads of one
    launch: launches that run at the same time must not update one array.

    Raises `ArgumentTypeError`, `ArgumentCountError`, `DimensionError`, `ReadOnlyError`,
    `DeviceError`, or a `KernelError` when the kernel does not compile.
    """
    if misspelt or not isinstance(inputs, (list, tuple)):
        refuse_call(misspelt, inputs)
    args = [*inputs, *outputs] if outputs else inputs
    if dim.__class__ is not int:
        dim = normalized(dim)
    on_cpu = device is None or device is CPU or device == "cpu"
    if on_cpu and stream is None and deterministic is None and not (adjoint or record_cmd):
        if launch_again(kernel, dim, args):
            return None
    return launch_slowly(kernel, dim, list(args), device, stream, adjoint, record_cmd, deterministic)


def refuse_call(misspelt: dict[str, Any], inputs: Any) -> None:
    """Raise for keywords that `launch` does not have, and for inputs that are no list."""
    known = [name for name in inspect.signature(launch).parameters if name != "misspelt"]
    for name in misspelt:
        near = difflib.get_close_matches(name, known, 1)
        cure = f"did you mean {near[0]!r}?" if near else f"known keywords: {', '.join(known)}"
        raise ArgumentTypeError(f"launch has no keyword {name!r}\nhelp: {cure}")
    raise ArgumentTypeError(f"inputs is {type(inputs).__name__}\nexpected: a list of arguments\nhelp: inputs=[...]")


def launch_again(kernel: Kernel, dim: Any, args: Sequence[Any]) -> bool:
    """The fast path: run the compiled form used last, if it fits these arguments. Returns whether it did."""
    latest = getattr(kernel, "latest", None)
    if latest is None or latest.generation != config.generation or special():
        return False
    total, header = extent(dim, kernel.key, latest.ndim)
    block = latest.pack(args, header)
    if block is None:
        return False
    if total <= latest.serial_limit and not latest.reports:
        latest.call(block, 0, total, 0)
    else:
        execute(latest, block, total, args, kernel.option("deterministic"))
    return True


def special() -> bool:
    """Whether this thread captures a graph or has another device than the CPU as its current one."""
    return graph.active() is not None or get_device() is not CPU


def launch_slowly(
    kernel: Kernel, dim: Any, args: list[Any], device: Any, stream: Any, adjoint: bool, record_cmd: bool,
    deterministic: bool | None,
) -> Any:  # fmt: skip
    """The general path: find or make the compiled form, adapt arguments, pack, run or record."""
    if not isinstance(kernel, Kernel):
        raise LaunchError(f"{kernel!r} is not a kernel\nhelp: decorate the function with @wp.kernel")
    if adjoint:
        raise LaunchError("adjoint launches are not part of this version\nhelp: launch with adjoint=False")
    place = get_device(device if device is not None or stream is None else stream.device)
    if place.is_interp:
        checked = graph.InterpretedLaunch(kernel, dim, args, lambda n, given: interp.prepared(kernel, n, given, place))
        return checked if record_cmd else checked.launch()
    launcher, args = prepared(kernel, args, place)
    wanted = kernel.option("deterministic") if deterministic is None else deterministic
    if record_cmd or graph.active() is not None:
        native = graph.NativeLaunch(launcher, dim, args, wanted)
        return native if record_cmd else native.launch()
    total, header = extent(dim, kernel.key, launcher.ndim)
    execute(launcher, launcher.packed(args, header), total, args, wanted)
    return None


def prepared(kernel: Kernel, args: list[Any], place: Device) -> tuple[Launcher, list[Any]]:
    """The compiled form for these arguments, and the arguments with foreign arrays wrapped."""
    generation = config.generation  # read before the switches: one that changes meanwhile must be seen next time
    names = list(kernel.patterns)
    types = kernel.types_for(args)
    args = [adapted(a, t, n, kernel.key, place) for a, t, n in zip(args, types, names, strict=True)]
    tags = tuple(a._tag if isinstance(t, ArrayType) else None for a, t in zip(args, types, strict=True))
    settings = kernel.settings()
    aliased = meets_others(args, kernel.program(types, settings).plan.summed(), types)
    key = (types, tags, settings, aliased)
    launcher = kernel.launchers.get(key)
    if launcher is None:
        launcher = kernel.launchers[key] = Launcher(kernel, types, args, settings, aliased)
    launcher.generation = generation
    for k, use in launcher.program.plan.uses.items():
        if use.written:
            check_writable(args[k], names[k], kernel.key)
    kernel.latest = launcher
    return launcher, args


def explain(launcher: Launcher, args: list[Any]) -> None:
    """Raise the error that `pack` did not."""
    for name, t, arg, pack in zip(launcher.kernel.patterns, launcher.types, args, launcher.packers, strict=True):
        if pack is None:
            continue
        try:
            pack(arg)
        except UNFIT as error:
            raise unfit(arg, t, name, launcher.kernel.key, error) from error
    raise LaunchError(mismatch("?", launcher.kernel.key, "changed during the launch", launcher.types[0]))


def command(launcher: Launcher, block: bytes, total: int, size: int) -> bytes:
    return pool.COMMAND.pack(launcher.code.address, graph.address_of(block), 0, total, size, 0)


def execute(launcher: Launcher, block: bytes, total: int, args: list[Any], deterministic: bool) -> None:
    """Run a kernel of any kind; raises what its checks report."""
    if not launcher.reports:
        execute_unchecked(launcher, block, total, args, deterministic)
        return
    report = Report(launcher, args)
    execute_unchecked(launcher, report.attached(block), total, args, deterministic)
    report.raise_if_failed()


def execute_unchecked(launcher: Launcher, block: bytes, total: int, args: Any, deterministic: bool) -> None:
    if total <= launcher.serial_limit:
        launcher.call(block, 0, total, 0)
        return
    size = pool.chunk_size(total, launcher.cost)
    if launcher.has_atomics:
        scatter.execute(launcher, block, total, size, args, deterministic)
    else:
        pool.get_pool().run(command(launcher, block, total, size), 1)
