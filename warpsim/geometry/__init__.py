"""Hash grids, bounding volume hierarchies, meshes and sparse volumes, written in the kernel language.

`IsoSurfaceMarchingCubes`, which is `warpsim.MarchingCubes`, and `IsoSurfaceBase` are here for scripts written for Warp,
and so are neighbours of triangles (`tri_tri_adjacency`), Delaunay triangulations (`delaunay_edge_flip`) and swept
volumes (`swept_volume_mesh`).
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import errors

_HOME = {
    "IsoSurfaceBase": ("marching_cubes.iso_surface", "IsoSurfaceBase"),
    "IsoSurfaceMarchingCubes": ("marching_cubes.marching_cubes", "MarchingCubes"),
    "lipschitz_octree": ("marching_cubes.octree", "lipschitz_octree"),
    "sparse_marching_cubes": ("marching_cubes.sparse", "sparse_marching_cubes"),
    "sparse_marching_cubes_from_cells": ("marching_cubes.sparse", "sparse_marching_cubes_from_cells"),
    "SweptVolumeSignMode": ("swept_volume.distance", "SweptVolumeSignMode"),
    "swept_volume_bounds": ("swept_volume.swept_volume", "swept_volume_bounds"),
    "swept_volume_field": ("swept_volume.swept_volume", "swept_volume_field"),
    "swept_volume_mesh": ("swept_volume.swept_volume", "swept_volume_mesh"),
    "swept_volume_sdf": ("swept_volume.distance", "swept_volume_sdf"),
    "delaunay_edge_flip": ("triangulation.delaunay", "delaunay_edge_flip"),
    "find_triangle_neighbor_edge_index": ("triangulation.adjacency", "find_triangle_neighbor_edge_index"),
    "tri_tri_adjacency": ("triangulation.adjacency", "tri_tri_adjacency"),
}


def __getattr__(name: str) -> Any:
    """A name of `_HOME`, loaded late: most programs that query geometry extract no surfaces."""
    if name in _HOME:
        module, inner = _HOME[name]
        return getattr(importlib.import_module(f"{__name__}.{module}"), inner)
    why = errors.reason(f"geometry.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")
