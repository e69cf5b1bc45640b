"""Type constructors and scalar types under one name: `wp.types.vector(length=3, dtype=float)`."""

from .core.types.arrays import ArrayType, array_type
from .core.types.compounds import matrix, quaternion, transformation, vector
from .core.types.scalars import (
    bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)  # fmt: skip
from .core.types.signatures import Float, Int, Scalar
from .core.types.structs import Struct

for _make in (vector, matrix, quaternion, transformation):
    _make.kernel_form = "type_function"  # type: ignore[attr-defined]  # usable inside kernels

__all__ = [
    "ArrayType", "Float", "Int", "Scalar", "Struct", "array_type", "bool_", "float16", "float32", "float64", "int8",
    "int16", "int32", "int64", "matrix", "quaternion", "transformation", "uint8", "uint16", "uint32", "uint64",
    "vector",
]  # fmt: skip
