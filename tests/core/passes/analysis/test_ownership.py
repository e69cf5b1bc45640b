"""Which indices of arrays are a thread's own: read off kernels of every kind of access."""

import pytest
from adjoint_runs import types_of

import warpsim as wp

Floats, Ints, Grid = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=float, ndim=2)
Vectors = wp.array(dtype=wp.vec3)


@wp.kernel
def own(a: Floats, b: Floats):
    i = wp.tid()
    b[i] = a[i] + b[(i + 1) - 1]


@wp.kernel
def neighbour(a: Floats, b: Floats):
    i = wp.tid()
    b[i] = a[i] + a[i + 1]


@wp.kernel
def narrow(a: Floats, b: Floats):
    i = wp.tid()
    b[wp.int32(wp.uint8(i))] = a[i]


@wp.kernel
def component(a: Vectors, b: Vectors):
    i = wp.tid()
    b[i][0] = a[i][1]
    wp.atomic_add(b, i, wp.vec3(0.0, 1.0, 0.0))


@wp.kernel
def row(a: Grid, b: Grid):
    i = wp.tid()
    line = b[i]
    for k in range(3):
        line[k] = a[i, 2 - k]


@wp.kernel
def column(a: Grid, b: Grid):
    i, j = wp.tid()
    b[j, i] = a[i, j] + a[i, 0]


@wp.kernel
def chosen(a: Floats, b: Floats, which: bool):
    i = wp.tid()
    c = a
    if which:
        c = b
    c[i] = 1.0


@wp.kernel
def printing(a: Floats, b: Floats):
    wp.printf("%f", b[wp.tid()])


@wp.kernel
def of_neighbours(a: Floats, b: Floats, mesh: wp.uint64):
    b[wp.tid()] = wp.mesh_get_point(mesh, 0)[0]


KNOWN = [
    (own, {"a": (False, {(0, 0)}), "b": (True, {(0, 0)})}),
    (neighbour, {"a": (False, set()), "b": (True, {(0, 0)})}),
    (narrow, {"a": (False, {(0, 0)}), "b": (True, set())}),
    (component, {"a": (False, {(0, 0)}), "b": (True, {(0, 0)})}),
    (row, {"a": (False, {(0, 0)}), "b": (True, {(0, 0)})}),
    (column, {"a": (False, {(0, 0)}), "b": (True, {(0, 1), (1, 0)})}),
    (chosen, {"a": (True, set()), "b": (True, set())}),
]


@pytest.mark.parametrize(("kernel", "expected"), KNOWN, ids=[k.key for k, _ in KNOWN])
def test_own_indices(kernel, expected):
    program = kernel.program(types_of(kernel))
    names = list(kernel.patterns)
    assert {ref.name(names): (program.uses[ref].changes, set(own)) for ref, own in program.own.items()} == expected


@pytest.mark.parametrize("kernel", [printing, of_neighbours], ids=lambda k: k.key)
def test_kernels_that_do_more_than_their_arrays_tell(kernel):
    assert kernel.program(types_of(kernel)).own is None
