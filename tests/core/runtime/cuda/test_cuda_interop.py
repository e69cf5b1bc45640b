"""Arrays of other frameworks on CUDA devices, in and out by their protocols, with small stand-ins for frameworks."""

import ctypes
import gc
import struct
import sys
import threading
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.cuda import dlpack, driver, interop
from warpsim.errors import ArgumentTypeError, ArrayError, DeviceError, ReadOnlyError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = x[i] * factor


@wp.kernel
def shift(x: wp.array(dtype=wp.vec3), by: wp.vec3):
    i = wp.tid()
    x[i] = x[i] + by


@wp.kernel
def total(x: wp.array2d(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(out, 0, x[i, j])


@wp.kernel
def doubled(x: wp.array(dtype=Any)):
    i = wp.tid()
    x[i] = x[i] + x[i]


class ByInterface:
    """What CuPy and Numba offer; `changes` replaces entries."""

    def __init__(self, a, **changes):
        self.a, self.changes = a, changes

    @property
    def __cuda_array_interface__(self):
        return {**self.a.__cuda_array_interface__, **self.changes}


class ByCapsule:
    """What JAX offers; it notes what it is asked for."""

    def __init__(self, a, kind=None):
        self.a, self.kind, self.asked = a, kind, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.kind or self.a.__dlpack_device__()


class OldCapsule(ByCapsule):
    """A producer from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


class Torch(ByCapsule):
    """Both protocols, the older without a stream: what a torch tensor has."""

    @property
    def __cuda_array_interface__(self):
        found = self.a.__cuda_array_interface__
        return {name: found[name] for name in ("shape", "typestr", "data", "strides")} | {"version": 2}


FRAMEWORKS = [ByInterface, ByCapsule, OldCapsule, Torch]


def on_gpu(values, dtype=float):
    return wp.array(values, dtype=dtype, device="cuda:0")


def second_device():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two devices")
    return "cuda:1"


# ----- taking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_kernels_use_foreign_arrays_in_place(framework):
    x = on_gpu([1.0, 2.0, 3.0])
    for factor in (2.0, 5.0):  # the second launch meets compiled code
        wp.launch(scale, 3, [framework(x), factor], device="cuda:0")
    assert x.list() == [10.0, 20.0, 30.0]
    points = on_gpu([[1, 2, 3], [4, 5, 6]], wp.vec3)
    wp.launch(shift, 2, [framework(points), wp.vec3(1.0, 0.0, 0.0)], device="cuda:0")
    assert points.numpy().tolist() == [[2, 2, 3], [5, 5, 6]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_foreign_views_keep_their_strides(framework):
    x = wp.array(np.arange(12.0).reshape(3, 4), dtype=wp.float64, device="cuda:0")
    for view, wanted in ((x[:, 1:3], 33.0), (x.T[::2], 30.0)):
        out = wp.zeros(1, dtype=wp.float64, device="cuda:0")
        wp.launch(total, view.shape, [framework(view), out], device="cuda:0")
        assert out.list() == [wanted]
        again = wp.array(framework(view), copy=False, device="cuda:0")
        assert (again.ptr, again.strides, again.dtype) == (view.ptr, view.strides, wp.float64)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_arrays_over_foreign_memory(framework):
    x = on_gpu(np.arange(6.0))
    shared = wp.array(framework(x), dtype=wp.vec3, copy=False, device="cuda:0")
    assert (shared.ptr, shared.shape, shared.device) == (x.ptr, (2,), "cuda:0")
    copied = wp.array(framework(x), device="cuda:0")
    assert copied.ptr != x.ptr and copied.list() == x.list()
    on_host = wp.array(framework(x), device="cpu")
    assert on_host.device.is_cpu and on_host.list() == x.list()
    assert wp.array([0.0] * 6, dtype=float, device="cuda:0").assign(framework(x)) is None
    other = second_device()
    assert wp.array(framework(x), device=other).list() == x.list()


def test_foreign_memory_outlives_the_object_that_lent_it():
    x = on_gpu([1.0, 2.0])
    for framework in FRAMEWORKS:
        shared = wp.array(framework(wp.clone(x)), copy=False, device="cuda:0")
        gc.collect()
        others = [on_gpu([7.0, 7.0]) for _ in range(4)]
        assert shared.list() == [1.0, 2.0] and len(others) == 4


def test_generic_kernels_take_the_type_of_foreign_arrays():
    x = wp.array([1, 2], dtype=wp.int64, device="cuda:0")
    wp.launch(doubled, 2, [ByInterface(x)], device="cuda:0")
    assert x.list() == [2, 4]


def test_empty_arrays():
    empty = wp.zeros((0, 3), dtype=float, device="cuda:0")
    assert empty.__cuda_array_interface__["data"] == (0, False)
    for framework in FRAMEWORKS:
        found = wp.array(framework(empty), copy=False, device="cuda:0")
        assert (found.shape, found.size) == ((0, 3), 0)


def test_foreign_memory_on_another_device_is_refused():
    x = wp.array([1.0], dtype=float, device=second_device())
    for framework in FRAMEWORKS:
        with pytest.raises(DeviceError, match=r"'x' of kernel 'scale' is \w+ on cuda:1\nexpected: memory of cuda:0"):
            wp.launch(scale, 1, [framework(x), 2.0], device="cuda:0")
        with pytest.raises(DeviceError, match="on cuda:1\nexpected: memory of cpu"):
            wp.launch(scale, 1, [framework(x), 2.0], device="cpu")
    told = r"ndarray memory of the host\nexpected: memory of cuda:0(.|\n)*wp.array\(x, device='cuda:0'\)"
    with pytest.raises(DeviceError, match=told):
        wp.launch(scale, 1, [np.ones(1, np.float32), 2.0], device="cuda:0")
    with pytest.raises(DeviceError, match="memory on cuda:9\nexpected: one of cuda:0"):
        wp.from_dlpack(ByCapsule(x, (2, 9)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stream": 0}, "stream 0 of __cuda_array_interface__ has no meaning"),
        ({"mask": 1}, "has a mask"),
        ({"typestr": "<q9"}, "is broken"),
        ({"shape": (-2,)}, "extents and strides from 0 on"),
        ({"strides": (-4,)}, "extents and strides from 0 on"),
        ({"strides": (4, 4)}, "extents and strides from 0 on"),
        ({"typestr": "<c8", "shape": (1,)}, "float32"),
    ],
)
def test_broken_interfaces(changes, message):
    x = on_gpu([1.0, 2.0])
    with pytest.raises((ArrayError, ArgumentTypeError), match=message):
        wp.launch(scale, 2, [ByInterface(x, **changes), 2.0], device="cuda:0")


def test_memory_that_does_not_fit_is_refused():
    x = on_gpu([1.0, 2.0, 3.0])
    with pytest.raises(ArrayError, match="does not fit the alignment of float32"):
        wp.launch(scale, 1, [ByInterface(x, shape=(1,), data=(x.ptr + 2, False)), 2.0], device="cuda:0")
    with pytest.raises(DeviceError, match="memory of a CUDA device"):
        wp.launch(scale, 1, [ByInterface(x, shape=(1 << 40,)), 2.0], device="cuda:0")
    outside = np.zeros(4, np.float32)
    with pytest.raises(DeviceError, match="is no memory that CUDA knows"):
        wp.array(ByInterface(x, data=(outside.ctypes.data, False)), copy=False, device="cuda:0")
    with pytest.raises(ArgumentTypeError, match=r"ByInterface of int32(.|\n)*expected: array\(float32"):
        wp.launch(scale, 1, [ByInterface(x, typestr="<i4"), 2.0], device="cuda:0")
    read_only = ByInterface(x, data=(x.ptr, True))
    with pytest.raises(ReadOnlyError, match="'x' of kernel 'scale' is read-only memory"):
        wp.launch(scale, 1, [read_only, 2.0], device="cuda:0")


def test_frameworks_may_refuse():
    class Guarded:
        """A tensor with a gradient."""

        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("use detach() first")

    with pytest.raises(ArrayError, match="'x' of kernel 'scale': Guarded does not share its memory: use detach"):
        wp.launch(scale, 1, [Guarded(), 2.0], device="cuda:0")
    x = ByCapsule(on_gpu([1.0]).T)
    x.a = type("Busy", (), {"__dlpack__": lambda self, **options: (_ for _ in ()).throw(BufferError("busy"))})()
    x.kind = (2, 0)
    with pytest.raises(ArrayError, match="ByCapsule does not share its memory: busy"):
        wp.from_dlpack(x)


def test_memory_at_an_address():
    x = on_gpu(np.arange(6.0))
    again = wp.from_ptr(x.ptr, 6, device="cuda:0")
    wp.launch(scale, 6, [again, 2.0], device="cuda:0")
    assert x.list() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    host = np.zeros(2, np.float32)
    with pytest.raises(DeviceError, match="is no memory that CUDA knows"):
        wp.from_ptr(host.ctypes.data, 2, device="cuda:0")
    other = second_device()
    with pytest.raises(DeviceError, match=f"is memory of cuda:0\nexpected: {other}"):
        wp.from_ptr(x.ptr, 6, device=other)


def test_pinned_memory_is_memory_of_the_device_too():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu", pinned=True)
    pinned = wp.zeros(2, dtype=float, device="cpu", pinned=True)
    pinned.assign(x)
    lent = ByCapsule(pinned, (3, 0))  # kDLCUDAHost, as the capsules of torch say
    wp.launch(scale, 2, [lent, 3.0], device="cuda:0")
    wp.synchronize_device("cuda:0")
    assert pinned.list() == [3.0, 6.0]
    wp.launch(scale, 2, [lent, 2.0], device="cpu")
    assert pinned.list() == [6.0, 12.0]
    assert wp.from_ptr(pinned.ptr, 2, device="cuda:0").device == "cuda:0"


# ----- the order of work --------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_work_follows_the_stream_of_the_producer(framework):
    mine, theirs = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    x = on_gpu(np.zeros(1000))
    wp.synchronize_device("cuda:0")
    with wp.ScopedStream(theirs, sync_enter=False):
        x.fill_(1.0)
        lent = framework(x)
        described = lent.__cuda_array_interface__ if framework is ByInterface else None
    if described:
        assert described["stream"] == theirs.cuda_stream
        lent = ByInterface(x, stream=theirs.cuda_stream)
    with wp.ScopedStream(mine, sync_enter=False):
        if framework is not ByInterface:  # a capsule is asked for while its framework is on its own stream
            lent = ByCapsule(_OnStream(x, theirs))
        shared = wp.array(lent, copy=False, device="cuda:0")
        wp.launch(scale, 1000, [shared, 3.0], device="cuda:0")
    mine.synchronize()  # the filling is done by now only if the kernel waited for it
    assert set(x.list()) == {3.0}


class _OnStream:
    """An array whose framework works on a stream of its own."""

    def __init__(self, a, stream):
        self.a, self.stream = a, stream

    def __dlpack__(self, **options):
        with wp.ScopedStream(self.stream, sync_enter=False):
            return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


def test_consumers_are_asked_with_our_stream():
    stream, x = wp.Stream("cuda:0"), on_gpu([1.0])
    lent = ByCapsule(x)
    with wp.ScopedStream(stream):
        wp.from_dlpack(lent)
    assert lent.asked == [{"stream": stream.cuda_stream, "max_version": (1, 0)}]


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_streams_of_consumers(stream):
    x = on_gpu([1.0, 2.0])
    x.fill_(4.0)
    again = wp.from_dlpack(x.__dlpack__(stream=stream, max_version=(1, 0)))
    if stream in (1, 2):
        driver.call("cuStreamSynchronize", driver.api().CUstream(stream))  # which waits for the filling
        assert wp.get_stream("cuda:0").is_complete
    assert again.list() == [4.0, 4.0]
    with pytest.raises(BufferError, match="stream 0"):
        x.__dlpack__(stream=0)


def test_memory_lent_to_another_stream_is_freed_after_its_work():
    theirs, x = wp.Stream("cuda:0"), on_gpu([1.0, 2.0])
    held = interop._allocation(x._data)
    x.__dlpack__(stream=1)
    assert not held.lent  # that stream and ours wait for each other
    x.__dlpack__(stream=theirs.cuda_stream)
    assert held.lent


# ----- giving -------------------------------------------------------------------------------------


def test_the_interface_of_arrays():
    x = on_gpu(np.arange(12.0).reshape(2, 2, 3), wp.vec3)
    found = x.__cuda_array_interface__
    assert found == {
        "shape": (2, 2, 3), "typestr": "<f4", "data": (x.ptr, False), "strides": None, "version": 3,
        "stream": wp.get_stream("cuda:0").cuda_stream,
    }  # fmt: skip
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
@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64, wp.int8, wp.uint16, wp.int64, wp.bool, wp.mat22])
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
    ctypes.memmove(block + 32 + 20, b"\x04", 1)  # bfloat16
    with pytest.raises(ArrayError, match="type code 4, 16 bits, 1 lanes"):
        wp.from_dlpack(kept)
    later = x.__dlpack__(max_version=(1, 0))
    ctypes.memmove(dlpack._pointer(later, ctypes.addressof(dlpack._VERSIONED)), struct.pack("<I", 2), 4)
    with pytest.raises(ArrayError, match=r"a DLPack tensor of version 2\.0"):
        wp.from_dlpack(later)


def test_capsules_of_the_host():
    x = np.arange(6, dtype=np.float32)
    a = wp.from_dlpack(x.__dlpack__())
    assert (a.ptr, a.device.is_cpu, a.list()) == (x.ctypes.data, True, x.tolist())


def test_streams_of_other_frameworks():
    address = driver.call("cuStreamCreate", 1)
    stream = wp.Stream("cuda:0", cuda_stream=int(address))
    x = on_gpu([1.0])
    with wp.ScopedStream(stream):
        assert x.__cuda_array_interface__["stream"] == int(address)
        wp.launch(scale, 1, [x, 2.0], device="cuda:0")
    stream.synchronize()
    assert x.list() == [2.0]
