"""Meshes and volumes in saved scenes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...geometry.mesh.mesh import Mesh
from ...geometry.volume.volume import Volume
from .kinds import Kind


def mesh_arguments(mesh: Mesh) -> dict[str, Any]:
    """Arrays of the mesh, and how its tree is built."""
    arrays = {"points": mesh.points, "indices": mesh.topology, "velocities": mesh.velocities, "groups": mesh.groups}
    tree = {"bvh_constructor": mesh.bvh_constructor, "bvh_leaf_size": mesh.bvh_leaf_size}
    return {**arrays, **tree, "support_winding_number": mesh.support_winding_number}


def make_mesh(words: Mapping[str, Any], device: Any) -> Mesh:
    """The mesh, with a new tree."""
    return Mesh(**words)


def volume_arguments(volume: Volume) -> dict[str, Any]:
    """The bytes of the grid."""
    return {"data": volume.array().numpy(), "requires_grad": volume.requires_grad}


def make_volume(words: Mapping[str, Any], device: Any) -> Volume:
    """The volume; its bytes are checked."""
    volume = Volume(np.ascontiguousarray(words["data"]), device=device)
    if words["requires_grad"]:
        volume.requires_grad = True
    return volume


KINDS = {"Mesh": Kind(Mesh, mesh_arguments, make_mesh), "Volume": Kind(Volume, volume_arguments, make_volume)}
