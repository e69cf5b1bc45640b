"""Operators of values on the host: the same as in kernels, which are the oracle, and NumPy's where its arrays stand."""

import itertools
import operator
import re

import numpy as np
import pytest
from kernel_text import module

import warpsim as wp

mat23 = wp.types.matrix((2, 3), float)
VALUES = {
    "v": wp.vec3(4.0, -2.0, 8.0),
    "w": wp.vec2(3.0, 5.0),
    "d": wp.vec3d(1.0, 2.0, 4.0),
    "k": wp.vec3i(7, -8, 9),
    "m": wp.mat33(1.0, 2.0, 4.0, 8.0, -1.0, -2.0, -4.0, -8.0, 2.0),
    "n": mat23(1.0, 2.0, 4.0, -1.0, -2.0, -4.0),
    "q": wp.quat(1.0, -2.0, 3.0, 4.0),
    "t": wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat(2.0, 4.0, -1.0, 8.0)),
    "f": wp.float32(2.0),
}
NUMBERS = {"2": 2, "2.5": 2.5, "True": True}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "@": operator.matmul,
}


def pairs(symbol):
    """Two operands, of which one is no number, without what only kernels refuse: numbers of another class, and
    sums of rotations and numbers."""
    operands = [*VALUES, *NUMBERS]
    chosen = [(a, b) for a, b in itertools.product(operands, operands) if {a, b} & set("vwdkmnqt")]
    sums = [{a, b} for a, b in itertools.product("qt", ["2", "2.5", "f"]) if symbol in "+-%"]
    return [pair for pair in chosen if set(pair) not in [{"d", "f"}, *sums]]


def kernel_of(lines, known):
    """A kernel that takes the values and has these lines."""
    names = {f"T{name}": type(value) for name, value in VALUES.items()}
    parameters = ", ".join(f"{name}: T{name}" for name in VALUES)
    text = f"@wp.kernel\ndef calculate({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
    return module(text, {"wp": wp, **names, **known})["calculate"]


def refused(symbol):
    """Which of the pairs kernels refuse; a kernel tells of no more than some errors at once."""
    for at in range(0, len(pairs(symbol)), 12):
        lines = [f"x{i} = {a} {symbol} {b}" for i, (a, b) in enumerate(pairs(symbol))][at : at + 12]
        try:
            wp.launch(kernel_of(lines, {}), 1, inputs=list(VALUES.values()), device="interp")
        except wp.errors.KernelError as error:
            yield from (int(i) for i in re.findall(r"\| +x(\d+) = ", str(error)))


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_operators_mean_on_the_host_what_they_mean_in_kernels(symbol, device):
    loud = set(refused(symbol))
    results, checks = {}, []
    for i, (a, b) in enumerate(pairs(symbol)):
        sides = [(VALUES | NUMBERS)[name] for name in (a, b)]
        if i in loud:
            with pytest.raises(TypeError, match="expected: values of one scalar type"):
                OPERATORS[symbol](*sides)
        else:
            results[f"E{i}"] = OPERATORS[symbol](*sides)
            checks.append(f"wp.expect_eq({a} {symbol} {b}, E{i})")
    assert len(checks) >= 30 and len(loud) >= 30
    wp.launch(kernel_of(checks, results), 1, inputs=list(VALUES.values()), device=device)
    wp.synchronize()


ARRAYS = [np.array([2.0, -4.0, 8.0]), np.array([2, 3, 4]), np.arange(1.0, 10.0).reshape(3, 3)]


@pytest.mark.parametrize("symbol", [*OPERATORS, "//"])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.ndim}")
@pytest.mark.parametrize("value", [VALUES["v"], VALUES["k"], VALUES["m"]], ids=lambda v: type(v).__name__)
def test_an_array_on_the_left_calculates_as_numpy_does(symbol, array, value):
    operate = (OPERATORS | {"//": operator.floordiv})[symbol]
    result, expected = operate(array, value), operate(array, value.numpy())
    assert type(result) is type(expected) and np.array_equal(result, expected)


@pytest.mark.parametrize("value", [VALUES["v"], VALUES["m"]], ids=lambda v: type(v).__name__)
def test_an_array_on_the_right_is_for_the_matrix_product_only(value):
    for array in ARRAYS:
        assert np.array_equal(value @ array, value.numpy() @ array)
        for operate in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod):
            with pytest.raises(TypeError, match=r"wp\.cw_mul"):
                operate(value, array)


@pytest.mark.parametrize("other", [None, "a", [1.0, 2.0, 3.0], (1, 2, 3), object(), 2j, np.True_])
def test_what_is_no_number_is_refused_by_every_operator(other):
    for value in (VALUES["v"], VALUES["m"], VALUES["q"], VALUES["t"]):
        for symbol, operate in OPERATORS.items():
            for sides in ((value, other), (other, value)):
                if (symbol, type(sides[0])) != ("%", str):  # which puts values into a text
                    with pytest.raises(TypeError):
                        operate(*sides)


OF_OTHER_CLASSES = [np.float32(2), np.float64(2), np.int8(2), wp.float16(2), np.array(2.0), wp.bfloat16(2)]


@pytest.mark.parametrize("number", OF_OTHER_CLASSES)
def test_numbers_of_other_classes_become_numbers_of_the_value(number):
    v = VALUES["v"]
    for operate in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod):
        for sides in ((v, number), (number, v)):
            result = operate(*sides)
            assert type(result) is wp.vec3 and result == operate(*(2.0 if s is number else s for s in sides))
    if not isinstance(number, (int, np.integer)):
        with pytest.raises(TypeError):
            VALUES["k"] * number


def test_values_of_one_shape_are_equal_when_their_numbers_are():
    v, d, k = wp.vec3(1, 2, 3), wp.vec3d(1, 2, 3), wp.vec3i(1, 2, 3)
    assert v == d == k == wp.vec3h(1, 2, 3) and len({v, d, k, wp.vec3d(1, 2, 4)}) == 2
    assert wp.vec3(0.1) != wp.vec3d(0.1) and wp.vec4(0, 0, 0, 1) != wp.quat(0, 0, 0, 1) and v != wp.vec2(1, 2)
    assert v == np.array([1.0, 2.0, 3.0]) and wp.mat22(1, 2, 3, 4) == np.array([[1, 2], [3, 4]])
    assert v != np.array([1.0, 2.0]) and v != np.ones((3, 3)) and wp.vec2(-0.0) == wp.vec2(0.0)
    assert hash(wp.vec2(-0.0)) == hash(wp.vec2(0.0)) and wp.vec2(float("nan")) != wp.vec2(float("nan"))
