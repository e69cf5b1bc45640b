"""`SolverDEM`: the cases of the validation report, and what the number of threads, order and device may not change."""

import math
import subprocess
import sys

import grain_scenes
import numpy as np
import pytest
from grain_scenes import heap, run

import warpsim as wp
from warpsim.core.runtime.arrays import creation
from warpsim.errors import ModelError, StateError
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM, validate
from warpsim.solvers.dem.timestep import TimeStepError, TimeStepWarning

FAST = [c.name for c in validate.choose_cases(["dem"]) if c.tier == validate.FAST]


@pytest.mark.every_case
@pytest.mark.parametrize("name", FAST)
def test_the_case_passes(name):
    [result] = validate.run([name])
    assert result.passed, validate.table([result])


@pytest.mark.parametrize(
    ("law", "rolling"), [("hertz", "spring"), ("linear", "constant"), ("hertz", None), ("jkr", "spring")]
)
def test_the_interpreter_agrees_with_the_cpu(law, rolling):
    options = {"law": law, "rolling": rolling}
    ends = [run(*heap(device=device, count=12, **options), steps=1).arrays for device in ("cpu", "interp")]
    for name, mine in ends[0].items():
        np.testing.assert_allclose(mine.numpy(), ends[1][name].numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


def test_grains_that_are_added_in_another_order_go_the_same_way():
    mine = run(*heap(rolling="spring"), steps=300).particle_q.numpy()
    for order in (np.arange(grain_scenes.COUNT)[::-1], np.random.default_rng(1).permutation(grain_scenes.COUNT)):
        other = run(*heap(rolling="spring", order=order), steps=300).particle_q.numpy()
        np.testing.assert_allclose(other, mine[order], atol=1e-5)


def test_steps_with_many_substeps_are_many_steps():
    single = run(*heap(substeps=1), steps=60, dt=5.0e-5).particle_q.numpy()
    many = run(*heap(substeps=20), steps=3, dt=1.0e-3).particle_q.numpy()
    np.testing.assert_allclose(many, single, atol=1e-12)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import hashlib
import warpsim as wp
from grain_scenes import heap, run
state = run(*heap(dtype=wp.float32, rolling="spring", substeps=10), steps=30, dt=1.0e-3)
print(hashlib.sha256(b"".join(a.numpy().tobytes() for a in state.arrays.values())).hexdigest())
"""


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads_gives_the_same_bits(threads, same_as):
    program = PROGRAM.format(folder=str(grain_scenes.__file__.rpartition("/")[0]))
    code = f"import os; os.environ['WARPSIM_NUM_THREADS'] = '{threads}'\n{program}"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    same_as(shown)


@pytest.fixture(scope="module")
def same_as():
    """Compare with what was given first."""
    seen = []

    def check(text):
        seen.append(text)
        assert text == seen[0]

    return check


def test_a_bed_at_rest_weighs_on_the_floor():
    builder = ModelBuilder()
    radius = 0.01
    mass = 2500.0 * 4.0 / 3.0 * math.pi * radius**3
    points = [(0.021 * i, radius * (1 + 2 * j) * 0.999, 0.0) for i in range(4) for j in range(2)]
    builder.add_particles(points, 0.0, mass, radius)
    builder.add_ground_plane()
    model = builder.finalize(dtype=wp.float64)
    solver = SolverDEM(model, Material(1.0e6, 0.25, 0.3, 0.5), substeps=20)
    state = model.state()
    for _ in range(150):
        solver.step(state, state, dt=2.0e-3)
    torque, force = np.split(solver.shape_force.numpy()[0], 2)
    np.testing.assert_allclose(force, [0.0, -8 * mass * 9.81, 0.0], rtol=1e-3, atol=1e-6)
    arm = state.particle_q.numpy().mean(axis=0)
    np.testing.assert_allclose(torque, np.cross(arm, force), rtol=1e-2, atol=1e-6)
    statistics = solver.statistics(state)
    assert statistics.contacts == 4 and statistics.coordination_number == 1.0
    assert 0.0 < statistics.largest_overlap < 0.02
    assert statistics.rotational_energy < 1e-9


def test_a_moving_wall_carries_grains_along():
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.00999, 0.0), 0.0, 0.01, 0.01)
    builder.add_ground_plane()
    model = builder.finalize(dtype=wp.float64)
    solver, state, control = SolverDEM(model, Material(1.0e6), substeps=20), model.state(), model.control()
    control.set_shape(0, velocity=(0.5, 0.0, 0.0))
    for _ in range(300):
        solver.step(state, state, control, dt=1.0e-3)
        control.advance(1.0e-3)
    # a ball on a belt: 2/7 of the belt's speed once it rolls, and a little more as it lies 1 % of its radius deep
    assert state.particle_qd.numpy()[0, 0] == pytest.approx(0.5 * 2.0 / 7.0, rel=0.02)
    rotation = state.particle_rotation.numpy()[0]
    assert np.linalg.norm(rotation) == pytest.approx(1.0, abs=1e-9) and abs(rotation[2]) > 0.1


def test_grains_meet_their_images_in_a_periodic_box():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([(0.001, 0.0, 0.0), (0.099, 0.0, 0.0)], [(-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)], 7.6e-6, 0.0009)
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverDEM(model, Material(1.0e7, friction=0.0), substeps=10, period=(0.1, 0.0, 0.0)), model.state()
    for _ in range(20):
        solver.step(state, state, dt=1.0e-5 * 10)
    assert state.particle_qd.numpy()[:, 0] == pytest.approx([0.5, -0.5], rel=1e-2)


@pytest.mark.parametrize("shape", ["sphere", "mesh", "sdf", "hollow"])
@pytest.mark.parametrize("periods", [-1, 0, 3])
def test_grains_meet_the_images_of_shapes_too(shape, periods):
    """A ball bounces off an obstacle whose frame is beside it, wherever the ball is counted from."""
    builder, pose = ModelBuilder(gravity=0.0), [0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    cfg = ShapeConfig(restitution=1.0, mu=0.0)
    builder.add_particle((0.05 + 0.2 * periods, 0.0, 0.0), (1.0, 0.0, 0.0), 0.01, 0.01)
    corners = (0.05, -0.03, -0.03), (0.09, 0.03, 0.03)
    if shape == "sphere":
        builder.add_shape_sphere([0.12, *pose[1:]], 0.02, cfg)
    elif shape == "hollow":
        builder.add_shape_sphere(pose, 0.06, cfg, hollow=True)
    elif shape == "mesh":
        builder.add_shape_mesh(pose, grain_scenes.block(*corners), cfg=cfg)
    else:
        builder.add_shape_sdf(pose, wp.mesh_to_volume(grain_scenes.block(*corners), 0.004, half_width=5), cfg)
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverDEM(model, Material(1.0e6), substeps=5, period=(0.2, 0.0, 0.0)), model.state()
    for _ in range(65):
        solver.step(state, state, dt=1.0e-3)
    assert state.particle_qd.numpy()[0] == pytest.approx([-1.0, 0.0, 0.0], abs=2e-3)


def test_planes_have_no_images():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.15, 0.0, 0.0), 0.0, 0.01, 0.01)
    builder.add_shape_plane((1.0, 0.0, 0.0))
    model = builder.finalize()
    solver, state = SolverDEM(model, Material(1.0e6), period=(0.2, 0.0, 0.0), overlaps="error"), model.state()
    solver.step(state, state, dt=1.0e-4)
    assert state.particle_qd.numpy()[0].tolist() == [0.0, 0.0, 0.0]


def test_gradients_go_through_images_of_shapes():
    """Those of a ball one period further are those of the ball."""
    gradients = []
    for x in (0.0, 0.4):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle((x, 0.001, 0.002), (1.0, 0.1, 0.0), 0.01, 0.01)
        builder.add_shape_sphere([0.0295, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 0.02)
        model = builder.finalize(dtype=wp.float64, requires_grad=True)
        solver, state = SolverDEM(model, Material(1.0e6), period=(0.2, 0.0, 0.0)), model.state()
        with wp.Tape() as tape:
            for _ in range(5):
                solver.step(state, state, dt=1.0e-4)
        tape.backward(grads={state.particle_qd: wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3d)})
        shape = [solver.resting.shape_transform, model.shape_margin, model.shape_scale]
        gradients.append([a.grad.numpy() for a in (*shape, model.particle_radius, state.particle_q)])
    for one, other in zip(*gradients, strict=True):
        assert np.abs(one).max() > 0.0
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_held_grain_stays():
    builder = ModelBuilder()
    builder.add_particles([(0.0, 0.0, 0.0), (0.0, 0.0195, 0.0)], 0.0, [0.0, 0.01], 0.01)
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverDEM(model, Material(1.0e6), substeps=10), model.state()
    for _ in range(50):
        solver.step(state, state, dt=1.0e-3)
    assert (state.particle_q.numpy()[0] == 0.0).all()
    assert state.particle_q.numpy()[1, 1] == pytest.approx(0.02, abs=2e-3)


def test_a_reset_solver_starts_anew():
    model, solver = heap(rolling="spring")
    first = run(model, solver, 30).particle_q.numpy()
    solver.reset()
    np.testing.assert_array_equal(run(model, solver, 30).particle_q.numpy(), first)


# ----- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"law": "hooke"}, r"law is 'hooke'\nexpected: 'hertz', 'linear', 'jkr'"),
        ({"rolling": "sliding"}, r"rolling is 'sliding'"),
        ({"substeps": 0}, r"substeps is 0\nexpected: an integer, 1 to 1000000"),
        ({"substeps": 2.5}, r"substeps is 2.5\nexpected: an integer"),
        ({"materials": "sand"}, r"materials is 'sand'\nexpected: a Material or a list"),
        ({"materials": []}, r"materials is \[\]\nexpected: a Material or a list"),
        ({"particle_material": [0, 0, 0]}, r"particle_material is int64 of shape \(3,\)\nexpected: an integer, or one"),
        ({"particle_material": 0.5}, r"particle_material is float64"),
        ({"particle_material": 1}, r"material that is not there\nexpected: 0 to 0"),
        ({"skin": 0.0}, r"skin is 0.0\nexpected: above 0"),
        ({"period": (0.1, 0.0)}, r"three lengths"),
        ({"period": (0.03, 0.0, 0.0)}, r"at least two diameters of the largest grain"),
    ],
)
def test_arguments_that_are_no_grains_are_refused(options, text):
    model, _ = heap()
    with pytest.raises(ModelError, match=text):
        SolverDEM(model, **options)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({"youngs_modulus": 0.0}, r"youngs_modulus is 0.0\nexpected: above 0"),
        ({"poissons_ratio": 0.6}, r"poissons_ratio is 0.6\nexpected: -1 to 1/2"),
        ({"restitution": 1.5}, r"restitution is 1.5\nexpected: 0 to 1"),
        ({"friction": "0.5"}, r"friction is '0.5'\nexpected: 0 or more"),
        ({"youngs_modulus": None}, r"youngs_modulus is None\nexpected: above 0"),
        ({"friction": -0.1}, r"friction is -0.1\nexpected: 0 or more"),
        ({"friction_static": 0.1}, r"sticking is not easier overcome"),
        ({"cohesion": math.nan}, r"cohesion is nan"),
        ({"adhesion": -1.0}, r"adhesion is -1.0\nexpected: 0 or more \[J/m\^2\]"),
    ],
)
def test_materials_that_are_none_are_refused(numbers, text):
    with pytest.raises(ModelError, match=text):
        Material(**numbers)


def test_a_time_step_that_is_too_long_is_refused_with_the_cure():
    model, solver = heap(material=Material(1.0e9))
    state = model.state()
    with pytest.raises(TimeStepError, match=r"longer than the Rayleigh time, .* s\nhelp: \d+ times as many substeps"):
        solver.step(state, state, dt=1.0e-3)
    with pytest.warns(TimeStepWarning, match=r"% of the Rayleigh time"):
        solver.step(state, state, dt=4.0e-5)


def test_states_of_another_model_or_of_before_are_refused():
    model, solver = heap()
    other, _ = heap()
    with pytest.raises(StateError, match="state_in belongs to another model"):
        solver.step(other.state(), model.state(), dt=1.0e-4)
    with pytest.raises(StateError, match=r"dt is None\nexpected: a time step"):
        solver.step(model.state(), model.state())
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.0), radius=0.1)
    bare = builder.finalize()
    early = bare.state()
    with pytest.raises(StateError, match="made before the solver"):
        SolverDEM(bare).step(early, early, dt=1.0e-4)


@pytest.mark.parametrize(
    ("name", "array", "text"),
    [
        ("particle_q", wp.zeros(10, wp.vec3d), r"vec3d of shape \(10,\) on cpu\nexpected: vec3d of shape \(45,\)"),
        ("particle_rotation", wp.zeros(45, wp.quat), r"quatf of shape \(45,\) on cpu\nexpected: quatd of .*45"),
        ("particle_f", np.zeros((45, 3)), r".*\nexpected: vec3d of shape \(45,\) on cpu\nhelp: write numbers"),
        ("particle_qd", wp.zeros(45, wp.vec3d, device="interp"), r".* on interp\nexpected: .* on cpu"),
    ],
)
def test_arrays_that_are_none_of_the_model_are_refused(name, array, text):
    model, solver = heap()
    state = model.state()
    setattr(state, name, array)
    with pytest.raises(StateError, match=rf"state_out.{name} is {text}"):
        solver.step(model.state(), state, dt=1.0e-4)
    control = model.control()
    control.shape_velocity = wp.zeros(1, model.spatial_vector)
    with pytest.raises(StateError, match=r"control.shape_velocity is .* \(1,\) on cpu\nexpected: .* \(3,\) on cpu"):
        solver.step(model.state(), model.state(), control, dt=1.0e-4)


@pytest.mark.parametrize("model", [None, ModelBuilder()])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ModelError, match=r"model is .*\nexpected: a Model, as ModelBuilder.finalize\(\) makes it"):
        SolverDEM(model)


@pytest.mark.parametrize("dt", [None, 0.0, -1.0, math.nan, "fast"])
def test_time_steps_that_are_none_are_refused(dt):
    model, solver = heap()
    with pytest.raises(StateError, match=r"dt is .*\nexpected: a time step above 0"):
        solver.step(model.state(), model.state(), dt=dt)


def test_controls_that_come_and_go_are_told_apart():
    """Graphs of substeps are kept by arrays, whose ids may be used again when they are gone."""
    model, solver = heap(material=Material(2.0e6))
    ends = []
    for pull in (-9.81, 0.0, -5.0, 0.0):
        solver.reset()
        state = model.state()
        for _ in range(5):
            control = model.control()
            control.gravity.assign([(0.0, pull, 0.0)])
            solver.step(state, state, control, dt=1.0e-4)
            del control
        ends.append(state.particle_q.numpy())
    np.testing.assert_array_equal(ends[1], ends[3])
    assert ends[0][:, 1].sum() < ends[2][:, 1].sum() < ends[1][:, 1].sum()


def test_no_grains_are_stepped_too():
    model = ModelBuilder().finalize()
    solver = SolverDEM(model)
    state = model.state()
    solver.step(state, state, dt=1.0e-4)
    assert solver.statistics(state).contacts == 0 and solver.contact_count == 0


def test_grains_without_radius_are_refused():
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.0), radius=0.0)
    with pytest.raises(ModelError, match="a grain has the radius 0 m"):
        SolverDEM(builder.finalize())


def test_steps_after_the_first_allocate_nothing(monkeypatch):
    """No array, while lists of neighbours have room and serve; graphs are made with the first steps."""
    model, solver = heap(dtype=wp.float32, rolling="spring")
    state, control, sizes, allocate = model.state(), model.control(), [], creation.allocate
    for _ in range(300):
        solver.step(state, state, control, dt=2.0e-4)

    def note(shape, *args, **options):
        sizes.append(shape)
        return allocate(shape, *args, **options)

    monkeypatch.setattr(creation, "allocate", note)
    sorts, sort = [], solver._grains.sort
    monkeypatch.setattr(solver._grains, "sort", lambda lists: sorts.append(sort(lists)))
    for _ in range(600):
        solver.step(state, state, control, dt=2.0e-4)
    assert sorts and not sizes
    wp.zeros(3)
    assert sizes  # what allocates is seen


def test_grains_without_end_are_refused():
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.0), mass=1.0, radius=math.inf)
    with pytest.raises(ModelError, match="a grain has the radius inf m\nexpected: a finite number"):
        SolverDEM(builder.finalize())
