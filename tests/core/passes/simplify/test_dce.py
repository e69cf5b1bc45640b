"""Dead code: what goes, and what must stay because somebody notices."""

import pytest
from pass_runs import lowered, names, nodes

import warpsim as wp
from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Call, For, Function, If, Region, Value, While
from warpsim.core.ir.verify import verify
from warpsim.core.ops.registry import TABLE
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.types.scalars import bool_, float32, int32

Floats = wp.array(dtype=float)


def cleaned(kernel):
    return verify(dce(inline(lowered(kernel))))


@wp.kernel
def unused_values(x: Floats):
    i = wp.tid()
    a = x[i] * 2.0
    b = wp.sin(a)
    c = wp.vec3(a, b, a)
    _ignored = wp.length(c) + x[0]
    x[i] = a


def test_unused_calls_and_reads_go():
    assert names(cleaned(unused_values)) == ["tid", "load", "mul", "store"]


@wp.kernel
def effects(x: Floats):
    i = wp.tid()
    _ignored = wp.atomic_add(x, i, 1.0)
    _seen = wp.zeros(shape=2, dtype=float)
    wp.printf("%d\n", i)
    assert i >= 0


def test_effects_stay_whether_their_results_are_used_or_not():
    kept = names(cleaned(effects))
    assert [n for n in kept if n in ("atomic_add", "local_array", "printf", "assert")] == [
        "atomic_add",
        "local_array",
        "printf",
        "assert",
    ]


@wp.kernel
def unused_branches(x: Floats):
    i = wp.tid()
    a = float(0.0)
    if x[i] > 0.0:
        a = x[i] * 3.0
    else:
        if x[i] < -1.0:
            a = wp.exp(x[i])
    for k in range(i):
        a += float(k)
    x[i] = 1.0


def test_branches_and_counted_loops_without_effects_go():
    fn = cleaned(unused_branches)
    assert names(fn) == ["tid", "store"] and nodes(fn, If) == nodes(fn, For) == []


@wp.kernel
def unused_while(x: Floats):
    i = wp.tid()
    k = int(0)
    while k < i:
        k += 1
    x[i] = 1.0


def test_a_while_stays_since_it_may_not_end():
    [loop] = nodes(cleaned(unused_while), While)
    assert names(Function("test", loop.before)) == ["lt"] and names(Function("body", loop.body)) == ["add"]


# ----- results that nobody reads ------------------------------------------------------------


@wp.kernel
def half_used_branch(x: Floats):
    i = wp.tid()
    a = float(0.0)
    _b = float(0.0)
    c = float(0.0)
    if x[i] > 0.0:
        a = x[i] * 2.0
        _b = wp.sin(x[i])
        c = a + 1.0
    x[i] = c


def test_results_of_a_branch_that_nobody_reads_go():
    fn = cleaned(half_used_branch)
    [node] = nodes(fn, If)
    assert len(node.results) == len(node.then.yields) == len(node.orelse.yields) == 1
    assert names(Function("then", node.then)) == ["load", "mul", "add"], "a is needed by c, b by nobody"


@wp.kernel
def branch_for_its_effect(x: Floats):
    i = wp.tid()
    _a = float(0.0)
    if x[i] > 0.0:
        _a = wp.sin(x[i])
        x[i] = 2.0


def test_a_branch_with_an_effect_stays_without_results():
    fn = cleaned(branch_for_its_effect)
    [node] = nodes(fn, If)
    assert node.results == () and names(Function("then", node.then)) == ["store"]
    assert "gt" in names(fn), "its condition stays too"


@wp.kernel
def carried_values(x: Floats, n: int):
    i = wp.tid()
    used = float(0.0)
    feeds = float(1.0)
    only_itself = float(1.0)
    each_other = float(1.0)
    other = float(2.0)
    for k in range(n):
        used = used + feeds
        feeds = feeds * x[k]
        only_itself = only_itself * 2.0
        each_other = other + wp.sin(x[k])
        other = each_other * 2.0
    x[i] = used


def test_values_that_a_loop_carries_only_for_themselves_go():
    """Also when they feed each other round the loop; what feeds a result stays."""
    fn = cleaned(carried_values)
    [loop] = nodes(fn, For)
    assert len(loop.results) == len(loop.init) == len(loop.body.yields) == len(loop.body.params) - 1 == 2
    assert names(Function("body", loop.body)) == ["add", "load", "mul"]


@wp.kernel
def nested_loops(x: Floats, n: int):
    i = wp.tid()
    dead = float(0.0)
    live = float(0.0)
    for a in range(n):
        inner = float(0.0)
        for b in range(a):
            inner += float(b)
            dead += live
            if x[b] > 0.0:
                live += 1.0
                dead = dead * 2.0
        dead += inner
    x[i] = live


def test_liveness_passes_through_nests():
    fn = cleaned(nested_loops)
    assert [len(loop.results) for loop in nodes(fn, For)] == [1, 1]
    [branch] = nodes(fn, If)
    assert len(branch.results) == 1
    assert "cast" not in names(fn), "inner sums feed the dead value alone"


def test_a_loop_whose_result_is_its_start_is_kept_by_its_result():
    """The result is needed, whatever the loop does with it: no algebra here."""
    x, n = Value(float32), Value(int32)
    index, carried = Value(int32), Value(float32)
    body = Region((x, n))
    builder = Builder(body)
    same = Region((index, carried), [], (carried,))
    body.yields = builder.loop(constant(int32, 0), n, constant(int32, 1), (x,), same)
    assert len(nodes(dce(Function("f", body)), For)) == 1


def test_what_a_while_passes_on_is_needed():
    """The regions of a While are kept whole, with everything that their yields are made of."""
    start, limit = Value(float32), Value(float32)
    carried, passed = Value(float32), Value(float32)
    before, inside, body = Region((carried,)), Region((passed,)), Region((start, limit))
    builder = Builder(body)
    with builder.active():
        outside = TABLE["mul"](limit, 2.0)
        with builder.inside(before):
            before.yields = (TABLE["lt"](carried, outside), carried)
        with builder.inside(inside):
            inside.yields = (TABLE["add"](passed, 1.0),)
        builder.repeat((start,), before, inside)
    fn = verify(dce(Function("f", body)))
    assert names(fn) == ["mul", "lt", "add"]


def test_the_results_of_a_function_are_needed():
    x = Value(float32)
    body = Region((x,))
    with Builder(body).active():
        kept, _ = TABLE["sin"](x), TABLE["cos"](x)
    body.yields = (kept,)
    assert names(dce(Function("f", body))) == ["sin"]


@pytest.mark.parametrize("depth", [1, 40])
def test_deep_nests_are_cleaned_in_one_go(depth):
    """Each node is looked at once: no time or recursion that grows with the depth of the nest."""
    x, condition = Value(float32), Value(bool_)
    row = TABLE["add"].find([float32, float32]).row
    inner = Region((), [], (x,))
    for _ in range(depth):
        then = Region((), [*inner.nodes, Call(row, (x, x), results=(Value(float32),))])
        then.yields = (then.nodes[-1].results[0],)
        inner = Region((), [If(condition, then, Region((), [], (x,)), results=(Value(float32),))])
        inner.yields = inner.nodes[0].results
    used = Function("used", Region((x, condition), inner.nodes, inner.yields))
    assert len(nodes(dce(used), If)) == 1, "only the outermost result is read"
    unused = Function("unused", Region((x, condition), inner.nodes, (x,)))
    assert nodes(dce(unused)) == []
