"""The table of champions: warpsim's side of every scene is right, sides that differ are not timed, reasons are told."""

import math
import re

import numpy as np
import pytest

from benchmarks.champions import __main__ as champions
from benchmarks.champions import closest_points, cloth, neighbours, rays, transforms
from benchmarks.champions.duel import Duel, Side, run
from benchmarks.geometry import surface
from benchmarks.geometry.packing import block, pairs, summed


def numbers_of(side):
    side.run()
    return np.asarray(side.numbers())


def test_sides_take_turns_after_a_comparison():
    calls = []
    sides = [Side(lambda name=name: calls.append(name), lambda: [1.0]) for name in "ab"]
    result = run(Duel("scene", "peer", *sides), 2)
    assert "".join(calls) == "ab" + "ab" + "abab" and min(result.own, result.other) >= 0.0


@pytest.mark.parametrize("numbers", [[1.0, 2.1], [1.0]])
def test_sides_that_differ_are_not_timed(numbers):
    own, other = Side(lambda: None, lambda: [1.0, 2.0]), Side(lambda: None, lambda: numbers)
    with pytest.raises(AssertionError, match="scene: "):
        run(Duel("scene", "peer", own, other))
    if len(numbers) == 2:
        run(Duel("scene", "peer", own, other, share=0.5), 1)


def test_rays_hit_what_brute_force_does():
    vertices, triangles = surface.torus(12)
    mesh = rays.mesh_of(vertices, triangles)
    for starts, directions in (surface.rays(40), surface.picture(8)):
        expected = surface.first_hits(starts, directions, vertices, triangles)
        lengths = numbers_of(rays.own_hits(mesh, starts, directions))
        np.testing.assert_allclose(np.where(lengths < rays.FARTHEST, lengths, -1.0), expected, atol=1e-4)


def test_closest_points_are_those_of_brute_force():
    vertices, triangles = surface.torus(12)
    points = surface.points_around(50)
    distances = numbers_of(closest_points.own_distances(vertices, triangles, points))
    np.testing.assert_allclose(distances, np.abs(surface.distances(points, vertices, triangles)), atol=1e-5)


def test_neighbour_lists_count_every_pair():
    x = block(6, neighbours.SPACING)
    expected = sum(summed(i, np.ones(len(i)), len(x)) for i, _ in pairs(x, neighbours.REACH))
    np.testing.assert_array_equal(numbers_of(neighbours.own_lists(x)), expected)


def test_transforms_are_those_of_numpy():
    x = np.random.default_rng(0).standard_normal((2, 8, 8, 2)).astype(np.float32)
    expected = np.fft.fft2(x[..., 0] + 1j * x[..., 1])
    result = numbers_of(transforms.own(x))
    np.testing.assert_allclose(result[..., 0] + 1j * result[..., 1], expected, atol=1e-4)


def test_a_sheet_is_cut_into_triangles_of_one_orientation():
    vertices, triangles = cloth.sheet(5)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)[:, 1]
    assert math.isclose(abs(areas.sum()) / 2.0, 1.0) and len(set(np.sign(areas))) == 1


def test_cloth_hangs_by_its_corners():
    own = cloth.OwnCloth(*cloth.sheet(9), fixed=(0, 8))
    for _ in range(5):
        own.frame()
    x = own.positions()
    assert np.all(x[[0, 8], 1] == 0.0) and x[-1, 1] < -0.01


def test_kinds_without_a_name_are_refused():
    with pytest.raises(SystemExit, match="no kind of scene is named speed"):
        champions.main(["speed"])


def test_a_peer_that_is_absent_is_told_in_its_row(monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    row = champions.run_beside("no_such_kind", 1)
    assert re.match(r"\| no_such_kind \| 1 \| - \| ModuleNotFoundError: .* \| - \| - \|\n", row)


def test_a_line_says_who_is_faster():
    result = run(Duel("scene", "peer", Side(lambda: None), Side(lambda: None)), 1)._replace(own=0.002, other=0.006)
    assert champions.line(result, 2) == "| scene | 2 | 2.0 ms | peer | 6.0 ms | 3.00 |"
