"""Kernels that between them use every construct a target must translate; `CORPUS` holds them by name."""

from typing import Any

import corpus_scalars
import numpy as np
from corpus_entry import CORPUS, N, add, numbers

import warpsim as wp

__all__ = ["CORPUS", "corpus_scalars"]

# ----- vectors and matrices -----------------------------------------------------------------


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), g: wp.vec3, dt: float):
    i = wp.tid()
    force = wp.cross(v[i], g) / m[i] + g * 0.5 - wp.normalize(x[i]) * wp.length_sq(v[i])
    v[i] = v[i] + force * dt
    x[i] += v[i] * dt
    x[i][1] = wp.max(x[i].y, wp.dot(x[i], v[i]) * 0.1)


add(
    vectors,
    N,
    lambda r: [numbers(r, N, wp.vec3), numbers(r, N, wp.vec3), numbers(r, N, low=0.5), wp.vec3(0.0, -9.8, 1.0), 0.01],
)


@wp.kernel
def matrices(
    a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33), d: wp.array(dtype=wp.mat22d)
):
    i = wp.tid()
    spd = a[i] @ wp.transpose(a[i]) + wp.identity(n=3, dtype=float)
    b[i] = wp.inverse(spd) @ b[i] + wp.get_diag(spd)
    c[i] = wp.outer(b[i], b[i]) + wp.skew(b[i]) * wp.determinant(spd) + wp.diag(b[i]) * wp.trace(a[i])
    d[i] = wp.inverse(d[i] @ d[i] + wp.identity(n=2, dtype=wp.float64))


add(matrices, N, lambda r: [numbers(r, N, t) for t in (wp.mat33, wp.vec3, wp.mat33, wp.mat22d)], rtol=2e-5)


@wp.kernel
def computed_indices(a: wp.array(dtype=wp.mat44), v: wp.array(dtype=wp.vec4), k: wp.array(dtype=int)):
    i = wp.tid()
    w = v[i]
    m = a[i]
    w[k[i]] = m[k[i], 3]
    m[1, k[i]] = w[k[i]] * 2.0
    v[i] = w + m[k[i]]
    a[i] = m


add(
    computed_indices,
    N,
    lambda r: [numbers(r, N, wp.mat44), numbers(r, N, wp.vec4), wp.array(np.arange(N) % 4, dtype=int)],
)

# ----- control flow -------------------------------------------------------------------------


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


add(branches, N, lambda r: [numbers(r, N), wp.zeros(N, dtype=int)])


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


add(loops, N, lambda r: [numbers(r, N), wp.array(np.arange(N) * 7 % 13, dtype=int), wp.zeros(N, dtype=wp.int64)])


@wp.func
def smallest_divisor(n: int):
    for d in range(2, n):
        if n % d == 0:
            return d
    return n


@wp.kernel
def two_dimensions(divisor: wp.array2d(dtype=int), shade: wp.array2d(dtype=wp.uint8)):
    i, j = wp.tid()
    divisor[i, j] = smallest_divisor(i * 31 + j * 7 + 2) * wp.block_dim() // wp.block_dim()
    row = shade[i]
    row[j] = wp.uint8(i * shade.shape[1] + j)


add(two_dimensions, (3, 7), lambda r: [wp.zeros((3, 7), dtype=int), wp.zeros((3, 7), dtype=wp.uint8)])


