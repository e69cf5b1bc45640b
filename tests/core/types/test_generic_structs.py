"""Families of structs: one struct for every floating-point type, and kernels that take either."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.language import Array, Float, Quat, Transform, Vec, generic_struct
from warpsim.core.types.generic_structs import with_float
from warpsim.core.types.signatures import Mat


@generic_struct
class Ball:
    """A ball."""

    center: Vec[3, Float]
    radius: Float
    hits: wp.array(dtype=int)
    near: Array[Vec[3, Float]]
    table: Array[Float, 2]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_the_variable_becomes_the_type(dtype):
    vec3 = wp.types.vector(length=3, dtype=dtype)
    fields = Ball[dtype].fields
    assert fields["center"] is vec3 and fields["radius"] is dtype
    assert fields["hits"].dtype is wp.int32 and fields["near"].dtype is vec3
    assert (fields["table"].dtype, fields["table"].ndim) == (dtype, 2)


def test_a_struct_of_a_family_is_made_once():
    assert Ball[float] is Ball[wp.float32] and Ball[wp.float32] is not Ball[wp.float64]
    assert Ball[wp.float64].__name__ == "Ball[float64]" and Ball[wp.float64].__doc__ == "A ball."


@pytest.mark.parametrize(
    ("pattern", "t"),
    [(Quat[Float], wp.quatd), (Transform[Float], wp.transformd), (Mat[2, 2, Float], wp.mat22d), (wp.int32, wp.int32)],
)
def test_patterns_of_all_kinds(pattern, t):
    assert with_float(pattern, wp.float64) is t


@wp.kernel
def grow(ball: Any, out: wp.array(dtype=Any)):
    i = wp.tid()
    ball.hits[i] = ball.hits[i] + 1
    out[i] = ball.radius * ball.table[0, i] + ball.center[0] + ball.near[i][1]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_generic_kernels_take_them(dtype):
    vec3 = wp.types.vector(length=3, dtype=dtype)
    near = wp.array(np.arange(6.0).reshape(2, 3), dtype=vec3, requires_grad=True)
    table = wp.array([[3.0, 5.0]], dtype=dtype, requires_grad=True)
    hits, out = wp.zeros(2, dtype=int), wp.zeros(2, dtype=dtype, requires_grad=True)
    ball = Ball[dtype](vec3(10.0, 0.0, 0.0), dtype(2.0), hits, near, table)
    with wp.Tape() as tape:
        wp.launch(grow, 2, [ball, out])
    assert out.numpy().tolist() == [17.0, 24.0] and hits.numpy().tolist() == [1, 1]
    tape.backward(grads={out: wp.ones_like(out)})
    assert table.grad.numpy().tolist() == [[2.0, 2.0]]
    assert near.grad.numpy().tolist() == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
