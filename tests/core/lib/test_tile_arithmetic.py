"""Arithmetic of tiles, element by element and along axes, against NumPy, with gradients."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelError

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(7)
M, N = 2, 3


@wp.func
def blend(x: D, y: D, s: D):
    return x * y + wp.sin(x) * s


@wp.kernel
def operators(a: wp.array2d[D], b: wp.array2d[D], out: wp.array3d[D]):
    x, y = wp.tile_load(a, shape=(M, N)), wp.tile_load(b, shape=(M, N))
    s = x[1, 2]
    results = wp.tile_zeros((10, M, N), dtype=D)
    wp.tile_assign(results, wp.tile_reshape(x + y, (1, M, N)))
    wp.tile_assign(results, wp.tile_reshape(x - y * 2.0, (1, M, N)), offset=(1, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(-x * y, (1, M, N)), offset=(2, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(x / y, (1, M, N)), offset=(3, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(s * x - 1.0, (1, M, N)), offset=(4, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(1.0 / y, (1, M, N)), offset=(5, 0, 0))
    x += y
    x *= 3.0
    x -= y * y
    x[0, -1] += s
    x[1, 0] = s * x[0, 0]
    wp.tile_assign(results, wp.tile_reshape(x, (1, M, N)), offset=(6, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(wp.tile_map(blend, x, y, s), (1, M, N)), offset=(7, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(wp.tile_map(wp.exp, y), (1, M, N)), offset=(8, 0, 0))
    wp.tile_assign(results, wp.tile_reshape(wp.tile_map(lambda u: u * s, y), (1, M, N)), offset=(9, 0, 0))
    wp.tile_store(out, results)


def numpy_operators(a, b):
    s = a[1, 2]
    results = [a + b, a - 2 * b, -a * b, a / b, s * a - 1.0, 1.0 / b]
    x = (a + b) * 3.0 - b * b
    x[0, -1] += s
    x[1, 0] = s * x[0, 0]
    return np.stack([*results, x, x * b + np.sin(x) * s, np.exp(b), b * s])


@pytest.mark.parametrize("device", DEVICES)
def test_operators_and_maps(device):
    a, b = rng.normal(size=(M, N)), rng.uniform(0.5, 2.0, (M, N))
    check(operators, [a, b], numpy_operators, device)


@wp.kernel
def reductions(a: wp.array3d[D], out: wp.array[D], rows: wp.array2d[D], columns: wp.array2d[D], deep: wp.array2d[D]):
    t = wp.tile_load(a, shape=(2, 3, 4))
    out[0] = wp.tile_sum(t)[0]
    out[1] = wp.tile_max(t)[0]
    out[2] = wp.tile_min(t)[0]
    out[3] = wp.tile_reduce(wp.mul, t)[0]
    out[4] = wp.tile_extract(t, 1, 2, 3)
    out[5] = D(wp.tile_argmax(t)[0] * 100 + wp.tile_argmin(t)[0])
    out[6] = wp.tile_sum(wp.tile_view(t, (1, 2)), axis=0)[0]
    out[7] = D(len(t) * 100 + t.shape[2] * 10 + t.ndim)
    wp.tile_store(rows, wp.tile_sum(t, axis=0))
    wp.tile_store(columns, wp.tile_reduce(wp.max, t, axis=1))
    wp.tile_store(deep, wp.tile_sum(t * t, axis=-1))


def numpy_reductions(a):
    places = float(a.argmax() * 100 + a.argmin())
    out = np.array([a.sum(), a.max(), a.min(), a.prod(), a[1, 2, 3], places, a[1, 2].sum(), 243.0])
    return out, a.sum(0), a.max(1), (a * a).sum(2)


@pytest.mark.parametrize("device", DEVICES)
def test_reductions_of_all_elements_and_along_axes(device):
    check(reductions, [rng.normal(size=(2, 3, 4))], numpy_reductions, device)


@wp.kernel
def vectors(a: wp.array[wp.vec3d], m: wp.array[wp.mat22d], out: wp.array[wp.vec3d], sums: wp.array[wp.mat22d]):
    t, q = wp.tile_load(a, shape=4), wp.tile_load(m, shape=2)
    wp.tile_store(out, wp.tile_sum(wp.tile_map(wp.cross, t, wp.vec3d(D(1.0), D(2.0), D(3.0)))))
    wp.tile_store(out, wp.tile_max(t), offset=1)
    out[2] = wp.vec3d(wp.tile_extract(t, 1, 2), t[2][0], t[3, 1])
    wp.tile_store(sums, wp.tile_sum(q * D(2.0)))
    sums[1] = wp.matrix_from_rows(q[1, 0], q[0, 1])


@pytest.mark.parametrize("device", DEVICES)
def test_tiles_of_vectors_and_matrices(device):
    a, m = rng.normal(size=(4, 3)), rng.normal(size=(2, 2, 2))
    with wp.ScopedDevice(device):
        out, sums = wp.zeros(3, dtype=wp.vec3d), wp.zeros(2, dtype=wp.mat22d)
        inputs = [wp.array(a, dtype=wp.vec3d), wp.array(m, dtype=wp.mat22d)]
        wp.launch(vectors, 1, inputs=[*inputs, out, sums], block_dim=1)
    crossed = np.cross(a, [1.0, 2.0, 3.0]).sum(0)
    np.testing.assert_allclose(out.numpy(), [crossed, a.max(0), [a[1, 2], a[2, 0], a[3, 1]]], rtol=1e-13)
    np.testing.assert_allclose(sums.numpy(), [2.0 * m.sum(0), [m[1, 0], m[0, 1]]], rtol=1e-13)


@pytest.mark.parametrize("device", DEVICES)
def test_integers_and_conversions(device):
    @wp.kernel
    def whole(a: wp.array[int], out: wp.array[int], floats: wp.array[float]):
        t, u = wp.tile_load(a, shape=4), wp.tile_arange(4, dtype=int)
        wp.tile_store(out, ((t & u) | 8) ^ u)
        floats[0] = wp.tile_sum(wp.tile_astype(t, float) * 0.5)[0]
        wp.tile_store(out, wp.tile_astype(wp.tile_astype(t, float) / 2.0, int), offset=4)

    with wp.ScopedDevice(device):
        out, floats = wp.zeros(8, dtype=int), wp.zeros(1)
        wp.launch(whole, 1, inputs=[wp.array([5, 6, -7, 11], dtype=int), out, floats], block_dim=1)
    a, u = np.array([5, 6, -7, 11]), np.arange(4)
    assert np.array_equal(out.numpy(), [*(((a & u) | 8) ^ u), *np.trunc(a / 2)])
    assert floats.numpy()[0] == a.sum() * 0.5


@wp.func
def scaled(t: wp.tile[D, 4], s: D):
    return t * s


@wp.func
def normalized(t: wp.tile(dtype=D, shape=(2, 2))):
    return t / wp.sqrt(wp.tile_sum(t * t)[0])


@wp.func
def raised(t: wp.tile[D, 4]):
    t += wp.tile_ones(4, dtype=D)
    t[0] = D(0.0)


@wp.kernel
def through_functions(a: wp.array[D], out: wp.array[D]):
    t = wp.tile_load(a, shape=4)
    u = scaled(t, t[0])
    raised(u)
    v = normalized(wp.tile_reshape(t, (2, 2)))
    wp.tile_store(out, u + wp.tile_reshape(v, 4) + scaled(wp.tile_view(t, 0, shape=4), D(0.5)))


@pytest.mark.parametrize("device", DEVICES)
def test_tiles_go_through_functions(device):
    def oracle(a):
        u = a * a[0] + 1.0
        u[0] = 0.0
        return u + a / np.sqrt((a * a).sum()) + 0.5 * a

    check(through_functions, [rng.normal(size=4)], oracle, device)


def refused(body, match):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4), wp.zeros((4, 4))])


def test_tiles_that_do_not_go_together_are_refused():
    def shapes(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_store(a, wp.tile_load(a, shape=4) + wp.tile_load(a, shape=3))

    def types(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_store(a, wp.tile_load(a, shape=4) + wp.tile_zeros(4, dtype=D))

    def two(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_store(a, wp.tile_map(pair, wp.tile_load(a, shape=4)))

    def axis(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_sum(wp.tile_load(b, shape=(2, 2)), axis=2)

    def number(a: wp.array[float], b: wp.array2d[float]):
        a[0] = wp.tile_load(a, shape=4)

    def other(a: wp.array[float], b: wp.array2d[float]):
        a[0] = wp.tile_reduce(to_int, wp.tile_load(a, shape=4))[0]

    def function(a: wp.array[float], b: wp.array2d[float]):
        scaled(wp.tile_zeros(5, dtype=D), D(1.0))

    def extract(a: wp.array[float], b: wp.array2d[float]):
        a[0] = wp.tile_extract(wp.tile_load(b, shape=(2, 2)), 1)

    refused(shapes, r"tiles of shapes \(4,\) and \(3,\)")
    refused(types, "no overload for .float32, float64")
    refused(two, "returns .* one value|returns")
    refused(axis, r"axis 2 .* of a tile of 2 dimensions\n(.*\n)*\s*expected: an integer constant from -2 to 1")
    refused(number, "the value stored is local_array")
    refused(other, "the operation makes int32 of elements float32")
    refused(function, "no overload for")
    refused(extract, "1 index for a tile of 2 dimensions")


@wp.func
def pair(x: float):
    return x, x


@wp.func
def to_int(x: float, y: float):
    return int(x + y)
