"""Programs of the interoperability guide for NVIDIA Warp, with only the import line changed.

What needs another framework or gradients is left out; the kernels that the guide hands to JAX are launched
with arrays in the place of its own, or with NumPy's.
"""

import math

import numpy as np
import pytest
from guide_kernels import (
    add_kernel,
    diagonal_kernel,
    eval_rosenbrock,
    example_func,
    loss,
    matmul_kernel,
    multiarg_kernel,
    sincos_kernel,
    triple_kernel,
)

import warpsim as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@pytest.mark.cpu
def test_numpy_arrays_are_launched_directly():
    n = 1000
    x = np.arange(n, dtype=np.float32)
    y = np.ones(n, dtype=np.float32)
    wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device="cpu")
    np.testing.assert_array_equal(y, np.arange(n) + 1.0)


def test_converted_once_and_launched_ten_times():
    n = 1000
    x_w = wp.from_numpy(np.arange(n, dtype=np.float32))
    y_w = wp.from_numpy(np.ones(n, dtype=np.float32))
    for _ in range(10):
        wp.launch(saxpy, dim=n, inputs=[x_w, y_w, 1.0])
    np.testing.assert_array_equal(y_w.numpy(), 10.0 * np.arange(n) + 1.0)


def test_a_numpy_array_of_an_array_prints_as_in_the_guide(capsys):
    w = wp.array([1.0, 2.0, 3.0], dtype=float)
    a = np.array(w)
    print(a)
    assert capsys.readouterr().out == "[1. 2. 3.]\n"


@pytest.mark.cpu
def test_numpy_is_a_view_of_a_cpu_array():
    w = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    w.numpy()[1] = 20.0
    assert w.list() == [1.0, 20.0, 3.0]
    assert np.shares_memory(w.numpy(), np.asarray(w))


def test_data_types_convert_both_ways():
    n = 16
    warp_type = wp.float32
    numpy_type = wp.dtype_to_numpy(warp_type)
    a = wp.zeros(n, dtype=warp_type)
    b = np.zeros(n, dtype=numpy_type)
    assert numpy_type == np.float32 and a.numpy().dtype == b.dtype
    assert wp.dtype_from_numpy(np.dtype("float32")) is wp.float32


def test_from_numpy_takes_dtype_shape_and_device():
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert wp.from_numpy(rows).dtype is wp.vec3
    w = wp.from_numpy(rows, dtype=wp.vec3, device=wp.get_device(), requires_grad=True)
    assert w.shape == (4,) and w.requires_grad
    np.testing.assert_array_equal(w.numpy(), rows)
    flat = wp.from_numpy(np.arange(6, dtype=np.float32), dtype=float, shape=(2, 3))
    assert flat.shape == (2, 3)


def test_from_numpy_refuses_a_type_it_does_not_have():
    with pytest.raises((RuntimeError, TypeError, ValueError), match="complex128"):
        wp.from_numpy(np.zeros(3, dtype=np.complex128))


def test_the_loss_of_the_optimization_examples():
    xs = wp.array(np.random.default_rng(42).normal(size=(100, 2)), dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=wp.float32, requires_grad=True)  # noqa: E741
    wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    first = l.numpy()[0]
    np.testing.assert_allclose(first, (xs.numpy() ** 2).sum(), rtol=1e-5)
    l.zero_()
    wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    assert l.numpy()[0] == first


def test_rosenbrock_forward():
    num_points = 1500
    rng = np.random.default_rng(42)
    xy = rng.normal(size=(num_points, 2)).astype(np.float32)
    xs = wp.array(xy, dtype=wp.vec2, requires_grad=True)
    z = wp.zeros(num_points, requires_grad=True)
    wp.launch(kernel=eval_rosenbrock, dim=num_points, inputs=[xs], outputs=[z])
    x, y = xy.astype(np.float64).T
    np.testing.assert_allclose(z.numpy(), (1 - x) ** 2 + 100 * (y - x**2) ** 2, rtol=1e-4, atol=1e-5)


