"""The result of a run as one JSON document: times, ratios, goals, versions, machine, options.

Guarantees: every sample is kept, so that another reader can take another statistic; ``time`` is
the median of the samples, or their minimum where that was asked for; a ratio is the peer's time
divided by warpsim's, above one where warpsim is faster; a goal that could not be judged is
``null``, not met.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import Outcome
from benchmarks.rows import PROBES, Goal, Row

SCHEMA = 1
BASE = "warpsim"
TRAFFIC = {"saxpy": 12, "copy": 8}  # bytes of memory traffic for each element
STATISTICS: dict[str, Callable[[list[float]], float]] = {"median": median, "min": min}


def build(
    rows: Iterable[Row],
    outcomes: dict[str, dict[str, Outcome]],
    *,
    frameworks: dict[str, dict[str, Any]],
    absent: dict[str, str],
    machine: dict[str, Any],
    options: dict[str, Any],
) -> dict[str, Any]:
    """Everything a reader needs, in plain JSON types."""
    return {
        "schema": SCHEMA,
        "machine": machine,
        "options": options,
        "frameworks": frameworks,
        "absent": absent,
        "rows": [_row(row, outcomes[row.probe], options) for row in rows],
    }


def _row(row: Row, outcomes: dict[str, Outcome], options: dict[str, Any]) -> dict[str, Any]:
    size = PROBES[row.probe].size(options["quick"])
    statistic = STATISTICS[options["statistic"]]
    results = {name: _result(row, outcome, statistic) for name, outcome in outcomes.items()}
    document = {
        "name": row.name,
        "title": row.heading(size),
        "size": size,
        "results": results,
        "ratios": ratios(results),
    }
    document["goals"] = [{"text": goal_text(goal), "met": goal_met(goal, document)}
                         for goal in row.goals]
    return document


def _result(
    row: Row, outcome: Outcome, statistic: Callable[[list[float]], float]
) -> dict[str, Any]:
    result: dict[str, Any] = {"status": outcome.status, "reason": outcome.reason,
                              "note": outcome.note}
    samples = outcome.samples.get(row.metric, [])
    if outcome.status != "ok" or not samples:
        return result
    result |= {"time": statistic(samples), "samples": samples}
    if row.relative_to:
        result["cost"] = result["time"] / statistic(outcome.samples[row.relative_to])
    return result


def ratios(results: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Peer's time over warpsim's, for every peer that has one."""
    own = results.get(BASE, {}).get("time")
    if not own:
        return {}
    return {name: result["time"] / own for name, result in results.items()
            if name != BASE and "time" in result}


def goal_text(goal: Goal) -> str:
    """The goal in a few characters."""
    if goal.seconds is not None:
        return f"<= {duration(goal.seconds)}"
    if goal.ratio is not None:
        return f">= {goal.ratio:g} x {goal.peer}"
    return f"cost <= {goal.cost:g} x"


def goal_met(goal: Goal, row: dict[str, Any]) -> bool | None:
    """Whether the row reaches the goal; ``None`` where a number is missing."""
    own = row["results"].get(BASE, {})
    if goal.seconds is not None:
        return own["time"] <= goal.seconds if "time" in own else None
    if goal.ratio is not None:
        ratio = row["ratios"].get(goal.peer)
        return ratio >= goal.ratio if ratio is not None else None
    return own["cost"] <= goal.cost if "cost" in own else None


def duration(seconds: float) -> str:
    """Three significant digits in the unit that fits: ns, us, ms or s."""
    for factor, unit in ((1.0, "s"), (1.0e-3, "ms"), (1.0e-6, "us")):
        # the next unit begins where three digits would round up to it
        if seconds >= 0.9995 * factor:
            return f"{digits(seconds / factor)} {unit}"
    return f"{digits(seconds / 1.0e-9)} ns"


def digits(value: float) -> str:
    """Three significant digits without an exponent."""
    if value <= 0.0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.3g}")
    places = max(0, 2 - math.floor(math.log10(rounded)))
    return f"{rounded:.{places}f}"


def growth(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Exponent p of compile time ~ operations^p between the two largest measured counts."""
    found: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if "ops" in row["size"]:
            for name, result in row["results"].items():
                if "time" in result:
                    found.setdefault(name, []).append((row["size"]["ops"], result["time"]))
    exponents = {}
    for name, points in found.items():
        if len(points) > 1:
            (small, quick), (large, slow) = sorted(points)[-2:]
            exponents[name] = math.log(slow / quick) / math.log(large / small)
    return exponents


def bandwidth(rows: list[dict[str, Any]]) -> list[str]:
    """What saxpy moves in a second, beside what a copy moves, by framework; nothing without both rows."""
    moved: dict[str, dict[str, float]] = {}
    for row in rows:
        for name, result in row["results"].items():
            if row["name"] in TRAFFIC and "time" in result:
                moved.setdefault(name, {})[row["name"]] = TRAFFIC[row["name"]] * row["size"]["n"] / result["time"]
    return [f"{name} {found['saxpy'] / 1.0e9:.0f} GB/s in saxpy, {found['copy'] / 1.0e9:.0f} GB/s in a copy "
            f"({found['saxpy'] / found['copy']:.0%})" for name, found in moved.items() if len(found) == len(TRAFFIC)]


def save(document: dict[str, Any], path: Path) -> None:
    """Write the document; a reader sees the old file or the whole new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
