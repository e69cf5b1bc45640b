"""`Problem`: methods, bounds, interruption, failures, files to go on from, and what is refused."""

import importlib.util
import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DivergenceError, GradientError, MissingPackageError
from warpsim.optim import Problem, ProblemError, Unknown
from warpsim.optim.problem.jacobian import linearise
from warpsim.solvers import ModelBuilder, SolverXPBD

METHODS = [
    ("lbfgs", {}), ("adam", {"lr": 0.1, "iterations": 400}), ("gradient", {"lr": 0.02, "iterations": 1500}),
    ("gauss-newton", {}),
]  # fmt: skip
DTYPES = [wp.float32, wp.float64]


@wp.kernel
def differ(x: wp.array[float], target: float, r: wp.array[float]):
    """Residuals of a valley: x[i + 1] follows the square of x[i], and the first number is near a target."""
    i = wp.tid()
    if i == 0:
        r[i] = x[0] - target
    else:
        r[i] = 2.0 * (x[i] - x[i - 1] * x[i - 1])


@wp.kernel
def sum_squares(r: wp.array[float], loss: wp.array[float]):
    wp.atomic_add(loss, 0, r[wp.tid()] * r[wp.tid()])


class Valley:
    """Its bottom is (1, 1, 1)."""

    def __init__(self, residuals=False, device=None, **bounds):
        self.x = wp.array([-0.5, 0.5, 0.0], dtype=float, device=device, requires_grad=True)
        self.r = wp.zeros(3, float, device, requires_grad=True)
        self.loss = wp.zeros(1, float, device, requires_grad=True)
        self.calls, self.fail = 0, None
        how = {"residuals": self.r} if residuals else {"loss": self.loss}
        self.problem = Problem(self.run, {"x": Unknown(self.x, **bounds)}, **how)

    def run(self):
        self.calls += 1
        if self.fail is not None and self.calls > 6:
            raise self.fail
        wp.launch(differ, 3, [self.x, 1.0, self.r], device=self.x.device)
        wp.launch(sum_squares, 3, [self.r, self.loss], device=self.x.device)


