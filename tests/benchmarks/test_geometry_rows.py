"""The searches: inputs are what they claim, references agree with plain searches, and warpsim with them."""

import math
from dataclasses import replace

import numpy as np
import pytest

import warpsim as wp
from benchmarks.backward import reverse_of
from benchmarks.geometry import closest_point, dem, density, packing, scaling, surface, volume
from benchmarks.measure import Bench
from benchmarks.rows import PROBES, ROWS

SEARCHES = [probe for probe in PROBES.values() if probe.module.startswith("benchmarks.geometry.")]
SMALL = {"side": 14, "n": 700}
TORUS = surface.torus(14)


# ----- inputs and references ------------------------------------------------------------------


def test_titles_name_the_sizes_that_are_made():
    for probe in SEARCHES:
        for size in (probe.full, probe.quick):
            if "triangles" in size:
                assert size["triangles"] == 2 * size["side"] * (size["side"] + 1)
            if "points" in size:
                assert len(packing.block(20, 1.0)) == 20**3 and size["points"] == size["side"] ** 3
    assert len(TORUS[1]) == 2 * 14 * 15


def test_a_grain_touches_some_neighbours_and_a_particle_has_thirty():
    x = packing.block(12, dem.SPACING)
    touching = sum(len(i) for i, _ in packing.pairs(x, 2.0 * dem.RADIUS))
    assert 2.0 < touching / len(x) < 6.0
    x = packing.block(30, density.SPACING)
    near = np.zeros(len(x))
    for i, _ in packing.pairs(x, density.SMOOTHING):
        near += np.bincount(i, minlength=len(x))
    inner = np.all((x > 0.3) & (x < 2.6), axis=1)
    assert 28.0 < near[inner].mean() < 32.0


