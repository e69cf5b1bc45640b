"""Programs on JAX of the interoperability guide for NVIDIA Warp, with only import lines changed; devices are CPUs."""

import math
from functools import partial

import numpy as np
import pytest
from guide_kernels import (
    add_kernel,
    diagonal_kernel,
    example_func,
    matmul_kernel,
    multiarg_kernel,
    scale_kernel,
    scale_vec_kernel,
    sincos_kernel,
    triple_kernel,
)

import warpsim as wp

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jp = jax.numpy
pytestmark = pytest.mark.cpu(reason="JAX on the CPU")

jax_kernel, jax_callable, register_ffi_callback, get_jax_device = (
    wp.jax_kernel,
    wp.jax_callable,
    wp.register_ffi_callback,
    wp.get_jax_device,
)


def test_conversion_both_ways():
    jax_array = jnp.arange(3.0)
    warp_array = wp.from_jax(jax_array)
    jax_array = wp.to_jax(warp_array)
    assert jax_array.tolist() == [0.0, 1.0, 2.0]


def test_a_kernel_as_a_primitive():
    # create a Jax primitive from a Warp kernel
    jax_triple = jax_kernel(triple_kernel)

    # use the Warp kernel in a Jax jitted function
    @jax.jit
    def f():
        x = jp.arange(0, 64, dtype=jp.float32)
        return jax_triple(x)

    np.testing.assert_array_equal(f()[0], 3.0 * np.arange(64))


def test_several_inputs_and_outputs():
    # create a Jax primitive from a Warp kernel
    jax_multiarg = jax_kernel(multiarg_kernel)

    # use the Warp kernel in a Jax jitted function with three inputs and two outputs
    @jax.jit
    def f():
        a = jp.full(64, 1, dtype=jp.float32)
        b = jp.full(64, 2, dtype=jp.float32)
        c = jp.full(64, 3, dtype=jp.float32)
        return jax_multiarg(a, b, c)

    x, y = f()
    assert (x == 3.0).all() and (y == 5.0).all() and x.shape == y.shape == (64,)


def test_custom_launch_dimensions():
    N, M, K = 3, 4, 2

    # specify custom launch dimensions
    jax_matmul = jax_kernel(matmul_kernel, launch_dims=(N, M))

    @jax.jit
    def f():
        a = jnp.full((N, K), 2, dtype=jnp.float32)
        b = jnp.full((K, M), 3, dtype=jnp.float32)

        # use default launch dims
        return jax_matmul(a, b)

    np.testing.assert_array_equal(f()[0], np.full((N, M), 12.0))


def test_two_inputs_and_one_output():
    jax_add = jax_kernel(add_kernel)

    @jax.jit
    def f():
        n = 10
        a = jnp.arange(n, dtype=jnp.int32)
        b = jnp.ones(n, dtype=jnp.int32)
        return jax_add(a, b)

    assert f()[0].tolist() == list(range(1, 11))


def test_one_input_and_two_outputs():
    jax_sincos = jax_kernel(sincos_kernel, num_outputs=2)  # specify multiple outputs

    @jax.jit
    def f():
        a = jnp.linspace(0, 2 * math.pi, 32)
        return jax_sincos(a)

    s, c = f()
    a = np.linspace(0, 2 * math.pi, 32)
    np.testing.assert_allclose(s, np.sin(a), atol=1e-6)
    np.testing.assert_allclose(c, np.cos(a), atol=1e-6)


def test_no_inputs():
    jax_diagonal = jax_kernel(diagonal_kernel)

    @jax.jit
    def f():
        # launch dimensions determine the output shape
        return jax_diagonal(launch_dims=4)

    np.testing.assert_array_equal(f()[0], np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (4, 3, 3)))


def test_constant_scalars():
    jax_scale = jax_kernel(scale_kernel)

    @jax.jit
    def f():
        a = jnp.arange(10, dtype=jnp.float32)
        return jax_scale(a, 2.0)  # ok: constant scalar argument

    np.testing.assert_array_equal(f()[0], 2.0 * np.arange(10))


def test_traced_scalars():
    """An error in the guide; here they are operands like arrays."""
    jax_scale = jax_kernel(scale_kernel)

    @jax.jit
    def f(a, s):
        return jax_scale(a, s)

    a = jnp.arange(10, dtype=jnp.float32)
    np.testing.assert_array_equal(f(a, 2.0)[0], 2.0 * np.arange(10))


def test_static_scalars():
    jax_scale = jax_kernel(scale_kernel)

    # make scalar arguments static
    @partial(jax.jit, static_argnames=["s"])
    def f(a, s):
        return jax_scale(a, s)  # ok: static scalar argument

    a = jnp.arange(10, dtype=jnp.float32)
    np.testing.assert_array_equal(f(a, 2.0)[0], 2.0 * np.arange(10))


def test_launch_dimensions_of_a_call():
    # no need to specify launch dims here
    jax_matmul = jax_kernel(matmul_kernel)

    @jax.jit
    def f():
        N1, M1, K1 = 3, 4, 2
        a1 = jnp.full((N1, K1), 2, dtype=jnp.float32)
        b1 = jnp.full((K1, M1), 3, dtype=jnp.float32)

        # use custom launch dims
        result1 = jax_matmul(a1, b1, launch_dims=(N1, M1))

        N2, M2, K2 = 4, 3, 2
        a2 = jnp.full((N2, K2), 2, dtype=jnp.float32)
        b2 = jnp.full((K2, M2), 3, dtype=jnp.float32)

        # use custom launch dims
        result2 = jax_matmul(a2, b2, launch_dims=(N2, M2))

        return result1, result2

    r1, r2 = f()
    assert r1[0].shape == (3, 4) and r2[0].shape == (4, 3) and (r1[0] == 12.0).all() and (r2[0] == 12.0).all()


