"""The benchmark of MPI ranks: ratios of the least times, for grids that stay or grow with the ranks."""

import pytest

from benchmarks import ranks


def test_the_table_has_the_ratios(monkeypatch, capsys):
    asked = []

    def seconds(count, size, steps):
        asked.append((count, size, steps))
        return size * size / count / 1000.0 + (len(asked) < 4)

    monkeypatch.setattr(ranks, "seconds", seconds)
    ranks.main(["--size", "20", "--steps", "3", "--rounds", "2", "--ranks", "1", "4"])
    assert asked == 2 * [(1, 20, 3), (4, 20, 3), (4, 40, 3)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| 1 | 20^2 | 0.40 s | 1.00 | 20^2 | 0.40 s | 1.00 |"
    assert lines[3] == "| 4 | 20^2 | 0.10 s | 4.00 | 40^2 | 0.40 s | 1.00 |"


def test_a_missing_mpi_is_named(monkeypatch):
    monkeypatch.setattr(ranks.shutil, "which", lambda *_, **__: None)
    with pytest.raises(RuntimeError, match="pip install mpi4py mpich"):
        ranks.seconds(1, 8, 2)