@pytest.mark.parametrize("reach", [0.05, 0.13, 0.4, 3.0])
def test_pairs_are_those_of_a_search_through_all(reach):
    x = packing.block(6, 0.1, shake=0.5) - np.float32(0.3)
    away = np.linalg.norm(x[:, None].astype(np.float64) - x[None], axis=2)
    wanted = set(zip(*np.nonzero((away <= reach) & ~np.eye(len(x), dtype=bool)), strict=True))
    found = [pair for i, j in packing.pairs(x, reach) for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_forces_are_equal_and_opposite():
    f = dem.expected({"side": 10})["f"]
    assert np.abs(f).mean() > 10.0
    assert np.abs(f.sum(axis=0)).max() < 1.0e-9 * np.abs(f).sum()


def test_water_inside_a_block_has_its_density():
    rho = density.expected({"side": 14})["rho"]
    assert np.median(rho) > 0.6 * density.WATER  # many particles of so small a block are near its sides
    assert 0.98 < np.max(rho) / density.WATER < 1.1


def test_the_torus_is_closed_and_faces_outwards():
    vertices, triangles = TORUS
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = {tuple(side) for side in sides.tolist()}
    assert len(edges) == len(sides) and all((b, a) in edges for a, b in edges)
    a, b, c = (vertices[triangles[:, k]].astype(np.float64) for k in range(3))
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    round_tube = 2.0 * math.pi**2 * surface.MAJOR * surface.MINOR**2
    assert 0.8 * round_tube < enclosed < 1.1 * round_tube


def on_triangles(count=200):
    """Many points on each triangle of the torus."""
    u, v = np.random.default_rng(1).random((2, count))
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    corners = TORUS[0].astype(np.float64)[TORUS[1]]
    weights = np.stack([u, v, 1.0 - u - v], axis=1)
    return np.einsum("sk,mkc->msc", weights, corners).reshape(-1, 3)


def test_distances_are_those_to_the_nearest_of_many_points_on_the_surface():
    points = surface.points_around(60)
    samples = on_triangles()
    nearest = np.array([np.linalg.norm(samples - p, axis=1).min() for p in points.astype(np.float64)])
    found = surface.distances(points, *TORUS)
    assert np.all(np.abs(found) <= nearest + 1.0e-12)
    np.testing.assert_allclose(np.abs(found), nearest, atol=0.02)
    # far from the bumps, the sign is that of the smooth torus
    smooth = np.hypot(np.hypot(points[:, 0], points[:, 1]) - surface.MAJOR, points[:, 2]) - surface.MINOR
    clear = np.abs(smooth) > 2.0 * surface.BUMP
    assert clear.sum() > 20 and np.any(found[clear] < 0.0)
    assert np.array_equal(found[clear] < 0.0, smooth[clear] < 0.0)


def test_a_point_is_as_far_from_a_triangle_as_its_nearest_feature():
    triangle = np.array([[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]])
    for point, wanted in (((0.5, 0.5, 3.0), 9.0), ((-3.0, -4.0, 0.0), 25.0), ((1.0, -2.0, 0.0), 4.0),
                          ((2.0, 2.0, 1.0), 3.0), ((3.0, 0.0, 0.0), 1.0)):
        assert surface.square_distances(np.array(point), triangle) == pytest.approx(wanted)


def test_rays_end_on_the_surface_or_miss_it():
    for starts, directions in (surface.rays(80), surface.picture(9)):
        lengths = surface.first_hits(starts, directions, *TORUS)
        hit = lengths >= 0.0
        assert 0.2 < hit.mean() < 1.0
        ends = starts[hit].astype(np.float64) + lengths[hit, None] * directions[hit]
        np.testing.assert_allclose(surface.distances(ends.astype(np.float32), *TORUS), 0.0, atol=1.0e-6)
        # no point of a ray before its end, or of one that misses, is inside
        along = np.linspace(0.0, 0.999, 20)[:, None, None] * np.where(hit, lengths, 6.0)[None, :, None]
        before = (starts + along * directions).reshape(-1, 3)[::7].astype(np.float32)
        assert surface.distances(before, *TORUS).min() > -1.0e-6


def test_boxes_around_triangles_overlap_them():
    corners = TORUS[0][TORUS[1]]
    counts = surface.overlapping(corners.min(axis=1)[:50], corners.max(axis=1)[:50], *TORUS)
    assert np.all(counts >= 13)  # a triangle, and those that share a corner with it
    far = np.full((1, 3), 5.0, np.float32)
    assert surface.overlapping(far, far + 1.0, *TORUS) == 0


def test_the_field_is_interpolated_between_its_voxels():
    values = volume.field(40)
    assert np.abs(values).max() == volume.BAND
    found = volume.expected({"side": 40, "n": 300})["value"]
    points = volume.points_near(values, 300).astype(np.float64) - 19.5
    smooth = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 12.0, points[:, 2]) - 4.8
    inner = np.abs(smooth) < 2.0
    assert inner.mean() > 0.3
    np.testing.assert_allclose(found[inner], smooth[inner], atol=0.1)


# ----- warpsim --------------------------------------------------------------------------------


def test_all_find_what_numpy_finds():
    probes = [replace(probe, full={**probe.full, **SMALL}, rounds=1, limit=120.0) for probe in SEARCHES]
    with Bench(("warpsim", "warp")) as bench:  # Warp where it is installed
        bench.start()
        results = bench.run(probes)
        names = bench.present()
    assert "warpsim" in names
    reasons = {(probe, name): outcomes[name].reason for probe, outcomes in results.items() for name in names}
    assert reasons == dict.fromkeys(reasons, "")
    shown = {(row.probe, row.metric) for row in ROWS if row.probe in results}
    assert all(results[probe][name].samples[metric] for probe, metric in shown for name in names)


@pytest.mark.parametrize("broken", ["side", "values"])
def test_a_wrong_result_is_not_timed(broken, monkeypatch):
    probe = replace(PROBES["density"], full={"side": 8}, rounds=1, limit=120.0)
    right = density.expected(probe.full)["rho"]
    wrong = {"side": right[:-1], "values": right * 1.001}[broken]
    monkeypatch.setattr(density, "expected", lambda size: {"rho": wrong})
    with Bench(("warpsim",)) as bench:
        bench.start()
        outcome = bench.run([probe])["density"]["warpsim"]
    assert outcome.status == "wrong" and outcome.samples == {}


