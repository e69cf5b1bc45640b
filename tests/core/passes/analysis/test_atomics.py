"""Which atomics need no atomic instruction. A wrong answer here is a lost update somewhere."""

import access_kernels as kernels
import numpy as np
import own_element_kernels as own_kernels
import pytest
from pass_runs import nodes

import warpsim as wp
from warpsim.core.ir.builder import Builder
from warpsim.core.ir.nodes import Call, Function, Region, Value
from warpsim.core.ops import add, load, memory, threads
from warpsim.core.ops.registry import ATOMIC, TABLE
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.types.array_ref import ArrayRef
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import canonical, float32, int32


def classes(plan, fn):
    """The class of every atomic of a program, in order."""
    found = []
    for call in nodes(fn, Call):
        if call.op.effect != ATOMIC:
            continue
        groups = {"own": plan.injective, "shared": plan.uniform, "sum": plan.sums, "local": plan.local}
        found.append(next((name for name, group in groups.items() if call in group), "real"))
    return found


def program(kernel):
    return kernel.program(tuple(kernel.patterns.values()))


@pytest.mark.parametrize("kernel, wanted, facts", kernels.GALLERY)
def test_every_atomic_is_of_its_class(kernel, wanted, facts):
    made = program(kernel)
    assert classes(made.plan, made.fn) == wanted
    names = list(kernel.patterns)
    for name, attributes in facts.items():
        use = made.plan.uses[ArrayRef(names.index(name))]
        assert {a: getattr(use, a) for a in attributes} == attributes, name


def test_whether_every_thread_takes_part_in_a_shared_sum():
    for kernel, always in ((kernels.a_loss, True), (kernels.shared_under_a_condition, False)):
        assert list(program(kernel).plan.uniform.values()) == [always]


@pytest.mark.parametrize("kernel, always", kernels.COMBINED)
def test_sums_and_extremes_at_shared_addresses_can_be_combined(kernel, always):
    plan = program(kernel).plan
    assert list(plan.combined.values()) == always
    integers = kernel.patterns["a"].dtype is int32
    assert plan.lone() == ([ArrayRef(0)] if always and not plan.uniform else [])
    assert not (integers and plan.uniform), "private copies are of floats"
    assert not plan.without_assumptions().combined


def test_atomics_on_arrays_of_unknown_origin_are_listed():
    """Launches look there: such an array may overlap a parameter."""
    assert len(program(kernels.through_a_struct_parameter).plan.unknown) == 1
    assert len(program(kernels.one_of_two).plan.unknown) == 1
    assert program(kernels.a_loss).plan.unknown == []


@pytest.mark.parametrize(
    "kernel, name, read, written",
    [
        (own_kernels.own_element, "a", False, True),
        (kernels.a_loss, "x", True, False),
        (kernels.index_from_a_load, "at", True, False),
        (kernels.one_of_two, "b", False, True),
        (kernels.index_from_a_shape, "b", False, False),
        (own_kernels.own_element_in_a_loop, "n", True, False),
        (kernels.through_a_struct_in_memory, "pairs", False, True),
        (kernels.carried_round_a_loop, "b", False, True),
    ],
)
def test_reads_and_writes_of_parameters(kernel, name, read, written):
    use = program(kernel).uses[ArrayRef(list(kernel.patterns).index(name))]
    assert (use.reads, use.changes) == (read, written)


def test_gradients_are_memory_of_their_own():
    """An atomic on the gradient of a parameter does not write the parameter, and is classified by itself."""
    a = Value(array_type(float32, 1))
    body = Region((a,))
    builder = Builder(body)
    with builder.active():
        i = builder.call(threads.tid.rows[0], (), (int32,), {"ndim": 1})
        memory.atomic_add(TABLE["gradient"](a), 0, load(a, i))
    fn = Function("adjoint", body)
    plan, gradient = analyse(fn), ArrayRef(0, is_grad=True)
    assert classes(plan, fn) == ["shared"] and not plan.unknown and plan.uses.summed == [gradient]
    assert plan.uses[ArrayRef(0)].reads and not plan.uses[ArrayRef(0)].changes and not plan.uses[ArrayRef(0)].summed
    assert plan.uses[gradient].updates and not plan.uses[gradient].reads


def test_a_long_uniform_expression_costs_no_time():
    """An index that doubles forty times is a tree of 2**40 sums to whoever repeats it."""
    a, k = Value(array_type(float32, 1)), Value(int32)
    body = Region((a, k))
    with Builder(body).active():
        index = k
        for _ in range(40):
            index = add(index, index)
        memory.atomic_add(a, index, 1.0)
    fn = Function("doubling", body)
    assert classes(analyse(fn), fn) == ["sum"]


# ----- the same by running ------------------------------------------------------------------

SIDE = 12


