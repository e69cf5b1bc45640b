"""Which kernels may run in lanes, and for which that pays."""

import pytest
from pass_runs import lowered

import warpsim as wp
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.passes.analysis.divergence import varying
from warpsim.core.passes.analysis.lanes import OneByOne, checked_plan, is_regular, lane_plan
from warpsim.core.passes.simplify.inline import inline

Floats, Ints, Vectors = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=wp.vec3)


def plan(kernel, width=16):
    program = inline(lowered(kernel))
    return lane_plan(program, analyse(program), width)


@wp.kernel
def springs(x: Vectors, ends: Ints, f: Vectors):
    e = wp.tid()
    i, j = ends[2 * e], ends[2 * e + 1]
    d = x[i] - x[j]
    force = d * (1.0 - 0.1 / wp.length(d))
    wp.atomic_sub(f, i, force)
    wp.atomic_add(f, j, force)


@wp.kernel
def bending(x: Vectors, corners: Ints, f: Vectors):
    e = wp.tid()
    i, j, k = corners[3 * e], corners[3 * e + 1], corners[3 * e + 2]
    a, b = x[j] - x[i], x[k] - x[i]
    n, m = wp.normalize(wp.cross(a, b)), wp.normalize(wp.cross(a - b, b))
    angle = wp.atan2(wp.dot(wp.cross(n, m), wp.normalize(a)), wp.dot(n, m))
    wp.atomic_add(f, i, (n + m) * angle)
    wp.atomic_sub(f, j, wp.cross(n, m) * wp.sin(angle))
    wp.atomic_sub(f, k, wp.cross(a, n) * wp.cos(angle))


@wp.kernel
def integrate(x: Vectors, v: Vectors, f: Vectors):
    i = wp.tid()
    speed = v[i] + f[i] * 0.01
    v[i] = speed * wp.exp(-0.1 * wp.length(speed)) * wp.cos(speed[0]) * wp.sin(speed[1]) * wp.tan(speed[2])
    x[i] = x[i] + speed


@wp.kernel
def escapes(c: Floats, n: Ints):
    i = wp.tid()
    x, y, k = float(0.0), float(0.0), int(0)
    while x * x + y * y < 4.0 and k < 100:
        x, y, k = x * x - y * y + c[i], 2.0 * x * y + 0.3, k + 1
    n[i] = k


def test_lanes_pay_where_arithmetic_outweighs_what_is_moved_one_by_one():
    assert plan(bending).pays and not plan(springs).pays


def test_what_llvm_vectorises_by_itself_is_left_to_it():
    assert not plan(integrate).pays


def test_loops_that_end_at_different_times_are_for_lanes():
    assert plan(escapes).pays


@wp.kernel
def in_place(x: Floats, at: Ints):
    i = wp.tid()
    x[i] = x[i] * 2.0


@wp.kernel
def reads_again(x: Floats, at: Ints):
    i = wp.tid()
    x[i] = 1.0
    x[i] = x[i] * 2.0


@wp.kernel
def gathers_what_it_writes(x: Floats, at: Ints):
    i = wp.tid()
    x[i] = x[at[i]] * 2.0


@wp.kernel
def uses_the_old_value(x: Floats, at: Ints):
    i = wp.tid()
    at[i] = at[i] + int(wp.atomic_add(x, 0, 1.0))


@wp.kernel
def writes_in_a_loop(x: Floats, at: Ints):
    i = wp.tid()
    for k in range(at[i]):
        x[k] = 1.0


@wp.kernel
def adds_in_a_loop_where_its_index_says(x: Floats, at: Ints):
    i = wp.tid()
    for k in range(at[0]):
        wp.atomic_add(x, i + k, 1.0)


@wp.kernel
def stores_where_all_add(x: Floats, at: Ints):
    i = wp.tid()
    for k in range(at[0]):
        wp.atomic_add(x, k, 1.0)
    x[at[i]] = 2.0


@wp.kernel
def reads_where_all_add(x: Floats, at: Ints):
    i = wp.tid()
    for k in range(at[0]):
        wp.atomic_add(x, k, x[i])


@wp.kernel
def prints(x: Floats, at: Ints):
    print(x[wp.tid()])


@wp.kernel
def on_the_stack(x: Floats, at: Ints):
    a = wp.zeros(shape=3, dtype=float)
    a[at[wp.tid()] & 1] = 1.0
    x[wp.tid()] = a[0]


