"""One step of XPBD: the interpreter and the CPU agree, threads and graphs do not show, precisions agree, refusals."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from shape_probe import PROBE
from xpbd_scenes import SCENES, SHAPES, falling_on, springs

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import Contacts, ModelBuilder, SolverXPBD, SurfaceContacts
from warpsim.solvers.scene.coloring import Coloring, check, greedy

DT = 1.0 / 60.0


def after(builder, steps=1, device="cpu", dtype=wp.float32, **options):
    """Positions and velocities after some steps, (2, n, 3)."""
    model = builder.finalize(device=device, dtype=dtype)
    solver, state = SolverXPBD(model, **{"substeps": 4, **options}), model.state()
    for _ in range(steps):
        solver.step(state, state, None, None, DT)
    return np.stack([state.particle_q.numpy(), state.particle_qd.numpy()])


@pytest.mark.parametrize("iterations", [1, 2])
@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("scene", SCENES)
def test_every_constraint_is_the_same_on_the_interpreter(scene, damping, iterations):
    options = {"substeps": 1, "iterations": iterations, "dtype": wp.float64}
    expected = after(SCENES[scene](damping), device="interp", **options)
    np.testing.assert_allclose(after(SCENES[scene](damping), **options), expected, rtol=1e-12, atol=1e-13)
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("scene", SCENES)
def test_precisions_agree(scene):
    single, double = (after(SCENES[scene](), 3, dtype=dtype) for dtype in (wp.float32, wp.float64))
    np.testing.assert_allclose(single[0], double[0], atol=2e-5)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("mesh", "sdf")])
def test_contact_is_the_same_on_the_interpreter(shape):
    builder = falling_on(SHAPES[shape])
    expected = after(builder, 5, "interp", wp.float64, substeps=1)
    free = after(falling_on(lambda b, cfg: None), 5, dtype=wp.float64, substeps=1)
    assert np.abs(expected - free).max() > 0.01, "nothing met the shape"
    np.testing.assert_allclose(after(builder, 5, dtype=wp.float64, substeps=1), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_particles_stay_outside_of_shapes(shape):
    builder = falling_on(SHAPES[shape])
    q = after(builder, 60, substeps=8)[0]
    free = after(falling_on(lambda b, cfg: None), 60, substeps=8)[0]
    assert np.abs(q - free).max(axis=1).max() > 1.0, "nothing met the shape"
    depth = 0.03 - distances(shape, q)
    assert depth.max() < 0.011, f"{depth.max():.3f} m too deep"


def distances(shape, q):
    """Of points to the shape of a scene, by what the solver asks; its oracle is in test_shapes."""
    builder = falling_on(SHAPES[shape], mu=0.0, restitution=0.0)
    model = builder.finalize(dtype=wp.float32)
    pose = model.shape_transform.numpy()[0]
    local = Rotation.from_quat(pose[3:]).inv().apply(q - pose[:3])
    d, n = wp.zeros(len(q), dtype=float), wp.zeros(len(q), dtype=wp.vec3)
    points = wp.array(local, dtype=wp.vec3)
    args = [points, model.shape_scale, model.shape_source[0], model.shape_heights[0], 1.0, d, n]
    wp.launch(PROBE(model.shape_type[0]), len(q), args)
    return d.numpy()


def test_threads_do_not_show():
    found = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        builder = falling_on(SHAPES["sphere"])
        builder.add_cloth_grid(
            (-0.5, 0.7, -0.5), (0.5, 0.5, 0.5, 0.5), 0, 30, 30, 0.03, 0.03, 1e-3, spring_ke=1e4, edge_ke=1e-4
        )
        found.append(after(builder, 300))
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_a_step_into_another_state_is_the_step_in_place():
    model = springs().finalize()
    solver, one, other = SolverXPBD(model), model.state(), model.state()
    for _ in range(3):
        solver.step(one, other, None, None, DT)
        one, other = other, one
    assert (one.particle_q.numpy() == after(springs(), 3, substeps=10)[0]).all()


def test_a_graph_sees_what_controls_and_materials_became():
    """The fifth step runs from a graph; the same changes in a run without graphs have the same effect."""
    found = []
    for graphs in (True, False):
        model = SCENES["attachments"]().finalize()
        solver, state, control = SolverXPBD(model), model.state(), model.control()
        for k in range(8):
            control.gravity.assign([[0.0, -9.81 * k, 0.0]])
            control.set_shape(0, position=(0.5, 1.5 - 0.1 * k, 0.0), velocity=(0, -6.0, 0))
            model.spring_rest_length.assign(model.spring_rest_length.numpy() * 0.99)
            if not graphs:
                solver._graphs._graphs.clear()
            solver.step(state, state, control, None, DT)
        assert any(solver._graphs._graphs.values()) == graphs
        found.append(state.particle_q.numpy().copy())
    assert (found[0] == found[1]).all()


def test_steps_without_a_control_see_what_the_model_became():
    """Gravity, poses of shapes and targets, also from graphs; iterations are fixed, as multipliers depend on them."""
    model = SCENES["attachments"]().finalize()
    solver, state, control, other = SolverXPBD(model), model.state(), model.control(), model.state()
    for k in range(4):
        model.gravity.assign([[0.0, 2.0 * k, 0.0]])
        model.shape_transform.assign(model.shape_transform.numpy() + 0.02 * np.eye(7)[:1])
        model.attachment_target.assign(model.attachment_target.numpy() + 0.01)
        for name in ("gravity", "shape_transform", "attachment_target"):
            getattr(control, name).assign(getattr(model, name))
        solver.step(state, state, None, None, DT)
        solver.step(other, other, control, None, DT)
    assert (state.particle_q.numpy() == other.particle_q.numpy()).all()
    with pytest.raises(AttributeError):
        solver.iterations = 5


def test_both_kinds_of_contact_act_together():
    """Balls fall on each other and on a sheet: particles alone know nothing of triangles, surfaces nothing of balls."""
    builder = ModelBuilder()
    builder.default_particle_radius = 0.02
    builder.add_cloth_grid((-0.3, 0, -0.3), (np.sqrt(0.5), 0, 0, np.sqrt(0.5)), 0, 2, 2, 0.3, 0.3, 0.0)
    balls = builder.add_particles([[0.1, 0.06, 0.05], [0.101, 0.12, 0.05]], mass=0.1)
    model = builder.finalize(dtype=wp.float64)
    solver, found = SolverXPBD(model), {}
    kinds = [Contacts(model, margin=0.05), SurfaceContacts(model)]
    for name, contacts in (("balls", kinds[0]), ("surfaces", kinds[1]), ("both", kinds)):
        state = model.state()
        for _ in range(30):
            solver.step(state, state, None, contacts, DT)
        q = state.particle_q.numpy()[list(balls)]
        found[name] = [q[:, 1].min() > 0.03, np.linalg.norm(q[0] - q[1]) > 0.03]
    assert found == {"balls": [False, True], "surfaces": [True, False], "both": [True, True]}


def test_contacts_of_other_kinds_are_refused():
    model = springs().finalize()
    with pytest.raises(StateError, match=r"contacts is 'all'\nexpected: Contacts, SurfaceContacts, a list"):
        SolverXPBD(model).step(model.state(), model.state(), None, "all", DT)


def test_forces_from_outside_act_throughout_a_step():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0, 0, 0), mass=2.0)
    model = builder.finalize(dtype=wp.float64)
    state = model.state()
    state.particle_f.assign([[3.0, 0.0, 0.0]])
    SolverXPBD(model).step(state, state, None, None, 0.5)
    assert np.isclose(state.particle_qd.numpy()[0, 0], 0.75)


def test_held_particles_move_at_their_velocity():
    builder = ModelBuilder()
    builder.add_particle((0, 0, 0), (1, 2, 3), mass=0.0)
    moved = after(builder, dtype=wp.float64)
    np.testing.assert_allclose(moved, [[np.array([1, 2, 3]) * DT], [[1, 2, 3]]], rtol=1e-12)


def test_a_body_at_rest_stays_at_rest():
    builder = ModelBuilder(gravity=0.0)
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0, 2, 2, 2, 0.1, 0.1, 0.1, 100.0, youngs_modulus=1e6)
    builder.add_cloth_grid((0, 1, 0), (0, 0, 0, 1), 0, 3, 3, 0.1, 0.1, 0.01, spring_ke=1e4, edge_ke=0.1, tri_ke=1e3)
    q = builder.particles["q"].copy()
    for iterations in (1, 3):
        np.testing.assert_allclose(after(builder, 10, dtype=wp.float64, iterations=iterations)[0], q, atol=1e-12)


def test_springs_follow_their_activation():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [1, 0, 0]], mass=[0.0, 1.0])
    builder.add_spring(0, 1)
    model = builder.finalize()
    control, state = model.control(), model.state()
    control.spring_activation.fill_(0.25)
    SolverXPBD(model).step(state, state, control, None, DT)
    assert np.isclose(state.particle_q.numpy()[1, 0], 1.25)


def test_tethers_hold_what_springs_cannot():
    """A hanging sheet whose springs are far too weak: its corners stay within a hundredth of their distance at rest."""
    builder = ModelBuilder()
    cloth = builder.add_cloth_grid((0, 0, 0), (0, 0, 0, 1), 0, 6, 6, 0.1, 0.1, 0.01, spring_ke=1.0, fix_top=True)
    rest, held = builder.particles["q"].copy(), builder.particles["mass"] == 0.0
    builder.add_tethers(cloth)
    q = after(builder, 60, damping=2.0)[0]
    limit = np.linalg.norm(rest[:, None] - rest[held], axis=2).min(axis=1)
    hanging = np.linalg.norm(q[:, None] - rest[held], axis=2).min(axis=1)
    assert (hanging <= 1.011 * limit + 1e-6).all() and hanging.max() > 0.6
    with pytest.raises(ModelError, match="none of 3 particles is held"):
        builder.add_tethers(range(3))


# ----- coloring -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_no_color_holds_a_particle_twice(width):
    rows = np.argsort(np.random.default_rng(width).random((400, 60)), axis=1)[:, :width]
    coloring = Coloring(rows, 60)
    assert sorted(coloring.order.tolist()) == list(range(400))
    for first, count in coloring.ranges:
        members = rows[coloring.order[first : first + count]].ravel()
        assert len(set(members.tolist())) == len(members)
    assert sum(count for _, count in coloring.ranges) == 400


def test_a_particle_may_have_more_constraints_than_a_word_has_bits():
    rows = np.column_stack([np.zeros(200, int), np.arange(1, 201)])
    assert sorted(greedy(rows, 201).tolist()) == list(range(200))


def test_a_grid_of_springs_has_eight_colors():
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), (0, 0, 0, 1), 0, 40, 40, 0.1, 0.1, 1.0, spring_ke=1.0)
    assert len(Coloring(builder.springs["indices"], builder.particle_count).ranges) == 8


def test_a_wrong_coloring_is_found():
    with pytest.raises(ModelError, match="color 1 holds particle 2 twice"):
        check(np.array([[0, 1], [1, 2], [2, 3]]), np.array([0, 1, 1]), 4)


# ----- refusals -----------------------------------------------------------------------------------


def test_isometric_bending_refuses_sheets_that_are_folded_at_rest():
    corners = np.array([(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0)], float)  # two triangles at a right angle
    builder = ModelBuilder()
    builder.add_cloth_mesh((0, 1, 0), (0, 0, 0, 1), 1.0, 0, corners, [0, 1, 2, 1, 0, 3], 0.2, edge_ke=0.01)
    model = builder.finalize(device="cpu")
    with pytest.raises(ModelError, match=r'edge 0 is folded by -?90 degrees at rest(.*\n)*help: bending="dihedral"'):
        SolverXPBD(model, bending="isometric")
    SolverXPBD(model, bending="dihedral")


COUNTS = "an integer, 1 to 1000000"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        *(({"substeps": n}, f'{COUNTS}, "auto", or AutoSubsteps') for n in (0, 2.5, np.nan, 10**7, "Auto")),
        *(({"iterations": n}, COUNTS) for n in (0, 1.5, 10**300)),
        ({"damping": -1.0}, "0 or more"),
        ({"damping": np.nan}, "0 or more"),
        ({"contact_depth": -0.1}, "0 or more"),
        ({"air_density": np.inf}, "0 or more"),
        ({"bending": "straight"}, "'dihedral' or 'isometric'"),
    ],
)
def test_options_without_meaning_are_refused(options, expected):
    ((name, value),) = options.items()
    with pytest.raises(ModelError, match=f"{name} is {repr(value)[:40]}.*\nexpected: {expected}"):
        SolverXPBD(springs().finalize(), **options)


def test_settings_that_change_are_seen_by_steps_from_graphs():
    """Substeps of the solver and friction of contacts are numbers in a graph: other numbers are another graph."""
    found = []
    for substeps in (2, 8):
        model = springs().finalize()
        solver, state = SolverXPBD(model, substeps=2), model.state()
        for _ in range(4):
            solver.step(state, state, None, None, DT)
        solver.substeps = substeps
        solver.step(state, state, None, None, DT)
        found.append(state.particle_q.numpy().copy())
    assert np.abs(found[0] - found[1]).max() > 1e-5


SETTINGS = [("substeps", 0), ("substeps", -1), ("substeps", 2.5), ("substeps", "many"), ("damping", -1.0)]
SETTINGS += [("damping", np.nan)]


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_settings_are_checked_when_they_change(name, value):
    solver = SolverXPBD(springs().finalize())
    with pytest.raises(ModelError, match=f"{name} is {value!r}\nexpected: "):
        setattr(solver, name, value)


@pytest.mark.parametrize(("name", "scale"), [("gravity", -1.0), ("spring_rest_length", 1.2), ("particle_mass", 3.0)])
def test_arrays_that_replace_others_of_the_model_are_seen_by_steps_from_graphs(name, scale):
    ends = []
    for replaced in (True, False):
        model = springs().finalize()
        solver, state = SolverXPBD(model), model.state()
        for k in range(8):
            if k == 4:
                before = getattr(model, name)
                if replaced:
                    setattr(model, name, wp.array(scale * before.numpy(), dtype=before.dtype))
                else:
                    before.assign(scale * before.numpy())
            solver.step(state, state, None, None, DT)
        ends.append(state.particle_q.numpy().copy())
    assert (ends[0] == ends[1]).all()


@pytest.mark.parametrize("dt", [0.0, -0.1, np.nan, np.inf, None, "soon"])
def test_time_steps_without_meaning_are_refused(dt):
    model = springs().finalize()
    with pytest.raises(StateError, match="dt is "):
        SolverXPBD(model).step(model.state(), model.state(), None, None, dt)


def test_states_and_controls_of_another_model_are_refused():
    model, other = springs().finalize(), springs().finalize()
    solver = SolverXPBD(model)
    for given in (
        (other.state(), model.state(), None),
        (model.state(), other.state(), None),
        (model.state(), model.state(), other.control()),
    ):
        with pytest.raises(StateError, match="belongs to another model"):
            solver.step(*given, None, DT)


@pytest.mark.parametrize(("position", "name"), [(0, "state_in"), (1, "state_out"), (2, "control")])
def test_what_is_no_state_or_control_is_refused(position, name):
    model = springs().finalize()
    arguments = [model.state(), model.state(), None]
    arguments[position] = "rest"
    with pytest.raises(StateError, match=f"{name} is str\nexpected: a "):
        SolverXPBD(model).step(*arguments, None, DT)


def test_a_step_that_diverges_says_so_on_request():
    builder = springs()
    builder.particles["qd"][5] = 1e30
    model = builder.finalize()
    state = model.state()
    solver = SolverXPBD(model)
    for _ in range(3):
        solver.step(state, state, None, None, DT)
    assert solver.statistics(state).diverged
    watched, state = SolverXPBD(model, check=True), model.state()
    stage = r"step \d: after springs in substep \d, particle \d+ has numbers that are not finite\nhelp: more substeps"
    with pytest.raises(DivergenceError, match=stage):
        for _ in range(3):
            watched.step(state, state, None, None, DT)
    state.particle_q.fill_(np.nan)
    with pytest.raises(DivergenceError, match="after its beginning, particle 0 has"):
        watched.step(state, state, None, None, DT)
