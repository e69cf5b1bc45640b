"""The bodies of gradients: `wp.adjoint[x]` as a local variable, and as memory for arrays."""

from typing import Any

import numpy as np
import pytest
from custom_gradient_runs import array, backward

import warpsim as wp

DEVICES = ("interp", "cpu")
Floats = wp.array(dtype=float)


# ----- locals: checked through wp.grad -----------------------------------------------------------


@wp.struct
class Body:
    pos: wp.vec3
    mass: float
    count: int


def test_branches_loops_and_early_returns():
    @wp.func
    def f(x: float, n: int):
        return x * float(n)

    @wp.func_grad(f)
    def _(x: float, n: int, adj: float):
        if n < 0:
            wp.adjoint[x] = 100.0
            return
        for k in range(n):
            if k == 3:
                break
            if k % 2 == 1:
                continue
            wp.adjoint[x] += adj * float(k + 1)
        while wp.adjoint[x] < 2.0:
            wp.adjoint[x] += 0.5

    by_x = [float(wp.grad(f)(1.0, n)[0]) for n in (-1, 0, 1, 2, 3, 9)]
    assert by_x == [100.0, 2.0, 2.0, 2.0, 4.0, 4.0]


def test_all_ways_to_write_a_cotangent():
    @wp.func
    def f(x: float, v: wp.vec3, m: wp.mat22, b: Body):
        return x

    @wp.func_grad(f)
    def _(x: float, v: wp.vec3, m: wp.mat22, b: Body, adj: float):
        wp.adjoint[x] -= adj
        wp.adjoint[x] *= 3.0
        wp.adjoint[x] = wp.adjoint[x] + 1.0
        wp.adjoint[v] += wp.vec3(1.0, 2.0, 3.0)
        wp.adjoint[v][0] += 10.0
        wp.adjoint[v].y -= 20.0
        wp.adjoint[v].xz = wp.vec2(wp.adjoint[v].z, wp.adjoint[v].x)
        wp.adjoint[m][1, 0] += 5.0
        wp.adjoint[m][0] = wp.vec2(7.0, 8.0)
        wp.adjoint[b].pos += v
        wp.adjoint[b].pos[2] = 9.0
        wp.adjoint[b].mass += wp.adjoint[x]

    body = Body(pos=wp.vec3(0.0, 0.0, 0.0), mass=1.0, count=3)
    x, v, m, b = wp.grad(f)(2.0, wp.vec3(4.0, 5.0, 6.0), wp.mat22(), body)
    assert x == -2.0
    assert tuple(v) == (3.0, -18.0, 11.0)
    assert m.numpy().tolist() == [[7.0, 8.0], [5.0, 0.0]]
    assert tuple(b.pos) == (4.0, 5.0, 9.0)
    assert (b.mass, b.count) == (-2.0, 0)


def test_an_input_without_a_share_gets_zero():
    @wp.func
    def f(x: float, v: wp.vec3):
        return x * v[0]

    @wp.func_grad(f)
    def _(x: float, v: wp.vec3, adj: float):
        wp.adjoint[x] += adj * v[0]

    x, v = wp.grad(f)(2.0, wp.vec3(3.0, 4.0, 5.0))
    assert x == 3.0
    assert tuple(v) == (0.0, 0.0, 0.0)


def test_the_parameters_may_be_rebound_and_have_other_names():
    @wp.func
    def f(x: float):
        return x

    @wp.func_grad(f)
    def _(value: float, seed: float):
        value = value * 10.0
        wp.adjoint[value] += value * seed

    assert wp.grad(f)(2.0) == 20.0


def test_a_gradient_calls_functions_and_closures():
    factor = 7.0

    @wp.func
    def scaled(x: float):
        return x * factor

    @wp.func
    def f(x: float):
        return x

    @wp.func_grad(f)
    def _(x: float, adj: float):
        wp.adjoint[x] += scaled(adj) + factor + f(x)

    assert wp.grad(f)(1.0) == 15.0


# ----- arrays ---------------------------------------------------------------------------------


@wp.func
def gathered(a: wp.array(dtype=Any), i: int, s: float):
    return a[i] * s


@wp.func_grad(gathered)
def adj_gathered(a: wp.array(dtype=Any), i: int, s: float, adj: Any):
    wp.adjoint[a][i] += adj * s * 10.0
    wp.adjoint[s] += wp.dot(adj, a[i])


@wp.kernel
def gather(a: wp.array(dtype=wp.vec3), s: Floats, o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    o[i] = gathered(a, 0, s[i])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("grad", [True, False])
def test_gradients_of_arrays_are_added_in_place_where_they_exist(device, grad):
    a = array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], wp.vec3, grad, device)
    s, o = array([2.0, 3.0], device=device), array(np.zeros((2, 3)), wp.vec3, device=device)
    backward(gather, 2, [a, s], [o], device=device)
    assert s.grad.numpy().tolist() == [6.0, 6.0]
    if grad:
        assert a.grad.numpy().tolist() == [[50.0] * 3, [0.0] * 3]
    else:
        assert a.grad is None


@wp.struct
class Table:
    values: wp.array(dtype=wp.vec2)
    scale: float


