"""Conversions through DLPack and NumPy share memory and leave nothing behind; torch and JAX are in their own tests."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp

pytestmark = pytest.mark.cpu


def through_dlpack(x, a):
    return wp.from_dlpack(x).ptr, np.from_dlpack(a).ctypes.data


def through_capsules(x, a):
    return wp.from_dlpack(x.__dlpack__()).ptr, wp.from_dlpack(wp.to_dlpack(a)).ptr


def through_numpy(x, a):
    return wp.array(x, copy=False).ptr, a.numpy().ctypes.data


def through_the_array_interface(x, a):
    return wp.from_numpy(x).dtype and x.ctypes.data, np.asarray(a).ctypes.data


def through_torch(x, a):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return wp.from_dlpack(torch.from_dlpack(x)).ptr, torch.from_dlpack(a).data_ptr()


@pytest.mark.slow
@pytest.mark.parametrize(
    "convert", [through_dlpack, through_capsules, through_numpy, through_the_array_interface, through_torch]
)
def test_fifty_thousand_conversions_take_no_memory(convert):
    x, a = np.zeros(4096, np.float32), wp.zeros(4096, dtype=float)
    assert convert(x, a) == (x.ctypes.data, a.ptr)

    def resident(times):
        for _ in range(times):
            convert(x, a)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident(5000)
    assert resident(50_000) - before < 400  # pages; a leak of one object each would be 750 or more


@wp.kernel
def scaled(a: wp.array(dtype=float), s: float, b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * s


def scaled_by_launch(a: wp.array(dtype=float), s: float, b: wp.array(dtype=float)):
    wp.launch(scaled, len(a), [a, s], [b])


def jax_operators():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.ones(64)
    wp.jax_kernel(scaled, launch_dims=lambda a, s: len(a))(x, 2.0)
    wp.jax_callable(scaled_by_launch)(x, 2.0)
    jax.grad(lambda x: wp.jax_kernel(scaled)(x, 2.0)[0].sum())(x)


def torch_operators():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.ones(64, requires_grad=True)
    for subject in (scaled, scaled_by_launch):
        wp.torch_op(subject, launch_dims=lambda a, s: len(a))(x, 2.0).sum().backward()


def tapes():
    a, b = (wp.ones(64, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(scaled, 64, [a, 2.0], [b])
    tape.backward(grads={b: wp.ones_like(b)})


def graphs():
    a, b = (wp.ones(64, dtype=float) for _ in range(2))
    with wp.ScopedCapture() as capture:
        wp.launch(scaled, 64, [a, 2.0], [b])
    wp.capture_launch(capture.graph)


def new_kernel():
    @wp.kernel
    def double(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        b[wp.tid()] = a[wp.tid()] * 2.0

    return double


def new_kernels_in_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    wp.torch_op(new_kernel())(torch.ones(64, requires_grad=True)).sum().backward()


@pytest.mark.assembled_one_in(1009)  # programs that wait to be assembled are kept
@pytest.mark.parametrize("make", [jax_operators, torch_operators, new_kernels_in_torch, tapes, graphs])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_made_anew_and_dropped_leaves_nothing(make):
    def left(times):
        for _ in range(times):
            make()
        gc.collect()
        return len(gc.get_objects()), int(Path("/proc/self/statm").read_text().split()[1])

    objects, pages = left(10)
    more_objects, more_pages = left(20)
    assert more_objects - objects < 20 and more_pages - pages < 20 * 150  # a compiled program of JAX takes 350 pages


def test_kernels_made_anew_for_jax_leave_neither_programs_nor_plans():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    plans = pytest.importorskip("warpsim.interop.jax.plans").plans()
    x = jax.numpy.ones(64)

    def dropped():
        kernel = new_kernel()
        assert float(wp.jax_kernel(kernel)(x)[0].sum()) == 128.0
        return weakref.ref(kernel)

    dropped()
    before = len(plans.kept)
    traces = [dropped() for _ in range(5)]
    gc.collect()
    assert [trace() for trace in traces] == [None] * 5
    assert len(plans.kept) == before  # equal launches of equal code share theirs


def in_jit(jax, kernel, x):
    function = wp.jax_kernel(kernel)
    return jax.jit(lambda x: function(x)[0])(x)


def in_a_function(jax, kernel, x):
    def doubled(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        wp.launch(kernel, len(a), [a, b])

    return wp.jax_callable(doubled)(x)[0]


@pytest.mark.parametrize("call", [in_jit, in_a_function])
def test_programs_of_jit_and_calls_through_python_keep_their_kernels(call):
    """As docs/interop/jax.md says."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    def dropped():
        kernel = new_kernel()
        assert float(call(jax, kernel, jax.numpy.ones(64)).sum()) == 128.0
        return weakref.ref(kernel)

    traces = [dropped() for _ in range(3)]
    gc.collect()
    assert all(trace() is not None for trace in traces)


def test_functions_of_jax_made_anew_of_one_kernel_share_their_programs():
    pytest.importorskip("jax", reason="JAX is not installed")
    kernel = new_kernel()
    callees = set()
    for _ in range(3):
        callees.add(id(wp.jax_kernel(kernel).callee))
        gc.collect()
    assert len(callees) == 1
