"""What arrays on CUDA devices give away: the array interface, and DLPack capsules that hold memory and let go once."""

import ctypes
import gc
import struct
import sys
import threading

import numpy as np
import pytest
from foreign_arrays import GPU, ByInterface, on_gpu

import warpsim as wp
from warpsim.core.runtime.devices.cuda import dlpack
from warpsim.errors import ArrayError

pytestmark = GPU


def test_the_interface_of_arrays():
    x = on_gpu(np.arange(12.0).reshape(2, 2, 3), wp.vec3)
    found = x.__cuda_array_interface__
    assert found == {
        "shape": (2, 2, 3),
        "typestr": "<f4",
        "data": (x.ptr, False),
        "strides": None,
        "version": 3,
        "stream": wp.get_stream("cuda:0").cuda_stream,
    }
    assert x[:, 0].__cuda_array_interface__["strides"] == (24, 4)
    assert not hasattr(wp.zeros(1, device="cpu"), "__cuda_array_interface__")
    assert not hasattr(x, "__array_interface__")


@wp.struct
class Particle:
    mass: float
    cell: int


def test_structs_have_no_protocol():
    a = wp.zeros(2, dtype=Particle, device="cuda:0")
    assert not hasattr(a, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="have no form in DLPack"):
        a.__dlpack__()


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float64, wp.int8, wp.int64, wp.bool, wp.mat22])
def test_capsules_there_and_back(versioned, dtype):
    x = wp.zeros((2, 3), dtype=dtype, device="cuda:0")
    x.fill_(1)
    assert x.__dlpack_device__() == (2, 0)
    capsule = x.__dlpack__(max_version=(1, 2) if versioned else None)
    assert ("versioned" in repr(capsule)) is versioned
    again = wp.from_dlpack(capsule, dtype=dtype)
    assert (again.ptr, again.shape, again.device) == (x.ptr, x.shape, "cuda:0")
    np.testing.assert_array_equal(again.numpy(), x.numpy())
    with pytest.raises(ArrayError, match="that nobody has taken yet"):
        wp.from_dlpack(capsule)


def test_what_a_capsule_says():
    x = on_gpu(np.arange(12.0).reshape(3, 4))[:, 1:3]
    kept = x.__dlpack__(max_version=(1, 0))
    block = dlpack._pointer(kept, ctypes.addressof(dlpack._VERSIONED))
    major, minor, _, deleter, flags = struct.unpack("<IIQQQ", ctypes.string_at(block, 32))
    assert (major, minor, flags) == (1, 0, 0) and deleter
    data, kind, number, rank, code, bits, lanes, shape, strides, offset = struct.unpack(
        "<QiiiBBHQQQ", ctypes.string_at(block + 32, 48)
    )
    assert (data + offset, kind, number, rank, code, bits, lanes) == (x.ptr, 2, 0, 2, 2, 32, 1)
    assert struct.unpack("<2q", ctypes.string_at(shape, 16)) == (3, 2)
    assert struct.unpack("<2q", ctypes.string_at(strides, 16)) == (4, 1)


def test_copies_on_request():
    x = on_gpu([1.0, 2.0, 3.0])
    on_host = np.from_dlpack(x, device="cpu")
    assert on_host.tolist() == [1.0, 2.0, 3.0]
    on_host[0] = 9.0
    copied = wp.from_dlpack(x.__dlpack__(copy=True, max_version=(1, 0)))
    copied.fill_(7.0)
    assert x.list() == [1.0, 2.0, 3.0]
    for options in ({"dl_device": (1, 0), "copy": False}, {"dl_device": (2, 1)}, {"dl_device": (4, 0)}):
        with pytest.raises(BufferError, match=r"memory on cuda:0, DLPack device \(2, 0\)"):
            x.__dlpack__(max_version=(1, 0), **options)
    with pytest.raises(BufferError, match="read-only memory"):
        read_only = ByInterface(x, data=(x.ptr, True))
        wp.array(read_only, copy=False, device="cuda:0").__dlpack__()


def test_capsules_hold_memory_and_let_go_once():
    x = on_gpu([1.0, 2.0])
    memory = x._data
    before = sys.getrefcount(memory)
    for versioned in ((1, 0), None):
        untaken = x.__dlpack__(max_version=versioned)
        assert sys.getrefcount(memory) == before + 1
        del untaken
        assert sys.getrefcount(memory) == before
        taken = wp.from_dlpack(x.__dlpack__(max_version=versioned))
        view = taken[1:]
        del taken
        gc.collect()
        assert sys.getrefcount(memory) == before + 1
        thread = threading.Thread(target=_drop, args=([view],))
        del view
        thread.start()
        thread.join()
        gc.collect()
        assert sys.getrefcount(memory) == before


def _drop(held):
    held.clear()
    gc.collect()


def test_a_capsule_dropped_while_an_exception_is_on_its_way():
    x = on_gpu([1.0])
    memory = x._data
    before = sys.getrefcount(memory)
    with pytest.raises((BufferError, RuntimeError), match="device"):  # NumPy takes no memory of a GPU
        np.from_dlpack(_Insistent(x))
    gc.collect()
    assert sys.getrefcount(memory) == before


class _Insistent:
    """Says that it is on the host, and gives a capsule of the device."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(max_version=(1, 0))

    def __dlpack_device__(self):
        return 1, 0


def test_capsules_of_elements_that_have_no_name_here():
    x = wp.array([1, 2], dtype=wp.int16, device="cuda:0")
    kept = x.__dlpack__(max_version=(1, 0))
    block = dlpack._pointer(kept, ctypes.addressof(dlpack._VERSIONED))
    ctypes.memmove(block + 32 + 20, b"\x05", 1)  # complex
    with pytest.raises(ArrayError, match="type code 5, 16 bits, 1 lanes"):
        wp.from_dlpack(kept)
    later = x.__dlpack__(max_version=(1, 0))
    ctypes.memmove(dlpack._pointer(later, ctypes.addressof(dlpack._VERSIONED)), struct.pack("<I", 2), 4)
    with pytest.raises(ArrayError, match=r"a DLPack tensor of version 2\.0"):
        wp.from_dlpack(later)


def test_capsules_of_the_host():
    x = np.arange(6, dtype=np.float32)
    a = wp.from_dlpack(x.__dlpack__())
    assert (a.ptr, a.device.is_cpu, a.list()) == (x.ctypes.data, True, x.tolist())
