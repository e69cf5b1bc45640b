"""Kernels with atomics on elements of the thread's own, and some that look like them."""

from access_kernels import Floats, Grid, Ints, Vectors, expected

import warpsim as wp


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
