"""A sample of the tests is the same in every run, and parts of it are even."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import samples
from pytest_run import run_pytest

SOME = Path(__file__).parent / "core" / "lib" / "test_special.py"


def test_samples_have_about_their_share_and_no_name_changes_side():
    names = [f"tests/test_{k}.py::test_it[{k}]" for k in range(3000)]
    chosen = [name for name in names if samples.belongs(name, 3)]
    assert 900 < len(chosen) < 1100
    assert chosen == [name for name in names if samples.belongs(name, 3)]
    assert all(samples.belongs(name, 1) for name in names)


def test_one_test_in_n_runs_and_the_others_are_told_as_deselected():
    def collected(one_in):
        said = run_pytest("--co", "--one-in", one_in, SOME).stdout
        return {line for line in said.splitlines() if "::" in line}, said

    everything, _ = collected(1)
    sample, said = collected(3)
    assert sample == {name for name in everything if samples.belongs(name, 3)}
    assert 0 < len(sample) < len(everything)
    assert f"{len(everything) - len(sample)} deselected" in said


def cases(test, count):
    return [SimpleNamespace(nodeid=f"{test}[{k}]", get_closest_marker=lambda _: None) for k in range(count)]


@pytest.mark.parametrize("folder", ["tests/", ""])
def test_by_day_slow_tests_run_a_few_cases_and_quick_ones_all(folder):
    few, quick = cases(f"{folder}geometry/test_a.py::test_it", samples.ALL), cases(f"{folder}test_b.py::test_it", 90)
    many = cases(f"{folder}geometry/test_a.py::test_other", 42)
    marked = cases(f"{folder}geometry/test_c.py::test_it", 42)
    for item in marked:
        item.get_closest_marker = {"every_case": "a mark"}.get
    resting = samples.resting_by_day([*few, *quick, *marked, *many])
    assert {id(item) for item in resting} <= {id(item) for item in many}
    assert len(many) - len(resting) == samples.FIRST + (42 - samples.FIRST) // samples.ONE_IN
    assert [item.nodeid for item in resting] == [item.nodeid for item in samples.resting_by_day(many[::-1])]


def test_who_asks_for_certain_tests_gets_every_case():
    said = run_pytest("--co", SOME).stdout
    assert "tests collected" in said and "deselected" not in said
