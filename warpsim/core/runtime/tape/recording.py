"""Launching while tapes record.

A launch that is ready runs here once every tape that may care was told: contents that it overwrites are saved first,
contents that its adjoint needs are registered, and the tapes that record get a `LaunchEntry`. Kernels whose arrays are
arguments of their own, or fields of structs, go the short way (`run_plain`), which costs half as much as the launch
itself; index tables, one array under two names, atomics whose results are used, and several tapes at once take the
general one (`run_generally`). Both tell tapes of a write by `announce_write`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Any

from ...emit.program import Form, FormKind
from ...passes.analysis.array_uses import read_after_write
from ...types.array_ref import ArrayRef
from ...types.structs import freeze
from ..arrays import saved_contents
from ..arrays.array import array
from ..arrays.call_site import CallSite, user_frame
from ..arrays.in_pieces import give_gradients
from ..arrays.saved_contents import Writer
from ..devices.device import Device
from ..devices.memory_range import range_of, share_elements
from ..launches.for_device import LaunchOptions, prepare
from ..launches.launcher import LaunchCall, Launcher
from .adjoint_needs import Always, LaunchRecord, Needs, PlainLaunch, SavedRef, have_gradients, needs_of
from .constant_writes import constant_launch
from .kernel_arrays import KernelArrays, arrays_at, has_gradients, same_arrays
from .launch_entry import LaunchEntry

if TYPE_CHECKING:
    from ..arrays.saved_contents import Session, User
    from .tape import Tape


Run = Callable[[LaunchCall, Mapping[Any, Any]], None]
"""Runs a launch; takes the arrays in which it notes what atomics return, by number, or what it stores, by path."""

Saved = tuple[SavedRef, array, Any]
"""Registered contents: what they are, of which array, and their `Read`."""

NOTHING = LaunchRecord()
new_entry = tuple.__new__  # at half the cost of a call of the class


def needs_for(launcher: Launcher) -> Needs:
    """The needs of a launcher's form of a kernel."""
    if launcher.needs is None:
        launcher.needs = needs_of(launcher.kernel, launcher.own_types, launcher.settings)
    needs: Needs = launcher.needs
    return needs


def run_plain(
    launcher: Launcher, dim: Any, total: int, block: Any, args: Any, input_count: int, record: bool, deterministic: bool
) -> bool:  # fmt: skip
    """Run a launch on one tape, or none, if all its arrays are arguments of their own. Returns whether it did.

    It takes the fields of a `LaunchCall`, whose making costs a tenth of the launch. `launch` is at least two frames up.
    """
    needs = launcher.needs or needs_for(launcher)
    plain, tapes = needs.plain, saved_contents.active()
    if plain is None or len(tapes) > 1 or (tapes and (launcher.is_constant or not record)):
        return False
    arrays = args if plain.fields is None else plain.flat(args)
    if arrays is None:
        return False
    apart = not tapes
    # What a kernel needs of arrays that it reads and writes is another thing when they have two names.
    if needs.overlapping and not apart:
        if is_entangled(plain, arrays):
            return False
        apart = True
    frame = user_frame(2)
    known: Any = None
    reads = watched = after = None
    noted = NOTHING
    if tapes:
        known = tapes[0].session
        for k in plain.floats:
            if arrays[k]._memory.has_gradient:
                if needs.overlapping:
                    present = tuple([arrays[n]._grad is not None for n in plain.floats])
                    if present not in needs.enough and needs.for_gradients(present) is not needs:
                        return False
                before, after, noted = plain.known or plain.register(needs)
                reads = plain_reads(before, arrays, known, frame)
                break
    for k in plain.writes:
        memory = arrays[k]._memory
        if not memory.reads and (memory.known is known or memory.take(known)):
            continue
        if memory.reads and not apart:
            if is_entangled(plain, arrays):
                return False
            apart = True
        writer = writer_of(needs.arrays, CallSite(frame.f_code, frame.f_lasti))
        if announce_write(arrays[k], tapes, writer):
            watched = [*(watched or ()), arrays[k]]
    if total <= launcher.direct_limit:
        launcher.function(block, 0, total, 0)
    else:
        launcher.execute(LaunchCall(launcher, dim, total, block, args, input_count, record, deterministic))
    if reads is not None and after:
        reads += plain_reads(after, arrays, known, frame)
    if watched is not None:
        for a in watched:
            a._memory.read(a, known, CallSite(frame.f_code, frame.f_lasti))
    if tapes:
        fixed = (*args,) if arrays is args else tuple(map(freeze, args))
        entry = (needs, launcher, dim, fixed, input_count, deterministic, reads, frame.f_code, frame.f_lasti, noted)
        tapes[0].log.append(new_entry(LaunchEntry, entry))
    return True


