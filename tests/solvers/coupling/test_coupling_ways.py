"""A coupled step on every way that it can run: worlds, threads, graphs, checkpoints, saved scenes, controls, tapes."""

import itertools

import numpy as np
import pytest
from coupled_scenes import DT, add_bodies, assert_same, numbers, run, scene

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import Coupling, Material, ModelBuilder, Scene, SolverBodies, SolverDEM, SolverXPBD

SHIFTS = (0.0, 0.01, 0.03)


def reserve(coupling, pairs=2000):
    for solver in coupling.matter:
        if isinstance(solver, SolverDEM):
            solver.reserve(pairs)
    return coupling


# ----- worlds -------------------------------------------------------------------------------------


def test_worlds_are_as_couplings_of_their_own():
    many = run(scene(worlds=SHIFTS, dtype=wp.float64), 40)
    for k, shift in enumerate(SHIFTS):
        single = run(scene(worlds=(shift,), dtype=wp.float64), 40)
        for state, own in zip(many, single, strict=True):
            for name in ("body_q", "body_qd", "particle_q", "particle_qd"):
                rows, alone = getattr(state.world(k), name).numpy(), getattr(own, name).numpy()
                np.testing.assert_allclose(rows, alone, rtol=0, atol=1e-10, err_msg=f"{name} of world {k}")


