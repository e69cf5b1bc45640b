"""Writes how many of Warp's own tests pass into docs/warp.md: `python docs/conformance.py RUNNER`.

RUNNER is the folder of the conformance runner, whose `run_warp_tests.py` is run over this checkout, or a report in JSON
that it wrote before (`--json`). Counted are tests of public names that pass under Warp on the CPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("warp.md")
BEGIN, END = "<!-- conformance:begin -->", "<!-- conformance:end -->"


def table(report: dict[str, Any]) -> str:
    """The counts of a report: a line on what was run, then a row for each module below one for its part."""
    scores = report["score"]
    about = report["about"]
    lines = [
        f"Run on {report['began'][:10]} on {report['devices']}: warpsim {about['version']}, Python {about['python']}, "
        f"NumPy {about['numpy']}.",
        "",
        "| tests of Warp | pass | of |",
        "|---|---|---|",
    ]
    for tier in sorted({score["tier"] or "" for score in scores.values()}):
        members = {module: score for module, score in sorted(scores.items()) if (score["tier"] or "") == tier}
        lines.append(row(f"**{tier or 'others'}**", list(members.values())))
        lines += [row(f"`{module}`", [score]) for module, score in members.items() if score["public_wanted"]]
    return "\n".join([*lines, row("**all**", list(scores.values()))])


def row(name: str, scores: list[dict[str, Any]]) -> str:
    passed, wanted = (sum(score[f"public_{key}"] for score in scores) for key in ("passed", "wanted"))
    return f"| {name} | {passed} | {wanted} |"


def written(page: str, report: dict[str, Any]) -> str:
    """The page with the counts of a report in place of those before."""
    head, found, rest = page.partition(BEGIN)
    if not found:
        raise SystemExit(f"{PAGE} has no {BEGIN}")
    return f"{head}{BEGIN}\n{table(report)}\n{END}{rest.partition(END)[2]}"


def report_of(runner: Path) -> dict[str, Any]:
    """The report in a file, or of a run now."""
    if runner.is_file():
        return json.loads(runner.read_text())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        here = str(PAGE.parent.parent)
        command = [sys.executable, str(runner / "run_warp_tests.py"), "--impl", "warpsim", "--path", here]
        subprocess.run([*command, "--json", str(report)], cwd=runner, check=True)
        return json.loads(report.read_text())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    PAGE.write_text(written(PAGE.read_text(), report_of(Path(sys.argv[1]))))
