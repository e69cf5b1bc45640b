"""`wp.utils` on CUDA arrays: results and gradients as on the CPU, by kernels of our own."""

import numpy as np
import pytest
from both_devices import assert_same

import warpsim as wp
from warpsim import utils
from warpsim.core.runtime.algorithms import operands

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.float32, wp.float64)
KEYS = (wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64)
rng = np.random.default_rng(11)


# ----- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n", [0, 1, 31, 33, 3000])
def test_integers_as_on_the_cpu(nothing, dtype, n):
    given = rng.integers(0, 100, n).astype(dtype)

    def run(x, before, after, squares):
        utils.array_scan(x, before, inclusive=False)
        utils.array_scan(x, after)
        utils.array_inner(x, x, out=squares)
        return utils.array_sum(x)

    assert_same(lambda: (wp.array(given), wp.zeros(n, dtype), wp.zeros(n, dtype), wp.zeros(1, dtype)), run)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_accumulated_in_float64(nothing, dtype):
    given = rng.normal(size=5000).astype(dtype)
    x, out = wp.array(given, device="cuda:0"), wp.zeros(5000, dtype, device="cuda:0")
    wide = given.astype(np.float64)
    utils.array_scan(x, out)
    rounding = 1e-11 if dtype is wp.float64 else 0.0  # of sums near zero; narrow ones are rounded from them
    np.testing.assert_allclose(out.numpy(), np.cumsum(wide).astype(dtype), rtol=0, atol=rounding)
    assert utils.array_sum(x) == pytest.approx(dtype(wide.sum()), rel=1e-13)
    assert utils.array_inner(x, x) == pytest.approx(dtype((wide * wide).sum()), rel=1e-13)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [wp.float64, wp.vec3d, wp.mat22d, wp.vec2i])
def test_every_axis_layout_and_compound(nothing, dtype, turned, axis):
    shape = (3, 70, 5)
    inner = operands.inner(wp.zeros(1, dtype, device="cpu"))
    given = rng.integers(-9, 9, (*shape, *inner))

    def build():
        x = wp.array(given, dtype=dtype)
        return (x.transpose() if turned else x,)

    def run(x):
        found = [utils.array_sum(x, axis=axis), utils.array_sum(x, value_count=2, axis=axis)]
        found += [utils.array_inner(x, x, axis=axis), utils.array_inner(x, x, count=3, axis=axis)]
        return np.concatenate([np.ravel(a.numpy() if hasattr(a, "numpy") else a) for a in found])

    assert_same(build, run)


@pytest.mark.parametrize("t", KEYS)
@pytest.mark.parametrize("value", [wp.int32, wp.uint8, wp.vec3, wp.float64])
def test_sorts_as_on_the_cpu(nothing, t, value):
    n = 500
    keys = (rng.normal(size=n) * 30).round().astype(np.int64).astype(t)
    if np.dtype(t).kind == "f":
        keys[:6] = [np.nan, -0.0, 0.0, -np.nan, np.inf, -np.inf]
    inner = operands.inner(wp.zeros(1, value, device="cpu"))
    values = rng.integers(0, 200, (2 * n, *inner)).astype(np.float64)

    def build():
        k = wp.zeros(2 * n, dtype=t)
        k[:n] = keys
        return k, wp.array(values, dtype=value)

    width = 8 * np.dtype(t).itemsize
    for begin, end in ((0, None), (3, 9), (width - 1, width), (5, 5)):
        assert_same(build, lambda k, v, bits=(begin, end): utils.radix_sort_pairs(k, v, n - 7, *bits))


def test_segments_sort_as_on_the_cpu(nothing):
    n = 700
    keys, cuts = rng.integers(-5, 5, 2 * n), np.sort(rng.integers(0, n, 40))
    order = rng.permutation(20)
    starts, ends = cuts[::2][order], cuts[1::2][order]  # with gaps, in any order
    for t in (wp.int32, wp.float32, wp.uint64):
        build = lambda t=t: (  # noqa: E731
            wp.array(keys, dtype=t),
            wp.array(np.arange(2 * n), dtype=int),
            wp.array(starts, dtype=int),
            wp.array(ends, dtype=int),
        )
        assert_same(build, lambda k, v, s, e: utils.segmented_sort_pairs(k, v, n, s, e))
        assert_same(build, lambda k, v, s, e: utils.segmented_sort_pairs(k, v, n, wp.array([3, 90, n], dtype=int)))


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32, wp.vec2, wp.bool, wp.uint64])
@pytest.mark.parametrize("n", [0, 1, 2, 900])
def test_run_lengths_as_on_the_cpu(nothing, dtype, n):
    inner = operands.inner(wp.zeros(1, dtype, device="cpu"))
    given = np.repeat(rng.integers(0, 2, (n, *inner)), rng.integers(1, 4, n), axis=0)[:n].astype(float)
    if n > 100 and dtype is wp.float32:
        given[7:9], given[20:22] = np.nan, [0.0, -0.0]  # NaN equals nothing, zeros are equal
    fill = [(given[:1] * 0 + 1).repeat(n, 0), np.full(n, 9)]

    def build():
        return wp.array(given, dtype=dtype), wp.array(fill[0], dtype=dtype), wp.array(fill[1], dtype=int)

    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, r, lengths))
    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, x, lengths))
    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, r, lengths, value_count=n // 2))


