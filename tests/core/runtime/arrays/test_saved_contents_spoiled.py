"""Changes that no tape saw, overwrites that are not allowed, and the report of what was copied."""

from contextlib import ExitStack

import numpy as np
import pytest
from tape_programs import double, grad, leaf, ones, square, square_in_place

import warpsim as wp
from warpsim.errors import TapeOverwriteError, WarpsimError

# ----- changes that no tape saw -----------------------------------------------------------------------------


def spoiled_tape():
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
    return tape, a, b


@pytest.mark.cpu(reason="changes memory through NumPy and the interpreter")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda a: wp.launch(square_in_place, 2, inputs=[a]), "launch of kernel 'square_in_place' at "),
        (lambda a: a.fill_(3.0), "fill_ at "),
        (lambda a: a.zero_(), "zero_ at "),
        (lambda a: a.assign([5.0, 6.0]), "assign at "),
        (lambda a: a.__setitem__(0, 5.0), "__setitem__ at "),
        (lambda a: wp.copy(a, wp.zeros(2, dtype=float)), "assign at "),
        (lambda a: a.mark_write(), "mark_write at "),
        (lambda a: a.numpy().fill(3.0), "a NumPy view of its memory"),
        (lambda a: np.asarray(a).fill(3.0), "a NumPy view of its memory"),
        (lambda a: wp.launch(square_in_place, 2, inputs=[a.numpy()]), "launch of kernel 'square_in_place' at "),
        (
            lambda a: wp.launch(square_in_place, 2, inputs=[a], device="interp"),
            "launch of kernel 'square_in_place' at ",
        ),
    ],
)
def test_changes_outside_the_tape_are_refused_and_name_both_places(change, what):
    tape, a, b = spoiled_tape()
    change(a)
    with pytest.raises(TapeOverwriteError) as error:
        tape.backward(grads={b: ones(2)})
    text = str(error.value)
    assert text.startswith("array 'x' of kernel 'square' (shape (2,), float32) was changed after it was recorded\n")
    assert f"found: recorded at {__file__}:" in text
    assert f"changed by {what}" in text
    if what.endswith(" at "):
        assert f"{what}{__file__}:" in text
    assert "help: write inside `with tape:`, which keeps a copy" in text


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_a_view_handed_to_numpy_earlier_is_watched():
    a, b = leaf(1, 2), leaf(0, 0)
    seen = a.numpy()
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 4.0]
    seen[1] = 7.0
    with pytest.raises(TapeOverwriteError, match="a NumPy view"):
        tape.backward(grads={b: ones(2)})


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_numpy_memory_that_was_not_copied_is_watched():
    memory = np.array([1.0, 2.0], np.float32)
    a, b = wp.array(memory, copy=False, requires_grad=True), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
        wp.launch(square, 2, inputs=[memory], outputs=[b])
    memory[0] = 4.0
    with pytest.raises(TapeOverwriteError, match="a NumPy view"):
        tape.backward(grads={b: ones(2)})


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_a_change_through_numpy_before_a_recorded_overwrite_is_noticed():
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
        a.numpy()[0] = 9.0
        a.fill_(0.0)
    with pytest.raises(TapeOverwriteError, match="a NumPy view"):
        tape.backward(grads={b: ones(2)})


@pytest.mark.parametrize("nested", [1, 2, 3])
@pytest.mark.parametrize("change", [lambda a, z: wp.launch(double, 2, inputs=[z], outputs=[a]), lambda a, z: a.zero_()])
def test_a_change_of_a_result_is_noticed_by_each_of_nested_tapes(nested, change):
    """What reads the result next continues another computation than the one that the tapes saw."""
    a, b, c, z = (leaf(1, 2) for _ in range(4))
    tapes = [wp.Tape() for _ in range(nested)]
    with ExitStack() as stack:
        for tape in tapes:
            stack.enter_context(tape)
        wp.launch(double, 2, inputs=[a], outputs=[b])
    change(b, z)
    for tape in tapes:
        with tape:
            wp.launch(double, 2, inputs=[b], outputs=[c])
        with pytest.raises(TapeOverwriteError):
            tape.backward(grads={c: ones(2)})


def test_looking_through_numpy_is_fine():
    tape, a, b = spoiled_tape()
    assert a.numpy().sum() == 3.0
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 4.0]


def test_changes_of_what_no_gradient_needs_are_fine():
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(double, 2, inputs=[a], outputs=[b])
    a.fill_(9.0)
    b.fill_(9.0)
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 2.0]


def test_contents_are_kept_from_another_tape_until_backward_has_run():
    tape, a, b = spoiled_tape()
    with wp.Tape():
        wp.launch(square_in_place, 2, inputs=[a])
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 4.0]
    tape, a, b = spoiled_tape()
    tape.backward(grads={b: ones(2)})
    with wp.Tape():
        wp.launch(square_in_place, 2, inputs=[a])
    with pytest.raises(TapeOverwriteError, match="launch of kernel 'square_in_place'"):
        tape.backward(grads={b: ones(2)})


def test_an_optimizer_step_between_tapes_is_fine():
    x, y = leaf(1, 2), leaf(0, 0)
    for k in range(3):
        tape = wp.Tape()
        with tape:
            wp.launch(square, 2, inputs=[x], outputs=[y])
        tape.backward(grads={y: ones(2)})
        assert grad(x) == [2.0 * (1 + k), 2.0 * (2 + k)]
        tape.zero()
        x.assign(x.numpy() + 1.0)


def test_snapshots_can_be_errors():
    wp.config.tape_snapshots = "error"
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape():
        wp.launch(square, 2, inputs=[a], outputs=[b])
        with pytest.raises(TapeOverwriteError) as error:
            wp.launch(double, 2, inputs=[b], outputs=[a])
    lines = str(error.value).splitlines()
    assert lines[0].startswith(f"launch of kernel 'double' at {__file__}:")
    assert lines[0].endswith("overwrites array 'x' of kernel 'square' (shape (2,), float32)")
    assert lines[1].startswith(f"found: the launch at {__file__}:")
    assert "help: write to another array, or set config.tape_snapshots = 'copy'" in lines[-1]
    assert a.numpy().tolist() == [1.0, 2.0]


def test_snapshot_errors_spare_what_is_not_needed():
    wp.config.tape_snapshots = "error"
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(double, 2, inputs=[a], outputs=[b])
        wp.launch(double, 2, inputs=[b], outputs=[a])
    tape.backward(grads={a: ones(2)})
    assert grad(a) == [4.0, 4.0]


def test_the_switch_knows_two_words():
    with pytest.raises(WarpsimError, match="expected: 'copy' or 'error'"):
        wp.config.tape_snapshots = "warn"


def test_the_report_names_launches_and_bytes():
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        for _ in range(2):
            wp.launch(square, 2, inputs=[a], outputs=[b])
            wp.launch(double, 2, inputs=[b], outputs=[a])
    first = tape.report().snapshots[0]
    assert first.needed == "array 'x' of kernel 'square' (shape (2,), float32)"
    assert first.writer == "launch of kernel 'double'"
    assert int(first.writer_at.rsplit(":", 1)[1]) == int(first.needed_at.rsplit(":", 1)[1]) + 1
    lines = str(tape.report()).splitlines()
    assert lines[0] == "2 snapshots, 16 bytes"
    assert lines[1].startswith("  2 x, 16 bytes: array 'x' of kernel 'square'")
    assert lines[2].startswith("    overwritten by launch of kernel 'double' at ")
