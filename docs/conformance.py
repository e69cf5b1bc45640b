"""Writes how many of Warp's own tests pass into docs/warp.md: `python docs/conformance.py RUNNER [REPORT]`.

RUNNER is the folder of the conformance runner, whose `run_warp_tests.py` is run over this checkout; REPORT is a report
in JSON that it wrote before (`--json`), to be read in its place. Counted are tests of public names that pass under Warp
on the CPU. Which of those that fail are left out on purpose, and why, stands in `docs/left_out.toml`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = Path(__file__).with_name("warp.md")
LEFT_OUT = Path(__file__).with_name("left_out.toml")
BEGIN, END = "<!-- conformance:begin -->", "<!-- conformance:end -->"


def causes() -> list[dict[str, Any]]:
    """Why tests are left out: title and reason, and names of tests by module."""
    return tomllib.loads(LEFT_OUT.read_text())["cause"]


def failures(report: dict[str, Any], baseline: dict[str, Any]) -> list[tuple[str, str]]:
    """Module and name of tests of public names that pass under Warp and not here, be it that their module fails."""
    failed = []
    for module, here in report["modules"].items():
        for test, known in baseline["modules"].get(module, {}).get("tests", {}).items():
            wanted = known.get("public") and known.get("outcome") == "passed"
            if wanted and here["tests"].get(test, {}).get("outcome") != "passed":
                failed.append((module, test.rpartition(".")[2]))
    return failed


def explained(failed: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The title of the cause of each failure that is left out on purpose."""
    known = {
        (module, test): cause["title"]
        for cause in causes()
        for module, tests in cause["tests"].items()
        for test in tests.split()
    }
    return {failure: known[failure] for failure in failed if failure in known}


def counts(report: dict[str, Any], failed: list[tuple[str, str]]) -> str:
    """A line on what was run, then a row for each module below one for its part."""
    scores, about = report["score"], report["about"]
    reasons = explained(failed)
    left_out = Counter(module for module, test in failed if (module, test) in reasons)
    lines = [
        f"Run on {report['began'][:10]} on {report['devices']}: warpsim {about['version']}, Python {about['python']}, "
        f"NumPy {about['numpy']}.",
        "",
        "| tests of Warp | pass | of | left out on purpose |",
        "|---|---|---|---|",
    ]
    for tier in sorted({score["tier"] or "" for score in scores.values()}):
        members = [module for module, score in sorted(scores.items()) if (score["tier"] or "") == tier]
        lines.append(row(f"**{tier or 'others'}**", members, scores, left_out))
        counted = [module for module in members if scores[module]["public_wanted"]]
        lines += [row(f"`{module}`", [module], scores, left_out) for module in counted]
    return "\n".join([*lines, row("**all**", list(scores), scores, left_out)])


def row(name: str, modules: list[str], scores: dict[str, Any], left_out: Counter[str]) -> str:
    passed, wanted = (sum(scores[module][f"public_{key}"] for module in modules) for key in ("passed", "wanted"))
    return f"| {name} | {passed} | {wanted} | {sum(left_out[module] for module in modules)} |"


def reasons_table(failed: list[tuple[str, str]]) -> str:
    """What the tests that do not pass ask for, how many do, and why it is left out; last those without a reason."""
    reasons = explained(failed)
    number = Counter(reasons[failure] for failure in failed if failure in reasons)
    lines = ["| what tests that do not pass ask for | tests | why it is left out |", "|---|---:|---|"]
    lines += [f"| {c['title']} | {number[c['title']]} | {c['why']} |" for c in causes() if number[c["title"]]]
    open_ones = [f"`{module}`: `{test}`" for module, test in failed if (module, test) not in reasons]
    return "\n".join([*lines, f"| not yet: {', '.join(open_ones) or 'none'} | {len(open_ones)} | |"])


def written(page: str, report: dict[str, Any], baseline: dict[str, Any]) -> str:
    """The page with the tables of a report in place of those before."""
    head, found, rest = page.partition(BEGIN)
    if not found:
        raise SystemExit(f"{PAGE} has no {BEGIN}")
    failed = failures(report, baseline)
    tables = f"{reasons_table(failed)}\n\n{counts(report, failed)}"
    return f"{head}{BEGIN}\n{tables}\n{END}{rest.partition(END)[2]}"


def report_of(runner: Path) -> dict[str, Any]:
    """The report of a run now."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        here = str(PAGE.parent.parent)
        command = [sys.executable, str(runner / "run_warp_tests.py"), "--impl", "warpsim", "--path", here]
        subprocess.run([*command, "--json", str(report)], cwd=runner, check=True)
        return json.loads(report.read_text())


def main(runner: Path, report: Path | None = None) -> None:
    baseline = json.loads((runner / "baseline_warp_cpu.json").read_text())
    outcome = json.loads(report.read_text()) if report else report_of(runner)
    PAGE.write_text(written(PAGE.read_text(), outcome, baseline))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*map(Path, sys.argv[1:]))
