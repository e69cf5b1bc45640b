"""The document as text for a terminal, or as Markdown for a page.

Guarantees: every cell without a number carries a mark, and each mark is explained below the table.
"""

from __future__ import annotations

from typing import Any

from benchmarks.document import BASE, bandwidth, digits, duration, growth

Document = dict[str, Any]

# cores kept busy by others from which on they compete with the frameworks
BUSY = 0.3


def text(document: Document) -> str:
    """Columns padded with spaces."""
    header, body, remarks = _cells(document)
    widths = [max(len(line[k]) for line in [header, *body]) for k in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if k == 0 else cell.rjust(width)
                  for k, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in [header, ["-" * width for width in widths], *body]
    ]
    return "\n".join([*preamble(document), "", *lines, "", *remarks])


def markdown(document: Document) -> str:
    """A pipe table with the same cells and remarks."""
    header, body, remarks = _cells(document)
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = ["| " + " | ".join(line) + " |" for line in [header, rule, *body]]
    listed = [f"- {line}" for line in [*preamble(document), *remarks]]
    return "\n".join([*lines, "", *listed])


def preamble(document: Document) -> list[str]:
    """Machine, then one line per framework: version, threads, how it runs."""
    machine, options = document["machine"], document["options"]
    lines = [f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
             f"{machine['system']}, Python {machine['python']}, {machine['date']}"
             + (", quick run" if options.get("quick") else "")]
    if "gpu" in machine:
        lines.append(f"{options['device']}: {machine['gpu']}")
    if machine["busy"] != "unknown" and machine["busy"] > BUSY:
        lines.append(f"Other programs kept {machine['busy']} cores busy before the start: "
                     "times are too long and ratios uncertain.")
    for name, facts in document["frameworks"].items():
        plural = "" if facts["threads"] == 1 else "s"
        lines.append(f"{name} {facts['version']}: {facts['threads']} thread{plural}"
                     + (f"; {facts['note']}" if facts["note"] else ""))
    lines += [f"{name}: left out, {reason}" for name, reason in document["absent"].items()]
    return lines


def _cells(document: Document) -> tuple[list[str], list[list[str]], list[str]]:
    names = list(document["frameworks"])
    peers = [name for name in names if name != BASE] if BASE in names else []
    with_goals = BASE in names and any(row["goals"] for row in document["rows"])
    header = ["", *names, *[f"{peer} / {BASE}" for peer in peers], *(["goal"] * with_goals)]
    remarks = Remarks()
    body = []
    for row in document["rows"]:
        times = [_time(name, row, remarks) for name in names]
        factors = [_ratio(row["ratios"].get(peer)) for peer in peers]
        body.append([row["title"], *times, *factors, *([_goals(row)] * with_goals)])
    return header, body, [*_legend(document), *remarks.lines]


class Remarks:
    """Numbered remarks; the same text gets the same number."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[str, int] = {}

    def mark(self, remark: str) -> str:
        """The mark that refers to the remark."""
        if remark not in self._numbers:
            self._numbers[remark] = len(self._numbers) + 1
            self.lines.append(f"[{self._numbers[remark]}] {remark}")
        return f"[{self._numbers[remark]}]"


def _time(name: str, row: dict[str, Any], remarks: Remarks) -> str:
    result = row["results"].get(name)
    if result is None:
        return "-"
    if "time" in result:
        cell = duration(result["time"])
        if "cost" in result:
            cell += f" ({result['cost']:.2f} x)"
        return f"{cell} {remarks.mark(f'{name}: ' + result['note'])}" if result["note"] else cell
    shown = {"skipped": "-", "wrong": "WRONG"}.get(result["status"], "FAILED")
    return f"{shown} {remarks.mark(f'{name}: ' + result['reason'])}"


def _ratio(value: float | None) -> str:
    return "" if value is None else digits(value)


def _goals(row: dict[str, Any]) -> str:
    verdict = {True: "met", False: "MISSED", None: "?"}
    return ", ".join(f"{goal['text']} {verdict[goal['met']]}" for goal in row["goals"])


def _legend(document: Document) -> list[str]:
    statistic = {"median": "Medians", "min": "Best"}[document["options"]["statistic"]]
    lines = [f"{statistic} of single timings taken in turn."]
    if BASE in document["frameworks"]:
        lines[0] += f" A ratio is the peer's time divided by {BASE}'s: above 1, {BASE} is faster."
    if any("cost" in result for row in document["rows"] for result in row["results"].values()):
        lines.append("In brackets: time relative to the same work in the default mode.")
    if moved := bandwidth(document["rows"]):
        lines.append(f"Memory traffic: {'; '.join(moved)}.")
    exponents = growth(document["rows"])
    if exponents:
        shown = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
        lines.append("Compile time grows as operations^p between the two largest counts; "
                     f"p: {shown}.")
    return lines