@wp.func
def looked_up(t: Table, i: int):
    return t.values[i][0] * t.scale


@wp.func_grad(looked_up)
def adj_looked_up(t: Table, i: int, adj: float):
    wp.adjoint[t].scale += adj * t.values[i][0]
    for k in range(2):
        wp.adjoint[t].values[i][k] += adj * t.scale * float(k + 1)
    before = wp.adjoint[t].values[i].x
    wp.adjoint[t].values[i].y -= before


@wp.kernel
def look_up(t: Table, o: Floats):
    i = wp.tid()
    o[i] = looked_up(t, i)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_of_arrays_in_structs(device):
    values = array([[1.0, 2.0], [3.0, 4.0]], wp.vec2, device=device)
    table, o = Table(values=values, scale=5.0), array(np.zeros(2), device=device)
    backward(look_up, 2, [table], [o], device=device)
    assert values.grad.numpy().tolist() == [[5.0, 5.0], [5.0, 5.0]]


@wp.func
def clipped(a: wp.array(dtype=float, ndim=2), i: int):
    return a[i, 0] + a[i, 1]


@wp.func_grad(clipped)
def adj_clipped(a: wp.array(dtype=float, ndim=2), i: int, adj: float):
    wp.adjoint[a][i][0] += adj
    wp.adjoint[a][i, 1] = wp.min(wp.adjoint[a][i, 0] + adj, 1.5)


@wp.kernel
def clip(a: wp.array(dtype=float, ndim=2), o: Floats):
    i = wp.tid()
    o[i] = clipped(a, i)


@pytest.mark.parametrize("device", DEVICES)
def test_gradient_arrays_are_read_assigned_and_viewed(device):
    a, o = array(np.ones((2, 2)), device=device), array(np.zeros(2), device=device)
    backward(clip, 2, [a], [o], device=device)
    assert a.grad.numpy().tolist() == [[1.0, 1.5], [1.0, 1.5]]


@wp.func
def put(out: Floats, i: int, x: float):
    out[i] = x * x


@wp.func_grad(put)
def adj_put(out: Floats, i: int, x: float):
    wp.adjoint[x] += 20.0 * x * wp.adjoint[out][i]
    wp.adjoint[out][i] = 0.0


@wp.kernel
def put_all(x: Floats, out: Floats):
    i = wp.tid()
    put(out, i, x[i])


@pytest.mark.parametrize("device", DEVICES)
def test_a_function_that_returns_nothing_reverses_its_writes_itself(device):
    x, out = array([1.0, 2.0], device=device), array(np.zeros(2), device=device)
    backward(put_all, 2, [x], [out], device=device)
    assert out.numpy().tolist() == [1.0, 4.0]
    assert x.grad.numpy().tolist() == [20.0, 40.0]
    assert out.grad.numpy().tolist() == [0.0, 0.0]


# ----- tuples -----------------------------------------------------------------------------------


def test_a_tuple_of_inputs_has_a_tuple_of_cotangents():
    @wp.func
    def product(pair: Any, z: float):
        a, b = pair
        return a * b * z

    @wp.func_grad(product)
    def adj(pair: Any, z: float, adj_ret: float):
        a, b = pair
        wp.adjoint[pair] = (b * z * adj_ret, 10.0 * a * z * adj_ret)

    @wp.kernel
    def k(x: Floats):
        pair, z = wp.grad(product)((x[0], x[1]), 2.0)
        x[2] = pair[0]
        x[3] = pair[1]
        x[4] = z

    x = wp.array([3.0, 5.0, 0.0, 0.0, 1.0], dtype=float)
    wp.launch(k, dim=1, inputs=[x])
    assert x.numpy().tolist() == [3.0, 5.0, 10.0, 60.0, 0.0]


# ----- parts of inputs --------------------------------------------------------------------------


@wp.struct
class Field:
    values: Floats
    at: wp.vec3


@wp.func
def sampled(field: Field, i: int):
    return field.values[i] * (field.at[0] + field.at[1] + field.at[2])


@wp.func_grad(sampled)
def _adj_sampled(field: Field, i: int, adj_ret: float):
    wp.adjoint[field.values][i] += 100.0 * adj_ret
    wp.adjoint[field.at].y = 5.0 * adj_ret
    wp.adjoint[field.at[2]] += 7.0 * adj_ret


@wp.kernel
def sample_all(fields: wp.array(dtype=wp.vec3), values: Floats, out: Floats):
    i = wp.tid()
    out[i] = sampled(Field(values=values, at=fields[i]), i)


@pytest.mark.parametrize("device", DEVICES)
def test_the_adjoint_of_a_part_is_the_part_of_the_adjoint(device):
    places = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3, device=device, requires_grad=True)
    values, out = array([1.0, 2.0], device=device), array(np.zeros(2), device=device)
    with wp.Tape() as tape:
        wp.launch(sample_all, 2, [places, values], [out], device=device)
    tape.backward(grads={out: wp.array([1.0, 2.0], dtype=float, device=device)})
    assert places.grad.numpy().tolist() == [[0, 5, 7], [0, 10, 14]]
    assert values.grad.numpy().tolist() == [100, 200]
