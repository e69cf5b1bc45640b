"""Folding: what is computed at compile time, and what is left to run time on purpose."""

import numpy as np
import pytest
from pass_runs import lowered, names, nodes

import warpsim as wp
from warpsim.core.compile import Form, FormKind
from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Call, Constant, For, Function, If, Region, Value, While
from warpsim.core.ir.verify import verify
from warpsim.core.ops.registry import TABLE, rows
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.types import compounds, scalars
from warpsim.core.types.scalars import bool_, float16, float32, float64, int8, int32, uint8

Floats = wp.array(dtype=float)


def call_on_constants(name, *values, **attributes):
    """A function of nothing: one call of an op on constants."""
    found = TABLE[name].find([type(v) for v in values], attributes)
    body = Region()
    made = Builder(body).call(found.row, tuple(constant(type(v), v) for v in values), found.result_types, attributes)
    body.yields = (made,)
    return Function(name, body)


def folded(name, *values, **attributes):
    [value] = fold(call_on_constants(name, *values, **attributes)).body.yields
    return value


@pytest.mark.parametrize("name, values, want", [
    ("add", (int32(2**31 - 1), int32(1)), int32(-(2**31))), ("mul", (uint8(16), uint8(17)), uint8(16)),
    ("div", (int32(7), int32(0)), int32(0)), ("mod", (int8(-7), int8(0)), int8(-7)),
    ("div", (int8(-128), int8(-1)), int8(-128)), ("floordiv", (int32(-7), int32(2)), int32(-4)),
    ("mul", (float32(0.1), float32(3)), float32(0.1) * float32(3)), ("sqrt", (float64(2),), float64(np.sqrt(2.0))),
    ("add", (float16(2048), float16(1)), float16(2048)), ("floor", (float32(-0.5),), float32(-1.0)),
    ("lt", (float64(1.0), float64(2.0)), bool_(True)), ("lshift", (int32(1), int32(35)), int32(8)),
    ("where", (bool_(False), int32(1), int32(2)), int32(2)), ("neg", (float32(0.0),), float32(-0.0)),
])  # fmt: skip
def test_exact_calls_on_constants_are_computed(name, values, want):
    found = folded(name, *values)
    assert isinstance(found, Constant) and found.type is type(want) and type(found.value) is type(want)
    assert found.value == want and np.signbit(float(found.value)) == np.signbit(float(want))


def test_casts_of_constants_saturate_and_wrap():
    assert folded("cast", float32(3e9), to=int32).value == 2**31 - 1
    assert folded("cast", int32(-1), to=uint8).value == 255


def test_compounds_fold_to_host_values_of_their_type():
    v = compounds.vector(3, float32)
    found = folded("mul", compounds.matrix((3, 3), float32)(*range(9)), v(1, 2, 3))
    assert found.type is v and found.value == v(8, 26, 44)
    assert folded("extract", v(1, 2, 3), int32(1)).value == float32(2)
    pair = compounds.vector(2, float32)
    assert folded("construct", float32(1), float32(2), to=pair).value == pair(1, 2)


INEXACT = sorted({row.name for row in rows() if row.value is not None and row.ulps > 0})


@pytest.mark.parametrize("name", INEXACT)
def test_what_targets_round_in_their_own_way_is_left_to_them(name):
    assert len(INEXACT) > 15
    values = [float32(0.5)] * len(TABLE[name].rows[0].params)
    fn = fold(call_on_constants(name, *values))
    assert names(fn) == [name]


@pytest.mark.parametrize("name", ["tid", "block_dim"])
def test_threads_are_no_constants(name):
    body = Region()
    row = TABLE[name].rows[0]
    body.yields = (Builder(body).call(row, (), (int32,), {"ndim": 1} if name == "tid" else {}),)
    assert names(fold(Function(name, body))) == [name]


@wp.kernel
def effects_on_constants(x: Floats):
    for _k in range(1):
        wp.atomic_add(x, 0, 1.0)
        seen = wp.zeros(shape=2, dtype=float)
        seen[0] = 2.0
        wp.printf("%d\n", 3)
        assert 1 < 2
    x[0] = 2.0 * 3.0


def test_effects_stay_though_their_operands_are_constants():
    fn = inline(lowered(effects_on_constants))
    kept = [n for n in names(fold(fn)) if n in ("atomic_add", "local_array", "store", "printf")]
    assert kept == ["atomic_add", "local_array", "store", "printf", "store"]


def test_the_error_of_a_constant_division_is_a_value():
    assert np.isinf(folded("div", float32(1.0), float32(0.0)).value)
    assert np.isnan(folded("div", float32(0.0), float32(0.0)).value)


# ----- branches -----------------------------------------------------------------------------


def branch(condition, inside=None):
    """if condition: yield x + 1 else: yield x * 2."""
    x = Value(float32)
    body, then, orelse = Region((x,)), Region(), Region()
    builder = Builder(body)
    with builder.active():
        with builder.inside(then):
            then.yields = (TABLE["add"](x, 1.0),)
        with builder.inside(orelse):
            orelse.yields = (TABLE["mul"](x, 2.0),)
        body.yields = builder.branch(condition, then, orelse)
    return Function("branch", body)