@wp.kernel
def funky_kernel(
    a: wp.array(dtype=float),
    # outputs
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
):
    wp.atomic_add(b, 0, a[wp.tid()])
    wp.atomic_add(c, 0, 1.0)


def test_output_dimensions():
    """The guide leaves the kernel open; this one sums and counts."""
    jax_funky = jax_kernel(funky_kernel, num_outputs=2)
    a, n, m, k = jnp.arange(6.0), 2, 3, 4
    b, c = jax_funky(a, output_dims=n)
    assert b.tolist() == [15.0, 0.0] and c.tolist() == [6.0, 0.0]
    b, c = jax_funky(a, output_dims={"b": n, "c": m})
    assert b.tolist() == [15.0, 0.0] and c.tolist() == [6.0, 0.0, 0.0]
    b, c = jax_funky(a, launch_dims=k, output_dims={"b": n, "c": m})
    assert b.tolist() == [6.0, 0.0] and c.tolist() == [4.0, 0.0, 0.0]


@wp.kernel
def vecmat_kernel(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat22),
    # outputs
    d: wp.array(dtype=float),
    e: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.mat22),
):
    i = wp.tid()
    d[i] = a[i] + 1.0
    e[i] = b[i] * 2.0
    f[i] = c[i] * 3.0


def test_vector_and_matrix_arrays():
    jax_vecmat = jax_kernel(vecmat_kernel, num_outputs=3)

    @jax.jit
    def f():
        n = 10
        a = jnp.zeros(n, dtype=jnp.float32)  # scalar array
        b = jnp.ones((n, 3), dtype=jnp.float32)  # vec3 array
        c = jnp.ones((n, 2, 2), dtype=jnp.float32)  # mat22 array

        d, e, f = jax_vecmat(a, b, c)
        for dims in (
            n,
            {"d": n, "e": n, "f": n},
            {"d": n, "e": (n, 3), "f": (n, 2, 2)},
            {"d": a.shape, "e": b.shape, "f": c.shape},
        ):
            for x, y in zip((d, e, f), jax_vecmat(a, b, c, output_dims=dims), strict=True):
                assert x.shape == y.shape
        return d, e, f

    d, e, f = f()
    assert (d == 1.0).all() and (e == 2.0).all() and (f == 3.0).all()
    assert (d.shape, e.shape, f.shape) == ((10,), (10, 3), (10, 2, 2))


def test_vmap_methods():
    # set default vmap behavior
    jax_callback = jax_kernel(triple_kernel, vmap_method="sequential")
    a = jnp.arange(12.0).reshape(3, 4)

    @jax.jit
    def f():
        b = jax.vmap(lambda x: jax_callback(x)[0])(a)  # uses "sequential"
        d = jax.vmap(lambda x: jax_callback(x, vmap_method="expand_dims")[0])(a)  # uses "expand_dims"
        return b, d

    for found in f():
        np.testing.assert_array_equal(found, 3.0 * np.asarray(a))


def test_annotated_python_functions():
    jax_func = jax_callable(example_func, num_outputs=2)

    @jax.jit
    def f():
        # inputs
        a = jnp.arange(10, dtype=jnp.float32)
        b = jnp.arange(10, dtype=jnp.float32).reshape((5, 2))  # wp.vec2
        s = 2.0

        # output shapes
        output_dims = {"c": a.shape, "d": b.shape}

        c, d = jax_func(a, b, s, output_dims=output_dims)

        return c, d

    r1, r2 = f()
    np.testing.assert_array_equal(r1, 2.0 * np.arange(10))
    np.testing.assert_array_equal(r2, 2.0 * np.arange(10).reshape(5, 2))


# the Python function to call
def warp_func(inputs, outputs, attrs, ctx):
    # input arrays
    a = inputs[0]
    b = inputs[1]

    # scalar attributes
    s = attrs["scale"]

    # output arrays
    c = outputs[0]
    d = outputs[1]

    device = wp.device_from_jax(get_jax_device())
    stream = wp.Stream(device, cuda_stream=ctx.stream)

    with wp.ScopedStream(stream):
        # launch with arrays of scalars
        wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])

        # launch with arrays of vec2
        # NOTE: the input shapes are from JAX arrays, so we need to strip the inner dimension for vec2 arrays
        wp.launch(scale_vec_kernel, dim=b.shape[0], inputs=[b, s], outputs=[d])


def test_generic_callbacks():
    # register callback
    register_ffi_callback("warp_func", warp_func)

    n = 10

    # inputs
    a = jnp.arange(n, dtype=jnp.float32)
    b = jnp.arange(n, dtype=jnp.float32).reshape((n // 2, 2))  # array of wp.vec2
    s = 2.0

    # set up the call
    out_types = [
        jax.ShapeDtypeStruct(a.shape, jnp.float32),
        jax.ShapeDtypeStruct(b.shape, jnp.float32),  # array of wp.vec2
    ]
    call = jax.ffi.ffi_call("warp_func", out_types)

    # call it
    c, d = call(a, b, scale=s)

    np.testing.assert_array_equal(c, 2.0 * np.arange(n))
    np.testing.assert_array_equal(d, 2.0 * np.arange(n).reshape(-1, 2))


def test_dlpack_both_ways():
    warp_array = wp.from_dlpack(jnp.arange(4.0))
    jax_array = jax.dlpack.from_dlpack(warp_array)
    assert jax_array.tolist() == [0.0, 1.0, 2.0, 3.0]
