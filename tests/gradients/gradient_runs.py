"""Gradients of a program, two ways: by a tape, and by central differences in float64.

A program is a host function that takes arrays, launches kernels, and returns the loss, an array of one
element. Inputs are pairs of a NumPy array and an element type, see `f64` and its neighbours.
"""

from __future__ import annotations

import numpy as np

import warpsim as wp
from warpsim.errors import NotDifferentiableError

STEP = 3e-4


def f64(*values):
    return np.array(values, dtype=np.float64), wp.float64


def ints(*values):
    return np.array(values, dtype=np.int32), wp.int32


def compound(dtype, values):
    """Vectors, matrices, quaternions: one element per leading index of `values`."""
    return np.array(values, dtype=np.float64), dtype


def random_f64(seed, *shape):
    """Numbers between 0.5 and 1.5, so products neither vanish nor explode."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape), wp.float64


def new_loss():
    """The place where kernels add up what is to be differentiated."""
    return wp.zeros(1, dtype=wp.float64, requires_grad=True)


def by_tape(program, inputs):
    """The loss, and its gradient for every float input, as NumPy arrays."""
    arrays = [wp.array(data, dtype=dtype, requires_grad=data.dtype.kind == "f") for data, dtype in inputs]
    tape = wp.Tape()
    with tape:
        loss = program(*arrays)
    value = float(loss.numpy()[0])
    tape.backward(loss)
    return value, [a.grad.numpy() for a in arrays if a.requires_grad]


def loss_of(program, inputs):
    return float(program(*(wp.array(data, dtype=dtype) for data, dtype in inputs)).numpy()[0])


def by_differences(program, inputs):
    """The gradient for every float input, number by number: central differences of two steps, extrapolated."""
    gradients = []
    for k, (data, dtype) in enumerate(inputs):
        if data.dtype.kind != "f":
            continue
        gradient = np.zeros_like(data)
        for place in np.ndindex(data.shape):
            losses = []
            for distance in (STEP, -STEP, 2.0 * STEP, -2.0 * STEP):
                moved = data.copy()
                moved[place] += distance
                losses.append(loss_of(program, [*inputs[:k], (moved, dtype), *inputs[k + 1 :]]))
            gradient[place] = (8.0 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12.0 * STEP)
        gradients.append(gradient)
    return gradients


def assert_gradient(program, inputs, expected=None, rtol=1e-6):
    """Tape and differences agree, and both with `expected` (one gradient per float input) where it is given."""
    _, got = by_tape(program, inputs)
    measured = by_differences(program, inputs)
    for k, (g, m) in enumerate(zip(got, measured, strict=True)):
        scale = max(1.0, float(np.abs(m).max(initial=0.0)))
        np.testing.assert_allclose(g, m, rtol=rtol, atol=rtol * scale, err_msg=f"input {k}: tape and differences")
    for k, (g, e) in enumerate(zip(got, expected or [], strict=False)):
        np.testing.assert_allclose(g, e, rtol=1e-12, err_msg=f"input {k}: tape and the known value")
    assert expected is None or len(expected) == len(got)


def assert_gradient_or_refusal(program, inputs):
    """The gradient is right, or the error says what stands in the way, where and what to do: never a wrong one."""
    try:
        assert_gradient(program, inputs)
    except NotDifferentiableError as refused:
        assert refused.location is not None or "in the launch at" in str(refused)
        assert "help:" in str(refused)
