"""The benchmark of fused launches compares the same work, and has a row for each size."""

import pytest

from benchmarks import fused

pytestmark = pytest.mark.cpu(reason="graphs of the CPU are fused")


def test_both_ways_do_the_same_work():
    single, together = fused.chain(700), fused.chain(700)
    assert together.report().fused == 5
    assert fused.apart(single).count == 5
    fused.apart(single)()
    together.launch()
    numbers = [graph.steps[0].call.args[1].numpy().tolist() for graph in (single, together)]
    assert numbers[0] == numbers[1] != fused.chain(700).steps[0].call.args[1].numpy().tolist()


def test_the_table_has_a_row_for_each_size(capsys):
    fused.main((100, 1500), repeats=1)
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[2:]] == ["| 100", "| 1,500"]
