"""Views of arrays on the host: elements, slices, other shapes and types of the same memory, and copies of it."""

import copy
import gc
import pickle

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, OutOfBoundsError


@wp.struct
class Particle:
    mass: float
    position: wp.vec3
    cell: wp.int64


def grid():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_slices_are_views():
    a = wp.array(grid())
    for key in (0, -1, slice(1, 3), (slice(None), 2), (slice(0, 3, 2), slice(1, 4)), (slice(None, None, 2),)):
        part = a[key]
        assert np.array_equal(part.numpy(), grid()[key])
        assert np.shares_memory(part.numpy(), a.numpy())
        assert part.strides == grid()[key].strides
    assert a[5:].shape == (0, 4)


def test_elements_are_host_values():
    a = wp.array(grid(), dtype=wp.vec4)
    assert a[1] == a[-2] == wp.vec4(4, 5, 6, 7)
    assert type(wp.array(grid())[1, 2]) is wp.float32
    assert a.list() == [wp.vec4(0, 1, 2, 3), wp.vec4(4, 5, 6, 7), wp.vec4(8, 9, 10, 11)]
    assert list(wp.array([1, 2], dtype=wp.int8)) == [1, 2]
    assert wp.array(grid()).transpose().list()[:3] == [0.0, 4.0, 8.0]


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, 0, 0), (slice(None), 7)])
def test_indices_outside_are_refused(key):
    with pytest.raises(OutOfBoundsError, match="for an array of"):
        wp.array(grid())[key]
    with pytest.raises(IndexError):
        wp.array(grid())[key] = 1.0


@pytest.mark.parametrize("key", [1.5, None, ..., "x", True])
def test_indices_of_other_kinds_are_refused(key):
    with pytest.raises(TypeError, match="expected: integers, slices or arrays of integers"):
        wp.array(grid())[key]


def test_other_shapes_of_the_same_memory():
    a = wp.array(grid())
    shapes = {(4, 3): a.reshape((4, -1)), (2, 6): a.reshape(2, 6), (12,): a.reshape(12), (3, 4): a.reshape([3, 4])}
    shapes[6, 2] = a.reshape(shape=(6, 2))
    for shape, b in shapes.items():
        assert (b.shape, b.ptr, b.is_contiguous) == (shape, a.ptr, True)
    assert a.flatten().shape == (12,)
    turned = a.transpose()
    assert (turned.shape, turned.strides, turned.is_contiguous) == ((4, 3), (4, 16), False)
    assert np.array_equal(turned.numpy(), grid().T)
    cube = wp.zeros((2, 3, 4), dtype=wp.vec2)
    assert cube.transpose((1, 2, 0)).shape == (3, 4, 2)
    assert cube.T.shape == (4, 3, 2)
    assert cube.reshape((6, 4)).numpy().shape == (6, 4, 2)
    assert wp.zeros((0, 3), dtype=float).reshape((3, 0)).shape == (3, 0)


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_views_of_another_type():
    a = wp.array(np.array([1.0, 2.0], np.float32))
    assert a.view(wp.uint32).numpy().tolist() == [0x3F800000, 0x40000000]
    b = wp.array(grid(), dtype=wp.vec4)
    assert b.view(wp.quat)[2] == wp.quat(8, 9, 10, 11)
    assert b.view(wp.mat22).numpy().shape == (3, 2, 2)
    assert wp.array(grid(), dtype=wp.vec2).view(wp.float64).shape == (3, 2)
    turned = wp.array(grid()).transpose().view(wp.int32)
    assert np.array_equal(turned.numpy(), grid().view(np.int32).T)
    assert wp.zeros(0, dtype=wp.vec4).view(wp.quat).shape == (0,)
    assert np.shares_memory(b.view(wp.quat).numpy(), b.numpy())


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_components_become_extents_and_extents_components():
    v = wp.array(np.arange(12, dtype=np.float32).reshape(4, 3), dtype=wp.vec3, requires_grad=True)
    numbers = v.view(float)
    assert (numbers.shape, numbers.dtype) == ((4, 3), wp.float32)
    numbers[1, 2] = 50.0
    assert v[1] == wp.vec3(3, 4, 50)
    assert numbers.requires_grad
    assert numbers.grad.ptr == v.grad.ptr
    assert numbers.view(wp.vec3).shape == (4,)
    assert wp.zeros((2, 5), dtype=wp.mat22).view(wp.vec2i).shape == (2, 5, 2)
    assert v[1:].view(float)[0, 0] == 3.0
    assert wp.zeros(0, dtype=wp.vec3).view(float).shape == (0, 3)
    every_other = v[::2].view(float)
    assert np.array_equal(every_other.numpy(), v.numpy()[::2])


@pytest.mark.parametrize(
    ("t", "to"), [(wp.vec4d, float), (float, wp.float64), (wp.vec4, wp.int8), (wp.vec3, wp.vec2d), (float, wp.vec2d)]
)
def test_views_of_scalars_of_another_size_are_type_errors(t, to):
    with pytest.raises(TypeError, match="expected: elements of equal size, or vectors, matrices and numbers with"):
        wp.zeros((2, 4), dtype=t).view(to)
    with pytest.raises(ValueError, match="expected: elements of equal size"):
        wp.zeros((2, 4), dtype=t).view(to)


