"""The numbers of a profile: launches by kernel and call site, parts of the time, stages, compilation, threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..core.emit.program import FormKind
from ..core.runtime.launches import pool
from .copy_speed import bytes_per_second
from .lanes import lanes_of
from .timeline import LAUNCH, Book, Row, Timeline
from .trace import label

COMPILATION = ("front end", "passes", "LLVM", "code cache")
"""The stages of compilation."""

PARTS = {
    **dict.fromkeys(COMPILATION, "compilation"),
    "recording": "tapes: recording",
    "backward": "tapes: backward, beside launches",
    "reverse": "tapes: backward, beside launches",
    "graph": "graphs, beside launches",
    "step": "graphs, beside launches",
    "copy": "copies",
    "allocation": "new arrays",
    "operation": "operations on arrays",
    "submission": "submission to devices",
    "waiting": "waiting for devices",
    "block": "",
}
"""What the own time of spans counts as, by their kind; that of named blocks is the program's own."""

REST = "the program itself, and idle"
_SECOND = 1e9


@dataclass(frozen=True)
class LaunchTime:
    """All launches of one kernel at one call site on one device. Times in seconds.

    kernel: its name, with that of its form where it is derived. stage: the module of a kernel that comes with
    warpsim, empty for others. bytes: sizes of the arrays that the launches read and of those that they write, added up;
    copy: bytes a second of a copy on the device, 0 where nobody measured one. threads: the most of a launch; cores: how
    many may share it, 0 where that is the device's matter. lanes: threads that run as one vector (SIMD) on a core, 1
    for one by one, 0 where the device decides; why: what makes the lanes, or why there is one alone.
    """

    kernel: str
    place: str
    line: int
    device: str
    stage: str
    count: int
    total: float
    share: float
    bytes: int
    copy: float
    threads: int
    cores: int
    lanes: int
    why: str

    @property
    def mean(self) -> float:
        """The time of one launch [s]."""
        return self.total / self.count

    @property
    def speed(self) -> float:
        """Bytes a second."""
        return self.bytes / self.total if self.total else 0.0

    @property
    def of_copy(self) -> float:
        """The speed beside that of a copy on the device, 0 where nobody measured one."""
        return self.speed / self.copy if self.copy else 0.0


@dataclass(frozen=True)
class CompileTime:
    """The compilation of a kernel in all its forms. Times in seconds, of stages each without those inside of it."""

    kernel: str
    front_end: float
    passes: float
    llvm: float
    cache: float

    @property
    def total(self) -> float:
        return self.front_end + self.passes + self.llvm + self.cache


@dataclass(frozen=True)
class ThreadTime:
    """A thread of the host, or a device. busy: the time in what is counted [s]; launches: how many."""

    name: str
    busy: float
    launches: int


@dataclass(frozen=True)
class BlockTime:
    """Something that was counted by its name: a block of `ScopedTimer`, a kind of copy, a graph. Times in seconds."""

    kind: str
    name: str
    place: str
    line: int
    count: int
    total: float
    own: float


@dataclass(frozen=True)
class Report:
    """A profile in numbers. seconds: from its beginning to its end.

    launches: most expensive first. parts: what the thread that opened the profile did, in seconds, which add up to
    `seconds`; `rest` of it is what nobody counted. stages: times of the kernels of warpsim by their modules [s].
    dropped: spans that are in all sums, but not in the trace.
    """

    seconds: float
    launches: tuple[LaunchTime, ...]
    parts: dict[str, float]
    stages: dict[str, float]
    compilation: tuple[CompileTime, ...]
    blocks: tuple[BlockTime, ...]
    threads: tuple[ThreadTime, ...]
    dropped: int

    @property
    def rest(self) -> float:
        return self.parts[REST]

    def words(self) -> dict[str, Any]:
        """All of it as numbers, texts, lists and dictionaries."""
        derived = ("mean", "speed", "of_copy")
        launches = [{**asdict(one), **{name: getattr(one, name) for name in derived}} for one in self.launches]
        return {**asdict(self), "launches": launches, "rest": self.rest}


def report_of(book: Book) -> Report:
    """The numbers of a book that is closed."""
    lines, span = book.all_lines(), book.end - book.start
    launches = [launch_time(line, row, span) for line in lines for row in line.rows.values() if _is_launch(row)]
    merged = merge(launches)
    stages: dict[str, float] = {}
    for one in merged:
        if one.stage:
            stages[one.stage] = stages.get(one.stage, 0.0) + one.total
    return Report(
        span / _SECOND,
        tuple(sorted(merged, key=lambda one: -one.total)),
        parts_of(book, span),
        dict(sorted(stages.items(), key=lambda item: -item[1])),
        compile_times(lines),
        block_times(lines),
        tuple(thread_time(line) for line in lines),
        sum(line.dropped for line in lines),
    )


