"""Inverse error functions against 20-digit values, at the ends of their domain, and by round trip."""

import math

import numpy as np
import pytest

import warpsim as wp

DEVICES = ("interp", "cpu")
TYPES = (np.float16, np.float32, np.float64)
ULPS = {np.float16: 1.0, np.float32: 8.0, np.float64: 8.0}

# x, erfinv(x) and y, erfcinv(y), by Newton's method in 80-digit arithmetic. The x are exact in binary.
ERFINV = (
    (2.0**-40, 8.060186932677952551e-13), (0.125, 0.111235451840949959), (-0.5, -0.476936276204469873),
    (0.84375, 1.002533970624039934), (-0.859375, -1.041898916224913112), (0.9375, 1.317150334986130748),
    (1 - 2.0**-10, 2.331467773621947672), (1 - 2.0**-20, 3.465505025803330717),
    (1 - 2.0**-36, 4.774597423656750581), (1 - 2.0**-53, 5.863584748755167927),
)  # fmt: skip
ERFCINV = (
    (1e-5, 3.12341327434087503), (1e-15, 5.67584634746764699), (1e-30, 8.14861622316986461),
    (1e-37, 9.07807488457611904), (1e-100, 15.0655747025926457), (1e-300, 26.2094699605161239),
    (2 - 2.0**-10, -2.331467773621947672), (0.5, 0.476936276204469873), (1.125, -0.111235451840949959),
)  # fmt: skip


def kernel_of(dtype: type):
    @wp.kernel
    def both(x: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i = wp.tid()
        out[i, 0] = wp.erfinv(x[i])
        out[i, 1] = wp.erfcinv(x[i])

    return both


KERNELS = {dtype: kernel_of(dtype) for dtype in TYPES}


def inverses(x: np.ndarray, device: str) -> tuple[np.ndarray, np.ndarray]:
    dtype = x.dtype.type
    out = wp.zeros((len(x), 2), dtype=dtype, device=device)
    wp.launch(KERNELS[dtype], dim=len(x), inputs=[wp.array(x, dtype=dtype, device=device), out], device=device)
    return out.numpy()[:, 0], out.numpy()[:, 1]


def ulps(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    spacing = np.spacing(np.abs(expected).astype(found.dtype)).astype(float)
    return np.abs(found.astype(float) - expected) / spacing


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("table", "which"), [(ERFINV, 0), (ERFCINV, 1)], ids=["erfinv", "erfcinv"])
def test_known_values(device, dtype, table, which):
    exact = np.array(table)
    # an argument that the type rounds has another inverse, except for tiny ones, where only relative size counts
    kept = (exact[:, 0].astype(dtype) == exact[:, 0]) | (
        (exact[:, 0] < 1e-4) & (exact[:, 0] >= np.finfo(dtype).tiny) & (dtype is not np.float16)
    )
    x, expected = exact[kept].T
    assert len(x) >= 4
    assert ulps(inverses(x.astype(dtype), device)[which], expected).max() <= ULPS[dtype]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_ends_of_the_domain(device, dtype):
    x = np.array([1.0, -1.0, 0.0, 2.0, 1.5, -0.5, 2.5, math.nan], dtype)
    inverse, complement = inverses(x, device)
    np.testing.assert_array_equal(inverse[:4], [math.inf, -math.inf, 0.0, math.nan])
    assert np.isnan(inverse[[4, 6, 7]]).all()
    np.testing.assert_array_equal(complement[:4], [0.0, math.nan, math.inf, -math.inf])
    assert np.isnan(complement[5:]).all()


def test_round_trip_in_double_precision():
    x = np.linspace(-0.999, 0.999, 4001)
    inverse, complement = inverses(x + 0.0, "cpu")
    back = np.array([math.erf(y) for y in inverse])
    np.testing.assert_allclose(back, x, atol=4e-16, rtol=1e-15)
    x = np.linspace(0.001, 1.999, 4001)
    back = np.array([math.erfc(y) for y in inverses(x, "cpu")[1]])
    np.testing.assert_allclose(back, x, rtol=2e-15)


def test_odd_and_increasing():
    x = np.linspace(-1, 1, 20001).astype(np.float32)
    y = inverses(x, "cpu")[0]
    np.testing.assert_array_equal(y, -y[::-1])
    assert (np.diff(y[1:-1]) >= 0).all()
