"""Gradients of XPBD against central differences of the same steps in float64: initial states, materials, rest shapes,
contact, controls; through a tape, in place and into fresh states, from graphs and from checkpointed rollouts."""

import itertools

import numpy as np
import pytest
from xpbd_scenes import SCENES, SHAPES, falling_on, springs

import warpsim as wp
from warpsim.errors import StateError
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

DT, STEPS = 1.0 / 60.0, 3
FAINT = {"edge_compliance", "shape_margin"}  # bends that start flat, and places, hardly depend on them: longer steps


@wp.kernel
def weigh(
    q: wp.array(dtype=wp.vec3d),
    qd: wp.array(dtype=wp.vec3d),
    a: wp.array(dtype=wp.vec3d),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(q[i], a[i]) + wp.float64(0.1) * wp.dot(qd[i], qd[i]))


class Run:
    """A loss of the state after a few steps, with everything it depends on by name."""

    def __init__(self, builder, steps=STEPS, fresh=False, **options):
        self.model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
        self.solver = SolverXPBD(self.model, **{"substeps": 2, **options})
        self.start, self.control = self.model.state(), self.model.control()
        self.steps, self.fresh = steps, fresh
        self.weights = wp.array(np.random.default_rng(9).normal(size=(self.model.particle_count, 3)), dtype=wp.vec3d)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.inputs = {"particle_q": self.start.particle_q, "particle_qd": self.start.particle_qd}
        self.inputs |= {"particle_f": self.start.particle_f}
        self.inputs |= {k: v for k, v in self.control.arrays.items() if v.size}
        for name, value in vars(self.model).items():
            if isinstance(value, wp.array) and value.requires_grad and value.size and name not in self.inputs:
                self.inputs[name] = value

    def forward(self):
        self.loss.zero_()
        state = self.model.state()
        state.assign(self.start)
        for _ in range(self.steps):
            after = self.model.state() if self.fresh else state
            if self.fresh:
                wp.copy(after.particle_f, state.particle_f)
            self.solver.step(state, after, self.control, None, DT)
            state = after
        wp.launch(weigh, self.model.particle_count, [state.particle_q, state.particle_qd, self.weights, self.loss])
        return self.loss

    def gradients(self):
        with wp.Tape() as tape:
            self.forward()
        tape.backward(self.loss)
        found = {name: array.grad.numpy().copy() for name, array in self.inputs.items()}
        tape.zero()
        return found

    def difference(self, name, direction, eps):
        """Central difference of the loss along a direction of one input."""
        array = self.inputs[name]
        before, losses = array.numpy().copy(), []
        for side in (1.0, -1.0):
            array.assign(before + side * eps * direction)
            losses.append(self.forward().numpy()[0])
        array.assign(before)
        return (losses[0] - losses[1]) / (2.0 * eps)


def check(run, tolerance=1e-5, seed=0):
    """Compare gradients of all inputs with differences along random directions; returns the names with a gradient."""
    gradients, rng, moved = run.gradients(), np.random.default_rng(seed), set()
    for name, gradient in gradients.items():
        direction = rng.normal(size=gradient.shape)
        values = run.inputs[name].numpy()
        if name == "particle_mass":
            direction = direction * (values > 0.0)  # what is held has no derivative on one side
        scale = np.abs(values).max() if np.abs(values).max() > 1e-6 else 30.0
        step = 1e-4 if name in FAINT else 1e-6
        expected = run.difference(name, direction, step * scale)
        found = (gradient * direction).sum()
        size = np.linalg.norm(gradient) * np.linalg.norm(direction)
        assert abs(found - expected) <= tolerance * max(abs(expected), 0.01 * size, 1e-7), (name, found, expected)
        if np.abs(gradient).max() > 1e-12:
            moved.add(name)
    return moved


@pytest.mark.parametrize("iterations", [1, 2])
@pytest.mark.parametrize("scene", SCENES)
def test_gradients_reach_every_input(scene, iterations):
    needed = {
        "springs": {"particle_q", "particle_qd", "particle_f", "gravity", "particle_mass", "spring_rest_length",
                    "spring_compliance", "spring_damping", "spring_activation"},
        "bending": {"particle_q", "edge_rest_angle", "edge_compliance", "edge_damping"},
        "membrane": {"particle_q", "tri_pose", "tri_area", "tri_stiffness", "tri_damping"},
        "tetrahedra": {"particle_q", "tet_pose", "tet_volume", "tet_mu", "tet_lambda", "tet_damping"},
        "attachments": {"attachment_target", "attachment_velocity", "attachment_compliance", "attachment_damping",
                        "shape_transform", "shape_velocity"},
    }  # fmt: skip
    assert needed[scene] <= check(Run(SCENES[scene](0.05), iterations=iterations))


