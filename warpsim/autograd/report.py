"""The gradient report of a tape: launch by launch, gradients on arrival and on departure.

`gradient_report` runs a tape in reverse one entry at a time, and looks at the gradients of what the entry
wrote (they arrive) and at what it adds to the gradients of what it read (it leaves). It names the first
launch that turns finite gradients into NaN or infinity, or all of them into zeros, and the launches where a
gradient cannot pass because an array has none. Gradients are put back as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from ..core.language import array
from ..core.runtime.tape.entry import TapeEntry
from ..core.runtime.tape.picture.graph import key_of
from ..core.runtime.tape.picture.items import step_of
from ..core.runtime.tape.picture.names import caller_names
from ..core.runtime.tape.tape import Tape
from ..errors import TapeError, instance
from .components import Components

_MOST_ROWS = 60  # launches that a printed report lists


class GradientNumbers(NamedTuple):
    """The gradient of one array at one moment: how many numbers, of them zero, NaN, infinite; least and greatest."""

    name: str
    size: int
    zeros: int
    nans: int
    infinities: int
    least: float
    greatest: float
    first_bad: str
    """Where the first number stands that is NaN or infinite."""

    @property
    def finite(self) -> bool:
        return not (self.nans or self.infinities)

    @property
    def zero(self) -> bool:
        return self.zeros == self.size


class LaunchGradients(NamedTuple):
    """One entry of the tape: what arrived, what left, and what is wrong.

    problem: "", "nan", "inf", "zero" or "cut"; about: the problem, or why no gradient passes, in words.
    """

    number: int
    name: str
    place: str
    arrived: tuple[GradientNumbers, ...]
    left: tuple[GradientNumbers, ...]
    problem: str
    about: str


class GradientReport:
    """Entries in the order of the reverse, last one first. `str()` is a table.

    first: the first entry with a problem in that order, or None; the truth value says that there is none.
    """

    def __init__(self, launches: Sequence[LaunchGradients]):
        self.launches = list(launches)

    @property
    def problems(self) -> list[LaunchGradients]:
        return [launch for launch in self.launches if launch.problem]

    @property
    def first(self) -> LaunchGradients | None:
        return next(iter(self.problems), None)

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return "\n".join([*_table(self._listing()), "", self.summary()])

    def summary(self) -> str:
        """The first problem in words."""
        first = self.first
        if first is not None:
            more = len(self.problems) - 1
            rest = f"\nand {more} more" if more else ""
            return f"{first.name} (record {first.number} at {first.place}): {first.about}{rest}"
        if not any(launch.arrived and not all(g.zero for g in launch.arrived) for launch in self.launches):
            return "no gradient arrives anywhere: nothing on the tape writes the arrays that backward starts from"
        return "gradients are finite everywhere, and none is lost"

    def _listing(self) -> list[LaunchGradients]:
        """All entries, or of many those with problems and the ones at both ends."""
        if len(self.launches) <= _MOST_ROWS:
            return self.launches
        third = _MOST_ROWS // 3
        shown = {*self.launches[:third], *self.problems[:third], *self.launches[-third:]}
        return [launch for launch in self.launches if launch in shown]


def gradient_report(
    tape: Tape, loss: Any = None, grads: Mapping[Any, Any] | None = None, array_labels: Mapping[Any, str] | None = None
) -> GradientReport:
    """Run a tape in reverse, and report what becomes of the gradients at every entry.

    loss, grads: as for `Tape.backward`, which says what is raised. array_labels: names of arrays; others are
    called as the caller's variables, else as the kernels' parameters. Beside loss and grads, gradients start
    from zero everywhere; without these, from what the arrays hold. All are put back in the end: a report
    changes nothing.
    """
    if not isinstance(tape, Tape):
        raise TapeError(f"tape is {type(tape).__name__}\nexpected: a Tape")
    if array_labels is not None:
        instance(array_labels, Mapping, "array_labels")
    names = {key_of(a): name for a, name in reversed(caller_names())}
    names.update((key_of(a._array), name) for a, name in (array_labels or {}).items())
    held = [a.grad for a in tape.arrays() if a.grad is not None]
    before = [g._data.copy() for g in held]
    watcher = _Watcher(tape, names)
    try:
        for g in held if loss is not None or grads else ():
            g._data[...] = np.zeros((), g._data.dtype)
        tape.stepped_backward(loss, grads, watcher.watch)
    finally:
        for g, values in zip(held, before, strict=True):
            g._data[...] = values
    return GradientReport(watcher.found)


class _Watcher:
    """Looks at gradients before and after every step."""

    def __init__(self, tape: Tape, names: dict[Any, str]):
        self.names, self.found = names, list[LaunchGradients]()
        self.numbers = {id(entry): k for k, entry in enumerate(tape.records)}
        self.writers: dict[Any, int] = {}
        """Of every array the first entry that writes it."""
        for k, entry in enumerate(tape.records):
            for a in entry.written_arrays():
                self.writers.setdefault(key_of(a), k)

    def watch(self, entry: TapeEntry) -> None:
        """Run the step of an entry, and note what arrived and what left."""
        step = step_of(entry)
        reads, writes = _floats(step.reads), _floats(step.writes)
        linked = _floats(step.linked) if not (reads or writes) else {}
        sources = {**reads, **linked}
        arrived = [self.gradient(name, a, _gradient(a)) for name, a in {**writes, **linked}.items() if _has(a)]
        before = {name: _gradient(a) for name, a in sources.items() if _has(a)}
        if entry.step:
            entry.step.run()
        written = {key_of(a) for a in writes.values()}
        left, own = [], []
        for name, values in before.items():
            now, clean = _gradient(sources[name]), np.isfinite(values).all()
            added = now if key_of(sources[name]) in written or not clean else now - values
            left.append(self.gradient(name, sources[name], added))
            own += [left[-1]] if clean else []  # others were spoiled by a later entry already
        number = self.numbers[id(entry)]
        problem, about = self.verdict(number, arrived, left, own, sources)
        self.found.append(LaunchGradients(number, step.name, step.place, tuple(arrived), tuple(left), problem, about))

    def gradient(self, name: str, a: array, values: np.ndarray) -> GradientNumbers:
        """What is to be known of a gradient."""
        finite = values[np.isfinite(values)]
        bad = np.flatnonzero(~np.isfinite(values))
        own = self.names.get(key_of(a), "")
        label = f"{name} = {own}" if own and own != name else name
        return GradientNumbers(
            label,
            values.size,
            int((values == 0.0).sum()),
            int(np.isnan(values).sum()),
            int(np.isinf(values).sum()),
            float(finite.min()) if finite.size else np.nan,
            float(finite.max()) if finite.size else np.nan,
            Components(a).name(int(bad[0])) if bad.size else "",
        )

    def verdict(
        self,
        number: int,
        arrived: list[GradientNumbers],
        left: list[GradientNumbers],
        own: list[GradientNumbers],
        sources: dict[str, array],
    ) -> tuple[str, str]:
        """What is wrong with a step, and what to say about it; `own` are gradients that were finite before it."""
        without = [name for name, a in sources.items() if not _has(a)]
        bad = next((g for g in own if not g.finite), None)
        if bad is not None and all(g.finite for g in arrived):
            kind, count, word = ("nan", bad.nans, "NaN") if bad.nans else ("inf", bad.infinities, "infinite")
            return kind, f"{count} of {bad.size} gradients of {bad.name} become {word}, first at {bad.first_bad}"
        if all(g.zero for g in arrived):
            return "", "no gradient arrives"
        lost = [name for name in without if self.writers.get(key_of(sources[name]), number) < number]
        if lost:
            which = ", ".join(self.label(name, sources[name]) for name in lost)
            return "cut", f"the gradient is cut at {which}: requires_grad is False"
        if left and own == left and all(g.zero for g in left):
            return "zero", "a gradient that is not zero arrives, and only zeros leave"
        if not left:
            reason = f"no requires_grad in {', '.join(without)}" if without else "it reads no array of floats"
            return "", f"the gradient ends here: {reason}"
        return "", ""

    def label(self, name: str, a: array) -> str:
        own = self.names.get(key_of(a), "")
        return f"{name} = {own}" if own and own != name else name


def _floats(pairs: Sequence[tuple[str, array]]) -> dict[str, array]:
    """The arrays that can have gradients."""
    return {name: a for name, a in pairs if Components(a).size}


def _has(a: array) -> bool:
    return a.grad is not None


def _gradient(a: array) -> np.ndarray:
    return Components(a.grad).read()


# ----- text -------------------------------------------------------------------------------------


def _table(launches: Sequence[LaunchGradients]) -> list[str]:
    """One row for every gradient, the launch beside its first one."""
    head = ("Launch", "Place", "", "Gradient of", "Numbers", "Least", "Greatest", "Zero", "NaN", "Inf")
    rows: list[tuple[str, ...] | str] = [head]
    previous = None
    for launch in launches:
        if previous is not None and launch.number != previous - 1:
            rows.append("...")
        previous = launch.number
        rows += _rows(launch)
        if launch.about:
            rows.append(f"  {'! ' if launch.problem else ''}{launch.about}")
    cells = [row for row in rows if isinstance(row, tuple)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    return [row if isinstance(row, str) else _line(row, widths) for row in rows]


def _rows(launch: LaunchGradients) -> Iterator[tuple[str, ...]]:
    file, _, line = launch.place.rpartition(":")
    title = (f"{launch.number} {launch.name}", f"{PurePath(file).name}:{line}")
    gradients = [*(("arrives", g) for g in launch.arrived), *(("leaves", g) for g in launch.left)]
    if not gradients:
        yield (*title, *[""] * 8)
    for way, g in gradients:
        numbers = (f"{g.least:.4g}", f"{g.greatest:.4g}", str(g.zeros), str(g.nans), str(g.infinities))
        yield (*title, way, g.name, str(g.size), *numbers)
        title = ("", "")


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """Words to the left, numbers to the right."""
    cells = [cell.ljust(w) if k < 4 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))]
    return "  ".join(cells).rstrip()
