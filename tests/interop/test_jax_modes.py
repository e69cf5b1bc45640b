"""Options of functions of JAX as Warp has them: side effects, blocks of threads, graph modes, preloading."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

pytestmark = pytest.mark.cpu(reason="programs of JAX launch kernels on the CPU alone")

Floats = wp.array(dtype=float)
calls = []


@wp.kernel
def twice(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def telling(x: Floats, y: Floats):
    i = wp.tid()
    print(x[i])
    y[i] = 2.0 * x[i]


@wp.kernel
def by_width(x: Floats, y: Floats):
    i = wp.tid()
    y[i] = x[i] * x[i] * float(wp.block_dim())


def counted(x: Floats, y: Floats):
    calls.append(x.numpy().copy())
    wp.launch(twice, x.shape, inputs=[x], outputs=[y])


@pytest.fixture(autouse=True)
def fresh():
    calls.clear()


def unused(function):
    """A program that does not need what the function returns."""

    def program(x):
        function(x)
        return x + 1.0

    return program


X = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize("stays", [False, True])
def test_a_call_whose_results_nobody_needs(stays):
    function = wp.jax_callable(counted, has_side_effect=stays)
    np.testing.assert_array_equal(jax.jit(unused(function))(X), X + 1.0)
    assert len(calls) == stays
    jax.jit(jax.vmap(unused(function)))(np.stack([X, 2.0 * X])).block_until_ready()
    assert [list(x) for x in calls] == [[1, 2, 3], [1, 2, 3], [2, 4, 6]] * stays
    calls.clear()
    carried, _ = jax.lax.scan(lambda c, _: (unused(function)(c), None), X, None, length=3)
    np.testing.assert_array_equal(carried, X + 3.0)
    assert [x[0] for x in calls] == [1.0, 2.0, 3.0] * stays
    calls.clear()
    jax.lax.cond(X[0] > 0.0, unused(function), lambda x: x, X).block_until_ready()
    assert len(calls) == stays


@pytest.mark.parametrize("stays", [False, True])
def test_a_kernel_with_side_effects_runs_though_nobody_needs_its_results(stays, capfd):
    jax.jit(unused(wp.jax_kernel(telling, has_side_effect=stays)))(X).block_until_ready()
    jax.effects_barrier()
    assert sorted(capfd.readouterr().out.split()) == ["1", "2", "3"] * stays


def test_a_call_with_side_effects_has_derivatives_all_the_same():
    for function in (wp.jax_kernel(twice, has_side_effect=True), wp.jax_callable(counted, has_side_effect=True)):
        slope = jax.jit(jax.grad(lambda x, f=function: (f(x)[0] ** 2).sum()))(X)
        np.testing.assert_allclose(slope, 8.0 * X)
        (value,), (moved,) = jax.jvp(function, (X,), (np.ones_like(X),))
        np.testing.assert_allclose((value, moved), (2.0 * X, np.full(3, 2.0)))
    assert len(calls) >= 2


@pytest.mark.parametrize(("switch", "width"), [(True, 4), (True, 1), (False, 1)])
def test_blocks_of_threads(monkeypatch, switch, width):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", switch)
    function = wp.jax_kernel(by_width, block_dim=4 if width == 4 or not switch else None)
    np.testing.assert_array_equal(jax.jit(function)(X)[0], width * X**2)
    np.testing.assert_allclose(jax.grad(lambda x: function(x)[0].sum())(X), 2.0 * width * X)
    np.testing.assert_allclose(jax.jvp(function, (X,), (X,))[1][0], 2.0 * width * X**2)
    total = jax.hessian(lambda x: function(x)[0].sum())(X)
    np.testing.assert_allclose(total, 2.0 * width * np.eye(3))


@pytest.mark.parametrize("block_dim", [1025, 2.5, "64"])
def test_blocks_that_cannot_be(block_dim):
    with pytest.raises(ValueError, match="at most 1024 on CPUs"):
        wp.jax_kernel(twice, block_dim=block_dim)


def test_graph_modes_of_this_package_are_refused_on_the_cpu():
    modes = wp.JaxCallableGraphMode
    assert [int(m) for m in modes] == [0, 1, 2, 3, 4]
    for mode in (modes.NONE, modes.JAX, 0, 1):
        np.testing.assert_array_equal(wp.jax_callable(counted, 1, mode)(X)[0], 2.0 * X)
    for mode in (modes.WARP, modes.WARP_STAGED, modes.WARP_STAGED_EX):
        function = wp.jax_callable(counted, graph_mode=mode, stage_in_argnames=["x"], stage_out_argnames=("y",))
        for call in (function, jax.jit(function)):
            with pytest.raises(Exception, match=f"graph_mode {mode.name} in a program of JAX for cpu"):
                call(X)
    for other in ("warp", None, 5):
        with pytest.raises(ValueError, match="is not a valid JaxCallableGraphMode"):
            wp.jax_callable(counted, graph_mode=other)


@pytest.mark.parametrize("option", ["stage_in_argnames", "stage_out_argnames"])
def test_names_of_staged_arrays(option):
    for names in (["z"], "x", ["x", "w"]):
        with pytest.raises(ArgumentTypeError, match=f"{option} has .*\nexpected: a list of names among x, y"):
            wp.jax_callable(counted, **{option: names})
    for names in (None, [], ["x", "y"]):
        assert wp.jax_callable(counted, **{option: names})(X)[0][0] == 2.0


def test_modes_of_preloading_change_no_result():
    modes = wp.JaxModulePreloadMode
    for mode in (*modes, 0, 2):
        assert wp.jax_kernel(twice, module_preload_mode=mode)(X)[0][2] == 6.0
        assert wp.jax_callable(counted, module_preload_mode=mode)(X)[0][2] == 6.0
    for make in (
        lambda m: wp.jax_kernel(twice, module_preload_mode=m),
        lambda m: wp.jax_callable(counted, module_preload_mode=m),
    ):
        for other in ("all", None, 3):
            with pytest.raises(ValueError, match="is not a valid JaxModulePreloadMode"):
                make(other)


def test_no_graphs_to_forget():
    function = wp.jax_callable(counted, graph_cache_max=None)
    wp.clear_jax_callable_graph_cache()
    wp.clear_jax_callable_graph_cache(function)
    assert function(X)[0][0] == 2.0
    with pytest.raises(ArgumentTypeError, match="callable is"):
        wp.clear_jax_callable_graph_cache(counted)


def test_the_order_of_parameters_is_that_of_scripts_written_for_warp():
    kernel = (
        "kernel num_outputs vmap_method launch_dims output_dims in_out_argnames module_preload_mode enable_backward"
    )
    assert [*inspect.signature(wp.jax_kernel).parameters] == f"{kernel} has_side_effect block_dim".split()
    function = (
        "func num_outputs graph_mode vmap_method output_dims in_out_argnames stage_in_argnames stage_out_argnames"
    )
    last = "graph_cache_max module_preload_mode has_side_effect enable_backward"
    assert [*inspect.signature(wp.jax_callable).parameters] == f"{function} {last}".split()


def test_copies_have_all_options():
    modes = wp.JaxCallableGraphMode
    for one in (
        wp.jax_callable(counted, graph_mode=modes.WARP, has_side_effect=True),
        wp.jax_kernel(twice, block_dim=64),
    ):
        again = pickle.loads(pickle.dumps(one))
        assert copy.copy(one) is one
        assert again.options == one.options
