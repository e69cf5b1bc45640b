"""Types under one name: constructors (`wp.types.vector(length=3, dtype=float)`), scalars, questions about types.

The types of `warpsim` itself are here as well: `warpsim.types.array` is `warpsim.array`.
"""

import sys
from typing import Any

from .core.types.arrays import ArrayType, array_type
from .core.types.scalars import bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32
from .core.types.scalars import uint64
from .core.types.signatures import Float, Int, Scalar, matrix, quaternion, transformation, vector
from .core.types.structs import Struct
from .names import missing
from .warp.kinds import is_array, is_composite, is_float, is_int, is_matrix, is_quaternion, is_scalar, is_struct
from .warp.kinds import is_tile, is_transformation, is_value, is_vector, type_ctype, type_is_array, type_is_composite
from .warp.kinds import type_is_float, type_is_int, type_is_matrix, type_is_quaternion, type_is_scalar, type_is_struct
from .warp.kinds import type_is_tile, type_is_transformation, type_is_value, type_is_vector, type_repr, type_scalar_type
from .warp.kinds import type_size, type_size_in_bytes, types_equal

__all__ = [
    "ArrayType", "Float", "Int", "Scalar", "Struct", "array_type", "bool_", "float16", "float32", "float64", "int8",
    "int16", "int32", "int64", "is_array", "is_composite", "is_float", "is_int", "is_matrix", "is_quaternion",
    "is_scalar", "is_struct", "is_tile", "is_transformation", "is_value", "is_vector", "matrix", "quaternion",
    "transformation", "type_ctype", "type_is_array", "type_is_composite", "type_is_float", "type_is_int",
    "type_is_matrix", "type_is_quaternion", "type_is_scalar", "type_is_struct", "type_is_tile",
    "type_is_transformation", "type_is_value", "type_is_vector", "type_repr", "type_scalar_type", "type_size",
    "type_size_in_bytes", "types_equal", "uint8", "uint16", "uint32", "uint64", "vector",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    package = sys.modules[__package__]
    member = getattr(package, name, None) if name in package.__all__ else None
    if isinstance(member, type):
        return member
    raise missing(__name__, name)
