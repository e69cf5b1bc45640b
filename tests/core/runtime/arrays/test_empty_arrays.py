"""Arrays without elements: no address, strides of packed memory, and every operation that arrays have."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError

SHAPES = [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 1, 0, 2)]


@wp.struct
class Body:
    mass: float
    at: wp.vec3


@wp.kernel
def doubles(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 2.0 * a[i]


@wp.kernel
def counts(a: wp.array(dtype=float), out: wp.array(dtype=int)):
    if a:
        out[0] = a.shape[0]
    else:
        out[0] = -1


def packed(shape, size):
    strides = [size]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return tuple(strides)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [float, wp.int8, wp.vec3, wp.mat22d, Body])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_lies_nowhere_in_packed_order(shape, dtype, device):
    size = wp.zeros(1, dtype=dtype, device=device).strides[0]
    with_gradient = dtype in (float, wp.vec3)
    for make in (wp.zeros, wp.empty, wp.ones) if dtype is not Body else (wp.zeros, wp.empty):
        a = make(shape, dtype=dtype, device=device, requires_grad=with_gradient)
        assert a.ptr is None and a.shape == shape and a.size == 0 and a.capacity == 0
        assert a.strides == packed(shape, size) and a.is_contiguous
        for other in (a.flatten(), a.transpose(), a.reshape((0, 5)), a[0:0], wp.clone(a), wp.empty_like(a)):
            assert other.ptr is None and other.size == 0
        if with_gradient:
            assert a.grad.ptr is None and a.grad.shape == shape and a.grad.strides == a.strides
        a.zero_()
        a.assign(wp.zeros_like(a))
        wp.copy(a, wp.clone(a))
        assert a.list() == []


def test_strides_of_nothing_may_be_chosen():
    a = wp.empty((0, 3), dtype=int, strides=(4, 16))
    assert a.strides == (4, 16) and a.ptr is None and a.capacity == 0


def test_what_an_empty_array_says_of_its_memory_makes_another_one():
    a = wp.empty((0, 3), dtype=wp.vec2)
    b = wp.array(ptr=a.ptr, shape=a.shape, strides=a.strides, capacity=a.capacity, dtype=a.dtype)
    assert (b.shape, b.strides, b.ptr) == (a.shape, a.strides, None)
    assert wp.from_ptr(a.ptr, 0, dtype=int).shape == (0,)
    for call in (lambda: wp.from_ptr(None, 3), lambda: wp.array(ptr=None, shape=3, capacity=0, dtype=float)):
        with pytest.raises(ArrayError):
            call()


def test_empty_views_lie_in_their_array():
    a = wp.zeros((4, 5), dtype=float)
    assert a.ptr <= a[2:2].ptr <= a.ptr + a.capacity
    assert a[2:2].reshape((5, 0)).ptr is not None
    assert wp.zeros(0, dtype=float)[0:0].ptr is None


@pytest.mark.cpu(reason="shares memory with other frameworks")
@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_takes_nothing_with_its_strides(shape):
    a = wp.zeros(shape, dtype=wp.vec2)
    interface = a.__array_interface__
    assert interface["data"][0] != 0 and interface["strides"] == (*packed(shape, 8), 4)
    for same in (np.asarray(a), a.numpy(), np.from_dlpack(a)):
        assert same.shape == (*shape, 2) and same.dtype == np.float32
    assert np.asarray(a).strides == (*packed(shape, 8), 4)
    for source in (a, np.asarray(a), a.numpy()):
        back = wp.array(source, dtype=wp.vec2)
        assert back.shape == shape and back.ptr is None


@pytest.mark.cpu(reason="shares memory with other frameworks")
def test_frameworks_take_nothing_and_give_it_back():
    torch = pytest.importorskip("torch")
    a = wp.zeros((0, 3), dtype=float, requires_grad=True)
    tensor = wp.to_torch(a)
    assert tensor.shape == (0, 3) and tensor.dtype == torch.float32
    assert wp.from_torch(tensor).shape == (0, 3)
    assert wp.from_torch(torch.zeros((3, 0))).ptr is None
    assert wp.from_dlpack(a).shape == (0, 3)


@pytest.mark.cpu(reason="shares memory with other frameworks")
def test_jax_takes_nothing():
    pytest.importorskip("jax")
    x = wp.to_jax(wp.zeros((0, 3), dtype=float))
    assert x.shape == (0, 3) and wp.from_jax(x).ptr is None


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_launches_tapes_and_graphs_take_nothing(device):
    a = wp.zeros(0, dtype=float, device=device, requires_grad=True)
    out = wp.zeros_like(a)
    with wp.Tape() as tape:
        wp.launch(doubles, dim=0, inputs=[a], outputs=[out], device=device)
        wp.copy(out, wp.clone(a))
    tape.backward(grads={out: wp.zeros_like(out)})
    assert a.grad.shape == (0,) and a.grad.ptr is None
    with wp.ScopedCapture(device=device) as capture:
        wp.launch(doubles, dim=0, inputs=[a], outputs=[out], device=device)
        a.fill_(1.0)
    wp.capture_launch(capture.graph)
    count = wp.zeros(1, dtype=int, device=device)
    wp.launch(counts, dim=1, inputs=[a, count], device=device)
    assert count.list() == [-1]


def test_an_empty_view_can_be_told_that_it_has_no_memory():
    a = wp.ones((2, 3), dtype=float)
    part, none = a[:0], wp.zeros((3, 0), dtype=float)
    assert part.ptr == a.ptr
    part.ptr = none.ptr = None
    assert (part.ptr, part.shape, none.ptr) == (None, (0, 3), None)
    for empty, address in ((a, None), (part, a.ptr)):
        with pytest.raises(ArrayError, match="expected: None, of an empty array"):
            empty.ptr = address
