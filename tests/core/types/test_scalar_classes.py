"""The scalar classes: `.value`, wrap-around, results of the same classes, and what NumPy makes of them."""

import copy
import ctypes
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.types import scalars
from warpsim.errors import ComponentCountError

INTEGERS = {t.__name__: getattr(ctypes, f"c_{t.__name__}") for t in scalars.INTEGERS}
OPERATORS = ["+", "-", "*", "&", "|", "^"]


@given(name=st.sampled_from(sorted(INTEGERS)), number=st.integers(-(2**80), 2**80))
def test_integers_wrap_as_those_of_c(name, number):
    made = getattr(wp, name)(number)
    assert made.value == INTEGERS[name](number).value and type(made.value) is int


@given(st.sampled_from(sorted(INTEGERS)), st.sampled_from(OPERATORS), st.integers(), st.integers())
def test_results_of_integers_wrap_and_keep_their_class(name, symbol, a, b):
    t, c = getattr(wp, name), INTEGERS[name]
    result = eval(f"a {symbol} b", {"a": t(a), "b": t(b)})
    assert type(result) is t
    assert result.value == c(eval(f"a {symbol} b", {"a": c(a).value, "b": c(b).value})).value


@pytest.mark.parametrize("t", scalars.FLOATS)
@pytest.mark.parametrize("number", [0.1, -2.5, 1.0e300, -np.inf, np.nan, 70000.0, np.float32(0.3), 3, True, "1.5"])
def test_floats_round_as_numpys(t, number):
    with np.errstate(over="ignore"):
        expected = np.dtype(t).type(number)
    made = t(number)
    assert isinstance(made, type(expected)) and type(made.value) is float
    assert made == expected or (np.isnan(made) and np.isnan(expected))


