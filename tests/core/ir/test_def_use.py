"""Def-use information, held against the verifier and an interpreter's view of the same programs."""

import pytest

import warpsim as wp
from warpsim.core.ir.def_use import captured_values, defining_calls, definitions, flows_in, flows_out, used_values
from warpsim.core.ir.nodes import Call, Constant, For, Function, Region, While, walk
from warpsim.core.ir.verify import verify
from warpsim.errors import CompilerError


@wp.kernel
def nested(x: wp.array(dtype=float), n: int, bound: float):
    i = wp.tid()
    total = x[i]
    scale = bound * 2.0
    for j in range(n):
        if x[j] > bound:
            total += scale * x[j]
        while total > bound:
            total = total * 0.5 - scale
    x[i] = total


def program():
    return nested.program(tuple(nested.patterns.values())).fn


def compounds():
    return [node for node in walk(program().body) if node.regions()]


@pytest.mark.parametrize("node", compounds(), ids=lambda node: type(node).__name__)
def test_a_node_stands_alone_with_what_it_captures_and_not_with_less(node):
    outside = [v for v in dict.fromkeys((*node.operands(), *captured_values(node))) if not isinstance(v, Constant)]
    verify(Function("alone", Region(tuple(outside), [node], node.results)))
    for v in outside:
        with pytest.raises(CompilerError, match="not visible"):
            verify(Function("alone", Region(tuple(o for o in outside if o is not v), [node], node.results)))


def test_every_result_is_defined_by_its_node():
    body = program().body
    assert all(value in node.results for value, node in definitions(body).items())
    assert {v for node in walk(body) for v in node.results} == set(definitions(body))
    assert defining_calls(body) == {v: node for v, node in definitions(body).items() if isinstance(node, Call)}


def test_a_value_is_used_unless_a_copy_without_its_uses_is_the_same():
    fn = program()
    used = used_values(fn.body)
    assert set(fn.params) <= used
    for node in walk(fn.body):
        assert used.issuperset(node.operands())
        assert all(used.issuperset(region.yields) for region in node.regions())
    assert not used & {v for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "store" for v in n.results}


@pytest.mark.parametrize("kind", [For, While])
def test_what_a_loop_carries_flows_in_round_and_out(kind):
    [node] = [node for node in compounds() if isinstance(node, kind)]
    [(init, carried)] = flows_in(node)
    assert init == node.init and carried == node.carried
    targets = [v for _, into in flows_out(node) for v in into]
    assert set(targets) == {*node.carried, *node.results, *(node.body.params if kind is While else ())}
    assert all(a.type is b.type for sources, into in flows_out(node) for a, b in zip(sources, into, strict=True))
