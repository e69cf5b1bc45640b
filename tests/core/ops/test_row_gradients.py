"""Every adjoint rule of the op table against central differences, in float64 on the interpreter.

Expansions are differentiated through the rules of what they are made of. The adjoint of a row is a
program, so it is differentiated and tested once more, and it must give the same on the CPU.
"""

import numpy as np
import pytest
from row_cases import ALL, random_operands, random_source, random_value
from row_devices import batches, called, compiled_results, interpreted

from warpsim.core.ops.registry import rows
from warpsim.core.passes.reverse.adjoint import vjp
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.types import compounds, structs
from warpsim.core.types.cotangents import has_cotangent as has_slope
from warpsim.core.types.scalars import FLOATS, float64

STEP = 1e-6  # of central differences: truncation h^2 and rounding 1e-16 / h are both below TOLERANCE
TOLERANCE = 1e-6


def adjoint(fn):
    """The transform that kernels get, with expansions expanded."""
    return inline(vjp(fn))


def scalars_of(t):
    if structs.is_struct(t):
        return {s for f in t.fields.values() for s in scalars_of(f)}
    return {compounds.scalar_of(t)}


def in_float64(case):
    """Whether all floats of a case are float64, and some operand has a slope."""
    types = (*case.types, *case.results)
    floats = {s for t in types for s in scalars_of(t) if s in FLOATS}
    return floats == {float64} and any(map(has_slope, case.types))


CASES = [case for case in ALL if in_float64(case) and case.row.name != "stop_gradient"]
NAMES = sorted({case.row.name for case in CASES})


def cases_named(name):
    return [case for case in CASES if case.row.name == name]


# ----- values as directions -----------------------------------------------------------------


def shifted(x, direction, by, t):
    """x + by * direction on the floats of a value; the rest stays."""
    if structs.is_struct(t):
        return {f: shifted(x[f], direction[f], by, ft) for f, ft in t.fields.items()}
    return x + float64(by) * direction if has_slope(t) else x


def inner(a, b, t):
    """The sum of products over the floats of two values."""
    if structs.is_struct(t):
        return sum(inner(a[f], b[f], ft) for f, ft in t.fields.items() if has_slope(ft))
    return float(np.sum(a * b))


def total(fn, operands, weights):
    """The results of a function, weighted: a number to differentiate."""
    results = interpreted(fn, operands)
    pairs = [(r, t) for r, t in zip(results, fn.result_types, strict=True) if has_slope(t)]
    return sum(inner(r, w, t) for (r, t), w in zip(pairs, weights, strict=True))


def directions(types, rng):
    return [random_value(t, -1.0, 1.0, rng) for t in types if has_slope(t)]


def slope(fn, operands, k, direction, weights):
    """The derivative along a direction of operand k, by central differences."""
    t = fn.params[k].type
    ends = []
    for by in (STEP, -STEP):
        moved = list(operands)
        moved[k] = shifted(operands[k], direction, by, t)
        ends.append(total(fn, tuple(moved), weights))
    return (ends[0] - ends[1]) / (2 * STEP)


def disagreements(fn, reverse, operands, rng):
    """Operands whose cotangent is not the slope, as text."""
    weights = directions(fn.result_types, rng)
    found = interpreted(reverse, (*operands, *weights))
    wrong = []
    active = [k for k, p in enumerate(fn.params) if has_slope(p.type)]
    for k, cotangent in zip(active, found, strict=True):
        t = fn.params[k].type
        direction = random_value(t, -1.0, 1.0, rng)
        want = slope(fn, operands, k, direction, weights)
        got = inner(cotangent, direction, t)
        if not abs(got - want) <= TOLERANCE * (1 + abs(want)):
            wrong.append(f"operand {k} at {operands}: adjoint {got}, difference {want}")
    return wrong


# ----- tests --------------------------------------------------------------------------------


def test_every_rule_and_expansion_is_tried():
    tried = {case.row for case in CASES}
    pure = [row for row in rows() if not row.effect and (row.adjoint_rule or row.expansion)]
    assert {row.name for row in pure if row not in tried} == {"stop_gradient"}


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_is_the_slope(name):
    for case in cases_named(name):
        rng = random_source(case)
        fn = called(case)
        reverse = adjoint(fn)
        for _ in range(3):
            wrong = disagreements(fn, reverse, random_operands(case, rng), rng)
            assert wrong == [], f"{case}: {wrong[0]}"


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_of_the_adjoint_is_its_slope(name):
    for case in cases_named(name):
        rng = random_source(case)
        reverse = adjoint(called(case))
        seeds = tuple(directions(case.results, rng))
        wrong = disagreements(reverse, adjoint(reverse), (*random_operands(case, rng), *seeds), rng)
        assert wrong == [], f"{case}: {wrong[0]}"


