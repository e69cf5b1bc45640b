"""Contact on every way that a step can run: threads, graphs, the interpreter, worlds, saved steps; what is refused."""

import itertools
import warnings

import numpy as np
import pytest
from touching_scenes import CONVEX, add_form, heap, random_pose, step_all

import warpsim as wp
from warpsim.errors import ModelError, StateError
from warpsim.solvers import ModelBuilder, PairsWarning, ShapeConfig, SolverBodies, StartWarning

DT = 1 / 60
ROLLING = {"mu_rolling": 0.01, "mu_torsional": 0.02}
FIELDS = ("body_q", "body_qd", "contact_key", "contact_feature", "contact_first", "contact_second", "contact_rub")
FIELDS += ("contact_later", "contact_roll", "contact_roll_later", "contact_shapes", "contact_point", "contact_normal")
FIELDS += ("contact_force",)


def numbers(state):
    return {name: getattr(state, name).numpy().copy() for name in FIELDS}


def assert_same(one, other):
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)


def test_threads_do_not_change_a_bit():
    results = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        results.append(numbers(step_all(heap(3, 30, ShapeConfig(mu=0.5, **ROLLING)), 90, dtype=wp.float32)[1]))
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


def test_threads_do_not_change_a_bit_of_convex_forms():
    results = []
    for threads in (1, 2):
        wp.set_num_threads(threads)
        results.append(numbers(step_all(heap(3, 18, ShapeConfig(mu=0.5), forms=CONVEX), 60, dtype=wp.float32)[1]))
    assert_same(results[0], results[1])


def test_graphs_do_what_launches_do():
    model = heap(4, 16, ShapeConfig(mu=0.5, restitution=0.3)).finalize("cpu", dtype=wp.float32)
    solver, replayed, launched = SolverBodies(model), model.state(), model.state()
    with wp.ScopedCapture(device="cpu") as capture:
        solver.step(replayed, replayed, dt=DT)
    for _ in range(40):
        wp.capture_launch(capture.graph)
        solver._advance(launched, launched, solver.resting, DT)
    assert_same(numbers(replayed), numbers(launched))