@pytest.mark.parametrize("truth, kept", [(True, "add"), (False, "mul")])
def test_a_branch_on_a_constant_becomes_the_arm_taken(truth, kept):
    fn = verify(fold(branch(constant(bool_, truth))))
    assert nodes(fn, If) == [] and names(fn) == [kept]
    assert fn.body.yields == fn.body.nodes[0].results


def test_a_condition_may_become_constant_by_folding():
    condition = TABLE["lt"].find([float32, float32]).row
    fn = branch(Value(bool_))
    test = Call(condition, (constant(float32, 1), constant(float32, 2)), results=(fn.body.nodes[0].condition,))
    fn.body.nodes.insert(0, test)
    assert names(verify(fold(fn))) == ["add"]


def test_a_branch_on_a_value_stays_and_is_folded_inside():
    condition = Value(bool_)
    fn = branch(condition)
    fn.body.params = (*fn.body.params, condition)
    kept = verify(fold(fn))
    assert len(nodes(kept, If)) == 1 and kept.body is fn.body, "nothing to do: shared with the original"


@wp.kernel
def constants_into_loops(x: Floats, n: int):
    step = 2 * 3
    for k in range(0, n, step - 5):
        if step == 6:
            x[k] = float(step) / 4.0
    j = int(0)
    while j < n - (step - 6):
        x[j] = x[j] + float(7 // 2)
        j += 1


def test_constants_reach_into_loops():
    fn = verify(fold(inline(lowered(constants_into_loops))))
    [loop] = nodes(fn, For)
    assert isinstance(loop.step, Constant) and int(loop.step.value) == 1
    assert nodes(fn, If) == [] and len(nodes(fn, While)) == 1
    stored = [node.args[-1] for node in nodes(fn, Call) if node.op.name == "store"]
    assert isinstance(stored[0], Constant) and stored[0].value == float32(1.5)


@pytest.mark.parametrize("t", scalars.NUMBERS)
def test_floats_meet_zero_and_one_at_run_time(t):
    """x + 0 and x * 1 are integers x, but not floats: think of -0 and NaN."""
    x = Value(t)
    body = Region((x,))
    with Builder(body).active():
        body.yields = (TABLE["mul"](TABLE["add"](x, t(0)), t(1)),)
    assert names(fold(Function("f", body))) == (["add", "mul"] if scalars.is_float(t) else [])


INTEGERS = sorted(scalars.INTEGERS, key=lambda t: t.__name__)
RETURNS_FIRST = [("add", 0), ("sub", 0), ("mul", 1), ("div", 1)]


def on_parameter(name, t, other, first=True):
    """A function of one parameter: a call of an op on it and a constant."""
    x = Value(t)
    args = (x, constant(t, other)) if first else (constant(t, other), x)
    found = TABLE[name].find([t, t], {})
    body = Region((x,))
    body.yields = (Builder(body).call(found.row, args, found.result_types, {}),)
    return verify(Function(name, body))


@pytest.mark.parametrize("name, neutral", RETURNS_FIRST)
@pytest.mark.parametrize("t", INTEGERS, ids=lambda t: t.__name__)
def test_integers_stay_themselves_beside_neutral_constants(t, name, neutral):
    fn = fold(on_parameter(name, t, neutral))
    assert not fn.body.nodes and fn.body.yields == fn.params
    other = fold(on_parameter(name, t, 2))
    assert len(other.body.nodes) == 1
    swapped = fold(on_parameter(name, t, neutral, first=False))
    assert bool(swapped.body.nodes) == (name in ("sub", "div"))


@pytest.mark.parametrize("truth", [True, False])
def test_a_choice_by_a_constant_is_what_it_chooses(truth):
    a, b = Value(float32), Value(float32)
    body, types = Region((a, b)), [bool_, float32, float32]
    found = TABLE["where"].find(types, {})
    body.yields = (Builder(body).call(found.row, (constant(bool_, truth), a, b), found.result_types, {}),)
    fn = fold(verify(Function("where", body)))
    assert not fn.body.nodes and fn.body.yields == ((a if truth else b),)


@wp.kernel
def iterated(x: Floats, y: Floats, n: int):
    i = wp.tid()
    v = x[i]
    for _k in range(n):
        v = wp.sin(v)
    y[i] = v


def test_the_reverse_of_a_plain_count_asks_for_nothing_that_constants_decide():
    form = Form(FormKind.ADJOINT, frozenset({"x", "y"}))
    fn = iterated.program(tuple(iterated.patterns.values()), iterated.settings(), False, form).fn
    assert fold(fn).body is fn.body
    choices = [n for n in nodes(fn) if isinstance(n, Call) and n.op.name == "where"]
    quotients = [n.args[1] for n in fn.body.nodes if isinstance(n, Call) and n.op.name == "div"]
    assert not choices and [int(divisor.value) for divisor in quotients] == [256]  # iterations of a block
