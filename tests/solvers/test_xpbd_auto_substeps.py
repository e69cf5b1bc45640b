"""Substeps that choose themselves: what they hold that fixed ones lose, what they cost, what they say, and where they
are refused."""

import itertools
import math
import warnings

import numpy as np
import pytest
from xpbd_scenes import block, membrane, springs

import warpsim as wp
from warpsim.errors import ModelError, StateError
from warpsim.solvers import (
    AutoSubsteps,
    Contacts,
    CrossingWarning,
    ModelBuilder,
    SolverXPBD,
    StrainWarning,
    SubstepWarning,
    SurfaceContacts,
)
from warpsim.solvers.cases.xpbd_substeps import SHOULDERS, poncho, wear

DT, REST = 1.0 / 60.0, (0.0, 0.0, 0.0, 1.0)
FLAT = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))


def counts(solver, state, steps, control=None, contacts=None, dt=DT):
    """Substeps of some steps in place."""
    chosen = []
    for _ in range(steps):
        solver.step(state, state, control, contacts, dt)
        chosen.append(solver.statistics(state).substeps.count)
    return chosen


def hanging(cells, stiffness=1e4, iterations=1, **options):
    """Half a metre of cloth held by its side."""
    builder, cell = ModelBuilder(), 0.5 / cells
    builder.add_cloth_grid(
        (0, 0, 0), FLAT, 0.0, cells, cells, cell, cell, 0.05 / (cells + 1) ** 2, fix_left=True, spring_ke=stiffness
    )
    model = builder.finalize(device="cpu")
    return SolverXPBD(model, AutoSubsteps(**options), iterations, damping=1.0), model.state()


def test_a_poncho_stays_on_its_figure():
    """What few substeps at 24 frames a second stretch to twice its length stays as it is with chosen ones."""
    fixed, chosen = wear(30, 4), wear(30, "auto")
    assert max(fixed.strain) > 1.0 and fixed.lowest < 0.5
    assert chosen.highest > SHOULDERS and chosen.lowest > 0.6 and chosen.crossed is None
    assert max(chosen.strain) < 0.5 and chosen.strain[-1] < 0.2
    assert np.mean(chosen.substeps) < 40 and max(chosen.substeps) <= 128


def test_a_bound_that_is_hit_is_told_with_the_first_strain_and_the_first_crossing():
    model = poncho(30).finalize(device="cpu")
    solver, state = SolverXPBD(model, AutoSubsteps(most=4), damping=0.2), model.state()
    with pytest.warns() as told:
        choices = []
        for _ in range(16):
            solver.step(state, state, dt=1 / 24)
            choices.append(solver.statistics(state).substeps)
    assert all(choice.count == 4 and choice.bounded for choice in choices)
    assert choices[0].needed == pytest.approx(2 * 9.81 / 24**2 / 0.04 / 0.2, rel=1e-6)  # cells of 4 cm
    assert choices[4].needed == pytest.approx(8.2, abs=0.3) and "more than its material is" in choices[4].reason
    assert choices[-1].needed == pytest.approx(25.0, abs=1.0) and "of particles [" in choices[-1].reason
    kinds = [warning.category for warning in told]
    assert sorted(k.__name__ for k in kinds) == ["CrossingWarning", "StrainWarning", "SubstepWarning"]
    assert all(warning.filename == __file__ for warning in told)
    text = {k: str(w.message) for k, w in zip(kinds, told, strict=True)}
    assert "step 0 has 4 substeps and needs 5: gravity pulls on edges of 0.04 m" in text[SubstepWarning]
    assert "help: AutoSubsteps(most=...)" in text[SubstepWarning]
    assert "has a strain of" in text[StrainWarning]
    assert "the edge of particles [" in text[CrossingWarning] and "deep in shape" in text[CrossingWarning]


