"""What volumes say about themselves: their header, their size, and arrays that they carry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class GridInfo(NamedTuple):
    """What a grid's header says: world = transform_matrix (3, 3) @ index + translation (3,)."""

    name: str
    size_in_bytes: int
    grid_index: int
    grid_count: int
    type_str: str
    translation: np.ndarray
    transform_matrix: np.ndarray


class ActiveStats(NamedTuple):
    """How many voxels there are, and how many nodes of 8^3, 128^3 and 4096^3 voxels the tree has."""

    voxel_count: int
    leaf_node_count: int
    lower_node_count: int
    upper_node_count: int


class FeatureArrayInfo(NamedTuple):
    """What a grid says about an array that it carries beside its tree."""

    name: str
    ptr: int
    value_size: int
    value_count: int
    type_str: str
