"""Queries by the lanes of a block, which give tiles of one number, against the queries of single threads."""

import numpy as np
import pytest

import warpsim as wp

DEVICES = ["cpu", "interp"]
rng = np.random.default_rng(29)


@wp.kernel
def faces_met(
    mesh: wp.uint64, low: wp.array[wp.vec3], high: wp.array[wp.vec3], hits: wp.array2d[int], plain: wp.array2d[int]
):
    i = wp.tid()
    query = wp.tile_mesh_query_aabb(mesh, low[i], high[i])
    while wp.tile_query_valid(query):
        face = wp.tile_mesh_query_aabb_next(query)
        if face[0] >= 0:
            hits[i, face[0]] += 1
    for face in wp.mesh_query_aabb(mesh, low[i], high[i]):
        plain[i, face] += 1


@pytest.mark.parametrize("device", DEVICES)
def test_faces_of_a_mesh(device):
    count, faces = 20, 30
    with wp.ScopedDevice(device):
        points = rng.uniform(-1.0, 1.0, (3 * faces, 3)) * 0.3 + np.repeat(rng.uniform(-1.0, 1.0, (faces, 3)), 3, axis=0)
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(np.arange(3 * faces), dtype=int))
        low = rng.uniform(-1.0, 0.5, (count, 3))
        boxes = [wp.array(x, dtype=wp.vec3) for x in (low, low + 0.5)]
        hits, plain = (wp.zeros((count, faces), dtype=int) for _ in range(2))
        wp.launch(faces_met, count, inputs=[mesh.id, *boxes, hits, plain], block_dim=1)
    assert hits.numpy().sum() > count and np.array_equal(hits.numpy(), plain.numpy())


@wp.kernel
def boxes_met(
    bvh: wp.uint64, low: wp.array[wp.vec3], high: wp.array[wp.vec3], hits: wp.array2d[int], rays: wp.array2d[int]
):
    i = wp.tid()
    query = wp.tile_bvh_query_aabb(bvh, low[i], high[i])
    while wp.tile_query_valid(query):
        box = wp.untile(wp.tile_bvh_query_next(query))
        if box >= 0:
            hits[i, box] += 1
    ray = wp.bvh_query_ray_tiled(bvh, low[i], high[i] - low[i])
    while wp.tile_query_valid(ray):
        box = wp.untile(wp.bvh_query_next_tiled(ray))
        if box >= 0:
            rays[i, box] += 1
    for box in wp.bvh_query_aabb(bvh, low[i], high[i]):
        hits[i, box] -= 1
    for box in wp.bvh_query_ray(bvh, low[i], high[i] - low[i]):
        rays[i, box] -= 2


@pytest.mark.parametrize("device", DEVICES)
def test_boxes_of_a_hierarchy(device):
    count, boxes = 20, 30
    with wp.ScopedDevice(device):
        corners = rng.uniform(-1.0, 1.0, (boxes, 3))
        bvh = wp.Bvh(wp.array(corners, dtype=wp.vec3), wp.array(corners + 0.4, dtype=wp.vec3))
        low = rng.uniform(-1.0, 0.5, (count, 3))
        ends = [wp.array(x, dtype=wp.vec3) for x in (low, low + 0.5)]
        hits, rays = (wp.zeros((count, boxes), dtype=int) for _ in range(2))
        wp.launch(boxes_met, count, inputs=[bvh.id, *ends, hits, rays], block_dim=1)
    assert not hits.numpy().any()
    assert rays.numpy().sum() < -5 and set(np.unique(rays.numpy())) == {-1, 0}
