"""Launch dimensions meet the indices that `tid()` asks for: it takes the leading ones, what is left out is one."""

import numpy as np
import pytest

import warpsim as wp


@wp.kernel
def number_cells(a: wp.array2d[float]):
    i, j = wp.tid()
    a[i, j] += float(10 * i + j)


@wp.func
def row_of():
    return wp.tid()


@wp.kernel
def sum_rows(a: wp.array2d[float], out: wp.array[float]):
    i = row_of()
    j = a.shape[1] - 1
    wp.atomic_add(out, i, a[i, j] * a[i, j])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_dimensions_that_a_launch_leaves_out_have_one_thread(device):
    cells = wp.zeros((3, 1), device=device)
    wp.launch(number_cells, 3, inputs=[cells], device=device)
    assert cells.numpy().ravel().tolist() == [0, 10, 20]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dim, times", [((4, 3), 3), ((4, 2, 5), 10), ((4, 1, 1, 2), 2), (4, 1), ((4, 0), 0)])
def test_fewer_indices_are_the_leading_ones(dim, times, device):
    values = np.arange(8.0, dtype=np.float32).reshape(4, 2) + 1
    a = wp.array(values, requires_grad=True, device=device)
    out = wp.zeros(4, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(sum_rows, dim, inputs=[a], outputs=[out], device=device)
    tape.backward(grads={out: wp.ones(4, device=device)})
    np.testing.assert_array_equal(out.numpy(), times * values[:, 1] ** 2)
    np.testing.assert_array_equal(a.grad.numpy(), times * 2 * values * [0, 1])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_leading_indices_in_every_way_to_launch(device):
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
    a = wp.array(values, requires_grad=True, device=device)
    out = wp.zeros(2, requires_grad=True, device=device)
    command = wp.launch(sum_rows, (2, 4), inputs=[a], outputs=[out], device=device, record_cmd=True)
    for dim, times in (((2, 4), 4), (2, 1), ((2, 3, 2), 6)):
        out.zero_()
        command.set_dim(dim)
        command.launch()
        np.testing.assert_array_equal(out.numpy(), times * values[:, 2] ** 2)
    out.zero_()
    with wp.ScopedCapture(device) as capture:
        wp.launch(sum_rows, (2, 5), inputs=[a], outputs=[out], device=device)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(out.numpy(), 10 * values[:, 2] ** 2)
    gradient = wp.zeros_like(a)
    adjoints = {"adj_inputs": [gradient], "adj_outputs": [wp.ones(2, device=device)], "adjoint": True}
    wp.launch(sum_rows, (2, 4), inputs=[a], outputs=[out], device=device, **adjoints)
    np.testing.assert_array_equal(gradient.numpy(), 4 * 2 * values * [0, 0, 1])


def test_forward_mode_over_more_dimensions_than_indices():
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
    a, out = wp.array(values), wp.zeros(2)
    moved = wp.autograd.jvp(sum_rows, (2, 4), [a], [out], tangents={"a": wp.ones_like(a)})
    np.testing.assert_array_equal(moved["out"].numpy(), 8 * values[:, 2])


def test_threads_that_share_an_element_are_known_to():
    """On one thread or on many, with an element for each thread or for eight of them."""
    a = wp.array(np.full((300, 200), 0.5, dtype=np.float32))
    for dim, times in (((300, 200), 1), ((300, 200, 8), 8), ((300, 200), 1)):
        out = wp.zeros((300, 200))
        wp.launch(add_cells, dim, inputs=[a], outputs=[out])
        assert (out.numpy() == 0.25 * times).all()


@wp.kernel
def add_cells(a: wp.array2d[float], out: wp.array2d[float]):
    i, j = wp.tid()
    wp.atomic_add(out, i, j, a[i, j] * a[i, j])
