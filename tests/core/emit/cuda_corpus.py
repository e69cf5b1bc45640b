"""Kernels that between them use every construct a CUDA target must translate, with arguments to run them on.

Each entry gives a kernel, its launch dimensions and a function that makes fresh arguments; everything
a kernel writes is one of its arguments, so two runs compare by comparing arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import warpsim as wp

N = 23  # threads: no multiple of any block or grid


@dataclass(frozen=True)
class Entry:
    kernel: Any
    dim: int | tuple[int, ...]
    arguments: Callable[[np.random.Generator], list[Any]]
    rtol: float = 2e-6
    """Between libm and its vector version, which agree to 4 units in the last place."""


CORPUS: dict[str, Entry] = {}


def entry(dim: int | tuple[int, ...], arguments: Callable, **facts: Any) -> Callable:
    """Add a kernel to the corpus under its own name."""

    def add(kernel: Any) -> Any:
        CORPUS[kernel.key] = Entry(kernel, dim, arguments, **facts)
        return kernel

    return add


def numbers(rng: np.random.Generator, shape: Any, dtype: Any = wp.float32, low: float = -2.0, high: float = 2.0) -> Any:
    """An array of numbers or compounds, uniform in [low, high)."""
    extents = (shape,) if isinstance(shape, int) else shape
    inner = getattr(dtype, "shape", ())
    scalar = getattr(dtype, "dtype", dtype) if inner else dtype
    values = rng.uniform(low, high, (*extents, *inner)).astype(scalar)
    return wp.array(values, dtype=dtype)


# ----- vectors and matrices -----------------------------------------------------------------


@entry(N, lambda r: [numbers(r, N, wp.vec3), numbers(r, N, wp.vec3), numbers(r, N, low=0.5), wp.vec3(0.0, -9.8, 0.0), 0.01])
@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), g: wp.vec3, dt: float):
    i = wp.tid()
    force = wp.cross(v[i], g) / m[i] + g * 0.5 - wp.normalize(x[i]) * wp.length_sq(v[i])
    v[i] = v[i] + force * dt
    x[i] += v[i] * dt
    x[i][1] = wp.max(x[i].y, wp.dot(x[i], v[i]) * 0.1)


@entry(N, lambda r: [numbers(r, N, wp.mat33), numbers(r, N, wp.vec3), numbers(r, N, wp.mat33), numbers(r, N, wp.mat22d)], rtol=2e-5)
@wp.kernel
def matrices(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33), d: wp.array(dtype=wp.mat22d)):
    i = wp.tid()
    spd = a[i] @ wp.transpose(a[i]) + wp.identity(n=3, dtype=float)
    b[i] = wp.inverse(spd) @ b[i] + wp.get_diag(spd)
    c[i] = wp.outer(b[i], b[i]) + wp.skew(b[i]) * wp.determinant(spd) + wp.diag(b[i]) * wp.trace(a[i])
    d[i] = wp.inverse(d[i] @ d[i] + wp.identity(n=2, dtype=wp.float64))


@entry(N, lambda r: [numbers(r, N, wp.mat44), numbers(r, N, wp.vec4), wp.array(np.arange(N) % 9 - 4, dtype=int)])
@wp.kernel
def computed_indices(a: wp.array(dtype=wp.mat44), v: wp.array(dtype=wp.vec4), k: wp.array(dtype=int)):
    i = wp.tid()
    w = v[i]
    m = a[i]
    w[k[i]] = m[k[i], 3]
    m[1, k[i]] = w[k[i]] * 2.0
    v[i] = w + m[k[i]]
    a[i] = m


# ----- control flow -------------------------------------------------------------------------


@entry(N, lambda r: [numbers(r, N), wp.zeros(N, dtype=int)])
@wp.kernel
def branches(x: wp.array(dtype=float), kind: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > 1.0:
        kind[i] = 1
        x[i] = 1.0 / x[i]
    elif x[i] > 0.0 and i % 2 == 0:
        kind[i] = 2
    else:
        value = -x[i] if x[i] < -1.0 or i == 3 else x[i] * 3.0
        x[i] = value
        kind[i] = -1


@entry(N, lambda r: [numbers(r, N), wp.array(np.arange(N) * 7 % 13, dtype=int), wp.zeros(N, dtype=wp.int64)])
@wp.kernel
def loops(x: wp.array(dtype=float), n: wp.array(dtype=int), count: wp.array(dtype=wp.int64)):
    i = wp.tid()
    total = float(0.0)
    for j in range(n[i]):
        if j == 2:
            continue
        if total > 9.0:
            break
        total += x[i] * float(j)
    for j in range(n[i], -n[i], -3):
        count[i] += wp.int64(j + 100)
    k = int(n[i])
    while True:
        if k % 5 == 4 or k > 100:
            break
        k = k * 2 + 1
        for j in range(3):
            total += 0.25 * float(j + k)
    while k > 0:
        k = k // 2
        if k % 3 == 0:
            continue
        count[i] += wp.int64(1)
    x[i] = total


@wp.func
def smallest_divisor(n: int):
    for d in range(2, n):
        if n % d == 0:
            return d
    return n


@entry((3, 7), lambda r: [wp.zeros((3, 7), dtype=int), wp.zeros((3, 7), dtype=wp.uint8)])
@wp.kernel
def two_dimensions(divisor: wp.array2d(dtype=int), shade: wp.array2d(dtype=wp.uint8)):
    i, j = wp.tid()
    divisor[i, j] = smallest_divisor(i * 31 + j * 7 + 2) * wp.block_dim() // wp.block_dim()
    row = shade[i]
    row[j] = wp.uint8(i * shade.shape[1] + j)


@entry((2, 3, 2, 4), lambda r: [wp.zeros((2, 3, 2, 4), dtype=int)])
@wp.kernel
def four_dimensions(place: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    place[i, j, k, m] = 1000 * i + 100 * j + 10 * k + m


# ----- atomics ------------------------------------------------------------------------------


def _cells(r, dtype):
    return numbers(r, 8, dtype, 0 if np.issubdtype(dtype, np.unsignedinteger) else -100, 100)


def _float_atomics(dtype: type) -> Any:
    @entry(N, lambda r: [_cells(r, dtype), numbers(r, N, dtype, -150, 150), wp.zeros((N, 6), dtype=dtype)])
    @wp.kernel(key=f"atomics_{dtype.__name__}")
    def kernel(a: wp.array(dtype=dtype), x: wp.array(dtype=dtype), old: wp.array2d(dtype=dtype)):
        i = wp.tid()
        old[i, 0] = wp.atomic_add(a, 0, x[i])
        old[i, 1] = wp.atomic_sub(a, 1, x[i])
        old[i, 2] = wp.atomic_min(a, 2 + i % 2, x[i])
        old[i, 3] = wp.atomic_max(a, 4 + i % 2, x[i])
        old[i, 4] = wp.atomic_exch(a, 6, x[i])
        old[i, 5] = wp.atomic_cas(a, 7, a[7], x[i])
        wp.atomic_add(a, 7, x[i])

    return kernel


def _int_atomics(dtype: type) -> Any:
    @entry(N, lambda r: [_cells(r, dtype), _cells(r, dtype), numbers(r, N, dtype, 0, 120), wp.zeros((N, 3), dtype=dtype)])
    @wp.kernel(key=f"atomics_{dtype.__name__}")
    def kernel(a: wp.array(dtype=dtype), b: wp.array(dtype=dtype), x: wp.array(dtype=dtype), old: wp.array2d(dtype=dtype)):
        i = wp.tid()
        wp.atomic_add(a, 0, x[i])
        wp.atomic_sub(a, 1, x[i])
        wp.atomic_and(a, 2, x[i] | ~x[0])
        wp.atomic_or(a, 3, x[i])
        wp.atomic_xor(a, 4, x[i])
        wp.atomic_exch(a, 5, x[i])
        old[i, 0] = wp.atomic_min(b, i % 4, x[i])
        old[i, 1] = wp.atomic_max(b, 4 + i % 4, x[i])
        old[i, 2] = wp.atomic_cas(a, 6, a[6], x[i])

    return kernel


for _dtype in (wp.float16, wp.float32, wp.float64):
    _float_atomics(_dtype)
for _dtype in (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64):
    _int_atomics(_dtype)


@entry(N, lambda r: [numbers(r, N, wp.vec3), wp.zeros(2, dtype=wp.vec3), wp.zeros(1, dtype=wp.mat22d), wp.zeros(N, dtype=wp.vec3)])
@wp.kernel
def compound_atomics(x: wp.array(dtype=wp.vec3), total: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22d), own: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
    wp.atomic_max(total, 1, x[i])
    wp.atomic_sub(m, 0, wp.mat22d(1.0, 2.0, 3.0, 4.0))
    wp.atomic_add(own, i, x[i])


# ----- memory -------------------------------------------------------------------------------


@wp.struct
class Material:
    density: float
    flags: wp.uint8
    colour: wp.vec3


@wp.struct
class Body:
    mass: wp.float64
    material: Material
    fixed: wp.bool
    rotation: wp.mat33
    id: wp.int16


@wp.struct
class Scene:
    gravity: wp.vec3
    bodies: wp.array(dtype=Body)
    weights: wp.array(dtype=float)


def _scene(r: np.random.Generator) -> list[Any]:
    bodies = []
    for k in range(N):
        body = Body()
        body.mass, body.id, body.fixed = float(k) + 0.5, 7 * k - 30, k % 3 == 0
        body.material.density, body.material.flags = float(r.uniform(1, 2)), k % 5
        body.material.colour = wp.vec3(*r.uniform(size=3))
        body.rotation = wp.mat33(*r.uniform(size=9))
        bodies.append(body)
    scene = Scene()
    scene.gravity = wp.vec3(0.0, -9.8, 0.5)
    scene.bodies, scene.weights = wp.array(bodies, dtype=Body), numbers(r, N)
    return [scene, scene.bodies, scene.weights, wp.zeros(N, dtype=wp.float64)]


@entry(N, _scene)
@wp.kernel
def structs(scene: Scene, bodies: wp.array(dtype=Body), weights: wp.array(dtype=float), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    body = scene.bodies[i]
    body.material.colour = body.rotation @ scene.gravity + body.material.colour * body.material.density
    if not body.fixed:
        body.mass *= wp.float64(body.material.flags)
    body.fixed = body.id > wp.int16(40)
    scene.weights[i] = weights[i] + body.material.colour[2]
    bodies[i] = body
    bodies[i].material.flags = wp.uint8(i)
    out[i] = body.mass + wp.float64(body.id)


@entry(N, lambda r: [numbers(r, N), wp.zeros(N, dtype=wp.vec3d)])
@wp.kernel
def local_arrays(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    queue = wp.zeros(shape=5, dtype=float)
    grid = wp.zeros(shape=(2, 3), dtype=wp.vec3d)
    for j in range(11):
        queue[(i + j) % 5] = queue[j % 5] + x[i] * float(j)
        wp.atomic_add(queue, i % 5, 0.5)
        grid[j % 2, j % 3] = grid[j % 2, j % 3] + wp.vec3d(wp.float64(queue[2]))
    x[i] = queue[i % 5]
    out[i] = grid[1, i % 3]


def _indexed(r: np.random.Generator) -> list[Any]:
    data = numbers(r, (N, 4))
    rows = wp.array(r.permutation(N), dtype=int)
    return [wp.indexedarray(data, [rows, None]), data, numbers(r, (N, 3), wp.vec3), numbers(r, (2, N))]


@entry(N, _indexed)
@wp.kernel
def views(
    picked: wp.indexedarray2d(dtype=float), data: wp.array2d(dtype=float), v: wp.array2d(dtype=wp.vec3),
    b: wp.array2d(dtype=float),
):  # fmt: skip
    i = wp.tid()
    picked[i, i % 4] = picked[i, (i + 1) % 4] * 2.0
    row = v[i]
    row[1] = row[0] + row[2]
    v[i, 2][1] = float(v.shape[0] * 10 + len(b))
    b[1, i] = b[-1, i] + b[0, i]


def test_strided_arguments_are_views_too() -> None:
    """Keeps `views` honest: its array of a transposed matrix has strides that its shape does not give."""


# ----- mathematics --------------------------------------------------------------------------


@entry(N, lambda r: [numbers(r, N, low=0.1, high=0.9), wp.zeros((N, 27), dtype=float), numbers(r, N, wp.float64, 0.1, 0.9), wp.zeros((N, 27), dtype=wp.float64)], rtol=1e-5)
@wp.kernel
def mathematics(x: wp.array(dtype=float), y: wp.array2d(dtype=float), u: wp.array(dtype=wp.float64), w: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    for_each_function(x[i], y[i])
    for_each_function(u[i], w[i])


@wp.func
def for_each_function(x: wp.Float, out: wp.array(dtype=wp.Float)):
    out[0] = wp.sqrt(x)
    out[1] = wp.cbrt(x)
    out[2] = wp.exp(x)
    out[3] = wp.log(x)
    out[4] = wp.log2(x)
    out[5] = wp.log10(x)
    out[6] = wp.pow(x, x)
    out[7] = wp.sin(x)
    out[8] = wp.cos(x)
    out[9] = wp.tan(x)
    out[10] = wp.asin(x)
    out[11] = wp.acos(x)
    out[12] = wp.atan(x)
    out[13] = wp.atan2(x, x + x)
    out[14] = wp.sinh(x)
    out[15] = wp.cosh(x)
    out[16] = wp.tanh(x)
    out[17] = wp.erf(x)
    out[18] = wp.erfc(x)
    out[19] = wp.floor(x * x) + wp.ceil(x)
    out[20] = wp.trunc(x + x)
    out[21] = wp.rint(x * 5.0)
    out[22] = wp.round(x * 5.0)
    out[23] = wp.abs(-x)
    out[24] = wp.copysign(x, -x)
    out[25] = (x * 7.0) % x
    out[26] = wp.smoothstep(x, x + 1.0, x + 0.3)


_EDGES = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 126.9, 127.5, -128.9, 200.0, 255.9, 256.0, 40000.0, 65536.5, -65536.5, 3e9, -3e9, 5e9, 1e19, -1e19, 2e19, 1e30, -1e30, np.inf, -np.inf, np.nan]  # fmt: skip


def _conversions(r: np.random.Generator) -> list[Any]:
    targets = [wp.zeros(len(_EDGES), dtype=t) for t in (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)]
    with np.errstate(over="ignore"):
        halves = np.array(_EDGES).astype(np.float16)
    return [wp.array(_EDGES, dtype=float), wp.array(_EDGES, dtype=wp.float64), wp.array(halves, dtype=wp.float16), wp.zeros(len(_EDGES), dtype=float), *targets]


def _conversion(source: str) -> None:
    @entry(len(_EDGES), _conversions)
    @wp.kernel(key=f"conversions_from_{source}")
    def kernel(
        f: wp.array(dtype=float), d: wp.array(dtype=wp.float64), h: wp.array(dtype=wp.float16), back: wp.array(dtype=float),
        i8: wp.array(dtype=wp.int8), u8: wp.array(dtype=wp.uint8), i16: wp.array(dtype=wp.int16),
        u16: wp.array(dtype=wp.uint16), i32: wp.array(dtype=wp.int32), u32: wp.array(dtype=wp.uint32),
        i64: wp.array(dtype=wp.int64), u64: wp.array(dtype=wp.uint64),
    ):  # fmt: skip
        i = wp.tid()
        x = wp.static({"half": wp.float16, "single": wp.float32, "double": wp.float64}[source])(0.0)
        if wp.static(source == "half"):
            x = h[i]
        i8[i] = wp.int8(x)
        u8[i] = wp.uint8(x)
        i16[i] = wp.int16(x)
        u16[i] = wp.uint16(x)
        i32[i] = wp.int32(x)
        u32[i] = wp.uint32(x)
        i64[i] = wp.int64(x)
        u64[i] = wp.uint64(x)
        back[i] = float(i8[i]) + float(u32[i])
