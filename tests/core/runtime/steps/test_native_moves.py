"""Copies and zeros in graphs, which the pool of threads does beside launches, with the bytes of the same calls."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches.pool import thread_count
from warpsim.core.runtime.steps.batches import Packed, runs

N = 300_000  # floats: several chunks


@wp.struct
class Grain:
    x: wp.vec3
    kind: wp.int32


@wp.kernel
def double(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * 2.0


def numbers():
    return wp.array(np.random.default_rng(N).uniform(-100.0, 100.0, N).astype(np.float32))


def grains(n=1000):
    a = wp.zeros(n, dtype=Grain)
    a.assign([Grain(x=wp.vec3(float(i), 0.0, 1.0), kind=i) for i in range(n)])
    return a


MOVES = {
    "copy": (lambda: (numbers(), wp.ones(N)), lambda a, b: wp.copy(b, a), True),
    "assign": (lambda: (numbers(), wp.ones(N)), lambda a, b: b.assign(a), True),
    "zero_": (lambda: (numbers(),), lambda a: a.zero_(), True),
    "fill_ with zero": (lambda: (numbers(),), lambda a: a.fill_(0), True),
    "fill_ with minus zero": (lambda: (numbers(),), lambda a: a.fill_(-0.0), False),
    "fill_": (lambda: (numbers(),), lambda a: a.fill_(2.5), False),
    "vectors": (lambda: (wp.ones(999, dtype=wp.vec3), wp.zeros(999, dtype=wp.vec3)), lambda a, b: wp.copy(b, a), True),
    "structs": (lambda: (grains(), wp.zeros(1000, dtype=Grain)), lambda a, b: wp.copy(b, a), True),
    "zeros of structs": (lambda: (grains(),), lambda a: a.zero_(), True),
    "a part": (lambda: (numbers(), wp.ones(N)), lambda a, b: wp.copy(b, a, 10, 20, 777), True),
    "a contiguous view": (lambda: (numbers(), wp.ones(N)), lambda a, b: b[5:500].assign(a[6:501]), True),
    "a strided view": (lambda: (numbers(), wp.ones(N)), lambda a, b: b[::2].assign(a[1::2]), False),
    "zeros of a strided view": (lambda: (numbers(),), lambda a: a[::3].zero_(), False),
    "overlapping views": (lambda: (numbers(),), lambda a: a[1:1000].assign(a[:999]), False),
    "itself": (lambda: (numbers(),), lambda a: wp.copy(a, a), False),
    "nothing": (lambda: (wp.zeros(0), wp.zeros(0)), lambda a, b: wp.copy(b, a), True),
    "by a table": (
        lambda: (numbers(), wp.ones(3), wp.array([2, 0, 7], dtype=wp.int32)),
        lambda a, b, picks: wp.copy(b, a[picks]),
        False,
    ),
}  # fmt: skip


def graph_of(act):
    with wp.ScopedCapture(device="cpu") as capture:
        act()
    return capture.graph


def is_packed(graph):
    return all(isinstance(run, Packed) for run in runs(graph.pieces()))


@pytest.mark.parametrize("name", MOVES)
def test_a_move_in_a_graph_has_the_bytes_of_the_call_and_is_native_where_bytes_are_all_there_is(name, tmp_path):
    make, move, native = MOVES[name]
    with wp.ScopedDevice("cpu"):
        expected, ours = make(), make()
        graph = graph_of(lambda: move(*ours))
        wp.capture_save(graph, tmp_path / "graph", outputs={"last": ours[-1]})
        loaded = wp.capture_load(tmp_path / "graph")
        for _ in range(2):
            move(*expected)
            wp.capture_launch(graph)
            wp.capture_launch(loaded)
            for mine, other in zip(ours, expected, strict=True):
                assert mine.numpy().tobytes() == other.numpy().tobytes()
            result = wp.empty_like(ours[-1])
            loaded.get_param("last", result)
            assert result.numpy().tobytes() == expected[-1].numpy().tobytes()
    assert is_packed(graph) == native


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_moves_between_launches_keep_their_order(threads):
    before = thread_count()
    wp.set_num_threads(threads)
    try:
        with wp.ScopedDevice("cpu"):
            a, b = numbers(), wp.zeros(N)
            start = a.numpy().copy()

            def act():
                wp.launch(double, N, [a])
                wp.copy(b, a)
                wp.launch(double, N, [b])
                a.zero_()
                wp.copy(a, b)

            graph = graph_of(act)
            wp.capture_launch(graph)
            wp.capture_launch(graph)
    finally:
        wp.set_num_threads(before)
    assert len(list(runs(graph.pieces()))) == 1
    np.testing.assert_array_equal(a.numpy(), 16.0 * start)
    np.testing.assert_array_equal(b.numpy(), 16.0 * start)


def test_a_move_in_a_graph_reads_its_source_when_it_is_launched():
    with wp.ScopedDevice("cpu"):
        a, b = wp.zeros(8), wp.zeros(8)
        graph = graph_of(lambda: wp.copy(b, a))
        a.fill_(3.0)
        wp.capture_launch(graph)
    assert b.numpy().tolist() == [3.0] * 8


def test_a_tape_around_the_launch_of_a_graph_sees_its_moves():
    with wp.ScopedDevice("cpu"):
        a, b = wp.ones(4, requires_grad=True), wp.zeros(4, requires_grad=True)
        graph = graph_of(lambda: wp.copy(b, a))
        with wp.Tape() as tape:
            wp.capture_launch(graph)
        tape.backward(grads={b: wp.full(4, 5.0)})
    assert a.grad.numpy().tolist() == [5.0] * 4
