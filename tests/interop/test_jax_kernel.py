"""Kernels as functions of JAX, against the same functions in jnp: values and derivatives under all transformations."""

import copy
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from operator_kernels import F, advance, energy, product, twice_in_memory, waves

import warpsim as wp

jax = pytest.importorskip("jax", reason="JAX is not installed")
check_grads = pytest.importorskip("jax.test_util").check_grads
jax_plans = pytest.importorskip("warpsim.interop.jax.plans")
jnp = jax.numpy

pytestmark = pytest.mark.cpu(reason="JAX on the CPU")
HERE = Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def _wide():
    """64-bit numbers, for derivatives that can be checked."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@wp.kernel
def decay(x: F, k: F):
    """Changes what it reads, and its adjoint needs nothing of that."""
    i = wp.tid()
    x[i] = x[i] * k[i]


@wp.kernel
def square(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def power(x: F, n: int, y: F):
    i = wp.tid()
    y[i] = x[i] ** wp.float64(n)


def chain(x: F, k: F, y: F):
    between = wp.zeros(len(x), dtype=wp.float64, requires_grad=True)
    wp.launch(twice_in_memory, len(x), [x], [between])
    wp.launch(decay, len(x), [between, k])
    wp.launch(square, len(x), [between], [y])


def rand(*shape):
    return np.random.default_rng(len(shape)).uniform(0.3, 1.2, shape)


def first(f):
    """The first output of a function of JAX."""
    return lambda *args: f(*args)[0]


def changed(f):
    return lambda x, v: f(x, v, 0.1)


KERNELS = {
    "numbers": lambda: (lambda f: lambda a, b: f(a, b, 0.7)[0])(wp.jax_kernel(waves, num_outputs=2)),
    "a traced number": lambda: first(wp.jax_kernel(waves, num_outputs=2)),
    "sums": lambda: first(wp.jax_kernel(energy, output_dims=1)),
    "overwrites": lambda: first(wp.jax_kernel(twice_in_memory)),
    "in and out": lambda: changed(wp.jax_kernel(advance, num_outputs=2, in_out_argnames=["x", "v"])),
    "in place": lambda: first(wp.jax_kernel(decay, in_out_argnames="x")),
    "matrices": lambda: first(wp.jax_kernel(product, launch_dims=lambda a, b: (a.shape[0], b.shape[1]))),
    "a function": lambda: first(wp.jax_callable(chain)),
}
REFERENCES = {
    "numbers": (lambda a, b: jnp.sin(a) * b * b * 0.7, (rand(5), rand(5))),
    "a traced number": (lambda a, b, s: jnp.sin(a) * b * b * s, (rand(4), rand(4), 0.7)),
    "sums": (lambda x, p: ((x * x).sum(1) * (x @ p)).sum()[None], (rand(4, 3), rand(3))),
    "overwrites": (lambda x: x**4 + x, (rand(5),)),
    "in and out": (lambda x, v: [x * (v - x * x * v * 0.1) + x * x * 0.1, v - x * x * v * 0.1], (rand(3), 2 * rand(3))),
    "in place": (lambda x, k: x * k, (rand(3), 2 * rand(3))),
    "matrices": (lambda a, b: a @ b, (rand(2, 3), rand(3, 4))),
    "a function": (lambda x, k: ((x**4 + x) * k) ** 2, (rand(4), 2 * rand(4))),
}
EACH = pytest.mark.parametrize("name", KERNELS)


def case(name):
    reference, args = REFERENCES[name]
    return KERNELS[name](), reference, tuple(jnp.asarray(a) for a in args)


def assert_same(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12), found, expected)


@EACH
def test_values(name):
    f, reference, args = case(name)
    before = [np.array(a) for a in args]
    assert_same(f(*args), reference(*args))
    assert_same(jax.jit(f)(*args), reference(*args))
    assert_same(list(args), before)


@EACH
def test_derivatives(name):
    f, _, args = case(name)
    check_grads(jax.jit(f), args, order=1, modes=("fwd", "rev"))
    check_grads(f, args, order=2, modes=("rev",))
    check_grads(f, args, order=2, modes=("fwd",))


@pytest.mark.parametrize("name", ["numbers", "sums", "overwrites", "in place", "a function"])
def test_transformations(name):
    f, reference, args = case(name)

    def loss(function):
        return lambda x, *rest: sum((y**2).sum() for y in jax.tree.leaves(function(x, *rest)))

    many = jnp.stack([args[0] * s for s in (0.5, 1.0, 1.5)])
    rest = args[1:]
    for transformed in (
        lambda g: jax.grad(loss(g))(*args),
        lambda g: jax.jit(jax.vmap(lambda x: g(x, *rest)))(many),
        lambda g: jax.vmap(jax.grad(loss(g)), in_axes=(0, *(None for _ in rest)))(many, *rest),
        lambda g: jax.grad(lambda *r: jax.vmap(lambda x: loss(g)(x, *r))(many).sum(), argnums=0)(*rest) if rest else 0,
        lambda g: jax.vmap(jax.vmap(lambda x: g(x, *rest)))(jnp.stack([many, 2 * many])),
        lambda g: jax.hessian(loss(g))(*args),
        lambda g: jax.jvp(lambda x: g(x, *rest), (args[0],), (jnp.ones_like(args[0]),)),
    ):
        assert_same(transformed(f), transformed(reference))


@pytest.mark.parametrize("name", ["numbers", "in and out"])
def test_second_derivatives_in_other_inputs_than_the_first(name):
    """The first derivative is taken in one input alone, so the second has to add the other, in batches, too."""
    f, reference, args = case(name)
    rows = [jnp.stack([a, 2.0 * a]) for a in args]

    def total(g):
        return lambda *xs: sum((y**2).sum() for y in jax.tree.leaves(g(*xs)))

    for transformed in (
        lambda g: jax.jacrev(jax.grad(total(g), 0), 1)(*args),
        lambda g: jax.jacfwd(jax.jacrev(g, 1), 0)(*args),
        lambda g: jax.jacrev(jax.jacfwd(g, 0), 1)(*args),
        lambda g: jax.jacfwd(jax.jacfwd(g, 0), 1)(*args),
        lambda g: jax.vmap(jax.jacrev(jax.grad(total(g), 0), 1), in_axes=(None, 0))(args[0], rows[1]),
    ):
        assert_same(transformed(f), transformed(reference))


@pytest.mark.parametrize("name", ["numbers", "a function"])
def test_one_buffer_for_two_inputs_is_two_variables(name):
    f, reference, args = case(name)
    x = args[0]
    fixed = jax.lax.stop_gradient
    for transformed in (
        lambda g: jax.jit(lambda x: jax.jvp(lambda a: g(a, fixed(a)), (x,), (x,)))(x),
        lambda g: jax.jit(jax.hessian(lambda a: (g(a, fixed(a)) ** 2).sum()))(x),
        lambda g: jax.jit(jax.hessian(lambda a: (g(fixed(a), a) ** 2).sum()))(x),
    ):
        assert_same(transformed(f), transformed(reference))


def test_calls_without_jit():
    f, reference, args = case("numbers")
    with jax.disable_jit():
        assert_same(f(*args), reference(*args))
        assert_same(jax.grad(lambda a: f(a, args[1]).sum())(args[0]), jnp.cos(args[0]) * args[1] ** 2 * 0.7)


def test_simple_kernels_run_without_python(monkeypatch):
    """Values, tangents and gradients of a kernel whose adjoint reads inputs alone are native calls."""
    monkeypatch.setattr(jax_plans, "run", None)
    for name in ("numbers", "sums", "in place", "matrices"):
        f, reference, args = case(name)
        assert_same(jax.jit(f)(*args), reference(*args))
        grads = jax.jit(jax.grad(lambda *xs, f=f: f(*xs).sum()))(*args)
        assert_same(grads, jax.grad(lambda *xs, r=reference: r(*xs).sum())(*args))
        assert_same(
            *(
                jax.jit(lambda x, g=g, r=args[1:]: jax.jvp(lambda y: g(y, *r), (x,), (x,)))(args[0])
                for g in (f, reference)
            )
        )


def test_large_launches_use_threads_and_equal_launches():
    x = np.random.default_rng(0).normal(size=200_000)
    [y] = wp.jax_kernel(twice_in_memory)(jnp.asarray(x))
    out = wp.zeros(len(x), dtype=wp.float64)
    wp.launch(twice_in_memory, len(x), [wp.array(x)], [out])
    np.testing.assert_array_equal(np.asarray(y), out.numpy())


def test_sums_have_the_bits_of_launches():
    x = np.random.default_rng(0).normal(size=(100_000, 3))
    [y] = wp.jax_kernel(energy, output_dims=1)(jnp.asarray(x), (1.0, 2.0, 3.0))
    out = wp.zeros(1, dtype=wp.float64)
    wp.launch(energy, len(x), [wp.array(x, dtype=wp.vec3d), wp.vec3d(1.0, 2.0, 3.0)], [out])
    assert float(y[0]) == out.list()[0]


def test_buffers_are_changed_in_place_where_jax_gives_them_away():
    f = jax.jit(KERNELS["in place"](), donate_argnums=0)
    x, k = jnp.full(64, 3.0), jnp.full(64, 2.0)
    at = x.unsafe_buffer_pointer()
    y = f(x, k)
    assert y.unsafe_buffer_pointer() == at and x.is_deleted() and (np.asarray(y) == 6.0).all()


def test_outputs_are_counted_by_the_arguments_that_are_left():
    [y, n] = wp.jax_kernel(waves)(jnp.ones(3), jnp.ones(3), 1.0)
    assert y.shape == n.shape == (3,) and n.dtype == jnp.int32


def test_models_that_have_functions_are_copied():
    f = wp.jax_kernel(square)
    assert copy.deepcopy({"step": f})["step"] is f


def test_a_failed_assertion_is_an_error_of_jax():
    @wp.kernel
    def picky(x: F, y: F):
        i = wp.tid()
        assert x[i] < 0.5, "too large"
        y[i] = x[i]

    f = jax.jit(first(wp.jax_kernel(picky)))
    assert f(jnp.zeros(3)).shape == (3,)
    with pytest.raises(Exception, match="too large"):
        f(jnp.ones(3)).block_until_ready()
    assert f(jnp.zeros(3)).shape == (3,)


def test_what_a_function_raises_is_an_error_of_jax():
    def fails(x: F, y: F):
        raise ValueError(f"not {len(x)} of these")

    with pytest.raises(Exception, match="ValueError: not 3 of these"):
        wp.jax_callable(fails)(jnp.ones(3))[0].block_until_ready()


def test_callbacks_get_buffers_and_attributes():
    def scaled(inputs, outputs, attrs, ctx):
        assert ctx.stream == 0 and attrs["name"] == "s" and list(attrs["more"]) == [1, 2]
        wp.launch(square, len(inputs[0]), [inputs[0]], [outputs[0]])
        outputs[0] *= attrs["scale"]

    wp.register_ffi_callback("scaled_square", scaled)
    wp.register_ffi_callback("scaled_square", scaled)
    call = jax.ffi.ffi_call("scaled_square", jax.ShapeDtypeStruct((4,), jnp.float64))
    y = jax.jit(lambda x: call(x, scale=2.0, name="s", more=np.array([1, 2])))(jnp.arange(4.0))
    assert y.tolist() == [0.0, 2.0, 8.0, 18.0]
    with pytest.raises(wp.errors.LaunchError, match="another function"):
        wp.register_ffi_callback("scaled_square", print)


def test_a_kernel_without_derivatives():
    f = wp.jax_kernel(square, enable_backward=False)
    with pytest.raises(wp.errors.NotDifferentiableError, match="enable_backward=False"):
        jax.grad(lambda x: f(x)[0].sum())(jnp.ones(3))


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.jax_kernel(square)(jnp.ones(3, dtype=jnp.float32)), r"array of float32[\s\S]*astype\('float64'\)"),
        (lambda: wp.jax_kernel(square)(jnp.ones((3, 3))), r"shape \(3, 3\)"),
        (lambda: wp.jax_kernel(square)([1.0]), "is list"),
        (lambda: wp.jax_kernel(waves, num_outputs=2)(jnp.ones(3), jnp.ones(3)), "got 2 arguments"),
        (lambda: wp.jax_kernel(waves, num_outputs=2)(jnp.ones(3), jnp.ones(3), "x"), "'s' of kernel 'waves' is str"),
        (lambda: wp.jax_kernel(energy, output_dims=1)(jnp.ones((3, 3)), jnp.ones(2)), r"shape \(2,\)"),
        (lambda: wp.jax_kernel(power)(jnp.ones(3), jnp.float64(2.7)), r"'n' of kernel 'power' is an array of float64"),
        (lambda: wp.jax_kernel(square, vmap_method="all"), "vmap_method='all'"),
        (lambda: wp.jax_kernel(square)(jnp.ones(3), output_dims={"z": 3}), "names"),
    ],
)
def test_refusals(act, message):
    with pytest.raises(wp.errors.WarpsimError, match=message):
        act()


@pytest.mark.parametrize("platforms", [("cuda",), ("tpu",), ("cpu", "cuda")])
@pytest.mark.parametrize("transformed", [lambda f: f, lambda f: jax.grad(lambda x: f(x).sum()), jax.vmap])
def test_programs_for_other_devices_are_refused(platforms, transformed):
    f = jax.jit(transformed(lambda x: wp.jax_kernel(square)(x)[0]))
    traced = f.trace(jnp.ones((2, 3)) if transformed is jax.vmap else jnp.ones(3))
    with pytest.raises(wp.errors.DeviceError, match=rf"'square'[\s\S]*for {', '.join(platforms)}[\s\S]*from_jax"):
        traced.lower(lowering_platforms=platforms)


def test_wide_numbers_need_jax_to_have_them():
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(wp.errors.ArrayError, match="jax_enable_x64"):
        wp.jax_kernel(square)(jnp.ones(3))


def test_two_devices_of_one_process():
    done = subprocess.run([sys.executable, HERE / "jax_shards.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "devices", "agree"]


def test_two_processes():
    """A batch of simulations and its gradient over two processes have the numbers of one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(HERE / "jax_processes.py")]
    runs = [
        subprocess.Popen([*command, str(k), str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for k in range(2)
    ]
    for k, run in enumerate(runs):
        out, err = run.communicate(timeout=200)
        assert run.returncode == 0 and f"process {k} of 2 agrees with one process" in out, err
