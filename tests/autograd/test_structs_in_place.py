"""Tangents and curvature of launches that update arrays of a struct in place."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import hvp, jvp


@wp.struct
class Motion:
    x: wp.array(dtype=wp.float64)
    v: wp.array(dtype=wp.float64)


@wp.struct
class Pendulums:
    motion: Motion
    dt: wp.float64


@wp.kernel
def swing(s: Pendulums):
    i = wp.tid()
    s.motion.v[i] = s.motion.v[i] - s.dt * wp.sin(s.motion.x[i])
    s.motion.x[i] = s.motion.x[i] + s.dt * s.motion.v[i]


def swung(x0, v0):
    s = Pendulums()
    s.motion.x, s.motion.v = (wp.array(a, dtype=wp.float64, requires_grad=True) for a in (x0, v0))
    with wp.Tape() as tape:
        for k in range(4):
            s.dt = 0.1 + 0.05 * k
            wp.launch(swing, len(x0), inputs=[s])
    return tape, s.motion


def test_tangents_and_curvature():
    rng = np.random.default_rng(0)
    x0, v0, direction = rng.random(3), rng.random(3), rng.random(3)
    tape, motion = swung(x0, v0)
    along, ones = wp.array(direction, dtype=wp.float64), wp.ones(3, dtype=wp.float64)
    tangents = jvp(tape, tangents={motion.x: along})
    bends = hvp(tape, vector={motion.x: along}, cotangents={motion.x: ones})
    h, ends, slopes = 1e-5, [], []
    for sign in (1.0, -1.0):
        moved_tape, moved = swung(x0 + sign * h * direction, v0)
        ends.append(moved.x.numpy().copy())
        moved_tape.backward(grads={moved.x: ones})
        slopes.append([moved.x.grad.numpy().copy(), moved.v.grad.numpy().copy()])
    assert tangents[motion.x] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)
    assert bends[motion.x] == pytest.approx((slopes[0][0] - slopes[1][0]) / (2 * h), rel=1e-6)
    assert bends[motion.v] == pytest.approx((slopes[0][1] - slopes[1][1]) / (2 * h), rel=1e-6)
