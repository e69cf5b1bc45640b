"""`LaunchStep`: the step that is one launch, with its arguments as they were packed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ....forks import cached_property
from ...emit.program import FormKind
from ...types.handles import LIVE
from ...types.scalars import uint64
from ...types.structs import members
from ..arrays import allocation, saved_contents
from ..arrays.array import array
from ..arrays.host_memory import TypedMemory
from ..arrays.indexed import indexedarray
from ..devices.capture import current_graph
from ..devices.device import Device
from ..launches.guards import arrays_in
from ..launches.launcher import LaunchCall
from .fields import Fields
from .step import GraphPart, GraphReader, GraphWriter, Json, Step, StepWatcher, Use


class LaunchStep(Step):
    """A launch. tell: replays it so that tapes are told, None for launches that tapes do not record."""

    __slots__ = ("run",)

    run: Callable[[], None]
    """Runs it: if it is small, the call of machine code itself."""
    references: list[Any] | None = None
    """What the addresses in its argument block lead to, of launches that are kept."""

    def __init__(self, call: LaunchCall, tell: Callable[[LaunchStep], None] | None = None):
        self.call, self.tell = call, tell
        launcher = call.launcher
        if call.total <= launcher.direct_limit:
            self.run = partial(launcher.function, call.block, 0, call.total, 0)
        else:
            self.run = call.run

    def for_later(self) -> LaunchStep:
        """The same, to be run later: what it leads to stays, and elements may refer to other arrays by then."""
        if self.references is None:
            self.references = list(references(self.call.args))
            if self.call.launcher.guard is not None:
                self.run = self._run_guarded
        return self

    def _run_guarded(self) -> None:
        guard = self.call.launcher.guard
        assert guard is not None
        guard(self.call.args)
        self.call.run()

    @property
    def name(self) -> str:
        launcher = self.call.launcher
        form = "" if launcher.form.kind is FormKind.PRIMAL else f" ({launcher.form.kind.value})"
        return f"{launcher.kernel.key}{form}"

    @cached_property
    def command(self) -> bytes | None:  # type: ignore[override]
        return self.call.launcher.command(self.call)

    @property
    def device(self) -> Device | None:  # type: ignore[override]
        return self.call.launcher.stream_device

    def run_watched(self, watcher: StepWatcher) -> None:
        watcher.run_launch(self)

    def run_openly(self) -> None:
        """Run it by `Launcher.execute` wherever launches are watched, even if it is a bare call of machine code."""
        if self.references is not None and self.call.launcher.guard is not None:
            self._run_guarded()
        else:
            self.call.run()

    def submit(self) -> None:
        capture = current_graph()
        if capture is None:
            self.run()
        else:
            capture.add(self.for_later())

    def replay(self) -> None:
        if not saved_contents.alert:
            self.submit()
        elif self.tell is not None:
            self.tell(self)
        else:
            self._announce_gradients()
            self.submit()

    def _announce_gradients(self) -> None:
        """Tell tapes which arrays an adjoint launch adds to: gradients of its arguments, and sums for numbers."""
        launcher = self.call.launcher
        what = f"adjoint launch of kernel {launcher.kernel.key!r}"
        for k, arg in enumerate(self.call.args):
            for _, a in members(arg):
                own = a._array if isinstance(a, array | indexedarray) else None
                target = own if own is None or k >= len(launcher.own_types) else own._grad
                if target is not None:
                    allocation.about_to_write(target, target._data, what)

    # ----- words ------------------------------------------------------------------------------

    def uses(self) -> list[Use]:
        """The arrays among its arguments; of a launch out of a file nobody knows them."""
        written = self.call.launcher.written
        return [Use(a, k in written) for k, arg in enumerate(self.call.args) for a in arrays_in([arg])]

    def in_report(self) -> GraphPart:
        aside = "" if self.command else "more than machine code is to run: checks, sums in parts, or another device"
        return GraphPart("launch", (self.call.launcher.kernel.key,), self.call.total, 0, aside)

    def labels(self, verbose: bool) -> Iterator[str]:
        lines, written = [self.name, f"dim {self.call.dim}"], self.call.launcher.written
        pairs = zip(self.call.launcher.kernel.patterns, self.call.args, strict=False) if verbose else ()
        for k, (name, a) in enumerate(pairs):
            lines.append(f"{name} = {_argument(a)}{', written' * (k in written)}")
        yield "\n".join(lines)

    # ----- files ------------------------------------------------------------------------------

    def save(self, file: GraphWriter) -> Iterator[Json]:
        yield {"do": "launch", **file.launch(self.call)}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> LaunchStep:
        return cls(file.launch(part))


def references(values: Iterable[Any]) -> Iterator[Any]:
    """What arguments, and fields of structs among them, refer to as they are now: gradients, structures behind ids.

    A launch that is kept keeps it alive: the argument block holds addresses, and what lies there may be replaced.
    """
    for value in values:
        for _, member in members(value):
            if isinstance(member, TypedMemory):
                yield member._array._gradient
            elif isinstance(member, int | uint64):
                yield LIVE.get(int(member))


def _argument(value: Any) -> str:
    """An argument, as it tells itself apart from others."""
    address = getattr(value, "ptr", None)
    return repr(value) if address is None else f"{value!r} at {address:#x}"
