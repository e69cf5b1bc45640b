"""The table of a profile for terminals: at most 100 columns, aligned, the most expensive first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import counted
from .report import LaunchTime, Report

WIDTH = 100
_BAR = 36
_MOST_ROWS = 20
_LEAST_SHARE, _LEAST_TIME = 0.02, 0.002  # of the whole time: of kernels that are told why they have one lane, of blocks
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def table(title: str, report: Report) -> str:
    """All parts of the table that have something to tell."""
    parts = [head(title, report), launches(report), compilation(report), blocks(report), stages(report)]
    return "\n\n".join("\n".join(lines) for part in [*parts, threads(report)] if (lines := list(part)))


def head(title: str, report: Report) -> Iterator[str]:
    """The whole time, and its parts as bars."""
    launched = sum(one.count for one in report.launches)
    yield cut(f"{title}: {time(report.seconds).strip()}, {counted(launched, 'launch')}", WIDTH)
    for name, seconds in report.parts.items():
        share = seconds / report.seconds
        yield f"  {name:34}{time(seconds)}{percent(share)}  {bar(share)}".rstrip()


def bar(share: float) -> str:
    """A share as a bar of blocks, to an eighth of a block."""
    eighths = round(8 * _BAR * min(share, 1.0))
    return "\u2588" * (eighths // 8) + " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"[eighths % 8].strip()


# ----- launches ---------------------------------------------------------------------------------


def launches(report: Report) -> Iterator[str]:
    """A row for every kernel and call site, then what the columns mean here."""
    if not report.launches:
        return
    names = f"{'kernel':24} {'called from':17}"
    yield f"{names}{'count':>7}{'total':>9}{'mean':>9}{'share':>8}{'GB/s':>7}{'copy':>6}{'cores':>6}{'lanes':>6}"
    yield "\u2500" * WIDTH
    shown = report.launches[:_MOST_ROWS]
    yield from map(row, shown)
    rest = report.launches[_MOST_ROWS:]
    if rest:
        total, calls = sum(one.total for one in rest), sum(one.count for one in rest)
        yield f"{f'and {len(rest)} more':42}{count(calls)}{time(total)}"
    yield from legend(report, shown)


def row(one: LaunchTime) -> str:
    """The line of a kernel at a call site."""
    name = one.kernel if one.device == "cpu" else f"{one.kernel} [{one.device}]"
    tells = 0.0 < one.of_copy < 10.0  # else the arrays are hardly touched
    speed = f"{one.speed / 1e9:7.{2 if one.speed < 1e10 else 1}f}{100 * one.of_copy:4.0f} %" if tells else " " * 13
    cores, lanes = (f"{n}" if n else "" for n in (one.cores, one.lanes))
    times = f"{count(one.count)}{time(one.total)}{time(one.mean)}{percent(one.share, 8)}"
    return f"{cut_name(name, 24):24} {site(one.place, one.line, 17):17}{times}{speed}{cores:>6}{lanes:>6}".rstrip()


def legend(report: Report, shown: Sequence[LaunchTime]) -> Iterator[str]:
    """What the numbers are, and why kernels have no lanes."""
    speeds = {one.device: one.copy for one in shown if one.copy}
    if speeds:
        copies = ", ".join(f"{speed / 1e9:.3g} GB/s on {device}" for device, speed in speeds.items())
        yield "GB/s: sizes of the arrays that a launch reads and writes, over its time."
        yield f"copy: that beside a copy of 64 MiB, measured: {copies}."
    alone = {one.kernel: one.why for one in shown if one.lanes == 1 and one.share >= _LEAST_SHARE}
    for name, why in alone.items():
        yield cut(f"one lane: {name}: {why}", WIDTH)


# ----- the other parts --------------------------------------------------------------------------


def compilation(report: Report) -> Iterator[str]:
    """The stages of what was compiled."""
    if not report.compilation:
        return
    yield f"{'compilation':44}{'front end':>11}{'passes':>11}{'LLVM':>11}{'cache':>11}{'total':>11}"
    yield "\u2500" * WIDTH
    for one in report.compilation[:_MOST_ROWS]:
        stages = (one.front_end, one.passes, one.llvm, one.cache, one.total)
        yield f"{cut(one.kernel, 43):44}" + "".join(f"{time(t) if t else '':>11}" for t in stages).rstrip()
    rest = report.compilation[_MOST_ROWS:]
    if rest:
        yield f"{f'and {len(rest)} more':88}{time(sum(one.total for one in rest)):>11}"


def blocks(report: Report) -> Iterator[str]:
    """Named blocks, graphs, backward passes, copies and the like."""
    least = _LEAST_TIME * report.seconds
    shown = [one for one in report.blocks if one.count and one.kind != "submission" and one.total >= least][:_MOST_ROWS]
    if not shown:
        return
    yield f"{'block':36}{'called from':30}{'count':>9}{'total':>12}{'itself':>12}"
    yield "\u2500" * WIDTH
    for one in shown:
        name = cut(f"{one.kind}: {one.name}", 35)
        yield f"{name:36}{site(one.place, one.line, 30):30}{one.count:>9,}{time(one.total):>12}{time(one.own):>12}"


def stages(report: Report) -> Iterator[str]:
    """The kernels of warpsim by the modules that they are in."""
    if not report.stages:
        return
    yield "stages of warpsim, by the modules of their kernels"
    yield "\u2500" * WIDTH
    for name, seconds in list(report.stages.items())[:_MOST_ROWS]:
        share = seconds / report.seconds
        yield f"  {cut(name, 33):34}{time(seconds)}{percent(share)}  {bar(share)}".rstrip()


def threads(report: Report) -> Iterator[str]:
    """What each thread and each device did, if there are several."""
    if len(report.threads) < 2:
        return
    yield f"{'thread':36}{'launches':>12}{'busy':>12}"
    yield "\u2500" * WIDTH
    for one in report.threads:
        yield f"{cut(one.name, 35):36}{one.launches:>12,}{time(one.busy):>12}{percent(one.busy / report.seconds)}"


# ----- texts ------------------------------------------------------------------------------------


def time(seconds: float) -> str:
    """A time in the unit that suits it, nine columns wide."""
    scale, unit = next(((scale, unit) for scale, unit in _UNITS if abs(seconds) >= scale), _UNITS[-1])
    value = seconds / scale
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:6.{digits}f} {unit:2}"


def percent(share: float, width: int = 9) -> str:
    """A share in percent."""
    return f"{100 * share:{width - 2}.1f} %"


def count(n: int) -> str:
    """A number of calls, seven columns wide."""
    return f"{n:>7}" if n < 1_000_000 else f"{n / 1e6:>6.1f}M"


def site(place: str, line: int, width: int) -> str:
    """A call site as the name of its file and the line."""
    if not line:
        return ""
    tail = f":{line}"
    name = Path(place).name
    room = width - len(tail) - 1
    return (name if len(name) <= room else "\u2026" + name[1 - room :]) + tail


def cut_name(name: str, width: int) -> str:
    """The name of a kernel, cut before the words in brackets behind it, as these tell it from others."""
    if len(name) <= width:
        return name
    own, bracket, words = name.replace("(adjoint)", "(adj)").partition(" (" if " (" in name else " [")
    room = width - len(bracket) - len(words)
    return cut(own, room) + bracket + words if room > 8 else cut(name, width)


def cut(text: str, width: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= width:
        return text
    first = (width - 1) * 2 // 3
    return f"{text[:first]}\u2026{text[len(text) - (width - 1 - first) :]}"
