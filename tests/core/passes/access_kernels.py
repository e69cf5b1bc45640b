"""Kernels with atomics of every class, and every trick that could mislead a classification.

Each says what its atomics are, in order: `own` (the thread's element alone), `shared` (a sum at an
address on which all threads agree), `sum` (a sum that private copies can take), `local` (the
thread's stack), `real` (everything else).
"""

import pytest

import warpsim as wp

Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
Grid, Vectors = wp.array(dtype=float, ndim=2), wp.array(dtype=wp.vec3)


@wp.struct
class Pair:
    values: wp.array(dtype=float)
    at: int


@wp.struct
class Deep:
    pair: Pair
    scale: float


Pairs = wp.array(dtype=Pair)


GALLERY = []


def expected(*wanted, **facts):
    """Note a kernel with the classes of its atomics, and the uses of parameters worth checking."""

    def add_to_gallery(function):
        made = wp.kernel(function)
        GALLERY.append(pytest.param(made, list(wanted), facts, id=function.__name__))
        return made

    return add_to_gallery


# ----- sums ---------------------------------------------------------------------------------


@expected("shared", a={"summed": True, "gathered": True, "reads": False, "changes": True})
def a_loss(a: Floats, x: Floats):
    i = wp.tid()
    wp.atomic_add(a, 0, x[i])


@expected("shared")
def a_loss_by_assignment(a: Floats, x: Floats):
    i = wp.tid()
    a[0] += x[i]


@expected("shared")
def index_from_a_parameter(a: Floats, k: int):
    wp.atomic_sub(a, 2 * k + 1, 1.0)


@expected("shared")
def index_from_a_struct_parameter(a: Floats, p: Pair):
    wp.atomic_add(a, p.at, 1.0)


@expected("shared")
def index_from_a_shape(a: Floats, b: Floats):
    wp.atomic_add(a, b.shape[0] - 1, 1.0)


@expected("shared")
def shared_row(g: Grid, k: int):
    wp.atomic_add(g[k], k, 1.0)


@expected("shared", a={"gathered": True})
def shared_under_a_condition(a: Floats, x: Floats):
    i = wp.tid()
    if x[i] > 0.0:
        wp.atomic_add(a, 0, x[i])


@expected("sum")
def index_from_a_load(a: Floats, at: Ints):
    wp.atomic_add(a, at[0], 1.0)


@expected("sum")
def index_from_a_branch(a: Floats, k: int):
    i = wp.tid()
    j = k
    if i > 5:
        j = k + 1
    wp.atomic_add(a, j, 1.0)


@expected("sum")
def index_from_a_loop(a: Floats, n: int):
    for k in range(n):
        wp.atomic_add(a, k, 1.0)


@expected("sum", "shared", a={"summed": True, "gathered": False})
def shared_and_scattered(a: Floats, at: Ints):
    i = wp.tid()
    wp.atomic_add(a, at[i], 1.0)
    wp.atomic_add(a, 0, 1.0)


@expected("real", a={"summed": False})
def a_sum_whose_result_is_used(a: Floats, x: Floats):
    i = wp.tid()
    x[i] = wp.atomic_add(a, 0, 1.0)


@expected("real")
def a_sum_whose_result_leaves_a_branch(a: Floats, x: Floats):
    i = wp.tid()
    old = float(0.0)
    if x[i] > 0.0:
        old = wp.atomic_add(a, 0, 1.0)
    x[i] = old


@expected("real", a={"summed": False, "reads": True})
def a_sum_that_is_also_read(a: Floats, x: Floats):
    i = wp.tid()
    wp.atomic_add(a, 0, x[i])
    x[i] = a[1]


@expected("real", "real")
def a_sum_and_an_extreme(a: Floats, x: Floats):
    i = wp.tid()
    wp.atomic_add(a, 0, x[i])
    wp.atomic_max(a, 1, x[i])


@expected("real")
def an_integer_sum(a: Ints):
    wp.atomic_add(a, 0, 1)


# ----- arrays by other ways -----------------------------------------------------------------


@expected("real", a={"summed": False, "changes": True}, b={"summed": False, "changes": True})
def one_of_two(a: Floats, b: Floats, k: int):
    """The choice is the same for all threads, but nobody knows it here."""
    c = a
    if k > 0:
        c = b
    wp.atomic_add(c, 0, 1.0)


@expected("real", "real", a={"summed": False})
def a_parameter_and_one_of_two(a: Floats, b: Floats, k: int):
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)
    c = b
    if k > 0:
        c = a
    wp.atomic_add(c, 0, 1.0)


