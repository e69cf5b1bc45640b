"""`launch`: run a kernel over many threads.

`repeat` tries the compiled form that was used last; whatever does not fit is made ready by `prepare`. Launches that
tapes must know of go through `recording`, adjoint launches through `adjoint_by_hand`.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...config import config
from ...errors import ArgumentTypeError, DeviceError, DimensionError, LaunchError, WarpsimError, counted, trim_frames
from .arrays import saved_contents
from .arrays.call_site import CallSite
from .commands.adjoint_by_hand import WithAdjoints, launch_adjoint
from .commands.command import Launch, ready
from .devices import capture
from .devices.capture import current_graph
from .devices.device import Device, DeviceLike, get_device
from .devices.stream import ScopedStream, Stream
from .launches.dimensions import extent, normalize_dim, threads_of_block
from .launches.for_device import LaunchOptions, prepare
from .launches.kernel import Kernel
from .launches.launcher import LaunchCall
from .tape.recording import run_generally, run_plain


def launch(
    kernel: Kernel, dim: int | Sequence[int], inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (), adj_outputs: Sequence[Any] = (), device: DeviceLike = None,
    stream: Stream | None = None, adjoint: bool = False, record_tape: bool = True, record_cmd: bool = False,
    max_blocks: int = 0, block_dim: int | None = None, deterministic: bool | None = None, **misspelt: object,
) -> Any:  # fmt: skip
    """Run `kernel` on `dim` threads: an integer, or a tuple of up to four extents.

    inputs, outputs: the arguments of the kernel, those of outputs after those of inputs: arrays, numbers, vectors,
    structs, NumPy arrays and objects with an array protocol. device, stream: where to run; default: the current ones.
    record_tape: False hides the launch from active tapes. record_cmd: return a `Launch`, which can run again and again,
    instead of running. deterministic: True gives float atomics that scatter a fixed order as well (sums in private
    copies, or serial ones; on CUDA always serial, which is slow). block_dim: threads of a block: on CUDA, default 256;
    on other devices with `config.enable_cpu_blocks`, default 1. max_blocks: upper limit of the number of blocks on
    CUDA, whose threads then take several elements each; 0: none.

    adjoint: run the adjoint of the kernel in its place, as a tape would. adj_inputs, adj_outputs: the gradients of the
    arguments: for an array None (its own `.grad`) or an array in the place of that; for a number, vector or struct None
    or an array of one element, to which its gradient is added.

    Any number of Python threads may launch at once. Atomics are atomic among the threads of one launch: launches that
    run at the same time must not update the same array.

    On CUDA a launch returns before it is done, unless `config.verify` is on; a failed `assert` in the kernel is raised
    by the next call that waits.

    Raises `ArgumentTypeError`, `ArgumentCountError`, `DimensionError`, `ReadOnlyError`, `DeviceError`, `GradientError`
    for gradients that do not fit, or a `KernelError` when the kernel does not compile.
    """
    try:
        if misspelt or not isinstance(inputs, (list, tuple)) or (outputs and not isinstance(outputs, (list, tuple))):
            refuse_call(misspelt, inputs, outputs)
        args = [*inputs, *outputs] if outputs else inputs
        if dim.__class__ is not int:
            dim = normalize_dim(dim)
        if device is None and stream is not None:
            device = getattr(stream, "device", None)
        device = get_device(device)
        usual = stream is None and deterministic is None and block_dim is None
        if usual and not (adjoint or record_cmd or max_blocks):
            if repeat(kernel, dim, args, len(inputs), record_tape, device):
                return None
        if not isinstance(kernel, Kernel):
            raise LaunchError(f"{kernel!r} is not a kernel\nhelp: decorate the function with @wp.kernel")
        kernel = kernel.current
        if config.print_launches:
            tell(kernel, dim, inputs, outputs, device)
        options = LaunchOptions(deterministic, len(inputs), record_tape, block_dim, max_blocks)
        with on_stream(stream, device):
            if adjoint:
                lists = WithAdjoints(inputs, outputs, adj_inputs, adj_outputs)
                return launch_adjoint(kernel, dim, lists, device, options, record_cmd)
            if record_cmd:
                return command_of(kernel, dim, args, device, options)
            return issue(prepare(kernel, dim, args, device, options=options))
    except WarpsimError as error:
        del kernel  # this frame stays with the error, and whoever keeps that should not keep the kernel
        raise trim_frames(error)  # noqa: B904


def launch_tiled(
    kernel: Kernel,
    dim: int | Sequence[int],
    *lists: Sequence[Any],
    block_dim: int | None,
    device: DeviceLike = None,
    stream: Stream | None = None,
    **options: Any,
) -> Any:
    """Run `kernel` with a block of threads for each of up to three extents: `launch` with one more, the block's lanes.

    block_dim: threads of a block, as `block_dim()` says in kernels: on CUDA 256 for None; on other devices 1, and what
    is given if `config.enable_cpu_blocks` is on. A kernel whose `tid()` has no name for the lane does without it. The
    other arguments are those of `launch`.

    Raises `DimensionError` for none or more than three extents, and what `launch` raises.
    """
    where = get_device(getattr(stream, "device", None) if device is None else device)
    if where.block_threads == 1:
        lanes = threads_of_block(block_dim, where)
    else:
        lanes = where.block_threads if block_dim is None or block_dim <= 0 else block_dim
    extents = normalize_dim(dim)
    extents = (extents,) if isinstance(extents, int) else tuple(extents)
    if not 1 <= len(extents) <= 3:
        raise DimensionError(f"launch_tiled over {counted(len(extents), 'extent')}\nexpected: 1 to 3, and the lanes")
    try:
        return launch(kernel, (*extents, lanes), *lists, device=where, stream=stream, block_dim=lanes, **options)
    except WarpsimError as error:
        del kernel  # as in `launch`
        raise trim_frames(error)  # noqa: B904


def command_of(
    kernel: Kernel, dim: int | tuple[int, ...], args: Sequence[Any], device: Device, options: LaunchOptions
) -> Launch:
    """The launch as a command, whose arrays may be None for now."""

    def prepare_call(present: Sequence[Any]) -> LaunchCall:
        return prepare(kernel, dim, present, device, options=options)

    return Launch.record(kernel, args, device, prepare_call)


def tell(
    kernel: Kernel, dim: int | tuple[int, ...], inputs: Sequence[Any], outputs: Sequence[Any], device: Device
) -> None:
    """Print a launch that is about to run."""
    what = f"inputs: {list(inputs)} outputs: {list(outputs)} device: {device}"
    print(f"kernel: {kernel.key} dim: {dim} {what}", flush=True)


def on_stream(stream: Stream | None, device: Device) -> AbstractContextManager[object]:
    """A block whose work goes to a stream; None is the current one. Raises `DeviceError` for another device's."""
    if stream is None:
        return contextlib.nullcontext()
    if not isinstance(stream, Stream):
        raise ArgumentTypeError(f"stream is {type(stream).__name__}\nexpected: a warpsim.Stream, or None")
    if stream.device is not device:
        raise DeviceError(f"the stream is one of {stream.device}\nexpected: {device}, where the kernel is launched")
    return ScopedStream(stream, sync_enter=False)


