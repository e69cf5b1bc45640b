"""Tiles loaded from arrays, stored and added to them, at random shapes and offsets, against NumPy with gradients."""

import numpy as np
import pytest
from tile_runs import check

import warpsim as wp
from warpsim.errors import KernelAssertionError, KernelError, LaunchError

D = wp.float64
DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(3)


def block(a, offset, shape):
    """A block of an array, zero outside."""
    out = np.zeros(shape)
    for at in np.ndindex(shape):
        where = tuple(o + i for o, i in zip(offset, at, strict=True))
        if all(0 <= p < n for p, n in zip(where, a.shape, strict=True)):
            out[at] = a[where]
    return out


def put(a, t, offset, add=False):
    """An array with a tile in it, as far as it is inside."""
    out = a.copy()
    for at in np.ndindex(t.shape):
        where = tuple(o + i for o, i in zip(offset, at, strict=True))
        if all(0 <= p < n for p, n in zip(where, a.shape, strict=True)):
            out[where] = (out[where] if add else 0.0) + t[at]
    return out


def moved(rank, shape, bounds_check=True):
    """A kernel that loads a block of an array, stores it elsewhere and adds it to another array."""
    arrays = wp.array(dtype=D, ndim=rank)
    vec = wp.types.vector(rank, int)
    if rank == 1:

        @wp.kernel
        def one(a: arrays, p: vec, q: vec, out: arrays, total: arrays):
            t = wp.tile_load(a, shape=shape, offset=p[0], bounds_check=bounds_check)
            wp.tile_store(out, t, offset=q[0], bounds_check=bounds_check)
            wp.tile_atomic_add(total, t, offset=q[0], bounds_check=bounds_check)
            wp.tile_atomic_add(total, t, offset=p[0], bounds_check=bounds_check)

        return one
    if rank == 2:

        @wp.kernel
        def two(a: arrays, p: vec, q: vec, out: arrays, total: arrays):
            t = wp.tile_load(a, shape, (p[0], p[1]), storage="shared", bounds_check=bounds_check)
            wp.tile_store(out, t, (q[0], q[1]), bounds_check)
            wp.tile_atomic_add(total, t, (q[0], q[1]), bounds_check)
            wp.tile_atomic_add(total, t, (p[0], p[1]), bounds_check)

        return two

    @wp.kernel
    def three(a: arrays, p: vec, q: vec, out: arrays, total: arrays):
        t = wp.tile_load(a, shape, offset=(p[0], p[1], p[2]), bounds_check=bounds_check, aligned=False)
        wp.tile_store(out, t, offset=(q[0], q[1], q[2]), bounds_check=bounds_check, aligned=False)
        wp.tile_atomic_add(total, t, offset=(q[0], q[1], q[2]), bounds_check=bounds_check)
        wp.tile_atomic_add(total, t, offset=(p[0], p[1], p[2]), bounds_check=bounds_check)

    return three


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("inside", [False, True])
def test_blocks_of_arrays(device, rank, inside):
    for _ in range(2):
        shape = tuple(int(n) for n in rng.integers(1, 4, rank))
        extents = tuple(int(n) + m for n, m in zip(rng.integers(0 if inside else -1, 3, rank), shape, strict=True))
        extents = tuple(max(n, 1) for n in extents)
        low, high = (0, 1) if inside else (-2, 4)
        room = [n - m if inside else 0 for n, m in zip(extents, shape, strict=True)]
        p, q = ([int(rng.integers(low, high + r)) for r in room] for _ in range(2))
        values = rng.normal(size=extents)
        vec = wp.types.vector(rank, int)
        empty = np.zeros(extents)

        def oracle(a, p=p, q=q, shape=shape, empty=empty):
            t = block(a, p, shape)
            return put(empty, t, q), put(put(empty, t, q, add=True), t, p, add=True)

        check(moved(rank, shape, not inside), [values], oracle, device, [vec(*p), vec(*q)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_by_number(device, axis):
    count, shape = 4, (4, 3) if axis == 0 else (2, 4)

    @wp.kernel
    def gather(a: wp.array2d[D], n: wp.array[int], out: wp.array2d[D], stored: wp.array2d[D], total: wp.array2d[D]):
        numbers = wp.tile_load(n, shape=count)
        t = wp.tile_load_indexed(a, numbers, shape=shape, offset=(1, 0), axis=axis)
        wp.tile_store(out, t)
        wp.tile_store_indexed(stored, numbers, t, offset=(0, 1), axis=axis)
        wp.tile_atomic_add_indexed(total, numbers, t, axis=axis)

    numbers = np.array([2, -1, 0, 9]) if axis == 0 else np.array([3, 1, -4, 7])

    def oracle(a):
        t, offset = np.zeros(shape), (1, 0)
        results = [np.zeros_like(a), np.zeros_like(a)]
        for at in np.ndindex(shape):
            at_number = [int(numbers[at[axis]]) if k == axis else at[k] for k in range(2)]
            source = tuple(o + i for o, i in zip(offset, at_number, strict=True))
            if all(0 <= s < n for s, n in zip(source, a.shape, strict=True)):
                t[at] = a[source]
            for out, start in zip(results, ((0, 1), (0, 0)), strict=True):
                where = tuple(o + i for o, i in zip(start, at_number, strict=True))
                if all(0 <= s < n for s, n in zip(where, a.shape, strict=True)):
                    out[where] = t[at]  # no number comes twice, and what was there before is zero
        return t, *results

    values = rng.normal(size=(5, 5))
    check(gather, [values], oracle, device, [wp.array(numbers, dtype=int, device=device)])


@wp.kernel
def fresh(out: wp.array2d[D], whole: wp.array[int], vectors: wp.array[wp.vec3d], x: float):
    wp.tile_store(out, wp.tile_ones((2, 3), dtype=D))
    wp.tile_store(out, wp.tile_full((2, 3), 7, dtype=D), offset=(2, 0))
    wp.tile_store(out, wp.tile_astype(wp.tile_full(shape=(1, 3), value=x), D), offset=(4, 0))
    wp.tile_store(out, wp.tile_zeros((1, 3), D, "shared"), offset=(5, 0))
    wp.tile_store(out, wp.tile_empty((1, 3), dtype=D), offset=(6, 0))
    wp.tile_store(whole, wp.tile_arange(4, dtype=int))
    wp.tile_store(whole, wp.tile_arange(7, 1, -2, dtype=int), offset=4)
    wp.tile_store(vectors, wp.tile_ones(2, dtype=wp.vec3d))
    wp.tile_store(vectors, wp.tile_from_thread(2, wp.vec3d(D(1.0), D(2.0), D(3.0)), 0), offset=2)
    r = wp.tile_arange(0.0, 1.0, 0.25)
    wp.tile_store(out, wp.tile_reshape(wp.tile_astype(r, D), (1, 4)), offset=(7, 0))


@pytest.mark.parametrize("device", DEVICES)
def test_new_tiles(device):
    with wp.ScopedDevice(device):
        out, whole, vectors = wp.zeros((8, 4), dtype=D), wp.zeros(7, dtype=int), wp.zeros(4, dtype=wp.vec3d)
        out.fill_(-1.0)
        wp.launch(fresh, 1, inputs=[out, whole, vectors, 2.5], block_dim=1)
    expected = np.array([1, 1, 7, 7, 2.5, 0, 0, 0])[:, None] * np.ones((8, 3))
    assert np.array_equal(out.numpy()[:7, :3], expected[:7]) and np.all(out.numpy()[:7, 3] == -1.0)
    assert np.array_equal(out.numpy()[7], [0.0, 0.25, 0.5, 0.75])
    assert np.array_equal(whole.numpy(), [0, 1, 2, 3, 7, 5, 3])
    assert np.array_equal(vectors.numpy(), [[1, 1, 1], [1, 1, 1], [1, 2, 3], [1, 2, 3]])


@wp.struct
class Grain:
    x: wp.vec3d
    charge: int


@wp.kernel
def structs(
    a: wp.array[Grain], m: wp.array[wp.mat22d], p: wp.array[wp.transformd],
    b: wp.array[Grain], n: wp.array[wp.mat22d], q: wp.array[wp.transformd],
):  # fmt: skip
    wp.tile_store(b, wp.tile_load(a, shape=3, offset=1), offset=0)
    wp.tile_store(n, wp.tile_load(m, shape=3, offset=1), offset=0)
    wp.tile_store(q, wp.tile_load(p, shape=3, offset=1), offset=0)


@pytest.mark.parametrize("device", DEVICES)
def test_elements_of_every_kind_move(device):
    numbers = rng.normal(size=(4, 7))
    with wp.ScopedDevice(device):
        grains = np.zeros(4, dtype=Grain.numpy_dtype())
        grains["x"], grains["charge"] = numbers[:, :3], np.arange(4)
        a = wp.array(grains, dtype=Grain)
        m, p = wp.array(numbers[:, :4].reshape(4, 2, 2), dtype=wp.mat22d), wp.array(numbers, dtype=wp.transformd)
        outs = [wp.zeros(4, dtype=t) for t in (Grain, wp.mat22d, wp.transformd)]
        wp.launch(structs, 1, inputs=[a, m, p, *outs], block_dim=1)
    for source, out in zip((a, m, p), outs, strict=True):
        assert np.array_equal(out.numpy()[:3], source.numpy()[1:])


@pytest.mark.parametrize("device", DEVICES)
def test_rows_and_slices_of_arrays_are_loaded(device):
    @wp.kernel
    def row(a: wp.array2d[D], k: int, out: wp.array[D]):
        wp.tile_store(out[1:], wp.tile_load(a[k], shape=3, offset=1) + wp.tile_load(a[1:, 2], shape=3))

    def oracle(a):
        return np.concatenate([[0.0], block(a[1], (1,), (3,)) + block(a[1:, 2], (0,), (3,))])

    check(row, [rng.normal(size=(3, 4))], oracle, device, [1])


@pytest.mark.parametrize("device", DEVICES)
def test_what_was_there_before_a_sum(device):
    @wp.kernel
    def twice(a: wp.array[D], out: wp.array[D], before: wp.array[D]):
        t = wp.tile_load(a, shape=3)
        wp.tile_atomic_add(out, t)
        wp.tile_store(before, wp.tile_atomic_add(out, t, offset=2))

    values = rng.normal(size=3)
    with wp.ScopedDevice(device):
        out, before = wp.zeros(4, dtype=D), wp.zeros(3, dtype=D)
        wp.launch(twice, 1, inputs=[wp.array(values, dtype=D), out, before], block_dim=1)
    assert np.array_equal(before.numpy(), [values[2], 0.0, 0.0])
    np.testing.assert_allclose(out.numpy(), [*values[:2], values[2] + values[0], values[1]], rtol=1e-15)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [wp.int64, wp.uint32, wp.uint64], ids=wp.types.type_repr)
def test_offsets_beyond_int32_lie_outside(device, dtype):
    @wp.kernel
    def far(a: wp.array[D], at: wp.array(dtype=dtype), out: wp.array[D]):
        i = wp.tid()
        t = wp.tile_load(a, shape=2, offset=at[i])
        wp.tile_store(out, t + D(1.0), offset=2 * i)
        wp.tile_store(a, wp.tile_ones(2, dtype=D), offset=at[i])

    limits = np.iinfo(dtype)
    places = np.array([limits.max, min(2**32, limits.max - 1), limits.min if limits.min else 2**31], dtype=dtype)
    with wp.ScopedDevice(device):
        a, out = wp.array([5.0, 6.0, 7.0], dtype=D), wp.zeros(6, dtype=D)
        wp.launch(far, 3, inputs=[a, wp.array(places, dtype=dtype), out], block_dim=1)
    assert np.array_equal(a.numpy(), [5.0, 6.0, 7.0])
    assert np.array_equal(out.numpy(), np.ones(6))


def test_integers_that_floats_do_not_hold_are_counted():
    @wp.kernel
    def counted(out: wp.array[int]):
        t = wp.tile_arange(9007199254740993, 9007199254740995, dtype=wp.int64)
        out[0], out[1] = len(t), int(t[1] - t[0])

    out = wp.zeros(2, dtype=int)
    wp.launch(counted, 1, inputs=[out], block_dim=1)
    assert np.array_equal(out.numpy(), [2, 1])


def refused(body, match, *args):
    with pytest.raises(KernelError, match=match):
        wp.launch(wp.Kernel(func=body, key=body.__name__), 1, inputs=[wp.zeros(4), wp.zeros((4, 4)), *args])


def test_what_is_no_shape_offset_or_storage_is_refused():
    def late(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_load(a, shape=n)

    def rank(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_load(a, shape=(2, 2))

    def kind(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_zeros(4, storage="global")

    def places(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_load(b, shape=(2, 2), offset=1)

    def types(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_store(a, wp.tile_zeros(4, dtype=int))

    def flag(a: wp.array[float], b: wp.array2d[float], n: int):
        wp.tile_load(a, shape=2, bounds_check=n > 2)

    def word(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_load(a, shape=2, stride=2)

    def number(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_store(a, a[0])

    def fraction(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_load(a, shape=2, offset=0.5)

    def empty(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_arange(3, 3)

    def endless(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_arange(wp.inf)

    def nested(a: wp.array[float], b: wp.array2d[float]):
        wp.tile_full(2, wp.tile_zeros(3))

    refused(late, "the shape of a tile is .*\n.*expected: positive integer constants|the shape of a tile", 3)
    refused(rank, "a tile of 2 dimensions for an array of 1 dimension")
    refused(kind, "storage of a tile is text 'global'")
    refused(places, "offset of 1 number for 2 dimensions")
    refused(types, "a tile of int32 for an array of float32")
    refused(flag, "bounds_check is bool", 3)
    refused(word, "unexpected keyword argument 'stride'")
    refused(number, "what tile_store writes is float32")
    refused(fraction, "array index is 0.5")
    refused(empty, "is empty")
    refused(endless, r"tile_arange\(inf .*\n(.*\n)*expected: finite numbers|tile_arange")
    refused(nested, "an element of a tile is local_array")
    with pytest.raises(LaunchError, match=r"wp\.tile_zeros has a meaning in kernels only"):
        wp.tile_zeros(4)


def test_blocks_of_several_lanes_are_refused(monkeypatch):
    @wp.kernel
    def sums(a: wp.array[float]):
        wp.tile_atomic_add(a, wp.tile_ones(4))

    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    with pytest.raises(KernelAssertionError, match="a tile of a block with several lanes: launch with block_dim=1"):
        wp.launch_tiled(sums, 2, inputs=[wp.zeros(4)], block_dim=32)
        wp.synchronize()  # a GPU tells there


def test_another_lane_is_refused():
    @wp.kernel
    def other(k: int, out: wp.array[float]):
        wp.tile_store(out, wp.tile_from_thread(2, 1.0, k))

    with pytest.raises(KernelAssertionError, match="a lane that a block of one lane lacks"):
        wp.launch(other, 1, inputs=[1, wp.zeros(2)], block_dim=1)
        wp.synchronize()
