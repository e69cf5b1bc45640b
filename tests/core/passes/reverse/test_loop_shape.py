"""Which carried values are sums, and which loops may be reversed in forward order."""

import pytest
from adjoint_runs import types_of

import warpsim as wp
from warpsim.core.ir.nodes import For, While, walk
from warpsim.core.passes.analysis.activity import Activity
from warpsim.core.passes.analysis.alias import BaseArray
from warpsim.core.passes.reverse.loop_shape import shape_of

Floats = wp.array(dtype=float)


@wp.kernel
def plain_sum(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        s += x[k] * x[k]
    y[0] = s


@wp.kernel
def on_both_sides(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        if k % 2 == 0:
            s += x[k]
        else:
            s = s - x[k] * 2.0
    y[0] = s


@wp.kernel
def reset_on_one_side(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        if k == 3:
            s = x[k]
        else:
            s += x[k]
    y[0] = s


@wp.kernel
def taken_from(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        s = x[k] - s
    y[0] = s


@wp.kernel
def doubled(x: Floats, y: Floats, n: int):
    s = float(1.0)
    for _ in range(n):
        s = s + s
    y[0] = s * x[0]


@wp.kernel
def looked_at(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        s += x[k]
        if s > 3.0:
            s += x[0]
    y[0] = s


@wp.kernel
def product(x: Floats, y: Floats, n: int):
    p = float(1.0)
    for k in range(n):
        p *= x[k]
    y[0] = p


@wp.kernel
def sum_of_an_inner_loop(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        for j in range(k):
            s += x[j]
    y[0] = s


@wp.kernel
def walks_a_list(x: Floats, following: wp.array(dtype=int), y: Floats):
    s, k = float(0.0), 0
    while k >= 0:
        s += x[k] * x[k]
        k = following[k]
    y[0] = s


@wp.kernel
def stores(x: Floats, y: Floats, n: int):
    s = float(0.0)
    for k in range(n):
        s += x[k]
        y[k] = x[k]
    y[0] = s


SHAPES = [(plain_sum, 1, 0, True), (on_both_sides, 1, 0, True), (reset_on_one_side, 0, 1, False)]
SHAPES += [(taken_from, 0, 1, False), (doubled, 0, 1, True), (looked_at, 0, 1, False), (product, 0, 1, False)]
SHAPES += [(sum_of_an_inner_loop, 1, 0, True), (walks_a_list, 1, 1, True), (stores, 1, 0, False)]


@pytest.mark.parametrize(("kernel", "sums", "state", "forwards"), SHAPES, ids=lambda v: getattr(v, "key", None))
def test_shape(kernel, sums, state, forwards):
    fn = kernel.program(types_of(kernel)).fn
    active = Activity(fn, frozenset(BaseArray(p) for p in fn.params if p.hint in ("x", "y")), (), ())
    shape = shape_of(next(n for n in walk(fn.body) if isinstance(n, For | While)), active)
    assert (len(shape.reductions), len(shape.recurrences), shape.in_forward_order) == (sums, state, forwards)
