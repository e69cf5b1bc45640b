"""The benchmark of reversed loops has a row for each kernel, size and number of cores."""

from benchmarks import loop_gradients


def test_the_table_has_a_row_for_each_loop(capsys):
    loop_gradients.main(["--sizes", "3", "20", "--threads", "1", "--rounds", "1"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert len(rows) == 2 * len(loop_gradients.LOOPS)
    assert all(float(row.split()[-1]) > 0.0 for row in rows)
