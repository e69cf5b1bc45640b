"""Numbers that are constants of JAX's programs are told apart by their bits: 0.0 is not -0.0, and NaN is NaN."""

import numpy as np
import pytest
from test_signed_zeros import divide, divide_by_first

import warpsim as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy

pytestmark = pytest.mark.cpu(reason="programs of JAX for the CPU")


@wp.kernel
def divide_halves(x: wp.array[float], s: wp.float16, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / float(s)


@wp.kernel
def divide_brain_floats(x: wp.array[float], s: wp.bfloat16, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / float(s)


def divide_all(x: wp.array[float], s: float, y: wp.array[float]):
    wp.launch(divide, len(x), [x, s, y])


def itself(zero):
    return zero


def pair(zero):
    return wp.vec2(zero, 1.0)


WAYS = {
    "outside jit": lambda f, s: f(jnp.ones(2), s)[0],
    "jit": lambda f, s: jax.jit(lambda x: f(x, s)[0])(jnp.ones(2)),
    "vmap": lambda f, s: jax.vmap(lambda x: f(x, s)[0])(jnp.ones((3, 2))),
    "grad": lambda f, s: jax.grad(lambda x: f(x, s)[0].sum())(jnp.ones(2)),
    "grad in jit": lambda f, s: jax.jit(jax.grad(lambda x: f(x, s)[0].sum()))(jnp.ones(2)),
    "jvp": lambda f, s: jax.jvp(lambda x: f(x, s)[0], (jnp.ones(2),), (jnp.ones(2),))[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("make", "subject", "constant"),
    [
        (wp.jax_kernel, divide, itself),
        (wp.jax_kernel, divide_by_first, pair),
        (wp.jax_kernel, divide_halves, itself),
        (wp.jax_kernel, divide_brain_floats, itself),
        (wp.jax_callable, divide_all, itself),
    ],
)
def test_zeros_of_both_signs_are_two_constants(make, subject, constant, way):
    function = make(subject)
    for zero in (0.0, -0.0, 0.0):
        result = np.asarray(WAYS[way](function, constant(zero)))
        assert (result == np.copysign(np.inf, zero)).all(), zero


def test_both_zeros_in_one_program():
    function = wp.jax_kernel(divide)
    a, b = jax.jit(lambda x: (function(x, 0.0)[0], function(x, -0.0)[0]))(jnp.ones(1))
    assert (float(a[0]), float(b[0])) == (np.inf, -np.inf)


@pytest.mark.parametrize(("make", "subject"), [(wp.jax_kernel, divide), (wp.jax_callable, divide_all)])
def test_a_program_with_nan_is_compiled_once(make, subject):
    function, x = make(subject), jnp.ones(2)
    assert np.isnan(function(x, float("nan"))[0]).all()
    known = len(function.callee.compiled)
    for nan in (float("nan"), np.nan, np.float32("nan")):
        assert np.isnan(function(x, nan)[0]).all()
    assert len(function.callee.compiled) == known


@wp.kernel
def pick(x: wp.array[float], large: wp.uint32, minus: int, flag: wp.bool, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] * float(large) + float(minus)
    if flag:
        y[i] = -y[i]


def test_whole_numbers_and_truth_values_arrive_as_they_are():
    [y] = wp.jax_kernel(pick)(jnp.ones(1), 1 << 31, -3, True)
    assert float(y[0]) == -(np.float32(1 << 31) - np.float32(3.0))
