"""Targets of assignment: parts of values, elements and components of arrays."""

import numpy as np
import pytest

import warpsim as wp

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)
pytestmark = pytest.mark.parametrize("device", ["interp", "cpu"])


def ran(kernel, values, device):
    """What an integer kernel (x, y) makes of the values."""
    x = wp.array(np.array(values, np.int32), dtype=int, device=device)
    y = wp.zeros(len(values), dtype=int, device=device)
    wp.launch(kernel, dim=len(values), inputs=[x, y], device=device)
    return y.numpy().tolist()


@wp.struct
class Inner:
    v: wp.vec3
    n: int


@wp.struct
class Outer:
    inner: Inner
    arr: wp.array(dtype=int)


@wp.kernel
def parts(x: Ints, y: Ints):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    w = v
    v[0] = 5.0
    v.yz = wp.vec2(6.0, 7.0)
    m = wp.mat22(0.0, 0.0, 0.0, 0.0)
    m[1, 0] = float(x[i])
    m[1, 0] += 1.0
    y[i] = int(v[0] + 10.0 * v[1] + 100.0 * v[2] + 1000.0 * w[0] + 10000.0 * m[1, 0])


def test_components_leave_copies_alone(device):
    assert ran(parts, [0, 2], device) == [11765, 31765]


@wp.kernel
def computed_components(x: Ints, y: Ints):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    v[x[i]] = 9.0
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    y[i] = int(v[0] + 10.0 * v[1] + 100.0 * v[-1] + 1000.0 * m[-1, -1] + 10000.0 * m[0][1])


def test_computed_components(device):
    assert ran(computed_components, [0, 1, 2], device) == [24329, 24391, 24921]


@wp.kernel
def augmented_parts(x: Ints, y: Ints):
    i = wp.tid()
    c = Inner()
    c.n += x[i]
    c.n *= 2
    c.v[1] += float(x[i])
    c.v[1] *= 3.0
    y[i] = c.n + int(c.v[1])


def test_augmented_fields_and_components(device):
    assert ran(augmented_parts, [1, 4], device) == [5, 20]


@wp.kernel
def elements(a: wp.array(dtype=Inner), o: Outer):
    i = wp.tid()
    a[i].n = i + 1
    a[i].v[1] = 4.0
    o.inner.n = 7
    o.inner.v[2] = 2.0
    o.arr[i] = o.inner.n + a[i].n + int(a[i].v[1] + o.inner.v[2])
    o.arr[i] += 100


def test_fields_of_elements_and_nested_structs(device):
    a = wp.zeros(3, dtype=Inner, device=device)
    o = Outer()
    o.arr = wp.zeros(3, dtype=int, device=device)
    wp.launch(elements, dim=3, inputs=[a, o], device=device)
    assert o.arr.numpy().tolist() == [114, 115, 116]
    assert a.numpy()["n"].tolist() == [1, 2, 3]


@wp.func
def fill(row: wp.array(dtype=int), n: int):
    for j in range(row.shape[0]):
        row[j] = n + j


@wp.kernel
def rows(a: wp.array2d(dtype=int), b: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    fill(a[i], 10 * i)
    a[i, 1] += 5
    b[i][0] = float(i)
    b[i].z = 3.0


def test_views_and_components_of_elements(device):
    a, b = wp.zeros((2, 3), dtype=int, device=device), wp.zeros(2, dtype=wp.vec3, device=device)
    wp.launch(rows, dim=2, inputs=[a, b], device=device)
    assert a.numpy().tolist() == [[0, 6, 2], [10, 16, 12]]
    assert b.numpy().tolist() == [[0, 0, 3], [1, 0, 3]]
