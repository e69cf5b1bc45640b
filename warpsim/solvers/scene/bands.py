"""Narrow bands of distance fields, checked: they reach as far from surfaces as contact needs distances.

A level set holds distances in a band around its surface and answers with the width of the band elsewhere. Between
voxels distances are interpolated, so those up to some distance need voxels one diagonal of a voxel farther.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...errors import ModelError
from ...geometry.nanovdb.layout import GridClass
from .shapes import ShapeType

if TYPE_CHECKING:
    from .model import Model

_ROUNDING = 1.0e-6  # of single precision, relative


def check_contact_bands(model: Model) -> None:
    """Raise `ModelError` for a distance field that ends nearer to its surface than the largest particle touches it."""
    if ShapeType.SDF in model.shape_type and model.particle_count:
        largest, margins = float(model.particle_radius.numpy().max()), model.shape_margin.numpy()
        for s in range(model.shape_count):
            keep = largest + float(margins[s])
            check_band(model, s, keep, f"contact at {keep:g} m (the largest radius and the shape's margin)")


def check_band(model: Model, shape: int, reach: float, what: str) -> None:
    """Raise `ModelError` for a level set that does not know all distances up to `reach` [m]. what: needs them."""
    volume = model.shape_object[shape]
    if model.shape_type[shape] is not ShapeType.SDF or volume._grid.grid_class is not GridClass.LEVEL_SET:
        return
    sides, band = volume.get_voxel_size(), abs(float(volume._grid.background))
    voxel, needed = min(sides), reach + math.hypot(*sides)
    if band < (1.0 - _ROUNDING) * needed:
        wide = math.ceil((1.0 - _ROUNDING) * needed / voxel)
        raise ModelError(
            f"the volume of shape {shape} knows distances up to {band:g} m from its surface, "
            f"{band / voxel:.3g} voxels\nexpected: {needed:.4g} m, for {what} and the diagonal of a voxel\n"
            f"help: a volume of wp.mesh_to_volume(mesh, {voxel:g}, half_width={wide})"
        )
