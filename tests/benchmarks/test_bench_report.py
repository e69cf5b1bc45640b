"""The document and the table: statistics, ratios, goals, reasons, and their formatting."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import document, table
from benchmarks.__main__ import main
from benchmarks.check import difference, digest
from benchmarks.measure import Outcome
from benchmarks.rows import CUDA_ROWS, PROBES, ROWS, Goal, Row, select

MACHINE = {"date": "2026-01-01 00:00 UTC", "processor": "Some CPU", "cores": 2, "memory_gib": 8,
           "system": "Linux 6", "python": "3.11.7", "busy": 0.1}
FACTS = {"version": "1.0", "threads": 2, "note": ""}


def made(statistic="median", **options):
    rows = [
        Row("saxpy", "saxpy {n}", "saxpy", goals=(Goal(ratio=2.0), Goal(seconds=1.0))),
        Row("springs_deterministic", "exact", "springs_deterministic", goals=(Goal(cost=1.5),),
            relative_to="default"),
    ]
    outcomes = {
        "saxpy": {
            "warpsim": Outcome(samples={"time": [0.010, 0.030, 0.011]}),
            "warp": Outcome(samples={"time": [0.033, 0.022, 0.021]}),
            "taichi": Outcome("failed", "RuntimeError: no such luck"),
            "numba": Outcome("wrong", "differs from NumPy: y"),
        },
        "springs_deterministic": {
            "warpsim": Outcome(samples={"time": [3.0e-3] * 3, "default": [1.5e-3] * 3}),
        },
    }
    return document.build(
        rows, outcomes, machine={**MACHINE, **options}, absent={"other": "not installed"},
        frameworks=dict.fromkeys(("warpsim", "warp", "taichi", "numba"), FACTS),
        options={"quick": False, "statistic": statistic},
    )


def test_times_ratios_and_goals():
    first, second = made()["rows"]
    assert first["results"]["warpsim"]["time"] == 0.011
    assert first["ratios"] == {"warp": pytest.approx(2.0)}
    assert [goal["met"] for goal in first["goals"]] == [True, True]
    assert second["results"]["warpsim"]["cost"] == pytest.approx(2.0)
    assert second["goals"] == [{"text": "cost <= 1.5 x", "met": False}]
    assert made("min")["rows"][0]["ratios"]["warp"] == pytest.approx(2.1)


def test_a_goal_without_a_number_is_not_judged():
    row = {"results": {"warpsim": {"status": "failed"}}, "ratios": {}}
    for goal in (Goal(seconds=1.0), Goal(ratio=2.0), Goal(cost=1.5)):
        assert document.goal_met(goal, row) is None


def test_the_document_survives_json(tmp_path):
    document.save(made(), tmp_path / "bench.json")
    loaded = json.loads((tmp_path / "bench.json").read_text())
    assert loaded == made()
    assert set(loaded) == {"schema", "machine", "options", "frameworks", "absent", "rows"}
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


def test_the_table_explains_every_cell_without_a_number():
    shown = table.text(made())
    line = next(line for line in shown.splitlines() if line.startswith("saxpy 20 M"))
    assert line.split("  ")[-1].strip() == ">= 2 x warp met, <= 1.00 s met"
    assert "11.0 ms" in line and "22.0 ms" in line and "2.00" in line
    assert "FAILED [1]" in line and "WRONG [2]" in line
    assert "[1] taichi: RuntimeError: no such luck" in shown
    assert "3.00 ms (2.00 x)" in shown and "cost <= 1.5 x MISSED" in shown
    assert "other: left out, not installed" in shown
    assert "Medians of single timings" in shown
    assert "Best of single timings" in table.text(made("min"))


def test_a_busy_machine_is_named():
    assert "uncertain" not in table.text(made())
    assert "Other programs kept 1.9 cores busy" in table.text(made(busy=1.9))
    assert "uncertain" not in table.text(made(busy="unknown"))


def test_markdown_rows_have_equal_columns():
    lines = [line for line in table.markdown(made()).splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1


def test_without_warpsim_there_are_no_ratios_to_show():
    found = made()
    for row in found["rows"]:
        row["results"].pop("warpsim")
        row["ratios"] = {}
    found["frameworks"].pop("warpsim")
    assert "warp / warpsim" not in table.text(found)


@pytest.mark.parametrize(("seconds", "shown"), [
    (2.0, "2.00 s"), (0.99951, "1.00 s"), (0.0123, "12.3 ms"), (2.5e-6, "2.50 us"),
    (9.996e-4, "1.00 ms"), (1.234e-7, "123 ns"), (123.4, "123 s"), (3.0e-6, "3.00 us"),
])
def test_durations_have_three_digits(seconds, shown):
    assert document.duration(seconds) == shown


def test_growth_is_the_exponent_between_the_largest_counts():
    rows = [{"size": {"ops": ops}, "results": {"warp": {"time": ops**1.5}, "numba": {}}}
            for ops in (5000, 100, 1000)]
    assert document.growth(rows) == {"warp": pytest.approx(1.5)}


RIGHT = {"y": np.linspace(1.0, 2.0, 64)}


def changed(position, by):
    values = RIGHT["y"].copy()
    values[position] += by
    return {"y": values}


def test_digests_differ_where_values_do():
    right = digest(RIGHT)
    assert difference(right, right, 0.0) == ""
    close = {"y": RIGHT["y"] * (1.0 + 1.0e-7)}
    assert difference(digest(close), right, 1.0e-6) == ""
    assert "samples[3]" in difference(digest(changed(3, 5.0e-5)), right, 1.0e-6)
    assert "means[0] is nan" in difference(digest(changed(50, float("nan"))), right, 1.0e-6)
    assert "outputs ['x']" in difference(digest({"x": RIGHT["y"]}), right, 1.0)
    shorter = {"y": RIGHT["y"][:-1]}
    assert "shape (63,) where (64,)" in difference(digest(shorter), right, 1.0)


def test_every_row_has_a_probe_and_a_distinct_name():
    assert all(row.probe in PROBES for row in ROWS)
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert set(PROBES) == {row.probe for row in (*ROWS, *CUDA_ROWS)}


def test_rows_are_chosen_by_pattern():
    assert [row.name for row in select(["launch_*", "saxpy"])] == ["launch_3", "launch_6", "saxpy"]
    assert select([]) == list(ROWS)
    with pytest.raises(ValueError, match="no row is named 'saxpie'; expected one of import"):
        select(["saxpie"])


def test_headings_show_the_size_that_was_run():
    springs = next(row for row in ROWS if row.name == "springs")
    assert springs.heading(PROBES["springs"].full) == "springs, scattered atomics 1.01 M"
    assert replace(springs, title="{side}").heading({"side": 2048}) == "2048"


@pytest.mark.parametrize(("arguments", "message"), [
    (["--rows", "nope"], "no row is named 'nope'"),
    (["--frameworks", "jax"], "unknown framework 'jax'"),
    (["--python", "warp"], "expected NAME=PATH"),
    (["--python", "jax=/usr/bin/python3"], "unknown framework 'jax'"),
])
def test_a_wrong_command_line_says_what_was_expected(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_the_list_names_every_row(capsys):
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert all(row.name in shown for row in ROWS)
