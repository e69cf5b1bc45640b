"""Reports of gradients: the first launch that spoils a gradient is named, and nothing is changed."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import gradient_report
from warpsim.errors import GradientError, TapeError


@wp.kernel
def root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i])


@wp.kernel
def limit(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.clamp(x[i], 10.0, 20.0)


@wp.kernel
def ratio(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] / wp.length(wp.vec2(x[i], 0.0))


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * 2.0)


@wp.kernel
def double_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def arrays(*values, requires_grad=True):
    return [wp.array(np.float32(v), dtype=float, requires_grad=requires_grad) for v in values]


def run(*steps):
    """A tape of launches (kernel, array, array)."""
    with wp.Tape() as tape:
        for kernel, *args in steps:
            wp.launch(kernel, dim=args[0].size, inputs=args)
    return tape


def test_gradients_that_pass():
    pos, speed, loss = arrays([1.0, 4.0], [0.0, 0.0], [0.0])
    report = gradient_report(run((root, pos, speed), (total, speed, loss)), loss)
    assert report and report.first is None
    last, first = report.launches
    assert (last.name, first.name, last.number, first.number) == ("total", "root", 1, 0)
    (arrived,), (left,) = first.arrived, first.left
    assert (arrived.name, arrived.least, arrived.greatest) == ("y = speed", 2.0, 2.0)
    assert (left.name, left.least, left.greatest, left.zeros) == ("x = pos", 0.5, 1.0, 0)
    assert report.summary() == "gradients are finite everywhere, and none is lost"


def test_the_launch_where_a_gradient_becomes_infinite():
    pos, speed, loss = arrays([1.0, 0.0, 4.0], [0.0] * 3, [0.0])
    report = gradient_report(run((root, pos, speed), (total, speed, loss)), loss)
    assert not report
    assert (report.first.problem, report.first.name, report.first.number) == ("inf", "root", 0)
    assert "test_report.py:" in report.first.place
    assert report.first.about == "1 of 3 gradients of x = pos become infinite, first at [1]"
    assert report.summary().startswith("root (record 0 at ")


def test_the_launch_where_a_gradient_becomes_nan_even_when_later_ones_spread_it():
    pos, mid, out, loss = arrays([0.0, 1.0], [0.0] * 2, [0.0] * 2, [0.0])
    report = gradient_report(run((root, pos, mid), (ratio, mid, out), (total, out, loss)), loss)
    assert [(p.problem, p.name) for p in report.problems] == [("nan", "ratio")]


def test_the_launch_where_a_gradient_becomes_zero():
    pos, speed, out, loss = arrays([1.0, 4.0], [0.0] * 2, [0.0] * 2, [0.0])
    report = gradient_report(run((root, pos, speed), (limit, speed, out), (total, out, loss)), loss)
    assert [(p.problem, p.name) for p in report.problems] == [("zero", "limit")]
    assert report.launches[-1].about == "no gradient arrives"
    assert report.first.left[0].zeros == 2


def test_an_array_without_a_gradient_cuts_the_chain():
    pos, loss = arrays([1.0, 4.0], [0.0])
    (mid,) = arrays([0.0, 0.0], requires_grad=False)
    report = gradient_report(run((root, pos, mid), (total, mid, loss)), loss)
    assert (report.first.problem, report.first.name) == ("cut", "total")
    assert report.first.about == "the gradient is cut at x = mid: requires_grad is False"


def test_a_constant_input_is_no_problem():
    (loss,) = arrays([0.0])
    (constant,) = arrays([1.0, 2.0], requires_grad=False)
    report = gradient_report(run((total, constant, loss)), loss)
    assert report
    assert report.launches[0].about == "the gradient ends here: no requires_grad in x"


def test_arrays_that_are_overwritten():
    x, loss = arrays([1.0, 2.0], [0.0])
    report = gradient_report(run((double_in_place, x), (total, x, loss)), loss)
    assert report
    (arrived,), (left,) = report.launches[1].arrived, report.launches[1].left
    assert (arrived.greatest, left.greatest) == (2.0, 4.0)


def test_copies_fills_and_functions():
    x, y, loss = arrays([1.0, 2.0], [0.0, 0.0], [0.0])
    with wp.Tape() as tape:
        loss.zero_()
        wp.copy(y, x)
        tape.record_func(lambda: x.grad.fill_(np.nan), [x])
        wp.launch(total, dim=2, inputs=[y, loss])
    report = gradient_report(tape, loss)
    assert [launch.name for launch in report.launches] == ["total", "<lambda>", "assign", "zero_"]
    assert report.launches[-1].about == "the gradient ends here: it reads no array of floats"
    assert report.problems == [report.launches[1]] and report.first.problem == "nan"


def test_nothing_arrives_when_the_tape_does_not_write_the_loss():
    x, y, loss = arrays([1.0], [0.0], [0.0])
    report = gradient_report(run((root, x, y)), loss)
    assert report.summary().startswith("no gradient arrives anywhere")


def test_a_report_changes_nothing():
    pos, speed, loss = arrays([1.0, 0.0], [0.0] * 2, [0.0])
    tape = run((root, pos, speed), (total, speed, loss))
    for a in (pos, speed, loss):
        a.grad.fill_(5.0)
    gradient_report(tape, loss)
    assert all((a.grad.numpy() == 5.0).all() for a in (pos, speed, loss))
    tape.zero()
    tape.backward(loss)
    np.testing.assert_array_equal(pos.grad.numpy(), [1.0, np.inf])


def test_seeds_instead_of_a_loss_and_labels_of_arrays():
    pos, speed = arrays([4.0], [0.0])
    report = gradient_report(run((root, pos, speed)), grads={speed: wp.ones_like(speed)}, array_labels={pos: "start"})
    assert report.launches[0].left[0].name == "x = start"
    assert report.launches[0].left[0].greatest == 0.25


def test_the_table_has_a_row_for_every_gradient():
    pos, speed, loss = arrays([1.0, 0.0], [0.0] * 2, [0.0])
    text = str(gradient_report(run((root, pos, speed), (total, speed, loss)), loss)).splitlines()
    assert text[0].split() == "Launch Place Gradient of Numbers Least Greatest Zero NaN Inf".split()
    assert text[1].split()[:2] == ["1", "total"] and text[1].split()[3:] == "arrives loss 1 1 1 0 0 0".split()
    assert text[4].split() == "leaves x = pos 2 1 1 0 0 1".split()
    assert text[5] == "  ! 1 of 2 gradients of x = pos become infinite, first at [1]"
    assert len(text) == 8


def test_long_tapes_are_shortened_around_problems():
    xs = arrays(*[[16.0]] * 101)
    (loss,) = arrays([0.0])
    tape = run(
        *((root, xs[k], xs[k + 1]) for k in range(50)),
        (limit, xs[50], xs[51]),
        *((root, xs[k], xs[k + 1]) for k in range(51, 100)),
        (total, xs[100], loss),
    )
    text = str(gradient_report(tape, loss)).splitlines()
    assert text.count("...") == 2 and len(text) < 130
    assert any(line.startswith("50 limit") for line in text)


def test_bad_input():
    with pytest.raises(TapeError, match="tape is array"):
        gradient_report(arrays([0.0])[0])
    with pytest.raises(GradientError, match="neither a loss nor gradients"):
        gradient_report(run((root, *arrays([1.0], [0.0], requires_grad=False))))


def test_gradients_that_the_arrays_hold():
    pos, speed = arrays([4.0], [0.0])
    tape = run((root, pos, speed))
    speed.grad.fill_(1.0)
    report = gradient_report(tape)
    assert not report.problems
    assert [g.greatest for launch in report.launches for g in launch.arrived] == [1.0]
    assert (speed.grad.numpy().tolist(), pos.grad.numpy().tolist()) == ([1.0], [0.0])
