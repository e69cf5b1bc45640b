"""Validation: solvers against analytic and published numbers, as a table for readers and as tests.

A case is a function that runs a scene and yields what it measured next to what is right:

    @case("X9", "xpbd", "rebound of a dropped particle")
    def rebound():
        yield near("height after the first bounce [m]", 0.64, measured, relative=0.02)

Cases stand in `warpsim/solvers/cases`. `warpsim validate` runs them, and on request writes JSON and a
page; fast ones are tests.
"""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from ..core.runtime.devices.processor import processor
from ..errors import WarpsimError, counted

FAST, FULL = "fast", "full"
_CASES = f"{__package__}.cases"


class UnknownCaseError(WarpsimError, KeyError):
    """A name that is neither of a case nor of a solver."""

    __str__ = WarpsimError.__str__


# ----- what a case yields -------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """One number: what it is, what is right, and the interval in which it passes."""

    quantity: str
    expected: float
    measured: float
    low: float
    high: float

    @property
    def passed(self) -> bool:
        """Whether it is in the interval; NaN never is."""
        return self.low <= self.measured <= self.high

    @property
    def tolerance(self) -> str:
        """The interval as a table shows it."""
        if self.low == -math.inf:
            return f"<= {self.high:.6g}"
        if self.high == math.inf:
            return f">= {self.low:.6g}"
        half = 0.5 * (self.high - self.low)
        if math.isclose(0.5 * (self.high + self.low), self.expected, rel_tol=1e-9, abs_tol=1e-12 * half):
            return f"+- {half:.2g}"
        return f"{self.low:.6g} to {self.high:.6g}"


def near(quantity: str, expected: float, measured: float, relative: float = 0.0, absolute: float = 0.0) -> Measurement:
    """A number that should be another one, within relative * |expected| + absolute."""
    half = relative * abs(expected) + absolute
    return Measurement(quantity, float(expected), float(measured), float(expected - half), float(expected + half))


def at_most(quantity: str, bound: float, measured: float, expected: float = 0.0) -> Measurement:
    """A number that should not be above a bound: an error, a loss."""
    return Measurement(quantity, expected, float(measured), -math.inf, float(bound))


def at_least(quantity: str, bound: float, measured: float) -> Measurement:
    """A number that should not be below a bound."""
    return Measurement(quantity, float(bound), float(measured), float(bound), math.inf)


# ----- cases --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A named scene with known results. tier: "fast" ones are tests, "full" ones run on request."""

    name: str
    solver: str
    title: str
    tier: str
    measure: Callable[[], Iterator[Measurement]]

    @property
    def source(self) -> str:
        """What is compared, and where the numbers come from: the function's docstring."""
        return " ".join((self.measure.__doc__ or "").split())


_registered: dict[str, Case] = {}


def case(name: str, solver: str, title: str, tier: str = FAST) -> Callable[[Any], Any]:
    """Register the generator of measurements below it."""

    def register(measure: Callable[[], Iterator[Measurement]]) -> Callable[[], Iterator[Measurement]]:
        assert name not in _registered or _registered[name].measure.__module__ == measure.__module__, name
        _registered[name] = Case(name, solver, title, tier, measure)
        return measure

    return register


def all_cases() -> dict[str, Case]:
    """Every case by its name, in the order of modules and of lines."""
    folder = importlib.import_module(_CASES).__path__
    for module in sorted(info.name for info in pkgutil.iter_modules(folder)):
        importlib.import_module(f"{_CASES}.{module}")
    return _registered


def choose_cases(names: Sequence[str] = (), everything: bool = False) -> list[Case]:
    """Cases by name or solver; without names the fast ones, or all.

    Raises `UnknownCaseError` for a name that stands for nothing.
    """
    known = all_cases()
    solvers = dict.fromkeys(one.solver for one in known.values())
    for name in names:
        if name not in known and name not in solvers:
            raise UnknownCaseError(f"no case is named {name!r}\nexpected: one of {', '.join([*solvers, *known])}")
    picked = [c for c in known.values() if not names or c.name in names or c.solver in names]
    return [c for c in picked if everything or c.tier == FAST or c.name in names]


# ----- running ------------------------------------------------------------------------------------


@dataclass
class Result:
    """One case that ran. seconds: of wall time, compilation included; ran: the day, and the machine."""

    name: str
    solver: str
    title: str
    tier: str
    source: str
    seconds: float
    measurements: list[Measurement] = field(default_factory=list)
    ran: str = ""

    @property
    def passed(self) -> bool:
        """Whether every measurement passed, and there was one."""
        return bool(self.measurements) and all(m.passed for m in self.measurements)


