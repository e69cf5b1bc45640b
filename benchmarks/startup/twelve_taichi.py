"""The twelve kernels in Taichi, on ``ti.ndarray``; launches are timed."""

import numpy as np
import taichi as ti

from benchmarks.startup import inputs as given

vec3, mat33 = ti.math.vec3, ti.math.mat3
scalars = ti.types.ndarray(dtype=ti.f32, ndim=1)
integers = ti.types.ndarray(dtype=ti.i32, ndim=1)
grid = ti.types.ndarray(dtype=ti.f32, ndim=2)
vectors = ti.types.ndarray(dtype=vec3, ndim=1)
matrices = ti.types.ndarray(dtype=mat33, ndim=1)


@ti.func
def limited(value, low, high):
    return ti.min(ti.max(value, low), high)


@ti.kernel
def saxpy(x: scalars, y: scalars, a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def integrate(p: vectors, v: vectors, g: vec3, dt: ti.f32, out: vectors):
    for i in p:
        out[i] = p[i] + (v[i] + g * dt) * dt


@ti.kernel
def springs(p: vectors, ends: integers, rest: scalars, stiffness: ti.f32, f: vectors):
    for s in rest:
        a, b = ends[2 * s], ends[2 * s + 1]
        d = p[b] - p[a]
        length = d.norm()
        pull = d * (stiffness * (length - rest[s]) / length)
        ti.atomic_add(f[a], pull)
        ti.atomic_sub(f[b], pull)


@ti.kernel
def total(x: scalars, loss: scalars):
    for i in x:
        loss[0] += x[i] * x[i]


@ti.kernel
def wave(now: grid, after: grid, c: ti.f32):
    for i, j in now:
        if i == 0 or j == 0 or i == now.shape[0] - 1 or j == now.shape[1] - 1:
            after[i, j] = 0.0
        else:
            around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
            after[i, j] = now[i, j] + c * (around - 4.0 * now[i, j])


@ti.kernel
def rotate(m: matrices, p: vectors, out: vectors):
    for i in p:
        out[i] = m[i] @ p[i]


@ti.kernel
def contact(p: vectors, v: vectors, radius: ti.f32, stiffness: ti.f32, out: scalars):
    for i in p:
        depth = radius - p[i][1]
        force = 0.0
        if depth > 0.0:
            force = stiffness * depth - 0.5 * v[i][1]
        out[i] = force


@ti.kernel
def frame(p: vectors, v: vectors, out: vectors):
    for i in p:
        out[i] = p[i].cross(v[i]).normalized()


@ti.kernel
def neighbours(x: scalars, window: ti.i32, out: scalars):
    for i in x:
        summed = 0.0
        for j in range(ti.max(0, i - window), ti.min(x.shape[0], i + window + 1)):
            summed += x[j]
        out[i] = summed


@ti.kernel
def newton(x: scalars, out: scalars):
    for i in x:
        root = 1.0
        step = 0
        while step < 8:
            root = 0.5 * (root + x[i] / root)
            step += 1
        out[i] = root


@ti.kernel
def pieces(x: scalars, out: scalars):
    for i in x:
        t = x[i]
        if t < 0.4:
            out[i] = ti.sin(t)
        elif t < 0.8:
            out[i] = ti.exp(-t)
        else:
            out[i] = t * t * (3.0 - 2.0 * t)


@ti.kernel
def limit(x: scalars, out: scalars):
    for i in x:
        out[i] = limited(x[i], 0.3, 0.7)


def device_array(values: np.ndarray, element: object = ti.f32) -> ti.Ndarray:
    """A ``ti.ndarray`` with the values; ``element`` is a scalar, vector or matrix type."""
    shape = values.shape if element in (ti.f32, ti.i32) else values.shape[:1]
    array = ti.ndarray(element, shape)
    array.from_numpy(values)
    return array


class Script:
    """Arrays, then twelve calls; ``first`` and ``rest`` are what the watch is held on."""

    def __init__(self) -> None:
        self.x, self.y, self.rest_length = (
            device_array(values) for values in (given.X, given.Y, given.REST))
        self.p, self.v = (device_array(values, vec3) for values in (given.P, given.V))
        self.outputs: list = []

    def first(self) -> None:
        """The first call."""
        saxpy(self.x, self.y, given.A)

    def rest(self) -> None:
        """The other eleven."""
        x, p, v = self.x, self.p, self.v
        moved = self.run(integrate, vec3, p, v, vec3(*given.GRAVITY), given.DT)
        ends = device_array(given.ENDS, ti.i32)
        forces = self.run(springs, vec3, p, ends, self.rest_length, given.STIFFNESS)
        loss = device_array(np.zeros(1, np.float32))
        total(x, loss)
        now, after = (device_array(given.HEIGHT) for _ in range(2))
        wave(now, after, given.C)
        rotated = self.run(rotate, vec3, device_array(given.M, mat33), p)
        pushed = self.run(contact, ti.f32, p, v, given.RADIUS, given.STIFFNESS)
        normal = self.run(frame, vec3, p, v)
        summed = self.run(neighbours, ti.f32, x, given.WINDOW)
        roots, parts, clipped = (self.run(kernel, ti.f32, x) for kernel in (newton, pieces, limit))
        self.outputs = [self.y, moved, forces, loss, after, rotated, pushed, normal, summed,
                        roots, parts, clipped]

    def run(self, kernel, element, *arguments):
        """Call over ``N`` elements with a new output array, and return that."""
        out = ti.ndarray(element, given.N)
        out.fill(0.0)
        kernel(*arguments, out)
        return out

    def values(self) -> list[np.ndarray]:
        """What the twelve kernels wrote."""
        return [out.to_numpy() for out in self.outputs]
