"""Kernels of tiles against NumPy in float64: results, and gradients against central differences of NumPy's."""

import numpy as np

import warpsim as wp


def differences(oracle, inputs, weights, step=1e-6):
    """The slopes of the weighted sum of an oracle's results, along every number of its inputs."""
    slopes = []
    for k, values in enumerate(inputs):
        slope = np.zeros_like(values)
        for at in np.ndindex(values.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [v.copy() for v in inputs]
                moved[k][at] += sign * step
                ends.append(sum((w * r).sum() for w, r in zip(weights, as_list(oracle(*moved)), strict=True)))
            slope[at] = (ends[0] - ends[1]) / (2.0 * step)
        slopes.append(slope)
    return slopes


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


def check(kernel, inputs, oracle, device, numbers=(), rtol=1e-12, slopes=1e-6):
    """Compare one launch of a kernel of (inputs, numbers, outputs) with an oracle of the inputs.

    slopes: how far gradients may be off; None where there are none to compare.
    """
    rng = np.random.default_rng(5)
    expected = as_list(oracle(*inputs))
    with wp.ScopedDevice(device):
        arrays = [wp.array(v, dtype=wp.float64, requires_grad=True) for v in inputs]
        outs = [wp.zeros(r.shape, dtype=wp.float64, requires_grad=True) for r in expected]
        with wp.Tape() as tape:
            wp.launch(kernel, 1, inputs=[*arrays, *numbers, *outs], block_dim=1)
        for out, values in zip(outs, expected, strict=True):
            np.testing.assert_allclose(out.numpy(), values, rtol=rtol, atol=1e-12)
        if slopes is None:
            return
        weights = [rng.normal(size=r.shape) for r in expected]
        tape.backward(grads={o: wp.array(w, dtype=wp.float64) for o, w in zip(outs, weights, strict=True)})
        for array, slope in zip(arrays, differences(oracle, inputs, weights), strict=True):
            np.testing.assert_allclose(array.grad.numpy(), slope, rtol=slopes, atol=slopes)
