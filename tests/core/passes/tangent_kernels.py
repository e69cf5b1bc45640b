"""Differentiable kernels over the whole language, each with the shapes of its arrays.

All are smooth at the points that `contents` draws, so central differences are an oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import warpsim as wp
from warpsim.core.types.compounds import is_compound

Reals = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)
Matrix = wp.array2d(dtype=wp.float64)
Vectors = wp.array(dtype=wp.vec3d)
THREADS = 5


@wp.struct
class Spring:
    stiffness: wp.float64
    axis: wp.vec3d
    count: int


@wp.struct
class World:
    gain: wp.float64
    y: wp.array(dtype=wp.float64)
    n: wp.array(dtype=int)


@wp.func
def energy(s: Spring, x: wp.float64):
    stretched = s.stiffness * x
    if s.count > 2:
        return stretched * wp.length(s.axis), stretched
    return wp.sin(stretched) * s.axis[s.count], x


@wp.func
def newton(x: wp.float64, steps: int):
    guess = x
    for _ in range(steps):
        guess = wp.float64(0.5) * (guess + x / guess)
    return guess


@wp.kernel
def straight(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * x[i] + wp.exp(-x[i]) / (x[i] + wp.float64(5.0))


@wp.kernel
def branches(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    a = x[i]
    if n[i] > 2:
        a = a * a
        if n[i] == 4:
            a = a + wp.cos(x[i])
    elif n[i] == 1:
        a = wp.float64(3.0)
    y[i] = a * x[i]


@wp.kernel
def loops(x: Reals, y: Reals, n: Ints):
    """The tangent of `late` arrives only at the end of an iteration, and that of `later` one after."""
    i = wp.tid()
    total = wp.float64(1.0)
    late = wp.float64(0.0)
    later = wp.float64(0.0)
    for a in range(n[i]):
        for b in range(3):
            later = later * wp.float64(0.5) + late
            late = wp.sin(total)
            total = total * x[(i + b) % 5] + wp.float64(a)
    y[i] = total + later


@wp.kernel
def leaving(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    total = x[i]
    for a in range(10):
        if a == 2:
            continue
        if total > wp.float64(20.0) or a > n[i]:
            break
        total = total * wp.float64(1.5) + wp.float64(0.1) * x[a % 5]
    k = int(0)
    while total < wp.float64(50.0) and k < n[i]:
        total = total * total + x[i]
        k += 1
    if n[i] == 3:
        y[i] = total
        return
    y[i] = wp.sqrt(total * total + wp.float64(1.0))


@wp.kernel
def updates(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    y[i] = x[i]
    y[i] += x[i] * x[i]
    y[i] *= x[i]
    y[i] -= wp.sin(y[i])
    y[i] /= wp.float64(2.0) + x[i]
    x[i] = y[i] * x[i]


@wp.kernel
def functions(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    s = Spring()
    s.stiffness = x[i]
    s.axis = wp.vec3d(x[i], wp.float64(2.0), x[0])
    s.count = n[i] - 1
    a, b = energy(s, x[i])
    y[i] = a + b * newton(x[i] + wp.float64(3.0), n[i])


@wp.kernel
def vectors(x: Vectors, y: Vectors, n: Ints):
    i = wp.tid()
    v = x[i]
    v[n[i] % 3] = wp.dot(v, v)
    for k in range(3):
        v[k] = v[k] * v[2 - k]
    m = wp.outer(v, x[i]) + wp.identity(3, dtype=wp.float64) * wp.length(x[i])
    m[1] = wp.cross(v, x[i])
    y[i] = wp.inverse(m) * v + wp.normalize(x[i])
    y[i][1] += x[i][0]
    wp.atomic_add(y, i, wp.transpose(m) * x[i])


@wp.kernel
def rigid(x: wp.array(dtype=wp.transformd), y: Vectors, n: Ints):
    i = wp.tid()
    turn = wp.normalize(wp.transform_get_rotation(x[i]))
    moved = wp.transformation(wp.transform_get_translation(x[i]), turn)
    y[i] = wp.transform_point(moved, wp.vec3d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0)))


@wp.kernel
def local_memory(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    seen = wp.zeros(shape=4, dtype=wp.float64)
    other = wp.zeros(shape=(2, 4), dtype=wp.float64)
    for k in range(4):
        seen[k] = x[(i + k) % 5]
        other[k % 2, k] = seen[k] * seen[0]
    for k in range(n[i]):
        wp.atomic_add(seen, k % 4, seen[(k + 1) % 4] * wp.float64(0.5))
    row = other[n[i] % 2]
    y[i] = seen[0] * seen[3] + row[2] * row[1] + row[3]


@wp.kernel
def structs(x: wp.array(dtype=Spring), y: wp.array(dtype=Spring), n: Ints):
    i = wp.tid()
    s = x[i]
    s.axis = s.axis * s.stiffness
    if n[i] > 2:
        s = y[i]
        s.stiffness = wp.length(x[i].axis)
    y[i] = s
    y[i].stiffness += x[i].axis[0]
    y[i].axis[1] = x[i].stiffness


@wp.kernel
def views(x: Matrix, y: Matrix, n: Ints):
    i = wp.tid()
    row = x[i]
    total = wp.float64(0.0)
    for k in range(row.shape[0]):
        total += row[k] * row[k]
    out = y[i]
    out[n[i] % 3] = total
    wp.atomic_sub(out, 0, total * row[1])


@wp.kernel
def chosen_arrays(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    a = x
    if n[i] > 2:
        a = y
    a[i] = a[i] * wp.sin(a[i])


@wp.kernel
def sums(x: Reals, y: Reals, n: Ints):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i] * x[i])
    wp.atomic_sub(y, 1, wp.sin(x[i]))
    before = wp.atomic_add(y, 2, x[i])
    wp.atomic_add(y, 3, before * x[i])
    swapped = wp.atomic_exch(y, 4, x[i])
    x[i] = swapped * x[i]


@wp.kernel
def extremes(x: Vectors, y: Vectors, n: Ints):
    i = wp.tid()
    before = wp.atomic_max(y, 0, x[i] * wp.float64(2.0))
    wp.atomic_min(y, 1, x[i])
    y[2 + i % 3] += before * x[i][0]


@wp.kernel
def constants(x: Reals, y: Reals, n: Ints):
    """Parts whose derivative is zero by what they mean."""
    i = wp.tid()
    steps = wp.floor(x[i]) + wp.float64(int(x[i])) + wp.sign(x[i]) + wp.rint(x[i] * wp.float64(7.0))
    y[i] = x[i] * steps


@wp.kernel
def numbers(x: Reals, y: Vectors, n: Ints, k: wp.float64, v: wp.vec3d, s: Spring):
    i = wp.tid()
    y[i] = v * (x[i] * k) + s.axis * (s.stiffness * wp.dot(v, s.axis)) + v * wp.float64(s.count)


@wp.kernel
def worlds(x: Reals, n: Ints, w: World):
    i = wp.tid()
    w.y[i] = w.y[i] * x[i] * w.gain + wp.float64(w.n[i])


GALLERY = [straight, branches, loops, leaving, updates, functions, vectors, rigid, local_memory, structs, views]
GALLERY += [chosen_arrays, sums, extremes, constants]


def reals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.3, 1.7, shape)


def springs(rng: np.random.Generator) -> np.ndarray:
    made = np.zeros(THREADS, Spring.numpy_dtype())
    made["stiffness"], made["axis"] = reals(rng, THREADS), reals(rng, THREADS, 3)
    made["count"] = rng.integers(0, 5, THREADS)
    return made


def contents(kernel: Any, rng: np.random.Generator) -> list[np.ndarray]:
    """Memory for the arrays of a kernel: positive floats, and the same integers always."""
    found = []
    for t in kernel.patterns.values():
        if t.dtype is Spring:
            found.append(springs(rng))
        elif t is Ints:
            found.append(np.array([0, 1, 3, 4, 2], np.int32))
        else:
            inner = t.dtype.shape if is_compound(t.dtype) else (3,) * (t.ndim - 1)
            found.append(reals(rng, THREADS, *inner))
    return found