def test_steps_are_functions_of_states():
    """A step from a copy of a state, by another solver, is the same step: states hold what contacts remember."""
    model = heap(5, 16, ShapeConfig(mu=0.5, **ROLLING)).finalize("cpu", dtype=wp.float32)
    solver, state = SolverBodies(model), model.state()
    for _ in range(60):
        solver.step(state, state, dt=DT)
    other, copied, after = SolverBodies(model), model.state(), model.state()
    copied.assign(state)
    solver.step(state, state, dt=DT)
    other.step(copied, after, dt=DT)
    assert_same(numbers(state), numbers(after))


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement((*CONVEX, "plane"), 2))[:-1])
def test_interpreter_steps_as_the_cpu_does(first, second):
    results = []
    for device in ("cpu", "interp"):
        rng = np.random.default_rng(8)
        builder = ModelBuilder(gravity=-9.81)
        cfg = ShapeConfig(mu=0.4, restitution=0.3, **ROLLING)
        one, two = random_pose(rng, 0.02), random_pose(rng, 0.02)
        one[1] += 0.22
        add_form(builder, first, one, (0.4, 0.2, 0.1, 0.2, -3.0, 0.1), cfg, device=device)
        if second == "plane":
            builder.add_ground_plane(0.05, cfg=cfg)
        else:
            add_form(builder, second, two, cfg=cfg, device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _solver, state = step_all(builder, 1, dt=0.02, device=device, substeps=2, dtype=wp.float64)
        results.append(numbers(state))
    assert results[0]["contact_force"].any()
    for name, values in results[0].items():
        np.testing.assert_allclose(values, results[1][name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_worlds_are_as_models_of_their_own():
    many = ModelBuilder(gravity=-9.81)
    seeds = (1, 2, 3)
    for seed in seeds:
        many.add_world(heap(seed, 8, ShapeConfig(mu=0.5)))
    solver, state = step_all(many, 60, dtype=wp.float64)
    q = state.body_q.numpy().reshape(len(seeds), 8, 7)
    assert solver.model.world_count == len(seeds)
    for k, seed in enumerate(seeds):
        _own, single = step_all(heap(seed, 8, ShapeConfig(mu=0.5)), 60, dtype=wp.float64)
        np.testing.assert_allclose(q[k], single.body_q.numpy(), atol=1e-6)


def test_what_no_color_has_is_solved_in_order():
    """A plate with more balls on it than there are colors carries all of them."""
    builder = ModelBuilder(gravity=-9.81)
    builder.add_ground_plane()
    plate = builder.add_body((0, 0.1, 0, 0, 0, 0, 1))
    builder.add_shape_box(None, 2.0, 0.1, 2.0, body=plate)
    for i in range(36):
        x, z = 0.5 * (i % 6) - 1.25, 0.5 * (i // 6) - 1.25
        add_form(builder, "sphere", (x, 0.4, z, 0, 0, 0, 1))
    solver, state = step_all(builder, 40)
    left = np.diff(solver._touching._first.numpy())[-1]
    assert left > 0
    mass, forces = solver.model.body_mass.numpy(), solver.contact_forces(state)
    ground = forces.shapes[:, 1] == 0
    assert -forces.forces[ground].sum(axis=0)[1] == pytest.approx(9.81 * mass.sum(), rel=1e-3)
    np.testing.assert_allclose(state.body_q.numpy()[1:, 1], 0.4, atol=1e-4)


def test_too_few_pairs_are_told():
    model = heap(6, 16).finalize("cpu")
    solver, state = SolverBodies(model, contact_pairs=3), model.state()
    with pytest.warns(PairsWarning, match="contact_pairs="):
        for _ in range(30):
            solver.step(state, state, dt=DT)


@pytest.mark.parametrize("pairs", [-1, 0, 1.5, "a"])
def test_numbers_of_pairs_that_are_none_are_refused(pairs):
    model = heap(6, 2).finalize("cpu")
    with pytest.raises(ModelError, match="contact_pairs is"):
        SolverBodies(model, contact_pairs=pairs)


@pytest.mark.parametrize("what", ["no shapes", "a floor", "one sphere"])
def test_where_nothing_can_touch_nothing_presses(what):
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    if what == "a floor":
        builder.add_ground_plane()
    if what == "one sphere":
        builder.add_shape_sphere(radius=0.1, body=body)
    model = builder.finalize("cpu")
    solver, state = SolverBodies(model), model.state()
    solver.step(state, state, dt=DT)
    felt = solver.contact_forces(state)
    assert [a.shape for a in felt] == [(0, 2), (0, 3), (0, 3), (0, 3)]
    with pytest.raises(StateError, match="state is 3"):
        solver.contact_forces(3)


def test_overlap_at_the_start_is_told():
    builder = ModelBuilder()
    add_form(builder, "box", (0, 0, 0, 0, 0, 0, 1))
    add_form(builder, "box", (0, 0.45, 0, 0, 0, 0, 1))
    with pytest.warns(StartWarning, match=r"shape [01] of body [01] and shape [01] of body [01] start 0.05 m"):
        SolverBodies(builder.finalize("cpu"))


def test_unknown_forms_are_refused():
    builder = ModelBuilder()
    builder.add_ground_plane()
    body = builder.add_body(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    builder.add_shape_sphere(None, 0.1, body=body, hollow=True)
    with pytest.raises(ModelError, match=r"shape 1 of body 0 is a hollow sphere, and meets a plane"):
        SolverBodies(builder.finalize("cpu"))


def test_states_from_before_the_solver_are_refused():
    model = heap(7, 2).finalize("cpu")
    state = model.state()
    solver = SolverBodies(model)
    with pytest.raises(StateError, match="made before the solver"):
        solver.step(state, state, dt=DT)
    with pytest.raises(StateError, match="made before the solver"):
        solver.contact_forces(state)


def test_shapes_of_one_body_do_not_touch():
    builder = ModelBuilder(gravity=0.0)
    body = builder.add_body()
    for x in (-0.1, 0.1):
        builder.add_shape_sphere((x, 0, 0, 0, 0, 0, 1), 0.2, body=body)
    assert SolverBodies(builder.finalize("cpu"))._touching is None
