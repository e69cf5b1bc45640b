"""The schedule of checkpoints: every block in its turn, in the room there is, at the least possible cost."""

from functools import cache
from math import comb

import numpy as np
import pytest
from adjoint_runs import adjoint_program

import warpsim as wp
from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Call, Region, Value, walk
from warpsim.core.passes.reverse import checkpoints
from warpsim.core.passes.reverse.checkpoints import Checkpoints
from warpsim.core.types.scalars import int64
from warpsim.core.types.structs import numpy_dtype


def traced_distance(slots):
    """`Checkpoints.distance` as a Python function of the blocks left and the slots that are free."""
    count, slot = Value(int64), Value(int64)
    region = Region((count, slot))
    builder = Builder(region)
    with builder.active():
        kept = Checkpoints(builder, (constant(int64, 0),), budget=16 * slots)
        region.yields = (kept.distance(count, slot),)
    assert kept.slots == slots

    @cache
    def distance(left, free):
        args = [np.int64(left), np.int64(slots - 1 - free)]
        return int(Interpreter(check_numbers=False).run(region, args)[0])

    return distance


def reversed_loop(trips, slots, distance):
    """What a reverse of a loop does: the order of its blocks, how often each is run, and the most slots in use."""
    kept, order, runs, deepest = [0], [], np.zeros(trips, dtype=int), 1
    for k in reversed(range(trips)):
        while kept[-1] < k:
            at = kept[-1]
            far = distance(k + 1 - at, slots - len(kept))
            assert 1 <= far <= k - at
            runs[at : at + far] += 1
            kept.append(at + far)
            deepest = max(deepest, len(kept))
        order.append(kept.pop())
    return order, runs, deepest


@cache
def least_runs(trips, free):
    """Blocks run to find the states of `trips` blocks, by trying all distances."""
    if trips < 2:
        return 0
    if free == 1:
        return trips * (trips - 1) // 2
    return min(far + least_runs(far, free) + least_runs(trips - far, free - 1) for far in range(1, trips))


SIZES = sorted({n + d for s in (7, 15, 255) for r in (1, 2) for n in (comb(s + r, r),) for d in (-1, 0, 1)})


@pytest.mark.parametrize("slots", [8, 16, 256])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, *SIZES[:12], 1000])
def test_blocks_come_in_turn_and_slots_suffice(slots, trips):
    order, runs, deepest = reversed_loop(trips, slots, traced_distance(slots))
    assert order == list(reversed(range(trips)))
    assert deepest <= slots
    repeats = next(r for r in range(trips + 1) if comb(slots - 1 + r, r) >= trips)
    assert runs.max(initial=0) <= repeats


@pytest.mark.parametrize("trips", range(0, 90, 7))
def test_work_is_the_least_possible(trips):
    _, runs, _ = reversed_loop(trips, 8, traced_distance(8))
    assert runs.sum() == least_runs(trips, 7)


def test_long_loops_run_each_block_a_few_times():
    """Room for 256 states: 2 times up to 32,896 blocks, 3 up to 2.8 million, 4 up to 180 million."""
    assert [comb(255 + r, r) for r in (1, 2, 3, 4)] == [256, 32_896, 2_829_056, 183_181_376]
    distance = traced_distance(256)
    for r in (2, 3, 4):
        last, limit = comb(255 + r - 1, r - 1), comb(255 + r, r)
        assert last <= limit - distance(limit, 255) and distance(limit, 255) <= last
        assert 1 <= distance(last + 1, 255) <= last
    assert distance(10_000_000, 255) <= 2_829_056


def test_one_slot_left_runs_to_the_end():
    distance = traced_distance(8)
    assert [distance(count, 1) for count in (2, 3, 4, 9)] == [1, 2, 3, 8]


@pytest.mark.parametrize("size, slots", [(1, 256), (3, 256), (4, 204), (63, 16), (1000, 4)])
def test_room_follows_from_the_size_of_a_state(size, slots):
    builder = Builder()
    with builder.active():
        kept = Checkpoints(builder, (constant(int64, 0),) * size, checkpoints._BYTES_PER_LOOP)
    assert kept.slots == slots
    assert len(kept.arrays) == size + 1


@wp.kernel
def many_loops(x: wp.array(dtype=wp.mat33), n: int):
    """Six general loops, in nests of three, and a sum that needs no states."""
    m, total = x[0], wp.mat33()
    for i in range(n):
        for j in range(i):
            for _ in range(j):
                m = m * m
    for i in range(n):
        k = int(0)
        while k < i:
            for _ in range(k):
                m = m * m
            k += 1
    for i in range(n):
        total += x[i] * x[i]
    x[1] = m + total


def test_loops_share_the_stack():
    """Each has what is left to it of the bytes of a thread, however they are nested."""
    fn = adjoint_program(many_loops, "x").fn
    arrays = [c for c in walk(fn.body) if isinstance(c, Call) and c.op.name == "local_array"]
    # Of each loop the matrix twice and the block, and of the `while` its counter twice.
    assert len(arrays) == 6 * 3 + 2
    sizes = [np.prod(c.attributes["shape"]) * numpy_dtype(c.attributes["dtype"]).itemsize for c in arrays]
    assert 0.9 * checkpoints._BYTES_PER_THREAD < sum(sizes) <= checkpoints._BYTES_PER_THREAD
