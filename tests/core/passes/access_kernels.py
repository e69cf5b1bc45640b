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


# ----- the thread's own element -------------------------------------------------------------


@expected("own")
def own_element(a: Floats):
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)


@expected("own", "own")
def own_element_with_loads_and_stores(a: Floats):
    i = wp.tid()
    a[i] = a[i] * 2.0
    wp.atomic_max(a, i, 1.0)
    if a[i] > 3.0:
        wp.atomic_sub(a, i, 1.0)


@expected("own")
def own_element_twice_asked(a: Floats):
    i = wp.tid()
    j = wp.tid()
    wp.atomic_add(a, i, 1.0)
    a[j] = 2.0


@expected("own")
def own_element_of_a_grid(g: Grid):
    i, j = wp.tid()
    wp.atomic_add(g, i, j, 1.0)


@wp.func
def add_here(a: Floats, value: float):
    wp.atomic_add(a, wp.tid(), value)


@expected("own")
def own_element_by_the_tid_of_a_function(a: Floats):
    add_here(a, 2.0)


@expected("own")
def own_element_in_a_loop(a: Floats, n: Ints):
    i = wp.tid()
    for k in range(n[i]):
        wp.atomic_add(a, i, float(k))


@expected("sum")
def next_element(a: Floats):
    i = wp.tid()
    wp.atomic_add(a, i + 1, 1.0)


@expected("real")
def own_and_next_element(a: Floats):
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)
    a[i + 1] = 0.0


@expected("real")
def own_element_and_a_look_at_another(a: Floats):
    i = wp.tid()
    if a[0] > 0.0:
        wp.atomic_max(a, i, 1.0)


@expected("own")
def transposed_element(g: Grid):
    i, j = wp.tid()
    wp.atomic_add(g, j, i, 1.0)


@expected("own", "own")
def element_and_transposed_element(g: Grid, h: Grid):
    i, j = wp.tid()
    wp.atomic_add(g, i, j, 1.0)
    wp.atomic_add(h, j, i, g[i, j])


@expected("sum", "sum")
def element_and_its_mirror(g: Grid):
    i, j = wp.tid()
    wp.atomic_add(g, i, j, 1.0)
    wp.atomic_add(g, j, i, 1.0)


@expected("own", "own")
def own_row(g: Grid, n: Ints):
    i = wp.tid()
    for k in range(n[i]):
        g[i, k] = g[i, k - 1] + 1.0
        wp.atomic_add(g, i, n[k], 1.0)
        wp.atomic_max(g, i, -1, 1.0)


@expected("own")
def own_column(g: Grid, n: Ints):
    i = wp.tid()
    wp.atomic_min(g, n[i], i, 1.0)


@expected("own")
def own_row_as_a_view(g: Grid, n: Ints):
    row = g[wp.tid()]
    wp.atomic_min(row, n[0], row[1])


@expected("own")
def own_element_of_one_row(g: Grid):
    row = g[2]
    wp.atomic_add(row, wp.tid(), 1.0)


@expected("own")
def own_component(v: Vectors):
    i = wp.tid()
    v[i][1] += 1.0


@expected("own")
def component_of_own_row(v: wp.array2d(dtype=wp.vec3), n: Ints):
    i = wp.tid()
    v[i, n[i]][1] += 1.0


@expected("real", "real")
def own_row_and_a_look_at_another(g: Grid):
    i = wp.tid()
    wp.atomic_add(g, i, 2, 1.0)
    if g[i + 1, 2] > 0.0:
        wp.atomic_add(g, i, 2, 1.0)


@expected("sum", "sum")
def row_and_column(g: Grid):
    i = wp.tid()
    wp.atomic_add(g, i, 2, 1.0)
    wp.atomic_add(g, 2, i, 1.0)


@expected("sum")
def part_of_the_thread(g: Grid):
    i, j = wp.tid()
    wp.atomic_add(g, i, j // 2, 1.0)


@expected("sum")
def the_same_index_twice(g: Grid):
    i, _j = wp.tid()
    wp.atomic_add(g, i, i, 1.0)


@expected("sum")
def part_of_the_index(a: Floats):
    _i, j = wp.tid()
    wp.atomic_add(a, j, 1.0)


@expected("sum")
def index_from_memory(a: Floats, at: Ints):
    i = wp.tid()
    wp.atomic_add(a, at[i], 1.0)


@expected("real")
def own_element_through_a_table(a: wp.indexedarray(dtype=float)):
    i = wp.tid()
    wp.atomic_max(a, i, 1.0)


@expected("own", "own")
def two_parameters_that_may_be_one(a: Floats, b: Floats):
    """Each is own; that a launch was given one array twice is seen at the launch."""
    i = wp.tid()
    wp.atomic_add(a, i, 1.0)
    wp.atomic_add(b, i, 1.0)


# ----- sums ---------------------------------------------------------------------------------


@expected("shared", a={"summed": True, "gathered": True, "read": False, "written": True})
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


@expected("real", a={"summed": False, "read": True})
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


@expected("real", a={"summed": False, "written": True}, b={"summed": False, "written": True})
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


@expected("real", a={"read": True, "summed": False})
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


@expected("real", a={"summed": False, "read": True})
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


@expected("real", pairs={"read": True, "written": False})
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
