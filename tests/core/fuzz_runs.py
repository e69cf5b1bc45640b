"""Runs of random kernels (see `grammar.bits`): memory for their arrays, equal bits."""

from __future__ import annotations

import numpy as np
from grammar.bits import SIZE

import warpsim as wp


def inputs():
    """Memory of the arrays a*, o*, os and shared, in the order of the kernel's parameters."""
    rng = np.random.default_rng(7)
    floats = np.array([0.0, 1.5, -2.25, 0.1, 1e6, -1e-3, 3.0, -7.5])
    ints = np.array([0, 1, -2, 7, 2147483647, -2147483648, 12, -100], dtype=np.int32)
    unsigned = np.array([0, 1, 5, 4294967295, 17, 2147483648, 31, 1000], dtype=np.uint32)
    vectors = rng.integers(-4, 5, (SIZE, 3)).astype(np.float32) / 2
    given = [floats.astype(np.float32), floats, ints, unsigned, vectors]
    return [*given, *(np.zeros_like(a) for a in given)]


TYPES = (np.float32, np.float64, np.int32, np.uint32, wp.vec3) * 2


def on_device(kernel, struct, device):
    """Every array after a launch."""
    arrays = [wp.array(a, dtype=t, device=device) for a, t in zip(inputs(), TYPES, strict=True)]
    arrays += [wp.zeros(SIZE, dtype=struct, device=device), wp.zeros(SIZE, dtype=int, device=device)]
    wp.launch(kernel, dim=SIZE, inputs=arrays, device=device)
    return [a.numpy() for a in arrays]


def assert_same(want, got, how):
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        for field in a.dtype.names or (None,):
            x, y = (a, b) if field is None else (a[field], b[field])
            np.testing.assert_array_equal(x, y, err_msg=f"array {k} {field or ''} {how}")
            if x.dtype.kind == "f":
                signs = np.signbit(x) != np.signbit(y)
                assert not np.any(signs & ~np.isnan(x)), f"sign of zero in array {k} {how}"