def argument(t, device, made):
    """An argument of a type; `made` gets its arrays, of small whole numbers, so that sums are exact in any order."""
    t = canonical(t)
    if t is int32:
        return 2
    if t is kernels.Pair:
        return kernels.Pair(values=argument(kernels.Floats, device, made), at=3)
    if t.dtype is kernels.Pair:
        pairs = [argument(kernels.Pair, device, made) for _ in range(SIDE)]
        return wp.array(pairs, dtype=kernels.Pair, device=device)
    values = np.arange(SIDE**t.ndim).reshape((SIDE,) * t.ndim) % 4
    if t.dtype is wp.vec3:
        values = np.stack([values] * 3, axis=-1)
    made.append(wp.array(values, dtype=t.dtype, device=device))
    if t.indexed:
        return wp.indexedarray(made[-1], [wp.array(np.arange(SIDE)[::-1].copy(), dtype=int, device=device)])
    return made[-1]


def left_by(kernel, device):
    """Every array that a kernel can reach, after a launch."""
    made = []
    arguments = [argument(t, device, made) for t in kernel.patterns.values()]
    wp.launch(kernel, (SIDE - 1,) * (program(kernel).ndim or 1), arguments, device=device)
    return [array.numpy() for array in made]


ORDERED = {
    "own_and_next_element",
    "a_sum_whose_result_is_used",
    "a_sum_whose_result_leaves_a_branch",
    "read_through_a_struct_made_here",
}
"""Kernels in whose memory the order of threads shows: on the CPU that of the interpreter for so few."""


@pytest.mark.parametrize(
    "kernel, wanted, facts",
    [pytest.param(*p.values, id=p.id, marks=[pytest.mark.cpu] * (p.id in ORDERED)) for p in kernels.GALLERY],
)
def test_the_cpu_leaves_what_the_interpreter_leaves(kernel, wanted, facts):
    for simulated, compiled in zip(left_by(kernel, "interp"), left_by(kernel, None), strict=True):
        np.testing.assert_array_equal(compiled, simulated)


N = 200_000


def launched(kernel, *arguments, dim=N):
    wp.launch(kernel, dim, list(arguments))


def zeros(n, dtype=float):
    return wp.zeros(n, dtype=dtype)


def test_a_choice_of_arrays_loses_nothing():
    for k in (0, 1):
        a, b = zeros(1), zeros(1)
        launched(kernels.one_of_two, a, b, k)
        assert (a.numpy()[0], b.numpy()[0]) == ((0, N) if k else (N, 0))


def test_own_elements_and_a_choice_that_meets_them():
    a, b = zeros(N), zeros(1)
    launched(kernels.a_parameter_and_one_of_two, a, b, 1)
    want = np.ones(N)
    want[0] += N
    np.testing.assert_array_equal(a.numpy(), want)


def test_arrays_that_change_places_in_a_loop():
    a, b = zeros(1), zeros(1)
    launched(kernels.carried_round_a_loop, a, b, 5)
    assert (a.numpy()[0], b.numpy()[0]) == (4 * N, 2 * N)


def test_one_array_given_twice():
    a = zeros(N)
    launched(own_kernels.two_parameters_that_may_be_one, a, a)
    np.testing.assert_array_equal(a.numpy(), np.full(N, 2.0))


def test_an_array_and_its_neighbour():
    """Own elements of two views of one memory, shifted: neighbours meet."""
    memory_of_both = zeros(N + 1)
    launched(own_kernels.two_parameters_that_may_be_one, memory_of_both[:N], memory_of_both[1:])
    want = np.full(N + 1, 2.0)
    want[0] = want[N] = 1.0
    np.testing.assert_array_equal(memory_of_both.numpy(), want)


def strided(a, shape, strides):
    """The memory of an array, lying otherwise."""
    return wp.array(ptr=a.ptr, dtype=a.dtype, shape=shape, strides=strides)


def test_an_array_whose_elements_are_one():
    """Strides of zero: every element is the same memory, so neither is it a thread's own nor can it be copied."""
    cell = zeros(1)
    launched(own_kernels.own_element, strided(cell, (N,), (0,)))
    assert cell.numpy()[0] == N
    launched(own_kernels.index_from_memory, strided(cell, (100,), (0,)), wp.array(np.arange(N, dtype=np.int32) % 100))
    assert cell.numpy()[0] == 2 * N


def test_an_array_whose_rows_overlap():
    cells = zeros(N + 1)
    launched(own_kernels.own_element_of_a_grid, strided(cells, (N, 2), (4, 4)), dim=(N, 2))
    want = np.full(N + 1, 2.0)
    want[0] = want[N] = 1.0
    np.testing.assert_array_equal(cells.numpy(), want)


@pytest.mark.cpu(reason="on a GPU it shows which thread was first")
def test_a_struct_that_holds_the_array_beside_it():
    a = zeros(N)
    p = kernels.Pair()
    p.values, p.at = a, 0
    launched(kernels.through_a_struct_parameter, p, a)
    np.testing.assert_array_equal(a.numpy(), np.ones(N))


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_a_shared_sum_that_few_or_no_threads_take_part_in(x):
    a = zeros(1)
    given = np.full(N, -1.0, np.float32)
    given[::1000] = x
    launched(kernels.shared_under_a_condition, a, wp.array(given))
    assert a.numpy()[0] == (N // 1000 if x > 0 else 0)
