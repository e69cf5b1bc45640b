"""Random sequences of launches and host writes over few arrays and their views: the tape against finite differences.

Arrays are read, overwritten, updated in place and passed twice; whatever is kept too late, too early or for
the wrong view shows as a wrong slope.
"""

import numpy as np
import pytest

import warpsim as wp

N = 6


@wp.kernel
def product(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = wp.sin(x[i]) * y[i]


@wp.kernel
def axpy(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), a: wp.float64):
    i = wp.tid()
    y[i] = y[i] + a * x[i]


@wp.kernel
def update(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.cos(x[i]) + wp.float64(0.5) * wp.sin(x[i] * y[i])


@wp.kernel
def swap(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    old = x[i]
    x[i] = wp.sin(y[i]) * wp.cos(y[i])
    y[i] = old * wp.float64(0.7)


@wp.kernel
def gather(x: wp.array(dtype=wp.float64), at: wp.array(dtype=int), total: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(total, at[i], wp.sin(x[i]) * wp.cos(x[i]))


@wp.kernel
def highest(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i])


def operations(seed, count):
    """A random program: functions of a list of arrays and an array of indices."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        a, b, c = (int(k) for k in rng.integers(0, 3, 3))
        low = int(rng.integers(0, 3))
        part, other = slice(low, low + 3), slice(low, low + 3) if a == b else slice(1, 4)
        kinds = [
            lambda v, at, a=a, b=b, c=c: wp.launch(product, N, inputs=[v[a], v[b], v[c]]),
            lambda v, at, a=a, b=b, p=part, q=other: wp.launch(product, 3, inputs=[v[a][p], v[b][q], v[a][p]]),
            lambda v, at, a=a, b=b: wp.launch(axpy, N, inputs=[v[a], v[b], 0.3]),
            lambda v, at, a=a, b=b, p=part, q=other: wp.launch(axpy, 3, inputs=[v[a][p], v[b][q], -0.4]),
            lambda v, at, a=a, b=b: wp.launch(update, N, inputs=[v[a], v[b]]),
            lambda v, at, a=a, b=b: wp.launch(swap, N, inputs=[v[a], v[(a + 1) % 3]]),
            lambda v, at, a=a: wp.launch(gather, N, inputs=[v[a], at, v[(a + 1) % 3]]),
            lambda v, at, a=a: wp.launch(highest, N, inputs=[v[a], v[(a + 1) % 3][2:]]),
            lambda v, at, a=a, b=b: v[a].assign(v[b]),
            lambda v, at, a=a, b=b, p=part: v[a].__setitem__(p, v[b][3:]),
            lambda v, at, a=a, low=low: v[a].__setitem__(low, 0.25),
            lambda v, at, a=a: v[a][2:4].zero_(),
            lambda v, at, c=c: at.assign(np.roll(np.arange(N), c).astype(np.int32)),
            lambda v, at, a=a, b=b: wp.copy(v[a], v[b], dest_offset=1, src_offset=0, count=4),
        ]
        made.append(kinds[int(rng.integers(len(kinds)))])
    return made


def run(program, start, weights, record):
    arrays = [wp.array(x, dtype=wp.float64, requires_grad=True) for x in start]
    at = wp.array(np.arange(N), dtype=int)
    with wp.Tape() if record else wp.ScopedTimer("plain", print=False) as tape:
        for operation in program:
            operation(arrays, at)
    value = sum(float(w @ a.numpy()) for w, a in zip(weights, arrays, strict=True))
    return value, arrays, tape


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    rng = np.random.default_rng(1000 + seed)
    program = operations(seed, 12)
    start, weights, direction = rng.random((3, N)), rng.random((3, N)), rng.random((3, N))
    _, arrays, tape = run(program, start, weights, record=True)
    seeds = {a: wp.array(w, dtype=wp.float64) for a, w in zip(arrays, weights, strict=True)}
    final = [a.numpy().copy() for a in arrays]
    h = 1e-6
    ahead, back = (run(program, start + sign * h * direction, weights, False)[0] for sign in (1.0, -1.0))
    slope = ahead - back
    for _ in range(2):
        tape.backward(grads=seeds)
        found = sum(float(d @ a.grad.numpy()) for d, a in zip(direction, arrays, strict=True))
        assert found == pytest.approx(slope / (2 * h), rel=2e-6, abs=1e-8)
    assert [a.numpy().tolist() for a in arrays] == [x.tolist() for x in final]