@pytest.mark.parametrize(("most", "count", "bounded"), [(8, 8, True), (17, 17, True), (128, 18, False)])
def test_gravity_asks_for_substeps_and_says_so(most, count, bounded):
    """2 g dt^2 / (l strain), for cells of 1 cm at 24 frames a second: 17.03."""
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), FLAT, 0.0, 4, 4, 0.01, 0.01, 1e-5, spring_ke=1e4, fix_left=True)
    solver = SolverXPBD(builder.finalize(device="cpu"), AutoSubsteps(most=most))
    state = solver.model.state()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        solver.step(state, state, dt=1 / 24)
    choice = solver.statistics(state).substeps
    assert (choice.count, choice.bounded) == (count, bounded) and choice.reason == "gravity pulls on edges of 0.01 m"
    assert choice.needed == pytest.approx(2 * 9.81 / 24**2 / 0.01 / 0.2, rel=1e-6)
    assert [w.category for w in told] == [SubstepWarning] * bounded


def test_numbers_are_those_that_their_reasons_need():
    """Also while a load grows, and while numbers fall; a step that is longer may have fewer than those before it."""
    solver, state = hanging(20, strain=0.02)
    choices, reasons = [], []
    for _ in range(40):
        solver.step(state, state, dt=DT)
        choices.append(solver.statistics(state).substeps)
        reasons.append(choices[-1].reason)
    for choice in choices:
        assert choice.needed - 1e-6 <= choice.count < 1.125 * choice.needed + 1 and not choice.bounded
    assert any(reason.startswith("spring") and reason.endswith("and its load grows") for reason in reasons)
    assert any(reason.startswith("steps before needed as many") for reason in reasons)
    assert reasons[0] == "gravity pulls on edges of 0.025 m"
    solver.substeps = AutoSubsteps(strain=0.02, most=30)
    with pytest.warns(SubstepWarning, match="has 30 substeps and needs"):
        solver.step(state, state, dt=1 / 12)
    assert solver.statistics(state).substeps.bounded


def test_what_is_left_of_strain_is_what_was_asked_for():
    for strain in (0.1, 0.02):
        solver, state = hanging(20, strain=strain, most=1000)
        counts(solver, state, 240)
        assert 0.3 * strain < solver.statistics(state).max_strain < 1.2 * strain  # the material's own is 1e-4


def test_finer_cloth_has_more_substeps_and_softer_cloth_fewer():
    def settled(*args, **options):
        solver, state = hanging(*args, strain=0.05, **options)
        return counts(solver, state, 120)[-1], solver.statistics(state).max_strain

    (coarse, _), (normal, _), (fine, _) = settled(10), settled(20), settled(40)
    assert coarse < normal < fine
    assert settled(20, iterations=4)[0] < normal
    soft, strain = settled(40, 0.3)
    assert soft < 0.75 * fine and strain > 0.5, "what the material gives is no reason for substeps"


