"""Questions about types and values: each kind answers yes to its own question, scalars and Python numbers included."""

import ctypes
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim._src.types import strides_from_shape
from warpsim.core.types.compounds import standard_names

T = wp.types
TYPES = {
    "vector": [wp.vec3, wp.vec2ub, T.vector(7, wp.float64), T.vector(0, float)],
    "matrix": [wp.mat22, T.matrix((2, 5), wp.int8)],
    "quaternion": [wp.quat, wp.quatd],
    "transformation": [wp.transform, wp.transformh],
    "float": [float, wp.float16, np.dtype(np.float64)],
    "int": [int, wp.uint8, wp.int64],
    "array": [wp.array[float], wp.array2d[wp.vec3], wp.indexedarray[int], wp.array(dtype=float, ndim=2)],
    "tile": [wp.tile[float, 4, 4], wp.tile[wp.vec3, 8]],
}
FAMILIES = {"composite": ("vector", "matrix", "quaternion", "transformation"), "scalar": ("float", "int")}


@wp.struct
class Body:
    mass: float


def test_each_type_answers_to_its_own_kind_alone():
    for kind in TYPES:
        asked = getattr(T, f"type_is_{kind}")
        for owner, types in TYPES.items():
            assert [asked(t) for t in types] == [owner == kind] * len(types), (kind, owner)
    for family, kinds in FAMILIES.items():
        asked = getattr(T, f"type_is_{family}")
        for owner, types in TYPES.items():
            assert [asked(t) for t in types] == [owner in kinds] * len(types), (family, owner)
    assert T.type_is_struct(Body) and not T.type_is_struct(wp.vec3)
    assert T.type_is_value(bool) and not T.type_is_scalar(bool)
    assert not any(asked(wp.vec3(1.0, 2.0, 3.0)) for asked in (T.type_is_vector, T.type_is_value, T.type_is_float))


def test_values_answer_as_their_types_do():
    assert T.is_vector(wp.vec3()) and not T.is_vector(wp.vec3)
    assert T.is_matrix(wp.mat33()) and T.is_quaternion(wp.quat()) and T.is_transformation(wp.transform())
    assert T.is_float(1.0) and T.is_float(wp.float64(1)) and not T.is_float(1)
    assert T.is_int(1) and T.is_int(wp.uint8(1)) and not T.is_int(True)
    assert T.is_value(True) and not T.is_scalar(True)
    assert T.is_struct(Body()) and T.is_array(wp.zeros(2)) and T.is_array(wp.array[float])
    assert T.is_array(wp.array(dtype=float)) and T.is_tile(wp.tile[int, 2]) and not T.is_array(wp.tile[int, 2])
    assert T.is_composite(wp.quat()) and not T.is_composite(2.0)
    assert not any(asked("text") for asked in (T.is_value, T.is_array, T.is_struct, T.is_tile))


def test_sizes_names_and_equality():
    assert [T.type_size(t) for t in (float, wp.vec3, wp.mat44, wp.transform, T.vector(0, float))] == [1, 3, 16, 7, 0]
    assert [T.type_size_in_bytes(t) for t in (bool, wp.float64, wp.vec3h, wp.mat22d, Body)] == [1, 8, 6, 32, 4]
    assert [T.type_repr(t) for t in (float, wp.float32, wp.vec3, wp.mat22d)] == ["float", "float32", "vec3f", "mat22d"]
    assert T.types_equal(float, wp.float32) and T.types_equal(wp.vec3, wp.vec3f)
    assert not T.types_equal(wp.vec3, wp.mat33) and not T.types_equal(wp.array[float], wp.array[int])
    with pytest.raises(TypeError, match="expected: a scalar"):
        T.type_size(Body)


def test_constructors_make_patterns_of_what_is_open():
    @wp.func
    def total(v: T.vector(length=Any, dtype=wp.Float)) -> Any:
        s = v[0]
        for i in range(1, len(v)):
            s += v[i]
        return s

    @wp.func
    def trace_of(m: T.matrix(shape=(Any, Any), dtype=Any)) -> Any:
        return wp.trace(m)

    @wp.kernel
    def run(a: wp.array[float], b: wp.array[wp.float64]):
        a[0] = total(wp.vec3(1.0, 2.0, 3.0)) + trace_of(wp.mat22(1.0, 2.0, 3.0, 4.0))
        b[0] = total(wp.vec2d(wp.float64(0.5), wp.float64(0.25)))

    a, b = wp.zeros(1), wp.zeros(1, dtype=wp.float64)
    wp.launch(run, 1, inputs=[a, b])
    assert (a.list(), b.list()) == ([11.0], [0.75])
    assert repr(T.quaternion(Any)) == "Quat[Any]" and repr(T.transformation(wp.Float)) == "Transform[Float]"


def test_types_of_c_are_those_of_ctypes():
    known = {
        float: ctypes.c_float,
        int: ctypes.c_int32,
        wp.int8: ctypes.c_int8,
        wp.uint64: ctypes.c_uint64,
        wp.bool: ctypes.c_bool,
        wp.float16: ctypes.c_uint16,
        wp.bfloat16: ctypes.c_uint16,
    }
    assert {t: T.type_ctype(t) for t in known} == known
    assert T.type_ctype(wp.vec3) is wp.vec3 and issubclass(T.type_ctype(wp.mat22), ctypes.Array)
    with pytest.raises(TypeError, match="has no type of C"):
        T.type_ctype(wp.array[float])


def test_strides_of_packed_memory():
    for t in (float, wp.vec3, wp.mat22d, Body):
        for shape in ((4,), (2, 3), (2, 3, 4)):
            assert strides_from_shape(shape, t) == wp.zeros(shape, dtype=t).strides


@pytest.mark.parametrize("name", sorted(standard_names()))
def test_public_types_have_their_public_names(name):
    t = getattr(wp, name)
    assert t is standard_names()[name] and getattr(wp, t.__name__) is t
    assert t.__name__ == name or t.__name__ == f"{name}f"
