"""Powers of two below numbers, by their bits."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.lib.bits import power_of_two


def powers(numbers, device):
    dtype = wp.dtype_from_numpy(numbers.dtype)

    @wp.kernel(module="unique")
    def below(x: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        out[i] = power_of_two(x[i])

    out = wp.zeros(len(numbers), dtype=dtype, device=device)
    wp.launch(below, dim=len(numbers), inputs=[wp.array(numbers, dtype=dtype, device=device), out], device=device)
    return out.numpy()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize(("dtype", "lowest", "highest"), [(np.float32, -126, 126), (np.float64, -1022, 1022)])
def test_powers_of_two_lie_at_or_below_numbers(dtype, lowest, highest, device):
    random = np.random.default_rng(0)
    exponents = np.arange(lowest, highest + 1)[:: 1 if device == "cpu" else 37]
    numbers = np.ldexp(random.uniform(1.0, 1.9999, len(exponents)), exponents).astype(dtype)
    np.testing.assert_array_equal(powers(numbers, device), np.ldexp(1.0, exponents).astype(dtype))
    limits = np.finfo(dtype)
    ends = np.array([0.0, limits.smallest_subnormal, limits.tiny, 1.0, limits.max, np.inf, np.nan], dtype)
    low, high = dtype(2.0) ** lowest, dtype(2.0) ** highest
    np.testing.assert_array_equal(powers(ends, device), [low, low, low, 1.0, high, high, high])
