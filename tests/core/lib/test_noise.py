"""Noise: Warp's fields for equal seeds; zero on the lattice, smooth, periodic, and of no divergence."""

import math

import numpy as np
import pytest

import warpsim as wp

DEVICES = ("interp", "cpu")
DIMENSIONS = (1, 2, 3, 4)
ROUNDING = 2e-6  # of values near 1 in float32, summed over up to 16 corners and 3 octaves

# By Warp 1.19 on x86-64 at POINTS (x, xy, xyz, xyzt), for the states rand_init(1) to rand_init(4):
# noise in 1 to 4 dimensions, then pnoise in 1 to 4 dimensions with PERIODS (its points are the absolute ones).
POINTS = ((0.3, 1.7, 2.25, 3.9), (5.5, 0.125, 7.75, 1.0625), (-1.3, 2.6, -3.45, 0.8), (100.1, -200.7, 50.3, -7.6))
PERIODS = (3, 5, 2, 4)
NOISE = (
    (0.31604943, 0.3704226, 0.020479515, -0.13521765),
    (0.018202633, -0.18771924, 0.14981669, 0.028557157),
    (-0.062446415, 0.08608574, -0.10128605, 0.0809868),
    (0.005355169, -0.26152602, -0.2246905, -0.07862581),
)
PNOISE = (
    (0.31604943, 0.3704226, 0.42522135, 0.161356),
    (0.03515172, 0.023231464, -0.22624141, -0.26290855),
)
# (dimensions, octaves, lacunarity, gain): curlnoise at the four points.
CURL = {
    (2, 1, 2.0, 0.5): ((-0.017328784, 1.0644696), (-0.12523867, -0.4928269), (0.12062371, -0.7217759),
                       (0.4403131, -0.23095867)),
    (3, 1, 2.0, 0.5): ((-1.2795241, 0.6571871, -0.42495733), (0.13330725, 1.3246841, -0.017170027),
                       (-0.18765482, -0.8284203, -0.6768091), (-1.1880229, -1.2827533, 0.16272476)),
    (4, 1, 2.0, 0.5): ((-0.85081583, -0.12958843, -0.46077016), (-1.188143, -0.61107606, 0.4130903),
                       (0.3348685, 0.45982027, 1.2986523), (0.69554293, 0.13651234, 0.19299719)),
    (2, 3, 1.75, 0.5): ((-0.20056355, 1.0380795), (-0.28434646, -0.2028022), (0.6574296, -0.24043623),
                        (-0.4403375, 0.18187457)),
    (3, 3, 1.75, 0.5): ((-1.8689986, 0.62220633, -0.5892962), (-0.21871251, 1.7184334, 0.22121038),
                        (0.076506644, -0.9181593, -0.018310979), (-0.97263134, -1.3120008, 0.33351272)),
    (4, 3, 1.75, 0.5): ((-1.0859091, -0.73520935, -0.6289883), (-1.4504939, 0.34784424, 0.55255115),
                        (-0.0538252, 0.37199056, 1.4583406), (-0.021662027, 0.15814409, 0.20875584)),
}  # fmt: skip