def writer_of(arrays: KernelArrays, place: CallSite) -> Writer:
    """The launch of a kernel as what writes to arrays."""
    return Writer(f"launch of kernel {arrays.kernel.key!r}", place)


def announce_write(a: array, tapes: tuple[Tape, ...], writer: Writer, joins: bool = True) -> bool:
    """Save or spoil what a write to an array destroys, and tell the tapes that use its memory.

    tapes: those that see it; joins: whether they record it. Returns whether to note what it leaves, as others may write
    there too.
    """
    memory, sessions = a._memory, tuple([tape.session for tape in tapes])
    if memory.reads:
        memory.overwrite(a, a._data, tapes, writer)
    alone = sessions[0] if len(sessions) == 1 else None
    present = alone or sessions or None
    if memory.known in (present, sessions) or (alone and joins and memory.take(alone)):
        return False
    return memory.meet(sessions, range_of(a), writer, joins)


def is_entangled(plain: PlainLaunch, arrays: Sequence[array]) -> bool:
    """Whether the kernel writes memory that it was given under another name too."""
    memories = [id(arrays[k]._memory) for k in plain.places]
    if len(set(memories)) == len(memories):  # as of nearly all launches
        return False
    return any(memories.count(id(arrays[k]._memory)) > 1 for k in plain.writes)


def plain_reads(
    numbers: Iterable[tuple[int, User]], arrays: Sequence[array], session: Session, frame: FrameType
) -> list[Any]:
    """The reads of the present contents of plain arrays, by number and user; `frame` launched."""
    current, reads = session.current, []
    for k, user in numbers:
        a = arrays[k]
        read = current.get(id(a))
        if read is None:
            read = a._memory.read(a, session, CallSite(frame.f_code, frame.f_lasti))
        if read.last is not user:
            read.add(user)
        reads.append(read)
    return reads


def run_now(call: LaunchCall, noted: Mapping[Any, Any]) -> None:
    """Run a launch at once."""
    call.run()


def run_generally(call: LaunchCall, place: CallSite, run: Run = run_now) -> None:
    """Run a launch of any kind, and tell tapes."""
    needs, launcher, tapes = needs_for(call.launcher), call.launcher, saved_contents.active()
    arrays = needs.arrays
    args = arrays.whole(call.args)
    recorders = tapes if call.record else ()
    if recorders:
        give_gradients(args)
    if recorders and (same := same_arrays(arrays, args)):
        needs = needs_of(arrays.kernel, arrays.types, arrays.settings, same)
        arrays = needs.arrays
    differentiable = bool(recorders) and has_gradients(arrays, args)
    if differentiable:
        needs = needs.for_gradients(have_gradients(needs, args))
    notes = {t: register_reads(needs.before, args, t.session, place) for t in recorders} if differentiable else {}
    wrote = [(ref, a) for ref in arrays.written for _, a in arrays_at(args, ref, tables=False)]
    constant = None
    if tapes and (launcher.is_constant or not call.record):
        constant = constant_launch(call, arrays, args, wrote, tapes, place)
    writer = writer_of(arrays, place)
    for _, a in wrote:
        announce_write(a, tapes, writer, bool(recorders))
    noted = noted_arrays(needs, call.dim, launcher.device) if notes and constant is None else {}
    if constant is not None:
        run(constant.call, constant.marks)
    else:
        run(noting(call, arrays, noted) if noted else call, noted)
    for tape in recorders:
        reads, record = None, NOTHING
        if differentiable:
            saved = notes[tape]
            overlap = overlap_error(needs, args, saved, wrote)
            saved += register_reads(needs.after, args, tape.session, place)
            if arrays.picked:
                saved += tables_written(arrays, args, tape.session, place)
            refs, _, reads = zip(*saved, strict=True) if saved else ((), (), ())
            record = LaunchRecord(refs, noted, overlap)
        tape.log.append(LaunchEntry(
            needs, launcher, call.dim, tuple(freeze(a) for a in args), call.input_count, call.deterministic,
            reads, place.code, place.offset, record,
        ))  # fmt: skip
        for _, a in wrote:
            if a._memory.exposed or a._memory.exports or a._memory.tensors:
                a._memory.read(a, tape.session, place, 0)
    if constant is not None:
        constant.record()


