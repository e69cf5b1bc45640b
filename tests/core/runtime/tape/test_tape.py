"""`Tape`: gradients of recorded launches and host writes, with every number known."""

import gc
import weakref

import numpy as np
import pytest
from tape_programs import double, grad, leaf, scalar, square, total

import warpsim as wp
from warpsim.errors import TapeError

# ----- launches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_chain_of_launches(device):
    with wp.ScopedDevice(device):
        x, loss = leaf(1, 2, 3), scalar()
        y, z = wp.zeros_like(x), wp.zeros_like(x)
        with wp.Tape() as tape:
            wp.launch(square, 3, inputs=[x], outputs=[y])
            wp.launch(square, 3, inputs=[y], outputs=[z])
            wp.launch(total, 3, inputs=[z, loss])
        tape.backward(loss)
    assert loss.numpy().tolist() == [98.0]
    assert grad(x) == [4.0, 32.0, 108.0]
    assert tape.gradients[x] is x.grad
    assert tape.get_adjoint(x) is x.grad


def test_an_array_used_twice_gets_the_sum():
    x, loss = leaf(1, 2, 3), scalar()
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
        wp.launch(total, 3, inputs=[y, loss])
        wp.launch(total, 3, inputs=[x, loss])
    tape.backward(loss)
    assert grad(x) == [3.0, 5.0, 7.0]


def test_nothing_is_recorded_outside_or_on_request():
    x, y = leaf(1, 2), leaf(0, 0)
    tape = wp.Tape()
    wp.launch(double, 2, inputs=[x], outputs=[y])
    with tape:
        wp.launch(double, 2, inputs=[x], outputs=[y], record_tape=False)
    assert tape.records == []
    with tape:
        wp.launch(double, 2, inputs=[x], outputs=[y])
    assert [r.kernel for r in tape.launches] == [double]


@pytest.mark.cpu(reason="names its devices")
def test_a_record_tells_what_was_launched_and_where():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(double, 2, inputs=[x], outputs=[y])
        wp.launch(double, dim=(2,), inputs=[x, y], deterministic=True)
    first, second = tape.launches
    assert (first.kernel, first.dim, first.inputs, first.outputs) == (double, 2, [x], [y])
    assert (second.dim, second.inputs, second.outputs, second.deterministic) == (2, [x, y], [], True)
    assert first.place.file == __file__
    assert second.place.line == first.place.line + 1
    assert str(first.device) == "cpu"
    assert repr(first) == f"LaunchEntry('double', dim=2, at {first.place})"


def test_a_tape_knows_its_loss_from_backward_to_reset():
    x, y = leaf(1), leaf(0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x], outputs=[y])
    assert tape.loss is None
    tape.backward(y)
    tape.zero()
    assert tape.loss is y
    tape.backward(grads={y: wp.ones(1, dtype=float)})
    assert tape.loss is None
    tape.backward(loss=y)
    tape.reset()
    assert tape.loss is None


