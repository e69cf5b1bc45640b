"""Conversions through DLPack and NumPy share memory and leave nothing behind; torch and JAX are in their own tests."""

import gc
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
@pytest.mark.parametrize("convert", [
    through_dlpack, through_capsules, through_numpy, through_the_array_interface, through_torch,
])  # fmt: skip
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


@pytest.mark.parametrize("make", [jax_operators, torch_operators, tapes, graphs])
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
