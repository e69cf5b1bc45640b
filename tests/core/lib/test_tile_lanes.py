"""Tiles that lanes write to, stacks, sorted tiles, random tiles."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelError

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(23)


@pytest.mark.parametrize("device", DEVICES)
def test_scattered_values(device):
    @wp.kernel
    def scatter(a: wp.array[D], n: int, out: wp.array[D], table: wp.array2d[D]):
        t, u = wp.tile_load(a, shape=4), wp.tile_zeros((2, 3), dtype=D, storage="shared")
        for k in range(n):
            wp.tile_scatter_add(t, k, t[k] * t[3], k != 1)
            wp.tile_scatter_masked(t, k, a[0], t[k] > 1.0)
            wp.tile_scatter_add(u, k % 2, k, value=a[k], has_value=True, atomic=False)
        wp.tile_scatter_masked(u, 1, -1, a[1] * a[1], n > 2)
        wp.tile_store(out, t)
        wp.tile_store(table, u)

    def oracle(a):
        t, u = a.copy(), np.zeros((2, 3))
        for k in range(3):
            t[k] += t[k] * t[3] if k != 1 else 0.0
            t[k] = a[0] if t[k] > 1.0 else t[k]
            u[k % 2, k] += a[k]
        u[1, -1] = a[1] ** 2
        return t, u

    check(scatter, [rng.uniform(0.2, 0.9, 4)], oracle, device, [3])


@wp.func
def pushed(s: wp.tile_stack(capacity=3, dtype=int), value: int):
    return wp.tile_stack_push(s, value, True)


@wp.kernel
def stacks(a: wp.array[int], n: int, slots: wp.array[int], values: wp.array[int], counts: wp.array[int]):
    s = wp.tile_stack(3, int)
    for k in range(n):
        slots[k] = wp.tile_stack_push(s, a[k], a[k] > 0)
    counts[0] = wp.tile_stack_count(s)
    for k in range(4):
        value, slot = wp.tile_stack_pop(s)
        values[k] = value * 10 + slot
    counts[1] = wp.tile_stack_count(s)
    slots[n] = pushed(s, 7)
    counts[2] = wp.tile_stack_count(s)
    wp.tile_stack_clear(s)
    counts[3] = wp.tile_stack_count(s)


@pytest.mark.parametrize("device", DEVICES)
def test_stacks(device):
    with wp.ScopedDevice(device):
        slots, values, counts = (wp.zeros(6, dtype=int) for _ in range(3))
        a = wp.array([4, -1, 5, 6, 7], dtype=int)
        wp.launch(stacks, 1, inputs=[a, 5, slots, values, counts], block_dim=1)
    assert np.array_equal(slots.numpy(), [0, -1, 1, 2, -1, 0])
    assert np.array_equal(values.numpy()[:4], [62, 51, 40, -1])
    assert np.array_equal(counts.numpy()[:4], [3, 0, 1, 0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(1,), (7,), (2, 4), (16,)])
@pytest.mark.parametrize("dtype", [wp.float32, wp.int32, wp.uint64])
def test_sorted_tiles(device, shape, dtype):
    t = wp.array(dtype=dtype, ndim=len(shape))
    n = wp.array(dtype=int, ndim=len(shape))

    @wp.kernel
    def sort(keys: t, values: n):
        k, v = wp.tile_load(keys, shape=shape), wp.tile_load(values, shape=shape)
        wp.tile_sort(k, v)
        wp.tile_store(keys, k)
        wp.tile_store(values, v)

    count = int(np.prod(shape))
    numbers = rng.integers(0, 6, count).reshape(shape)
    keys = wp.array(numbers, dtype=dtype, device=device)
    values = wp.array(np.arange(count).reshape(shape), dtype=int, device=device)
    wp.launch(sort, 1, inputs=[keys, values], device=device, block_dim=1)
    order = np.argsort(numbers.ravel(), kind="stable")
    assert np.array_equal(keys.numpy().ravel(), numbers.ravel()[order])
    assert np.array_equal(values.numpy().ravel(), order)


@wp.kernel
def random(seed: int, floats: wp.array2d[float], whole: wp.array[int], same: wp.array[float]):
    rng = wp.rand_init(seed)
    wp.tile_store(floats, wp.tile_randf((2, 8), rng))
    wp.tile_store(floats, wp.tile_randf((2, 8), rng, -2.0, 2.0), offset=(2, 0))
    wp.tile_store(whole, wp.tile_randi(8, rng, 3, 9))
    wp.tile_store(whole, wp.tile_randi(8, rng), offset=8)
    wp.randu(rng)  # the lane's own number
    for k in range(16):
        same[k] = wp.randf(rng)


@pytest.mark.parametrize("device", DEVICES)
def test_random_tiles(device):
    with wp.ScopedDevice(device):
        floats, whole, same = wp.zeros((4, 8)), wp.zeros(16, dtype=int), wp.zeros(16)
        wp.launch(random, 1, inputs=[5, floats, whole, same], block_dim=1)
    drawn, between = floats.numpy()[:2].ravel(), floats.numpy()[2:].ravel()
    assert np.array_equal(drawn, same.numpy())  # the state was left as it was
    np.testing.assert_allclose(between, 4.0 * drawn - 2.0, rtol=1e-6, atol=1e-6)
    assert np.all((whole.numpy()[:8] >= 3) & (whole.numpy()[:8] < 9)) and np.unique(whole.numpy()[8:]).size == 8


def refused(body, match):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4)])


def test_lanes_that_write_what_does_not_fit_are_refused():
    def indices(a: wp.array[float]):
        wp.tile_scatter_add(wp.tile_load(a, shape=4), 1, 2, 1.0, True)

    def value(a: wp.array[float]):
        wp.tile_scatter_masked(wp.tile_load(a, shape=4), 1, D(1.0), True)

    def stack(a: wp.array[float]):
        wp.tile_stack_clear(wp.tile_load(a, shape=4))

    def pushes(a: wp.array[float]):
        wp.tile_stack_push(wp.tile_stack(4, int), a[0], True)

    def shapes(a: wp.array[float]):
        wp.tile_sort(wp.tile_load(a, shape=4), wp.tile_load(a, shape=3))

    def bound(a: wp.array[float]):
        wp.tile_randf(4, wp.rand_init(1), 0.0)

    refused(indices, "has_value is float32, not bool")
    refused(value, "the value for a tile of float32 is float64")
    refused(stack, "is not a stack")
    refused(pushes, "the value for a stack of int32 is float32")
    refused(shapes, r"keys of shape \(4,\) and values of shape \(3,\)")
    refused(bound, "random numbers with one bound")
