"""Array types for annotations beside `array[float]`: of fixed rank, indexed, or on a thread's stack."""

from __future__ import annotations

from typing import Any

from ...types.arrays import ArrayType, array_type
from .array import array
from .host_memory import ShapeLike, normalized_shape
from .indexed import indexedarray


class RankedArray:
    """`array2d(dtype=float)` and `array2d[float]`: the type of an array of fixed rank, or such an array."""

    def __init__(self, of: Any, ndim: int):
        self.of, self.ndim, self.__name__ = of, ndim, f"{of.__name__}{ndim}d"

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.of(*args, **{"ndim": self.ndim, **options})

    def __getitem__(self, dtype: object) -> ArrayType:
        t: ArrayType = self.of[dtype, self.ndim]
        return t


array1d, array2d, array3d, array4d = (RankedArray(array, n) for n in (1, 2, 3, 4))
indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d = (RankedArray(indexedarray, n) for n in (1, 2, 3, 4))


class fixedarray:
    """The type of an array on the stack of a thread, as `wp.zeros(shape=8, dtype=float)` makes it in kernels.

    dtype: element type. shape: extents, constants up to rank 4; without them any array on a stack fits.
    """

    def __new__(cls, dtype: object = Any, shape: ShapeLike = None) -> Any:
        extents = normalized_shape(shape) or ()
        return array_type(dtype, len(extents) or 1, False, extents)
