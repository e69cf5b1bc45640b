"""The verifier: well-formed programs pass, and every rule of the grammar, broken on purpose, is named."""

import pytest

from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Call, For, Function, If, Region, Value, While
from warpsim.core.ir.verify import verify
from warpsim.core.ops import add, mul
from warpsim.core.types.scalars import bool_, float32, int32
from warpsim.errors import CompilerError, Location

HERE = Location("cloth.py", 7, function="step")


def program(*nodes, params=(), yields=()):
    return Function("broken", Region(tuple(params), list(nodes), tuple(yields)))


def refused(fn, reason):
    with pytest.raises(CompilerError, match=reason) as caught:
        verify(fn, "fold")
    return str(caught.value)


def scalar(value):
    return constant(type(value) if isinstance(value, bool_) else int32 if isinstance(value, int) else float32, value)


def sum_of(x, y):
    [row] = [row for row in add.rows if row.match([x.type, y.type], {})][:1]
    return Call(row, (x, y), results=(Value(x.type),), location=HERE)


def an_if(**changes):
    fields = {
        "condition": Value(bool_),
        "then": Region(yields=(scalar(1.0),)),
        "orelse": Region(yields=(scalar(2.0),)),
        "results": (Value(float32),),
        "location": HERE,
    }
    node = If(**{**fields, **changes})
    return program(node, params=(node.condition,))


def a_for(**changes):
    index, total = Value(int32), Value(float32)
    fields = {
        "start": scalar(0),
        "stop": scalar(9),
        "step": scalar(1),
        "init": (scalar(0.0),),
        "body": Region((index, total), [], (total,)),
        "results": (Value(float32),),
        "location": HERE,
    }
    return program(For(**{**fields, **changes}))


def a_while(**changes):
    carried, passed, go_on = Value(float32), Value(float32), Value(bool_)
    fields = {
        "init": (scalar(0.0),),
        "before": Region((carried,), [], (go_on, carried)),
        "body": Region((passed,), [], (passed,)),
        "results": (Value(float32),),
        "location": HERE,
    }
    return program(While(**{**fields, **changes}), params=(go_on,))


@pytest.mark.parametrize("make", [an_if, a_for, a_while])
def test_a_program_by_the_grammar_passes(make):
    fn = make()
    assert verify(fn) is fn


def test_a_traced_program_passes():
    x, y = Value(float32), Value(float32)
    body = Region((x, y))
    with Builder(body).active():
        body.yields = (add(mul(x, y), 1.0),)
    verify(Function("traced", body))


def test_a_value_has_one_definition():
    x = Value(float32)
    node = sum_of(x, x)
    refused(program(node, node, params=(x,)), "a value is defined twice")
    refused(program(params=(x, x)), "a value is defined twice")


def test_a_value_is_defined_before_its_use():
    x = Value(float32)
    first = sum_of(x, x)
    second = sum_of(first.results[0], x)
    verify(program(first, second, params=(x,)))
    refused(program(second, first, params=(x,)), "used where its definition is not visible")


def test_a_value_of_a_region_is_not_seen_outside():
    x = Value(float32)
    inner = sum_of(x, x)
    node = If(scalar(bool_(True)), Region((), [inner]), Region())
    fn = program(node, params=(x,), yields=inner.results)
    refused(fn, "used where its definition is not visible")


def test_a_value_of_one_branch_is_not_seen_in_the_other():
    x = Value(float32)
    inner = sum_of(x, x)
    then, orelse = Region((), [inner], inner.results), Region(yields=inner.results)
    fn = an_if(condition=scalar(bool_(True)), then=then, orelse=orelse)
    fn.body.params = (x,)
    refused(fn, "used where its definition is not visible")


def test_the_condition_of_an_if_is_a_boolean():
    refused(an_if(condition=Value(int32)), "an if condition is int32, not bool")


@pytest.mark.parametrize("branch, name", [("then", "then"), ("orelse", "else")])
def test_both_branches_yield_what_the_if_returns(branch, name):
    refused(an_if(**{branch: Region(yields=(scalar(1),))}), rf"the {name} branch yields \(int32\) where \(float32\)")
    refused(an_if(**{branch: Region()}), rf"the {name} branch yields \(\) where \(float32\)")


@pytest.mark.parametrize("bound", ["start", "stop", "step"])
def test_loop_bounds_have_the_type_of_the_index(bound):
    refused(a_for(**{bound: scalar(1.0)}), "a loop bound is float32, not int32")


def test_a_loop_counts_in_integers():
    index = Value(float32)
    bounds = {name: scalar(1.0) for name in ("start", "stop", "step")}
    refused(a_for(**bounds, body=Region((index,)), init=(), results=()), "a loop index is not an integer")


def test_a_loop_moves():
    refused(a_for(step=scalar(0)), "a loop step is zero")


def test_a_loop_has_an_index():
    refused(a_for(body=Region()), "a loop body has no index")


def test_a_loop_carries_the_same_types_all_the_way_round():
    index, total = Value(int32), Value(float32)
    refused(a_for(init=()), r"the loop starts with \(\) where \(float32\)")
    refused(a_for(body=Region((index, total), [], (index,))), r"the loop yields \(int32\) where \(float32\)")
    refused(a_for(results=()), r"the loop returns \(\) where \(float32\)")


def test_a_while_has_a_boolean_test():
    carried = Value(float32)
    refused(a_while(before=Region((carried,))), "a while test yields nothing")
    refused(a_while(before=Region((carried,), [], (carried, carried))), "a while test is float32, not bool")


def test_a_while_carries_the_same_types_all_the_way_round():
    carried = Value(float32)
    yes = scalar(bool_(True))
    refused(a_while(init=(scalar(1),)), r"the while starts with \(int32\) where \(float32\)")
    refused(a_while(before=Region((carried,), [], (yes,))), r"the while test passes \(\) where \(float32\)")
    refused(a_while(body=Region((carried,))), r"the while body yields \(\) where \(float32\)")
    refused(a_while(results=(Value(int32),)), r"the while returns \(int32\) where \(float32\)")


def test_a_call_of_a_function_fits_its_signature():
    x = Value(float32)
    callee = Function("half", Region((x,), [], (x,)))
    good = Call(callee, (scalar(1.0),), results=(Value(float32),))
    verify(program(good))
    wrong_argument = Call(callee, (scalar(1),), results=(Value(float32),))
    refused(program(wrong_argument), r"the call of half passes \(int32\) where \(float32\)")
    wrong_result = Call(callee, (scalar(1.0),), results=(Value(int32),))
    refused(program(wrong_result), r"the call of half returns \(int32\) where \(float32\)")


def test_the_message_names_the_pass_the_place_and_the_lines_around():
    values = [Value(float32)]
    nodes = []
    for _ in range(40):
        nodes.append(sum_of(values[-1], values[-1]))
        values.extend(nodes[-1].results)
    nodes[20].args = (Value(float32), values[0])
    text = refused(program(*nodes, params=values[:1]), r"invalid program after fold at cloth\.py:7:1 in step")
    shown = text.splitlines()[1:]
    assert len(shown) == 21, "ten lines before the bad node and ten after"
    assert "add(%" in shown[10]
