"""Fans and normals against a plain loop, on random polygons."""

import numpy as np
import pytest

from warpsim.usd.topology import fan, vertex_normals


@pytest.mark.parametrize("seed", range(4))
def test_fan_agrees_with_a_loop(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(3, 9, size=50)
    indices = rng.integers(0, 1000, size=counts.sum())
    expected, first = [], 0
    for count in counts:
        face = indices[first : first + count]
        expected += [[face[0], face[k], face[k + 1]] for k in range(1, count - 1)]
        first += count
    triangles = fan(counts, indices)
    assert triangles.dtype == np.int32
    np.testing.assert_array_equal(triangles, expected)


def test_normals_agree_with_a_loop():
    rng = np.random.default_rng(5)
    points = rng.standard_normal((30, 3)).astype(np.float32)
    triangles = np.array([rng.choice(29, 3, replace=False) for _ in range(80)])
    total = np.zeros((30, 3))
    for i, j, k in triangles:
        total[[i, j, k]] += np.cross(points[j] - points[i], points[k] - points[i])
    total[29] = (0.0, 1.0, 0.0)  # the point that no triangle uses
    expected = total / np.linalg.norm(total, axis=1, keepdims=True)
    np.testing.assert_allclose(vertex_normals(points, triangles, (0, 1, 0)), expected, atol=1e-5)


def test_a_face_without_area_has_no_say():
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], dtype=np.float32)
    normals = vertex_normals(points, np.array([[0, 1, 2], [0, 1, 3]]), (0, 0, -1))
    np.testing.assert_array_equal(normals, [[0, 0, 1], [0, 0, 1], [0, 0, -1], [0, 0, 1]])