def test_strains_of_membranes_and_bodies_ask_for_substeps_as_well():
    for builder, name in ((membrane(), "triangle"), (block(), "tetrahedron")):
        model = builder.finalize(device="cpu", dtype=wp.float64)
        model.gravity.zero_()
        solver, state = SolverXPBD(model, AutoSubsteps(strain=1e-3, most=10_000)), model.state()
        q = state.particle_q.numpy()
        q[:, 0] *= 1.1
        state.particle_q.assign(q)
        solver.step(state, state, dt=DT)
        stretched = solver.statistics(state).substeps
        assert stretched.count > 20 and stretched.reason.startswith(name)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_what_a_membrane_has_left_is_the_share_of_its_substeps(dtype):
    """One triangle, stretched along its warp: h^2 w / (alpha + h^2 w) of 10 %, with w from masses and gradients."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_cloth_grid((0, 0, 0), REST, 0.0, 1, 1, 0.1, 0.1, 0.01, tri_ke=50.0)
    model = builder.finalize(device="cpu", dtype=dtype)
    solver, state = SolverXPBD(model, AutoSubsteps(strain=1e-4, least=1, most=100_000)), model.state()
    q = state.particle_q.numpy()
    q[:, 0] *= 1.1
    state.particle_q.assign(q)
    solver.step(state, state, dt=DT)
    weight = (0.1**-2 + 0.1**-2 + 2 * 0.1**-2) / 0.01 * DT**2 * 50.0 * 0.5 * 0.01
    expected = math.sqrt(0.1 * weight / (1.0 + weight) / 1e-4)
    assert solver.statistics(state).substeps.needed == pytest.approx(expected, rel=1e-4)


def test_fast_cloth_has_more_substeps_only_where_it_meets_something():
    def first(height, speed, shape_speed=0.0):
        builder = ModelBuilder(gravity=0.0)
        builder.add_cloth_grid((-0.25, height, -0.25), FLAT, (0.0, speed, 0.0), 10, 10, 0.05, 0.05, 1e-3, spring_ke=1e3)
        ball = builder.add_shape_sphere((0.0, 0.0, 0.0, *REST), 0.2)
        model = builder.finalize(device="cpu")
        solver, state, control = SolverXPBD(model, "auto"), model.state(), model.control()
        control.set_shape(ball, velocity=(0.0, shape_speed, 0.0))
        solver.step(state, state, control, None, 0.02)
        return solver.statistics(state).substeps

    assert first(0.3, -10.0).count == 8  # 0.2 m in 25 mm each
    assert first(0.3, -20.0).count == 16
    assert first(0.3, 0.0, 10.0).count == 8
    assert "along shape 0" in first(0.3, -20.0).reason
    assert first(0.5, -10.0).count == 4 and first(0.3, -10.0, -10.0).count == 4


def two_sheets(speed, apart=0.03, cells=8):
    builder = ModelBuilder(gravity=0.0)
    builder.default_particle_radius = 0.01
    size = 0.4 / cells
    for height, along in ((0.0, 0.0), (apart, speed)):
        builder.add_cloth_grid(
            (0.0, height, 0.0), FLAT, (along, 0.0, 0.0), cells, cells, size, size, 1e-3, spring_ke=1e3
        )
    return builder.finalize(device="cpu")


@pytest.mark.parametrize("apart", [0.0215, 0.5])
@pytest.mark.parametrize("common", [0.0, 30.0])
def test_surfaces_that_slide_along_each_other_have_more_substeps(apart, common):
    """Halves of a thickness of 2 cm, in which 0.2 m are 20; but not where they are far apart, or fly together."""
    model = two_sheets(10.0, apart)
    solver, state = SolverXPBD(model, "auto"), model.state()
    state.particle_qd.assign(state.particle_qd.numpy() + np.array([0.0, common, 0.0], dtype=np.float32))
    solver.step(state, state, None, SurfaceContacts(model), 0.02)
    choice = solver.statistics(state).substeps
    assert choice.count == (20 if apart < 0.1 else 4)
    assert apart > 0.1 or "along a triangle" in choice.reason


def test_balls_that_meet_have_more_substeps():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [0.3, 0, 0]], [[10.0, 0, 0], [0, 0, 0]], mass=0.1, radius=0.01)
    model = builder.finalize(device="cpu")
    for margin, expected in ((0.3, 20), (0.01, 4)):
        solver, state = SolverXPBD(model, "auto"), model.state()
        solver.step(state, state, None, Contacts(model, margin=margin), 0.02)
        assert solver.statistics(state).substeps.count == expected


def test_numbers_come_again_and_are_those_of_threads_and_states():
    """Of two states that take turns each has its own past."""
    runs = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        solver, state = hanging(20)
        runs.append((counts(solver, state, 30), state.particle_q.numpy().tobytes()))
    assert runs[0] == runs[1] == runs[2] and len(set(runs[0][0])) > 3
    solver, state = hanging(20)
    other = solver.model.state()
    pairs = [(counts(solver, state, 1)[0], counts(solver, other, 1)[0]) for _ in range(30)]
    assert [a for a, _ in pairs] == [b for _, b in pairs] == runs[0][0]


def test_a_number_goes_down_slowly_and_never_ends_below_the_least():
    solver, state = hanging(20, least=3, strain=0.02)
    high = counts(solver, state, 60)[-1]
    at_rest = solver.model.state()
    state.assign(at_rest)
    solver.model.particle_mass.zero_()  # nothing moves any more
    down = counts(solver, state, 240)
    assert high > 15 and down[0] > 0.9 * high and down[-1] == 11  # what gravity asks for whatever is strained
    assert all(a >= b for a, b in itertools.pairwise(down))


def test_numbers_of_substeps_are_few_since_each_is_a_graph():
    solver, state = hanging(40, strain=0.01)
    assert set(counts(solver, state, 60)) <= {*range(4, 16), *range(16, 32, 2), *range(32, 64, 4), *range(64, 129, 8)}


def test_steps_with_chosen_numbers_are_those_with_the_same_numbers_fixed():
    solver, state = hanging(20)
    fixed, again = SolverXPBD(solver.model, damping=1.0), solver.model.state()
    for number in counts(solver, state, 30):
        fixed.substeps = number
        fixed.step(again, again, dt=DT)
    assert (state.particle_q.numpy() == again.particle_q.numpy()).all()
    assert fixed.statistics(again).substeps is None


def test_gradients_are_those_of_the_chosen_numbers():
    """Against central differences of steps with the same numbers fixed; across a jump of numbers there is none."""
    model = springs().finalize(device="cpu", dtype=wp.float64)
    solver = SolverXPBD(model, AutoSubsteps(strain=0.003))
    weights = np.random.default_rng(1).normal(size=(model.particle_count, 3))
    states = [model.state(requires_grad=True) for _ in range(5)]
    with wp.Tape() as tape:
        for before, after in itertools.pairwise(states):
            solver.step(before, after, dt=DT)
    tape.backward(grads={states[-1].particle_q: wp.array(weights, dtype=wp.vec3d)})
    numbers = [solver.statistics(state).substeps.count for state in states[1:]]
    assert len(set(numbers)) > 1
    gradient, direction = states[0].particle_qd.grad.numpy(), np.random.default_rng(2).normal(size=weights.shape)
    fixed, losses = SolverXPBD(model), []
    for side in (1.0, -1.0):
        state = model.state(requires_grad=False)
        state.particle_qd.assign(state.particle_qd.numpy() + side * 1e-6 * direction)
        for number in numbers:
            fixed.substeps = number
            fixed.step(state, state, dt=DT)
        losses.append((state.particle_q.numpy() * weights).sum())
    assert (gradient * direction).sum() == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6)


def test_captures_and_loops_with_checkpoints_refuse_to_choose():
    model = springs().finalize(device="cpu")
    solver, state = SolverXPBD(model, "auto"), model.state(requires_grad=True)
    with (
        pytest.raises(StateError, match=r"captured in a graph.*the host chooses its substeps\nhelp: solver"),
        wp.ScopedCapture(device="cpu"),
    ):
        solver.step(state, state, dt=DT)
    with pytest.raises(StateError, match="in a loop with checkpoints"), wp.Tape():
        step = lambda k: solver.step(state, state, dt=DT)  # noqa: E731
        wp.checkpoint(step, list(state.arrays.values()), 4, scratch=solver.scratch)
    solver.substeps = 8
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(state, state, dt=DT)
    assert capture.graph is not None


def test_states_that_are_not_finite_are_not_asked():
    solver, state = hanging(10)
    q = state.particle_q.numpy()
    q[50] = np.nan
    state.particle_q.assign(q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counts(solver, state, 2)[-1] <= 128


def test_residuals_are_those_of_a_chosen_step():
    solver, state = hanging(20)
    counts(solver, state, 60)
    before, left = solver.model.state(), solver.residuals(state)["springs"]
    before.assign(state)
    fixed = SolverXPBD(solver.model, counts(solver, state, 1)[0], damping=1.0)
    assert left == fixed.residuals(before)["springs"]


@pytest.mark.parametrize("spelling", ["auto", None])
def test_spellings_of_automatic_substeps(spelling):
    solver = SolverXPBD(springs().finalize(device="cpu"), spelling)
    assert solver.substeps == AutoSubsteps()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"least": 0}, "least is 0"),
        ({"most": 2.5}, "most is 2.5"),
        ({"least": 9, "most": 8}, "least is 9, most is 8"),
        ({"strain": 0.0}, "strain is 0.0"),
        ({"travel": -1.0}, "travel is -1.0"),
        ({"strain": math.nan}, "strain is nan"),
    ],
)
def test_options_without_meaning_are_refused(options, problem):
    with pytest.raises(ModelError, match=f"{problem}.*\nexpected: "):
        AutoSubsteps(**options)
