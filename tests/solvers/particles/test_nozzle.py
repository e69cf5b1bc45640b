"""Streams turn with their flow: what lies across the axis lies across the flow, also against the axis."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers.particles.nozzle import turned_along


def turned(offsets, axes, flows, dtype):
    @wp.kernel
    def turn(
        offset: wp.array(dtype=dtype),
        axis: wp.array(dtype=dtype),
        flow: wp.array(dtype=dtype),
        out: wp.array(dtype=dtype),
    ):
        i = wp.tid()
        out[i] = turned_along(offset[i], axis[i], flow[i])

    arrays = [wp.array(a, dtype=dtype, requires_grad=True) for a in (offsets, axes, flows, np.zeros_like(offsets))]
    with wp.Tape() as tape:
        wp.launch(turn, len(offsets), arrays[:3], arrays[3:])
    tape.backward(grads={arrays[3]: wp.full_like(arrays[3], 1.0)})
    return arrays[3].numpy(), [a.grad.numpy() for a in arrays[:3]]


@pytest.mark.parametrize("dtype", [wp.vec3, wp.vec3d])
@pytest.mark.parametrize("near", [0.0, 1e-7, 1e-4, 0.1, 2.0])
def test_offsets_stay_across_the_flow_and_as_long(dtype, near):
    """near: how far the flow is from the direction against the axis."""
    rng = np.random.default_rng(3)
    axes = np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(40, 3))])
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    offsets = np.cross(axes, rng.normal(size=axes.shape))
    flows = 2.5 * (-axes + near * np.cross(axes, rng.normal(size=axes.shape)))
    out, gradients = turned(offsets, axes, flows, dtype)
    assert all(np.isfinite(g).all() for g in gradients)
    n = flows / np.linalg.norm(flows, axis=1)[:, None]
    close = 2e-3 if dtype is wp.vec3 else 1e-5
    np.testing.assert_allclose((out * n).sum(1), 0.0, atol=close * np.linalg.norm(offsets, axis=1).max())
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), np.linalg.norm(offsets, axis=1), rtol=close)
