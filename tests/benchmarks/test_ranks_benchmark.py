"""The benchmark of MPI ranks: ratios of the least times, for sizes that stay or grow with the ranks."""

import pytest

from benchmarks import ranks


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What is measured, which takes seconds by its size and one more at first; the page is a copy."""
    calls = []

    def seconds(example, count, size, steps):
        calls.append((example, count, size))
        return size / count / 10.0 + (len(calls) < 4)

    page = tmp_path / "page.md"
    page.write_text(f"before\n{ranks.BEGIN}\nold\n{ranks.END}\nafter\n")
    monkeypatch.setattr(ranks, "PAGE", page)
    monkeypatch.setattr(ranks, "ROOT", tmp_path)
    monkeypatch.setattr(ranks, "seconds", seconds)
    return calls


def test_the_tables_have_the_ratios(asked, capsys):
    ranks.main(["--rounds", "2", "--ranks", "1", "4", "--write"])
    assert asked[:6] == 2 * [("wave_mpi", 1, 1024), ("wave_mpi", 4, 1024), ("wave_mpi", 4, 2048)]
    assert asked[6:] == 2 * [("grains_mpi", 1, 256), ("grains_mpi", 4, 256), ("grains_mpi", 4, 1024)]
    told = capsys.readouterr().out
    assert "| 4 | 1024 | 25.60 s | 4.00 | 2048 | 51.20 s | 2.00 |" in told
    assert "| 4 | 256 | 6.40 s | 4.00 | 1024 | 25.60 s | 1.00 |" in told
    assert ranks.PAGE.read_text() == f"before\n{ranks.BEGIN}\n{told}{ranks.END}\nafter\n"


def test_the_page_has_a_place_for_the_tables():
    assert ranks.PAGE.read_text(encoding="utf-8").partition(ranks.BEGIN)[2].count(ranks.END) == 1


def test_a_missing_mpi_is_named(monkeypatch):
    monkeypatch.setattr(ranks.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit, match="pip install mpi4py mpich"):
        ranks.main([])


def test_what_a_failed_run_says_is_passed_on(monkeypatch, tmp_path):
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text("#!/bin/sh\necho nothing like MPI here >&2\nexit 1\n")
    mpiexec.chmod(0o755)
    monkeypatch.setattr(ranks.shutil, "which", lambda *_, **__: str(mpiexec))
    with pytest.raises(SystemExit, match=r"mpiexec -n 1 .*wave_mpi.py .* failed\nnothing like MPI here$"):
        ranks.main([])
