"""The table by size: a cell for every workload and size, and what its ratios mean."""

import pytest

from benchmarks import sizes

pytestmark = pytest.mark.cpu(reason="times of CPU launches")


def test_table_has_a_cell_for_every_workload_and_size(monkeypatch, capsys):
    monkeypatch.setitem(sizes.MODULES, "missing", "no_such_framework")
    assert sizes.main(["--sizes", "30,60", "--seconds", "0.001", "--frameworks", "warpsim,missing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "missing is left out: No module named 'no_such_framework'"
    assert lines[1].split() == ["30", "60"]
    assert [line[:24].strip() for line in lines[2:]] == list(sizes.WORKLOADS)
    assert all(line.count(" us") == 2 for line in lines[2:])


def test_ratio_is_of_the_others_to_the_first(monkeypatch, capsys):
    monkeypatch.setattr(sizes, "measure", lambda runs, seconds: [2e-6, 3e-6][: len(runs)])
    monkeypatch.setattr(sizes, "WORKLOADS", {"nothing": lambda wp, n: None})
    monkeypatch.setitem(sizes.MODULES, "another", "warpsim")
    sizes.main(["--sizes", "30", "--frameworks", "warpsim,another"])
    assert capsys.readouterr().out.splitlines()[-1].split() == ["nothing", "2.0", "us", "(1.50)"]