@pytest.mark.parametrize(
    "scene, damping",
    [
        ("springs", "spring_damping"),
        ("bending", "edge_damping"),
        ("membrane", "tri_damping"),
        ("tetrahedra", "tet_damping"),
        ("attachments", "attachment_damping"),
    ],
)
def test_dampings_have_gradients_where_they_are_zero(scene, damping):
    run = Run(SCENES[scene](0.0))
    gradient = run.gradients()[damping]
    assert not run.inputs[damping].numpy().any()
    direction = np.random.default_rng(0).normal(size=gradient.shape)
    expected = run.difference(damping, direction, 1e-7)
    assert expected != 0.0 and np.isclose((gradient * direction).sum(), expected, rtol=1e-5)


def test_isometric_bending_has_gradients():
    assert {"edge_weights", "edge_compliance"} <= check(Run(SCENES["bending"](0.05), bending="isometric"))


def test_gradients_reach_the_wind():
    """Of the air's velocity and both coefficients, where it blows from and through moving triangles."""
    builder = ModelBuilder()
    builder.add_cloth_grid(
        (0, 1, 0), (0, 0, 0, 1), 0, 3, 3, 0.1, 0.1, 0.01, spring_ke=200.0, fix_left=True, tri_drag=1.2, tri_lift=0.6
    )
    builder.particles["qd"][:] += 0.5 * np.random.default_rng(5).normal(size=(builder.particle_count, 3))
    run = Run(builder)
    run.control.wind.assign([[3.0, 1.0, 2.0]])
    assert {"wind", "tri_drag", "tri_lift", "particle_q", "particle_qd"} <= check(run)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("mesh", "sdf")])
def test_gradients_go_through_contact(shape):
    """Sliding, bouncing particles: friction, restitution, margins, radii and sizes of shapes have gradients."""
    run = Run(falling_on(SHAPES[shape], mu=0.05), steps=6)
    moved = check(run)
    needed = {"shape_restitution", "shape_margin", "particle_radius", "shape_transform", "shape_velocity"}
    sliding = {"shape_mu"} if shape != "heightfield" else set()  # there all that touch it stick
    assert needed | sliding | {"particle_q", "particle_qd"} <= moved


@pytest.mark.parametrize("shape", ["mesh", "sdf"])
def test_gradients_through_single_precision_shapes(shape):
    """Queries of meshes and volumes are in float32, so differences see steps: a coarser bound."""
    run = Run(falling_on(SHAPES[shape]), steps=6)
    gradient = run.gradients()["particle_qd"]
    direction = np.random.default_rng(0).normal(size=gradient.shape)
    expected = run.difference("particle_qd", direction, 1e-4)
    assert np.isclose((gradient * direction).sum(), expected, rtol=2e-2)


def test_fresh_states_and_overwritten_ones_have_the_same_gradients():
    one, other = (Run(SCENES["springs"](), fresh=fresh).gradients() for fresh in (False, True))
    for name in one:
        assert (one[name] == other[name]).all(), name


def test_checkpointed_rollouts_have_the_gradients_of_full_tapes():
    run = Run(springs(), steps=0)
    steps, state = 16, run.model.state()

    def rollout(checkpointed):
        state.assign(run.start)
        run.loss.zero_()

        def step(k):
            run.solver.step(state, state, run.control, None, DT)

        with wp.Tape() as tape:
            wp.copy(state.particle_q, run.start.particle_q)
            wp.copy(state.particle_qd, run.start.particle_qd)
            if checkpointed:
                wp.checkpoint(step, list(state.arrays.values()), steps, scratch=run.solver.scratch)
            else:
                for k in range(steps):
                    step(k)
            wp.launch(weigh, run.model.particle_count, [state.particle_q, state.particle_qd, run.weights, run.loss])
        tape.backward(run.loss)
        found = {name: array.grad.numpy().copy() for name, array in run.inputs.items()}
        tape.zero()
        return found

    full, checkpointed = rollout(False), rollout(True)
    for name in full:
        assert (full[name] == checkpointed[name]).all(), name


