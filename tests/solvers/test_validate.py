"""The machinery of validation: what passes, which cases are chosen, what the report keeps."""

import json
import math
import re
from pathlib import Path

import pytest

from warpsim import cli
from warpsim.solvers import validate
from warpsim.solvers.validate import FAST, FULL, Measurement, at_least, at_most, case, near

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cases(monkeypatch):
    """Three cases of two solvers in place of the real ones."""
    monkeypatch.setattr(validate, "_registered", {})
    monkeypatch.setattr(validate, "_CASES", "warpsim.solvers")  # its modules are no cases
    monkeypatch.setattr(validate.pkgutil, "iter_modules", lambda path: [])

    @case("A1", "springs", "a case that passes")
    def passing():
        """Compared with one."""
        yield near("one", 1.0, 1.0 + 1e-3, relative=0.01)

    @case("A2", "springs", "a long case", tier=FULL)
    def long():
        yield at_most("error", 0.1, 0.05)

    @case("B1", "grains", "a case that fails")
    def failing():
        yield near("one", 1.0, 1.0, absolute=0.1)
        yield at_least("count", 3, 2)

    return validate


def test_measurements_pass_inside_of_their_interval():
    assert near("", 2.0, 2.1, relative=0.1).passed and not near("", 2.0, 2.3, relative=0.1).passed
    assert near("", -2.0, -2.1, relative=0.1).passed
    assert at_most("", 1.0, 1.0).passed and not at_most("", 1.0, 1.1).passed
    assert at_least("", 1.0, 1.0).passed and not at_least("", 1.0, 0.9).passed
    assert not at_most("", 1.0, math.nan).passed and not at_least("", 1.0, math.nan).passed


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (near("", 2.0, 2.0, relative=0.1), "+- 0.2"),
        (at_most("", 0.5, 0.0), "<= 0.5"),
        (at_least("", 0.5, 1.0), ">= 0.5"),
        (Measurement("", 0.6, 0.6, 0.5, 1.0), "0.5 to 1"),
    ],
)
def test_tolerances_read_as_they_were_given(measurement, text):
    assert measurement.tolerance == text


def test_cases_are_chosen_by_name_solver_and_tier(cases):
    def names(*given, everything=False):
        return [c.name for c in cases.choose_cases(given, everything)]

    assert names() == ["A1", "B1"]
    assert names(everything=True) == ["A1", "A2", "B1"]
    assert names("springs") == ["A1"] and names("springs", everything=True) == ["A1", "A2"]
    assert names("A2") == ["A2"]
    with pytest.raises(validate.UnknownCaseError, match=r"no case is named 'C7'[\s\S]*springs, grains, A1, A2, B1"):
        names("C7")


def test_a_case_without_measurements_does_not_pass():
    assert not validate.Result("", "", "", FAST, "", 0.0).passed


def test_results_pass_when_all_their_numbers_do(cases):
    assert [result.passed for result in cases.run(everything=True)] == [True, True, False]


def test_the_report_keeps_what_did_not_run(cases, tmp_path):
    cases.write(cases.run(everything=True), tmp_path)
    kept = cases.write(cases.run(["A1"]), tmp_path)
    assert [r.name for r in kept] == ["A1", "A2", "B1"]
    assert cases.load(tmp_path / "validation.json") == kept
    text = (tmp_path / "validation.md").read_text()
    assert "| A1 | one | 1 | 1.001 | +- 0.01 | pass |" in text and "|  | count | 3 | 2 | >= 3 | **FAIL** |  |" in text
    assert re.search(r"\*\*A1\*\* a case that passes \(fast; \d{4}-\d\d-\d\d, .+\)\. Compared with one\.", text)


def test_the_report_opens_with_how_many_numbers_are_right(cases):
    opening = cases.page(cases.run(everything=True)).partition("`warpsim validate`")[0]
    assert "4 numbers that solvers computed in 3 cases are compared" in opening
    assert "Outside of the interval that is accepted: 1 (cases B1)." in opening
    assert "| springs | 2 | 2 | 0 | 0 s |\n| grains | 1 | 2 | 1 | 0 s |" in opening
    assert "All of them are inside of the interval that is accepted." in cases.summary(cases.run(["A1", "A2"]))


def test_the_page_of_the_site_is_that_of_its_results():
    results = validate.load(ROOT / "docs" / "validation.json")
    assert validate.page(results) == (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")


def test_cases_that_are_gone_leave_the_report(cases, tmp_path):
    cases.write(cases.run(["A1", "B1"]), tmp_path)
    del validate._registered["B1"]
    assert [r.name for r in cases.write(cases.run(["A1"]), tmp_path)] == ["A1"]


def test_the_command_prints_a_table_and_says_when_a_number_is_wrong(cases, tmp_path, capsys):
    assert cli.main(["validate", "A1", "--output", str(tmp_path)]) == 0
    assert "1 of 1 cases pass" in capsys.readouterr().out
    assert cli.main(["validate", "--all", "--output", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "2 of 3 cases pass" in out and "**FAIL**" in out and "B1: a case that fails" in err
    assert len(json.loads((tmp_path / "validation.json").read_text())) == 3
    assert cli.main(["validate", "Z"]) == 2
    assert "no case is named 'Z'" in capsys.readouterr().err


def test_nothing_is_written_unasked(cases, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "docs").glob("validation.*")}
    assert cli.main(["validate", "A1"]) == 0
    assert capsys.readouterr().out.endswith("1 of 1 cases pass\n") and list(tmp_path.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in before} == before and len(before) == 2


def test_the_folder_of_the_report_is_made(cases, tmp_path, capsys):
    assert cli.main(["validate", "A1", "--output", str(tmp_path / "new" / "report")]) == 0
    assert (tmp_path / "new" / "report" / "validation.json").is_file()
    (tmp_path / "file").touch()
    assert cli.main(["validate", "A1", "--output", str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err
