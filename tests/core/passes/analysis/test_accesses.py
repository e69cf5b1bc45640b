"""What analyses of memory learn of the accesses of shared functions: as if these were inlined at every call."""

import numpy as np
import pytest
from shared_kernels import TABLE, X, arrays, bend_long, bent, functions, program

import warpsim as wp
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.passes.analysis.decisions import deciding
from warpsim.core.passes.analysis.lanes import is_regular
from warpsim.core.passes.analysis.splitting import affine_indices
from warpsim.errors import NotDifferentiableError, WarpsimError


@wp.struct
class Tables:
    read: wp.array(dtype=float)
    spare: wp.array(dtype=float)


@wp.func(nondiff="a guess")
def first_of(table: wp.array(dtype=float), x: float) -> float:
    return table[0] + bend_long(x)


@wp.func(nondiff="a guess")
def first_in(tables: Tables, x: float) -> float:
    return tables.read[0] + bend_long(x)


@wp.func(nondiff="a guess")
def first_behind(rows: wp.array(dtype=Tables), x: float) -> float:
    return rows[0].read[0] + 0.0 * bend_long(x)


@wp.func
def first_five(a: wp.array(dtype=float), b: wp.array(dtype=float), x: float):
    return first_of(a, x) + first_of(b, x) + first_of(a, x + 0.1) + first_of(b, x + 0.1) + first_of(a, x + 0.2)


@wp.kernel
def from_two(a: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = first_five(a, b, x[i]) + first_five(b, a, x[i]) + first_five(a, b, 2.0 * x[i]) + first_five(b, a, 3.0 * x[i])


def test_an_array_of_two_that_it_reads_must_be_given():
    assert functions(from_two)
    table, x, y = arrays("cpu")
    with pytest.raises(WarpsimError, match="array 'b' of kernel 'from_two' is None"):
        wp.launch(from_two, len(X), [table, None, x, y], device="cpu")


@wp.func
def in_five(s: Tables, x: float):
    return first_in(s, x) + first_in(s, x + 0.1) + first_in(s, x + 0.2) + first_in(s, x + 0.3) + first_in(s, x + 0.4)


@wp.kernel
def from_struct(s: Tables, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * (in_five(s, x[i]) + in_five(s, 2.0 * x[i]) + in_five(s, 3.0 * x[i]) + in_five(s, 4.0 * x[i]))


def test_an_array_of_a_struct_that_it_does_not_read_may_change_before_backward():
    assert functions(from_struct)
    tables, (table, x, y) = Tables(), arrays("cpu", requires_grad=True)
    tables.read, tables.spare = table, wp.zeros_like(table)
    with wp.Tape() as tape:
        wp.launch(from_struct, len(X), [tables, x, y], device="cpu")
    tables.spare.fill_(3.0)
    tape.backward(grads={y: wp.ones_like(y)})
    np.testing.assert_allclose(x.grad.numpy()[X != 0], (y.numpy() / np.where(X == 0, 1, X))[X != 0], rtol=1e-5)
    tables.read = None
    with pytest.raises(WarpsimError, match="an array in it is None"):
        wp.launch(from_struct, len(X), [tables, x, y], device="cpu")


@wp.func
def behind_five(t: wp.array(dtype=Tables), x: float):
    return (
        first_behind(t, x) + first_behind(t, x + 0.1) + first_behind(t, x + 0.2)
        + first_behind(t, x + 0.3) + first_behind(t, x + 0.4)
    )  # fmt: skip


@wp.kernel
def from_elements(
    t: wp.array(dtype=Tables), x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)
):
    i = wp.tid()
    u = behind_five(t, x[i]) + behind_five(t, 2.0 * x[i])
    z[i] = 5.0
    y[i] = x[i] * (u + behind_five(t, x[i]) + behind_five(t, 2.0 * x[i]))


def test_what_it_reads_through_elements_must_not_be_what_the_kernel_wrote():
    assert functions(from_elements)
    tables, x, y = Tables(), *(wp.array(np.ones(1, np.float32), requires_grad=True, device="cpu") for _ in range(2))
    tables.read = wp.array(np.full(1, 2.0, np.float32), device="cpu")
    rows = wp.array([tables], dtype=Tables, device="cpu")
    with pytest.raises(NotDifferentiableError, match="overlap"), wp.Tape() as tape:
        wp.launch(from_elements, 1, [rows, x, y, tables.read], device="cpu")
        tape.backward(grads={y: wp.ones_like(y)})


@wp.func(nondiff="a choice")
def chosen(d: wp.array(dtype=float), x: float) -> int:
    k = int(0)
    if d[1] < d[0]:
        k = 1
    if bend_long(x) > 50.0:
        k = 2
    return k


@wp.func
def chosen_five(d: wp.array(dtype=float), x: float):
    return chosen(d, x) + chosen(d, x + 0.1) + chosen(d, x + 0.2) + chosen(d, x + 0.3) + chosen(d, x + 0.4)


@wp.kernel(fast_math=True)
def choices(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    d = wp.zeros(shape=2, dtype=float)
    d[0] = x[i] * 3.0 + 1.0
    d[1] = x[i] * x[i] + 0.5
    y[i] = float(chosen_five(d, x[i]) + chosen_five(d, 2.0 * x[i]) + chosen_five(d, 0.5 * x[i]) + chosen_five(d, 0.1))


def test_what_it_decides_by_is_computed_without_fast_mathematics():
    body = program(choices).fn.body
    assert functions(choices)
    calls = [node for node in walk(body) if isinstance(node, Call)]
    made = {result: call for call in calls for result in call.results}
    stored = [made[call.args[-1]] for call in calls if call.op.name == "store" and call.args[0] in made]
    assert len(stored) == 2
    assert deciding(program(choices).fn).issuperset(stored)


@wp.func(nondiff="a number")
def at(table: wp.array(dtype=float), i: int) -> float:
    return bend_long(table[i])


@wp.func
def at_five(t: wp.array(dtype=float), i: int):
    return at(t, i) + at(t, i - 1) + at(t, i + 1) + at(t, -i) + at(t, i - 3)


@wp.kernel
def by_index(t: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = at_five(t, i) + 2.0 * at_five(t, i) + 3.0 * at_five(t, i) + 4.0 * at_five(t, i)


def test_arguments_of_functions_are_no_indices():
    made = program(by_index)
    assert functions(by_index)
    assert affine_indices(made.fn, made.plan).keys() <= {(c, k) for c, k in made.plan.ranges.indices}
    assert not is_regular(made.fn, made.plan)
    (table, _, y), i = arrays("cpu"), np.arange(len(X))
    wp.launch(by_index, len(X), [table, y], device="cpu")
    expected = sum(bent(TABLE[k]) for k in (i, i - 1, i + 1, -i, i - 3))
    np.testing.assert_allclose(y.numpy(), 10.0 * expected, rtol=1e-5)
