"""Runs a kernel and its adjoint on one device, takes finite differences, and catches refusals."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import CustomGradientError


def array(values, dtype=float, grad=True, device=None):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=grad, device=device)


def backward(kernel, dim, inputs, outputs, seeds=None, device=None):
    """Launch on a tape and go back with seeds (ones) for the outputs; gradients are in the arrays afterwards."""
    with wp.Tape() as tape:
        wp.launch(kernel, dim=dim, inputs=list(inputs), outputs=list(outputs), device=device)
    found = [np.ones_like(o.numpy()) for o in outputs] if seeds is None else seeds
    pairs = zip(outputs, found, strict=True)
    tape.backward(grads={o: wp.array(np.asarray(s), dtype=o.dtype, device=device) for o, s in pairs})
    return tape


def slope(f, x, h=1e-6):
    """The central difference of a function of arrays in float64, by each component of `x`."""
    x = np.asarray(x, np.float64)
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = h
        found[at] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def refused(call, *args):
    """The text of the error that a call raises."""
    with pytest.raises(CustomGradientError) as caught:
        call(*args)
    return str(caught.value)