@wp.kernel
def in_few_bits(x: wp.array(dtype=wp.bfloat16), at: Ints):
    i = wp.tid()
    x[i] = x[i] * wp.bfloat16(2.0)


def test_numbers_that_memory_holds_in_another_form_are_for_single_threads():
    assert plan(in_few_bits) is None


def test_own_elements_may_be_read_before_they_are_written():
    assert plan(in_place) is not None


@pytest.mark.parametrize(
    "kernel",
    [
        reads_again, gathers_what_it_writes, uses_the_old_value, writes_in_a_loop, prints, on_the_stack,
        adds_in_a_loop_where_its_index_says, stores_where_all_add, reads_where_all_add,
    ],
    ids=lambda kernel: kernel.key,
)
def test_threads_that_need_their_order_have_no_plan(kernel):
    assert plan(kernel) is None


REASONS = {
    "a thread may read what another one writes": (reads_again, gathers_what_it_writes, reads_where_all_add),
    "it uses what an atomic returns": (uses_the_old_value,),
    "it writes in a loop": (writes_in_a_loop, adds_in_a_loop_where_its_index_says),
    "it writes to an array that it sums into in a loop": (stores_where_all_add,),
    "it calls printf, which has no form for lanes": (prints,),
    "it calls local_array, which has no form for lanes": (on_the_stack,),
}


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_are_told(reason):
    for kernel in REASONS[reason]:
        program = inline(lowered(kernel))
        with pytest.raises(OneByOne, match=f"^{reason}$"):
            checked_plan(program, analyse(program), 16)


def test_regular_kernels_are_those_without_loops_and_scattered_elements():
    regular = {kernel.key for kernel in (integrate, in_place, springs, escapes, uses_the_old_value) if is_plain(kernel)}
    assert regular == {"integrate", "in_place"}


def is_plain(kernel):
    program = inline(lowered(kernel))
    return is_regular(program, analyse(program))


@wp.kernel
def adds_to_a_shared_row(x: Floats, at: Ints, f: Floats):
    i = wp.tid()
    for k in range(at[0]):
        if x[i] > x[at[k]]:
            wp.atomic_add(f, at[k], x[i])
    wp.atomic_add(f, i, x[i])


def test_sums_in_loops_to_elements_that_all_share_are_joint():
    joined = plan(adds_to_a_shared_row)
    assert len(joined.joint) == 1 and len(joined.put_off) == 1
    assert {(one.holder.hint, other.holder.hint) for one, other in joined.apart} == {("f", "x"), ("f", "at")}


@wp.kernel
def clears_in_clusters(x: Floats, at: Ints):
    c, lane = wp.tid()
    i = 16 * c + lane
    y = x[i]
    x[i] = y * wp.float32(at[c])


@wp.kernel
def clears_from_either_end(x: Floats, at: Ints):
    i = wp.tid() - 3
    y = x[i]
    x[i] = 2.0 * y


def test_elements_of_a_cluster_are_their_threads_own():
    assert plan(clears_in_clusters) is not None
    assert plan(clears_from_either_end) is None, "the last elements may be those of other threads, too"


def test_arrays_that_must_lie_apart_are_those_written_and_others_read():
    pairs = {(one.holder.hint, other.holder.hint) for one, other in plan(springs).apart}
    assert pairs == {("f", "x"), ("f", "ends")}


def test_what_differs_between_threads():
    program = inline(lowered(escapes))
    differs = varying(program)
    load = next(node for node in program.body.nodes if node.results and node.results[0].hint == "i")
    assert load.results[0] in differs
    assert not any(p in differs for p in program.params)


# ----- arrays in structs ----------------------------------------------------------------------


@wp.struct
class Moving:
    x: Vectors
    v: Vectors


@wp.kernel
def steps(moving: Moving, f: Vectors):
    i = wp.tid()
    speed = moving.v[i] + f[i] * 0.01
    moving.v[i] = speed
    moving.x[i] = moving.x[i] + speed


@wp.kernel
def follows(moving: Moving):
    i = wp.tid()
    moving.x[i] = moving.x[i + 1] + moving.v[i]


@wp.kernel
def steps_in_memory(all_moving: wp.array(dtype=Moving)):
    i = wp.tid()
    moving = all_moving[0]
    moving.x[i] = moving.x[i] + moving.v[i]


def test_own_elements_of_arrays_in_structs_may_be_read_and_written():
    assert plan(steps) is not None
    assert plan(follows) is None and plan(steps_in_memory) is None