@pytest.mark.cpu(reason="launches over NumPy arrays")
def test_triple():
    x = np.arange(0, 64, dtype=np.float32)
    output = np.zeros_like(x)
    wp.launch(triple_kernel, dim=64, inputs=[x], outputs=[output])
    np.testing.assert_array_equal(output, 3.0 * x)


def test_several_inputs_and_outputs():
    a, b, c = (wp.array(np.full(64, v, dtype=np.float32)) for v in (1, 2, 3))
    x, y = wp.zeros(64), wp.zeros(64)
    wp.launch(multiarg_kernel, dim=64, inputs=[a, b, c], outputs=[x, y])
    assert (x.numpy() == 3.0).all() and (y.numpy() == 5.0).all()


def test_a_matrix_product_on_a_grid_of_threads():
    N, M, K = 3, 4, 2
    a = wp.array(np.full((N, K), 2, dtype=np.float32))
    b = wp.array(np.full((K, M), 3, dtype=np.float32))
    c = wp.zeros((N, M), dtype=float)
    wp.launch(matmul_kernel, dim=(N, M), inputs=[a, b], outputs=[c])
    np.testing.assert_array_equal(c.numpy(), np.full((N, M), 12.0))


def test_threads_outside_the_matrix_do_nothing():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 5), dtype=np.float32), rng.random((5, 4), dtype=np.float32)
    c = wp.zeros((3, 4), dtype=float)
    wp.launch(matmul_kernel, dim=(16, 16), inputs=[wp.array(a), wp.array(b)], outputs=[c])
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def test_integer_arrays():
    n = 10
    a, b, output = wp.array(np.arange(n, dtype=np.int32)), wp.ones(n, dtype=int), wp.empty(n, dtype=int)
    wp.launch(add_kernel, dim=n, inputs=[a, b], outputs=[output])
    assert output.list() == list(range(1, n + 1))


def test_sine_and_cosine():
    a = np.linspace(0, 2 * math.pi, 32, dtype=np.float32)
    s, c = wp.empty(32), wp.empty(32)
    wp.launch(sincos_kernel, dim=32, inputs=[wp.array(a)], outputs=[s, c])
    np.testing.assert_allclose(s.numpy(), np.sin(a), atol=2e-7)
    np.testing.assert_allclose(c.numpy(), np.cos(a), atol=2e-7)


def test_arrays_of_matrices():
    output = wp.empty(4, dtype=wp.mat33)
    wp.launch(diagonal_kernel, dim=4, outputs=[output])
    np.testing.assert_array_equal(output.numpy(), np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (4, 3, 3)))


def test_an_annotated_python_function_launches_several_kernels():
    a = wp.array(np.arange(10, dtype=np.float32))
    b = wp.array(np.arange(10, dtype=np.float32).reshape((5, 2)), dtype=wp.vec2)
    c, d = wp.empty_like(a), wp.empty_like(b)
    example_func(a, b, 2.0, c, d)
    np.testing.assert_array_equal(c.numpy(), 2.0 * np.arange(10))
    np.testing.assert_array_equal(d.numpy(), 2.0 * np.arange(10).reshape(5, 2))


@wp.kernel
def multiply_by_two_kernel(
    a_in: wp.array(dtype=wp.float32),
    a_out: wp.array(dtype=wp.float32),
):
    index = wp.tid()
    a_out[index] = a_in[index] * 2.0


def test_a_kernel_that_names_its_scalar_type():
    a_in = wp.array(np.arange(5, dtype=np.float32))
    a_out = wp.zeros_like(a_in)
    wp.launch(multiply_by_two_kernel, dim=a_in.shape, inputs=[a_in, a_out])
    np.testing.assert_array_equal(a_out.numpy(), 2.0 * a_in.numpy())


@pytest.mark.cpu
def test_dlpack_shares_memory_both_ways():
    source = np.arange(6, dtype=np.float32)
    warp_array = wp.from_dlpack(source)
    back = np.from_dlpack(warp_array)
    back[2] = 40.0
    assert source[2] == 40.0 and warp_array.numpy()[2] == 40.0
