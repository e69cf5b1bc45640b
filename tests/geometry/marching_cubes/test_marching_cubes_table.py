"""The cases of marching cubes: what makes a surface without holes holds for every pattern of corners."""

from collections import Counter

import pytest

from warpsim.geometry.marching_cubes.table import (
    _faces,
    _on_one_face,
    case_table,
    fillings,
    loops_of,
    segments_of,
    triangles_of,
)

CASES = range(256)


def sides(triangles):
    return [(t[k], t[k - 2]) for t in triangles for k in range(3)]


def ends(edge):
    corner, axis = divmod(edge, 4)
    return corner, corner | 1 << axis


def position(corner):
    return [corner >> axis & 1 for axis in range(3)]


@pytest.mark.parametrize("case", CASES)
def test_loops_pass_every_cut_edge_once(case):
    edges = [4 * corner + axis for corner in range(8) for axis in range(3) if not corner >> axis & 1]
    cut = [edge for edge in edges if len({case >> corner & 1 for corner in ends(edge)}) == 2]
    assert sorted(edge for loop in loops_of(case) for edge in loop) == sorted(cut)
    assert all(len(loop) >= 3 for loop in loops_of(case))


@pytest.mark.parametrize("case", CASES)
def test_sides_are_segments_of_faces_or_shared_inside_the_cube(case):
    """Each directed segment once; everything else once in each direction, and never within a face."""
    count = Counter(sides(triangles_of(case)))
    segments = [segment for face in _faces() for segment in segments_of(case, face)]
    assert set(count.values()) <= {1}
    assert set(segments) <= set(count)
    inner = set(count) - set(segments)
    assert all((q, p) in inner and not _on_one_face(p, q) for p, q in inner)


def test_cubes_that_share_a_face_cut_it_along_the_same_segments_in_opposite_directions():
    for axis in range(3):
        faces = {frozenset(corner >> axis & 1 for corner in face): face for face in _faces()}
        far, near = faces[frozenset({1})], faces[frozenset({0})]
        assert sorted(corner - (1 << axis) for corner in far) == sorted(near)
        for signs in range(16):
            low = sum(1 << corner for k, corner in enumerate(sorted(near)) if signs >> k & 1)
            ours = segments_of(low << (1 << axis), far)
            theirs = segments_of(low, near)
            assert sorted((q - (4 << axis), p - (4 << axis)) for p, q in ours) == sorted(theirs)


def test_one_inside_corner_gives_a_triangle_that_faces_away_from_it():
    for corner in range(8):
        (triangle,) = triangles_of(1 << corner)
        a, b, c = ([(x + y) / 2 for x, y in zip(*map(position, ends(edge)), strict=True)] for edge in triangle)
        u, v = ([q - p for p, q in zip(a, other, strict=True)] for other in (b, c))
        normal = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
        away = [q - p for p, q in zip(position(corner), a, strict=True)]
        assert sum(x * y for x, y in zip(normal, away, strict=True)) > 0


def test_a_face_with_two_inside_corners_across_is_cut_twice():
    face = _faces()[0]
    case = (1 << face[0]) | (1 << face[2])
    assert len(segments_of(case, face)) == 2 and len(loops_of(case)) == 2


def test_every_loop_has_a_filling_and_the_best_is_taken_in_the_same_way_always():
    assert all(next(fillings(loop), None) for case in CASES for loop in loops_of(case))
    first, edges = case_table()
    assert first[0] == 0 and first[256] == len(edges) == 3 * 820 and max(first[1:] - first[:-1]) == 15
    assert [tuple(edges[n : n + 3]) for n in range(first[42], first[43], 3)] == triangles_of(42)
