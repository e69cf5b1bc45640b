"""Short launches that scatter sums: one chunk of plain sums, however they are launched."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool

pytestmark = pytest.mark.cpu(reason="chunks of CPU launches")


@pytest.fixture(params=[1, 4])
def threads(request):
    before = pool.get_pool().threads
    wp.set_num_threads(request.param)
    yield request.param
    wp.set_num_threads(before)


@pytest.fixture
def chunks(monkeypatch):
    """How many chunks the commands had that the pool was given."""
    seen = []
    run = pool.Pool.run

    def spy(self, commands, count):
        packed = commands if isinstance(commands, bytes) else b""
        seen.extend(-(-n // size) for _, _, _, n, size, _ in pool.COMMAND.iter_unpack(packed))
        run(self, commands, count)

    monkeypatch.setattr(pool.Pool, "run", spy)
    return seen


def test_short_sums_are_one_chunk_however_they_are_launched(chunks, threads):
    """On any number of threads, recorded and in graphs: the order of the sums is that of the threads."""

    @wp.kernel
    def add(at: wp.array(dtype=int), value: wp.array(dtype=float), bins: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(bins, at[i], wp.sqrt(value[i]))

    n = 10_000
    at_host = np.random.default_rng(1).integers(0, 97, n).astype(np.int32)
    value = np.random.default_rng(2).random(n, dtype=np.float32)
    expected = np.zeros(97, np.float32)
    np.add.at(expected, at_host, np.sqrt(value))
    at, values = wp.array(at_host, dtype=int), wp.array(value, dtype=float)
    found = [wp.zeros(97, dtype=float) for _ in range(3)]
    wp.launch(add, n, [at, values, found[0]])
    assert chunks == []
    wp.launch(add, n, [at, values, found[1]], record_cmd=True).launch()
    with wp.ScopedCapture() as capture:
        wp.launch(add, n, [at, values, found[2]])
    wp.capture_launch(capture.graph)
    assert set(chunks) <= {1}
    assert all(np.array_equal(bins.numpy(), expected) for bins in found)