@pytest.mark.parametrize("name", NAMES)
def test_the_adjoint_gives_the_same_on_the_cpu(name):
    cases = cases_named(name)
    reverses = [adjoint(called(case)) for case in cases]
    points = []
    for case in cases:
        rng = random_source(case)
        points.append([(*random_operands(case, rng), *directions(case.results, rng)) for _ in range(3)])
    for group in batches(reverses, 400):
        found = compiled_results([reverses[k] for k in group], [points[k] for k in group], optimized=False)
        for k, results in zip(group, found, strict=True):
            for at, operands in enumerate(points[k]):
                want = interpreted(reverses[k], operands)
                for t, w, r in zip(reverses[k].result_types, want, results, strict=True):
                    close(w, r[at], t, str(cases[k]))


def shape_of(t):
    return t.shape if compounds.is_compound(t) else ()


V = np.array
KINKS = [
    ("abs", (0.0,), (1.0,)), ("abs", (-0.0,), (1.0,)), ("min", (2.0, 2.0), (1.0, 0.0)), ("max", (2.0, 2.0), (1.0, 0.0)),
    ("min", (np.nan, 2.0), (0.0, 1.0)), ("min", (2.0, np.nan), (1.0, 0.0)), ("max", (np.nan, 2.0), (0.0, 1.0)),
    ("clamp", (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), ("clamp", (1.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    ("clamp", (2.0, 0.0, 1.0), (0.0, 0.0, 1.0)), ("clamp", (-2.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    ("sign", (0.0,), (0.0,)), ("step", (0.0,), (0.0,)), ("nonzero", (0.0,), (0.0,)), ("floor", (2.0,), (0.0,)),
    ("asin", (1.0,), (0.0,)), ("acos", (-1.0,), (0.0,)), ("acos", (3.0,), (0.0,)), ("pow", (0.0, 2.0), (0.0, 0.0)),
    ("pow", (0.0, 1.0), (1.0, 0.0)), ("pow", (-2.0, 3.0), (12.0, 0.0)), ("length", (V([0.0, 0.0]),), (V([0.0, 0.0]),)),
    ("normalize", (V([0.0, 0.0]),), (V([0.0, 0.0]),)), ("norm_l2", (V([0.0, 0.0]),), (V([0.0, 0.0]),)),
    ("norm_huber", (V([0.0, 0.0]),), (V([0.0, 0.0]),)), ("max", (V([3.0, 3.0]),), (V([1.0, 0.0]),)),
    ("inverse", (np.zeros((2, 2)),), (np.zeros((2, 2)),)), ("copysign", (1e-300, -1.0), (-1.0, 0.0)),
    ("copysign", (-0.0, -1.0), (1.0, 0.0)), ("copysign", (-0.0, 1.0), (-1.0, 0.0)),
    ("copysign", (0.0, -1.0), (-1.0, 0.0)), ("copysign", (1.0, -0.0), (-1.0, 0.0)),
    ("clamp", (np.nan, 0.0, 1.0), (0.0, 1.0, 0.0)), ("smoothstep", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    ("smoothstep", (1.0, 1.0, 0.5), (0.0, 0.0, 0.0)), ("smoothstep", (1.0, 1.0, 2.0), (0.0, 0.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize("name, operands, want", KINKS, ids=lambda x: str(x).replace(" ", ""))
def test_the_slope_at_a_kink_is_a_documented_choice(name, operands, want):
    """The side that wins a tie takes the whole cotangent; a fold of lengths has slope zero at zero."""
    shapes = tuple(np.shape(o) for o in operands)
    case = next(
        c
        for c in ALL
        if c.row.name == name
        and tuple(map(shape_of, c.types)) == shapes
        and all(compounds.scalar_of(t) is float64 for t in c.types)
    )
    seeds = [np.ones(shape_of(t)) for t in case.results]
    found = interpreted(adjoint(called(case)), (*map(np.float64, operands), *map(np.float64, seeds)))
    for w, f in zip(want, found, strict=True):
        np.testing.assert_array_equal(f, w)


def test_stop_gradient_passes_nothing_back():
    case = next(c for c in ALL if c.row.name == "stop_gradient" and c.types == (float64,))
    [found] = interpreted(adjoint(called(case)), (float64(2.0), float64(1.0)))
    assert found == 0.0


def close(want, got, t, what):
    if structs.is_struct(t):
        for name, f in t.fields.items():
            close(want[name], got[name], f, what)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=what)