def refuse_call(misspelt: dict[str, Any], inputs: object, outputs: object) -> None:
    """Raise for keywords that `launch` does not have, and for inputs or outputs that are no list."""
    known = [name for name in inspect.signature(launch).parameters if name != "misspelt"]
    for name in misspelt:
        near = difflib.get_close_matches(name, known, 1)
        cure = f"did you mean {near[0]!r}?" if near else f"known keywords: {', '.join(known)}"
        raise ArgumentTypeError(f"launch has no keyword {name!r}\nhelp: {cure}")
    name, value = ("outputs", outputs) if isinstance(inputs, (list, tuple)) else ("inputs", inputs)
    raise ArgumentTypeError(f"{name} is {type(value).__name__}\nexpected: a list of arguments\nhelp: {name}=[...]")


def repeat(kernel: Kernel, dim: Any, args: Sequence[Any], input_count: int, record: bool, device: Device) -> bool:
    """The fast path: run the compiled form used last, if it fits these arguments. Returns whether it did."""
    try:
        launcher = kernel.latest[device.alias]
    except (AttributeError, KeyError):
        return False
    if launcher.generation != config.generation or (capture.running and current_graph() is not None):
        return False
    total, header = extent(dim, kernel.key, launcher.threads)
    block = launcher.pack(args, header) if total >= 0 else None
    if block is None:
        return False
    if saved_contents.alert:
        ordered = launcher.deterministic
        if not run_plain(launcher, dim, total, block, args, input_count, record, ordered):
            call = LaunchCall(launcher, dim, total, block, args, input_count, record, ordered)
            run_generally(call, CallSite.outside())
    elif total <= launcher.direct_limit:
        launcher.function(block, 0, total, 0)  # a record in every case would make this one a fifth slower
    else:
        ordered = launcher.deterministic
        launcher.execute(LaunchCall(launcher, dim, total, block, args, input_count, record, ordered))
    return True


def issue(call: LaunchCall) -> None:
    """Run a launch, or put it into the graph that is captured; tapes are told."""
    if current_graph() is not None:
        ready(call).replay()
    elif not saved_contents.alert:
        call.run()
    elif not run_plain(*call):
        run_generally(call, CallSite.outside())
