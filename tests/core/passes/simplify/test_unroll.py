"""Unrolling: which loops go, what their copies are made of, and when the pass stops."""

import pytest
from pass_runs import lowered, names, nodes

import warpsim as wp
from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Constant, For, Function, Region, Value, While, count
from warpsim.core.ir.verify import verify
from warpsim.core.ops import add, mul
from warpsim.core.ops.registry import TABLE
from warpsim.core.passes.simplify import unroll as unrolling
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll
from warpsim.core.types.scalars import float32, int8, int32

Floats = wp.array(dtype=float)
cast = TABLE["cast"]


def loop(start, stop, step=1, body=None, t=int32):
    """A function of x that carries x round a loop: x = x * 3 + i, or `body(x, i)`."""
    x, carried, index = Value(float32), Value(float32), Value(t)
    outer, inner = Region((x,)), Region((index, carried))
    builder = Builder(outer)
    with builder.active():
        with builder.inside(inner):
            inner.yields = (body(carried, index) if body else add(mul(carried, 3.0), 1.0),)
        bounds = [b if isinstance(b, Value) else constant(t, b) for b in (start, stop, step)]
        outer.yields = builder.loop(*bounds, (x,), inner)
    return Function("loop", outer)


def loops(fn):
    return len(nodes(fn, For))


BOUNDS = [((0, 4), 4), ((0, 16), 16), ((5, 5), 0), ((5, 2), 0), ((3, -4, -3), 3), ((-4, 3, -3), 0), ((0, 7, 3), 3)]
BOUNDS += [((9, 10, 100), 1)]


@pytest.mark.parametrize("bounds, trips", BOUNDS)
def test_a_small_constant_loop_becomes_its_copies(bounds, trips):
    fn = verify(unroll(loop(*bounds), 16))
    assert loops(fn) == 0
    assert names(fn) == ["mul", "add"] * trips


def test_a_loop_without_trips_hands_its_values_through():
    fn = unroll(loop(1, 1), 16)
    assert fn.body.yields == fn.params


def test_the_limit_is_on_trips():
    assert loops(unroll(loop(0, 17), 16)) == 1
    assert loops(unroll(loop(0, 17), 17)) == 0
    assert loops(unroll(loop(0, 1), 0)) == 1
    assert loops(unroll(loop(0, 0), 0)) == 0


def test_the_index_is_a_constant_of_its_type_in_each_copy():
    fn = unroll(loop(100, 127, 9, lambda x, i: mul(x, cast(i, to=float32)), t=int8), 16)
    indices = [node.args[0] for node in nodes(fn) if node.op.name == "cast"]
    assert [(type(i), i.type, int(i.value)) for i in indices] == [(Constant, int8, k) for k in (100, 109, 118)]


def test_a_loop_with_an_unknown_bound_stays():
    n = Value(int32)
    fn = loop(0, n)
    fn.body.params = (*fn.body.params, n)
    assert loops(verify(unroll(fn, 16))) == 1


def test_large_bodies_stay(monkeypatch):
    monkeypatch.setattr(unrolling, "MAX_NODES", 30)
    assert loops(unroll(loop(0, 15), 16)) == 0, "15 copies of two nodes fit"
    assert loops(unroll(loop(0, 16), 16)) == 1, "16 do not"


# ----- nests --------------------------------------------------------------------------------


@wp.kernel
def nest(x: Floats):
    for a in range(3):
        for b in range(4):
            for c in range(2):
                x[a * 8 + b * 2 + c] = float(a * b + c)


@wp.kernel
def triangle(x: Floats):
    k = int(0)
    for a in range(4):
        for b in range(a):
            for c in range(b + 1, a + 1):
                x[k] = float(100 * a + 10 * b + c)
                k += 1


@wp.func
def powers(x: float, n: int):
    total = float(0.0)
    for k in range(2 * n - 1):
        total = total * x + float(k)
    return total


@wp.kernel
def bound_by_an_argument(x: Floats):
    i = wp.tid()
    x[i] = powers(x[i], 3)


@wp.kernel
def dynamic_inside(x: Floats, n: int):
    for a in range(3):
        for b in range(a, n):
            x[b] = x[b] + float(a)


@wp.kernel
def static_inside(x: Floats, n: int):
    for a in range(n):
        for b in range(3):
            x[a] = x[a] + float(b)


def test_nests_of_small_loops_disappear():
    fn = unroll(inline(lowered(nest)), 16)
    assert nodes(fn, For) == [] and names(fn).count("store") == 24


def test_bounds_may_follow_from_the_index_of_a_loop_around():
    fn = unroll(inline(lowered(triangle)), 16)
    assert nodes(fn, For) == []
    written = [tuple(int(v.value) for v in (n.args[1],)) for n in nodes(fold(fn)) if n.op.name == "store"]
    assert written == [(k,) for k in range(10)], "k counts on, copy by copy"


def test_bounds_may_follow_from_constant_arguments():
    assert nodes(unroll(inline(lowered(bound_by_an_argument)), 16), For) == []
    assert len(nodes(unroll(inline(lowered(bound_by_an_argument)), 4), For)) == 1


def test_a_dynamic_loop_is_copied_with_the_loop_around_it():
    fn = unroll(inline(lowered(dynamic_inside)), 16)
    assert [int(node.start.value) for node in nodes(fn, For)] == [0, 1, 2]


def test_a_static_loop_inside_a_dynamic_one_goes():
    fn = unroll(inline(lowered(static_inside)), 16)
    assert len(nodes(fn, For)) == 1 and names(fn).count("store") == 3


@wp.kernel
def wide_triangle(x: Floats):
    for a in range(16):
        for b in range(a):
            for c in range(b):
                for d in range(c):
                    x[d] = x[d] * float(a) + float(b) * float(c)


def test_copies_of_a_nest_stay_below_the_limit():
    """16 choose 4 bodies of eight nodes are more than fit: some loops remain, the rest is unrolled."""
    fn = verify(unroll(inline(lowered(wide_triangle)), 16))
    assert nodes(fn, For) != []
    assert 1000 < count(fn.body) < 2 * unrolling.MAX_NODES


@wp.kernel
def until(x: Floats):
    i = wp.tid()
    k = int(0)
    while k < 4:
        x[i] = x[i] * 2.0
        k += 1


def test_a_while_is_not_a_counted_loop():
    fn = inline(lowered(until))
    assert len(nodes(unroll(fn, 16), While)) == 1