def test_gradients_pass_through_views_of_components():
    v = wp.array(np.ones((2, 3), np.float32), dtype=wp.vec3, requires_grad=True)
    with wp.Tape() as tape:
        scaled = v.view(float) * 2.0
    tape.backward(grads={scaled: wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)})
    assert v.grad.numpy().tolist() == [[2, 4, 6], [8, 10, 12]]


def test_nothing_makes_an_empty_array_of_any_type():
    @wp.struct
    class Grain:
        radius: float
        path: wp.array[wp.vec3]

    for dtype in (Grain, wp.vec3, wp.mat22, float, bool):
        made = wp.array([], dtype=dtype)
        assert (made.shape, made.dtype) == ((0,), wp.zeros(0, dtype=dtype).dtype)
        assert wp.array(np.array([]), dtype=dtype, ndim=2).shape == (0, 0)


def test_flat_entries_fill_matrices():
    a = wp.zeros(2, dtype=wp.mat22)
    for entries in ([1, 2, 3, 4], np.arange(1, 5), [[1, 2], [3, 4]]):
        a.zero_()
        a.fill_(entries)
        assert a.list() == [wp.mat22(1, 2, 3, 4)] * 2


def test_memory_with_gaps():
    a = wp.zeros((2, 3), dtype=float, strides=(64, 8))
    assert (a.strides, a.is_contiguous, a.capacity) == ((64, 8), False, 64 + 16 + 4)
    a.assign(wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float))
    assert a.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert wp.full((2, 2), 7, dtype=wp.vec3, strides=(48, 24)).numpy().tolist() == [[[7] * 3] * 2] * 2
    assert wp.array(dtype=float, shape=(2, 2), strides=(32, 16)).strides == (32, 16)
    assert wp.empty((0, 3), dtype=float, strides=(16, 4)).capacity == 0
    for strides, message in (((4,), "one stride per dimension"), ((16, -4), "negative strides"), ((6, 2), "alignment")):
        with pytest.raises(ArrayError, match=message):
            wp.empty((2, 2), dtype=float, strides=strides)


def test_capacity_counts_to_the_end_of_the_memory():
    a = wp.zeros((4, 6), dtype=float)
    assert a.capacity == a.transpose().capacity == 96
    assert a[1:3, 2:5].capacity == 96 - 32
    assert a.view(wp.int32)[3].capacity == 24
    lent = wp.array(ptr=a.ptr, dtype=float, shape=2, capacity=96)
    assert (lent.capacity, lent[1:].capacity) == (96, 92)


def test_contiguous_copies_only_what_is_not():
    a = wp.array(grid())
    assert a.contiguous() is a
    straight = a.transpose().contiguous()
    assert straight.is_contiguous
    assert np.array_equal(straight.numpy(), grid().T)
    assert not np.shares_memory(straight.numpy(), a.numpy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.reshape((5, 5)), "12 elements cannot have shape"),
        (lambda a: a.reshape(12, shape=12), "reshape to "),
        (lambda a: a.transpose().reshape(12), r"reshape needs a contiguous array\nhelp: a.contiguous\(\)"),
        (lambda a: a.transpose().flatten(), "needs a contiguous array"),
        (lambda a: a.transpose((0, 0)), "expected: an order of"),
        (lambda a: a.view(wp.float64), "float64 has 8 bytes, float32 4\nexpected: elements of equal size"),
        (lambda a: a.view(wp.vec3), r"elements of shape \(3,\) of memory of shape \(3, 4\)"),
        (lambda a: a.view(wp.vec2d), "vec2d has 16 bytes"),
        (lambda a: wp.zeros((1, 1, 1), dtype=wp.mat22).view(float), "rank 5"),
        (lambda a: a.reshape((1, 1, 1, 3, 4)), "has 5 dimensions"),
        (lambda a: a.reshape(()), "has 0 dimensions"),
    ],
)
def test_shapes_that_memory_cannot_have_are_refused(change, message):
    with pytest.raises(ArrayError, match=message):
        change(wp.array(grid()))


def test_views_keep_memory_alive():
    part = wp.array(np.full(100_000, 7.0)).reshape((100, 1000))[99, 998:].numpy()
    gc.collect()
    assert part.tolist() == [7.0, 7.0]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))], ids=["deepcopy", "pickle"])
def test_copies_by_python(again):
    a = wp.array(grid(), dtype=wp.vec4, requires_grad=True)
    a.grad.fill_(3.0)
    for source in (a, a[::2], wp.array(grid()).transpose(), wp.array([Particle(mass=2.0)]), wp.zeros(0, dtype=wp.int8)):
        made = again(source)
        assert (made.dtype, made.shape, made._tag.type) == (source.dtype, source.shape, source._tag.type)
        assert np.array_equal(made.numpy(), source.numpy())
        assert made.is_contiguous
        assert not np.shares_memory(made.numpy(), source.numpy())
    assert again(a).grad.numpy()[0].tolist() == [3.0] * 4
    assert again(a[[2, 0]]).numpy().tolist() == grid()[[2, 0]].tolist()
    twice = again({"x": a, "same": a})
    assert twice["x"] is twice["same"]


def test_text():
    a = wp.array([[1.0, 2.0]], dtype=wp.vec2)
    assert (str(a), repr(a)) == ("[[1. 2.]]", "array(shape=(1,), dtype=vec2f, device=cpu)")
    a.requires_grad = True
    assert repr(a) == "array(shape=(1,), dtype=vec2f, device=cpu, requires_grad=True)"
