"""Rays that meet the rim of an open mesh exactly: edges and corners count once, however faces are turned."""

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, mesh_of, vectors

import warpsim as wp

SQUARE = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], np.float32)
RIM = [[2, 1], [0, 1], [1, 2], [1, 0], [0, 0], [2, 0], [2, 2], [0, 2]]
INSIDE = [[1, 1], [0.5, 0.25], [1.5, 1.75]]
OUTSIDE = [[2.5, 1], [-0.5, 0], [1, 2.0000002]]


@wp.kernel
def count(mesh: wp.uint64, o: wp.array[wp.vec3], d: wp.array[wp.vec3], group: int, crossed: wp.array[int]):
    i = wp.tid()
    root = int(-1)
    if group >= 0:
        root = wp.mesh_get_group_root(mesh, group)
    crossed[i] = wp.mesh_query_ray_count_intersections(mesh, o[i], d[i], root)


def counts(mesh, places, device, toward=-1, group=-1):
    o = np.array([[x, y, -toward] for x, y in places], np.float32)
    crossed = wp.zeros(len(o), dtype=int, device=device)
    args = [mesh.id, vectors(o, device), vectors(np.tile([0, 0, toward], (len(o), 1)), device), group]
    wp.launch(count, len(o), args, [crossed], device=device)
    return crossed.numpy().tolist()


@pytest.mark.parametrize("device", ("cpu", "interp"))
@pytest.mark.parametrize(
    "faces",
    (
        [[0, 1, 2], [0, 2, 3]],
        [[0, 2, 3], [0, 1, 2]],
        [[2, 1, 0], [3, 2, 0]],
        [[0, 1, 2], [2, 0, 3][::-1]],
        [[0, 1, 3], [1, 2, 3]],
        [[1, 2, 0], [1, 1, 1], [3, 0, 2]],
    ),
)
def test_a_rim_counts_once(faces, device):
    """Of two faces in every order and turn, beside one that is a point; the edge between them counts once as well."""
    mesh = mesh_of(SQUARE, np.array(faces), device=device)
    for toward in (-1, 1):
        assert counts(mesh, RIM + INSIDE, device, toward) == [1] * (len(RIM) + len(INSIDE))
        assert counts(mesh, OUTSIDE, device, toward) == [0] * len(OUTSIDE)


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_faces_with_corners_of_their_own_close_up_by_coordinates(device):
    """Corners that are stored once for each face, some of them with a negative zero."""
    points = SQUARE[[0, 1, 2, 0, 2, 3]].copy()
    points[3] = [-0.0, -0.0, -0.0]
    mesh = mesh_of(points, np.arange(6).reshape(2, 3), device=device)
    assert counts(mesh, RIM + INSIDE, device) == [1] * (len(RIM) + len(INSIDE))


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_a_group_has_a_rim_of_its_own(device):
    mesh = wp.Mesh(
        vectors(SQUARE, device),
        wp.array([0, 1, 2, 0, 2, 3], dtype=int, device=device),
        groups=wp.array([0, 1], dtype=int, device=device),
    )
    on_the_diagonal = [[1, 1], [0, 0], [2, 2]]
    for group in (0, 1):
        assert counts(mesh, on_the_diagonal, device, group=group) == [1, 1, 1]
    assert counts(mesh, [[2, 1], [0, 1]], device, group=0) == [1, 0]
    assert counts(mesh, [[2, 1], [0, 1]], device, group=1) == [0, 1]


@pytest.mark.parametrize("turned", (False, True))
def test_a_closed_mesh_keeps_an_even_number(turned):
    """Through edges and corners of a cube, from outside; also with every second face turned round."""
    faces = CUBE_FACES.copy()
    if turned:
        faces[::2] = faces[::2, ::-1]
    low, high = CUBE.min(0), CUBE.max(0)
    x = [low[0], high[0], (low[0] + high[0]) / 2]
    mesh = mesh_of(CUBE, faces)
    scale = 2 * float(np.abs(CUBE).max()) + 1
    o = np.array([[a, b, scale] for a in x for b in x], np.float32)
    crossed = wp.zeros(len(o), dtype=int)
    wp.launch(count, len(o), [mesh.id, vectors(o), vectors(np.tile([0, 0, -1], (len(o), 1))), -1, crossed])
    assert not (crossed.numpy() % 2).any()
    assert crossed.numpy()[-1] == 2
