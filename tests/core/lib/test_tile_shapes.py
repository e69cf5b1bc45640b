"""Views of tiles under other indices, and blocks copied into tiles, against NumPy's views, with gradients."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelError

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(13)


@wp.kernel
def written_views(a: wp.array2d[D], k: int, out: wp.array2d[D]):
    t = wp.tile_load(a, shape=(3, 4))
    u = wp.tile_transpose(t)
    u[3, 0] = t[1, 1] * t[0, 3]
    u += wp.tile_full((4, 3), 2.0, dtype=D)
    v = wp.tile_view(t, offset=(k, 1), shape=(2, 2))
    v *= v
    v[1, -1] += u[0, 0]
    row = wp.tile_view(t, offset=(k,))
    row -= wp.tile_view(t, offset=(0,))
    r = wp.tile_reshape(t, (2, -1))
    r[1, 5] = r[0, 0] * r[1, 5]
    w = wp.tile_transpose(wp.tile_view(r, (0, 2), shape=(2, 3)))
    w[2, 1] = 7.0 * w[0, 0]
    t[0] *= 3.0
    t[:, 2] += wp.tile_load(a[0], shape=3)
    t[::-1, ::2][0, 1] *= 5.0
    wp.tile_store(out, t)


def numpy_written_views(a, k=1):
    t = a.copy()
    t[0, 3] = t[1, 1] * t[0, 3]
    t += 2.0
    v = t[k : k + 2, 1:3]
    v *= v
    v[1, -1] += t[0, 0]
    t[k] -= t[0]
    r = t.reshape(2, 6)
    r[1, 5] = r[0, 0] * r[1, 5]
    w = r[:, 2:5].T
    w[2, 1] = 7.0 * w[0, 0]
    t[0] *= 3.0
    t[:, 2] += a[0, :3]
    t[::-1, ::2][0, 1] *= 5.0
    return t


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_written_through_a_view_is_in_the_tile(device):
    check(written_views, [rng.normal(size=(3, 4))], numpy_written_views, device, [1])


@wp.kernel
def read_views(a: wp.array3d[D], n: wp.array[int], out: wp.array2d[D], picked: wp.array3d[D]):
    t = wp.tile_load(a, shape=(1, 3, 2))
    s = wp.tile_squeeze(t)
    total = wp.tile_zeros((3, 2), dtype=D)
    total += wp.tile_broadcast(wp.tile_view(s, offset=(1,)), (3, 2))
    total += wp.tile_broadcast(wp.tile_view(s, offset=(0, 0), shape=(3, 1)), (3, 2)) * s
    wp.tile_assign(total, wp.tile_view(total, (1, 0), shape=(2, 2)), offset=(0, 0))  # both of the same memory
    total += wp.tile_transpose(wp.tile_reshape(s, (2, 3)))
    wp.tile_store(out, total)
    indices = wp.tile_load(n, shape=4)
    wp.tile_store(picked, wp.tile_slice_indexed(t, (slice(None), indices)))


def numpy_read_views(a, n=(2, 0, -1, 2)):
    s = a[0]
    total = np.zeros((3, 2)) + s[1] + s[:, :1] * s
    total[:2] = total[1:].copy()
    total += s.reshape(2, 3).T
    return total, a[:, list(n)]


@pytest.mark.parametrize("device", DEVICES)
def test_views_read_and_elements_by_number(device):
    numbers = wp.array([2, 0, -1, 2], dtype=int, device=device)
    check(read_views, [rng.normal(size=(1, 3, 2))], numpy_read_views, device, [numbers])


@pytest.mark.parametrize("device", DEVICES)
def test_a_tile_added_to_its_own_transpose(device):
    @wp.kernel
    def symmetric(a: wp.array2d[D], out: wp.array2d[D]):
        t = wp.tile_load(a, shape=(3, 3))
        t += wp.tile_transpose(t)
        wp.tile_store(out, t)

    check(symmetric, [rng.normal(size=(3, 3))], lambda a: a + a.T, device)


@wp.func
def doubled(t: wp.tile[D, 2, 2]):
    t *= D(2.0)
    return wp.tile_transpose(t)


@pytest.mark.parametrize("device", DEVICES)
def test_functions_take_views_and_return_them(device):
    @wp.kernel
    def halves(a: wp.array2d[D], out: wp.array2d[D]):
        t = wp.tile_load(a, shape=(2, 4))
        u = doubled(wp.tile_view(t, (0, 2), shape=(2, 2)))
        u[1, 0] = 5.0 * u[0, 0]
        wp.tile_store(out, t)

    def oracle(a):
        t = a.copy()
        t[:, 2:] *= 2.0
        t[0, 3] = 5.0 * t[0, 2]
        return t

    check(halves, [rng.normal(size=(2, 4))], oracle, device)


def refused(body, match):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4), wp.zeros((4, 4)), 1])


@pytest.mark.parametrize("device", DEVICES)
def test_the_length_of_a_tile_is_an_extent_of_others(device):
    @wp.kernel
    def sized(out: wp.array2d[D]):
        t = wp.tile_ones((2, 3), dtype=D)
        wp.tile_store(out, wp.tile_full((len(wp.tile_transpose(t)), len(t)), float(len(t[0])), dtype=D))

    out = wp.zeros((4, 4), dtype=D, device=device)
    wp.launch(sized, 1, inputs=[out], device=device, block_dim=1)
    assert np.array_equal(out.numpy(), np.pad(np.full((3, 2), 3.0), ((0, 1), (0, 2))))


def test_views_that_do_not_fit_are_refused():
    def cube(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_transpose(wp.tile_load(a, shape=4))

    def outside(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_view(wp.tile_load(b, shape=(4, 4)), (3, 0), shape=(2, 2))

    def count(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_reshape(wp.tile_load(b, shape=(4, 4)), (3, 5))

    def late(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_view(wp.tile_load(b, shape=(4, 4)), (0, 0), shape=(n, 2))

    def wide(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_squeeze(wp.tile_load(b, shape=(4, 4)), axis=0)

    def narrow(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_broadcast(wp.tile_load(a, shape=4), (4, 3))

    def type_(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_assign(wp.tile_load(a, shape=4), wp.tile_zeros(4, dtype=int))

    def moving(a: wp.array[float], b: wp.array2d[float], n: int):
        t = wp.tile_load(b, shape=(4, 4))
        a[0] = wp.tile_sum(wp.tile_transpose(t)[n:])[0]

    def element(a: wp.array[float], b: wp.array2d[float], n: int):
        a[0] = wp.tile_zeros((4, 2))[0, 2]

    def written(a: wp.array[float], b: wp.array2d[float], n: int):
        t = wp.tile_zeros((4, 2))
        t[-5] += 1.0

    def of_view(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_transpose(wp.tile_zeros((4, 2)))[2, 0] = 1.0

    def copies(a: wp.array[float], b: wp.array2d[float], n: int):
        t = wp.tile_zeros((4, 2))
        t[wp.tile_arange(4, dtype=int), :] = t

    refused(element, r"index 2 of axis 1 of local_array\(float32, shape=\(4, 2\)\)")
    refused(written, "index -5 of axis 0 of local_array")
    refused(of_view, "index 2 of an axis of 2")
    refused(copies, "elements of a tile at the numbers of another are a copy")
    refused(cube, r"the transpose of a tile of shape \(4,\)")
    refused(outside, "2 elements from 3 of an axis of 4")
    refused(count, r"shape \(3, 5\) for a tile of shape \(4, 4\)")
    refused(late, "the shape of a tile is")
    refused(wide, "axes .0. of a tile of shape")
    refused(narrow, r"a tile of shape \(4,\) does not broadcast to \(4, 3\)")
    refused(type_, "a tile of int32 into float32")
    refused(moving, "a slice of a tile is empty or has no constant bounds")
