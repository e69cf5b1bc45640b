"""Arrays over JAX's buffers and JAX arrays over ours: one memory, and refusals of what cannot be shared."""

import gc
import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
pytestmark = pytest.mark.cpu(reason="buffers of JAX on the CPU")


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@pytest.mark.parametrize(
    "dtype",
    [wp.bool, wp.int8, wp.int32, wp.uint8, wp.uint16, wp.uint32, wp.float16, wp.float32, wp.bfloat16],
    ids=lambda t: t.__name__,
)
def test_one_memory_both_ways(dtype):
    x = jnp.arange(6).reshape(2, 3).astype(wp.dtype_to_jax(dtype))
    a = wp.from_jax(x)
    assert (a.dtype, a.shape, a.ptr) == (dtype, (2, 3), x.unsafe_buffer_pointer())
    own = wp.array(np.arange(6), dtype=dtype)
    y = wp.to_jax(own)
    assert y.unsafe_buffer_pointer() == own.ptr and y.dtype == x.dtype and wp.dtype_from_jax(y.dtype) is dtype
    np.testing.assert_array_equal(np.asarray(y), own.numpy())


def test_elements_are_trailing_extents():
    a = wp.from_jax(jnp.zeros((4, 3)), dtype=wp.vec3)
    assert a.shape == (4,) and a.dtype is wp.vec3
    assert wp.to_jax(wp.zeros(5, dtype=wp.mat22)).shape == (5, 2, 2)


def test_what_jax_cannot_have_in_place_is_copied():
    a = wp.array(np.arange(12.0), dtype=float)
    for view in (a[1:], a[::2], a.reshape((3, 4)).T):
        np.testing.assert_array_equal(np.asarray(wp.to_jax(view)), view.numpy())


def test_kernels_read_buffers_of_jax_and_do_not_write_to_them():
    x, y = jnp.arange(4.0), wp.zeros(4)
    wp.launch(double, 4, [wp.from_jax(x)], [y])
    assert y.list() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(wp.errors.ReadOnlyError, match="'y' of kernel 'double' is read-only"):
        wp.launch(double, 4, [y], [wp.from_jax(x)])


def test_devices_and_types():
    cpu = jax.local_devices(backend="cpu")[0]
    assert wp.device_from_jax(cpu) == "cpu" and wp.device_to_jax("cpu") == cpu
    assert wp.dtype_to_jax(wp.vec3) == jnp.float32 and wp.dtype_from_jax(jnp.int32) is wp.int32
    with pytest.raises(TypeError, match="no scalar type"):
        wp.dtype_from_jax(jnp.complex64)
    with pytest.raises(RuntimeError, match="is JAX's"):
        wp.device_from_jax("tpu")


@wp.struct
class Pair:
    a: float


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.from_jax(np.zeros(3)), "jax_array is ndarray"),
        (lambda: jax.jit(lambda x: wp.from_jax(x).shape[0])(jnp.zeros(3)), "traced JAX array"),
        (lambda: wp.from_jax(jnp.zeros((4, 2)), dtype=wp.vec3), r"trailing extents \(3,\)"),
        (lambda: wp.from_jax(jnp.float32(3.0)), "without extents"),
        (lambda: wp.from_jax(jnp.zeros(3), dtype=int), "float32 of shape"),
        (lambda: wp.to_jax(jnp.zeros(3)), "a warpsim array"),
        (lambda: wp.to_jax(wp.zeros(3, dtype=Pair)), "structs"),
        (lambda: wp.to_jax(wp.zeros(3, dtype=wp.float64)), "jax_enable_x64"),
    ],
)
def test_refusals(act, message):
    with pytest.raises(wp.errors.WarpsimError, match=message):
        act()


@pytest.mark.slow
def test_forty_thousand_conversions_take_no_memory(times=40_000):
    x, a = jnp.arange(4096.0), wp.zeros(4096, dtype=float)

    def resident(times):
        for _ in range(times):
            wp.from_jax(x)
            wp.to_jax(a)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    sizes = [resident(times // 4) for _ in range(4)]
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    assert min(grown) < times // 40, grown  # pages; a leak of an object each time would be more, an eighth of a page


def test_an_older_jax_is_refused(monkeypatch):
    monkeypatch.setattr(jax, "__version__", "0.4.38")
    source = importlib.util.find_spec("warpsim.interop.jax.arrays")
    with pytest.raises(wp.errors.MissingPackageError, match=r"JAX 0.4.38 is installed[\s\S]*0.7 or newer[\s\S]*pip"):
        source.loader.exec_module(importlib.util.module_from_spec(source))
