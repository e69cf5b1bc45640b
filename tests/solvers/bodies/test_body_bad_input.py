"""What bodies say of input that is no machine; masses, joints and overlaps have tests of their own beside these."""

import numpy as np
import pytest

from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import ModelBuilder, ShapeType, SolverBodies


def box(builder, x=0.0, **options):
    body = builder.add_body((x, 0, 0, 0, 0, 0, 1), **options)
    builder.add_shape_box(hx=0.1, hy=0.1, hz=0.1, body=body)
    return body


def after(builder, seconds=1.0, **options):
    solver = SolverBodies(builder.finalize("cpu"), **options)
    state = solver.model.state()
    for _ in range(round(60 * seconds)):
        solver.step(state, state, dt=1 / 60)
    return state


def test_loops_that_are_held_more_than_once_stand():
    """Five joints, of which three would do: each repeats what the others say, and their forces share the weight."""
    builder = ModelBuilder()
    bodies = [box(builder, x) for x in (0.0, 1.0, 2.0)]
    for parent, child in ((-1, 0), (0, 1), (1, 2), (-1, 2), (-1, 1)):
        builder.add_joint_fixed(parent if parent < 0 else bodies[parent], bodies[child])
    state = after(builder)
    np.testing.assert_allclose(state.body_q.numpy()[:, :3], [[0, 0, 0], [1, 0, 0], [2, 0, 0]], atol=1e-6)
    up = state.joint_f.numpy()[:, 4]
    mass = 3 * 1000.0 * 0.008
    assert up[[0, 3, 4]].sum() == pytest.approx(mass * 9.81, rel=1e-4)


def test_a_motor_against_a_loop_that_is_locked_stands_still():
    builder = ModelBuilder()
    one, two = box(builder), box(builder, 1.0)
    builder.add_joint_revolute(-1, one, axis=(0, 0, 1))
    builder.add_joint_fixed(one, two)
    builder.add_joint_prismatic(-1, two, axis=(1, 0, 0), target_velocity=1.0, target_kd=100.0)
    state = after(builder)
    assert np.abs(state.body_qd.numpy()).max() < 1e-6
    np.testing.assert_allclose(state.body_q.numpy()[:, :3], [[0, 0, 0], [1, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("drive", [{"target_ke": 1e12}, {"target_kd": 1e12}, {"target_ke": 1e30, "target": 1.0}])
def test_drives_without_limits_do_not_explode(drive):
    builder = ModelBuilder(gravity=0.0)
    builder.add_joint_revolute(-1, box(builder), **drive)
    assert np.abs(after(builder).body_qd.numpy()).max() < 1e-3


@pytest.mark.parametrize("name", ["target_ke", "target_kd"])
def test_drives_that_no_number_holds_are_refused(name):
    builder = ModelBuilder()
    with pytest.raises(ModelError, match=f"{name} = inf"):
        builder.add_joint_revolute(-1, box(builder), **{name: np.inf})


def test_forces_that_no_number_holds_are_told():
    builder = ModelBuilder()
    box(builder)
    solver = SolverBodies(builder.finalize("cpu"), check=True)
    state = solver.model.state()
    state.body_f.assign(np.full((1, 6), 3e38))
    with pytest.raises(DivergenceError, match=r"body 0 has numbers that are not finite\nhelp: more substeps"):
        for _ in range(10):
            solver.step(state, state, dt=1.0)


@pytest.mark.parametrize("dt", [0.0, -0.1, np.nan, np.inf])
def test_times_that_are_none_are_refused(dt):
    builder = ModelBuilder()
    box(builder)
    solver = SolverBodies(builder.finalize("cpu"))
    with pytest.raises(StateError, match=r"expected: a time step above 0 \[s\]"):
        solver.step(solver.model.state(), solver.model.state(), dt=dt)


def test_forms_without_volume_are_refused_on_bodies():
    builder = ModelBuilder()
    with pytest.raises(ModelError, match="a length above 0"):
        builder.add_shape_sphere(radius=0.0, body=builder.add_body())
    builder = ModelBuilder()
    builder.add_shape(ShapeType.PLANE, body=builder.add_body())
    with pytest.raises(ModelError, match="plane, which has no volume"):
        builder.finalize("cpu")


def test_poses_that_are_none_are_refused():
    for q, words in (((np.nan, 0, 0, 0, 0, 0, 1), "NaN"), ((0, 0, 0, 0, 0, 0, 2), "quaternion|unit|length")):
        with pytest.raises(ModelError, match=words):
            ModelBuilder().add_body(q)
