"""How many of Warp's own tests pass, in docs/warp.md: how reports become tables, and what is left out with a reason."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUNNER = ROOT.parent / "shared/conformance"

BASELINE = {
    "modules": {
        "test_a": {
            "tests": {"A.one": {"outcome": "passed", "public": True}, "A.two": {"outcome": "passed", "public": True}}
        },
        "test_b": {
            "tests": {
                "B.three": {"outcome": "passed", "public": True},
                "B.four": {"outcome": "passed", "public": False},
                "B.five": {"outcome": "failed", "public": True},
                "B.six": {"outcome": "passed", "public": True},
            }
        },
    }
}
REPORT = {
    "began": "2026-01-02T03:04:05+0000",
    "devices": "cpu",
    "about": {"version": "9.9", "python": "3.11.7", "numpy": "2.4.6"},
    "modules": {
        "test_a": {"tests": {"A.one": {"outcome": "failed"}, "A.two": {"outcome": "passed"}}},
        "test_b": {
            "tests": {
                "B.three": {"outcome": "error"},
                "B.four": {"outcome": "failed"},
                "B.five": {"outcome": "failed"},
                "B.unknown": {"outcome": "failed"},
            }
        },
    },
    "score": {
        "test_b": {"tier": "tier1", "passed": 9, "wanted": 9, "public_passed": 3, "public_wanted": 4},
        "test_a": {"tier": "tier1", "passed": 1, "wanted": 1, "public_passed": 1, "public_wanted": 2},
        "cuda.test_c": {"tier": "tier5", "passed": 5, "wanted": 5, "public_passed": 0, "public_wanted": 0},
    },
}
CAUSES = """
[[cause]]
title = "other words"
why = "ours say what to do"
[cause.tests]
test_a = "one two"

[[cause]]
title = "nothing that fails"
why = "no row"
[cause.tests]
test_b = "seven"
"""


@pytest.fixture
def conformance(tmp_path):
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "docs/conformance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.LEFT_OUT = tmp_path / "left_out.toml"
    module.LEFT_OUT.write_text(CAUSES)
    return module


def test_failures_are_public_tests_that_pass_under_warp(conformance):
    assert conformance.failures(REPORT, BASELINE) == [("test_a", "one"), ("test_b", "three"), ("test_b", "six")]


def test_public_tests_are_counted_by_part_and_module(conformance):
    lines = conformance.counts(REPORT, conformance.failures(REPORT, BASELINE)).splitlines()
    assert "2026-01-02" in lines[0]
    assert "warpsim 9.9" in lines[0]
    assert lines[4:] == [
        "| **tier1** | 4 | 6 | 1 |",
        "| `test_a` | 1 | 2 | 1 |",
        "| `test_b` | 3 | 4 | 0 |",
        "| **tier5** | 0 | 0 | 0 |",
        "| **all** | 4 | 6 | 1 |",
    ]


def test_failures_have_their_reason_or_are_named(conformance):
    lines = conformance.reasons_table(conformance.failures(REPORT, BASELINE)).splitlines()
    unexplained = "| not yet: `test_b`: `three`, `test_b`: `six` | 2 | |"
    assert lines[2:] == ["| other words | 1 | ours say what to do |", unexplained]
    assert conformance.reasons_table([]).splitlines()[2:] == ["| not yet: none | 0 | |"]


def test_the_page_keeps_all_but_the_tables(conformance, tmp_path):
    page = conformance.PAGE.read_text()
    once = conformance.written(page, REPORT, BASELINE)
    assert conformance.written(once, REPORT, BASELINE) == once
    assert once.partition(conformance.BEGIN)[0] == page.partition(conformance.BEGIN)[0]
    assert once.partition(conformance.END)[2] == page.partition(conformance.END)[2]
    with pytest.raises(SystemExit, match="has no"):
        conformance.written("# Another page", REPORT, BASELINE)


def test_the_command_writes_the_page_of_a_report(conformance, tmp_path):
    conformance.PAGE = tmp_path / "page.md"
    conformance.PAGE.write_text(f"before\n{conformance.BEGIN}\nold\n{conformance.END}\nafter\n")
    (tmp_path / "baseline_warp_cpu.json").write_text(json.dumps(BASELINE))
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    conformance.main(tmp_path, tmp_path / "report.json")
    page = conformance.PAGE.read_text()
    assert page.startswith("before\n") and page.endswith("after\n") and "old" not in page and "other words" in page


@pytest.mark.skipif(not RUNNER.is_dir(), reason="the conformance runner is not beside the project")
def test_each_test_that_is_left_out_exists_and_has_one_reason(conformance):
    conformance.LEFT_OUT = ROOT / "docs/left_out.toml"
    baseline = json.loads((RUNNER / "baseline_warp_cpu.json").read_text())["modules"]
    left_out = [(m, t) for cause in conformance.causes() for m, tests in cause["tests"].items() for t in tests.split()]
    assert len(left_out) == len(set(left_out)) > 100
    known = {(m, t.rpartition(".")[2]) for m, about in baseline.items() for t in about["tests"]}
    assert not set(left_out) - known