def run_case(one: Case) -> Result:
    """Run a case."""
    begin = time.perf_counter()
    measurements = list(one.measure())
    seconds = time.perf_counter() - begin
    ran = f"{date.today().isoformat()}, {processor()}"
    return Result(one.name, one.solver, one.title, one.tier, one.source, seconds, measurements, ran)


def run(names: Sequence[str] = (), everything: bool = False) -> list[Result]:
    """Run the chosen cases in order."""
    return [run_case(one) for one in choose_cases(names, everything)]


# ----- the report ---------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """Measurements as lines of Markdown."""
    lines = ["| case | quantity | expected | measured | accepted | | s |", "|---|---|---:|---:|---:|---|---:|"]
    for result in results:
        for number, m in enumerate(result.measurements):
            name, seconds = (result.name, f"{result.seconds:.1f}") if number == 0 else ("", "")
            numbers = f"{m.expected:.6g} | {m.measured:.6g} | {m.tolerance}"
            verdict = "pass" if m.passed else "**FAIL**"
            lines.append(f"| {name} | {m.quantity} | {numbers} | {verdict} | {seconds} |")
    return "\n".join(lines)


_HEAD = """# Validation: solvers against numbers that are known

{summary}

`warpsim validate` runs the fast cases, `warpsim validate --all` all of them, `warpsim validate xpbd X9` those of a
solver or with a name; `--output docs` renews their rows here and in `validation.json`. The fast cases are also tests.
From a program:

```python
from warpsim.solvers import validate

for result in validate.run(["{example}"]):
    print(result.name, result.passed)  # {example} True
```
"""


def page(results: Sequence[Result]) -> str:
    """The whole page: a summary, then solver by solver."""
    parts = [_HEAD.format(summary=summary(results), example=results[0].name)]
    for solver in dict.fromkeys(r.solver for r in results):
        mine = [r for r in results if r.solver == solver]
        parts.append(f"## {solver}\n\n{table(mine)}\n")
        parts.append("\n".join(f"- **{r.name}** {r.title} ({r.tier}; {r.ran}). {r.source}" for r in mine) + "\n")
    parts.append("Each case names the day and the machine of its last run; the times include compilation.\n")
    return "\n".join(parts)


def summary(results: Sequence[Result]) -> str:
    """How many numbers were compared and how many are right, in all and by solver, as Markdown."""
    numbers, wrong = _count(results)
    verdict = "All of them are inside of the interval that is accepted."
    if wrong:
        failed = ", ".join(result.name for result in results if not result.passed)
        verdict = f"Outside of the interval that is accepted: {wrong} (cases {failed})."
    lines = [
        f"{counted(numbers, 'number')} that solvers computed in {counted(len(results), 'case')} are compared with "
        f"analytic or published ones. {verdict}",
        "",
        "| solver | cases | numbers | outside | time of all cases |",
        "|---|---:|---:|---:|---:|",
    ]
    for solver in dict.fromkeys(r.solver for r in results):
        mine = [r for r in results if r.solver == solver]
        numbers, wrong = _count(mine)
        seconds = sum(r.seconds for r in mine)
        lines.append(f"| {solver} | {len(mine)} | {numbers} | {wrong} | {seconds:.0f} s |")
    return "\n".join(lines)


def _count(results: Sequence[Result]) -> tuple[int, int]:
    """(measurements, how many of them are wrong)."""
    measurements = [m for result in results for m in result.measurements]
    return len(measurements), sum(not m.passed for m in measurements)


def write(results: Sequence[Result], folder: Path) -> list[Result]:
    """Renew these results in validation.json and validation.md of a folder; returns all that stand there now."""
    path = folder / "validation.json"
    known = {r.name: r for r in (load(path) if path.is_file() else [])}
    known.update({r.name: r for r in results})
    order = {name: number for number, name in enumerate(all_cases())}
    everything = sorted((r for r in known.values() if r.name in order), key=lambda r: order[r.name])
    text = json.dumps([asdict(r) for r in everything], indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    (folder / "validation.md").write_text(page(everything), encoding="utf-8")
    return everything


def load(path: Path) -> list[Result]:
    """Results that `write` has written."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [Result(**{**r, "measurements": [Measurement(**m) for m in r["measurements"]]}) for r in rows]
