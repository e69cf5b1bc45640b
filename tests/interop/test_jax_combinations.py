"""Functions of JAX in combinations: subsets of arguments, of batches and of outputs, empty arrays, control flow."""

import numpy as np
import pytest
from operator_kernels import EACH, pair, repeated, squares

import warpsim as wp

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
pytestmark = pytest.mark.cpu(reason="JAX on the CPU")


@pytest.fixture(autouse=True)
def _wide():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def reference(a, b, s):
    return [jnp.sin(a) * b * s, a * b * b]


def function():
    return wp.jax_kernel(pair, num_outputs=2)


def args():
    return jnp.arange(1.0, 5.0), jnp.arange(2.0, 6.0), 0.5


def assert_same(transformed):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), *map(transformed, (function(), reference)))


@EACH
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_gradients_of_some_arguments_of_some_outputs(chosen, used):
    argnums = tuple(k for k in range(3) if chosen[k])

    def total(g):
        return lambda *x: sum((g(*x)[k] ** 2).sum() for k in used)

    for wrap in (lambda f: f, jax.jit, lambda f: jax.jit(jax.checkpoint(f))):
        assert_same(lambda g, wrap=wrap: jax.grad(wrap(total(g)), argnums)(*args()))


@EACH
def test_batches_of_some_arguments(chosen):
    many = (jnp.stack([args()[0] * k for k in (1, 2, 3)]), jnp.ones((4, 3)) * 1.5, jnp.array([0.1, 0.2, 0.3]))
    x = [m if c else a for m, a, c in zip(many, args(), chosen, strict=True)]
    axes = tuple(axis if c else None for axis, c in zip((0, 1, 0), chosen, strict=True))
    assert_same(lambda g: jax.vmap(g, axes)(*x))
    assert_same(lambda g: jax.vmap(jax.grad(lambda *x: sum(y.sum() for y in g(*x)), (0, 1, 2)), axes)(*x))


def test_numbers_static_and_traced():
    assert_same(lambda g: jax.jit(g, static_argnums=2)(*args()))
    assert_same(lambda g: jax.jit(g)(*args()))
    assert_same(lambda g: jax.jacfwd(lambda s: g(*args()[:2], s)[0])(0.5))


def test_tangents_of_nothing():
    a, b, s = args()
    assert_same(lambda g: jax.jvp(lambda a: g(a, b, s), (a,), (jnp.zeros(4),)))
    assert_same(lambda g: jax.jvp(lambda a, b: g(a, b, s), (a, b), (jnp.ones(4), jnp.zeros(4))))
    assert_same(lambda g: jax.linearize(lambda a, b: g(a, b, s), a, b)[1](a, b))
    assert_same(lambda g: jax.linear_transpose(jax.linearize(lambda a: g(a, b, s), a)[1], a)([a, b]))
    assert_same(lambda g: jax.grad(lambda a: g(jax.lax.stop_gradient(a), a, s)[0].sum())(a))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)])
def test_empty_arrays(shape):
    x = jnp.zeros(shape)
    run = (lambda g: g) if len(shape) == 1 else (lambda g: jax.vmap(g, (0, 0, None)))
    assert_same(lambda g: run(g)(x, x, 0.5))
    assert_same(lambda g: jax.grad(lambda *x: run(g)(*x)[0].sum(), (0, 1, 2))(x, x, 0.5))


def test_loops_and_branches():
    a, b, s = args()

    def steps(g):
        return lambda a: jax.lax.scan(lambda c, _: (g(c, b, s)[0], g(c, b, s)[1].sum()), a, None, length=3)

    def total(g):
        return lambda a: sum(x.sum() for x in steps(g)(a))

    assert_same(lambda g: (steps(g)(a), jax.grad(total(g))(a)))
    assert_same(lambda g: jax.hessian(total(g))(a))


def test_second_derivatives_by_a_number_in_batches():
    """Each member of a batch of numbers is an array without extents."""
    a, b, s = args()

    def by_number(g):
        return lambda s: sum(x.sum() for x in g(a, b, s))

    many = jnp.array([0.5, 1.0, -2.0])
    for transform in (jax.hessian, lambda f: jax.jacfwd(jax.grad(f)), lambda f: jax.jit(jax.hessian(f))):
        assert_same(lambda g, transform=transform: transform(by_number(g))(s))
    assert_same(lambda g: jax.vmap(jax.grad(jax.grad(by_number(g))))(many))
    assert_same(lambda g: jax.vmap(jax.hessian(by_number(g)))(many))


def test_branches_and_maps():
    a, b, s = args()
    assert_same(lambda g: jax.jit(lambda t: jax.lax.cond(t, lambda a: g(a, b, s)[0], lambda a: g(a, a, s)[1], a))(True))
    assert_same(lambda g: jax.lax.map(lambda a: g(a, b, s), jnp.stack([a, b])))


def test_integers_and_short_floats():
    f, n = wp.jax_kernel(repeated, num_outputs=2), jnp.arange(4, dtype=jnp.int32)
    gradient, m = jax.grad(lambda x: (lambda y, m: (y.sum(), m))(*f(n, x)), has_aux=True)(jnp.ones(4))
    assert gradient.tolist() == [0.0, 1.0, 2.0, 3.0] and m.tolist() == [0, 2, 4, 6]
    x = jnp.array([1.5, 2.0], jnp.bfloat16)
    g = jax.jit(jax.value_and_grad(lambda x: wp.jax_kernel(squares)(x)[0].sum()))
    value, gradient = g(x)
    assert float(value) == 6.25 and gradient.dtype == jnp.bfloat16 and gradient.tolist() == [3.0, 4.0]
