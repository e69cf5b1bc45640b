"""The sum of private copies: places of the copies, and bits of their sums in the order of the chunks."""

import ctypes

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool, private_copies, private_sums

pytestmark = pytest.mark.cpu(reason="private copies of CPU launches")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("numbers", [1, 7, 16, 17, 100, 4096, 70_001])
@pytest.mark.parametrize("copies", [1, 3, 63])
def test_copies_are_added_one_after_the_other(dtype, numbers, copies):
    rng = np.random.default_rng(numbers)
    target, parts = rng.normal(size=numbers).astype(dtype), rng.normal(size=(copies, numbers + 5)).astype(dtype)
    expected = target.copy()
    for part in parts:
        expected += part[:numbers]
    arguments = np.array([target.ctypes.data, parts.ctypes.data, parts.strides[0], copies], np.uint64)
    name = {np.float32: "ws_add_copies_f32", np.float64: "ws_add_copies_f64"}[dtype]
    command = private_copies._sum_command(name, arguments.ctypes.data, numbers)
    pool.get_pool().run(command, 1)
    assert np.array_equal(target, expected)


def test_a_chunk_finds_its_copy_cleared():
    seen = []

    @pool.KERNEL_PROTOTYPE
    def kernel(block, begin, end, flags):
        seen.append((ctypes.string_at(block, 8), begin or 0, end, memory[:40].any(), memory[40:].all()))

    block = np.frombuffer(b"argument", np.uint8)
    memory = np.ones(64, np.uint8)
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    arguments = np.array([address, block.ctypes.data, memory.ctypes.data, 40], np.uint64)
    entry = pool.get_pool().copy_addresses["ws_into_copy"]
    pool.get_pool().run(pool.COMMAND.pack(entry, arguments.ctypes.data, 0, 12, 0, 0), 1)
    assert seen == [(b"argument", 0, 12, False, True)]


def test_copies_do_not_share_cache_lines():
    targets = [np.zeros(5, np.float32), np.zeros((3, 40), np.float64), np.zeros(1, np.float16)]
    places, size = private_copies._places(targets)
    assert places == [0, 64, 64 + 960] and size == 64 + 960 + 64
    rows = private_copies._rows(3, size)
    assert rows.shape == (3, size) and rows.ctypes.data % 64 == 0


def test_a_strided_array_has_copies_with_its_strides():
    memory = np.zeros((6, 4), np.float32)[::2, 1]
    assert private_copies.span(memory) == 17
    assert private_copies._places([memory])[1] == 128


def test_copies_take_the_memory_of_those_before():
    private_copies._spare.memory.clear()
    addresses = set()
    for count, size in ((3, 6400), (2, 64), (1, 640), (3, 6400)):
        rows = private_copies._rows(count, size)
        addresses.add(rows.ctypes.data)
        rows[...] = 7
        private_copies._give_back(rows)
        assert len(private_copies._spare.memory) == 1
    assert len(addresses) == 1


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("places", [slice(None), slice(None, None, 2)])
@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_launches_have_the_bits_of_copies_summed_in_order(dtype, places, threads, monkeypatch):
    monkeypatch.setattr(private_sums, "LEAST_WORK", 0.0)
    kind = wp.dtype_to_numpy(dtype)
    rng = np.random.default_rng(5)
    n, bins = 40_000, 3_001
    at, value = rng.integers(0, bins, n).astype(np.int32), rng.normal(size=n).astype(kind)

    @wp.kernel
    def add(at: wp.array(dtype=int), value: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        wp.atomic_add(out, at[i], value[i])

    start = rng.normal(size=2 * bins).astype(kind)
    out = wp.array(start, dtype=dtype)
    before = pool.get_pool().threads
    wp.set_num_threads(threads)
    wp.launch(add, n, [at, value, out[places]])
    wp.set_num_threads(before)

    expected = start.copy()
    target = expected[places]
    copies = private_sums.copy_count(n, [out[places]])
    chunk = -(-n // copies)
    parts = [np.zeros(len(target), kind) for _ in range(copies)]
    parts[0] = target
    for k, part in enumerate(parts):
        np.add.at(part, at[k * chunk : (k + 1) * chunk], value[k * chunk : (k + 1) * chunk])
    for part in parts[1:]:
        target += part
    assert np.array_equal(out.numpy(), expected)
