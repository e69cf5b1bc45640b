"""Worlds of grains: none feels another; each falls as alone until sums in another order show, and has its gradients."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from grain_scenes import DENSITY, RADIUS, STICKY

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import GrainStream, Material, ModelBuilder, Scene, SolverDEM


def pile(k=0, count=(3, 4, 3)):
    """Grains that fall into a dish of a ball and a plane, faster in each world."""
    builder, rng = ModelBuilder(gravity=-9.81 - k), np.random.default_rng(0)
    cells = np.stack(np.meshgrid(*map(range, count), indexing="ij"), axis=-1).reshape(-1, 3)
    places = (1.97 * cells + rng.uniform(-0.1, 0.1, cells.shape) + [0.0, 1.2, 0.0]) * RADIUS
    radius = RADIUS * rng.uniform(0.85, 1.0, len(cells))
    builder.add_particles(places, (0.0, -0.3 * k, 0.0), DENSITY * 4.19 * radius**3, radius)
    builder.add_ground_plane()
    builder.add_shape_sphere((0.02, -0.01 + 0.002 * k, 0.02, 0, 0, 0, 1), 0.018)
    return builder


def together(scenes, **options):
    builder = ModelBuilder()
    for scene in scenes:
        builder.add_world(scene)
    return builder.finalize(**options)


def run(model, steps, **options):
    solver, state = SolverDEM(model, STICKY, substeps=2, overlaps="ignore", **options), model.state()
    for _ in range(steps):
        solver.step(state, state, dt=1.0e-4)
    return solver, state


@pytest.mark.parametrize("options", [{}, {"rolling": "spring"}, {"law": "linear"}, {"period": (0.2, 0.0, 0.2)}])
def test_each_world_falls_as_the_model_that_holds_it_alone(options):
    scenes = [pile(k) for k in range(3)]
    solver, state = run(together(scenes, dtype=wp.float64), 300, **options)
    assert solver.statistics(state).contacts >= 7
    for k, scene in enumerate(scenes):
        _, alone = run(scene.finalize(dtype=wp.float64), 300, **options)
        np.testing.assert_allclose(state.world(k).particle_q.numpy(), alone.particle_q.numpy(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.world(k).particle_w.numpy(), alone.particle_w.numpy(), rtol=0, atol=1e-5)


def test_lists_hold_pairs_of_one_world():
    model = together([pile(k) for k in range(4)])
    solver, _ = run(model, 40)
    offsets, ids = solver.neighbours.rows.offsets.numpy(), solver.neighbours.rows.ids.numpy()
    world = model.particle_world.numpy()[solver._grains.number.numpy()]
    assert (solver._grains.world.numpy() == world).all()
    rows = np.repeat(np.arange(len(world)), np.diff(offsets))
    assert len(rows) > 500 and (world[rows] == world[ids[: len(rows)]]).all()


def test_forces_on_shapes_are_those_of_their_world():
    scenes = [pile(k, (2, 2 + k, 2)) for k in range(3)]
    model = together(scenes)
    solver, _ = run(model, 200)
    for k, scene in enumerate(scenes):
        single, _ = run(scene.finalize(), 200)
        rows = model.world(k).rows("shape")
        force = solver.shape_force.numpy()[rows.start : rows.stop]
        np.testing.assert_allclose(force, single.shape_force.numpy(), rtol=2e-2, atol=1e-4)


def test_numbers_of_threads_do_not_show():
    ends = set()
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        _, state = run(together([pile(k) for k in range(5)]), 60)
        ends.add(state.particle_q.numpy().tobytes() + state.particle_w.numpy().tobytes())
    assert len(ends) == 1


def gradients(model, weights, steps=20):
    solver = SolverDEM(model, STICKY, substeps=2, overlaps="ignore")
    states, control = [model.state() for _ in range(steps + 1)], model.control()
    with wp.Tape() as tape:
        for before, after in pairwise(states):
            solver.step(before, after, control, dt=1.0e-4)
    tape.backward(grads={states[-1].particle_q: wp.array(weights, dtype=model.vec3)})
    return states[0], control


def test_gradients_of_each_world_are_those_of_the_model_that_holds_it_alone():
    scenes, rng = [pile(k, (2, 3, 2)) for k in range(3)], np.random.default_rng(1)
    weights = rng.normal(size=(3, scenes[0].particle_count, 3))
    options = {"dtype": wp.float64, "requires_grad": True}
    first, control = gradients(together(scenes, **options), weights.reshape(-1, 3))
    for k, scene in enumerate(scenes):
        alone, pull = gradients(scene.finalize(**options), weights[k])
        for name in ("particle_q", "particle_qd"):
            ours, single = (getattr(s, name).grad.numpy() for s in (first.world(k), alone))
            assert np.abs(single).max() > 0.0
            np.testing.assert_allclose(ours, single, rtol=1e-7, atol=1e-9 * np.abs(single).max())
        np.testing.assert_allclose(control.gravity.grad.numpy()[k], pull.gravity.grad.numpy()[0], rtol=1e-9)


def test_a_run_that_goes_on_is_the_run_that_never_stopped(tmp_path):
    solver, state = run(together([pile(k) for k in range(3)]), 60)
    Scene(solver=solver, state=state).save(tmp_path / "grains.scene")
    again = Scene.load(tmp_path / "grains.scene")
    for _ in range(60):
        solver.step(state, state, dt=1.0e-4)
        again.solver.step(again.state, again.state, dt=1.0e-4)
    assert again.state.particle_q.numpy().tobytes() == state.particle_q.numpy().tobytes()


def test_messages_say_the_world_and_streams_are_refused():
    scene = pile()
    scene.add_particles([(0.02, 0.001, 0.02)], mass=1e-3, radius=RADIUS)
    model = together([pile(), scene])
    solver = SolverDEM(model, Material(), substeps=2)
    state = model.state()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        solver.step(state, state, dt=1.0e-6)
    messages = " ".join(str(w.message) for w in told)
    assert "grains 49 and 72 of world 1 start" in messages and "of world 1 and shape " in messages
    one = ModelBuilder()
    grains = one.add_particles(np.zeros((3, 3)), mass=1e-3, radius=RADIUS)
    stream = GrainStream(grains, position=(0, 1, 0), velocity=(0, -1, 0), radius=0.05, rate=10.0)
    with pytest.raises(ModelError, match="several worlds"):
        SolverDEM(together([one, one]), streams=[stream])