def test_run_lengths_of_structs():
    @wp.struct
    class Pair:
        a: int
        b: float

    pairs = [Pair(), Pair(), Pair()]
    for pair, b in zip(pairs, (2.0, 2.0, 3.0), strict=True):
        pair.a, pair.b = 1, b
    with wp.ScopedDevice("cuda:0"):
        values, runs, lengths = wp.array(pairs, dtype=Pair), wp.zeros(3, dtype=Pair), wp.zeros(3, dtype=int)
        assert utils.runlength_encode(values, runs, lengths) == 2
        assert [(int(p.a), float(p.b)) for p in runs.list()[:2]] == [(1, 2.0), (1, 3.0)]
        assert lengths.numpy()[:2].tolist() == [2, 1]


@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, wp.bool])
def test_casts_as_on_the_cpu(target):
    numbers = np.array([0.0, -0.0, 1.5, -1.5, 300.0, -300.0, 70000.0, 1e10, -1e10, 1e20, np.inf, -np.inf, np.nan])
    for source in (wp.float16, wp.float32, wp.float64, wp.int8, wp.uint32, wp.int64, wp.bool):
        with np.errstate(all="ignore"):
            given = numbers.astype(source) if np.dtype(source).kind != "b" else numbers > 1
        if np.dtype(source).kind in "iu":
            given = np.array([0, 1, 100, np.iinfo(source).max, np.iinfo(source).min], source)
        assert_same(lambda g=given: (wp.array(g), wp.zeros(g.size, target)), lambda x, y: utils.array_cast(x, y))


def test_casts_between_shapes_and_strides():
    given = rng.normal(size=(4, 6, 3))
    make = lambda: (wp.array(given, dtype=wp.vec3d), wp.ones((6, 4), dtype=wp.vec3), wp.ones(80, dtype=wp.float16))  # noqa: E731

    def run(x, turned, line):
        utils.array_cast(x.transpose(), turned)
        utils.array_cast(x, line)
        utils.array_cast(line[::2], turned, count=35)

    assert_same(make, run)


def test_indexed_and_strided_operands(package):
    given = rng.integers(0, 50, (8, 9))

    def run(x, out, line, total, wide):
        some = x[[6, 0, 3], [1, 2]]
        utils.array_scan(some, line[::2])
        utils.array_sum(some, out=total[2:3])
        utils.array_sum(x.transpose(), out=out.transpose(), axis=1)
        utils.array_inner(some, some, out=total[1:2])
        utils.array_cast(some, wide)
        return utils.array_sum(some)

    build = lambda: (  # noqa: E731
        wp.array(given, dtype=int),
        wp.zeros((1, 9), dtype=int),
        wp.zeros(12, dtype=int),
        wp.zeros(4, dtype=int),
        wp.zeros((3, 2), dtype=wp.float64),
    )
    assert_same(build, run)


def test_operands_that_overlap(nothing):
    given = rng.integers(0, 50, 400)

    def run(x):
        utils.array_scan(x[:399], x[1:])
        utils.array_cast(x[1:], x[:399])
        utils.array_sum(x[:20], out=x[3:4])

    assert_same(lambda: (wp.array(given, dtype=int),), run)


# ----- gradients --------------------------------------------------------------------------------------


def leaf(values, dtype=wp.float64):
    return wp.array(values, dtype=dtype, requires_grad=True)


def gradients(run, *arrays, seed):
    """Gradients of arrays after a run that writes to the last of them."""
    with wp.Tape() as tape:
        run(*arrays)
    tape.backward(grads={arrays[-1]: seed})
    return [a.grad.numpy() for a in arrays]


CASES = {
    "scan": lambda x, y, out: utils.array_scan(x, out),
    "exclusive": lambda x, y, out: utils.array_scan(x, out, inclusive=False),
    "turned": lambda x, y, out: utils.array_scan(x.transpose(), out),
    "cast": lambda x, y, out: utils.array_cast(x, out),
    "indexed": lambda x, y, out: utils.array_cast(x[:, [4, 1, 4, 0, 2]], out),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_arrays_as_on_the_cpu(nothing, case):
    values, seeds = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    shape = (5, 40) if case == "turned" else (40, 5)

    def found(device):
        with wp.ScopedDevice(device):
            x, y, out = leaf(values), leaf(values), wp.zeros(shape, dtype=wp.float64, requires_grad=True)
            return gradients(CASES[case], x, y, out, seed=wp.array(seeds.reshape(shape)))

    for a, b in zip(found("cuda:0"), found("cpu"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", [wp.float64, wp.vec3d])
def test_gradients_of_sums_as_on_the_cpu(nothing, axis, dtype):
    shape = (7, 9) if dtype is wp.float64 else (7, 9, 3)
    values = rng.normal(size=(2, *shape))
    result = {0: (1, 9), 1: (7, 1), None: (1,)}[axis]
    seeds = rng.normal(size=(*result, 3)[: len(result) + (dtype is not wp.float64)])

    def found(device):
        with wp.ScopedDevice(device):
            x, y = leaf(values[0], dtype), leaf(values[1], dtype)
            total = wp.zeros(result, dtype=dtype, requires_grad=True)
            product = wp.zeros(result, dtype=wp.float64, requires_grad=True)
            with wp.Tape() as tape:
                utils.array_sum(x, out=total, axis=axis, value_count=5)
                utils.array_inner(x, y, out=product, axis=axis, count=6)
                y.zero_()  # its contents were needed
            slopes = seeds if dtype is wp.float64 else seeds[..., 0]
            tape.backward(grads={total: wp.array(seeds, dtype=dtype), product: wp.array(slopes)})
            return [a.grad.numpy() for a in (x, y, total, product)]

    for a, b in zip(found("cuda:0"), found("cpu"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
