"""A script of twelve kernels as a user of warpsim or Warp would write it; launches are timed."""

import importlib
import os

import numpy as np

from benchmarks.startup import inputs as given

wp = importlib.import_module(os.environ["BENCH_LANGUAGE"])


@wp.func
def limited(value: float, low: float, high: float):
    return wp.min(wp.max(value, low), high)


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def integrate(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), g: wp.vec3, dt: float,
              out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = p[i] + (v[i] + g * dt) * dt


@wp.kernel
def springs(p: wp.array(dtype=wp.vec3), ends: wp.array(dtype=int), rest: wp.array(dtype=float),
            stiffness: float, f: wp.array(dtype=wp.vec3)):
    s = wp.tid()
    a = ends[2 * s]
    b = ends[2 * s + 1]
    d = p[b] - p[a]
    length = wp.length(d)
    pull = d * (stiffness * (length - rest[s]) / length)
    wp.atomic_add(f, a, pull)
    wp.atomic_sub(f, b, pull)


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def wave(now: wp.array2d(dtype=float), after: wp.array2d(dtype=float), c: float):
    i, j = wp.tid()
    rows = now.shape[0]
    columns = now.shape[1]
    if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
        after[i, j] = 0.0
    else:
        around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
        after[i, j] = now[i, j] + c * (around - 4.0 * now[i, j])


@wp.kernel
def rotate(m: wp.array(dtype=wp.mat33), p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = m[i] * p[i]


@wp.kernel
def contact(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), radius: float,
            stiffness: float, out: wp.array(dtype=float)):
    i = wp.tid()
    depth = radius - p[i][1]
    force = 0.0
    if depth > 0.0:
        force = stiffness * depth - 0.5 * v[i][1]
    out[i] = force


@wp.kernel
def frame(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.normalize(wp.cross(p[i], v[i]))


@wp.kernel
def neighbours(x: wp.array(dtype=float), window: int, out: wp.array(dtype=float)):
    i = wp.tid()
    summed = float(0.0)
    for j in range(wp.max(0, i - window), wp.min(x.shape[0], i + window + 1)):
        summed += x[j]
    out[i] = summed


@wp.kernel
def newton(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    root = float(1.0)
    step = int(0)
    while step < 8:
        root = 0.5 * (root + x[i] / root)
        step += 1
    out[i] = root


@wp.kernel
def pieces(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    if t < 0.4:
        out[i] = wp.sin(t)
    elif t < 0.8:
        out[i] = wp.exp(-t)
    else:
        out[i] = t * t * (3.0 - 2.0 * t)


@wp.kernel
def limit(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = limited(x[i], 0.3, 0.7)


class Script:
    """Arrays, then twelve launches; ``first`` and ``rest`` are what the watch is held on."""

    def __init__(self) -> None:
        self.x, self.y, self.rest_length = (
            wp.array(values, dtype=float) for values in (given.X, given.Y, given.REST))
        self.p, self.v = (wp.array(values, dtype=wp.vec3) for values in (given.P, given.V))
        self.outputs: list = []

    def first(self) -> None:
        """The first launch."""
        wp.launch(saxpy, dim=given.N, inputs=[self.x, self.y, given.A])

    def rest(self) -> None:
        """The other eleven."""
        x, p, v = self.x, self.p, self.v
        moved = self.run(integrate, wp.vec3, p, v, wp.vec3(*given.GRAVITY), given.DT)
        ends = wp.array(given.ENDS, dtype=int)
        forces = self.run(springs, wp.vec3, p, ends, self.rest_length, given.STIFFNESS)
        loss = wp.zeros(1, dtype=float)
        wp.launch(total, dim=given.N, inputs=[x, loss])
        now, after = (wp.array(given.HEIGHT, dtype=float) for _ in range(2))
        wp.launch(wave, dim=(given.SIDE, given.SIDE), inputs=[now, after, given.C])
        rotated = self.run(rotate, wp.vec3, wp.array(given.M, dtype=wp.mat33), p)
        pushed = self.run(contact, float, p, v, given.RADIUS, given.STIFFNESS)
        normal = self.run(frame, wp.vec3, p, v)
        summed = self.run(neighbours, float, x, given.WINDOW)
        roots, parts, clipped = (self.run(kernel, float, x) for kernel in (newton, pieces, limit))
        self.outputs = [self.y, moved, forces, loss, after, rotated, pushed, normal, summed,
                        roots, parts, clipped]

    def run(self, kernel, dtype, *arguments):
        """Launch over ``N`` elements with a new output array, and return that."""
        out = wp.zeros(given.N, dtype=dtype)
        wp.launch(kernel, dim=given.N, inputs=[*arguments, out])
        return out

    def values(self) -> list[np.ndarray]:
        """What the twelve kernels wrote."""
        return [out.numpy() for out in self.outputs]
