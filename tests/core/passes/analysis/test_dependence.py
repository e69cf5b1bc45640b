"""Which write may touch what a read touches, and when: read off the source, checked by running it."""

import pytest
from adjoint_runs import types_of

import warpsim as wp
from warpsim.core.passes.analysis.dependence import AFTER, BEFORE, Dependences

Floats, Ints, Grid = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=float, ndim=2)
Vectors = wp.array(dtype=wp.vec3)


@wp.struct
class Pair:
    left: float
    right: float


Pairs = wp.array(dtype=Pair)


@wp.kernel
def own_element(a: Floats):
    i = wp.tid()
    a[i] = a[i] * 2.0


@wp.kernel
def neighbour(a: Floats):
    i = wp.tid()
    a[i] = a[i + 1]


@wp.kernel
def two_calls_of_tid(a: Floats):
    a[wp.tid() + 1] = a[1 + wp.tid()]


@wp.kernel
def read_after_write(a: Floats, b: Floats):
    i = wp.tid()
    a[2 * i] = 1.0
    b[i] = a[i * 2]


@wp.kernel
def any_index(a: Floats, at: Ints):
    i = wp.tid()
    a[at[i]] = a[i]


@wp.kernel
def recurrence(a: Floats, n: int):
    for k in range(n):
        a[k + 1] = a[k]


@wp.kernel
def recurrence_downwards(a: Floats, n: int):
    for k in range(n, 0, -1):
        a[k + 1] = a[k]


@wp.kernel
def step_unknown(a: Floats, n: int, step: int):
    for k in range(0, n, step):
        a[k + 1] = a[k]


@wp.kernel
def every_second(a: Floats, n: int):
    for k in range(n):
        a[2 * k] = a[2 * k + 1]


@wp.kernel
def fixed_in_a_loop(a: Floats, n: int):
    for _ in range(n):
        a[0] = a[0] * 2.0


@wp.kernel
def row_of_each_round(a: Grid, n: int):
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] * 2.0


@wp.kernel
def row_above(a: Grid, n: int):
    for i in range(1, n):
        for j in range(n):
            a[i, j] = a[i - 1, j]


@wp.kernel
def along_the_row(a: Grid, n: int):
    for i in range(n):
        row = a[i]
        for j in range(n):
            row[j + 1] = row[j]


@wp.kernel
def same_columns_every_time(a: Grid, n: int):
    for _ in range(n):
        for j in range(n):
            a[0, j] = a[0, j] * 2.0


@wp.kernel
def counted_by_a_while(a: Floats, n: int):
    k = 0
    while k < n:
        a[k] = a[k + 1]
        k += 2


@wp.kernel
def left_by_break(a: Floats, n: int):
    for k in range(1, n):
        if a[k] > 3.0:
            break
        a[k - 1] = 1.0


@wp.kernel
def first_round_writes_the_end(a: Floats, n: int):
    for k in range(n):
        a[k - 1] = a[k]


@wp.kernel
def first_and_last(a: Floats):
    a[-1] = a[2]


@wp.kernel
def last_two(a: Floats):
    a[-1] = a[-2]


@wp.kernel
def beside_an_argument(a: Floats, n: int):
    a[n + 1] = a[n]


@wp.kernel
def on_two_sides(a: Floats, b: Floats, n: int):
    i = wp.tid()
    if i < n:
        a[i] = 1.0
    else:
        b[i] = a[i]


@wp.kernel
def two_fields(a: Pairs):
    i = wp.tid()
    a[i].left *= 2.0
    a[i].right = 1.0


@wp.kernel
def two_components(a: Vectors):
    i = wp.tid()
    a[i][1] *= 2.0
    a[i].x = 1.0


@wp.kernel
def a_component_of_the_whole(a: Vectors, b: Vectors):
    i = wp.tid()
    a[i].x = 1.0
    b[i] = a[i]


def orders(kernel):
    """What the writes to parameter `a` mean to the first read of it."""
    fn = kernel.program(types_of(kernel)).fn
    dependences = Dependences(fn)
    accesses = [a for a in dependences.accesses if a.base.holder is fn.params[0]]
    read = next(a for a in accesses if not a.writes)
    return set().union(*(dependences.order(read, a) for a in accesses if a.writes))


@pytest.mark.parametrize(("kernel", "want"), [
    (own_element, {AFTER}), (neighbour, set()), (two_calls_of_tid, {AFTER}), (read_after_write, {BEFORE}),
    (any_index, {AFTER}), (recurrence, {BEFORE}), (recurrence_downwards, {AFTER}), (step_unknown, {BEFORE, AFTER}),
    (every_second, set()), (fixed_in_a_loop, {BEFORE, AFTER}), (row_of_each_round, {AFTER}), (row_above, {BEFORE}),
    (along_the_row, {BEFORE}), (same_columns_every_time, {BEFORE, AFTER}), (counted_by_a_while, {AFTER}),
    (left_by_break, {AFTER}), (first_round_writes_the_end, {BEFORE, AFTER}), (first_and_last, {AFTER}),
    (last_two, set()), (beside_an_argument, {AFTER}), (on_two_sides, set()), (two_fields, {AFTER}),
    (two_components, {AFTER}), (a_component_of_the_whole, {BEFORE}),
], ids=lambda v: getattr(v, "key", None))  # fmt: skip
def test_order_of_writes(kernel, want):
    assert orders(kernel) == want


@pytest.mark.parametrize("kernel", [two_fields, two_components])
def test_parts_of_an_element_are_apart(kernel):
    """The read is of one part; of the two writes only that to the same part may touch it."""
    fn = kernel.program(types_of(kernel)).fn
    dependences = Dependences(fn)
    read, same, other = dependences.accesses
    assert dependences.order(read, same) == {AFTER} and dependences.order(read, other) == set()


def test_arrays_through_a_choice_are_vague():
    @wp.kernel
    def chosen(a: Floats, b: Floats, n: int):
        i = wp.tid()
        c = a
        if n > i:
            c = b
        c[i] = 1.0

    fn = chosen.program(types_of(chosen)).fn
    found = Dependences(fn)
    assert {root.holder for root in found.vague} == {fn.params[0], fn.params[1]} and found.vague == found.written
