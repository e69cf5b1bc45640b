"""The benchmark of operators: every table has its sides, and both sides of the aggregation agree."""

import pytest

from benchmarks import interop

pytestmark = pytest.mark.cpu(reason="PyTorch and JAX on the CPU")


@pytest.mark.parametrize("table, framework", [("torch", "torch"), ("jax", "jax"), ("radius", "torch")])
def test_tables(table, framework, monkeypatch):
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    for name, count in (("CALLS", 2), ("QUERIES", 40), ("POINTS", 300)):
        monkeypatch.setattr(interop, name, count)
    rows = interop.TABLES[table](1)
    assert len(rows) in (2, 4) and all(len(row) == 4 and float(row[3]) >= 0.0 for row in rows)


def test_tables_without_a_name_are_refused():
    with pytest.raises(SystemExit, match="no table is named speed"):
        interop.main(["speed"])