@expected("real", a={"reads": True, "summed": False})
def a_sum_read_through_another_name(a: Floats, b: Floats, k: int):
    i = wp.tid()
    wp.atomic_add(a, 0, 1.0)
    c = b
    if k > 0:
        c = a
    b[i] = c[1]


@expected("real", "real", a={"summed": False})
def through_a_struct_parameter(p: Pair, a: Floats):
    i = wp.tid()
    wp.atomic_add(p.values, i, 1.0)
    wp.atomic_max(a, 0, 1.0)


@expected("shared", a={"summed": True})
def through_a_struct_made_here(a: Floats):
    p = Pair(values=a, at=0)
    wp.atomic_add(p.values, 0, 1.0)


@expected("real", a={"summed": False, "reads": True})
def read_through_a_struct_made_here(a: Floats, b: Floats):
    i = wp.tid()
    d = Deep(pair=Pair(values=a, at=3), scale=2.0)
    wp.atomic_add(a, 0, 1.0)
    b[i] = d.pair.values[i]


@expected("real", a={"summed": False})
def through_a_struct_in_memory(a: Floats, pairs: Pairs):
    """What is stored may be loaded by any thread."""
    i = wp.tid()
    pairs[i] = Pair(values=a, at=0)
    wp.atomic_add(a, 0, 1.0)


@expected("real", pairs={"reads": True, "changes": False})
def loaded_with_a_struct(pairs: Pairs):
    i = wp.tid()
    p = pairs[i]
    wp.atomic_add(p.values, 0, 1.0)


@expected("real", "real", a={"summed": False}, b={"summed": False})
def carried_round_a_loop(a: Floats, b: Floats, n: int):
    """x and y change places in every trip."""
    x = a
    y = b
    for _k in range(n):
        wp.atomic_add(x, 0, 1.0)
        t = x
        x = y
        y = t
    wp.atomic_add(y, 0, 1.0)


# ----- local arrays -------------------------------------------------------------------------


@expected("local", "local", "own")
def the_stack(a: Floats, at: Ints):
    i = wp.tid()
    seen = wp.zeros(shape=(4, 2), dtype=float)
    wp.atomic_add(seen, at[i], 0, 1.0)
    wp.atomic_max(seen[1], 1, 2.0)
    wp.atomic_add(a, i, seen[1, 1])


@expected("local")
def one_of_two_on_the_stack(a: Floats, at: Ints):
    i = wp.tid()
    x = wp.zeros(shape=2, dtype=float)
    y = wp.zeros(shape=2, dtype=float)
    z = x
    if at[i] > 0:
        z = y
    wp.atomic_add(z, 0, 1.0)
    a[i] = x[0] - y[0]


# ----- sums and extremes at shared addresses ------------------------------------------------

COMBINED = []


def combined(*always):
    """Note a kernel with what its atomics on `a` are in order: combined from every thread, or from some."""

    def add_to_gallery(function):
        COMBINED.append(pytest.param(wp.kernel(function), list(always), id=function.__name__))
        return function

    return add_to_gallery


@combined(True, False)
def counters(a: Ints, x: Floats):
    i = wp.tid()
    wp.atomic_add(a, 0, 1)
    if x[i] > 0.0:
        wp.atomic_sub(a, 1, 2)


@combined(True, True)
def largest_of_floats(a: Vectors, x: Vectors, n: int):
    i = wp.tid()
    wp.atomic_max(a, n + 1, x[i])
    wp.atomic_max(a, n, x[i])


@combined(True)
def a_sum_of_floats(a: Floats, x: Floats):
    wp.atomic_add(a, 0, x[wp.tid()])


@combined()
def kinds_that_do_not_commute(a: Ints, x: Ints):
    i = wp.tid()
    wp.atomic_add(a, 0, x[i])
    wp.atomic_max(a, 1, x[i])


@combined()
def an_answer_that_is_read(a: Ints, x: Ints):
    i = wp.tid()
    x[i] = wp.atomic_add(a, 0, 1)


@combined()
def elements_that_are_read(a: Ints, x: Ints):
    i = wp.tid()
    wp.atomic_min(a, 0, x[i])
    x[i] = a[1]


@combined()
def elements_of_views_that_differ(a: Grid, x: Floats):
    i = wp.tid()
    row = a[i]
    wp.atomic_max(row, 0, x[i])


@combined(True)
def some_addresses_differ(a: Ints, x: Ints):
    i = wp.tid()
    wp.atomic_max(a, x[i], 3)
    wp.atomic_max(a, 0, 2)
