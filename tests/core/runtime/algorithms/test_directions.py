"""Derivatives along a direction through `wp.utils` and copies: jvp and hvp against central differences."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import GradientError

N = 6


@wp.kernel
def squares(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = wp.cw_mul(x[i], x[i])


@wp.kernel
def scalar_squares(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def weigh(y: wp.array(dtype=Any), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(i + 1) * wp.float64(wp.dot(y[i], y[i])))


@wp.kernel
def scalar_weigh(y: wp.array(dtype=Any), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(i + 1) * wp.float64(y[i] * y[i]))


def scalar(dtype):
    return dtype is not wp.vec3d


def new(shape, dtype):
    return wp.zeros(shape, dtype=dtype, requires_grad=True)


def scan(inclusive):
    def step(a):
        out = new(a.shape, a.dtype)
        wp.utils.array_scan(a, out, inclusive=inclusive)
        return out

    return step


def scan_in_place(a):
    wp.utils.array_scan(a, a)
    return a


def total(**options):
    def step(a):
        matrix = a.reshape((2, 3))
        shape = {None: 1, 0: (1, 3), 1: (2, 1)}[options.get("axis")]
        return wp.utils.array_sum(matrix, out=new(shape, a.dtype), **options)

    return step


def inner(**options):
    def step(a):
        other, matrix = wp.clone(a), a.reshape((2, 3))
        wp.utils.array_scan(a, other)
        shape = {None: 1, 0: (1, 3), 1: (2, 1)}[options.get("axis")]
        scalar_type = a.dtype if scalar(a.dtype) else wp.float64
        out = wp.utils.array_inner(matrix, other.reshape((2, 3)), out=new(shape, scalar_type), **options)
        other.zero_()  # what the transpose needs is gone from the array
        return out

    return step


def inner_with_itself(a):
    return wp.utils.array_inner(a, a, out=new(1, a.dtype if scalar(a.dtype) else wp.float64))


def cast(dtype, count=None):
    def step(a):
        out = new(a.shape, dtype)
        wp.utils.array_cast(a, out, count)
        return out

    return step


def cast_to_components(a):
    out = new(a.size * 3, wp.float64)
    wp.utils.array_cast(a, out, count=2)
    return out


def sort(a):
    keys = wp.array([3, 1, 2, 1, 0, 0], dtype=int)
    wp.utils.radix_sort_pairs(keys, a, 3)
    return a


def sort_keys(a):
    moved = wp.array([1, 0, 2, 0, 0, 0], dtype=int)
    wp.utils.radix_sort_pairs(a, moved, 3)
    wp.utils.radix_sort_pairs(a, moved, 2)
    return a


def sort_segments(a):
    keys, bounds = wp.array([3, 1, 2, 9, 9, 9], dtype=int), wp.array([0, 1, 3], dtype=int)
    wp.utils.segmented_sort_pairs(keys, a, 3, bounds)
    bounds.zero_()
    return a


def run_lengths(a):
    out = new(N, a.dtype)
    out.fill_(0.5)
    wp.copy(a, a, dest_offset=2, src_offset=1, count=1)
    wp.utils.runlength_encode(a, out, wp.zeros(N, dtype=int), value_count=5)
    a.zero_()
    return out


def copies(a):
    out = new(N, a.dtype)
    wp.copy(out, a, dest_offset=1, src_offset=2, count=3)
    out[4:6].assign(a[0:2])
    wp.copy(a, out)
    return a


def copy_backwards(a):
    out = new(N, a.dtype)
    wp.copy(out[::2], a[1::2])
    return wp.clone(out)


def picked(step):
    """The same with an operand seen through a table, which changes afterwards."""

    def through_table(a):
        table = wp.array([4, 0, 1, 1, 5, 2], dtype=int)
        out = step(wp.indexedarray(a, [table]))
        table.zero_()
        a.zero_()
        return out

    return through_table


def scan_of(a):
    out = new(a.shape, a.dtype)
    wp.utils.array_scan(a, out)
    return out


def inner_of(a):
    return wp.utils.array_inner(a, wp.array(np.arange(1.0, N + 1), dtype=a.dtype), out=new(1, a.dtype))


SCALARS = {
    "scan": scan(True), "exclusive scan": scan(False), "scan in place": scan_in_place, "sum": total(),
    "sum of some": total(value_count=4), "sum over rows": total(axis=0), "sum over columns": total(axis=1),
    "sum over some columns": total(axis=1, value_count=2), "inner": inner(), "inner of some": inner(count=4),
    "inner over rows": inner(axis=0), "inner over some columns": inner(axis=1, count=2),
    "inner with itself": inner_with_itself, "cast": cast(wp.float64), "cast of some": cast(wp.float64, 4),
    "sort": sort, "sort of keys": sort_keys, "segmented sort": sort_segments, "run lengths": run_lengths,
    "copies": copies, "strided copy": copy_backwards, "scan of picked": picked(scan_of),
    "inner of picked": picked(inner_of), "sum of picked": picked(lambda a: wp.utils.array_sum(a, out=new(1, a.dtype))),
    "cast of picked": picked(lambda a: cast(wp.float64)(a)),
}  # fmt: skip
VECTORS = {"scan": scan(True), "exclusive scan": scan(False), "sum": total(), "sum of some": total(value_count=4)}
VECTORS |= {"sum over rows": total(axis=0), "sum over some columns": total(axis=1, value_count=2), "inner": inner()}
VECTORS |= {"inner over some columns": inner(axis=1, count=2), "inner with itself": inner_with_itself}
VECTORS |= {"cast to components": cast_to_components, "sort": sort, "segmented sort": sort_segments}
VECTORS |= {"run lengths": run_lengths, "copies": copies, "strided copy": copy_backwards}
CASES = [(name, wp.float64) for name in SCALARS] + [(name, wp.vec3d) for name in VECTORS]


def loss_of(name, dtype, values):
    """Squares of x, the operation, and weighed squares of its result: the tape, x and the loss."""
    step = (SCALARS if scalar(dtype) else VECTORS)[name]
    x, loss = wp.array(values, dtype=dtype, requires_grad=True), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    a = new(N, dtype)
    with wp.Tape() as tape:
        wp.launch(scalar_squares if scalar(dtype) else squares, N, inputs=[x], outputs=[a])
        out = step(a)
        flat = out.flatten() if out.ndim > 1 else out
        wp.launch(scalar_weigh if scalar(out.dtype) else weigh, flat.size, inputs=[flat, loss])
    return tape, x, loss


def gradient(name, dtype, values):
    tape, x, loss = loss_of(name, dtype, values)
    tape.backward(loss)
    return x.grad.numpy()


@pytest.fixture(params=["cpu", "interp"])
def place(request):
    with wp.ScopedDevice(request.param):
        yield request.param


def point(dtype):
    rng = np.random.default_rng(7)
    shape = (N,) if scalar(dtype) else (N, 3)
    return rng.uniform(0.5, 1.5, shape), rng.normal(size=shape)


@pytest.mark.cpu(reason="both devices of the host are asked for")
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_jvp_and_hvp_agree_with_differences(name, dtype, place):
    x0, u = point(dtype)
    h = 1e-6
    tape, x, loss = loss_of(name, dtype, x0)
    values = [loss_of(name, dtype, x0 + s * h * u)[2].numpy()[0] for s in (1, -1)]
    along = wp.autograd.jvp(tape, tangents={x: u})[loss].numpy()[0]
    assert along == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6)
    gradients = [gradient(name, dtype, x0 + s * h * u) for s in (1, -1)]
    product = wp.autograd.hvp(tape, loss=loss, vector={x: u})[x].numpy()
    assert np.allclose(product, (gradients[0] - gradients[1]) / (2 * h), rtol=1e-6, atol=1e-6)
    assert np.sum(gradient(name, dtype, x0) * u) == pytest.approx(along, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in SCALARS if "cast" not in name])
def test_directions_in_single_precision(name):
    x0, u = point(wp.float64)
    results = []
    for dtype in (wp.float32, wp.float64):
        tape, x, loss = loss_of(name, dtype, x0)
        along = wp.autograd.jvp(tape, tangents={x: u})[loss].numpy()
        results.append((along, wp.autograd.hvp(tape, loss=loss, vector={x: u})[x].numpy()))
    for single, double in zip(*results, strict=True):
        assert np.allclose(single, double, rtol=1e-4, atol=1e-4)


def test_arrays_without_gradient_kept_no_order():
    x, keys = wp.array([1.0, 2.0, 0.0, 0.0], dtype=float), wp.array([2, 1, 0, 0], dtype=int)
    with wp.Tape() as tape:
        wp.utils.radix_sort_pairs(keys, x, 2)
    with pytest.raises(GradientError, match=r"the arrays of wp\.utils\.radix_sort_pairs, .* had no gradients"):
        wp.autograd.jvp(tape, tangents={x: np.ones(4)})


def test_an_array_that_lost_its_gradient_stops_second_order_gradients():
    x, y, z = (wp.ones(3, dtype=wp.float64, requires_grad=True) for _ in range(3))
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_scan(x, y)
        wp.copy(z, y)
        wp.utils.array_inner(z, z, out=loss)
    y.requires_grad = False
    product = wp.autograd.hvp(tape, loss=loss, vector={z: np.ones(3)})
    assert (product[z].numpy().tolist(), product[x].numpy().tolist()) == ([0.0] * 3, [0.0] * 3)
