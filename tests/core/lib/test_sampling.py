"""Points on shapes and draws from tables: Warp's points for equal seeds, uniform where they say so."""

import math

import numpy as np
import pytest

import warpsim as wp

DEVICES = ("interp", "cpu")
PLANE = ("triangle", "unit_ring", "unit_disk", "unit_square")
SPACE = ("unit_sphere_surface", "unit_sphere", "unit_hemisphere_surface", "unit_hemisphere", "unit_cube")

# For the states rand_init(0), rand_init(1), rand_init(2), by Warp 1.19 on x86-64: one point on each of PLANE, then
# of SPACE, drawn one after the other, then sample_cdf over CDF and the state after all that.
CDF = (0.1, 0.25, 0.25, 0.6, 1.0)
POINTS_2D = (
    ((0.5636523, 0.21794552), (-0.94800496, -0.31825563), (0.17950436, 0.4267703), (0.12995267, -0.17631388)),
    ((0.04564053, 0.13211107), (0.68782115, 0.7258802), (0.3555115, 0.17160693), (-0.4541282, 0.42013633)),
    ((0.30949312, 0.3912054), (0.09206877, -0.99575263), (-0.5116728, 0.45053917), (-0.19044673, -0.42639023)),
)
POINTS_3D = (
    ((-0.62024206, 0.21814086, -0.7534682), (-0.39804682, 0.40735188, 0.7664846), (0.4617654, 0.582528, 0.6689049),
     (-0.20381977, 0.6670408, 0.16851838), (-0.40598196, 0.46295077, -0.045001745)),
    ((-0.705972, 0.3962543, -0.58701456), (-0.61385185, 0.5490866, -0.14297627), (0.35122883, 0.03846367, 0.93549925),
     (0.0868026, -0.6066154, 0.089387886), (0.26790953, 0.2101773, -0.32130706)),
    ((0.751778, -0.28150058, -0.5963114), (-0.44209537, 0.3002902, -0.6435455), (-0.91189265, -0.23380932, 0.33732036),
     (0.42701954, -0.5326183, 0.10137603), (0.031342864, 0.4879436, 0.48989016)),
)  # fmt: skip
BINS, STATES = (3, 3, 3), (1711681138, 1562873788, 1819226501)


@wp.kernel
def sample_all(
    cdf: wp.array(dtype=float),
    p: wp.array2d(dtype=wp.vec2),
    q: wp.array2d(dtype=wp.vec3),
    bin: wp.array(dtype=int),
    last: wp.array(dtype=wp.uint32),
):
    i = wp.tid()
    state = wp.rand_init(i)
    p[i, 0] = wp.sample_triangle(state)
    p[i, 1] = wp.sample_unit_ring(state)
    p[i, 2] = wp.sample_unit_disk(state)
    p[i, 3] = wp.sample_unit_square(state)
    q[i, 0] = wp.sample_unit_sphere_surface(state)
    q[i, 1] = wp.sample_unit_sphere(state)
    q[i, 2] = wp.sample_unit_hemisphere_surface(state)
    q[i, 3] = wp.sample_unit_hemisphere(state)
    q[i, 4] = wp.sample_unit_cube(state)
    bin[i] = wp.sample_cdf(state, cdf)
    last[i] = state


