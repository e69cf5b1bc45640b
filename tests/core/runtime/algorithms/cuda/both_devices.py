"""The same run on "cuda:0" and on the CPU, for tests that expect equal results."""

import numpy as np

import warpsim as wp


def both(build, run):
    """What a run leaves in the arrays that `build()` makes: on the device, and on the CPU."""
    found = []
    for device in ("cuda:0", "cpu"):
        with wp.ScopedDevice(device):
            made = build()
            result = run(*made)
            found.append([a.numpy() for a in made if hasattr(a, "numpy")] + [result])
    return found


def assert_same(build, run, rtol=0.0):
    device, cpu = both(build, run)
    for a, b in zip(device, cpu, strict=True):
        if isinstance(b, np.ndarray | np.generic):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=0.0) if rtol else np.testing.assert_array_equal(a, b)
        elif not hasattr(b, "numpy"):
            assert a == b
