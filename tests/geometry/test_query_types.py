"""Types of queries without their kind, as annotations of functions."""

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, mesh_of, vectors

import warpsim as wp


@wp.func
def count_boxes(query: wp.BvhQuery) -> int:
    index, n = int(0), int(0)
    while wp.bvh_query_next(query, index):
        n += 1
    return n


@wp.func
def count_faces(query: wp.MeshQuery) -> int:
    index, n = int(0), int(0)
    while wp.mesh_query_next(query, index):
        n += 1
    return n


@wp.kernel
def count(bvh: wp.uint64, mesh: wp.uint64, out: wp.array(dtype=int)):
    low, high = wp.vec3(-0.1), wp.vec3(0.4)
    out[0] = count_boxes(wp.bvh_query_aabb(bvh, low, high))
    out[1] = count_boxes(wp.bvh_query_sphere(bvh, wp.vec3(), 0.4))
    out[2] = count_boxes(wp.bvh_query_ray(bvh, wp.vec3(0.5, 0.5, -1.0), wp.vec3(0.0, 0.0, 1.0)))
    out[3] = count_faces(wp.mesh_query_aabb(mesh, low, high))
    out[4] = count_faces(wp.mesh_query_sphere(mesh, wp.vec3(), 0.4))


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_functions_take_queries_of_any_kind(device):
    corners = np.array([[0, 0, 0], [2, 2, 2]], np.float32)
    bvh = wp.Bvh(vectors(corners, device), vectors(corners + 1, device))
    mesh = mesh_of(CUBE, CUBE_FACES, device=device)
    out = wp.zeros(5, dtype=int, device=device)
    wp.launch(count, 1, [bvh.id, mesh.id, out], device=device)
    near_corner = int((CUBE_FACES == 0).any(1).sum())
    assert out.numpy().tolist() == [1, 1, 1, near_corner, near_corner]


def test_names_that_come_later_say_so():
    with pytest.raises(AttributeError, match=r"'tile_fft': Fourier transforms of tiles are not here yet"):
        _ = wp.tile_fft
    with pytest.raises(AttributeError, match=r"'GLTextureResource': buffers and textures of OpenGL are not"):
        _ = wp.GLTextureResource
    with pytest.raises(AttributeError, match=r"no attribute 'my_tile_fft'\n"):
        _ = wp.my_tile_fft
