"""Hash grids, bounding volume hierarchies, meshes and sparse volumes, written in the kernel language.

Programs without geometry do not pay for it: the module of a public name is loaded when the name is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

NAMES = {
    "bvh.bvh": "Bvh",
    "bvh.query": (
        "BvhQueryAabb BvhQueryCapsule BvhQueryRay BvhQuerySphere bvh_get_group_root bvh_query_aabb "
        "bvh_query_capsule bvh_query_next bvh_query_ray bvh_query_sphere"
    ),
    "hash_grid.hash_grid": "HashGrid",
    "hash_grid.neighbors": (
        "HashGridNeighbors HashGridNeighborsD hash_grid_neighbors hash_grid_neighbors_next nearest_image"
    ),
    "hash_grid.query": "HashGridQuery HashGridQueryD hash_grid_point_id hash_grid_query hash_grid_query_next",
    "marching_cubes.marching_cubes": "MarchingCubes",
    "mesh.mesh": "Mesh",
    "mesh.data": "MeshData",
    "mesh.eval": (
        "mesh_eval_face_normal mesh_eval_position mesh_eval_velocity mesh_get mesh_get_index mesh_get_point "
        "mesh_get_velocity"
    ),
    "mesh.files": "load_mesh mesh_from_file",
    "mesh.overlap": (
        "MeshQueryAABB MeshQuerySphere mesh_query_aabb mesh_query_aabb_next mesh_query_next mesh_query_sphere"
    ),
    "mesh.query": (
        "MeshQueryPoint mesh_query_furthest_point_no_sign mesh_query_point mesh_query_point_no_sign "
        "mesh_query_point_sign_normal mesh_query_point_sign_parity mesh_query_point_sign_winding_number"
    ),
    "mesh.ray": "MeshQueryRay mesh_query_ray mesh_query_ray_anyhit mesh_query_ray_count_intersections",
    "volume.from_mesh": "mesh_to_volume",
    "volume.volume": "Volume",
    "volume.index": "volume_sample_grad_index volume_sample_index",
    "volume.lookup": (
        "volume_lookup volume_lookup_f volume_lookup_i volume_lookup_index volume_lookup_v volume_store "
        "volume_store_f volume_store_i volume_store_v volume_voxel_count"
    ),
    "volume.older": "volume_sample_local volume_sample_world volume_transform volume_transform_inv",
    "volume.sample": (
        "volume_sample volume_sample_f volume_sample_grad volume_sample_grad_f volume_sample_grad_v "
        "volume_sample_i volume_sample_v"
    ),
    "volume.transform": (
        "volume_index_to_world volume_index_to_world_dir volume_world_to_index volume_world_to_index_dir"
    ),
}
"""The public names, by the module that defines them."""

HOME = {name: module for module, names in NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{HOME[name]}", __name__), name)
    return value
