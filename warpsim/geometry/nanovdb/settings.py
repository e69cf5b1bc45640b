"""Settings of a grid beside its voxels: type, transform, class, name; decided and checked.

Guarantees: a `Settled` fits together and fits the format: the type has a layout, the class goes with the type,
the map is finite in single precision and can be inverted, the background is a value of the type.
Raises `VolumeError` for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import VolumeError
from .grid import feature_type
from .layout import KINDS, MAJOR_VERSION, GridClass, GridType, layout

VERSION = (32, 6, 0)
_VOXEL_TYPES = (GridType.FLOAT, GridType.DOUBLE, GridType.VEC3F, GridType.VEC3D, GridType.UINT32)


@dataclass(frozen=True)
class Description:
    """What a grid is beside its voxels; all have defaults.

    type: a `GridType` or its name; by default that of the values.  background: the value where nothing is.
    voxel_size: one edge length or three; or `transform` (3, 3), world = transform @ index + translation.
    """

    type: GridType | str | None = None
    background: object = 0
    voxel_size: object = None
    transform: object = None
    translation: object = (0.0, 0.0, 0.0)
    grid_class: GridClass | str | None = None
    name: str = ""
    version: tuple[int, int, int] = VERSION


class Settled:
    """A description with everything decided and checked."""

    def __init__(self, description: Description, dtype: np.dtype, shape: tuple[int, ...] = ()):
        self.description = description
        self.type = _type(description, dtype, shape)
        self.layout = layout(self.type)
        self.stores_values = self.layout.kind.leaf == "values"
        self.grid_class = _class(description, self.type, self.layout.scalar, self.layout.components)
        self.version = description.version
        if description.version[0] != MAJOR_VERSION:
            raise VolumeError(f"version\nfound: {description.version}\nexpected: (32, minor, patch)")
        self.matrix, self.inverse, self.translation = _map(description)
        self.name = encode_name(description.name)
        background = np.asarray(description.background)
        if self.layout.is_index or not self.stores_values:
            background = np.zeros((), self.layout.scalar)
        elif background.ndim == 0 and self.layout.components > 1:
            background = np.full(self.layout.components, background)
        self.background = self.cast(background, "background")

    def cast(self, values: np.ndarray, what: str, axes: int = 0) -> np.ndarray:
        """Values in the dtype of the grid, along `axes` axes; refused where a number would become another one."""
        dtype, shape = self.layout.scalar, () if self.layout.components == 1 else (self.layout.components,)
        if values.shape[axes:] != shape or values.ndim != axes + len(shape):
            expected = "one number each" if not shape else f"{shape[0]} numbers each"
            raise VolumeError(f"{what} of a {self.type.name} grid\nfound: shape {values.shape}\nexpected: {expected}")
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and dtype.kind != "f" and what == "values"):
            raise VolumeError(f"{what} of a {self.type.name} grid\nfound: dtype {values.dtype}\nexpected: {dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            out = values.astype(dtype)
        narrower = dtype.itemsize < values.dtype.itemsize
        infinite = dtype.kind == "f" and narrower and (np.isinf(out) & np.isfinite(values)).any()
        if infinite or (dtype.kind in "iu" and not (out == values).all()):
            raise VolumeError(f"{what} of a {self.type.name} grid\nfound: numbers outside of {dtype}")
        return out


def _type(description: Description, dtype: np.dtype, shape: tuple[int, ...]) -> GridType:
    asked = description.type
    if asked is None:
        kind = feature_type(np.empty((0, *shape), dtype))
        if kind == GridType.UNKNOWN:
            kinds = f"values of dtype {dtype} and {shape[0] if shape else 1} components"
            raise VolumeError(f"type of a grid\nfound: {kinds}\nhelp: give type=, or values of another dtype")
        return kind
    known = {kind.name.lower(): kind for kind in KINDS}
    kind_or_none = known.get(asked.lower()) if isinstance(asked, str) else asked
    if kind_or_none is None or kind_or_none not in KINDS or kind_or_none == GridType.BOOL:
        names = ", ".join(name for name in known if name != "bool")
        raise VolumeError(f"type of a grid\nfound: {asked!r}\nexpected: one of {names}")
    return GridType(kind_or_none)


def _class(description: Description, kind: GridType, scalar: np.dtype, components: int) -> GridClass:
    """The class asked for, where it can go with the type."""
    asked, is_index = description.grid_class, kind in (GridType.INDEX, GridType.ONINDEX)
    if asked is None:
        return GridClass.INDEX if is_index else GridClass.UNKNOWN
    known = {member.name.lower(): member for member in GridClass}
    grid_class = known.get(asked.lower()) if isinstance(asked, str) else asked
    fits = {
        GridClass.LEVEL_SET: scalar.kind == "f" and components == 1,
        GridClass.FOG: scalar.kind == "f" and components == 1,
        GridClass.STAGGERED: scalar.kind == "f" and components >= 3,
        GridClass.VOXEL: kind in _VOXEL_TYPES,
        GridClass.INDEX: is_index,
        GridClass.TENSOR: is_index,
        GridClass.TOPOLOGY: kind == GridType.MASK,
        GridClass.POINT_INDEX: kind == GridType.UINT32,
        GridClass.POINT_DATA: kind == GridType.UINT32,
    }
    if grid_class is None or grid_class not in known.values() or not fits.get(grid_class, True):
        raise VolumeError(
            f"class of a {kind.name} grid\nfound: {asked!r}\nexpected: one of {', '.join(known)} that fits"
        )
    return GridClass(grid_class)


def _map(description: Description) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix, inverse and translation, finite in single precision too."""
    if description.voxel_size is not None and description.transform is not None:
        raise VolumeError("both voxel_size and transform are given\nhelp: give one of them")
    size = np.asarray(1.0 if description.voxel_size is None else description.voxel_size, np.float64)
    matrix = np.diag(np.ones(3) * size)
    if description.transform is not None:
        matrix = np.asarray(description.transform, np.float64)
    translation = np.asarray(description.translation, np.float64)
    if matrix.shape != (3, 3) or translation.shape != (3,) or size.shape not in ((), (3,)):
        raise VolumeError(f"transform\nfound: shapes {matrix.shape} and {translation.shape}\nexpected: (3, 3) and (3,)")
    if description.transform is None and not (size > 0.0).all():
        raise VolumeError(f"voxel size\nfound: {size.tolist()}\nexpected: above 0")
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.linalg.norm(matrix, axis=0)
        regular = np.isfinite(scale).all() and np.linalg.matrix_rank(matrix / np.where(scale > 0, scale, 1.0)) == 3
        inverse = np.linalg.inv(matrix) if regular else matrix
        single = np.concatenate([part.astype(np.float32).ravel() for part in (matrix, inverse, translation)])
    if not regular or not np.isfinite(single).all():
        numbers = f"{matrix.tolist()} and {translation.tolist()}"
        raise VolumeError(f"transform\nfound: {numbers}\nexpected: finite float32 numbers, a matrix with an inverse")
    return matrix, inverse, translation


def encode_name(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > 255 or b"\0" in encoded:
        raise VolumeError(f"name\nfound: {text!r}\nexpected: at most 255 bytes of UTF-8 without a zero byte")
    return encoded
