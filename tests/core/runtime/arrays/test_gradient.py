"""Gradient arrays: of arrays, views, copies, and arrays on other devices."""

import gc
import weakref

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError


def leaf(*values):
    return wp.array(list(values), dtype=float, requires_grad=True)


def test_a_gradient_has_the_layout_of_its_array():
    a = wp.array(np.zeros((4, 6), np.float32)[:, ::2], dtype=float, copy=False, requires_grad=True)
    assert (a.grad.shape, a.grad.strides, a.grad.dtype) == (a.shape, a.strides, a.dtype)
    assert not a.grad.numpy().any()


def test_views_share_the_gradient_of_the_whole():
    a = wp.zeros((3, 4), dtype=float, requires_grad=True)
    a.grad.assign(np.arange(12))
    assert a[1].grad.numpy().tolist() == [4.0, 5.0, 6.0, 7.0]
    assert a[:, 2].grad.numpy().tolist() == [2.0, 6.0, 10.0]
    assert a.T[1].grad.numpy().tolist() == [1.0, 5.0, 9.0]
    assert a.flatten()[5:7].grad.numpy().tolist() == [5.0, 6.0]
    a[2].grad.fill_(1.0)
    assert a.grad.numpy()[2].tolist() == [1.0] * 4


def test_a_view_made_before_the_gradient_has_it_too():
    a = wp.zeros((3, 2), dtype=float)
    row, column = a[1], a[:, 1]
    assert row.grad is None
    a.requires_grad = True
    a.grad.assign(np.arange(6))
    assert row.grad.numpy().tolist() == [2.0, 3.0]
    assert column.grad.numpy().tolist() == [1.0, 3.0, 5.0]
    assert row.requires_grad


def test_asking_a_view_for_a_gradient_gives_the_whole_one():
    a = wp.zeros((3, 2), dtype=float)
    row = a[1]
    row.requires_grad = True
    row.grad.fill_(5.0)
    assert a.grad.numpy().tolist() == [[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]]


def test_a_view_can_be_cut_off_alone():
    a = leaf(1, 2, 3)
    part = a[:2]
    part.requires_grad = False
    assert part.grad is None and a.requires_grad
    part.requires_grad = True
    assert part.grad.ptr == a.grad.ptr


def test_empty_views_have_empty_gradients():
    a = wp.zeros(3, dtype=float)
    part = a[3:]
    a.requires_grad = True
    assert part.grad.shape == (0,)


def test_views_of_another_dtype():
    a = wp.zeros(2, dtype=wp.vec4, requires_grad=True)
    a.grad.assign([[1, 2, 3, 4], [5, 6, 7, 8]])
    seen = a.view(wp.quat)
    assert (seen.grad.dtype, seen.grad.ptr) == (wp.quat, a.grad.ptr)
    assert seen[1:].grad.numpy().tolist() == [[5.0, 6.0, 7.0, 8.0]]


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_arrays_of_structs():
    @wp.struct
    class Body:
        mass: float
        number: int

    bodies = wp.zeros(3, dtype=Body, requires_grad=True)
    bodies.grad.numpy()["mass"] = [1.0, 2.0, 3.0]
    assert bodies[1:].grad.numpy()["mass"].tolist() == [2.0, 3.0]


def test_indexed_arrays_see_the_gradient_of_the_array():
    a = leaf(1, 2, 3)
    a.grad.assign([1.0, 2.0, 3.0])
    picked = wp.indexedarray(a, [wp.array([2, 0], dtype=int)])
    assert picked.requires_grad
    assert picked.grad.numpy().tolist() == [3.0, 1.0]


@pytest.mark.cpu(reason="names its devices")
def test_clones_and_copies_to_devices():
    a = leaf(1, 2)
    a.grad.fill_(7.0)
    assert wp.clone(a).grad.numpy().tolist() == [0.0, 0.0]
    assert wp.clone(a, requires_grad=False).grad is None
    assert wp.clone(wp.zeros(2, dtype=float), requires_grad=True).requires_grad
    assert a.to("interp").requires_grad
    assert not a.to("interp", requires_grad=False).requires_grad
    assert a.to("cpu") is a
    assert wp.zeros_like(a).requires_grad
    assert not wp.zeros_like(a, requires_grad=False).requires_grad


def test_a_gradient_must_fit():
    a = leaf(1, 2)
    with pytest.raises(ArrayError, match=r"gradient of shape \(3,\) and dtype float32\nexpected: shape \(2,\)"):
        a.grad = wp.zeros(3, dtype=float)
    with pytest.raises(ArrayError, match="gradient with strides"):
        a.grad = wp.zeros((2, 2), dtype=float)[:, 0]
    a.grad = None
    assert not a.requires_grad


@pytest.mark.parametrize("value", [1.5, [1.0, 2.0], np.zeros(2, np.float32), "x"], ids=str)
def test_what_is_no_array_is_no_gradient(value):
    a = leaf(1.0, 2.0)
    with pytest.raises(ArgumentTypeError, match=r"expected: warpsim\.array"):
        a.grad = value
    assert a.grad.numpy().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", ["yes", [True], np.ones(2)])
def test_whether_an_array_has_a_gradient_is_a_truth_value(wrong):
    a = wp.zeros(2, dtype=float)
    with pytest.raises(ArrayError, match=r"requires_grad is .*\nexpected: True or False"):
        a.requires_grad = wrong
    assert not a.requires_grad


@pytest.mark.cpu(reason="memory that NumPy shares")
def test_the_gradient_of_a_view_outlives_its_array():
    a = wp.zeros(1000, dtype=float)
    view = a[10:20]
    a.requires_grad = True
    gone, part = weakref.ref(a.grad._data), view.grad.numpy()
    del a, view
    gc.collect()
    assert gone() is not None
    del part
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", [lambda **o: wp.zeros(2, **o), lambda **o: wp.array([1.0], dtype=float, **o)])
def test_only_gradients_that_are_there_can_be_retained(make):
    with pytest.raises(ValueError, match="expected: requires_grad=True as well"):
        make(retain_grad=True)
    a = make()
    with pytest.raises(ValueError, match="expected: requires_grad=True as well"):
        a.retain_grad = True
    a.retain_grad = False
    a.requires_grad = True
    a.retain_grad = True
    assert a.retain_grad and make(requires_grad=True, retain_grad=True).retain_grad and not a[:1].retain_grad
    a.requires_grad = False
    assert not a.retain_grad
