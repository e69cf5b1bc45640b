"""The counts of Warp's own tests in docs/warp.md: how reports become a table, and that the page has a place for it."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

REPORT = {
    "began": "2026-01-02T03:04:05+0000", "devices": "cpu",
    "about": {"version": "9.9", "python": "3.11.7", "numpy": "2.4.6"},
    "score": {
        "test_b": {"tier": "tier1", "passed": 9, "wanted": 9, "public_passed": 3, "public_wanted": 4},
        "test_a": {"tier": "tier1", "passed": 1, "wanted": 1, "public_passed": 1, "public_wanted": 2},
        "cuda.test_c": {"tier": "tier5", "passed": 5, "wanted": 5, "public_passed": 0, "public_wanted": 0},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def conformance():
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "docs/conformance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_tests_are_counted_by_part_and_module(conformance):
    lines = conformance.table(REPORT).splitlines()
    assert "2026-01-02" in lines[0]
    assert "warpsim 9.9" in lines[0]
    assert lines[4:] == [
        "| **tier1** | 4 | 6 |", "| `test_a` | 1 | 2 |", "| `test_b` | 3 | 4 |", "| **tier5** | 0 | 0 |",
        "| **all** | 4 | 6 |",
    ]  # fmt: skip


def test_the_page_keeps_all_but_the_counts(conformance, tmp_path):
    page = conformance.PAGE.read_text()
    once = conformance.written(page, REPORT)
    assert conformance.written(once, REPORT) == once
    assert once.partition(conformance.BEGIN)[0] == page.partition(conformance.BEGIN)[0]
    assert once.partition(conformance.END)[2] == page.partition(conformance.END)[2]
    file = tmp_path / "report.json"
    file.write_text(json.dumps(REPORT))
    assert conformance.report_of(file) == REPORT
    with pytest.raises(SystemExit, match="has no"):
        conformance.written("# Another page", REPORT)