def overlap_error(needs: Needs, args: Any, saved: list[Saved], wrote: list[tuple[ArrayRef, array]]) -> str:
    """Which arrays of a launch overlap so that it cannot be reversed; nothing when all is well.

    Contents of an array that the launch overwrites under another name, or that it found in an element of
    another array, are taken from before the launch: no thread may read them after it wrote them. And an array
    that the launch reads and writes may not be written under another name.
    """
    memories, arrays = {id(b._memory) for _, b in wrote}, needs.arrays
    present = [(of.ref, a) for of, a, _ in saved if of.table is None and not of.before]
    reads = [(ref, a) for ref, a in present if id(a._memory) in memories]
    reads += [(ref, a) for ref in needs.overlapping for _, a in arrays_at(args, ref, tables=False)]
    for read, a in reads:
        for written, b in wrote:
            nested = read.in_elements
            if (nested or read != written) and a._memory is b._memory and share_elements(a._data, b._data):
                changed = read in needs.overlapping and not nested
                if changed or (disorder(arrays.fn, read, written) and (not nested or read in needs.looked_at)):
                    return f"{arrays.words(read)} and {arrays.words(written)}"
    return ""


disorder = lru_cache(maxsize=1024)(read_after_write)


def register_reads(
    pairs: Iterable[tuple[SavedRef, Any]], args: list[Any], session: Session, place: CallSite
) -> list[Saved]:
    """Contents that the adjoint needs, as they are now, with their users."""
    return [
        (saved if n is None else saved._replace(table=n), a, register(a, user, session, place))
        for saved, user in pairs
        for n, a in arrays_at(args, saved.ref)
    ]


def tables_written(arrays: KernelArrays, args: list[Any], session: Session, place: CallSite) -> Iterator[Saved]:
    """Where the kernel writes to: the tables of an indexedarray."""
    for ref in arrays.picked:
        for n, a in arrays_at(args, ref):
            if n is not None:
                table = Always(f"index table {n} of array {arrays.words(ref)} of kernel {arrays.kernel.key!r}")
                yield SavedRef(ref, n), a, register(a, table, session, place)


def register(a: array, user: User, session: Session, place: CallSite) -> Any:
    """The read of an array's present contents."""
    read = session.current.get(id(a)) or a._memory.read(a, session, place)
    if read.last is not user:
        read.add(user)
    return read


def noted_arrays(needs: Needs, dim: int | tuple[int, ...], device: Device) -> dict[int, array]:
    """Fresh arrays for what atomics return, in the order in which the recording form of the kernel takes them."""
    if not needs.own.recording:
        return {}
    program = needs.arrays.program(recording_form(needs.arrays))
    shape = (dim,) if isinstance(dim, int) else dim
    pairs = zip(program.extras, program.fn.params[len(needs.arrays.arguments) :], strict=True)
    return {extra.position: array(dtype=p.type.dtype, shape=shape, device=device) for extra, p in pairs}


def recording_form(arrays: KernelArrays) -> Form:
    """The form of a kernel that notes what its atomics return."""
    return arrays.form(FormKind.RECORDING, frozenset(arrays.name[ref] for ref in arrays.floats))


def noting(call: LaunchCall, arrays: KernelArrays, noted: dict[int, array]) -> LaunchCall:
    """The launch in the form of the kernel that fills `noted`."""
    args, form = [*arrays.whole(call.args), *noted.values()], recording_form(arrays)
    launcher = call.launcher
    ready = prepare(launcher.kernel, call.dim, args, launcher.device, form, LaunchOptions(call.deterministic))
    return ready.in_blocks_of(launcher)
