"""`wp.ref[T]`: functions that change what their caller passed, wherever it lies, with gradients."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelError


@wp.struct
class State:
    count: int
    v: wp.vec3


@wp.func
def scale(x: wp.ref[float], by: float):
    x *= by


@wp.func
def bump(n: wp.ref[wp.int32]) -> int:
    n += 1
    return n * 10


@wp.func
def settle(x: wp.ref[float], limit: float) -> float:
    scale(x, 2.0)  # a reference handed on
    if x > limit:
        x = limit
        return 1.0
    return 0.0


@wp.func
def square(x: wp.ref[Any]):
    x = x * x


@wp.func
def order(a: wp.ref[float], b: wp.ref[float]):
    if a > b:
        c = a
        a = b
        b = c


@wp.func
def advance(s: wp.ref[State], by: float):
    s.count += 1
    s.v[2] += by


@wp.kernel
def places(x: wp.array[float], out: wp.array2d[float], counts: wp.array[int]):
    i = wp.tid()
    local = x[i]
    hit = settle(local, 5.0)
    s = State()
    scale(s.v[1], 3.0)
    s.v = wp.vec3(local, local, local)
    scale(s.v.x, 3.0)
    square(s.v[1])
    for _ in range(3):
        advance(s, x[i])
    counts[i] = s.count + bump(counts[i])
    out[i, 0] = s.v[0]
    out[i, 1] = s.v[1]
    out[i, 2] = s.v[2] + hit
    scale(out[i, 0], 0.5)


def expected(x):
    local = np.minimum(2.0 * x, 5.0)
    return np.stack([1.5 * local, local**2, local + 3.0 * x + (2.0 * x > 5.0)], axis=1)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_function_changes_locals_fields_components_and_elements(device):
    x = wp.array([0.5, 2.0, 4.0], dtype=float, requires_grad=True, device=device)
    out, counts = wp.zeros((3, 3), requires_grad=True, device=device), wp.zeros(3, dtype=int, device=device)
    with wp.Tape() as tape:
        wp.launch(places, 3, inputs=[x, out, counts], device=device)
    np.testing.assert_allclose(out.numpy(), expected(x.numpy()), rtol=1e-6)
    assert counts.list() == [13, 13, 13]
    weights = np.array([[1.0, 2.0, 3.0]] * 3, np.float32)
    tape.backward(grads={out: wp.array(weights, device=device)})
    at, h = x.numpy().astype(float), 1e-6
    slopes = ((expected(at + h) - expected(at - h)) / (2 * h) * weights).sum(axis=1)
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-5)


def test_several_references_come_back_in_their_order():
    @wp.kernel
    def sort(x: wp.array[float]):
        order(x[0], x[1])
        order(x[1], x[2])
        order(x[0], x[1])

    x = wp.array([3.0, 1.0, 2.0], dtype=float)
    wp.launch(sort, 1, inputs=[x])
    assert x.list() == [1.0, 2.0, 3.0]


def test_what_has_no_place_is_refused():
    @wp.kernel
    def wrong(x: wp.array[float]):
        scale(x[0] + 1.0, 2.0)

    with pytest.raises(KernelError, match=r"x\[0\] \+ 1\.0 is a value without a place"):
        wp.launch(wrong, 1, inputs=[wp.zeros(1)])


def test_a_reference_keeps_its_type():
    @wp.func
    def spoil(x: wp.ref[float]):
        x = wp.vec3(1.0, 2.0, 3.0)  # noqa: F841

    @wp.kernel
    def run(out: wp.array[float]):
        spoil(out[0])

    with pytest.raises(KernelError, match="what 'x' refers to is vec3f, not float32"):
        wp.launch(run, 1, inputs=[wp.zeros(1)])


def test_annotations_are_values():
    assert wp.ref[int] == wp.ref[wp.int32] and wp.ref[float] != wp.ref[int]
    assert {wp.ref[float]: 1}[wp.ref[wp.float32]] == 1
    assert repr(wp.ref[wp.vec3]) == "wp.ref[vec3f]" and wp.ref[wp.vec3].dtype is wp.vec3


@wp.func
def taken(values: wp.ref[wp.array2d[float]], i: int) -> float:
    row = values[i]
    return row[1] * row[1]


@wp.func_grad(taken)
def adj_taken(values: wp.ref[wp.array2d[float]], i: int, adj_ret: float):
    wp.adjoint[values][i, 1] += 10.0 * adj_ret


@wp.func
def filled(values: wp.ref[wp.array2d[float]], i: int):
    values[i, 0] = 7.0


@wp.kernel
def arrays_by_reference(values: wp.array2d[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = taken(values, i)
    filled(values, i)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_are_references_by_themselves(device):
    values = wp.array([[2.0, 3.0], [4.0, 5.0]], dtype=float, requires_grad=True, device=device)
    out = wp.zeros(2, dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(arrays_by_reference, 2, inputs=[values], outputs=[out], device=device)
    assert out.numpy().tolist() == [9.0, 25.0] and values.numpy().tolist() == [[7.0, 3.0], [7.0, 5.0]]
    tape.backward(grads={out: wp.ones(2, dtype=float, device=device)})
    assert values.grad.numpy().tolist() == [[0.0, 10.0], [0.0, 10.0]]
