"""Kernels that are tested as operators of every framework: numbers, sums, overwritten contents, several outputs."""

import itertools

import pytest

import warpsim as wp

F = wp.array(dtype=wp.float64)
Vec3s = wp.array(dtype=wp.vec3d)

# Every choice of some of three arguments.
SUBSETS = [n for n in itertools.product((False, True), repeat=3) if any(n)]
EACH = pytest.mark.parametrize("chosen", SUBSETS, ids=lambda n: "".join("01"[k] for k in n))


@wp.kernel
def waves(a: F, b: F, s: wp.float64, y: F, n: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.sin(a[i]) * b[i] * b[i] * s
    n[i] = i


@wp.kernel
def energy(x: Vec3s, pull: wp.vec3d, total: F):
    i = wp.tid()
    wp.atomic_add(total, 0, wp.length_sq(x[i]) * wp.dot(x[i], pull))


@wp.kernel
def advance(x: F, v: F, dt: wp.float64):
    """Changes what it reads: its adjoint needs the contents from before."""
    i = wp.tid()
    v[i] = v[i] - x[i] * x[i] * v[i] * dt
    x[i] = x[i] * v[i] + x[i] * x[i] * dt


@wp.kernel
def twice_in_memory(x: F, y: F):
    """Reads what it wrote."""
    i = wp.tid()
    y[i] = x[i] * x[i]
    y[i] = y[i] * y[i] + x[i]


@wp.kernel
def product(a: wp.array2d(dtype=wp.float64), b: wp.array2d(dtype=wp.float64), c: wp.array2d(dtype=wp.float64)):
    i, j = wp.tid()
    s = wp.float64(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def pair(a: F, b: F, s: wp.float64, y: F, z: F):
    i = wp.tid()
    y[i] = wp.sin(a[i]) * b[i] * s
    z[i] = a[i] * b[i] * b[i]


@wp.kernel
def squares(x: wp.array(dtype=wp.bfloat16), y: wp.array(dtype=wp.bfloat16)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def repeated(n: wp.array(dtype=int), x: F, y: F, m: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = x[i] * wp.float64(n[i])
    m[i] = 2 * n[i]


@wp.kernel
def number_last(x: F, y: float):
    pass


@wp.struct
class Pair:
    a: float


@wp.kernel
def pairs(x: wp.array(dtype=Pair), y: F):
    pass
