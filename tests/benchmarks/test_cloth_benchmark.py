"""The benchmark of cloth: sides take turns, the plain loop projects as the solver does, tables are chosen by name."""

import numpy as np
import pytest

from benchmarks import cloth


def test_sides_take_turns_and_the_least_counts():
    calls = []
    best = cloth.timed({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert "".join(calls) == "ababab" and 0.0 <= min(best.values())


def test_projections_are_timed_for_a_small_cloth():
    rows = cloth.projections(6)
    assert rows[0][1] == "warpsim" and rows[0][2].endswith("M/s")


def test_the_plain_loop_solves_a_spring():
    project = cloth.plain_loop()
    if project is None:
        pytest.skip("numba is not installed")
    x = np.array([[0.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 3.0]], dtype=np.float32)
    project(x, np.array([[0, 1]]), np.ones(1, np.float32), np.zeros(1, np.float32))
    np.testing.assert_allclose(x[:, 0], [0.25, 1.25], rtol=1e-6)


def test_tables_without_a_name_are_refused():
    with pytest.raises(SystemExit, match="no table is named speed"):
        cloth.main(["speed"])
