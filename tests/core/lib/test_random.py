"""Random streams: bit for bit those of the PCG hash and of Warp, and distributed as they say."""

import math

import numpy as np
import pytest

import warpsim as wp

DEVICES = ("interp", "cpu")

# One row per (seed, offset), made by Warp 1.19 on x86-64: rand_init(seed), rand_init(seed, offset), then in
# order randu, randu(3, 3e9), randi, randi(-5, 17), randf, randf(-2, 5.5), randn, poisson(3.5), poisson(50),
# poisson(1e5) and the state after all that.
STREAMS = (
    (0, 0, 129708002, 817759070, 2145236065, 2368882724, 920646579, 4, 0.62995267, 0.42764592, -0.48388112,
     3, 41, 99810, 1586808862),
    (1, 1, 2831084092, 2979142878, 2627596450, 1100894596, -791474224, -2, 0.34140122, 1.3749363, -1.845304,
     5, 65, 100030, 3414725459),
    (42, 7, 1223963391, 3115480925, 2122909397, 1413447402, -1270093702, -4, 0.48559576, 2.1687255, 0.08253018,
     5, 42, 99722, 298827987),
    (-1, -3, 3861530882, 3256532595, 126397714, 1038067876, -2132375765, 2, 0.76824003, 1.8508699, -0.67546964,
     6, 62, 99950, 3121141249),
    (123456789, 2000000000, 4272394698, 2215710025, 392444386, 2251111037, 1593980215, 16, 0.019805253, 3.0906043,
     -1.2534802, 1, 54, 100292, 151081057),
)  # fmt: skip


@wp.kernel
def all_draws(
    seed: wp.array(dtype=int),
    offset: wp.array(dtype=int),
    high: wp.uint32,
    u: wp.array2d(dtype=wp.uint32),
    j: wp.array2d(dtype=int),
    f: wp.array2d(dtype=float),
):
    i = wp.tid()
    u[i, 0] = wp.rand_init(seed[i])
    state = wp.rand_init(seed[i], offset[i])
    u[i, 1] = state
    u[i, 2] = wp.randu(state)
    u[i, 3] = wp.randu(state, wp.uint32(3), high)
    j[i, 0] = wp.randi(state)
    j[i, 1] = wp.randi(state, -5, 17)
    f[i, 0] = wp.randf(state)
    f[i, 1] = wp.randf(state, -2.0, 5.5)
    f[i, 2] = wp.randn(state)
    u[i, 4] = wp.poisson(state, 3.5)
    u[i, 5] = wp.poisson(state, 50.0)
    u[i, 6] = wp.poisson(state, 100000.0)
    u[i, 7] = state


