"""Arrays in memory of RAPIDS' memory manager, for which a module with its two names stands in here."""

import gc
import sys
import types

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import MissingPackageError

pytestmark = pytest.mark.cpu(reason="the stand-in gives memory of the host")


class DeviceBuffer:
    """Its constructor by keyword, its address, and the stream that the memory is ready on."""

    live = 0

    def __init__(self, *, size):
        memory = np.full(size + 64, 0xEE, np.uint8)
        self.memory, self.ptr, self.ready = memory, -(-memory.ctypes.data // 64) * 64, False
        self.stream = types.SimpleNamespace(synchronize=lambda: setattr(self, "ready", True))
        DeviceBuffer.live += 1

    def __del__(self):
        DeviceBuffer.live -= 1


@pytest.fixture
def rmm(monkeypatch):
    module = types.ModuleType("rmm")
    module.DeviceBuffer = DeviceBuffer
    monkeypatch.setitem(sys.modules, "rmm", module)


def test_arrays_lie_in_buffers_of_the_manager(rmm):
    allocator = wp.utils.AllocatorRmm()
    assert isinstance(allocator, wp.Allocator)
    with wp.ScopedAllocator("cpu", allocator):
        x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
        y = wp.zeros((2, 2), dtype=wp.vec3, device="cpu")
    assert DeviceBuffer.live == 2 and all(buffer.ready for buffer in allocator._buffers.values())
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0, 3.0])
    assert not y.numpy().any()
    view = x[1:]
    del x, y
    gc.collect()
    assert DeviceBuffer.live == 1 and view.list() == [2.0, 3.0]
    del view
    gc.collect()
    assert DeviceBuffer.live == 0 and not allocator._buffers


def test_memory_that_the_manager_never_gave(rmm):
    with pytest.raises(KeyError):
        wp.utils.AllocatorRmm().deallocate(64, 8)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rmm", None)
    with pytest.raises(MissingPackageError, match="pip install rmm-cu13") as caught:
        wp.utils.AllocatorRmm()
    assert isinstance(caught.value, ImportError)