def scene_of_taylor(name):
    """Cloth that slides on a sphere; a bar of tetrahedra; a block that slides down a ramp."""
    if name == "bar":
        return SCENES["tetrahedra"]()
    builder = ModelBuilder()
    if name == "cloth":
        flat = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
        builder.add_cloth_grid(
            (-0.42, 0.325, -0.31), flat, (0.3, -1.0, 0), 7, 7, 0.1, 0.1, 0.01, spring_ke=500.0, edge_ke=1e-3
        )
        builder.particles["q"][:, 2] += 0.62
        builder.add_shape_sphere(None, 0.3, ShapeConfig(mu=0.2))
    else:
        builder.add_cloth_grid((0, 0.001, 0), (0, 0, 0, 1), (0.2, 0.0, 0.1), 3, 3, 0.1, 0.1, 0.01, spring_ke=1e3)
        builder.add_shape_plane((0.6, 0.8, 0), (0, -0.1, 0), ShapeConfig(mu=0.3))
    return builder


@pytest.mark.parametrize("name", ["cloth", "bar", "ramp"])
def test_what_a_gradient_leaves_is_of_second_order(name):
    """Taylor test: |J(x + e d) - J(x) - e grad J . d| falls with e^2."""
    run = Run(scene_of_taylor(name), steps=6)
    gradients, rng = run.gradients(), np.random.default_rng(4)
    before = {n: run.inputs[n].numpy().copy() for n in ("particle_q", "particle_qd")}
    directions = {n: rng.normal(size=v.shape) for n, v in before.items()}
    slope = sum((gradients[n] * d).sum() for n, d in directions.items())
    base, rest = run.forward().numpy()[0], []
    sizes = 1e-5 * 0.5 ** np.arange(5)
    for eps in sizes:
        for n in before:
            run.inputs[n].assign(before[n] + eps * directions[n])
        rest.append(abs(run.forward().numpy()[0] - base - eps * slope))
    orders = np.log2(np.array(rest[:-1]) / np.array(rest[1:]))
    assert (np.abs(orders - 2.0) < 0.1).all(), orders


@pytest.mark.parametrize("source", ["state_in", "the model"])
def test_states_that_would_cut_gradients_are_refused_on_tapes(source):
    """Without a tape they are states like any other."""
    model = springs().finalize(requires_grad=source == "the model")
    solver, first, second = SolverXPBD(model), model.state(source == "state_in"), model.state(requires_grad=False)
    solver.step(first, second, solver.resting, None, DT)
    with wp.Tape(), pytest.raises(StateError, match=r"state_out has no gradients(?s:.*)requires_grad=True"):
        solver.step(first, second, solver.resting, None, DT)


def test_gradients_of_a_state_made_in_a_tape_go_on_to_the_model():
    """`model.state()` copies what the model has: in the tape that copy is reversed, before it the state is an input."""
    gradients = []
    for inside in (True, False):
        model = springs().finalize(requires_grad=True, dtype=wp.float64)
        solver, outside = SolverXPBD(model), model.state()
        with wp.Tape() as tape:
            state = model.state() if inside else outside
            solver.step(state, state, None, None, DT)
        weights = np.random.default_rng(3).normal(size=(model.particle_count, 3))
        tape.backward(grads={state.particle_q: wp.array(weights, dtype=wp.vec3d)})
        gradients.append((model.particle_q if inside else state.particle_q).grad.numpy().copy())
        assert (model.particle_q.grad.numpy() == 0.0).all() != inside
    assert (gradients[0] == gradients[1]).all() and np.abs(gradients[0]).max() > 0.1


@pytest.mark.parametrize("bending", ["dihedral", "isometric"])
def test_a_tape_keeps_the_impulses_of_every_bend_once_a_sweep(bending):
    builder = ModelBuilder()
    builder.add_cloth_grid((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, 8, 8, 0.1, 0.1, 0.01, edge_ke=1.0e-3)
    model = builder.finalize(device="cpu", requires_grad=True)
    solver, states = SolverXPBD(model, 3, bending=bending), [model.state() for _ in range(3)]
    with wp.Tape() as tape:
        for before, after in itertools.pairwise(states):
            solver.step(before, after, dt=DT)
    copies = [snapshot.bytes for snapshot in tape.report().snapshots if "'impulses'" in snapshot.needed]
    sweeps = 2 * 3 * 2  # steps, substeps, of stiffness and of damping
    assert 0 < sum(copies) <= sweeps * model.bend_indices.size * 6 * 12
