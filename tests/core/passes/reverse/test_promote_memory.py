"""Elements and local arrays that a reverse needs in all their states."""

import numpy as np
import pytest
from adjoint_runs import adjoint_program, check, some, types_of

import warpsim as wp
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.passes.reverse.extra_params import Before
from warpsim.core.passes.reverse.promote_memory import promote_memory

D = wp.float64
Numbers, Grid, Vectors = wp.array(dtype=D), wp.array(dtype=D, ndim=2), wp.array(dtype=wp.vec3d)


@wp.kernel
def in_sequence(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] *= D(2.0)
    a[i] = a[i] * a[i]
    a[i] += b[i]
    a[i] = a[i] * b[i]


@wp.kernel
def guarded(a: Numbers, b: Numbers, n: int):
    i = wp.tid()
    if i < n:
        a[i] = a[i] * a[i] * b[i]
        if i % 2 == 0:
            a[i] = wp.sin(a[i])
        a[i] = a[i] * a[i]


@wp.kernel
def in_a_loop(a: Numbers, b: Numbers, n: int):
    i = wp.tid()
    for k in range(n):
        a[i] *= b[k]
        a[i] = wp.sin(a[i])


@wp.kernel
def in_a_while(a: Numbers, b: Numbers):
    i = wp.tid()
    while a[i] < D(3.0):
        a[i] = a[i] * a[i] + b[i]


@wp.kernel
def with_breaks(a: Numbers, b: Numbers, n: int):
    for k in range(n):
        if b[k] > D(1.3):
            break
        a[k] = a[k] * b[k]
        if a[k] < D(0.4):
            continue
        a[k] = a[k] * a[k]


@wp.kernel
def components(v: Vectors, b: Numbers, n: int):
    i = wp.tid()
    v[i].x = v[i].y * b[i]
    v[i][1] *= v[i].x
    for _ in range(n):
        v[i] = wp.cross(v[i], wp.vec3d(b[i], D(1.0), D(0.5)))
        v[i].z += v[i].x * v[i].x


@wp.kernel
def rotated(a: Numbers, n: int):
    for _ in range(n):
        t = a[0]
        a[0] = a[1] * a[2]
        a[1] = t
        a[2] = a[0] * D(0.5) + a[1]


@wp.kernel
def rows(a: Grid, x: Numbers, m: int):
    i = wp.tid()
    row = a[i]
    s = D(0.0)
    for j in range(m):
        row[j] = row[j] * x[j]
        for k in range(2):
            row[j] = row[j] * row[j] + x[k]
        s += row[j]
    x[i] = s * x[i]


@wp.kernel
def local_ring(a: Numbers, b: Numbers, n: int):
    i = wp.tid()
    ring = wp.zeros(shape=4, dtype=D)
    for k in range(n):
        ring[k % 4] = ring[(k + 1) % 4] * a[k] + b[i]
        ring[i] *= D(1.1)
    b[i] = ring[0] * ring[1] + ring[2] + ring[i]


@wp.kernel
def local_grid(a: Numbers, b: Numbers, n: int):
    grid = wp.zeros(shape=(2, 3), dtype=D)
    for k in range(n):
        grid[k % 2, k % 3] += a[k] * grid[(k + 1) % 2, k % 3] + a[0]
    b[0] = grid[0, 0] * grid[1, 1] + grid[0, 2]


@wp.kernel
def local_vectors(a: Numbers, b: Numbers, n: int):
    points = wp.zeros(shape=2, dtype=wp.vec3d)
    for k in range(n):
        points[k % 2] = points[(k + 1) % 2] * a[k] + wp.vec3d(a[k], D(1.0), D(2.0))
        points[k % 2].y *= a[0]
    b[0] = wp.dot(points[0], points[1])


@wp.kernel
def local_stack(a: Numbers, b: Numbers, n: int):
    stack = wp.zeros(shape=8, dtype=int)
    stack[0] = n
    top = 1
    p = D(1.0)
    while top > 0:
        top -= 1
        k = stack[top]
        p = p * a[k] + D(0.1)
        if 2 * k < n:
            stack[top] = 2 * k
            stack[top + 1] = 2 * k + 1
            top += 2
    b[0] = p


@pytest.mark.parametrize(
    ("kernel", "dim", "args", "wanted", "out"),
    [
        (in_sequence, 3, [some(3), some(3, seed=1)], ["a", "b"], "a"),
        (guarded, 4, [some(3), some(3, seed=1), np.int32(3)], ["a", "b"], "a"),
        (in_a_loop, 3, [some(3), some(5, seed=1), np.int32(5)], ["a", "b"], "a"),
        (in_a_while, 3, [some(3), some(3, seed=1)], ["a", "b"], "a"),
        (with_breaks, 1, [some(5), some(5, seed=1), np.int32(5)], ["a", "b"], "a"),
        (components, 2, [some(2, 3), some(2, seed=1), np.int32(3)], ["v", "b"], "v"),
        (rotated, 1, [some(3), np.int32(4)], ["a"], "a"),
        (rows, 1, [some(2, 3), some(3, seed=1), np.int32(3)], ["a", "x"], "x"),
        (rows, 1, [some(2, 3), some(3, seed=1), np.int32(3)], ["a", "x"], "a"),
        (local_ring, 3, [some(6), some(3, seed=1), np.int32(6)], ["a", "b"], "b"),
        (local_grid, 1, [some(6), some(1, seed=1), np.int32(6)], ["a", "b"], "b"),
        (local_vectors, 1, [some(6), some(1, seed=1), np.int32(6)], ["a", "b"], "b"),
        (local_stack, 1, [some(12), np.zeros(1), np.int32(5)], ["a", "b"], "b"),
    ],
    ids=lambda v: getattr(v, "key", None),
)
def test_gradients_equal_finite_differences(kernel, dim, args, wanted, out):
    check(kernel, dim, args, wanted, out)


@pytest.mark.parametrize("kernel", [local_ring, local_grid, local_vectors, local_stack])
def test_local_arrays_become_variables(kernel):
    fn = promote_memory(kernel.program(types_of(kernel)).fn)
    assert not any(isinstance(n, Call) and n.op.name == "local_array" for n in walk(fn.body))


@wp.kernel
def overwritten_once(a: Numbers):
    i = wp.tid()
    a[i] = a[i] * a[i]


def test_what_memory_can_tell_stays_there():
    fn = overwritten_once.program(types_of(overwritten_once)).fn
    assert promote_memory(fn) is fn
    assert [type(e) for e in adjoint_program(overwritten_once, "a").extras] == [Before]


@wp.kernel
def too_large(a: Numbers, b: Numbers):
    i = wp.tid()
    room = wp.zeros(shape=300, dtype=D)
    room[i] = a[i] * a[i]
    b[i] = room[i]


def test_a_local_array_that_is_too_large_is_refused():
    with pytest.raises(wp.errors.NotDifferentiableError, match="local array"):
        adjoint_program(too_large, "a", "b")
