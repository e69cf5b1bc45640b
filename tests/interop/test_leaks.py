"""Conversions through DLPack and NumPy share memory and leave nothing behind; torch and JAX are in their own tests."""

import gc
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp

pytestmark = pytest.mark.cpu


def through_dlpack(x, a):
    return wp.from_dlpack(x).ptr, np.from_dlpack(a).ctypes.data


def through_capsules(x, a):
    return wp.from_dlpack(x.__dlpack__()).ptr, wp.from_dlpack(wp.to_dlpack(a)).ptr


def through_numpy(x, a):
    return wp.array(x, copy=False).ptr, a.numpy().ctypes.data


def through_the_array_interface(x, a):
    return wp.from_numpy(x).dtype and x.ctypes.data, np.asarray(a).ctypes.data


def through_torch(x, a):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return wp.from_dlpack(torch.from_dlpack(x)).ptr, torch.from_dlpack(a).data_ptr()


@pytest.mark.slow
@pytest.mark.parametrize("convert", [
    through_dlpack, through_capsules, through_numpy, through_the_array_interface, through_torch,
])  # fmt: skip
def test_a_hundred_thousand_conversions_take_no_memory(convert):
    x, a = np.zeros(4096, np.float32), wp.zeros(4096, dtype=float)
    assert convert(x, a) == (x.ctypes.data, a.ptr)

    def resident(times):
        for _ in range(times):
            convert(x, a)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident(5000)
    assert resident(100_000) - before < 500  # pages; a leak of one object each would be 1,500 or more
