"""Lists of entries: sorted whatever their order, patterns with each column once."""

import numpy as np
import pytest
from random_blocks import DEVICES

import warpsim as wp
from warpsim.sparse.lists import column_of, lists_of_places, pattern_of, source_of


@wp.kernel
def parts(entries: wp.array(dtype=wp.int64), columns: wp.array(dtype=int), sources: wp.array(dtype=int)):
    k = wp.tid()
    columns[k] = column_of(entries[k])
    sources[k] = source_of(entries[k])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [0, 1, 24, 25, 300])
@pytest.mark.parametrize("order", ["random", "falling", "rising", "equal"])
def test_entries_are_sorted_by_row_column_and_number(count, order, device):
    rng = np.random.default_rng(count)
    columns = {
        "random": rng.integers(-1, 40, count), "falling": np.arange(count)[::-1], "rising": np.arange(count),
        "equal": np.full(count, 3),
    }[order].astype(np.int32)  # fmt: skip
    rows = rng.integers(0, 3, count).astype(np.int32)
    lists = lists_of_places(4, wp.array(rows, device=device), wp.array(columns, device=device))
    counted = np.flatnonzero(columns >= 0)
    expected = counted[np.lexsort((counted, columns[counted], rows[counted]))]
    total = counted.size
    out = [wp.zeros(total, dtype=int, device=device) for _ in range(2)]
    wp.launch(parts, total, [lists.entries, *out], device=device)
    assert out[0].numpy().tolist() == columns[expected].tolist()
    assert out[1].numpy().tolist() == expected.tolist()
    assert lists.offsets.numpy().tolist() == np.searchsorted(rows[expected], np.arange(5)).tolist()
    pattern = pattern_of(lists)
    places = sorted({(int(rows[t]), int(columns[t])) for t in counted})
    assert pattern.columns.numpy().tolist() == [column for _, column in places]
    assert np.diff(pattern.starts.numpy()).sum() == total and pattern.starts.numpy()[0] == 0