def started(module, size, start=np.ones):
    """The gradients of a backward row after one run."""
    case = reverse_of(module.warp_case, start=start)(wp, size)
    case.timed["time"].before()
    case.timed["time"].run()
    return case.values()


def test_gradients_of_the_density_are_those_of_its_formula():
    size = {"side": 8}
    x = packing.block(8, density.SPACING)
    wanted = np.zeros(x.shape)
    for i, j in packing.pairs(x, density.SMOOTHING):
        d = x[i].astype(np.float64) - x[j]
        slope = -6.0 * density.FACTOR * (density.SMOOTHING**2 - np.sum(d * d, axis=1)) ** 2
        # particle i is moved: its own density changes, and that of j as much
        wanted += packing.summed(i, 2.0 * slope[:, None] * d, len(x))
    found = started(density, size)["gradient 0"] - 1.0
    np.testing.assert_allclose(found, wanted, atol=1.0e-4 * np.abs(wanted).max())


def test_gradients_of_distances_point_away_from_the_surface():
    size = {"side": 14, "n": 300}
    p = surface.points_around(300).astype(np.float64)
    found = started(closest_point, size)["gradient 2"] - 1.0
    step = 1.0e-6
    wanted = np.stack([(surface.distances(p + step * axis, *TORUS) - surface.distances(p - step * axis, *TORUS))
                       / (2.0 * step) for axis in np.eye(3)], axis=1)
    smooth = np.abs(np.linalg.norm(wanted, axis=1) - 1.0) < 1.0e-5  # elsewhere two closest points are near
    assert smooth.mean() > 0.95
    np.testing.assert_allclose(found[smooth], wanted[smooth], atol=2.0e-3)


def test_gradients_of_forces_agree_with_differences_of_the_reference(monkeypatch):
    x, v = packing.block(6, dem.SPACING).astype(np.float64), packing.velocities(216).astype(np.float64)
    weights = np.cos(np.arange(x.size)).reshape(x.shape)
    found = started(dem, {"side": 6}, lambda shape: np.cos(np.arange(np.prod(shape))).reshape(shape))

    def weighted(x, v):
        monkeypatch.setattr(dem, "block", lambda side, spacing: x)
        monkeypatch.setattr(dem, "velocities", lambda n: v)
        return np.sum(weights * dem.expected({"side": 6})["f"])

    for name, moved in (("gradient 0", 0), ("gradient 1", 1)):
        for seed in range(4):
            along = np.random.default_rng(seed).normal(size=x.shape)
            step = 1.0e-8 * along
            pair = [weighted(*(a + sign * step if k == moved else a for k, a in enumerate((x, v))))
                    for sign in (1.0, -1.0)]
            slope = (pair[0] - pair[1]) / 2.0e-8
            assert np.sum((found[name] - weights) * along) == pytest.approx(slope, rel=1.0e-4)


# ----- growth ---------------------------------------------------------------------------------


def test_the_table_of_growth_has_a_number_for_every_size():
    lines = [line for line in scaling.LINES if line.workload in (density, volume)]
    for line in lines:
        measured = scaling.measure(wp, line, [500, 4000])
        (few, quick), (many, slow) = measured["time"]
        assert few < many and 0.0 < quick and 0.0 < slow
    row = scaling.cells("build", [(1000, 1.0e-4), (100_000, 1.0e-2)])
    assert row == ["build", "100", "100", "1.00"]


def test_the_table_of_growth_refuses_wrong_values(monkeypatch):
    [line] = [line for line in scaling.LINES if line.workload is density]
    monkeypatch.setattr(density, "expected", lambda size: {"rho": np.zeros(size["side"] ** 3)})
    with pytest.raises(ValueError, match="SPH density"):
        scaling.measure(wp, line, [500])
