"""Inverse error functions against 20-digit values, at the ends of their domain, and by round trip."""

import math

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import InvalidNumberError

DEVICES = ("interp", "cpu")
TYPES = (np.float16, np.float32, np.float64)
ULPS = {np.float16: 1.0, np.float32: 8.0, np.float64: 8.0}

# x, erfinv(x) and y, erfcinv(y), by Newton's method in 80-digit arithmetic. The x are exact in binary.
ERFINV = (
    (2.0**-40, 8.060186932677952551e-13),
    (0.125, 0.111235451840949959),
    (-0.5, -0.476936276204469873),
    (0.84375, 1.002533970624039934),
    (-0.859375, -1.041898916224913112),
    (0.9375, 1.317150334986130748),
    (1 - 2.0**-10, 2.331467773621947672),
    (1 - 2.0**-20, 3.465505025803330717),
    (1 - 2.0**-36, 4.774597423656750581),
    (1 - 2.0**-53, 5.863584748755167927),
)
ERFCINV = (
    (1e-5, 3.12341327434087503),
    (1e-15, 5.67584634746764699),
    (1e-30, 8.14861622316986461),
    (1e-37, 9.07807488457611904),
    (1e-100, 15.0655747025926457),
    (1e-300, 26.2094699605161239),
    (2 - 2.0**-10, -2.331467773621947672),
    (0.5, 0.476936276204469873),
    (1.125, -0.111235451840949959),
)


def kernels_of(dtype: type) -> dict:
    @wp.kernel
    def erfinv(x: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        out[i] = wp.erfinv(x[i])

    @wp.kernel
    def erfcinv(x: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        out[i] = wp.erfcinv(x[i])

    return {"erfinv": erfinv, "erfcinv": erfcinv}


KERNELS = {dtype: kernels_of(dtype) for dtype in TYPES}


def evaluate(name: str, x: np.ndarray, device: str) -> np.ndarray:
    dtype = x.dtype.type
    out = wp.zeros(len(x), dtype=dtype, device=device)
    wp.launch(KERNELS[dtype][name], dim=len(x), inputs=[wp.array(x, dtype=dtype, device=device), out], device=device)
    return out.numpy()


def ulps(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    spacing = np.spacing(np.abs(expected).astype(found.dtype)).astype(float)
    return np.abs(found.astype(float) - expected) / spacing


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("name", "table"), [("erfinv", ERFINV), ("erfcinv", ERFCINV)])
def test_known_values(device, dtype, name, table):
    exact = np.array(table)
    # an argument that the type rounds has another inverse, except for tiny ones, where only relative size counts
    kept = (exact[:, 0].astype(dtype) == exact[:, 0]) | (
        (exact[:, 0] < 1e-4) & (exact[:, 0] >= np.finfo(dtype).tiny) & (dtype is not np.float16)
    )
    x, expected = exact[kept].T
    assert len(x) >= 3
    assert ulps(evaluate(name, x.astype(dtype), device), expected).max() <= ULPS[dtype]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_ends_of_the_domain(device, dtype):
    found = evaluate("erfinv", np.array([1.0, -1.0, 0.0], dtype), device)
    np.testing.assert_array_equal(found, [math.inf, -math.inf, 0.0])
    found = evaluate("erfcinv", np.array([0.0, 2.0, 1.0], dtype), device)
    np.testing.assert_array_equal(found, [math.inf, -math.inf, 0.0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("name", "outside"), [("erfinv", (1.5, -1.5)), ("erfcinv", (-0.5, 2.5))])
def test_outside_of_the_domain(dtype, name, outside):
    assert np.isnan(evaluate(name, np.array([*outside, math.nan], dtype), None)).all()
    with pytest.raises(InvalidNumberError, match="log makes NaN"):
        evaluate(name, np.array(outside, dtype), "interp")


@pytest.mark.parametrize(
    ("dtype", "expected"), [(np.float16, 3.83250686), (np.float32, 10.0198343), (np.float64, 27.2132932108)]
)
def test_the_smallest_number_has_an_inverse(dtype, expected):
    smallest, tolerance = np.finfo(dtype).smallest_subnormal, max(4 * float(np.finfo(dtype).eps), 1e-11)
    np.testing.assert_allclose(evaluate("erfcinv", np.array([smallest]), "cpu"), expected, rtol=tolerance)
    np.testing.assert_allclose(float(wp.erfcinv(smallest)), expected, rtol=tolerance)


@wp.kernel
def of_literals(out: wp.array(dtype=float)):
    out[0] = wp.erfinv(0.5)
    out[1] = wp.erfcinv(0.5)


def test_a_python_number_is_of_single_precision():
    """Not of half precision, for which there is an overload of its own."""
    expected = [0.476936276204469873] * 2
    np.testing.assert_allclose([wp.erfinv(0.5), wp.erfcinv(0.5)], expected, rtol=1e-6)
    for device in DEVICES:
        out = wp.zeros(2, dtype=float, device=device)
        wp.launch(of_literals, dim=1, outputs=[out], device=device)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_round_trip_in_double_precision():
    x = np.linspace(-0.999, 0.999, 4001)
    back = np.array([math.erf(y) for y in evaluate("erfinv", x, None)])
    np.testing.assert_allclose(back, x, atol=4e-16, rtol=1e-15)
    x = np.linspace(0.001, 1.999, 4001)
    back = np.array([math.erfc(y) for y in evaluate("erfcinv", x, None)])
    np.testing.assert_allclose(back, x, rtol=1e-14)  # erfc magnifies relative errors up to tenfold here


def test_odd_and_increasing():
    x = np.linspace(-1, 1, 20001).astype(np.float32)
    y = evaluate("erfinv", x, None)
    np.testing.assert_array_equal(y, -y[::-1])
    assert (np.diff(y[1:-1]) >= 0).all()
