"""Arrays of other frameworks on CUDA devices: used in place, in the order of streams, checked before."""

import gc
from typing import Any

import numpy as np
import pytest
from foreign_arrays import FRAMEWORKS, GPU, ByCapsule, ByInterface, OnStream, on_gpu, second_device

import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver, interop
from warpsim.errors import ArgumentTypeError, ArrayError, DeviceError, ReadOnlyError

pytestmark = GPU


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
def weighted(x: wp.array(dtype=float), weights: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, weights[i] * x[i])


@wp.kernel
def doubled(x: wp.array(dtype=Any)):
    i = wp.tid()
    x[i] = x[i] + x[i]


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
    for place in ("cuda:0", "cpu"):
        target = wp.zeros(6, dtype=float, device=place)
        target.assign(framework(x))
        assert target.list() == x.list()
    other = second_device()
    assert wp.array(framework(x), device=other).list() == x.list()


def test_foreign_memory_outlives_the_object_that_lent_it():
    x = on_gpu([1.0, 2.0])
    for framework in FRAMEWORKS:
        shared = wp.array(framework(wp.clone(x)), copy=False, device="cuda:0")
        gc.collect()
        others = [on_gpu([7.0, 7.0]) for _ in range(4)]
        assert shared.list() == [1.0, 2.0] and len(others) == 4


def test_tapes_follow_foreign_arrays():
    x = on_gpu([1.0, 2.0, 3.0])
    weights = wp.array([5.0, 6.0, 7.0], dtype=float, device="cuda:0", requires_grad=True)
    out = wp.zeros(1, dtype=float, device="cuda:0", requires_grad=True)
    for framework in FRAMEWORKS:
        with wp.Tape() as tape:
            wp.launch(weighted, 3, [framework(x), weights, out], device="cuda:0")
        tape.backward(out)
        assert weights.grad.list() == [1.0, 2.0, 3.0]
        tape.zero()


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
            lent = ByCapsule(OnStream(x, theirs))
        shared = wp.array(lent, copy=False, device="cuda:0")
        wp.launch(scale, 1000, [shared, 3.0], device="cuda:0")
    mine.synchronize()  # the filling is done by now only if the kernel waited for it
    assert set(x.list()) == {3.0}


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
    held = interop._buffer(x._data)
    x.__dlpack__(stream=1)
    assert not held.lent  # that stream and ours wait for each other
    x.__dlpack__(stream=theirs.cuda_stream)
    assert held.lent


def test_streams_of_other_frameworks():
    address = wp.get_device("cuda:0").call("cuStreamCreate", 1)
    stream = wp.Stream("cuda:0", cuda_stream=int(address))
    x = on_gpu([1.0])
    with wp.ScopedStream(stream):
        assert x.__cuda_array_interface__["stream"] == int(address)
        wp.launch(scale, 1, [x, 2.0], device="cuda:0")
    stream.synchronize()
    assert x.list() == [2.0]