@pytest.mark.parametrize("name, options", METHODS)
def test_methods_reach_the_bottom(name, options):
    valley = Valley(residuals=name == "gauss-newton")
    solution = valley.problem.minimize(name, **options)
    np.testing.assert_allclose(valley.x.numpy(), 1.0, atol=0.05)
    assert solution.loss < 1e-3 and solution.losses[0] > 1.0
    assert solution.evaluations == valley.calls
    assert f"{name}: loss" in str(solution) and solution.method == name
    np.testing.assert_allclose(solution.values["x"], valley.x.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name, options", [METHODS[0], METHODS[1], METHODS[2], METHODS[3]])
def test_bounds_are_kept(name, options):
    valley = Valley(residuals=name == "gauss-newton", upper=(0.5, np.inf, np.inf), lower=-2.0)
    solution = valley.problem.minimize(name, **options)
    np.testing.assert_allclose(valley.x.numpy(), [0.5, 0.25, 0.0625], atol=0.02)
    assert solution.loss == pytest.approx(0.25, rel=1e-2)


def test_gauss_newton_takes_few_rollouts_and_both_modes():
    wide, narrow = Valley(residuals=True), Valley(residuals=True, free=(True, False, False))
    few = wide.problem.minimize("gauss-newton")
    assert few.evaluations < 40 and few.loss < 1e-10
    narrow.x.assign([0.5, 1.0, 1.0])
    narrow.problem.minimize("gauss-newton")
    assert abs(narrow.x.numpy()[0]) == pytest.approx(1.0, abs=0.05)
    z = wide.problem.start() + 0.3
    forward, residual = linearise(wide.problem, z)
    wide.problem.space.size = 10  # more than there are residuals
    backward, again = linearise(wide.problem, z)
    np.testing.assert_allclose(forward, backward, rtol=1e-6)
    np.testing.assert_array_equal(residual, again)


def test_cma():
    pytest.importorskip("cma", reason="cma is not installed")
    valley = Valley(lower=-3.0, upper=3.0)
    assert valley.problem.minimize("cma", 200, target=1e-6).reason == "target"
    np.testing.assert_allclose(valley.x.numpy(), 1.0, atol=0.05)
    assert Valley().problem.minimize("cma", 5, polish=10).loss < 1e-3


@pytest.mark.skipif(importlib.util.find_spec("cma") is not None, reason="cma is installed")
def test_cma_that_is_not_installed():
    with pytest.raises(MissingPackageError, match="pip install cma"):
        Valley().problem.minimize("cma")


def test_several_starts_keep_the_best():
    valley = Valley(lower=-2.0, upper=2.0)
    solution = valley.problem.minimize(starts=4)
    assert len(solution.starts) == 4 and solution.loss == min(solution.losses) < 1e-6


# ----- what ends a search -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lbfgs", "adam", "bounded"])
def test_an_interruption_keeps_the_best(name):
    valley = Valley(lower=-9.0) if name == "bounded" else Valley()
    valley.fail = KeyboardInterrupt()
    solution = valley.problem.minimize("adam" if name == "adam" else "lbfgs")
    assert solution.reason == "interrupted" and solution.loss < solution.losses[0]
    valley.fail = None
    assert valley.problem.value(valley.problem.start()) == pytest.approx(solution.loss, rel=1e-5)


def test_an_error_of_the_rollout_keeps_the_best():
    valley = Valley()
    valley.fail = RuntimeError("no more")
    with pytest.raises(RuntimeError, match="no more"):
        valley.problem.minimize()
    assert valley.problem.solution.reason == "error" and valley.problem.solution.loss < 3.0
    np.testing.assert_array_equal(valley.x.numpy(), valley.problem.solution.values["x"])


def test_divergence_is_a_step_too_far():
    valley = Valley()
    run, calls = valley.run, []

    def rollout():
        calls.append(1)
        if len(calls) == 2:
            raise DivergenceError("diverged")
        run()

    solution = Problem(rollout, valley.x, valley.loss).minimize()
    assert solution.loss < 1e-6 and len(calls) > 5


@wp.kernel
def root(x: wp.array[float], loss: wp.array[float]):
    loss[0] = -wp.sqrt(1.0 - x[0])


@pytest.mark.parametrize("name, options", [("lbfgs", {}), ("adam", {"lr": 0.2}), ("gradient", {"lr": 0.2})])
def test_a_loss_that_becomes_nan(name, options):
    x, loss = (wp.zeros(1, float, requires_grad=True) for _ in range(2))
    x.fill_(2.0)
    problem = Problem(lambda: wp.launch(root, 1, [x, loss]), x, loss)
    with pytest.raises(ProblemError, match="the loss is nan at the start"):
        problem.minimize(name, **options)
    x.fill_(-1.0)
    x.fill_(0.9)

    @wp.kernel
    def down(x: wp.array[float], loss: wp.array[float]):
        loss[0] = wp.sqrt(x[0])

    solution = Problem(lambda: wp.launch(down, 1, [x, loss]), x, loss).minimize(name, 50, **options)
    assert np.isfinite(solution.loss) and solution.loss < 0.95 and np.isfinite(x.numpy()).all()


def test_a_search_goes_on_from_its_file(tmp_path):
    whole, first, second = Valley(), Valley(), Valley()
    whole.problem.minimize("adam", 40, lr=0.1)
    part = first.problem.minimize("adam", 15, lr=0.1, file=tmp_path / "search.npz")
    assert part.iterations == 15
    rest = second.problem.minimize("adam", 40, lr=0.1, file=tmp_path / "search.npz")
    assert rest.iterations == 40 and len(rest.losses) == 41
    np.testing.assert_allclose(rest.losses, whole.problem.solution.losses, rtol=1e-5)
    with pytest.raises(ProblemError, match="holds a search by adam"):
        second.problem.minimize("lbfgs", file=tmp_path / "search.npz")


def test_callback_target_and_evaluations_stop():
    seen = []
    assert Valley().problem.minimize(callback=lambda s: seen.append(s.loss) or len(seen) == 2).reason == "callback"
    assert len(seen) == 2 and Valley().problem.minimize(target=0.5).reason == "target"
    assert Valley().problem.minimize("adam", evaluations=7).evaluations <= 8


def test_the_line_of_progress(capsys):
    Valley().problem.minimize("adam", 3, show=True)
    assert "adam 3: loss" in capsys.readouterr().err


# ----- losses ---------------------------------------------------------------------------------------


def test_terms_have_weights_and_a_history():
    x, a, b = (wp.zeros(1, float, requires_grad=True) for _ in range(3))

    def rollout():
        wp.launch(differ, 1, [x, 1.0, y])
        wp.launch(sum_squares, 1, [y, a])
        wp.launch(sum_squares, 1, [x, b])

    y = wp.zeros(1, float, requires_grad=True)
    solution = Problem(rollout, x, {"miss": a, "effort": b}, weights={"effort": 3.0}).minimize()
    assert x.numpy()[0] == pytest.approx(0.25, abs=1e-3) and solution.loss == pytest.approx(0.75, abs=1e-3)
    assert solution.terms["miss"][0] == 1.0 and solution.terms["effort"][-1] == pytest.approx(3.0 / 16.0, abs=1e-3)


def test_a_picture(tmp_path):
    valley = Valley()
    with pytest.raises(ProblemError, match="nothing to draw"):
        valley.problem.picture(tmp_path / "search.png")
    valley.problem.minimize()
    valley.problem.picture(tmp_path / "search.png")
    assert (tmp_path / "search.png").stat().st_size > 5000


# ----- with a solver ----------------------------------------------------------------------------------


@wp.kernel
def miss(q: wp.array[wp.vec3], target: wp.vec3, loss: wp.array[float]):
    wp.atomic_add(loss, 0, wp.length_sq(q[wp.tid()] - target) / float(q.shape[0]))


def test_the_throw_of_a_particle_by_a_solver():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), 1.0)
    model = builder.finalize()
    solver, states = SolverXPBD(model, 2), [model.state(requires_grad=True) for _ in range(11)]
    loss = wp.zeros(1, float, requires_grad=True)

    def rollout():
        for before, after in itertools.pairwise(states):
            solver.step(before, after, None, None, 0.1)
        wp.launch(miss, 1, [states[-1].particle_q, wp.vec3(1.0, 3.0, 0.0), loss])

    throw = states[0].particle_qd
    solution = Problem(rollout, {"throw": Unknown(throw, upper=(0.5, 9.0, 9.0)), "wind": None}, loss).minimize()
    np.testing.assert_allclose(throw.numpy(), [[0.5, 2.0, 0.0]], atol=1e-3)
    assert solution.loss == pytest.approx(0.25, abs=1e-3)


