"""What JAX's side refuses beside shapes and dtypes: devices, foreign programs, full tables, gradients on tapes."""

import types

import numpy as np
import pytest
from operator_kernels import Pair, number_last, pairs

import warpsim as wp

jax = pytest.importorskip("jax", reason="JAX is not installed")
interop = pytest.importorskip("warpsim.interop.jax.arrays")
jax_plans = pytest.importorskip("warpsim.interop.jax.plans")
jnp = jax.numpy
pytestmark = pytest.mark.cpu(reason="JAX on the CPU")


@wp.kernel
def scaled(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * s


@wp.kernel
def fresh(y: wp.array(dtype=float)):
    y[wp.tid()] = 1.0


def chain(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    wp.launch(scaled, len(x), [x, s], [y])


@pytest.mark.parametrize("act, error, message", [
    (lambda: wp.jax_kernel(3), wp.errors.ArgumentTypeError, "what jax_kernel makes a function of is 3"),
    (lambda: wp.jax_kernel(number_last), wp.errors.ArgumentTypeError, r"output 'y' of kernel 'number_last' is float32"),
    (lambda: wp.jax_kernel(pairs), wp.errors.ArgumentTypeError, r"'x' of kernel 'pairs' is array\(Pair[\s\S]*vectors"),
    (lambda: wp.jax_kernel(fresh)(), wp.errors.ArrayError, r"no array among its inputs\nhelp: name the threads"),
    (lambda: wp.jax_kernel(scaled)(jnp.ones(3), None), wp.errors.ArgumentTypeError,
     r"'s' of kernel 'scaled' is NoneType\nexpected: float32"),
    (lambda: wp.jax_kernel(scaled)(jnp.ones(3)), wp.errors.ArgumentCountError, "got 1 argument\nexpected: 2: x, s"),
    (lambda: wp.dtype_to_jax(Pair), TypeError, "has no JAX dtype\nexpected: a type of numbers"),
    (lambda: wp.dtype_to_jax("float"), TypeError, "'float' has no JAX dtype"),
])  # fmt: skip
def test_kernels_and_types_that_jax_cannot_have(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_threads_may_be_all_that_a_kernel_gets():
    assert wp.jax_kernel(fresh)(launch_dims=3)[0].tolist() == [1.0] * 3


@pytest.mark.parametrize("others, message", [([], r"found: \[\]"), (None, "JAX has no cuda:1: Unknown backend")])
def test_devices_that_jax_lacks(monkeypatch, others, message):
    class Second:
        shares_host_memory, ordinal = False, 1

        def __str__(self):
            return "cuda:1"

    def local_devices(backend):
        if others is None:
            raise RuntimeError(f"Unknown backend {backend}")
        return others

    monkeypatch.setattr(interop, "get_device", lambda name: Second())
    monkeypatch.setattr(interop.jax, "local_devices", local_devices)
    with pytest.raises(wp.errors.DeviceError, match=message):
        wp.device_to_jax("cuda:1")


def test_arrays_on_several_devices_are_refused(monkeypatch):
    x = jnp.ones(4)
    monkeypatch.setattr(type(x), "devices", lambda self: {"one", "two"})
    with pytest.raises(wp.errors.ArrayError, match="on 2 devices\nexpected: one device, a shard of it"):
        wp.from_jax(x)


@pytest.mark.parametrize("target", ["warpsim_native", "warpsim_python"])
@pytest.mark.parametrize("number", [0, 1, (1 << 20) - 1, 1 << 40, -1])
def test_plans_of_another_process_are_refused(target, number):
    """Programs name their plans by a digest, too: numbers alone, and those that no table has, start nothing."""
    f, x = jax.jit(lambda x: wp.jax_kernel(scaled)(x, 2.0)[0]), jnp.ones(3)
    assert f(x).tolist() == [2.0] * 3
    call = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((3,), jnp.float32))
    with pytest.raises(Exception, match="compiled by another process"):
        call(x, plan=np.array([number, 12345], np.int64)).block_until_ready()
    assert f(x).tolist() == [2.0] * 3


def test_more_plans_than_the_table_has_are_refused():
    full = types.SimpleNamespace(kept=range(jax_plans._MOST))
    with pytest.raises(wp.errors.LaunchError, match=r"1048576 calls of kernels are compiled.*\nexpected: fewer"):
        jax_plans.Plans.number(full, None)


def test_a_gradient_of_a_number_on_a_tape_is_an_error_of_jax():
    f = wp.jax_callable(chain)
    with pytest.raises(Exception, match=r"a gradient for 's' of function 'chain'[\s\S]*an array of one element"):
        jax.block_until_ready(jax.grad(lambda s: f(jnp.ones(3), s)[0].sum())(jnp.float32(2.0)))
    assert jax.grad(lambda x: f(x, 2.0)[0].sum())(jnp.ones(3)).tolist() == [2.0] * 3


@pytest.mark.parametrize("view", [wp.from_jax, lambda x: x, np.asarray])
def test_buffers_of_jax_are_not_written(view):
    x = jnp.zeros(3)
    with pytest.raises(wp.errors.ReadOnlyError, match=r"argument 'y' of kernel 'fresh' is read-only[\s\S]*copy"):
        wp.launch(fresh, 3, outputs=[view(x)])
    assert x.tolist() == [0.0] * 3
