"""Host values of compound types are made of numbers, and of nothing that NumPy would take for one."""

import copy
import math

import numpy as np
import pytest

import warpsim as wp
from warpsim.types import vector


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
    assert type(wp.vec3d(0.1)[0]) is wp.float64 and type(wp.vec2h(1.0)[1]) is wp.float16
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
    assert type(wp.abs(wp.float64(-1))) is wp.float64 and type(wp.rand_init(1)) is wp.uint32
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
        with pytest.raises(AttributeError, match=f"'vec2f' object has no attribute '{name}'"):
            setattr(v, name, 9.0)
    v.yx = (3.0, 4.0)
    assert v == wp.vec2(4.0, 3.0) and not hasattr(v, "z")


def test_bytes_are_those_of_memory():
    a = wp.array(np.arange(8.0).reshape(2, 4), dtype=wp.quath)
    assert b"".join(map(bytes, a.list())) == a.numpy().tobytes()
    assert bytes(wp.mat22(1.0, 2.0, 3.0, 4.0)) == np.arange(1, 5, dtype=np.float32).tobytes()


# ----- keys and what is written ----------------------------------------------------------------

VALUES = {
    "vector": wp.vec3(1, 2, 3),
    "matrix": wp.mat22(1, 2, 3, 4),
    "quaternion": wp.quat(1, 2, 3, 4),
    "transform": wp.transform(),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("key", [None, "x", 0.5, (0, 0, 0), [0, 1], (), np.array([0, 1]), (0, "x")])
def test_keys_that_are_no_integers_or_slices_are_refused(kind, key):
    value = copy.copy(VALUES[kind])
    with pytest.raises(KeyError, match="expected: an integer"):
        value[key]
    with pytest.raises(KeyError, match="expected: an integer"):
        value[key] = 1.0
    assert value == VALUES[kind]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("key", [9, -9])
def test_keys_outside_are_index_errors(kind, key):
    value = copy.copy(VALUES[kind])
    with pytest.raises(IndexError, match="out of bounds"):
        value[key]
    with pytest.raises(IndexError, match="out of bounds"):
        value[key] = 0.0


@pytest.mark.parametrize("wrong", ["1.0", None, (1.0,), wp.vec3(), b"1", {}])
@pytest.mark.parametrize("write", ["v[0] = w", "v.__setitem__(np.int64(1), w)", "m[0, 1] = w", "m[1][0] = w"])
def test_a_component_takes_one_number(write, wrong):
    names = {"v": wp.vec3(1, 2, 3), "m": wp.mat22(1, 2, 3, 4), "w": wrong, "np": np}
    with pytest.raises(TypeError, match="is set to"):
        exec(write, names)
    assert names["v"] == (1, 2, 3) and names["m"] == ((1, 2), (3, 4))


@pytest.mark.parametrize("write", ["v[:] = w", "v.xy = w", "m[0] = w", "m[:, 1] = w", "t.p = w", "m.set_row(0, w)"])
@pytest.mark.parametrize("wrong", ["ab", None, ("a", "b", "c")])
def test_several_components_take_numbers(write, wrong):
    names = {"v": wp.vec3(1, 2, 3), "m": wp.mat22(1, 2, 3, 4), "t": wp.transform(), "w": wrong}
    with pytest.raises(TypeError, match="expected: numbers of type float32"):
        exec(write, names)


@pytest.mark.parametrize("write", ["v[:2] = w", "m[0] = w", "m[:, 0] = w", "m.set_col(0, w)", "t.q = w", "t.p = w"])
def test_several_components_take_as_many_numbers(write):
    names = {"v": wp.vec3(1, 2, 3), "m": wp.mat22(1, 2, 3, 4), "t": wp.transform(), "w": (1, 2, 3, 4, 5)}
    with pytest.raises(ValueError, match=r"values of shape \(5,\)\nexpected: "):
        exec(write, names)


@pytest.mark.parametrize("make", [lambda: wp.vec3(1, 2), lambda: wp.mat22((1, 2, 3), (4, 5, 6)), lambda: wp.quat([1])])
def test_wrong_numbers_of_components_are_type_and_value_errors(make):
    for kind in (TypeError, ValueError, RuntimeError):
        with pytest.raises(kind, match=r"components?\nexpected: "):
            make()


@pytest.mark.parametrize("floats", ["1.5", "2.0", "np.float32(2)", "np.array([1.0, 2.0])"])
def test_integers_take_no_floats(floats):
    for code in (f"wp.vec2i({floats})", f"v.__setitem__(slice(None), {floats})"):
        with pytest.raises(TypeError, match="expected: integers"):
            eval(code, {"wp": wp, "np": np, "v": wp.vec2i(1, 2)})
    assert wp.vec2i(wp.vec2(1.5, -2.5)) == (1, -2)  # as in kernels


def test_bools_are_integers_as_keys_and_as_values():
    v = wp.vec3(1, 2, 3)
    v[True] = False
    assert v == (1, 0, 3) and v[False] == 1.0 and wp.mat22(1, 2, 3, 4)[True, False] == 3.0


def test_components_that_are_named_twice_cannot_be_set():
    with pytest.raises(AttributeError, match="names a component twice"):
        wp.vec3().xx = (1, 2)


@pytest.mark.parametrize("t", [wp.vec3, wp.vec2h, wp.mat22d, wp.quat, wp.transform, wp.vec4ub, vector(3, bool)])
def test_values_are_read_at_an_address(t):
    memory = np.arange(t.size).astype(t.dtype)
    value = t.from_ptr(memory.ctypes.data)
    memory[:] = 0  # a copy
    assert value == t(*np.arange(t.size).astype(t.dtype))
    for nothing in (0, None):
        with pytest.raises(ValueError, match="expected: an address"):
            t.from_ptr(nothing)


@pytest.mark.parametrize("one", [wp.quat(1.0, -2.0, 3.0, 4.0), wp.transformd(1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5)])
def test_quaternions_and_transforms_beside_numbers_are_vectors(one):
    parts = one.numpy()
    for result, want in [
        (one + 2.5, parts + 2.5),
        (2.5 + one, parts + 2.5),
        (one - 2.5, parts - 2.5),
        (2.5 - one, 2.5 - parts),
        (one % 2.0, np.fmod(parts, 2.0)),
        (7.0 % one, np.fmod(7.0, parts)),
    ]:
        assert type(result) is wp.types.vector(len(parts), one.dtype)
        np.testing.assert_array_equal(result.numpy(), want.astype(one.memory))
    assert type(one + one) is type(one)


def test_remainders_of_a_number_by_components():
    assert 7 % wp.vec3i(2, -4, 5) == wp.vec3i(1, 3, 2)
    assert -7.5 % wp.vec2(2.0, 4.0) == wp.vec2(-1.5, -3.5)
    np.testing.assert_array_equal(np.array([7.0, 8.0]) % wp.vec2(2.0, 5.0), [1.0, 3.0])
    np.testing.assert_array_equal((5.0 % wp.mat22(1.0, 2.0, 3.0, 4.0)).numpy(), [[0.0, 1.0], [2.0, 1.0]])


def test_transforms_of_seven_numbers():
    t = wp.transform((1.0, 2.0, 3.0), (0.0, 0.0, 0.6, 0.8))
    for source in (t, t.numpy(), list(t), wp.transformd(*t)):
        assert wp.transform_expand(source) == t and type(wp.transform_expand(source)) is wp.transform
    with pytest.raises(TypeError, match="2 components"):
        wp.transform_expand([1.0, 2.0])


@pytest.mark.parametrize("suffix", ["b", "ub", "s", "us", "i", "ui", "l", "ul"])
def test_integers_are_divided_as_in_kernels(suffix):
    vec = getattr(wp, f"vec4{suffix}")
    least, largest = vec.dtype.lowest, vec.dtype.largest
    vectors = [vec(least, largest, 7, 0), vec(5, 3, 2, largest), vec(1, 0, 2, 3)]
    numbers = [0, 1, 3, largest] + ([-1, -2] if least < 0 else [])
    pairs = [(v, n) for v in vectors for n in numbers]

    @wp.kernel(module="unique")
    def divided(x: wp.array(dtype=vec), n: wp.array(dtype=vec.dtype), out: wp.array2d(dtype=vec)):
        i = wp.tid()
        out[0, i], out[1, i], out[2, i] = x[i] / n[i], x[i] % vec(n[i]), vec(n[i]) % x[i]

    out = wp.zeros((3, len(pairs)), dtype=vec)
    x, n = (wp.array(list(side), dtype=t) for side, t in zip(zip(*pairs, strict=True), (vec, vec.dtype), strict=True))
    wp.launch(divided, len(pairs), [x, n, out])
    for k, (v, number) in enumerate(pairs):
        assert [v / number, v % number, number % v] == [vec(*out.numpy()[i, k]) for i in range(3)], (v, number)


def test_large_integers_keep_all_bits():
    v = wp.vec3ul(2**64 - 1, 2**63 + 1, 7)
    assert [int(x) for x in v] == [2**64 - 1, 2**63 + 1, 7]
    assert [int(x) for x in wp.vec2l(2**62 + 1, wp.uint8(3))] == [2**62 + 1, 3]