# ----- what is refused ----------------------------------------------------------------------------------


def refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_refusals():
    v = Valley()
    refused(lambda: Problem(1, v.x, v.loss), ArgumentTypeError, "rollout is int")
    refused(lambda: Problem(v.run, v.x), ProblemError, "neither loss nor residuals")
    refused(lambda: Problem(v.run, {"a": None}, v.loss), ProblemError, "nothing is unknown")
    refused(lambda: Problem(v.run, v.x, wp.zeros(1, float)), GradientError, "no gradient")
    refused(lambda: Problem(v.run, v.x, 1.0), ArgumentTypeError, "loss 'loss' is float")
    refused(lambda: Problem(v.run, v.x, v.loss, weights={"a": 1.0}), ProblemError, "names of losses: 'loss'")
    refused(lambda: v.problem.minimize("newton"), ProblemError, "'gauss-newton', 'cma'")
    refused(lambda: v.problem.minimize("adam", first_step=1.0), ProblemError, "no option 'first_step'")
    refused(lambda: v.problem.minimize("gauss-newton"), ProblemError, "without residuals")
    refused(lambda: v.problem.minimize(gradient="mixed"), ProblemError, "'adam' or 'gradient'")
    refused(lambda: v.problem.minimize("adam", gradient="best"), ProblemError, "'exact', 'sampled', 'mixed'")
    refused(lambda: v.problem.minimize(iterations=0), ProblemError, "at least 1")


def test_an_unknown_that_the_rollout_does_not_use():
    v, other = Valley(), wp.zeros(2, float, requires_grad=True)
    problem = Problem(v.run, {"x": v.x, "other": other}, v.loss)
    refused(problem.minimize, ProblemError, "does not use other")


def test_an_unknown_without_effect_is_noted():
    x, y, loss = (wp.zeros(1, float, requires_grad=True) for _ in range(3))

    @wp.kernel
    def first(x: wp.array[float], y: wp.array[float], loss: wp.array[float]):
        loss[0] = (x[0] - 1.0) * (x[0] - 1.0) + wp.max(y[0], 0.0)

    y.fill_(-1.0)
    solution = Problem(lambda: wp.launch(first, 1, [x, y, loss]), {"x": x, "y": y}, loss).minimize()
    assert solution.notes == ["the loss does not depend on y at the start: its gradient is zero"]
    assert "note: the loss" in str(solution) and solution.loss < 1e-8


# ----- looking at a search ------------------------------------------------------------------------


def test_records_are_of_the_start_and_each_iteration():
    valley = Valley()
    solution = valley.problem.minimize(iterations=5, record={"x": valley.x, "both": [valley.x, valley.r]})
    assert {name: len(values) for name, values in solution.recorded.items()} == {"x": 6, "both": 6}
    np.testing.assert_allclose(solution.recorded["x"][0], [-0.5, 0.5, 0.0])
    assert np.shape(solution.recorded["both"]) == (6, 2, 3)
    for x, loss in zip(solution.recorded["x"], solution.losses, strict=True):
        valley.x.assign(x)
        assert valley.problem.run() == pytest.approx(loss, rel=1e-5)
    assert np.shape(Valley().problem.minimize(iterations=2).recorded) == (0,)
    again = Valley()
    assert np.shape(again.problem.minimize(iterations=2, record=again.x).recorded) == (3, 3)


@pytest.mark.parametrize("name", ["adam", "gradient"])
def test_long_gradients_are_clipped(name):
    free, clipped = (Valley().problem.minimize(name, 1, lr=0.1, **o) for o in ({}, {"clip": 1e-3}))
    moved = [s.values["x"] - [-0.5, 0.5, 0.0] for s in (free, clipped)]
    if name == "gradient":
        assert np.linalg.norm(Valley().problem.minimize("gradient", 1, lr=1.0, clip=1e-3).gradients[0]) > 1.0
        np.testing.assert_allclose(np.linalg.norm(moved[1]), 1e-4, rtol=1e-2)
    else:
        np.testing.assert_allclose(moved[0], moved[1], atol=1e-4)  # Adam sees no lengths in its first step


def test_progress_is_shown_on_terminals_alone(monkeypatch, capsys):
    Valley().problem.minimize(iterations=2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    Valley().problem.minimize(iterations=2)
    assert "lbfgs 2: loss" in capsys.readouterr().err
