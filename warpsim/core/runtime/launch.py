"""`launch`: run a kernel over many threads.

The fast path tries the compiled form that was used last; whatever does not fit takes the general path.
Launches under a tape go through `recording`, adjoint launches through `adjoint_launch`.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Sequence
from typing import Any

from ...config import config
from ...errors import ArgumentTypeError, DeviceError, LaunchError, WarpsimError, trimmed
from .arrays import saved_contents
from .devices.capture import current_graph
from .devices.device import Device, get_device
from .devices.stream import ScopedStream, Stream
from .launches import graph, interp
from .launches.compiled_form import CudaLauncher, Launcher, execute, meets_others, prepared
from .launches.dimensions import extent, normalized
from .launches.kernel import Kernel
from .tape.adjoint_launch import adjoint_launch
from .tape.recording import watched

__all__ = ["Launcher", "execute", "launch", "meets_others", "prepared"]


def launch(
    kernel: Kernel, dim: int | Sequence[int], inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (), adj_outputs: Sequence[Any] = (), device: Any = None, stream: Any = None,
    adjoint: bool = False, record_tape: bool = True, record_cmd: bool = False, max_blocks: int = 0,
    block_dim: int | None = None, deterministic: bool | None = None, **misspelt: Any,
) -> Any:  # fmt: skip
    """Run `kernel` on `dim` threads (an integer, or up to four extents).

    inputs, outputs: the kernel's arguments in order; arrays, numbers, vectors, structs, NumPy arrays
    and objects with an array protocol. device, stream: where to run. record_cmd: return a `Launch` instead of
    running. deterministic: independence of scheduling for scattered float atomics as well (they are
    summed in private copies or serially; on CUDA always serially, which is slow). block_dim: threads of a
    block on CUDA, 256 by default; max_blocks: the most blocks of a launch, whose threads then run on.

    adjoint: run the adjoint of the kernel instead; adj_inputs, adj_outputs: see `adjoint_launch`.
    record_tape: let active tapes record the launch.

    Any number of Python threads may launch at once. Atomics are atomic among the threads of one
    launch: launches that run at the same time must not update one array.

    A launch on CUDA returns at once, one with `config.verify` waits for its end; what a failed `assert` says is
    raised by the next call that waits.

    Raises `ArgumentTypeError`, `ArgumentCountError`, `DimensionError`, `ReadOnlyError`,
    `DeviceError`, `GradientError` for gradients that do not fit, or a `KernelError` when the kernel
    does not compile.
    """
    try:
        if misspelt or not isinstance(inputs, (list, tuple)) or (outputs and not isinstance(outputs, (list, tuple))):
            refuse_call(misspelt, inputs, outputs)
        args = [*inputs, *outputs] if outputs else inputs
        if dim.__class__ is not int:
            dim = normalized(dim)
        place = get_device(device if device is not None else getattr(stream, "device", None))
        plain = stream is None and deterministic is None and block_dim is None
        if plain and not (adjoint or record_cmd or max_blocks):
            if launch_again(kernel, dim, args, len(inputs), record_tape, place):
                return None
        if not isinstance(kernel, Kernel):
            raise LaunchError(f"{kernel!r} is not a kernel\nhelp: decorate the function with @wp.kernel")
        kernel = kernel.current
        wanted = bool(kernel.option("deterministic") if deterministic is None else deterministic)
        with on_stream(stream, place):
            if adjoint:
                return adjoint_launch(kernel, dim, inputs, outputs, adj_inputs, adj_outputs, place, wanted, record_cmd)
            shape = (block_dim, max_blocks)
            return launch_slowly(kernel, dim, list(args), place, len(inputs), record_tape, record_cmd, wanted, shape)
    except WarpsimError as error:
        raise trimmed(error)  # noqa: B904


def on_stream(stream: Any, place: Device) -> Any:
    """A block whose work goes to a stream; None is the current one. Raises `DeviceError` for another device's."""
    if stream is None:
        return contextlib.nullcontext()
    if not isinstance(stream, Stream):
        raise ArgumentTypeError(f"stream is {type(stream).__name__}\nexpected: a warpsim.Stream, or None")
    if stream.device is not place:
        raise DeviceError(f"the stream is one of {stream.device}\nexpected: {place}, where the kernel is launched")
    return ScopedStream(stream, sync_enter=False)


def refuse_call(misspelt: dict[str, Any], inputs: Any, outputs: Any) -> None:
    """Raise for keywords that `launch` does not have, and for inputs or outputs that are no list."""
    known = [name for name in inspect.signature(launch).parameters if name != "misspelt"]
    for name in misspelt:
        near = difflib.get_close_matches(name, known, 1)
        cure = f"did you mean {near[0]!r}?" if near else f"known keywords: {', '.join(known)}"
        raise ArgumentTypeError(f"launch has no keyword {name!r}\nhelp: {cure}")
    name, found = ("outputs", outputs) if isinstance(inputs, (list, tuple)) else ("inputs", inputs)
    raise ArgumentTypeError(f"{name} is {type(found).__name__}\nexpected: a list of arguments\nhelp: {name}=[...]")


def launch_again(
    kernel: Kernel, dim: Any, args: Sequence[Any], input_count: int, record: bool, place: Device
) -> bool:
    """The fast path: run the compiled form used last, if it fits these arguments. Returns whether it did."""
    try:
        latest = kernel.latest[place.alias]
    except (AttributeError, KeyError):
        return False
    if latest.generation != config.generation or current_graph() is not None:
        return False
    total, header = extent(dim, kernel.key, latest.ndim)
    block = latest.pack(args, header)
    if block is None:
        return False
    if saved_contents.alert:
        watched(latest, dim, total, block, args, input_count, record, latest.deterministic)
    elif total <= latest.serial_limit and not latest.reports:
        latest.call(block, 0, total, 0)
    else:
        execute(latest, block, total, args, latest.deterministic)
    return True


def launch_slowly(
    kernel: Kernel, dim: Any, args: list[Any], place: Device, input_count: int, record: bool, record_cmd: bool,
    deterministic: bool, shape: tuple[int | None, int],
) -> Any:  # fmt: skip
    """The general path: find or make the compiled form, adapt arguments, pack, run or record."""
    if place.is_interp:
        return launch_interpreted(kernel, dim, args, place, input_count, record, record_cmd)
    launcher, args = prepared(kernel, args, place)
    if isinstance(launcher, CudaLauncher):
        launcher = launcher.shaped(*shape)
    if record_cmd or current_graph() is not None:
        return issued(graph.NativeLaunch(launcher, dim, args, deterministic), input_count, record, record_cmd)
    total, header = extent(dim, kernel.key, launcher.ndim)
    block = launcher.packed(args, header)
    if saved_contents.alert:
        watched(launcher, dim, total, block, args, input_count, record, deterministic)
    else:
        execute(launcher, block, total, args, deterministic)
    return None


def issued(command: graph.Launch, input_count: int, record: bool, record_cmd: bool) -> graph.Launch | None:
    """A command as a result, or run (put into the graph that is captured) under the eyes of tapes."""
    command.input_count, command.record = input_count, record
    if record_cmd:
        return command
    command.replay()
    return None


def launch_interpreted(
    kernel: Kernel, dim: Any, args: list[Any], place: Device, input_count: int, record: bool, record_cmd: bool
) -> Any:
    """Launch on the device `interp`."""
    checked = graph.InterpretedLaunch(kernel, dim, args, lambda n, given: interp.prepared(kernel, n, given, place))
    return issued(checked, input_count, record, record_cmd)
