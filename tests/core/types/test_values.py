"""Host values of compound types are made of numbers, and of nothing that NumPy would take for one."""

import math

import numpy as np
import pytest

import warpsim as wp


@pytest.mark.parametrize("make", [wp.vec3, wp.mat22, wp.quat, wp.transform])
@pytest.mark.parametrize("wrong", ["a", None, b"abc", [None, 1.0], {"x": 1.0}])
def test_what_is_no_number_is_refused_by_name(make, wrong):
    with pytest.raises(TypeError, match="expected: numbers, or a sequence of"):
        make(wrong)


@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_one_number_fills_every_component(number):
    assert list(wp.vec3(number)) == [float(number)] * 3


# ----- as scripts of Warp use them ------------------------------------------------------------


def test_components_are_python_numbers_where_python_names_the_type():
    assert [type(x) for x in (wp.vec3(1.0)[0], wp.vec3i(1).x, wp.mat22(1.0)[0, 1])] == [float, int, float]
    assert type(wp.vec3d(0.1)[0]) is np.float64 and type(wp.vec2h(1.0)[1]) is np.float16
    assert list(wp.vec2(1.0, 2.5)) == [1.0, 2.5] and {type(x) for x in wp.vec2()} == {float}


def test_values_equal_sequences_of_their_numbers():
    assert wp.vec3(1, 2, 3) == (1, 2, 3) and wp.vec3(1, 2, 3) == [1.0, 2.0, 3.0] != wp.vec3()
    assert wp.mat22(1, 2, 3, 4) == ((1, 2), (3, 4)) and wp.mat22(1, 2, 3, 4) != ((1, 2), (3, 5))
    assert wp.vec3(1, 2, 3) != (1, 2) and wp.mat22() != ((0, 0), (0,))


def test_rows_and_columns_are_read_and_written():
    m = wp.mat22(1, 2, 3, 4)
    assert (m.get_row(1), m.get_col(1)) == (wp.vec2(3, 4), wp.vec2(2, 4))
    m.set_row(0, wp.vec2(5, 6))
    m.set_col(0, 9)
    assert m == ((9, 6), (9, 4))


def test_numbers_spread_over_components_and_arrays_keep_their_class():
    assert wp.vec2(3, 5) - 1.0 == (2, 4) and 1.0 - wp.vec2(3, 5) == (-2, -4) and 1 + wp.vec2i(3, 5) == (4, 6)
    assert wp.vec3(5, -5, 7) % wp.vec3(3, 3, 4) == (2, -2, 3) and wp.vec2i(5, -7) % 2 == (1, -1)
    joined = np.array([1.0, 2.0]) + wp.vec2(1, 2)
    assert type(joined) is np.ndarray and joined.tolist() == [2.0, 4.0]


def test_transforms_are_made_of_named_parts():
    assert wp.transform(p=(1, 2, 3)) == (1, 2, 3, 0, 0, 0, 1)
    assert wp.transform(q=wp.quat(1, 0, 0, 0)) == (0, 0, 0, 1, 0, 0, 0) and wp.transform(1.5) == (1.5,) * 7
    with pytest.raises(TypeError, match="only transforms"):
        wp.vec3(p=(1, 2, 3))


def test_built_ins_on_the_host_return_python_numbers():
    assert type(wp.sin(1.0)) is type(wp.length(wp.vec3(1, 2, 2))) is type(wp.max(wp.vec3(1, 2, 2))) is float
    assert type(wp.min(1, 2)) is int and wp.isfinite(wp.vec3(1)) is True and wp.isnan(wp.mat22(math.nan)) is True
    assert type(wp.abs(wp.float64(-1))) is np.float64 and type(wp.rand_init(1)) is np.uint32
    assert wp.quat_rotate(wp.quat(0, 0, 0, 1), wp.vec3(1, 2, 3)) == (1, 2, 3)
    assert wp.array([1, 2], dtype=int).list() == [1, 2] and type(wp.zeros(1).list()[0]) is float


def test_structs_take_their_fields_in_order_and_may_be_empty():
    @wp.struct
    class Ray:
        origin: wp.vec3
        length: float

        def end(self):
            return self.origin[0] + self.length

    @wp.struct
    class Nothing:
        pass

    ray = Ray(wp.vec3(1, 2, 3), length=4.0)
    assert (ray.origin, ray.length, ray.end()) == (wp.vec3(1, 2, 3), 4.0, 5.0) and Nothing() == Nothing()
    with pytest.raises(TypeError, match="each of origin, length once"):
        Ray(wp.vec3(), origin=wp.vec3())


def test_values_may_carry_notes_of_ones_own():
    v = wp.vec3(1.0, 2.0, 3.0)
    v.name = "corner"
    assert v.name == "corner"
    assert v == wp.vec3(1.0, 2.0, 3.0)
    with pytest.raises(AttributeError, match="no attribute 'color'"):
        _ = v.color
    with pytest.raises(AttributeError, match="no attribute 'w'"):
        v.w = 1.0



def test_values_leave_arrays_to_their_operators():
    class Apart:
        def __radd__(self, other):
            return "asked"

    assert wp.vec3() + Apart() == "asked"
    for wrong in ("text", [1.0, 2.0, 3.0], None):
        with pytest.raises(TypeError):
            wp.vec3() + wrong


def test_a_class_that_only_names_a_type_is_that_type():
    class vec9(wp.types.vector(9, float)):
        """Nine numbers."""

    class Color(wp.vec3):
        def gray(self):
            return (self.x + self.y + self.z) / 3.0

    assert vec9 is wp.types.vector(9, float)
    assert Color is not wp.vec3
    assert Color(1.0, 2.0, 3.0).gray() == 2.0

    @wp.func
    def first(v: vec9) -> float:
        return v[0]

    @wp.kernel
    def adding(out: wp.array[float]):
        out[0] = first(wp.types.vector(1.0, length=9, dtype=float) + vec9(2.0))

    out = wp.zeros(1, dtype=float)
    wp.launch(adding, 1, inputs=[out])
    assert out.list() == [3.0]


def test_components_that_a_vector_has_not_cannot_be_set():
    v = wp.vec2(1.0, 2.0)
    for name in ("z", "w", "xz"):
        with pytest.raises(AttributeError, match=f"vec2f has no attribute '{name}'"):
            setattr(v, name, 9.0)
    v.yx = (3.0, 4.0)
    assert v == wp.vec2(4.0, 3.0) and not hasattr(v, "z")


def test_bytes_are_those_of_memory():
    a = wp.array(np.arange(8.0).reshape(2, 4), dtype=wp.quath)
    assert b"".join(map(bytes, a.list())) == a.numpy().tobytes()
    assert bytes(wp.mat22(1.0, 2.0, 3.0, 4.0)) == np.arange(1, 5, dtype=np.float32).tobytes()
