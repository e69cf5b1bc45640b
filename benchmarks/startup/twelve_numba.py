"""The twelve kernels in Numba (``parallel=True, cache=True``); launches are timed.

Two differ in form: the springs run serially, because Numba has no CPU atomics, and the sum is a
``prange`` reduction.
"""

import numpy as np
from numba import njit, prange

from benchmarks.startup import inputs as given

kernel = njit(parallel=True, cache=True)


@njit(cache=True)
def limited(value, low, high):
    return min(max(value, low), high)


@kernel
def saxpy(x, y, a):
    for i in prange(x.shape[0]):
        y[i] = a * x[i] + y[i]


@kernel
def integrate(p, v, g, dt, out):
    for i in prange(p.shape[0]):
        for k in range(3):
            out[i, k] = p[i, k] + (v[i, k] + g[k] * dt) * dt


@njit(cache=True)
def springs(p, ends, rest, stiffness, f):
    for s in range(rest.shape[0]):
        a, b = ends[2 * s], ends[2 * s + 1]
        d = (p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2])
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        scale = stiffness * (length - rest[s]) / length
        for k in range(3):
            f[a, k] += d[k] * scale
            f[b, k] -= d[k] * scale


@kernel
def total(x, loss):
    summed = np.float32(0.0)
    for i in prange(x.shape[0]):
        summed += x[i] * x[i]
    loss[0] = summed


@kernel
def wave(now, after, c):
    rows, columns = now.shape
    for i in prange(rows):
        for j in range(columns):
            if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
                after[i, j] = 0.0
            else:
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                after[i, j] = now[i, j] + c * (around - 4.0 * now[i, j])


@kernel
def rotate(m, p, out):
    for n in prange(p.shape[0]):
        for i in range(3):
            out[n, i] = m[n, i, 0] * p[n, 0] + m[n, i, 1] * p[n, 1] + m[n, i, 2] * p[n, 2]


@kernel
def contact(p, v, radius, stiffness, out):
    for i in prange(p.shape[0]):
        depth = radius - p[i, 1]
        force = 0.0
        if depth > 0.0:
            force = stiffness * depth - 0.5 * v[i, 1]
        out[i] = force


@kernel
def frame(p, v, out):
    for i in prange(p.shape[0]):
        x = p[i, 1] * v[i, 2] - p[i, 2] * v[i, 1]
        y = p[i, 2] * v[i, 0] - p[i, 0] * v[i, 2]
        z = p[i, 0] * v[i, 1] - p[i, 1] * v[i, 0]
        length = np.sqrt(x * x + y * y + z * z)
        out[i, 0] = x / length
        out[i, 1] = y / length
        out[i, 2] = z / length


@kernel
def neighbours(x, window, out):
    for i in prange(x.shape[0]):
        summed = 0.0
        for j in range(max(0, i - window), min(x.shape[0], i + window + 1)):
            summed += x[j]
        out[i] = summed


@kernel
def newton(x, out):
    for i in prange(x.shape[0]):
        root = 1.0
        step = 0
        while step < 8:
            root = 0.5 * (root + x[i] / root)
            step += 1
        out[i] = root


@kernel
def pieces(x, out):
    for i in prange(x.shape[0]):
        t = x[i]
        if t < 0.4:
            out[i] = np.sin(t)
        elif t < 0.8:
            out[i] = np.exp(-t)
        else:
            out[i] = t * t * (3.0 - 2.0 * t)


@kernel
def limit(x, out):
    for i in prange(x.shape[0]):
        out[i] = limited(x[i], 0.3, 0.7)


class Script:
    """Arrays, then twelve calls; ``first`` and ``rest`` are what the watch is held on."""

    def __init__(self) -> None:
        self.y = given.Y.copy()
        self.outputs: list = []

    def first(self) -> None:
        """The first call."""
        saxpy(given.X, self.y, given.A)

    def rest(self) -> None:
        """The other eleven."""
        x, p, v, gravity = given.X, given.P, given.V, np.array(given.GRAVITY, np.float32)
        moved = self.run(integrate, (3,), p, v, gravity, given.DT)
        forces = self.run(springs, (3,), p, given.ENDS, given.REST, given.STIFFNESS)
        loss = np.zeros(1, np.float32)
        total(x, loss)
        after = given.HEIGHT.copy()
        wave(given.HEIGHT, after, given.C)
        rotated = self.run(rotate, (3,), given.M, p)
        pushed = self.run(contact, (), p, v, given.RADIUS, given.STIFFNESS)
        normal = self.run(frame, (3,), p, v)
        summed = self.run(neighbours, (), x, given.WINDOW)
        roots, parts, clipped = (self.run(work, (), x) for work in (newton, pieces, limit))
        self.outputs = [self.y, moved, forces, loss, after, rotated, pushed, normal, summed,
                        roots, parts, clipped]

    def run(self, work, extent, *arguments):
        """Call over ``N`` elements with a new output array, and return that."""
        out = np.zeros((given.N, *extent), np.float32)
        work(*arguments, out)
        return out

    def values(self) -> list[np.ndarray]:
        """What the twelve kernels wrote."""
        return self.outputs
