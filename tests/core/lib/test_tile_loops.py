"""Names of tiles that loops and branches rebind: values against NumPy, or a refusal where names would part."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelError, UnassignedLocalWarning

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(17)


@wp.func
def relax(x: D):
    return x - D(0.1) * x * x


@wp.func
def relaxed(t: wp.tile[D, 4]):
    return wp.tile_map(relax, t)


@wp.kernel
def carried(a: wp.array2d[D], n: int, out: wp.array2d[D]):
    total = wp.tile_zeros(4, dtype=D)
    t = wp.tile_load(a[0], shape=4)
    u = wp.tile_load(a[1], shape=4)
    for k in range(n):
        total = total + t * wp.tile_load(a[k], shape=4)
        t = relaxed(t)
        t, u = u, t
        u[k] += 1.0
        total += u
    wp.tile_store(out[0], total)
    wp.tile_store(out[1], t)
    wp.tile_store(out[2], u)


def numpy_carried(a, n=3):
    total, t, u = np.zeros(4), a[0], a[1]
    for k in range(n):
        total = total + t * a[k]
        t, u = u, t - 0.1 * t * t
        u[k] += 1.0
        total = total + u
    return np.stack([total, t, u])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_tiles_travel_with_a_loop(device, n):
    check(carried, [rng.normal(size=(3, 4))], lambda a: numpy_carried(a, n), device, [n])


@wp.kernel
def left_early(a: wp.array[D], limit: D, out: wp.array[D], turns: wp.array[D]):
    t = wp.tile_load(a, shape=4)
    k = int(0)
    while wp.tile_sum(t)[0] > limit:
        t = wp.tile_map(relax, t)
        k += 1
        if k == 4:
            continue
        if k > 6:
            break
        t = t * D(0.9)
    wp.tile_store(out, t)
    turns[0] = D(k)


def numpy_left_early(a, limit=1.0):
    t, k = a, 0
    while t.sum() > limit:
        t = t - 0.1 * t * t
        k += 1
        if k == 4:
            continue
        if k > 6:
            break
        t = t * 0.9
    return t, np.array([float(k)])


@pytest.mark.parametrize("device", DEVICES)
def test_loops_that_are_left_and_continued(device):
    check(left_early, [rng.uniform(0.6, 0.9, 4)], numpy_left_early, device, [1.0], slopes=None)
    check(left_early, [rng.uniform(0.1, 0.3, 4)], lambda a: numpy_left_early(a, 0.3), device, [0.3], slopes=None)


@wp.kernel
def branched(a: wp.array2d[D], n: int, out: wp.array[D]):
    t = wp.tile_load(a[0], shape=4)
    for k in range(n):
        u = wp.tile_load(a[k], shape=4)
        if t[k] > u[k]:
            t = t - u
        elif k == 1:
            t += u
        else:
            t = u * t
    wp.tile_store(out, t)


def numpy_branched(a, n=3):
    t = a[0].copy()
    for k in range(n):
        u = a[k]
        if t[k] > u[k]:
            t = t - u
        elif k == 1:
            t = t + u
        else:
            t = u * t
    return t


@pytest.mark.parametrize("device", DEVICES)
def test_branches_inside_of_loops(device):
    for _ in range(3):
        check(branched, [rng.normal(size=(3, 4))], numpy_branched, device, [3], slopes=None)


@wp.kernel
def nested(a: wp.array2d[D], n: int, out: wp.array2d[D]):
    t = wp.tile_load(a, shape=(2, 2))
    for _ in range(n):
        for _ in range(2):
            t = wp.tile_transpose(t)
            t[0, 1] *= 2.0
        t = t + wp.tile_view(wp.tile_load(a, shape=(4, 4)), (2, 1), shape=(2, 2))
    wp.tile_store(out, t)


def numpy_nested(a, n=2):
    t = a[:2, :2].copy()
    for _ in range(n):
        for _ in range(2):
            t = t.T.copy()
            t[0, 1] *= 2.0
        t = t + a[2:4, 1:3]
    return t


@pytest.mark.parametrize("device", DEVICES)
def test_nested_loops_and_views_of_what_travels(device):
    check(nested, [rng.normal(size=(4, 4))], numpy_nested, device, [2])


@pytest.mark.parametrize("device", DEVICES)
def test_a_tile_that_some_path_does_not_assign_is_zero_with_a_warning(device):
    @wp.kernel
    def assigned_later(a: wp.array[D], n: int, out: wp.array2d[D]):
        for k in range(n):
            if k % 2 == 1:
                row = wp.tile_load(a, shape=4) * D(k)
            t = row
            if k > 2:
                t = wp.tile_map(wp.add, t, row)
            wp.tile_store(out[k], t)

    a = rng.normal(size=4)
    out = wp.zeros((5, 4), dtype=D, device=device)
    with pytest.warns(UnassignedLocalWarning, match="'row' may be used here before it has a value; then it is zero"):
        wp.launch(assigned_later, 1, inputs=[wp.array(a, dtype=D, device=device), 5, out], device=device, block_dim=1)
    np.testing.assert_allclose(out.numpy(), [0 * a, a, a, 6 * a, 6 * a], rtol=1e-14)


def refused(body, match):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4), 3])


@wp.func
def same(t: wp.tile[float, 4]):
    return t


@wp.func
def with_row():
    t = wp.tile_ones((2, 2))
    return t, t[0]


@wp.func
def many_times(t: wp.tile[float, 4], n: int):
    for _ in range(n):
        t = t + t
    return t


PARTING = "a loop gives '.' another array, and .* another name may reach"


def test_names_that_would_part_are_refused():
    def two_names(a: wp.array[float], n: int):
        t = wp.tile_load(a, shape=4)
        u = t
        for _ in range(n):
            t = t + u
        wp.tile_store(a, t)

    def view(a: wp.array[float], n: int):
        t = wp.tile_load(a, shape=4)
        u = wp.tile_view(t, 1, shape=2)
        for _ in range(n):
            t = t + t
        a[0] = u[0] + t[0]

    def inside(a: wp.array[float], n: int):
        t, u = wp.tile_zeros(4), wp.tile_load(a, shape=4)
        for _ in range(n):
            t = u
        wp.tile_store(a, t)

    def at_the_end(a: wp.array[float], n: int):
        t, u = wp.tile_zeros(4), wp.tile_load(a, shape=4)
        for _ in range(n):
            t = t + u
            u = t
        wp.tile_store(a, t)

    for body in (two_names, view, inside, at_the_end):
        refused(body, PARTING)


def test_names_that_would_part_through_functions_and_branches_are_refused():
    def returned(a: wp.array[float], n: int):
        t = wp.tile_load(a, shape=4)
        u = same(t)
        for _ in range(n):
            u = u + t
        wp.tile_store(a, u)

    def given(a: wp.array[float], n: int):
        t = wp.tile_load(a, shape=4)
        u = same(t)
        for _ in range(n):
            t = t + t
        a[0] = u[0] + t[0]

    def chosen(a: wp.array[float], n: int):
        t, u = wp.tile_load(a, shape=4), wp.tile_zeros(4)
        if n > 2:
            u = t
        for _ in range(n):
            t = t + t
        a[0] = u[0] + t[0]

    def row(a: wp.array[float], n: int):
        t, r = with_row()
        for _ in range(n):
            t = t + t
        a[0] = r[0] + t[0, 0]

    def parameter(a: wp.array[float], n: int):
        wp.tile_store(a, many_times(wp.tile_load(a, shape=4), n))

    for body in (returned, given, chosen, row, parameter):
        refused(body, PARTING)


def test_what_no_loop_can_carry_is_refused():
    def shape(a: wp.array[float], n: int):
        t = wp.tile_load(a, shape=4)
        for _ in range(n):
            t = wp.tile_sum(t)
        a[0] = t[0]

    def slices(a: wp.array[float], n: int):
        v = a[0:2]
        for i in range(n):
            a[0] += v[0]
            v = a[i + 1 : i + 3]

    def after(a: wp.array[float], n: int):
        v = a[0:2]
        for i in range(n):
            v = a[i + 1 : i + 3]
        a[0] = v[0]

    refused(shape, "'t' changes its type in a loop")
    refused(slices, "'v' has no single type here: a loop changes it")
    refused(after, "'v' has no single type here: a loop changes it")


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_function_returns_of_its_argument_may_travel(device):
    @wp.kernel
    def travels(a: wp.array[float], n: int):
        t = same(wp.tile_load(a, shape=4))
        for _ in range(n):
            t = same(t + t)
        wp.tile_store(a, t)

    a = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, device=device)
    wp.launch(travels, 1, inputs=[a, 3], device=device, block_dim=1)
    assert np.array_equal(a.numpy(), [8.0, 16.0, 24.0, 32.0])


def test_a_slice_made_anew_in_each_iteration():
    @wp.kernel
    def sums(a: wp.array[float], n: int, out: wp.array[float]):
        v = a[0:2]
        out[0] = v[0]
        for i in range(n):
            v = a[i + 1 : i + 3]
            out[0] += v[1]

    out = wp.zeros(1)
    wp.launch(sums, 1, inputs=[wp.array([1.0, 2.0, 4.0, 8.0, 16.0], dtype=float), 3, out])
    assert out.numpy()[0] == 1.0 + 4.0 + 8.0 + 16.0
