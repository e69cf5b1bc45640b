"""Normals of corners against a loop over faces: round where a surface bends little, sharp at creases."""

import numpy as np
import pytest

from warpsim.plot import box, sphere
from warpsim.plot.normals import corner_normals


def one_by_one(points, triangles):
    """The same, face by face: those that meet a face in a vertex and bend by less than 40 degrees."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    flat = area / np.linalg.norm(area, axis=1, keepdims=True)
    normals = np.zeros((len(triangles), 3, 3))
    for face, corners in enumerate(triangles):
        for k, vertex in enumerate(corners):
            around = (triangles == vertex).any(axis=1)
            normals[face, k] = area[around & (flat @ flat[face] > np.cos(np.radians(40.0)))].sum(0)
    return normals / np.linalg.norm(normals, axis=2, keepdims=True)


def folded(angle):
    """Two squares of four triangles each, at an angle [deg]; no vertex lies on one face alone."""
    s, c = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    points = np.array([[-1, 0, 0], [-1, 0, 1], [0, 0, 0], [0, 0, 1], [c, s, 0], [c, s, 1]], float)
    return points, np.array([[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]])


@pytest.mark.parametrize("angle", [0.0, 30.0, 38.0, 42.0, 60.0, 90.0, 150.0])
def test_a_fold_is_sharp_from_forty_degrees(angle):
    points, triangles = folded(angle)
    normals = corner_normals(points, triangles)
    np.testing.assert_allclose(normals, one_by_one(points, triangles), atol=1e-12)
    along_the_fold = normals[0, 2], normals[2, 1]
    assert np.allclose(*along_the_fold) == (angle < 40.0)


def test_a_box_has_the_normals_of_its_faces():
    brick = box((0, 0, 0), (1, 2, 3))
    _, first, back = np.unique(brick.points, axis=0, return_index=True, return_inverse=True)
    points, triangles = brick.points[first], back.reshape(-1)[brick.triangles]  # eight shared corners
    normals = corner_normals(points, triangles)
    np.testing.assert_allclose(normals, one_by_one(points, triangles), atol=1e-12)
    assert set(np.abs(normals).reshape(-1, 3).max(1)) == {1.0}


def test_a_ball_is_round():
    ball = sphere((1.0, 2.0, 3.0), 2.0, rings=48)
    faces = ball.triangles[np.abs(ball.points[ball.triangles][:, :, 1] - 2.0).max(1) < 1.7]  # not near the poles
    away = np.abs(corner_normals(ball.points, faces) - (ball.points[faces] - [1.0, 2.0, 3.0]) / 2.0)
    assert np.quantile(away, 0.95) < 0.02 and away.max() < 0.1  # more where sides of triangles are missing


def test_faces_without_area_and_no_faces():
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], float)
    normals = corner_normals(points, np.array([[0, 1, 2], [0, 1, 3]]))
    np.testing.assert_array_equal(normals[1], [[0, 0, 1]] * 3)
    assert np.isfinite(normals).all() and corner_normals(points, np.zeros((0, 3), int)).shape == (0, 3, 3)