@wp.kernel
def noise_1(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(states[i], p[i][0])


@wp.kernel
def noise_2(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(states[i], wp.vec2(p[i][0], p[i][1]))


@wp.kernel
def noise_3(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(states[i], wp.vec3(p[i][0], p[i][1], p[i][2]))


@wp.kernel
def noise_4(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.noise(states[i], p[i])


@wp.kernel
def pnoise_1(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), n: wp.vec4i, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pnoise(states[i], p[i][0], n[0])


@wp.kernel
def pnoise_2(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), n: wp.vec4i, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pnoise(states[i], wp.vec2(p[i][0], p[i][1]), n[0], n[1])


@wp.kernel
def pnoise_3(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), n: wp.vec4i, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pnoise(states[i], wp.vec3(p[i][0], p[i][1], p[i][2]), n[0], n[1], n[2])


@wp.kernel
def pnoise_4(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), n: wp.vec4i, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pnoise(states[i], p[i], n[0], n[1], n[2], n[3])


@wp.kernel
def curl_2(
    states: wp.array(dtype=wp.uint32),
    p: wp.array(dtype=wp.vec4),
    octaves: wp.uint32,
    lacunarity: float,
    gain: float,
    out: wp.array(dtype=wp.vec2),
):
    i = wp.tid()
    out[i] = wp.curlnoise(states[i], wp.vec2(p[i][0], p[i][1]), octaves, lacunarity, gain)


@wp.kernel
def curl_3(
    states: wp.array(dtype=wp.uint32),
    p: wp.array(dtype=wp.vec4),
    octaves: wp.uint32,
    lacunarity: float,
    gain: float,
    out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    out[i] = wp.curlnoise(states[i], wp.vec3(p[i][0], p[i][1], p[i][2]), octaves, lacunarity, gain)


@wp.kernel
def curl_4(
    states: wp.array(dtype=wp.uint32),
    p: wp.array(dtype=wp.vec4),
    octaves: wp.uint32,
    lacunarity: float,
    gain: float,
    out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    out[i] = wp.curlnoise(states[i], p[i], octaves, lacunarity, gain)


@wp.kernel
def curl_defaults(states: wp.array(dtype=wp.uint32), p: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.curlnoise(states[i], wp.vec2(p[i][0], p[i][1]))


@wp.kernel
def states_of(seeds: wp.array(dtype=int), out: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    out[i] = wp.rand_init(seeds[i])


NOISES = dict(zip(DIMENSIONS, (noise_1, noise_2, noise_3, noise_4), strict=True))
PNOISES = dict(zip(DIMENSIONS, (pnoise_1, pnoise_2, pnoise_3, pnoise_4), strict=True))
CURLS = {2: curl_2, 3: curl_3, 4: curl_4}


def run(kernel, seeds, points: np.ndarray, *extra, device: str | None = None, dtype: type = float) -> np.ndarray:
    """One result per point, in float64; points with fewer than four coordinates are filled with zeros."""
    p = np.zeros((len(points), 4), np.float32)
    p[:, : points.shape[1]] = points
    given = wp.array(np.broadcast_to(seeds, len(p)).astype(np.int32), dtype=int, device=device)
    states = wp.zeros(len(p), dtype=wp.uint32, device=device)
    wp.launch(states_of, dim=len(p), inputs=[given, states], device=device)
    out = wp.zeros(len(p), dtype=dtype, device=device)
    positions = wp.array(p, dtype=wp.vec4, device=device)
    wp.launch(kernel, dim=len(p), inputs=[states, positions, *extra, out], device=device)
    return out.numpy().astype(float)


def curl(n: int, seeds, points: np.ndarray, octaves=1, lacunarity=2.0, gain=0.5, device=None) -> np.ndarray:
    dtype = wp.vec2 if n == 2 else wp.vec3
    return run(CURLS[n], seeds, points, octaves, lacunarity, gain, device=device, dtype=dtype)


def scattered(n: int, count: int, seed: int, span: float = 20.0) -> np.ndarray:
    """Random points that are multiples of 2^-12, so that steps of 2^-k are exact in float32."""
    x = np.random.default_rng(seed).uniform(-span, span, (count, n))
    return np.round(x * 4096) / 4096


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", DIMENSIONS)
def test_fields_are_those_of_warp(device, n):
    points, seeds = np.array(POINTS)[:, :n], np.arange(1, 5)
    expected = np.array(NOISE)[:, n - 1]
    np.testing.assert_allclose(run(NOISES[n], seeds, points, device=device), expected, atol=ROUNDING)
    periodic = run(PNOISES[n], seeds[:2], points[:2], wp.vec4i(*PERIODS), device=device)
    np.testing.assert_allclose(periodic, np.array(PNOISE)[:, n - 1], atol=ROUNDING)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", list(CURL), ids=str)
def test_curl_is_that_of_warp(device, case):
    n, octaves, lacunarity, gain = case
    points = np.array(POINTS)[:, :n] if octaves == 1 or device != "interp" else np.array(POINTS)[:1, :n]
    found = curl(n, np.arange(1, len(points) + 1), points, octaves, lacunarity, gain, device)
    scale = 1 + np.abs(points).max(axis=1, keepdims=True) / 10  # the scaled coordinate is rounded too
    np.testing.assert_array_less(np.abs(found - np.array(CURL[case])[: len(points)]) / scale, 2 * ROUNDING)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_zero_on_the_lattice_and_bounded_elsewhere(n):
    lattice = np.random.default_rng(1).integers(-1000, 1000, (200, n)).astype(float)
    assert not run(NOISES[n], 7, lattice).any()
    values = run(NOISES[n], 7, scattered(n, 20000, 2))
    assert np.abs(values).max() <= math.sqrt(n) / 2
    assert 0.1 < values.std() < 0.4 and abs(values.mean()) < 0.02


@pytest.mark.parametrize("n", DIMENSIONS)
def test_seeds_and_dimensions_give_unrelated_fields(n):
    points = scattered(n, 4000, 3, span=2000.0)
    one, other = run(NOISES[n], 1, points), run(NOISES[n], 2, points)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1
    if n > 1:
        flat = run(NOISES[n - 1], 1, points[:, :-1])
        assert abs(np.corrcoef(one, flat)[0, 1]) < 0.2


@pytest.mark.parametrize("n", DIMENSIONS)
def test_two_derivatives_are_continuous_across_cells(n):
    """Values on both sides of a face continue each other: third differences stay of the order h^3."""
    h = 1.0 / 64
    for axis in range(n):
        start = scattered(n, 300, 4 + axis)
        start[:, axis] = np.round(start[:, axis])
        values = []
        for k in range(-3, 4):
            moved = start.copy()
            moved[:, axis] += k * h
            values.append(run(NOISES[n], 5, moved))
        third = np.diff(np.array(values), 3, axis=0)
        # near a face |f'''| is about 60 times the change of rise; a cubic fade would give 6 h^2 = 384 h^3
        assert np.abs(third).max() < 150 * h**3


@pytest.mark.parametrize("n", DIMENSIONS)
def test_periodic_on_both_sides_of_zero(n):
    periods = wp.vec4i(*PERIODS)
    points = scattered(n, 400, 6, span=8.0)
    base = run(PNOISES[n], 9, points, periods)
    assert base.std() > 0.05
    for axis in range(n):
        for turns in (-3, 1, 2):
            shifted = points.copy()
            shifted[:, axis] += turns * PERIODS[axis]
            np.testing.assert_allclose(run(PNOISES[n], 9, shifted, periods), base, atol=ROUNDING)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_periodic_is_plain_noise_away_from_the_seam(n):
    points = np.abs(scattered(n, 300, 7, span=9.0))
    np.testing.assert_array_equal(run(PNOISES[n], 3, points, wp.vec4i(10, 11, 12, 13)), run(NOISES[n], 3, points))


def test_plane_curl_is_the_turned_gradient_of_noise():
    points, h = scattered(2, 500, 8, span=8.0), 1.0 / 128
    step = np.eye(2) * h
    difference = [
        8 * (run(NOISES[2], 3, points + s) - run(NOISES[2], 3, points - s))
        - (run(NOISES[2], 3, points + 2 * s) - run(NOISES[2], 3, points - 2 * s))
        for s in step
    ]
    slope = np.array(difference).T / (12 * h)
    np.testing.assert_allclose(curl(2, 3, points), np.stack((-slope[:, 1], slope[:, 0]), 1), atol=2e-4)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_curl_has_no_divergence(n):
    points, h, axes = scattered(n, 500, 9, span=8.0), 1.0 / 128, 2 if n == 2 else 3
    total, parts = np.zeros(len(points)), 0.0
    for axis in range(axes):
        s = np.eye(n)[axis] * h
        near, far = (curl(n, 4, points + k * s)[:, axis] - curl(n, 4, points - k * s)[:, axis] for k in (1, 2))
        slope = (8 * near - far) / (12 * h)
        total += slope
        parts = max(parts, np.abs(slope).max())
    # the difference formula is off by third-order jumps of the second derivative at cell faces
    assert parts > 1.0 and np.median(np.abs(total)) < 2e-3 and np.abs(total).max() < 0.02 * parts


def test_octaves_are_summed_with_their_frequency_and_weight():
    points = scattered(2, 200, 10)
    single = [curl(2, 6, points * 2.0**k) * 0.5**k for k in range(3)]
    np.testing.assert_allclose(curl(2, 6, points, 3, 2.0, 0.5), sum(single), atol=2 * ROUNDING)
    assert not curl(3, 6, points, 0).any()
    np.testing.assert_array_equal(run(curl_defaults, 6, points, dtype=wp.vec2), curl(2, 6, points, 1, 2.0, 0.5))


def test_python_calls_give_the_same_field():
    with np.errstate(over="ignore"):
        x, y, z, _ = POINTS[0]
        state = wp.rand_init(1)
        assert abs(wp.noise(state, x) - NOISE[0][0]) < ROUNDING
        assert abs(wp.noise(state, wp.vec3(x, y, z)) - NOISE[0][2]) < ROUNDING
        assert abs(wp.pnoise(state, wp.vec2(x, y), *PERIODS[:2]) - PNOISE[0][1]) < ROUNDING
        found = wp.curlnoise(state, wp.vec3(x, y, z))
    np.testing.assert_allclose(np.asarray(found), CURL[3, 1, 2.0, 0.5][0], atol=2 * ROUNDING)