def test_arrays_keep_their_contents_and_outputs_lose_their_gradients():
    x, y = leaf(1, 2, 3), leaf(0, 0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert y.numpy().tolist() == [1.0, 4.0, 9.0]
    assert grad(y) == [0.0, 0.0, 0.0]


def test_gradients_of_leaves_add_up_until_zero_is_called():
    x, loss = leaf(1, 2, 3), scalar()
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    tape.backward(loss)
    assert grad(x) == [4.0, 8.0, 12.0]
    tape.zero()
    assert grad(x) == [0.0, 0.0, 0.0]
    tape.backward(loss)
    assert grad(x) == [2.0, 4.0, 6.0]


@wp.kernel
def scatter(x: wp.array(dtype=float), sums: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(sums, i % 2, x[i])


def test_intermediate_sums_are_not_counted_twice_by_a_second_backward():
    x, loss = leaf(1, 2, 3, 4), scalar()
    sums, squares = wp.zeros(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scatter, 4, inputs=[x, sums])
        wp.launch(square, 2, inputs=[sums], outputs=[squares])
        wp.launch(total, 2, inputs=[squares, loss])
    tape.backward(loss)
    assert grad(x) == [8.0, 12.0, 8.0, 12.0]
    tape.backward(loss)
    assert grad(x) == [16.0, 24.0, 16.0, 24.0]


def test_retain_grad_keeps_the_gradient_of_an_output():
    x, loss = leaf(1, 2, 3), scalar()
    y = wp.zeros(3, dtype=float, requires_grad=True, retain_grad=True)
    z = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
        wp.launch(square, 3, inputs=[y], outputs=[z])
        wp.launch(total, 3, inputs=[z, loss])
    for times in (1.0, 2.0):
        tape.backward(loss)
        assert grad(y) == [2.0, 8.0, 18.0]
        assert grad(z) == [0.0, 0.0, 0.0]
        assert grad(x) == [4.0 * times, 32.0 * times, 108.0 * times]


def test_gradients_are_seeded_for_arrays_that_had_none():
    x = leaf(1, 2, 3)
    y, e = wp.zeros(3, dtype=float), wp.array([1.0, 0.0, 2.0], dtype=float)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
    tape.backward(grads={y: e})
    assert grad(x) == [2.0, 0.0, 12.0]
    assert e.numpy().tolist() == [1.0, 0.0, 2.0]


def test_rows_of_a_jacobian():
    x, y = leaf(1, 2, 3), leaf(0, 0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x], outputs=[y])
    jacobian = np.empty((3, 3), np.float32)
    for k in range(3):
        e = np.zeros(3)
        e[k] = 1.0
        tape.backward(grads={y: wp.array(e, dtype=wp.float32)})
        jacobian[k] = tape.gradients[x].numpy()
        tape.zero()
    assert jacobian.tolist() == np.diag([2.0, 4.0, 6.0]).tolist()


def test_a_seed_may_be_the_gradient_of_the_array_itself():
    x, y, z = leaf(1, 2), leaf(0, 0), leaf(0, 0)
    with wp.Tape() as first:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    with wp.Tape() as second:
        wp.launch(square, 2, inputs=[y], outputs=[z])
    second.backward(grads={z: wp.ones(2, dtype=float)})
    assert grad(y) == [2.0, 8.0]
    first.backward(grads={y: y.grad})
    assert grad(x) == [4.0, 32.0]


def test_a_loss_and_gradients_together():
    x, y, loss = leaf(1, 2), leaf(0, 0), scalar()
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
        wp.launch(total, 2, inputs=[y, loss])
    tape.backward(loss, grads={y: wp.array([10.0, 0.0], dtype=float)})
    assert grad(x) == [22.0, 4.0]


def test_a_stored_loss():
    @wp.kernel
    def first(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        loss[0] = x[0] * 3.0

    x, loss = leaf(2), scalar()
    with wp.Tape() as tape:
        wp.launch(first, 1, inputs=[x, loss])
    tape.backward(loss)
    tape.backward(loss)
    assert grad(x) == [6.0]


def test_tapes_nest_and_each_records_what_happens_inside_it():
    x, y, z = leaf(1, 2), leaf(0, 0), leaf(0, 0)
    with wp.Tape() as outer:
        wp.launch(square, 2, inputs=[x], outputs=[y])
        with wp.Tape() as inner:
            wp.launch(square, 2, inputs=[y], outputs=[z])
    assert (len(outer.launches), len(inner.launches)) == (2, 1)
    inner.backward(grads={z: wp.ones(2, dtype=float)})
    assert grad(y) == [2.0, 8.0]
    outer.zero()
    outer.backward(grads={z: wp.ones(2, dtype=float)})
    assert grad(x) == [4.0, 32.0]


def test_a_tape_goes_on_recording():
    x, y, z = leaf(1, 2), leaf(0, 0), leaf(0, 0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    with tape:
        wp.launch(square, 2, inputs=[y], outputs=[z])
    tape.backward(grads={z: wp.ones(2, dtype=float)})
    assert grad(x) == [4.0, 32.0]


def test_reset_forgets_everything_and_zeroes_gradients():
    x, y = leaf(1, 2), leaf(0, 0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    tape.reset()
    assert (tape.records, tape.scopes, grad(x), dict(tape.gradients)) == ([], [], [0.0, 0.0], {})
    tape.gradients = {}
    with pytest.raises(TapeError, match="gradients of a tape are set"):
        tape.gradients = {x: y}
    x.fill_(5.0)
    with tape:
        wp.launch(double, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert grad(x) == [2.0, 2.0]


def what_outlives_a_tape():
    """What is left of a tape and of an array that it wrote, once nobody holds them."""
    x, y = leaf(1, 2), leaf(0, 0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
        wp.launch(square, 2, inputs=[y], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    gone = [weakref.ref(tape), weakref.ref(y), weakref.ref(y.numpy())]
    del tape, y
    return [left for ref in gone if (left := ref()) is not None]


def test_a_tape_and_its_arrays_go_without_the_garbage_collector():
    gc.disable()
    try:  # a cycle of references would outlive every one
        assert [] in [what_outlives_a_tape() for _ in range(3)]
    finally:
        gc.enable()


def test_arrays_that_nobody_overwrites_do_not_collect_the_reads_of_old_tapes():
    x, y = leaf(1, 2), leaf(0, 0)
    for _ in range(5):
        with wp.Tape() as tape:
            wp.launch(square, 2, inputs=[x], outputs=[y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert len(x._memory.reads) == 1


def test_new_gradient_arrays_are_seen_by_the_next_backward():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    before, x.grad = x.grad, wp.zeros(2, dtype=float)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert (before.numpy().tolist(), grad(x)) == ([2.0, 4.0], [2.0, 4.0])


def test_a_launch_without_gradients_is_passed_by():
    x, y = wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
        wp.launch(square, 2, inputs=[a], outputs=[b])
    tape.backward(grads={b: wp.ones(2, dtype=float)})
    assert x.grad is None
    assert [r.step is None for r in tape.records] == [True, False]


# ----- functions of the user's ----------------------------------------------------------------------


def test_record_func_runs_in_reverse_at_its_place():
    x, y, loss = leaf(1, 2), leaf(0, 0), scalar()

    def triple_backward():
        x.grad.assign(x.grad.numpy() + 3.0 * y.grad.numpy())

    with wp.Tape() as tape:
        y.mark_write()
        y.numpy()[...] = 3.0 * x.numpy()
        tape.record_func(triple_backward, arrays=[x, y])
        wp.launch(total, 2, inputs=[y, loss])
    tape.backward(loss)
    assert grad(x) == [3.0, 3.0]
    tape.backward(loss)
    assert grad(x) == [6.0, 6.0]
    tape.zero()
    assert (grad(x), grad(y)) == ([0.0, 0.0], [0.0, 0.0])


def test_a_recorded_function_sees_arrays_as_they_were():
    x, seen = leaf(1, 2), []
    with wp.Tape() as tape:
        tape.record_func(lambda: seen.append(x.list()), arrays=[x])
        x.fill_(7.0)
    tape.backward(grads={x: wp.ones(2, dtype=float)})
    assert seen == [[1.0, 2.0]]
    assert x.list() == [7.0, 7.0]


@pytest.mark.cpu(reason="names its devices")
def test_record_launch_takes_a_launch_that_ran_elsewhere():
    x, y = leaf(1, 2), leaf(0, 0)
    wp.launch(square, 2, inputs=[x], outputs=[y])
    tape = wp.Tape()
    tape.record_launch(square, 2, 0, [x], [y], "cpu", metadata={"step": 3})
    assert tape.launches[0].metadata == {"step": 3}
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert grad(x) == [2.0, 4.0]


# ----- scopes ---------------------------------------------------------------------------------------


def test_scopes_and_timers_group_records():
    x, y = leaf(1, 2), leaf(0, 0)
    tape = wp.Tape()
    with tape:
        wp.launch(double, 2, inputs=[x], outputs=[y])
        with wp.ScopedTimer("Adder", print=False):
            tape.record_scope_begin("Inner", metadata=1)
            wp.launch(double, 2, inputs=[x], outputs=[y])
            tape.record_scope_end()
            tape.record_scope_begin("Empty")
            tape.record_scope_end()
        with wp.ScopedTimer("not here", print=False, skip_tape=True):
            wp.launch(double, 2, inputs=[x], outputs=[y])
    assert [tuple(s) for s in tape.scopes] == [(1, "Adder", {}), (1, "Inner", 1), (2, None, None), (2, None, None)]


def test_an_empty_scope_stays_when_asked():
    tape = wp.Tape()
    tape.record_scope_begin("Empty")
    tape.record_scope_end(remove_scope_if_empty=False)
    assert [s.name for s in tape.scopes] == ["Empty", None]
    with pytest.raises(TapeError, match="no scope is open"):
        tape.record_scope_end()
