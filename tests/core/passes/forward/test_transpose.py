"""Transposes of straight-line regions: <w, A d> = <A^T w, d>, and what is not linear is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from warpsim.core.ir.builder import Builder
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Region, Value
from warpsim.core.ops import TABLE, sin
from warpsim.core.ops.construct import components, rebuild
from warpsim.core.passes.forward.transpose import pushed_forward, transpose
from warpsim.core.types.compounds import matrix, vector
from warpsim.core.types.scalars import float64
from warpsim.errors import CompilerError

V, M = vector(3, float64), matrix((3, 3), float64)


def traced(rule, *types):
    params = tuple(Value(t) for t in types)
    region = Region(params)
    with Builder(region).active():
        region.yields = rule(*params)
    return region


def run(region, *values):
    return Interpreter(check_numbers=False).run(region, list(values))


def linear(d, s, x, m):
    """Linear in d and s, with coefficients that are not linear in x and m."""
    a = m * d + x * TABLE["inner"](d, x)
    b = rebuild(d, [part * s for part in components(x)])
    return a - b * sin(x[0]), TABLE["inner"](a, x) / (x[1] + 3.0)


def test_the_transpose_is_the_dual():
    rng = np.random.default_rng(1)
    region = traced(linear, V, float64, V, M)
    d, s, x, m = region.params
    seeds = [Value(V), Value(float64)]
    back = transpose(region, (d, s), seeds)
    assert back is not None
    x0, m0 = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (3, 3))
    d0, s0 = rng.uniform(-1, 1, 3), float64(0.7)
    w0, r0 = rng.uniform(-1, 1, 3), float64(-0.4)
    a, b = run(region, d0, s0, x0, m0)
    whole = Region((x, m, *seeds), back.nodes, back.yields)
    share_d, share_s = run(whole, x0, m0, w0, r0)
    assert np.dot(a, w0) + b * r0 == pytest.approx(np.dot(share_d, d0) + share_s * s0, rel=1e-14)


@pytest.mark.parametrize(
    "rule", [lambda d, x: (d * d,), lambda d, x: (sin(d),), lambda d, x: (x / d,), lambda d, x: (TABLE["floor"](d),)]
)
def test_what_is_not_linear_has_no_transpose(rule):
    region = traced(rule, float64, float64)
    assert transpose(region, (region.params[0],), [Value(float64)]) is None


def test_what_does_not_depend_on_the_inputs_gives_zero():
    region = traced(lambda d, x: (x * x,), float64, float64)
    back = transpose(region, (region.params[0],), [Value(float64)])
    assert back is not None
    assert back.nodes == []
    assert run(Region(region.params, back.nodes, back.yields), float64(1.0), float64(2.0)) == [0.0]


def test_a_rule_that_is_not_linear_is_noticed():
    row = replace(TABLE["sin"].rows[0], name="squared", adjoint_rule=lambda x, out, dout: (dout * dout,))
    builder = Builder(Region())
    builder.call(row, (Value(float64),), (float64,))
    with pytest.raises(CompilerError, match=r"rule of squared.* is not linear in its cotangents"):
        pushed_forward(builder, builder.region.nodes[0], [{(): Value(float64)}])
