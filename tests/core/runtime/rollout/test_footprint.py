"""What a watched step touched, by kernels, host writes, functions and structs."""

import gc

import numpy as np
import pytest
from checkpoint_loops import Pendulums, curve, floats, square_sum, swing

import warpsim as wp
from warpsim.core.runtime.arrays import saved_contents
from warpsim.core.runtime.arrays.call_site import CallSite
from warpsim.core.runtime.rollout import footprint
from warpsim.core.runtime.rollout.footprint import STATE, Footprint, Watch, array_in_words
from warpsim.core.runtime.tape.entries import AnnouncedWrite


@wp.struct
class Body:
    x: wp.array(dtype=float)
    mass: wp.array(dtype=float)


@wp.kernel
def push(body: Body, rows: wp.indexedarray(dtype=float)):
    i = wp.tid()
    body.x[i] = body.x[i] + rows[i] / body.mass[i]


@wp.kernel
def draw_ticket(counter: wp.array(dtype=int), tickets: wp.array(dtype=int)):
    i = wp.tid()
    tickets[i] = wp.atomic_add(counter, 0, 1)


@wp.kernel
def largest(x: wp.array(dtype=float), top: wp.array(dtype=float)):
    wp.atomic_max(top, 0, x[wp.tid()])


def touched(run):
    """(array, whether it depends on its contents, whether it writes) of everything that `run` did."""
    with Watch() as watch:
        run()
    return [(u.array, u.depends, u.writes) for entry in watch.log for u in entry.uses() if u.depends or u.writes]


def seen(found, a):
    """How often an array was read and written."""
    mine = [(reads, writes) for other, reads, writes in found if other._memory is a._memory]
    return sum(r for r, _ in mine), sum(w for _, w in mine)


def test_kernels():
    x, v, k, loss = floats(3), floats(3), floats(3), floats(1)
    found = touched(lambda: (wp.launch(swing, 3, inputs=[x, v, k, 0.1]), wp.launch(square_sum, 3, inputs=[x, loss])))
    assert [seen(found, a) for a in (x, v, k, loss)] == [(2, 1), (1, 1), (1, 0), (0, 1)]


def test_structs_and_index_tables():
    body, rows, table = Body(), floats(5), wp.array([0, 2, 4], dtype=int)
    body.x, body.mass = floats(3), floats(3)
    picked = wp.indexedarray(rows, [table])
    found = touched(lambda: wp.launch(push, 3, inputs=[body, picked]))
    assert [seen(found, a) for a in (body.x, body.mass, rows, table)] == [(1, 1), (1, 0), (1, 0), (1, 0)]


def test_atomics_that_look_at_what_was_there():
    counter, tickets, x, top = wp.zeros(1, dtype=int), wp.zeros(3, dtype=int), floats(3), floats(1)
    found = touched(lambda: wp.launch(draw_ticket, 3, inputs=[counter, tickets]))
    assert seen(found, counter) == (1, 1)
    assert seen(touched(lambda: wp.launch(largest, 3, inputs=[x, top])), top) == (1, 1)


def test_host_writes_and_functions():
    x, y, z = floats(3), floats(3), floats(3)

    def run():
        wp.copy(x, y)
        x[1] = 2.0
        z.mark_write()
        for tape in saved_contents.active():
            tape.record_func(lambda: None, [y])

    found = touched(run)
    assert [seen(found, a) for a in (x, y, z)] == [(0, 2), (2, 0), (0, 1)]


def test_loops_in_loops():
    system = Pendulums()
    found = touched(lambda: system.run(3, "sqrt"))
    arrays = (system.x, system.v, system.stiffness, system.loss)
    assert [seen(found, a) for a in arrays] == [(1, 1), (1, 1), (1, 0), (0, 1)]


def test_watching_keeps_nothing():
    system = Pendulums()
    with Watch() as watch:
        for k in range(3):
            system.step(k)
    assert watch.session.reads == [] == watch.session.copies
    assert system.x._memory.reads == []


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_new_constants_are_told_once():
    x, y, numbers = floats(3), floats(3), np.ones(3, np.float32)
    footprint = Footprint({x._memory: STATE}, None)
    told = []
    for k in range(2):
        with Watch() as watch:
            wp.launch(swing, 3, inputs=[x, x, y, 0.1])
            wp.launch(curve, 3, inputs=[numbers, x])
            wp.launch(curve, 3, inputs=[np.ones(3, np.float32), x])  # gone after the step
        footprint.look(k, watch.log)
        watch.log.clear()
        told.append(footprint.settle())
    assert [len(arrays) for arrays in told] == [2, 0]
    assert told[0][0] is y
    assert told[0][1].numpy().ctypes.data == numbers.ctypes.data


def test_names():
    force, held = floats(3), [floats(3)]
    step = lambda k: held  # noqa: E731
    found = [
        array_in_words(force),
        array_in_words(held[0]),
        array_in_words(force[1:], step),
        array_in_words(held[0], step),
    ]
    assert found == [
        "'force' (array(shape=(3,), dtype=float32))",
        "'held[0]' (array(shape=(3,), dtype=float32))",
        "'force' (array(shape=(2,), dtype=float32))",
        "'held[0]' (array(shape=(3,), dtype=float32))",
    ]
    unnamed = array_in_words(wp.zeros(2, dtype=int))
    assert unnamed == "array(shape=(2,), dtype=int32)"


def test_memory_that_outlives_its_array_is_found_again_on_its_device():
    x = wp.zeros(3, dtype=float)
    memory = x._data
    entry = AnnouncedWrite(x, CallSite.unknown())
    trace = footprint._trace(entry, next(entry.uses()))
    del x, entry
    gc.collect()
    again = footprint._found_again(trace)
    assert (type(again._data), again.device) == (type(memory), wp.get_device())
    assert again.ptr == memory.ctypes.data
