"""`Tape`: records operations, and runs them in reverse for gradients.

`tape.records` holds everything in order, as entries with one interface (`TapeEntry`): name, place, arrays that are
read and written. `tape.launches` are the launches among them: `LaunchEntry` (kernel, dim, inputs, outputs, args,
device, deterministic, place, metadata). `tape.scopes` marks groups: `Scope(index, name, metadata)`,
where `index` counts entries and a name of None ends the scope opened last.

What `backward` guarantees: gradients are those of the contents that arrays had when they were recorded,
whatever the tape overwrote since (see `saved_contents`); arrays keep their contents. It

- starts from the loss and gradients that it is given, and from seeds that users wrote to gradient arrays; what an
  earlier backward left there is not counted again (see `seeds`), except where it is given nothing to start from;
- adds to the gradients of arrays that the tape only read (call `zero` in between);
- consumes gradients of elements that were stored: after it, an array that the tape wrote holds the gradient
  of what it held before, which is zero where it was overwritten. `retain_grad` keeps instead the gradient
  of what the array holds now.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....errors import TapeError, instance, user_frames
from ...types.cotangents import has_cotangent
from ..arrays import saved_contents
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.indexed import indexedarray
from ..arrays.notebook import table
from ..arrays.seeds import allow, clearing, is_refused, keep_left, may_be_seeded, refuse, refuse_seeds
from ..devices.capture import current_graph
from ..devices.device import DeviceLike, get_device
from ..devices.memory_range import covers, overlap, range_of
from ..devices.unique import Unique
from ..launches.dimensions import normalize_dim
from ..launches.for_device import LaunchOptions, prepare
from ..launches.frames import check_frame, join
from ..launches.kernel import Kernel
from ..steps.host_call import HostCall
from ..steps.move import checking, copying
from .adjoint_launch import check_aliases
from .adjoint_needs import Always, have_gradients
from .constants import is_constant, settle
from .copies_report import SnapshotReport, report
from .entries import AnnouncedWrite, FunctionEntry, WriteEntry
from .entry import TapeEntry
from .given_seeds import given_seeds, refuse_nothing, retaining, setting, snapshot
from .gradients import Gradients, gradients_of
from .launch_entry import LaunchEntry
from .picture.graph import PictureOptions, Tracked, visualize
from .picture.items import items_of
from .picture.names import caller_names
from .recording import needs_for, register, run_generally
from .unseen_writes import announce, answer, refuse_unseen, seeded_arrays


class Scope(NamedTuple):
    """Where a scope begins, or (name None) ends: before the entry of number `index`."""

    index: int  # type: ignore[assignment]  # tuples have a method of this name
    name: str | None
    metadata: Any = None


class Tape(Unique):
    """Records what happens inside `with tape:`, and differentiates it.

        with wp.Tape() as tape:
            wp.launch(step, n, inputs=[x], outputs=[y])
            wp.launch(loss_of, n, inputs=[y], outputs=[loss])
        tape.backward(loss)
        print(x.grad)

    Launches of this thread are recorded, and `wp.copy`, `wp.clone`, `assign`, `fill_`, `zero_` and item
    assignment. Tapes may be nested: each records what happens inside it. A graph runs when it is launched, and so
    is recorded then. A tape that begins while a graph is captured belongs to the graph: `backward` in the same
    capture becomes part of it, and after each launch of the graph the tape holds what that launch did.
    """

    def __init__(self) -> None:
        self.log: list[TapeEntry] = []
        self.loss: array | None = None
        """What `backward` was given as its loss last; None before, and after `reset`."""
        self.scopes: list[Scope] = []
        self.session = saved_contents.Session(self)
        self._known: tuple[int, list[array], list[array]] = (0, [], [])
        self._signature: list[Any] = []  # the gradient arrays and the number of copies that steps were made for
        self._copied = 0
        self._marked: list[tuple[array, Any]] = []
        self._constants: list[WriteEntry] = []  # what set arrays with gradients, until `backward` looks at it
        self._settled = 0  # how many entries there were when it did
        self._refused: dict[array, str] = {}  # why arrays with gradients have none that means anything

    def __del__(self, process_ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not process_ends():  # else modules are gone: the default argument is what is left of this one
            self.session.end()

    # ----- recording --------------------------------------------------------------------------

    def __enter__(self) -> Tape:
        capture = current_graph()
        if self in saved_contents.active() or (capture is not None and self in capture.tapes_outside):
            raise TapeError("this tape records already\nexpected: one `with` at a time for one tape")
        join(self.session, capture, bool(self.log))
        saved_contents.set_active((*saved_contents.active(), self))
        self.session.opened, self.session.done = self.session.opened + 1, False
        return self

    def __exit__(self, *error: object) -> None:
        tapes = saved_contents.active()
        if not tapes or tapes[-1] is not self:
            state = "is not the innermost one" if self in tapes else "does not record"
            order = "tapes end in the opposite order of their beginnings, on their thread"
            raise TapeError(f"a tape ends that {state}\nexpected: {order}")
        saved_contents.set_active(tapes[:-1])
        self.session.close()

    def __repr__(self) -> str:
        return f"<Tape of {len(self.log)} records>"

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        counts = Counter(entry.title for entry in self.log)
        facts = {title: f"{n} times" if n > 1 else "once" for title, n in counts.most_common()}
        return table(repr(self)[1:-1], {**facts, "copies": f"{self.report().bytes} bytes"})

    @property
    def records(self) -> list[TapeEntry]:
        """Everything that was recorded, in order."""
        return self.log

    @property
    def launches(self) -> list[LaunchEntry]:
        """The recorded launches, in order."""
        return [entry for entry in self.log if isinstance(entry, LaunchEntry)]

    def record_launch(
        self, kernel: Kernel, dim: Any, max_blocks: int, inputs: Any, outputs: Any, device: DeviceLike = None,
        block_dim: int = 0, metadata: Any = None,
    ) -> None:  # fmt: skip
        """Record a launch that was run elsewhere, after it ran; the arguments are those of `wp.launch`.

        metadata: kept with the entry. Raises `TapeError` for a kernel that overwrites what its gradient needs.
        """
        tapes = saved_contents.active()
        options = LaunchOptions(None, len(inputs), True, block_dim or None, max_blocks)
        call = prepare(kernel, normalize_dim(dim), [*inputs, *outputs], get_device(device), options=options)
        needs = needs_for(call.launcher)
        needs = needs.for_gradients(have_gradients(needs, needs.arrays.whole(call.args)))
        if needs.own.before or needs.own.recording:
            raise TapeError(
                f"kernel {kernel.key!r} overwrites what its gradient needs, or needs what its atomics returned\n"
                "expected: a launch inside `with tape:`, which keeps that"
            )
        join(self.session, current_graph(), bool(self.log))
        saved_contents.set_active((self,))
        try:
            run_generally(call, CallSite.of_caller(), lambda call, noted: None)
        finally:
            saved_contents.set_active(tapes)
        entry = self.launches[-1]
        entry.metadata, entry.max_blocks, entry.block_dim = metadata, max_blocks, block_dim

    def record_func(self, backward: Callable[[], Any], arrays: list[Any]) -> None:
        """Call `backward()` in reverse, at this point of the tape.

        arrays: those that it uses; when it is called they hold what they hold now. It reads gradients of
        results and adds to gradients of operands. Call `mark_write` of arrays that your own code writes
        before it does so. Raises `TapeError` for what is no array or no function.
        """
        if not callable(backward):
            raise TapeError(f"backward is {type(backward).__name__}\nexpected: a function without arguments")
        for a in arrays:
            if not isinstance(a, array | indexedarray):
                raise TapeError(f"arrays holds {type(a).__name__}\nexpected: a list of arrays")
        place = CallSite.of_caller()
        answer(self.session, [a._array for a in arrays])
        user = Always(f"an array of record_func at {place}")
        reads = self._marked + [(a._array, register(a._array, user, self.session, place)) for a in arrays]
        self._marked = []
        self.log.append(FunctionEntry(backward, list(arrays), reads, place))

    def record_write(self, dest: array | indexedarray, select: Any, source: Any, name: str) -> None:
        """Record that elements of an array were set from the host; see `WriteEntry`."""
        if source is not None and source.dtype is not dest.dtype and not has_cotangent(source.dtype):
            source = None
        entry = WriteEntry(dest, select, source, name, CallSite.outside())
        self.log.append(entry)
        for a in (dest, source) if source is not None else (dest,):
            self.session.use(a._array, entry.place)
        if is_constant(entry):
            self.note_constant(entry)

    def note_constant(self, entry: WriteEntry) -> None:
        """Something without a gradient was written to an array with one."""
        self._constants.append(entry)

    def mark_read(self, a: array) -> None:
        """See `array.mark_read`."""
        instance(a, array, "a")
        place = CallSite.outside()
        self._marked.append((a, register(a, Always(f"an array marked as read at {place}"), self.session, place)))

    def mark_write(self, a: array) -> None:
        """See `array.mark_write`."""
        place = CallSite.outside()
        self.log.append(AnnouncedWrite(instance(a, array, "a"), place))
        a._memory.join((self.session,))
        self.session.note_unseen(a._memory, range_of(a), f"mark_write at {place}")

    def note_filled(self, arrays: Iterable[array]) -> None:
        """Called when a structure's own buffers are about to be rewritten; checkpointed loops detect scratch by it."""

    def note_replaced(self, what: str, instead: str) -> None:
        """A structure takes new arrays: a tape keeps those that it saw, loops that run again could not."""

    def record_scope_begin(self, scope_name: str, metadata: Any = None) -> None:
        """Begin a named group of operations, for pictures of the tape."""
        self.scopes.append(Scope(len(self.log), scope_name, {} if metadata is None else metadata))

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """End the group that was begun last. Raises `TapeError` when none is open."""
        depth = sum(1 if s.name is not None else -1 for s in self.scopes)
        if depth <= 0:
            raise TapeError("no scope is open\nhelp: call record_scope_begin first")
        last = self.scopes[-1]
        if remove_scope_if_empty and last.name is not None and last.index == len(self.log):
            self.scopes.pop()
        else:
            self.scopes.append(Scope(len(self.log), None))

    # ----- reverse ----------------------------------------------------------------------------

    @user_frames
    def backward(self, loss: Any = None, grads: dict[Any, Any] | None = None) -> None:
        """Run the tape in reverse.

        loss: an array of one float, whose gradient is one. grads: gradients of other arrays, as arrays of
        the same shape and dtype; they are copied, into new gradient arrays where there were none. Gradients
        that were written to `.grad` of other arrays since the last backward count too. With neither loss nor
        grads, gradients are what all `.grad` hold, whoever wrote it.

        Raises `GradientError` for a loss or gradients that do not fit, `TapeError` for an empty tape,
        `TapeOverwriteError` when something that the tape did not see overwrote what a gradient needs,
        `NotDifferentiableError` for a kernel without a derivative.
        """
        self.stepped_backward(loss, grads, None)

    def stepped_backward(self, loss: Any, grads: Any, watch: Callable[[TapeEntry], None] | None) -> None:
        """`backward`, where `watch(entry)` is called in the place of every step, and runs `entry.step` itself."""
        seeds = given_seeds(loss, grads)
        self.loss = loss
        if not seeds and not any(a.requires_grad for a in self.arrays()):
            refuse_nothing()
        if not self.log:
            raise TapeError(
                "nothing is recorded on this tape\nexpected: launches inside `with tape:`, before backward\n"
                "help: a graph is recorded when it is launched there, not when it is captured there"
            )
        self._check_contents(seeds)
        self.settle_constants()
        with saved_contents.Paused():
            self._prepare()
            announce(self._signature)
            wrote = [g for a in self._survey()[2] if (g := a._gradient) is not None]
            self._start(seeds, wrote if seeds else [])  # without seeds, gradients are what the arrays hold
            retained = self._run(watch)
            for grad, values in retained:
                copying(grad._data, values, grad.device).submit()
            for g in wrote:
                keep_left(g)
        self.session.done = True
        for a, why in self._refused.items():
            if (gradient := a._gradient) is not None:
                refuse(gradient, why)

    def settle_constants(self) -> None:
        """Find out which constant writes count as if they had come before the tape, see `constants`."""
        if not self._constants or self._settled == len(self.log):
            return
        self._known, self._settled = (0, [], []), len(self.log)
        self._refused = settle(self._constants, self.log, lambda: self._survey()[2])

    def _check_contents(self, seeds: Sequence[tuple[array, np.ndarray]] = ()) -> None:
        """Raise when something that no tape saw changed what a gradient needs."""
        session, capture = self.session, current_graph()
        check_frame(session, capture)
        session.look()
        if session.unseen:
            refuse_unseen(session.unseen, self.log, seeded_arrays(seeds, self.arrays()))
        session.check()
        if capture is not None:
            capture.keep((list(self.log), [a._gradient for a in self.arrays()]))
            if session.frame is None:  # what is written before the graph runs is known only then
                capture.pin(session)
                checking(session.check).submit()

    def _prepare(self) -> None:
        """Make the reverse steps, or make them anew when arrays got other gradients."""
        signature = [a._gradient for a in self.arrays()]
        same = self._copied == len(self.session.copies) and len(signature) >= len(self._signature)
        same = same and all(a is b for a, b in zip(signature, self._signature, strict=False))
        if not same or len(signature) > len(self._signature):
            check_aliases(self._survey()[2], self.arrays())
        self._signature, self._copied = signature, len(self.session.copies)
        for entry in self.log:
            entry.prepare(anew=not same)

    def _start(self, seeds: list[tuple[array, np.ndarray]], wrote: list[array]) -> None:
        """Zero gradients of what the tape wrote, but seeds that the user wrote there; then set the given seeds."""
        if current_graph() is None:
            wrote = [g for g in wrote if not may_be_seeded(g)]
        else:
            refuse_seeds([g for g in wrote if not any(covers(a._gradient, g) for a, _ in seeds)])
        own = any(np.may_share_memory(values, g._data) for _, values in seeds for g in wrote)
        values = [snapshot(v) if own else v for _, v in seeds]
        for g in wrote:
            if g._memory.left is not None:
                allow(g)
            if g._memory.reads or current_graph() is not None:
                clearing(g).submit()
            else:
                g._data.fill(0)  # what `zero_` comes down to
        for (a, _), value in zip(seeds, values, strict=True):
            assert a._gradient is not None
            setting(a._gradient._data, value, a.device).submit()

    def _run(self, watch: Callable[[TapeEntry], None] | None) -> list[tuple[array, np.ndarray]]:
        """Run all steps; returns the gradients to keep of arrays with `retain_grad`, and their values."""
        open_ones = list({id(r): r for r in retaining(self.arrays()) if r._gradient is not None}.values())
        retained: list[tuple[array, np.ndarray]] = []
        capture = current_graph()
        for entry in reversed(self.log):
            if open_ones:
                written = list(entry.written_arrays())
                for a in [a for a in open_ones if any(w._memory is a._memory and overlap(w, a) for w in written)]:
                    open_ones.remove(a)
                    assert a._gradient is not None
                    values = np.empty_like(a._gradient._data)
                    copying(values, a._gradient._data, a.device).submit()
                    retained.append((a._gradient, values))
            step = entry.step if watch is None else HostCall(partial(watch, entry), entry.device)
            if step is not None and capture is None:
                step.run()
            elif step is not None:
                step.submit()
        return retained

    # ----- gradients --------------------------------------------------------------------------

    def _survey(self) -> tuple[int, list[array], list[array]]:
        """The arrays of floats on the tape, and those among them that it wrote."""
        if self._known[0] != len(self.log):
            arrays: dict[int, array] = {}
            wrote: dict[int, array] = {}
            for entry in self.log:
                entry.collect(arrays, wrote)
            written = [a for a in wrote.values() if has_cotangent(a.dtype)]
            self._known = (len(self.log), list(arrays.values()), written)
        return self._known

    def arrays(self) -> list[array]:
        """The arrays of floats that were recorded, each once, in order of appearance."""
        return self._survey()[1]

    @property
    def gradients(self) -> dict[Any, Any]:
        """The gradient arrays of all recorded arrays that have one."""
        with_gradient = [a for a in self.arrays() if (g := a._gradient) is not None and not is_refused(g)]
        return Gradients((a, a.grad) for a in with_gradient)

    @gradients.setter
    def gradients(self, by_array: dict[Any, Any]) -> None:
        """Gradients are those of what is recorded: `{}` may be set, which forgets nothing, and nothing else."""
        if by_array != {}:
            raise TapeError("gradients of a tape are set\nexpected: {}\nhelp: a.grad = g sets that of an array")

    def get_adjoint(self, a: object) -> Any:
        """The gradient of an array, a struct with the gradients of its arrays, or None."""
        return gradients_of(a)

    def zero(self) -> None:
        """Zero the gradients of all recorded arrays."""
        with saved_contents.Paused():
            for grad in {id(g): g for a in self.arrays() if (g := a._gradient) is not None}.values():
                grad.zero_()
                allow(grad)

    def reset(self) -> None:
        """Forget all entries, and zero their gradients."""
        self.zero()
        self.session.end()
        self.__init__()  # type: ignore[misc]

    def report(self) -> SnapshotReport:
        """What was copied because the tape overwrote it, for which launch, and how many bytes."""
        return report(self.session)

    def visualize(
        self, filename: Any = None, simplify_graph: bool = True, hide_readonly_arrays: bool = False,
        array_labels: dict[Any, str] | None = None, choose_longest_node_name: bool = True,
        ignore_graph_scopes: bool = False, track_inputs: Sequence[Any] | None = None,
        track_outputs: Sequence[Any] | None = None, track_input_names: Sequence[str] | None = None,
        track_output_names: Sequence[str] | None = None, graph_direction: str = "LR",
    ) -> str:  # fmt: skip
        """Launches and arrays as a graph in the dot language of Graphviz (`dot -Tsvg tape.dot -o tape.svg`).

        Launches are boxes, arrays ellipses: green with a gradient, grey without. filename: where to write the
        text too. simplify_graph: draw repeated launches once. hide_readonly_arrays: leave out arrays that
        nothing writes, except those in track_inputs and track_outputs, which are always drawn, each with an
        ellipse of its own. array_labels, track_input_names, track_output_names: names of arrays; others are
        called as the caller calls them (variables, items of lists, attributes), else as kernels call them.
        choose_longest_node_name: of several names the longest, else the first. ignore_graph_scopes: no boxes
        for scopes. graph_direction: LR, RL, TB or BT. Raises `TapeError` for options that do not fit.
        """
        looks = (simplify_graph, hide_readonly_arrays, choose_longest_node_name, ignore_graph_scopes)
        options = PictureOptions(*looks, graph_direction, caller_names())
        inputs = Tracked("track_inputs", track_inputs, track_input_names)
        outputs = Tracked("track_outputs", track_outputs, track_output_names)
        return visualize(items_of(self.log, self.scopes), filename, array_labels, (inputs, outputs), options)