@wp.kernel
def four_dimensions(place: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    place[i, j, k, m] = 1000 * i + 100 * j + 10 * k + m


add(four_dimensions, (2, 3, 2, 4), lambda r: [wp.zeros((2, 3, 2, 4), dtype=int)])

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


@wp.kernel
def structs(
    scene: Scene, bodies: wp.array(dtype=Body), weights: wp.array(dtype=float), out: wp.array(dtype=wp.float64)
):
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


add(structs, N, _scene)


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


add(local_arrays, N, lambda r: [numbers(r, N), wp.zeros(N, dtype=wp.vec3d)])


vec8h = wp.types.vector(length=8, dtype=wp.float16)


@wp.kernel
def halves_on_the_stack(a: wp.array(dtype=vec8h), k: wp.array(dtype=int), out: wp.array(dtype=vec8h)):
    i = wp.tid()
    stack = wp.zeros(shape=4, dtype=vec8h)
    for j in range(4):
        stack[(j + k[i]) % 4] = a[i] * wp.float16(j)
    out[i] = stack[0] + stack[1] * stack[2][k[i]] + stack[3]


add(
    halves_on_the_stack,
    N,
    lambda r: [numbers(r, N, vec8h), wp.array(np.arange(N) % 4, dtype=int), wp.zeros(N, dtype=vec8h)],
)


@wp.kernel
def views(
    picked: wp.indexedarray(dtype=float, ndim=2),
    data: wp.array2d(dtype=float),
    v: wp.array2d(dtype=wp.vec3),
    turned: wp.array2d(dtype=float),
):
    i = wp.tid()
    picked[i, i % 4] = picked[i, (i + 1) % 4] * 2.0
    row = v[i]
    row[1] = row[0] + row[2]
    v[i, 2][1] = float(v.shape[0] * 10 + len(turned))
    turned[1, i] = turned[1, i] - turned[0, i]


def _views(r: np.random.Generator) -> list[Any]:
    data = numbers(r, (N, 4))
    rows = wp.array(r.permutation(N), dtype=int)
    return [wp.indexedarray(data, [rows, None]), data, numbers(r, (N, 3), wp.vec3), numbers(r, (N, 2)).transpose()]


add(views, N, _views)


@wp.kernel
def compound_atomics(
    x: wp.array(dtype=wp.vec3),
    total: wp.array(dtype=wp.vec3),
    m: wp.array(dtype=wp.mat22d),
    own: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
    wp.atomic_max(total, 1, x[i])
    wp.atomic_sub(m, 0, wp.mat22d(1.0, 2.0, 3.0, 4.0))
    wp.atomic_add(own, i, x[i])


def _compound_atomics(r: np.random.Generator) -> list[Any]:
    return [numbers(r, N, wp.vec3), numbers(r, 2, wp.vec3), numbers(r, 1, wp.mat22d), numbers(r, N, wp.vec3)]


add(compound_atomics, N, _compound_atomics, rtol=1e-5)


@wp.kernel
def shared_updates(
    x: wp.array(dtype=wp.vec3),
    total: wp.array(dtype=wp.vec3),
    count: wp.array(dtype=wp.uint64),
    low: wp.array(dtype=int),
    high: wp.array(dtype=wp.vec3d),
    row: wp.array2d(dtype=float),
    n: int,
):
    i = wp.tid()
    wp.atomic_sub(total, n - 1, x[i] * 0.5)
    if x[i][0] > 0.0:
        wp.atomic_add(count, 1, wp.uint64(3))
    wp.atomic_min(low, 0, i * 5 % 7 - 4)
    if i > 1000:
        wp.atomic_min(low, 1000000, i)
    wp.atomic_max(high, 0, wp.vec3d(x[i]))
    middle = row[n]
    for j in range(i):
        wp.atomic_add(middle, n + 1, float(j))


def _shared_updates(r: np.random.Generator) -> list[Any]:
    high = wp.array([(np.nan, -0.0, 5.0)], dtype=wp.vec3d)
    low = wp.array([2, 7], dtype=int)
    return [
        numbers(r, N, wp.vec3),
        numbers(r, 2, wp.vec3),
        wp.zeros(2, dtype=wp.uint64),
        low,
        high,
        numbers(r, (3, 4)),
        1,
    ]


add(shared_updates, N, _shared_updates, rtol=1e-5)

# ----- library ------------------------------------------------------------------------------


@wp.kernel
def randomness(p: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float), field: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    state = wp.rand_init(42, i)
    out[i, 0] = wp.randf(state)
    out[i, 1] = wp.randf(state, -3.0, 5.0)
    out[i, 2] = wp.randn(state)
    out[i, 3] = float(wp.randi(state, -10, 10)) + float(wp.poisson(state, 3.5))
    out[i, 4] = wp.noise(wp.rand_init(7), p[i])
    out[i, 5] = wp.pnoise(wp.rand_init(7), p[i], 3, 4, 5)
    field[i, 0] = wp.curlnoise(wp.rand_init(7), p[i])
    field[i, 1] = wp.sample_unit_sphere(state)


def _randomness(r: np.random.Generator) -> list[Any]:
    return [numbers(r, N, wp.vec3, -9, 9), wp.zeros((N, 6), dtype=float), wp.zeros((N, 2), dtype=wp.vec3)]


add(randomness, N, _randomness, rtol=2e-5)


@wp.kernel
def decompositions(
    a: wp.array(dtype=wp.mat33),
    u: wp.array(dtype=wp.mat33),
    v: wp.array(dtype=wp.mat33),
    q: wp.array(dtype=wp.mat33),
    r: wp.array(dtype=wp.mat33),
    e: wp.array(dtype=wp.mat33),
    s: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    u[i], s[i], v[i] = wp.svd3(a[i])
    q[i], r[i] = wp.qr3(a[i])
    e[i], d[i] = wp.eig3(a[i] + wp.transpose(a[i]))


def _decompositions(r: np.random.Generator) -> list[Any]:
    made = [wp.mat33] * 5 + [wp.vec3] * 2
    return [numbers(r, N, wp.mat33), *(wp.zeros(N, dtype=t) for t in made)]


add(decompositions, N, _decompositions, rtol=1e-3)


@wp.kernel
def rotations(
    q: wp.array(dtype=wp.quat), x: wp.array(dtype=wp.vec3), t: wp.array(dtype=wp.transform), m: wp.array(dtype=wp.mat33)
):
    i = wp.tid()
    turn = wp.quat_from_axis_angle(wp.normalize(x[i]), 0.7)
    q[i] = wp.quat_slerp(wp.normalize(q[i]), turn, 0.3) * wp.quat_inverse(turn)
    x[i] = wp.quat_rotate(q[i], x[i])
    m[i] = wp.quat_to_matrix(wp.quat_rpy(x[i][0], x[i][1], x[i][2]))
    t[i] = wp.transform_multiply(t[i], wp.transform(x[i], q[i]))
    x[i] = wp.transform_point(t[i], x[i])


add(rotations, N, lambda r: [numbers(r, N, t) for t in (wp.quat, wp.vec3, wp.transform, wp.mat33)], rtol=2e-5)
