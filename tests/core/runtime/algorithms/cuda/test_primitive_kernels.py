"""Every kernel behind `wp.utils` on CUDA, made for dtypes that it is launched with, and assembled like all others.

No device is needed: what a test makes is assembled for CUDA (see tests/cuda_assembly).
"""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.algorithms.cuda import kernels as kernels
from warpsim.core.runtime.launches.kernel import Kernel
from warpsim.core.types.arrays import array_type

NUMBERS = (wp.int8, wp.uint16, wp.int32, wp.uint64, wp.float16, wp.float32, wp.float64)
UNSIGNED = (wp.uint32, wp.uint64)


def wide(t):
    return wp.float64 if np.dtype(t).kind == "f" else t


def line(t):
    return array_type(t, 1)


def sums(t):
    x, out, n = line(t), line(wide(t)), wp.int32
    return {
        "partial_sums": (x, n, n, n, n, out),
        "partial_products": (x, x, n, n, n, n, n, out),
        "chunk_sums": (x, n, n, n, out),
        "chunk_scan": (x, out, n, n, n, n, x),
        "run_starts": (x, n, line(n)),
        "write_runs": (x, line(n), line(n), n, x, line(n), line(n)),
        "cast": (x, line(wp.float32)),
        "spread": (x, n, n, n, x),
        "gather": (x, line(wp.uint32), x),
        "largest_parts": (x, n, n, line(wp.float64)),
        "add": (x, x),
        "spread_product": (x, x, n, n, n, n, x),
    }


def sorts(t):
    x, n = line(t), wp.int32
    return {
        "order_bits": (x, n, t, x),
        "key_bits": (x, n, t, x),
        "count_digits": (x, n, t, t, n, line(n)),
        "place_digits": (x, line(wp.uint32), n, t, t, n, line(n), x, line(wp.uint32)),
        "count_up": (x,),
        "segment_groups": (line(n), line(n), x, x, line(wp.uint32)),
    }


@pytest.mark.parametrize("t", NUMBERS)
def test_sums_and_runs(t):
    for name, types in sums(t).items():
        assert getattr(kernels, name).program(types).fn.params


@pytest.mark.parametrize("t", UNSIGNED)
def test_sorts(t):
    for name, types in sorts(t).items():
        assert getattr(kernels, name).program(types).fn.params


def test_nothing_is_left_out():
    made = {name for name, k in vars(kernels).items() if isinstance(k, Kernel)}
    assert made == {*sums(wp.int32), *sorts(wp.uint32), "place_runs"}
    assert kernels.place_runs.program((line(wp.int32), line(wp.int32))).fn.params


def test_the_last_chunk_may_be_short():
    n = 3 * kernels.CHUNK + 1
    x, out = wp.ones(n, dtype=int, device="cpu"), wp.zeros(4, dtype=int, device="cpu")
    wp.launch(kernels.chunk_sums, 4, [x, n, 1, 0, out], device="cpu")
    assert out.numpy().tolist() == [kernels.CHUNK] * 3 + [1]
    counts = wp.zeros(2 * kernels.DIGITS, dtype=int, device="cpu")
    keys = wp.array(np.full(kernels.RADIX_CHUNK + 1, kernels.DIGITS - 1, np.uint32), device="cpu")
    wp.launch(kernels.count_digits, 2, [keys, keys.size, np.uint32(0), np.uint32(15), 2, counts], device="cpu")
    assert counts.numpy()[-2:].tolist() == [kernels.RADIX_CHUNK, 1]
