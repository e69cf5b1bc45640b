"""After inlining every call is a primitive row, bodies are copies, and every node knows its place."""

from pathlib import Path

import pytest
from pass_kernels import GALLERY, branches, nested_functions
from pass_runs import lowered, names, nodes

import warpsim as wp
from warpsim.core.ir.builder import Builder
from warpsim.core.ir.nodes import Call, Function, Region, Value
from warpsim.core.ops import add, clamp, mul, normalize
from warpsim.core.ops.registry import rows
from warpsim.core.passes.simplify.inline import expansion_body, inline
from warpsim.core.types import compounds
from warpsim.core.types.scalars import float32, float64

Floats = wp.array(dtype=float)


@wp.func
def twice(x: float):
    return x + x


@wp.func
def four_times(x: float):
    return twice(twice(x))


@wp.kernel
def calls(x: Floats):
    i = wp.tid()
    x[i] = four_times(x[i]) + twice(x[i]) + wp.clamp(x[i], 0.0, 1.0)


def test_before_there_are_calls_and_after_there_are_none():
    fn = lowered(calls)
    assert any(isinstance(node.op, Function) for node in nodes(fn, Call))
    inlined = inline(fn)
    assert all(node.op.value is not None for node in nodes(inlined, Call))
    # twice(twice(x)) and twice(x) are three additions, two more join the terms; a clamp is a minimum and a maximum
    assert names(inlined).count("add") == 3 + 2
    assert names(inlined).count("min") == names(inlined).count("max") == 1


@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_every_call_is_a_primitive(kernel):
    table = {row for row in rows() if row.value is not None}
    assert all(node.op in table for node in nodes(inline(lowered(kernel)), Call))


def test_each_call_gets_a_body_of_its_own():
    inlined = inline(lowered(calls))
    every = nodes(inlined)
    assert len(set(every)) == len(every)
    results = [r for node in every for r in node.results]
    assert len(set(results)) == len(results)


def test_a_body_that_is_inlined_twice_is_not_changed_by_it():
    fn = lowered(nested_functions)
    first, second = inline(fn), inline(fn)
    shared = set(nodes(first)) & set(nodes(second))
    assert all(node in set(nodes(fn)) for node in shared), "only what the kernel does without calls is shared"


def test_what_calls_nothing_is_left_alone():
    fn = lowered(branches)
    kept = {id(node) for node in nodes(inline(fn))} & {id(node) for node in nodes(fn)}
    assert len(kept) > len(nodes(fn)) // 2


def line_of(text):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if text in line)


def test_nodes_keep_their_place_in_the_source():
    """Those of a function stand where the function does, those of an expansion where it is called."""
    inlined = inline(lowered(calls))
    assert all(node.location is not None for node in nodes(inlined))
    places = {(node.op.name, node.location.line) for node in nodes(inlined, Call)}
    assert ("add", line_of("return x + x")) in places
    assert ("min", line_of("x[i] = four_times")) in places


# ----- expansions ---------------------------------------------------------------------------


def call_of(operation, *types):
    found = operation.find(list(types))
    values = tuple(Value(t) for t in types)
    return Call(found.row, values, results=tuple(Value(t) for t in found.result_types))


def test_an_expansion_is_traced_once_per_types():
    assert expansion_body(call_of(clamp, *[float32] * 3)) is expansion_body(call_of(clamp, *[float32] * 3))
    assert expansion_body(call_of(clamp, *[float32] * 3)) is not expansion_body(call_of(clamp, *[float64] * 3))


def test_expansions_inside_expansions_go_too():
    v = Value(compounds.vector(3, float32))
    body = Region((v,))
    with Builder(body).active():
        body.yields = (normalize(v),)
    assert [node.op.name for node in body.nodes] == ["normalize"]
    inlined = inline(Function("unit", body))
    assert all(node.op.expansion is None for node in nodes(inlined, Call))
    assert "length" in names(inlined)


def test_results_that_are_operands_are_passed_through():
    """A function that returns its parameters leaves no node behind."""
    x, y = Value(float32), Value(float32)
    swap = Function("swap", Region((x, y), [], (y, x)))
    a, b = Value(float32), Value(float32)
    body = Region((a, b))
    builder = Builder(body)
    with builder.active():
        first, second = builder.call(swap, (a, b), swap.result_types)
        body.yields = (add(first, mul(second, 2.0)),)
    inlined = inline(Function("f", body))
    assert names(inlined) == ["mul", "add"]
    assert inlined.body.nodes[0].args[0] is a and inlined.body.nodes[1].args[0] is b
