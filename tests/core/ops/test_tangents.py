"""Forward mode of every row against central differences, and against reverse mode: <w, J u> = <J^T w, u>.

Rows run inside kernels, so loads and stores of every type take part. The tangent follows from the adjoint
rule of a row, or from a rule of its own; the CPU must give what the interpreter gives.
"""

import numpy as np
import pytest
from reverse_walk import adjoint, has_slope
from row_cases import ALL, random_operands, random_source
from row_devices import array_of, batches, called, interpreted, kernel_of, run_compiled
from test_row_gradients import NAMES, STEP, TOLERANCE, cases_named, inner, shifted

from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import walk
from warpsim.core.ir.verify import verify
from warpsim.core.ops.registry import PURE, rows
from warpsim.core.passes.forward.tangent import float_params, tangent
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.types import structs
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import float64

POINTS = 3


def forward(functions):
    """A kernel over arrays of operands and results with its forward mode along all of them."""
    fn = kernel_of(functions)
    chosen = float_params(fn.params)
    return verify(dce(tangent(fn, chosen))), [slot.position for slot in chosen]


def direction(memory, rng):
    """Random floats in the places of floats; zeros elsewhere."""
    made = np.zeros_like(memory)
    if memory.dtype.names:
        for name in memory.dtype.names:
            made[name] = direction(memory[name], rng)
    elif memory.dtype.kind == "f":
        made[...] = rng.uniform(-1, 1, memory.shape)
    return made


def element(memory, k, t):
    """An element as the interpreter holds it."""
    return HostArray(memory, array_type(t)).load(k)


class Points:
    """Operand arrays of some cases at random points, with directions, and room for results."""

    def __init__(self, cases):
        self.cases, self.memory, self.tangents = cases, [], []
        for case in cases:
            rng = random_source(case)
            columns = zip(*[random_operands(case, rng) for _ in range(POINTS)], strict=True)
            operands = [array_of(list(c), t) for c, t in zip(columns, case.types, strict=True)]
            results = [np.zeros(POINTS, structs.numpy_dtype(t)) for t in case.results]
            self.memory += [*operands, *results]
            self.tangents += [*(direction(m, rng) for m in operands), *map(np.zeros_like, results)]

    def interp(self, fn, positions):
        """Tangents of everything, by the interpreter."""
        made = [m.copy() for m in (*self.memory, *(self.tangents[k] for k in positions))]
        values = [HostArray(m, p.type, p.hint) for m, p in zip(made, fn.params, strict=True)]
        machine = Interpreter(check_numbers=False)
        for k in range(POINTS):
            machine.thread = (k,)
            machine.run(fn.body, values)
        return self.spread(made, positions)

    def compiled(self, fn, positions):
        """The same by machine code."""
        made = [m.copy() for m in (*self.memory, *(self.tangents[k] for k in positions))]
        run_compiled(fn, made, POINTS, optimized=False)
        return self.spread(made, positions)

    def spread(self, made, positions):
        found = list(self.tangents)
        for k, m in zip(positions, made[len(self.memory) :], strict=True):
            found[k] = m
        return found


def disagreement(case, points, found):
    """Results whose tangent is not the difference along the directions, as text; and the two sides of duality."""
    fn, n = called(case), len(case.types)
    reverse = adjoint(fn)
    rng = random_source(case)
    for k in range(POINTS):
        operands = [element(m, k, t) for m, t in zip(points.memory, case.types, strict=False)]
        along = [element(m, k, t) for m, t in zip(points.tangents, case.types, strict=False)]
        ends = [
            interpreted(fn, tuple(shifted(x, u, by, t) for x, u, t in zip(operands, along, case.types, strict=True)))
            for by in (STEP, -STEP)
        ]
        weights = [element(direction(m, rng), k, t) for m, t in zip(points.memory[n:], case.results, strict=True)]
        sloped = [j for j, t in enumerate(case.results) if has_slope(t)]
        got = [element(found[n + j], k, case.results[j]) for j in sloped]
        forward_side = sum(inner(g, weights[j], case.results[j]) for g, j in zip(got, sloped, strict=True))
        ups, downs = ([inner(e[j], weights[j], case.results[j]) for j in sloped] for e in ends)
        want = (sum(ups) - sum(downs)) / (2 * STEP)
        if not abs(forward_side - want) <= TOLERANCE * (1 + abs(want)):
            return f"{case} at {operands}: tangent {forward_side}, difference {want}"
        back = interpreted(reverse, (*operands, *(weights[j] for j in sloped)))
        pairs = [(u, t) for u, t in zip(along, case.types, strict=True) if has_slope(t)]
        reverse_side = sum(inner(b, u, t) for b, (u, t) in zip(back, pairs, strict=True))
        if not abs(forward_side - reverse_side) <= 1e-12 * (1 + abs(reverse_side)):
            return f"{case} at {operands}: forward {forward_side}, reverse {reverse_side}"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_the_tangent_is_the_slope_and_the_dual_of_the_adjoint(name):
    for case in cases_named(name):
        points = Points([case])
        assert disagreement(case, points, points.interp(*forward([called(case)]))) == ""


@pytest.mark.parametrize("name", NAMES[::4])
def test_the_tangent_gives_the_same_on_the_cpu(name):
    cases = cases_named(name)
    functions = [called(case) for case in cases]
    for group in batches(functions, 120):
        points = Points([cases[k] for k in group])
        program = forward([functions[k] for k in group])
        for want, got in zip(points.interp(*program), points.compiled(*program), strict=True):
            same(want, got, str(cases[group[0]]))


def same(want, got, what):
    if want.dtype.names:
        for name in want.dtype.names:
            same(want[name], got[name], what)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("name, counted", [("add", 1), ("mul", 3), ("extract", 1), ("where", 1), ("construct", 1)])
def test_the_tangent_of_a_linear_row_is_what_one_would_write(name, counted):
    """No call is left over from the trace of the rule: of a sum a sum, of a product two products and a sum."""
    case = next(c for c in cases_named(name) if len(c.row.params) == len(c.types) or name == "construct")
    fn, before = forward([called(case)])[0], kernel_of([called(case)])
    moved = ("load", "store", "tid")
    count = [sum(n.op.name not in moved for n in walk(f.body)) for f in (before, fn)]
    assert count == [1, 1 + counted]


def test_stop_gradient_has_no_tangent():
    case = next(c for c in ALL if c.row.name == "stop_gradient" and c.types == (float64,))
    points = Points([case])
    assert np.all(points.interp(*forward([called(case)]))[1] == 0.0)


def test_every_row_with_an_effect_on_floats_has_a_tangent_rule():
    without = {row.name for row in rows() if row.effect != PURE and row.tangent_rule is None}
    assert without == {"printf", "assert", "breakpoint", "atomic_and", "atomic_or", "atomic_xor"}