def gradients(worlds, steps=4):
    """Of a sum over all positions: by where bodies and particles start, and how fast."""
    coupling = scene("cloth", "grains", worlds=worlds, dtype=wp.float64, requires_grad=True)
    states = [coupling.states() for _ in range(steps + 1)]
    with wp.Tape() as tape:
        for before, after in itertools.pairwise(states):
            coupling.step(before, after, dt=DT)
    ends = [states[-1][0].body_q, *(s.particle_q for s in states[-1][1:])]
    weights = [np.cos(np.arange(a.numpy().size // len(worlds))) for a in ends]
    seeds = {
        a: wp.array(np.tile(w, len(worlds)).reshape(a.numpy().shape), dtype=a.dtype)
        for a, w in zip(ends, weights, strict=True)
    }
    tape.backward(grads=seeds)
    starts = [states[0][0].body_q, states[0][0].body_qd, *(s.particle_qd for s in states[0][1:])]
    return [a.grad.numpy().reshape(len(worlds), -1) for a in starts]


def test_gradients_of_worlds_are_those_of_couplings_of_their_own():
    many = gradients(SHIFTS)
    for k, shift in enumerate(SHIFTS):
        for rows, alone in zip(many, gradients((shift,)), strict=True):
            np.testing.assert_allclose(rows[k], alone[0], rtol=1e-9, atol=1e-9 * np.abs(alone).max())


@pytest.mark.filterwarnings("ignore::warpsim.solvers.bodies.alarms.DivergenceWarning")
def test_a_world_that_is_not_finite_leaves_the_others_alone():
    sound, broken = (scene("cloth", "grains", worlds=SHIFTS, dtype=wp.float64) for _ in range(2))
    good, bad = sound.states(), broken.states()
    bad[1].world(1).particle_qd.fill_(np.nan)
    run(sound, 60, states=good)
    run(broken, 60, states=bad)
    assert np.isnan(bad[0].world(1).body_q.numpy()).any()
    for k in (0, 2):
        for state, other in zip(good, bad, strict=True):
            for name in ("body_q", "particle_q"):
                a, b = (getattr(s.world(k), name).numpy() for s in (state, other))
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def test_bodies_of_other_worlds_are_refused():
    one, many = ModelBuilder(), ModelBuilder()
    for builder in (one, many):
        for _ in range(2):
            body = ModelBuilder()
            body.add_shape_sphere(radius=0.1, body=body.add_body())
            if builder is many:
                many.add_world(body)
            else:
                one.add_shape_sphere(radius=0.1, body=one.add_body())
    bodies, matter = SolverBodies(many.finalize("cpu")), SolverXPBD(one.finalize("cpu"))
    with pytest.raises(ModelError, match=r"matter 0 has 1 worlds, and that of bodies 2[\s\S]*add_world for both"):
        Coupling(bodies, [matter])


# ----- threads, graphs, checkpoints ---------------------------------------------------------------


def test_threads_do_not_change_a_bit():
    """300 steps of boxes and balls, cloth, a soft body, grains and water."""
    results = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        results.append(numbers(run(scene(), 300)))
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


@pytest.mark.parametrize("options", [{}, {"substeps": 2, "iterations": 3}], ids=["staggered", "rounds"])
def test_graphs_do_what_steps_do(options):
    kinds = ("cloth", "soft", "grains")
    captured, stepped = (reserve(scene(*kinds, **options)) for _ in range(2))
    replayed, states = captured.states(), stepped.states()
    with wp.ScopedCapture(device="cpu") as capture:
        captured.step(replayed, replayed, dt=DT)
    for _ in range(40):
        wp.capture_launch(capture.graph)
        stepped.step(states, states, dt=DT)
    assert_same(numbers(states), numbers(replayed))


def test_a_graph_with_water_repeats_itself():
    """Neighbours come in another order than in steps, whose lists the host renews: sums are equal to rounding."""
    results = []
    for _ in range(2):
        coupling = scene("water", dtype=wp.float64)
        states = coupling.states()
        with wp.ScopedCapture(device="cpu") as capture:
            coupling.step(states, states, dt=DT)
        for _ in range(40):
            wp.capture_launch(capture.graph)
        results.append(numbers(states))
    assert_same(*results)
    stepped = run(scene("water", dtype=wp.float64), 40)
    np.testing.assert_allclose(stepped[1].particle_q.numpy(), results[0][1, "particle_q"], rtol=0, atol=1e-9)


def test_a_graph_of_grains_without_room_says_what_to_do():
    coupling = scene("grains")
    states = coupling.states()
    with pytest.raises(StateError, match=r"solver\.reserve"), wp.ScopedCapture(device="cpu"):
        coupling.step(states, states, dt=DT)


def rollout(coupling, steps, checkpointed):
    states = coupling.states()
    arrays = [a for state in states for a in state.arrays.values()]
    starts = [state.model.state(requires_grad=True) for state in states]
    with wp.Tape() as tape:
        for start, state in zip(starts, states, strict=True):
            state.assign(start)
        if checkpointed:
            wp.checkpoint(
                lambda k: coupling.step(states, states, dt=DT), [*arrays, *coupling.history], steps,
                scratch=coupling.scratch,
            )  # fmt: skip
        else:
            run(coupling, steps, states=states)
    ends = [states[0].body_q, *(s.particle_q for s in states[1:])]
    tape.backward(grads={a: wp.array(np.cos(np.arange(a.numpy().size)).reshape(a.numpy().shape), dtype=a.dtype)
                         for a in ends})  # fmt: skip
    return [a.grad.numpy() for a in (starts[0].body_q, starts[0].body_qd, *(s.particle_qd for s in starts[1:]))]


@pytest.mark.parametrize("options", [{}, {"iterations": 3}], ids=["staggered", "rounds"])
def test_checkpoints_have_the_gradients_of_tapes(options):
    results = []
    for checkpointed in (False, True):
        coupling = reserve(scene("cloth", "soft", "grains", dtype=wp.float64, requires_grad=True, **options))
        results.append(rollout(coupling, 5, checkpointed))
    for whole, part in zip(*results, strict=True):
        assert np.abs(whole).max() > 1e-3
        np.testing.assert_array_equal(whole, part)


# ----- states, scenes, controls -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"iterations": 3}], ids=["staggered", "rounds"])
def test_a_saved_run_goes_on_bit_for_bit(tmp_path, options):
    coupling = scene(**options)
    states = run(coupling, 30)
    Scene(coupling=coupling, states=states).save(tmp_path / "run.scene")
    run(coupling, 30, states=states)
    loaded = Scene.load(tmp_path / "run.scene")
    run(loaded.coupling, 30, states=loaded.states)
    assert_same(numbers(states), numbers(loaded.states))


@pytest.mark.filterwarnings("ignore::warpsim.solvers.bodies.alarms.DivergenceWarning")
def test_steps_are_functions_of_states():
    """What a step was before, or that it was none, does not count: not in one bit."""
    fresh, used = scene("cloth"), scene("cloth")
    states, wrong = used.states(), used.states()
    wrong[1].particle_qd.fill_(1e9)
    run(used, 2, states=wrong)
    wrong[1].particle_qd.fill_(np.nan)
    run(used, 2, states=wrong)
    assert np.isnan(wrong[0].body_qd.numpy()).any()
    assert_same(numbers(run(fresh, 20)), numbers(run(used, 20, states=states)))


@pytest.mark.filterwarnings("ignore::warpsim.solvers.bodies.alarms.DivergenceWarning")
def test_numbers_that_are_not_finite_are_told():
    for where in (0, 1):
        coupling = scene("cloth")
        coupling.solvers[where].check = True
        states = coupling.states()
        states[1].particle_qd.fill_(np.nan)
        with pytest.raises(DivergenceError, match="not finite"):
            run(coupling, 60, states=states)


def test_motors_take_targets_from_controls():
    coupling = scene("grains")
    controls = coupling.controls()
    controls[0].joint_target_velocity.assign(np.array([[0, 0, -5.0, 0, 0, 0]]))
    states = coupling.states()
    for _ in range(200):
        coupling.step(states, states, controls, dt=DT)
    assert states[0].body_qd.numpy()[2, 2] == pytest.approx(-5.0, abs=0.05)


def test_the_gradient_by_a_motors_target_reaches_matter():
    """Of where a block on the paddle gets, by how fast a motor turns that; against differences."""

    def where(speed, gradient=False):
        coupling = scene("soft", dtype=wp.float64, requires_grad=True)
        controls = [solver.model.control(requires_grad=True) for solver in coupling.solvers]
        controls[0].joint_target_velocity.assign(np.array([[0, 0, speed, 0, 0, 0]]))
        states = [coupling.states() for _ in range(36)]
        with wp.Tape() as tape:
            for before, after in itertools.pairwise(states):
                coupling.step(before, after, controls, dt=DT)
        end = states[-1][1].particle_q
        if not gradient:
            return end.numpy().sum()
        tape.backward(grads={end: wp.array(np.ones(end.numpy().shape), dtype=end.dtype)})
        return controls[0].joint_target_velocity.grad.numpy()[0, 2]

    slope, h = where(0.5, gradient=True), 1e-6
    assert abs(slope) > 1e-4
    assert slope == pytest.approx((where(0.5 + h) - where(0.5 - h)) / (2 * h), rel=1e-5)


def test_a_coupling_of_nothing_steps_bodies():
    builder = ModelBuilder()
    add_bodies(builder)
    model = builder.finalize("cpu")
    bodies = SolverBodies(model, 4)
    coupling, alone = Coupling(bodies, []), bodies.model.state()
    states = run(coupling, 20)
    for _ in range(20):
        bodies.step(alone, alone, dt=DT)
    assert_same(numbers((alone,)), numbers(states))


def test_matter_without_particles_steps():
    builder = ModelBuilder()
    builder.add_shape_sphere(radius=0.1, body=builder.add_body())
    model = builder.finalize("cpu", dtype=wp.float64)
    coupling = Coupling(SolverBodies(model), [SolverDEM(model, Material(1e5))])
    assert run(coupling, 24)[0].body_qd.numpy()[0, 4] == pytest.approx(-0.981, rel=1e-6)


def test_tapes_where_nothing_has_gradients_record():
    coupling = scene("cloth")
    states = coupling.states(requires_grad=False)
    with wp.Tape():
        run(coupling, 2, states=states)
    assert_same(numbers(run(scene("cloth"), 2)), numbers(states))


@pytest.mark.parametrize("which", [(True, False), (False, True)])
def test_gradients_that_would_end_half_way_are_refused(which):
    coupling = scene("cloth")
    states = tuple(s.model.state(requires_grad=g) for s, g in zip(coupling.solvers, which, strict=True))
    with wp.Tape(), pytest.raises(StateError, match="state_out has no gradients"):
        coupling.step(states, states, dt=DT)


@pytest.mark.parametrize("matter", [3, SolverXPBD])
def test_matter_is_a_list(matter):
    model = scene("cloth").bodies.model
    with pytest.raises(ModelError, match="expected: a list of solvers"):
        Coupling(SolverBodies(model), matter)


def test_relaxation_is_a_part():
    with pytest.raises(ModelError, match=r"relaxation is 1.5\nexpected: above 0, up to 1"):
        scene("cloth", relaxation=1.5)
