"""Functions with C++ bodies that change what their caller passed, by `wp.ref[T]`, and gradients through them."""

import numpy as np
import pytest
from native_compilers import compiled

import warpsim as wp
from warpsim.errors import KernelTypeError, NativeCodeError, NotDifferentiableError

pytestmark = [compiled, pytest.mark.parametrize("device", ["cpu", "interp"])]


@wp.func_native("n += step; return n * 10;")
def advance(n: wp.ref[int], step: int) -> int: ...


@wp.func_native("x = k * x + y * y;", "adj_y += 2.0f * y * adj_x; adj_x = k * adj_x;")
def blend(x: wp.ref[float], y: float, k: float): ...


@wp.struct
class Box:
    value: float
    corner: wp.vec3


def test_locals_elements_components_and_fields_are_changed(device):
    @wp.kernel
    def changing(n: wp.array2d[int], v: wp.array[wp.vec3], boxes: wp.array[Box], out: wp.array[int]):
        i = wp.tid()
        local = i
        out[i] = advance(local, 5) + local
        advance(n[i, 1], 7)
        blend(v[i].y, 2.0, 1.0)
        blend(boxes[i].corner[2], 3.0, 1.0)
        box = Box()
        blend(box.value, 1.0, 1.0)
        boxes[i].value = box.value

    n, out = wp.zeros((2, 2), dtype=int, device=device), wp.zeros(2, dtype=int, device=device)
    v, boxes = wp.zeros(2, dtype=wp.vec3, device=device), wp.zeros(2, dtype=Box, device=device)
    wp.launch(changing, 2, inputs=[n, v, boxes, out], device=device)
    assert out.list() == [55, 66]
    assert n.numpy().tolist() == [[0, 7], [0, 7]]
    assert v.numpy().tolist() == [[0, 4, 0]] * 2
    assert boxes.list() == [Box(value=1.0, corner=wp.vec3(0.0, 0.0, 9.0))] * 2


def test_gradients_pass_through_old_values_and_new_ones(device):
    @wp.kernel
    def twice(x: wp.array[float], y: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        state = x[i]
        blend(state, y[i], 3.0)
        blend(state, y[i], 0.5)
        out[i] = state * state

    x = wp.array([1.0, -2.0], dtype=float, device=device, requires_grad=True)
    y = wp.array([0.5, 1.5], dtype=float, device=device, requires_grad=True)
    out = wp.zeros(2, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(twice, 2, inputs=[x, y], outputs=[out], device=device)
    tape.backward(grads={out: wp.ones(2, dtype=float, device=device)})
    a, b = x.numpy(), y.numpy()
    state = 0.5 * (3 * a + b * b) + b * b
    np.testing.assert_allclose(out.numpy(), state**2, rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 2 * state * 1.5, rtol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), 2 * state * 3 * b, rtol=1e-5)


def test_gradients_of_elements_that_are_changed_in_place(device):
    @wp.kernel
    def in_place(y: wp.array[float], rows: wp.array2d[float]):
        i = wp.tid()
        blend(rows[i, 0], y[i], 2.0)

    y = wp.array([1.0, 2.0], dtype=float, device=device, requires_grad=True)
    rows = wp.array([[1.0, 1.0], [2.0, 2.0]], dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(in_place, 2, inputs=[y, rows], device=device)
    tape.backward(grads={rows: wp.ones((2, 2), dtype=float, device=device)})
    assert rows.numpy().tolist() == [[3, 1], [8, 2]]
    assert y.grad.list() == [2.0, 4.0]
    assert rows.grad.numpy().tolist() == [[2, 1], [2, 1]]


@pytest.mark.not_for_cuda("the text of a native function does not compile for CUDA")
def test_what_has_no_place_or_no_derivative_is_refused(device):
    @wp.func_native("x = x + 1.0f;")
    def plain(x: wp.ref[float]): ...

    @wp.kernel
    def onto_value(out: wp.array[float]):
        plain(out[0] + 1.0)

    @wp.kernel
    def onto_element(out: wp.array[float]):
        plain(out[0])

    out = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with pytest.raises(KernelTypeError, match="without a place"):
        wp.launch(onto_value, 1, inputs=[out], device=device)
    with pytest.raises(NotDifferentiableError), wp.Tape() as tape:
        wp.launch(onto_element, 1, inputs=[out], device=device)
        tape.backward(grads={out: wp.ones(1, dtype=float, device=device)})

    @wp.func_native("y = 1.0f;")
    def typo(x: wp.ref[float]): ...

    @wp.kernel
    def misspelt(out: wp.array[float]):
        typo(out[0])

    with pytest.raises(NativeCodeError):
        wp.launch(misspelt, 1, inputs=[out], device=device)


def test_the_host_gets_what_is_returned(device):
    assert advance(3, 4) == 70
    assert blend(1.0, 2.0, 3.0) is None
