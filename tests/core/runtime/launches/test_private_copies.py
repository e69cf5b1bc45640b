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
    command = private_copies.sum_command(name, arguments.ctypes.data, numbers)
    pool.get_pool().run(command, 1)
    assert np.array_equal(target, expected)


def test_chunks_find_their_copies_cleared_and_their_arguments_pointing_there():
    block = np.arange(5, dtype=np.uint64) + 1000
    memory = np.ones((3, 64), np.uint8)
    seen = []

    @pool.KERNEL_PROTOTYPE
    def kernel(arguments, begin, end, flags):
        words = (ctypes.c_uint64 * len(block)).from_address(arguments)
        seen.append(([*words], begin or 0, end, memory.any(axis=1).tolist()))

    address = ctypes.cast(kernel, ctypes.c_void_p).value
    arrays = [4, 16, 1, 32]  # words and offsets
    numbers = [address, block.ctypes.data, block.nbytes, memory[1:].ctypes.data, 64, 5, 2, *arrays]
    arguments = np.array(numbers, np.uint64)
    entry = pool.get_pool().copy_addresses["ws_into_copy"]
    before = pool.get_pool().threads
    wp.set_num_threads(1)
    pool.get_pool().run(pool.COMMAND.pack(entry, arguments.ctypes.data, 0, 12, 5, 0), 1)
    wp.set_num_threads(before)
    first, second = (memory[k].ctypes.data for k in (1, 2))
    assert seen == [
        ([1000, 1001, 1002, 1003, 1004], 0, 5, [True, True, True]),
        ([1000, first + 32, 1002, 1003, first + 16], 5, 10, [True, False, True]),
        ([1000, second + 32, 1002, 1003, second + 16], 10, 12, [True, False, False]),
    ]


def test_copies_do_not_share_cache_lines():
    targets = [np.zeros(5, np.float32), np.zeros((3, 40), np.float64), np.zeros(1, np.float16)]
    offsets, size = private_copies.places(tuple(map(private_copies.layout, targets)))
    assert offsets == [0, 64, 64 + 960] and size == 64 + 960 + 64
    memory = private_copies.Memory(3 * size)
    rows = memory.rows(3, size)
    assert rows.shape == (3, size) and rows.ctypes.data == memory.first and memory.first % 64 == 0


def test_a_strided_array_has_copies_with_its_strides():
    layout = private_copies.layout(np.zeros((6, 4), np.float32)[::2, 1])
    assert private_copies.span(*layout) == 17
    assert private_copies.places((layout,))[1] == 128


def test_copies_take_the_memory_of_those_before():
    private_copies._spare.memory.clear()
    addresses = set()
    for size in (6400, 64, 0, 640, 6400):
        memory = private_copies._take(size)
        addresses.add(memory.first)
        private_copies._give_back(memory)
        assert private_copies._spare.memory == [memory]
    assert len(addresses) == 1
    private_copies._give_back(private_copies.Memory((1 << 25) + 1))
    assert private_copies._spare.memory == [memory]


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


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("threads", [1, 4])
def test_sums_in_loops_into_an_array_much_larger_than_the_launch(threads, deterministic):
    n = 60_000
    size = 5 * n
    rng = np.random.default_rng(3)
    at, value = rng.integers(0, 97, n).astype(np.int32), rng.integers(-8, 9, n).astype(np.float32)

    @wp.kernel
    def spread(at: wp.array(dtype=int), value: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        for k in range(at[i] % 5):
            wp.atomic_add(out, (11 * i + k * at[i]) % out.shape[0], value[i])

    out, expected = wp.zeros(size, dtype=float), np.zeros(size)
    before = pool.get_pool().threads
    wp.set_num_threads(threads)
    wp.launch(spread, n, [at, value, out], deterministic=deterministic)
    wp.set_num_threads(before)
    for k in range(4):
        some = np.flatnonzero(at % 5 > k)
        np.add.at(expected, (11 * some + k * at[some]) % size, value[some])
    assert np.array_equal(out.numpy(), expected)
