"""Gradient checks: right gradients pass in every precision, wrong ones fail with a message that names them."""

import importlib
import io
import sys

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import gradcheck, gradcheck_tape
from warpsim.autograd.gradcheck import compare_gradients
from warpsim.autograd.jacobian import adjoint_rows
from warpsim.autograd.subjects import subject_of
from warpsim.errors import GradientMismatchError, JacobianError

checks = importlib.import_module("warpsim.autograd.gradcheck")  # the function of that name hides it


@wp.func
def doubled_slope(x: float):
    return wp.sin(x)


@wp.func_grad(doubled_slope)
def adj_doubled_slope(x: float, adj_ret: float):
    wp.adjoint[x] += 2.0 * wp.cos(x) * adj_ret


@wp.kernel
def wrong(x: wp.array(dtype=float), y: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    y[i] = wp.vec2(x[i], doubled_slope(x[i]))


@wp.kernel
def spring(x: wp.array(dtype=wp.vec3), rest: wp.array(dtype=float), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    d = x[i + 1] - x[i]
    pull = 100.0 * (wp.length(d) - rest[i]) * wp.normalize(d)
    wp.atomic_add(f, i, pull)
    wp.atomic_sub(f, i + 1, pull)


@wp.kernel
def square_sum(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i] * x[i])


@wp.kernel
def root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i])


def array(values, dtype=float):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True)


def wrong_arguments():
    return {"dim": 2, "inputs": [array([0.5, -1.0])], "outputs": [wp.zeros(2, dtype=wp.vec2, requires_grad=True)]}


# ----- right gradients --------------------------------------------------------------------------


def test_springs_in_single_precision(capsys):
    x = np.random.default_rng(1).normal(size=(6, 3))
    f = wp.zeros(6, dtype=wp.vec3, requires_grad=True)
    assert gradcheck(spring, dim=5, inputs=[array(x, wp.vec3), array(np.full(5, 0.5))], outputs=[f]) is True
    assert not f.numpy().any()
    lines = capsys.readouterr().out.splitlines()
    assert [c.strip() for c in lines[0].split("|")] == ["Input", "Output", "Max Abs Error", "Max Rel Error", "Pass"]
    assert [c.strip() for c in lines[2].split("|")][:2] == ["x", "f"] and lines[2].endswith("PASS")
    assert lines[-1] == "Gradient check for kernel spring passed"


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_precisions(dtype):
    @wp.kernel
    def smooth(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = wp.exp(wp.sin(x[i])) / (x[i] * x[i] + dtype(1.0))

    x = array(np.linspace(-2.0, 2.0, 9), dtype)
    assert gradcheck(smooth, dim=9, inputs=[x], outputs=[wp.zeros(9, dtype=dtype, requires_grad=True)])


def test_a_sum_that_hides_small_terms_by_rounding_passes_and_says_so(capsys):
    x = array([3000.0, 2e-3, 0.25])
    assert gradcheck(square_sum, dim=3, inputs=[x], outputs=[wp.zeros(1, dtype=float, requires_grad=True)])
    assert "2 of 3 entries of y by x are lost in rounding" in capsys.readouterr().out


def test_small_and_large_arguments_pass():
    x = array([1e-5, 1e-3, 1.0, 1e4])
    assert gradcheck(root, dim=4, inputs=[x], outputs=[wp.zeros(4, dtype=float, requires_grad=True)])


def test_nothing_is_printed_when_no_summary_is_wanted(capsys):
    x = array([1.0])
    assert gradcheck(root, dim=1, inputs=[x], outputs=[wp.zeros_like(x)], show_summary=False)
    assert capsys.readouterr().out == ""


def test_a_function(capsys):
    def energy(x, rest):
        f = wp.zeros(3, dtype=wp.vec3, requires_grad=True)
        wp.launch(spring, dim=2, inputs=[x, rest], outputs=[f])
        return f

    x = array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [1.5, 1.0, 0.3]], wp.vec3)
    assert gradcheck(energy, inputs=[x, array([0.5, 0.5])])
    assert "Gradient check for function energy passed" in capsys.readouterr().out


# ----- wrong gradients --------------------------------------------------------------------------


def test_a_wrong_gradient_is_named_with_both_numbers(capsys):
    with pytest.raises(GradientMismatchError) as caught:
        gradcheck(wrong, **wrong_arguments())
    head, *lines = str(caught.value).splitlines()
    assert head == "wrong gradients of kernel wrong:"
    first, second = sorted(lines)  # both are wrong by one half, up to rounding
    assert first.startswith("  y[0][1] by x[0]: adjoint 1.755")
    assert second.startswith("  y[1][1] by x[1]: adjoint 1.0806") and "finite difference 0.540" in second
    out = capsys.readouterr().out
    assert "FAIL" in out and "Gradient check for kernel wrong failed" in out and "y[1][1] by x[1]" in out


def test_a_wrong_gradient_without_an_exception():
    assert gradcheck(wrong, **wrong_arguments(), raise_exception=False) is False


def test_tolerances_decide():
    assert gradcheck(wrong, **wrong_arguments(), atol=1.0)
    assert gradcheck(wrong, **wrong_arguments(), rtol=1.1)
    assert not gradcheck(wrong, **wrong_arguments(), rtol=0.9, raise_exception=False)


def test_only_what_was_evaluated_is_compared():
    assert gradcheck(wrong, **wrong_arguments(), max_outputs_per_var=1)
    assert not gradcheck(wrong, **wrong_arguments(), max_outputs_per_var=2, raise_exception=False)