@pytest.mark.parametrize("t", scalars.NUMBERS)
def test_arithmetic_with_numbers_of_numpy_and_python_keeps_the_class(t):
    plain = np.dtype(t).type(3)
    for result in (t(3) + 1, 1 + t(3), t(3) * plain, plain * t(3), -t(3), +t(3), abs(t(3)), t(3) ** 2, t(7) // t(2)):
        assert type(result) is t and isinstance(result, type(plain))
    assert t(7) // t(2) == 3 and t(7) % t(4) == 3 and 1 - t(1) == 0 and 6 // t(4) == 1


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("t", [wp.int32, wp.int8, wp.uint16, wp.float32, wp.float64])
@pytest.mark.parametrize("pair", [(7, 2), (-7, 2), (7, -2), (-7, -2), (5, 0), (0, 3), (-128, -1)])
def test_quotients_and_remainders_are_those_of_kernels(device, t, pair):
    if wp.types.type_is_float(t) and pair[1] == 0:
        return  # NumPy warns of it
    a, b = t(pair[0]), t(pair[1])
    x = wp.zeros(2, dtype=t, device=device)
    wp.launch(divided, 1, inputs=[a, b, x], device=device)
    assert [a / b, a % b] == x.list() and type(a / b) is type(a % b) is t


@wp.kernel
def divided(a: wp.Scalar, b: wp.Scalar, x: wp.array[wp.Scalar]):
    x[0], x[1] = a / b, a % b


def test_integers_divide_as_such_only_among_themselves():
    assert wp.int32(7) / 2 == 3 == 7 / wp.int32(2) and type(7 / wp.int8(2)) is wp.int8
    assert wp.int32(7) / 2.0 == 3.5 and (wp.int32(7) / np.arange(1, 3)).tolist() == [7.0, 3.5]
    assert wp.int16(7) / wp.int64(2) == 3 and type(wp.int16(7) / wp.int64(2)) is wp.int64


def test_comparisons_are_numpys():
    assert wp.float32(2) == 2 == wp.float64(2) and wp.int8(3) < 4 and hash(wp.int64(5)) == hash(5)


def test_vectors_and_arrays_take_the_classes_as_numbers():
    assert wp.float32(2) * wp.vec3(1, 2, 3) == wp.vec3(1, 2, 3) * wp.float32(2) == (2, 4, 6)
    assert [10, 20, 30][wp.int32(1)] == 20 and f"{wp.float32(1.5):.2f}" == "1.50"
    assert (np.arange(3) * wp.int32(2)).tolist() == [0, 2, 4]
    a = wp.zeros(3, dtype=wp.int16)
    a.fill_(wp.int16(7))
    a[1] = wp.int16(70000)
    assert a.list() == [7, 4464, 7]


@pytest.mark.parametrize("t", [wp.float32, wp.float64])
def test_products_with_arrays_are_arrays_with_gradients(t):
    a = wp.array([1.0, 2.0], dtype=t, requires_grad=True)
    with wp.Tape() as tape:
        doubled, shifted = t(2) * a, t(1) - a
    tape.backward(grads={doubled: wp.ones_like(doubled), shifted: wp.ones_like(shifted)})
    assert doubled.list() == [2.0, 4.0] and shifted.list() == [0.0, -1.0] and a.grad.list() == [1.0, 1.0]


@pytest.mark.parametrize("t", scalars.NUMBERS)
def test_numpy_and_c_know_the_types(t):
    assert np.dtype(t) == np.dtype(t.__name__) and np.zeros(2, t).dtype == np.asarray(t(1)).dtype == np.dtype(t)
    assert ctypes.sizeof(t._type_) == np.dtype(t).itemsize and t._length_ == 1


@pytest.mark.parametrize("t", scalars.NUMBERS)
def test_numbers_are_copied_and_pickled_as_what_they_are(t):
    for again in (copy.copy(t(5)), copy.deepcopy(t(5)), pickle.loads(pickle.dumps(t(5))), t(t(5))):
        assert type(again) is t and again == 5
    assert pickle.loads(pickle.dumps(t)) is t
    assert repr(t(5)) == f"{t.__name__}({np.dtype(t).type(5)})"


@pytest.mark.parametrize("t", scalars.NUMBERS)
def test_numpys_classes_and_dtypes_mean_the_same_types(t):
    of_numpy = np.dtype(t).type
    assert of_numpy is not t
    for dtype in (t, of_numpy, np.dtype(t), t.__name__):
        assert wp.zeros(2, dtype=dtype).dtype is t
    assert wp.array(np.zeros(2, of_numpy)).dtype is t
    assert wp.types.vector(3, of_numpy) is wp.types.vector(3, t)
    assert wp.array[of_numpy].dtype is t


@wp.kernel
def counted(x: wp.array[wp.int64]):
    x[0] = wp.int64(wp.uint8(300))
    x[1] = wp.int64(wp.int8(200))
    x[2] = wp.int64(wp.uint8(-300))
    x[3] = wp.int64(wp.uint32(-1))


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_constants_wrap_in_kernels_as_on_the_host(device):
    x = wp.zeros(4, dtype=wp.int64, device=device)
    wp.launch(counted, 1, inputs=[x], device=device)
    assert x.list() == [wp.uint8(300), wp.int8(200), wp.uint8(-300), wp.uint32(-1)] == [44, -56, 212, 2**32 - 1]


@wp.kernel
def scaled(x: wp.array[wp.float64], factor: wp.float64, shift: wp.int8, y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = factor * x[i] + wp.float64(shift)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("factor, shift", [(wp.float64(2), wp.int8(3)), (np.float64(2), np.int8(3)), (2.0, 3)])
def test_launches_take_numbers_of_either_class(device, factor, shift):
    x = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True, device=device)
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(scaled, 2, inputs=[x, factor, shift, y], device=device)
    tape.backward(grads={y: wp.ones_like(y)})
    assert y.list() == [5.0, 7.0] and x.grad.list() == [2.0, 2.0]


FACTOR, OFFSET = wp.float32(2.5), np.float32(0.5)


@wp.kernel
def with_constants(x: wp.array[float]):
    i = wp.tid()
    x[i] = FACTOR * float(i) + OFFSET


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_kernels_take_constants_of_either_class(device):
    x = wp.zeros(2, device=device)
    wp.launch(with_constants, 2, inputs=[x], device=device)
    assert x.list() == [0.5, 3.0]


def test_host_values_keep_their_types_but_where_the_switch_asks_for_pythons(monkeypatch):
    values = {
        wp.float16: lambda: (wp.sin(wp.float16(1)), wp.vec3h(1, 2, 3)[0], wp.mat22h(1, 2, 3, 4)[0, 1], wp.vec2h(1).y),
        wp.int16: lambda: (wp.dot(wp.vec3s(1, 2, 3), wp.vec3s(1, 2, 3)), wp.abs(wp.int16(-3)), *wp.vec2s(4, 5)),
        wp.float64: lambda: (wp.sqrt(wp.float64(2)), wp.quatd(0, 0, 0, 1).w),
    }
    for t, made in values.items():
        assert {type(x) for x in made()} == {t}
    monkeypatch.setattr(wp.config, "legacy_scalar_return_types", True)
    for t, made in values.items():
        assert {type(x) for x in made()} == {float if scalars.is_float(t) else int}


@pytest.mark.parametrize("value", [[1, 2], (1.5,), np.array([2.0]), wp.vec2(1.0, 2.0), []])
@pytest.mark.parametrize("cls", [wp.float16, wp.float32, wp.float64, wp.int8, wp.uint64])
def test_several_numbers_are_not_one(cls, value):
    with pytest.raises(ComponentCountError, match=rf"{cls.__name__} got .*\nexpected: one number"):
        cls(value)
    assert isinstance(cls(np.array(3)), cls) and cls(np.array(3)) == 3