@wp.kernel
def stream(seed: int, draws: int, out: wp.array2d(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    for k in range(draws):
        out[i, k] = wp.randf(state)


@wp.kernel
def normals(seed: int, draws: int, out: wp.array2d(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    for k in range(draws):
        out[i, k] = wp.randn(state)


@wp.kernel
def counts(seed: int, mean: float, out: wp.array(dtype=wp.uint32), states: wp.array2d(dtype=wp.uint32)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    states[i, 0] = state
    out[i] = wp.poisson(state, mean)
    states[i, 1] = state


@wp.kernel
def wide_integers(seed: int, low: int, high: int, out: wp.array(dtype=int)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i] = wp.randi(state, low, high)


def pcg(x: np.ndarray) -> np.ndarray:
    """The published hash, over arrays."""
    x = x.astype(np.uint32) * np.uint32(747796405) + np.uint32(2891336453)
    word = ((x >> ((x >> np.uint32(28)) + np.uint32(4))) ^ x) * np.uint32(277803737)
    return (word >> np.uint32(22)) ^ word


def uniform(shape: tuple[int, int], seed: int, device: str) -> np.ndarray:
    out = wp.zeros(shape, dtype=float, device=device)
    wp.launch(stream, dim=shape[0], inputs=[seed, shape[1], out], device=device)
    return out.numpy()


def poisson_counts(n: int, mean: float, device: str) -> tuple[np.ndarray, np.ndarray]:
    out, states = wp.zeros(n, dtype=wp.uint32, device=device), wp.zeros((n, 2), dtype=wp.uint32, device=device)
    wp.launch(counts, dim=n, inputs=[11, mean, out, states], device=device)
    return out.numpy(), states.numpy()


@pytest.mark.parametrize("device", DEVICES)
def test_streams_are_those_of_warp(device):
    seeds, offsets = (np.array([row[k] for row in STREAMS], np.int32) for k in (0, 1))
    n = len(STREAMS)
    u = wp.zeros((n, 8), dtype=wp.uint32, device=device)
    j, f = wp.zeros((n, 2), dtype=int, device=device), wp.zeros((n, 3), dtype=float, device=device)
    given = [wp.array(a, dtype=int, device=device) for a in (seeds, offsets)]
    wp.launch(all_draws, dim=n, inputs=[*given, np.uint32(3000000000), u, j, f], device=device)
    expected_u = np.array([[*row[2:6], *row[11:]] for row in STREAMS], np.uint32)
    np.testing.assert_array_equal(u.numpy(), expected_u)
    np.testing.assert_array_equal(j.numpy(), [row[6:8] for row in STREAMS])
    np.testing.assert_array_equal(f.numpy()[:, 0], np.array([row[8] for row in STREAMS], np.float32))
    np.testing.assert_allclose(f.numpy()[:, 1:], [row[9:11] for row in STREAMS], rtol=1e-6)


@pytest.mark.parametrize(("device", "threads", "draws"), [("interp", 8, 8), ("cpu", 500, 20)])
def test_randf_reads_the_upper_bits_of_the_hash(device, threads, draws):
    with np.errstate(over="ignore"):
        state = pcg(np.uint32(77) + pcg(np.arange(threads)))
        expected = np.empty((threads, draws), np.float32)
        for k in range(draws):
            state = pcg(state)
            expected[:, k] = (state >> np.uint32(8)) * 2.0**-24
    np.testing.assert_array_equal(uniform((threads, draws), 77, device), expected)


def test_randf_is_uniform_and_its_draws_uncorrelated():
    x = uniform((4000, 25), 3, None).astype(float)
    assert x.min() >= 0.0 and x.max() < 1.0
    bins = np.bincount((x * 128).astype(int).ravel(), minlength=128)
    chi2 = ((bins - x.size / 128) ** 2 / (x.size / 128)).sum()
    assert abs(chi2 - 127) < 5 * math.sqrt(2 * 127)  # five standard deviations
    along, across = np.corrcoef(x[:, :-1].ravel(), x[:, 1:].ravel()), np.corrcoef(x[:-1].ravel(), x[1:].ravel())
    assert abs(along[0, 1]) < 5 / math.sqrt(x.size) and abs(across[0, 1]) < 5 / math.sqrt(x.size)


def test_randn_has_the_normal_distribution():
    out = wp.zeros((4000, 25), dtype=float)
    wp.launch(normals, dim=4000, inputs=[5, 25, out])
    x = np.sort(out.numpy().ravel().astype(float))
    assert np.abs(x).max() < 5.8
    cumulative = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x[::20]])
    gap = np.abs(cumulative - np.arange(x.size)[::20] / x.size).max()
    assert gap < 2.0 / math.sqrt(x.size)  # Kolmogorov-Smirnov, p = 7e-4
    assert abs(x.mean()) < 5 / math.sqrt(x.size) and abs(x.var() - 1) < 5 * math.sqrt(2 / x.size)


@pytest.mark.parametrize("mean", [0.25, 9.75, 10.0, 30.0, 2000.0])
def test_poisson_has_its_distribution(mean):
    n = 40000
    k, _ = poisson_counts(n, mean, None)
    assert abs(k.mean() - mean) < 5 * math.sqrt(mean / n)
    deviation = math.sqrt((2 * mean**2 + mean) / n)  # of the sample variance, to leading order
    assert abs(k.var() - mean) < 5 * deviation
    likely = np.arange(max(0, int(mean - 3 * math.sqrt(mean))), int(mean + 3 * math.sqrt(mean)) + 1)
    p = np.array([math.exp(i * math.log(mean) - mean - math.lgamma(i + 1)) for i in likely])
    seen = np.array([(k == i).sum() for i in likely])
    chi2 = ((seen - n * p) ** 2 / (n * p)).sum()
    assert chi2 < len(likely) + 5 * math.sqrt(2 * len(likely)) + 5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mean", [0.0, -3.0, math.nan])
def test_poisson_without_a_positive_mean_draws_nothing(device, mean):
    k, states = poisson_counts(4, mean, device)
    assert not k.any()
    np.testing.assert_array_equal(states[:, 0], states[:, 1])


@pytest.mark.parametrize("device", DEVICES)
def test_devices_draw_the_same_poisson_counts(device):
    for mean in (2.0, 40.0):
        k, states = poisson_counts(6, mean, device)
        again, states_again = poisson_counts(6, mean, None)
        np.testing.assert_array_equal(k, again)
        np.testing.assert_array_equal(states, states_again)


@pytest.mark.parametrize("device", DEVICES)
def test_randi_covers_ranges_wider_than_int32(device):
    out = wp.zeros(64, dtype=int, device=device)
    wp.launch(wide_integers, dim=64, inputs=[9, -2000000000, 2000000000, out], device=device)
    x = out.numpy().astype(np.int64)
    assert x.min() >= -2000000000 and x.max() < 2000000000
    assert (x > 2**30).any() and (x < -(2**30)).any()


def test_python_calls_run_the_same_stream():
    with np.errstate(over="ignore"):
        for seed, offset, first, second, *_ in STREAMS:
            assert wp.rand_init(seed) == first
            assert wp.rand_init(seed, offset) == second