def test_a_gradient_that_is_not_finite_fails():
    x = array([0.0, 1.0])
    with pytest.raises(GradientMismatchError, match=r"y\[0\] by x\[0\]: adjoint inf, finite difference"):
        gradcheck(root, dim=2, inputs=[x], outputs=[wp.zeros(2, dtype=float, requires_grad=True)])


def test_many_failures_are_counted():
    arguments = {"dim": 9, "inputs": [array(np.zeros(9))], "outputs": [wp.zeros(9, dtype=wp.vec2, requires_grad=True)]}
    with pytest.raises(GradientMismatchError, match=r"and 6 more of 162 entries of y by x"):
        gradcheck(wrong, **arguments)


def random_springs(seed):
    """Springs at any scale, as a subject."""
    rng = np.random.default_rng(seed)
    x = array(rng.normal(size=(6, 3)) * 10.0 ** rng.uniform(-2, 2), wp.vec3)
    force = wp.zeros(6, dtype=wp.vec3, requires_grad=True)
    return subject_of(spring, 5, [x, array(rng.random(5))], [force], {})


def compared(subject):
    return compare_gradients(subject, None, None, None, None)


@pytest.mark.parametrize("seed", range(4))
def test_random_springs_pass_and_every_kind_of_error_is_found(seed, monkeypatch):
    subject, rng = random_springs(seed), np.random.default_rng(seed)
    found = compared(subject)
    assert found, str(found)
    right_rows = adjoint_rows(subject, list(found.pairs), -1)
    right = right_rows["x", "f"]
    large = np.argwhere(np.abs(right) > 0.02 * np.abs(right).max())
    i, j = large[rng.integers(len(large))]
    lost = right.copy()
    lost[i, j] = 0.0
    for kind, spoiled in (("scaled", 1.05 * right), ("negated", -right), ("all lost", 0.0 * right), ("one lost", lost)):
        monkeypatch.setattr(checks, "adjoint_rows", lambda *_, m=spoiled: {**right_rows, ("x", "f"): m})
        verdicts = {pair: result.passed for pair, result in compared(subject).pairs.items()}
        assert verdicts == {("x", "f"): False, ("rest", "f"): True}, kind


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colors_on_terminals_alone(monkeypatch, capsys):
    gradcheck(wrong, **wrong_arguments(), raise_exception=False)
    assert "\033" not in capsys.readouterr().out
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    gradcheck(wrong, **wrong_arguments(), raise_exception=False)
    assert "\033[91mFAIL\033[0m" in screen.getvalue() and "\033[91mfailed\033[0m" in screen.getvalue()


def test_pictures_of_errors():
    arguments = wrong_arguments()
    subject = subject_of(wrong, 2, arguments["inputs"], arguments["outputs"], {})
    found = compare_gradients(subject, None, None, None, None)
    (axes,) = (a for a in found.figure(relative=True).axes if a.get_xlabel())
    shown = axes.images[0].get_array()
    np.testing.assert_allclose(shown[[1, 3], [0, 1]], 0.5, rtol=1e-2)
    (axes,) = (a for a in found.figure(relative=False).axes if a.get_xlabel())
    np.testing.assert_allclose(axes.images[0].get_array()[[1, 3], [0, 1]], np.cos([0.5, -1.0]), rtol=1e-2)


# ----- tapes ------------------------------------------------------------------------------------


@pytest.fixture
def tape():
    """A right launch, a wrong one, an integer one, and a right one that overwrites what it reads."""
    x, y, z = array([0.5, -1.0]), wp.zeros(2, dtype=wp.vec2, requires_grad=True), wp.zeros(1, dtype=float)
    counts = wp.zeros(2, dtype=int)
    with wp.Tape() as made:
        wp.launch(wrong, dim=2, inputs=[x], outputs=[y])
        wp.launch(count, dim=2, inputs=[counts])
        wp.launch(swing, dim=2, inputs=[x])
        wp.launch(square_sum, dim=2, inputs=[x, z])
    made.arrays_used = (x, y, z)
    return made


@wp.kernel
def count(n: wp.array(dtype=int)):
    n[wp.tid()] += 1


@wp.kernel
def swing(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.sin(x[i])


def test_every_launch_of_a_tape(tape, capsys):
    x, y, z = tape.arrays_used
    before = [a.numpy().copy() for a in (x, y, z)]
    with pytest.raises(GradientMismatchError, match=r"wrong gradients of kernel wrong \(launch 0 at .*test_gradcheck"):
        gradcheck_tape(tape)
    out = capsys.readouterr().out
    assert out.count("PASS") == 1 and out.count("FAIL") == 1
    assert "kernel swing (launch 2 at" in out and "count" not in out.replace("gradcheck", "")
    assert all((a.numpy() == kept).all() for a, kept in zip((x, y, z), before, strict=True))
    tape.backward(grads={y: wp.ones_like(y)})  # the tape is as it was


def test_chosen_kernels_of_a_tape(tape, capsys):
    assert gradcheck_tape(tape, whitelist_kernels=["swing"])
    assert gradcheck_tape(tape, blacklist_kernels=["wrong"])
    assert gradcheck_tape(tape, input_output_masks={"wrong": [("x", "y")]}, max_outputs_per_var=1)
    assert gradcheck_tape(tape, skip_to_launch_index=1)
    capsys.readouterr()
    gradcheck_tape(tape, reverse_launches=True, raise_exception=False)
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Gradient check")]
    assert "swing" in titles[0] and "wrong" in titles[1]


def test_what_a_tape_check_refuses(tape):
    with pytest.raises(JacobianError, match=r"no kernel 'wrnog' on the tape\nexpected: one of count, "):
        gradcheck_tape(tape, whitelist_kernels=["wrnog"])
    with pytest.raises(JacobianError, match=r"tape is int"):
        gradcheck_tape(3)