@wp.kernel
def search(a: wp.array(dtype=float), x: wp.array(dtype=float), first: int, end: int, out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = wp.lower_bound(a, x[i])
    out[i, 1] = wp.lower_bound(a, first, end, x[i])


@wp.kernel
def search_integers(a: wp.array(dtype=wp.int64), x: wp.array(dtype=wp.int64), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = wp.lower_bound(a, x[i])


def samples(n: int, device: str, cdf: tuple[float, ...] = CDF) -> tuple[np.ndarray, ...]:
    """The results of `n` threads: plane points, space points, bins, last states."""
    p, q = wp.zeros((n, 4), dtype=wp.vec2, device=device), wp.zeros((n, 5), dtype=wp.vec3, device=device)
    bins, last = wp.zeros(n, dtype=int, device=device), wp.zeros(n, dtype=wp.uint32, device=device)
    table = wp.array(np.array(cdf, np.float32), dtype=float, device=device)
    wp.launch(sample_all, dim=n, inputs=[table, p, q, bins, last], device=device)
    return p.numpy(), q.numpy(), bins.numpy(), last.numpy()


@pytest.fixture(scope="module")
def many() -> dict[str, np.ndarray]:
    p, q, bins, _ = samples(40000, None)
    named = {name: p[:, k].astype(float) for k, name in enumerate(PLANE)}
    named |= {name: q[:, k].astype(float) for k, name in enumerate(SPACE)}
    return named | {"bins": bins}


def assert_uniform(x: np.ndarray, bins: int = 50) -> None:
    """That values in [0, 1] are uniform: chi-square within five standard deviations."""
    assert x.min() >= -1e-6 and x.max() <= 1 + 1e-6
    seen = np.bincount(np.clip((x * bins).astype(int), 0, bins - 1), minlength=bins)
    chi2 = ((seen - len(x) / bins) ** 2 / (len(x) / bins)).sum()
    assert abs(chi2 - (bins - 1)) < 5 * math.sqrt(2 * (bins - 1))


def azimuth(p: np.ndarray) -> np.ndarray:
    return np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi) % 1.0


@pytest.mark.parametrize("device", DEVICES)
def test_points_are_those_of_warp(device):
    p, q, bins, last = samples(3, device)
    np.testing.assert_allclose(p, POINTS_2D, atol=5e-7)
    np.testing.assert_allclose(q, POINTS_3D, atol=5e-7)
    np.testing.assert_array_equal(bins, BINS)
    np.testing.assert_array_equal(last, STATES)


def test_plane_shapes_are_uniform(many):
    u, v = many["triangle"].T
    assert (u >= 0).all() and (v >= 0).all() and (u + v <= 1 + 1e-6).all()
    assert_uniform((1 - u) ** 2)  # the area beyond a line u = const
    assert_uniform((1 - v) ** 2)
    np.testing.assert_allclose(np.hypot(*many["unit_ring"].T), 1.0, atol=2e-7)
    assert_uniform(azimuth(many["unit_ring"]))
    assert_uniform((many["unit_disk"] ** 2).sum(1))
    assert_uniform(azimuth(many["unit_disk"]))
    for axis in range(2):
        assert_uniform(many["unit_square"][:, axis] + 0.5)


@pytest.mark.parametrize("half", ["sphere", "hemisphere"])
def test_spheres_are_uniform(many, half):
    surface, ball = many[f"unit_{half}_surface"], many[f"unit_{half}"]
    np.testing.assert_allclose(np.linalg.norm(surface, axis=1), 1.0, atol=3e-7)
    radius = np.linalg.norm(ball, axis=1)
    assert_uniform(radius**3)
    for p, r in ((surface, 1.0), (ball, radius)):
        height = p[:, 2] / r
        assert_uniform(height if half == "hemisphere" else (height + 1) / 2)
        assert_uniform(azimuth(p))


def test_cube_is_uniform(many):
    for axis in range(3):
        assert_uniform(many["unit_cube"][:, axis] + 0.5)


def test_cdf_gives_each_bin_its_share_and_empty_bins_nothing(many):
    seen = np.bincount(many["bins"], minlength=len(CDF))
    share = np.diff((0.0, *CDF))
    assert seen[2] == 0
    n = len(many["bins"])
    np.testing.assert_array_less(np.abs(seen - n * share), 5 * np.sqrt(n * share * (1 - share)) + 0.5)


@pytest.mark.parametrize("device", DEVICES)
def test_cdf_stays_inside_a_table_that_ends_too_low(device):
    assert set(samples(12, device, (0.0, 0.01))[2]) <= {0, 1}


@pytest.mark.parametrize("device", DEVICES)
def test_lower_bound_is_searchsorted_clamped_to_the_range(device):
    a = np.array([-1.0, 0.0, 0.0, 0.5, 2.0, 2.0, 7.0], np.float32)
    x = np.array([-5.0, -1.0, -0.5, 0.0, 0.25, 2.0, 6.9, 7.0, 8.0, np.inf], np.float32)
    out = wp.zeros((len(x), 2), dtype=int, device=device)
    given = [wp.array(v, dtype=float, device=device) for v in (a, x)]
    wp.launch(search, dim=len(x), inputs=[*given, 2, 5, out], device=device)
    np.testing.assert_array_equal(out.numpy()[:, 0], np.minimum(np.searchsorted(a, x), len(a) - 1))
    np.testing.assert_array_equal(out.numpy()[:, 1], np.minimum(2 + np.searchsorted(a[2:5], x), 4))


@pytest.mark.parametrize("device", DEVICES)
def test_lower_bound_takes_any_scalar_type(device):
    a, x = np.array([1, 2**40, 2**41]), np.array([0, 2, 2**40, 2**40 + 1])
    out = wp.zeros(4, dtype=int, device=device)
    given = [wp.array(v, dtype=wp.int64, device=device) for v in (a, x)]
    wp.launch(search_integers, dim=4, inputs=[*given, out], device=device)
    np.testing.assert_array_equal(out.numpy(), [0, 1, 1, 2])