def _is_launch(row: Row) -> bool:
    return row.kind == LAUNCH and row.count > 0


def launch_time(line: Timeline, row: Row, span: int) -> LaunchTime:
    """The sums of a row as numbers for users. span: of the profile [ns]."""
    launcher, place = row.subject, row.place
    sums = row.count, row.total / _SECOND, row.total / span, row.bytes
    if isinstance(launcher, str):  # launches of a graph that are one loop
        about = ("cpu", "", *sums, bytes_per_second("cpu"), row.threads, pool.thread_count(), 0, "a loop over launches")
        return LaunchTime(launcher, place.file, place.line, *about)
    device, name = launcher.device, label(row)
    cores = _cores(launcher, row.threads)
    copy = bytes_per_second(device.alias) if row.bytes else 0.0
    about = (device.alias, stage_of(launcher.kernel), *sums, copy, row.threads, cores, *lanes_of(launcher))
    return LaunchTime(name, place.file, place.line, *about)


def merge(launches: Iterable[LaunchTime]) -> list[LaunchTime]:
    """Launches of one kernel at one line of one thread or another, as one."""
    groups: dict[Any, list[LaunchTime]] = {}
    for one in launches:
        groups.setdefault((one.kernel, one.place, one.line, one.device), []).append(one)
    merged = []
    for ones in groups.values():
        sums = {name: sum(getattr(one, name) for one in ones) for name in ("count", "total", "share", "bytes")}
        most = {name: max(getattr(one, name) for one in ones) for name in ("threads", "cores")}
        merged.append(LaunchTime(**{**asdict(ones[0]), **sums, **most}))
    return merged


def stage_of(kernel: Any) -> str:
    """The module of a kernel that comes with warpsim, as a stage of what it computes; empty for kernels of users."""
    module = str(getattr(kernel, "__module__", ""))
    if not module.startswith("warpsim."):
        return ""
    return module.removeprefix("warpsim.").removeprefix("solvers.").removeprefix("core.")


def _cores(launcher: Any, threads: int) -> int:
    """How many cores may share a launch."""
    if launcher.device.alias != "cpu" or launcher.program is None:
        return 1 if launcher.device.shares_host_memory else 0
    if threads <= launcher.serial_limit:
        return 1
    chunks = -(-threads // pool.chunk_size(threads, launcher.cost))
    return int(min(pool.thread_count(), chunks))


def parts_of(book: Book, span: int) -> dict[str, float]:
    """What the thread that opened the profile did, in seconds, the longest first, and the rest."""
    line = book.opening_line()
    parts: dict[str, int] = {}
    for row in [] if line is None else line.rows.values():
        kind = row.kind
        part = ("adjoint launches" if _is_adjoint(row) else "launches") if kind == LAUNCH else PARTS[kind]
        if part:
            parts[part] = parts.get(part, 0) + row.own
    rest = max(0, span - sum(parts.values()))
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    return {**{name: t / _SECOND for name, t in ordered if t}, REST: rest / _SECOND}


def _is_adjoint(row: Row) -> bool:
    form = getattr(row.subject, "form", None)
    return form is not None and form.kind is FormKind.ADJOINT


def compile_times(lines: Iterable[Timeline]) -> tuple[CompileTime, ...]:
    """What was compiled, the longest first."""
    times: dict[str, dict[str, int]] = {}
    for line in lines:
        for row in line.rows.values():
            if row.kind in COMPILATION:
                stages = times.setdefault(str(row.subject), dict.fromkeys(COMPILATION, 0))
                stages[row.kind] += row.own
    compiled = [CompileTime(name, *(t / _SECOND for t in stages.values())) for name, stages in times.items()]
    return tuple(sorted(compiled, key=lambda one: -one.total))


def block_times(lines: Iterable[Timeline]) -> tuple[BlockTime, ...]:
    """All other spans by kind, name and call site, the longest first."""
    blocks: dict[Any, BlockTime] = {}
    for row in [row for line in lines for row in line.rows.values()]:
        if row.kind == LAUNCH or row.kind in COMPILATION:
            continue
        place = row.place
        key = (row.kind, str(row.subject), place.file, place.line)
        before = blocks.get(key) or BlockTime(*key, 0, 0.0, 0.0)
        total, own = before.total + row.total / _SECOND, before.own + row.own / _SECOND
        blocks[key] = BlockTime(*key, before.count + row.count, total, own)
    return tuple(sorted(blocks.values(), key=lambda one: -one.total))


def thread_time(line: Timeline) -> ThreadTime:
    """How long a thread, or a device, was busy with what is counted."""
    return ThreadTime(line.name, line.inside / _SECOND, sum(row.count for row in line.rows.values() if _is_launch(row)))
