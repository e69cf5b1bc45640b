"""Wind against the force of a flat plate, particles that touch each other, and statistics of cloth and bodies."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import Contacts, ModelBuilder, SolverXPBD

DT, REST = 1.0 / 60.0, (0.0, 0.0, 0.0, 1.0)
FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))


def test_a_falling_sheet_reaches_the_terminal_velocity_of_a_plate():
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), FLAT, 0, 2, 2, 0.5, 0.5, 0.02, spring_ke=1e5, tri_drag=1.2)
    builder.particles["mass"][:] *= np.array([[0.25, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 0.25]]).ravel()
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverXPBD(model), model.state()
    for _ in range(300):
        solver.step(state, state, None, None, DT)
    speed = -state.particle_qd.numpy()[4, 1]
    assert speed == pytest.approx(np.sqrt(2 * solver.statistics(state).mass * 9.81 / (1.204 * 1.2)), rel=0.02)


@pytest.mark.parametrize("lift", [0.0, 1.0])
@pytest.mark.parametrize("weight, wind, rate", [(0.002, 30.0, 60), (0.02, 30.0, 24), (0.05, 100.0, 60), (0.2, 5.0, 60)])
def test_wind_takes_sheets_of_any_weight_to_its_own_speed_and_no_further(weight, wind, rate, lift):
    """weight [kg/m^2]. An explicit force overshoots where its derivative times the substep exceeds the mass."""
    builder, n, cell = ModelBuilder(gravity=0.0), 4, 0.1
    mass = weight * (n * cell) ** 2 / (n + 1) ** 2
    options = {"tri_ke": 1e3, "edge_ke": 1e-4, "tri_drag": 1.0, "tri_lift": lift}
    builder.add_cloth_grid((0, 0, 0), FLAT, 0.0, n, n, cell, cell, mass, **options)
    model = builder.finalize(dtype=wp.float64)
    solver, state, control = SolverXPBD(model), model.state(), model.control()
    blows = np.array([[0.0, wind, 0.0]])
    control.wind.assign(blows)
    for _ in range(rate):
        solver.step(state, state, control, None, 1 / rate)
        assert np.linalg.norm(state.particle_qd.numpy(), axis=1).max() < 1.5 * wind
    assert 0.5 * wind < state.particle_qd.numpy()[:, 1].mean() < 1.1 * wind


def test_light_sheets_fall_at_their_terminal_speed():
    """Also where particles weigh more for a substep than they do: sqrt(2 m g / (rho C_D A)), a triangle of 1/2 m^2."""
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [0, 0, 1]], mass=1e-5)
    builder.add_triangle(0, 1, 2, tri_drag=1.2)
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    for _ in range(100):
        solver.step(state, state, None, None, 1.0 / 24.0)
    expected = np.sqrt(2 * 3e-5 * 9.81 / (1.204 * 1.2 * 0.5))
    assert -state.particle_qd.numpy()[:, 1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("steps, substeps, heavier", [(1, 1, True), (3, 3, True), (3, 3, False)])
def test_gradients_by_mass_and_wind_where_wind_makes_particles_weigh_more(steps, substeps, heavier):
    """A mass that a substep does not use acts by gravity alone; one 100 times as large weighs as it is."""
    builder, mass = ModelBuilder(), 1e-3 if heavier else 0.1
    builder.add_particles([[0, 0, 0], [1, 0, 0], [0, 0.3, 1]], mass=mass)
    builder.add_triangle(0, 1, 2, tri_drag=1.2, tri_lift=0.5)
    model = builder.finalize(dtype=wp.float64, requires_grad=True)
    solver, control = SolverXPBD(model, substeps=substeps), model.control()
    weights = np.random.default_rng(0).normal(size=(3, 3))
    control.wind.assign([[3.0, 20.0, 1.0]])

    def run():
        state = model.state()
        for _ in range(steps):
            solver.step(state, state, control, None, 1 / 24)
        return state.particle_q

    with wp.Tape() as tape:
        end = run()
    assert (solver.workspace.x.numpy()[:, 3] < 0.9 / mass).all() == heavier
    tape.backward(grads={end: wp.array(weights, dtype=wp.vec3d)})
    for x in (model.particle_mass, control.wind):
        gradient, before, losses = x.grad.numpy().copy(), x.numpy().copy(), []
        direction = before * np.random.default_rng(1).normal(size=before.shape)
        for side in (1, -1):
            x.assign(before + side * 1e-6 * direction)
            losses.append((run().numpy() * weights).sum())
        x.assign(before)
        assert (gradient * direction).sum() == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("angle", [20.0, 45.0, 70.0])
def test_drag_and_lift_are_those_of_a_plate(angle):
    """A triangle of 1/2 m^2 at an angle to a wind of 3 m/s along x."""
    a = np.radians(angle)
    along, normal = np.array([np.cos(a), 0, np.sin(a)]), np.array([np.sin(a), 0, -np.cos(a)])
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], along, [0, 1, 0]], mass=1.0)
    builder.add_triangle(0, 1, 2, tri_drag=1.5, tri_lift=0.7)
    model = builder.finalize(dtype=wp.float64)
    state, control, dt = model.state(), model.control(), 1e-4
    control.wind.assign([[3.0, 0.0, 0.0]])
    SolverXPBD(model, substeps=1, air_density=1.0).step(state, state, control, None, dt)
    facing = abs(normal[0])
    drag = 0.5 * 0.5 * 1.5 * 9.0 * facing
    lift = 0.5 * 0.5 * 0.7 * 9.0 * facing * np.sign(normal[0]) * (normal - normal[0] * np.array([1, 0, 0]))
    np.testing.assert_allclose(state.particle_qd.numpy().sum(axis=0) / dt, [drag, 0, lift[2]], rtol=1e-3, atol=1e-6)


def heap(margin=0.02, dtype=wp.float32):
    builder, rng = ModelBuilder(), np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(*[np.arange(n) for n in (5, 6, 5)]), -1).reshape(-1, 3) * 0.045
    builder.add_particles(lattice + rng.uniform(-0.002, 0.002, lattice.shape) + [0, 0.1, 0], mass=0.01, radius=0.02)
    builder.add_ground_plane()
    model = builder.finalize(dtype=dtype)
    return model, Contacts(model, margin)


def test_a_heap_of_particles_keeps_them_apart():
    model, contacts = heap()
    solver, state = SolverXPBD(model, substeps=8), model.state()
    for _ in range(90):
        solver.step(state, state, None, contacts, DT)
    q = state.particle_q.numpy()
    apart = np.linalg.norm(q[:, None] - q[None], axis=2) + np.eye(len(q))
    assert apart.min() > 0.9 * 0.04 and q[:, 1].min() > 0.0199 and contacts.overflow == 0
    assert solver.statistics(state).kinetic_energy < 1e-2 * 0.01 * len(q) * 9.81 * 0.1


def test_pairs_are_those_that_a_search_finds():
    model, contacts = heap(margin=0.03)
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    q = model.particle_q.numpy().astype(np.float64)
    apart = np.linalg.norm(q[:, None] - q[None], axis=2)
    near = (apart < 0.07) & (apart > 0.04)
    found = contacts.neighbors.numpy()
    for i, count in enumerate(contacts.counts.numpy()):
        assert sorted(found[i, :count].tolist()) == np.flatnonzero(near[i]).tolist()


def test_what_is_close_at_rest_is_no_contact():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [0.01, 0, 0]], radius=0.02)
    builder.add_spring(0, 1, ke=1.0)
    model = builder.finalize()
    contacts = Contacts(model)
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    assert contacts.counts.numpy().tolist() == [0, 0]


def test_a_crowd_beyond_the_capacity_is_told():
    model, _ = heap()
    contacts = Contacts(model, margin=0.1, capacity=3)
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    assert contacts.overflow > 0


def test_particles_exchange_momentum_and_threads_do_not_show():
    """A heap far above the ground and without gravity, drawn together: it keeps its momentum."""
    found = []
    for threads in (1, 4):
        wp.set_num_threads(threads)
        model, contacts = heap(dtype=wp.float64)
        model.gravity.zero_()
        solver, state = SolverXPBD(model), model.state()
        q, m = state.particle_q.numpy() + np.array([0, 1, 0]), model.particle_mass.numpy()[:, None]
        v = np.random.default_rng(1).normal(size=q.shape) - 4.0 * (q - q.mean(axis=0))
        state.particle_q.assign(q)
        state.particle_qd.assign(v)
        sums = [(m * v).sum(axis=0)]
        for _ in range(10):
            solver.step(state, state, None, contacts, DT)
        sums.append((m * state.particle_qd.numpy()).sum(axis=0))
        np.testing.assert_allclose(sums[1], sums[0], atol=1e-12)
        assert (np.linalg.norm(state.particle_qd.numpy() - v, axis=1) > 0.1).sum() > 100, "they did not meet"
        found.append(state.particle_q.numpy().copy())
    assert (found[0] == found[1]).all()


def test_gradients_go_through_contact_between_particles():
    """Two balls: the first hits the second, off centre."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [0.1, 0.011, 0.003]], [[1.5, 0, 0], [0, 0, 0]], radius=0.02)
    model = builder.finalize(dtype=wp.float64, requires_grad=True)
    contacts, solver = Contacts(model, 0.1, friction=0.05), SolverXPBD(model, substeps=2)
    start, weights = model.state(), wp.array(np.random.default_rng(1).normal(size=(2, 3)), dtype=wp.vec3d)

    def run():
        state = model.state()
        state.assign(start)
        for _ in range(8):
            solver.step(state, state, None, contacts, DT)
        return state

    with wp.Tape() as tape:
        end = run()
    tape.backward(grads={end.particle_q: weights})
    assert np.abs(end.particle_q.numpy()[1] - [0.1, 0.011, 0.003]).max() > 0.01, "they missed each other"
    for x in (start.particle_qd, contacts.friction):
        gradient, before, losses, eps = x.grad.numpy().copy(), x.numpy().copy(), [], 1e-6
        direction = np.random.default_rng(2).normal(size=before.shape)
        for side in (1, -1):
            x.assign(before + side * eps * direction)
            losses.append((run().particle_q.numpy() * weights.numpy()).sum())
        x.assign(before)
        assert np.abs(gradient).max() > 1e-5
        assert (gradient * direction).sum() == pytest.approx((losses[0] - losses[1]) / (2 * eps), rel=1e-5)


@pytest.mark.parametrize("options", [{"margin": -1.0}, {"friction": -0.1}, {"capacity": 0}])
def test_contacts_without_meaning_are_refused(options):
    model, _ = heap()
    with pytest.raises(ModelError, match="expected: 0 or more"):
        Contacts(model, **options)


def test_strains_and_volumes_are_those_of_the_state():
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, 0, 3, 2, 0.1, 0.1, 0.1, spring_ke=1.0)
    builder.add_soft_grid((0, 0, 0), REST, 0, 2, 1, 1, 0.1, 0.1, 0.1, 100.0)
    model = builder.finalize()
    solver, state = SolverXPBD(model), model.state()
    assert solver.statistics(state).max_strain < 1e-6
    state.particle_q.assign(state.particle_q.numpy() * [1.5, 1.5, 1.5])
    found = solver.statistics(state)
    np.testing.assert_allclose(found.spring_strain, 0.5, rtol=1e-5)
    assert found.max_strain == pytest.approx(0.5) and found.mean_strain == pytest.approx(0.5)
    np.testing.assert_allclose(found.volume_ratio, 1.5**3, rtol=1e-5)
    assert found.total_volume_ratio == pytest.approx(1.5**3, rel=1e-5)


def two_balls(restitution):
    """The first, at 1 m/s, hits the second, as heavy, after 0.32 s; the model, and the state after 1 s."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [0.52, 0, 0]], [[1.0, 0, 0], [0, 0, 0]], radius=0.1)
    model = builder.finalize(dtype=wp.float64, requires_grad=True)
    contacts, solver = Contacts(model, 0.1, restitution=restitution), SolverXPBD(model, substeps=4)
    end = model.state()
    for _ in range(60):
        solver.step(end, end, None, contacts, DT)
    return model, end


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_balls_bounce_off_each_other_at_the_moment_of_impact(restitution):
    """Speeds after are (1 -+ e) / 2; elastic, the second ball's place depends on where both were and on the first's
    speed: (1, 0, 1, 0)."""
    with wp.Tape() as tape:
        model, end = two_balls(restitution)
    fast, slow = 0.5 * (1.0 + restitution), 0.5 * (1.0 - restitution)
    np.testing.assert_allclose(end.particle_qd.numpy()[:, 0], [slow, fast], atol=1e-12)
    if restitution == 1.0:
        np.testing.assert_allclose(end.particle_q.numpy()[:, 0], [0.32, 1.2], atol=1e-10)
        tape.backward(grads={end.particle_q: wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3d)})
        found = [*model.particle_q.grad.numpy()[:, 0], *model.particle_qd.grad.numpy()[:, 0]]
        np.testing.assert_allclose(found, [1, 0, 1, 0], atol=1e-10)


def test_particles_that_come_to_the_same_place_leave_it():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], radius=0.05)
    model = builder.finalize(dtype=wp.float64)
    contacts, solver, state = Contacts(model), SolverXPBD(model, iterations=10), model.state()
    state.particle_q.zero_()
    solver.step(state, state, None, contacts, DT)
    q = state.particle_q.numpy()
    assert q[0, 0] + 0.09 < q[1, 0] and q[1, 0] + 0.09 < q[2, 0]
    np.testing.assert_allclose(q.mean(axis=0), 0.0, atol=1e-12)


def test_particles_that_rest_at_the_same_place_are_refused():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [0, 0, 0]], radius=0.05)
    with pytest.raises(ModelError, match="particles 0 and 2 both rest at"):
        Contacts(builder.finalize())
    builder.add_spring(0, 2, ke=1e3)
    Contacts(builder.finalize())


def test_a_restitution_without_meaning_is_refused():
    model, _ = heap()
    with pytest.raises(ModelError, match=r"restitution is 1\.5"):
        Contacts(model, restitution=1.5)


def test_masses_that_change_move_particles_as_they_weigh():
    """A force on a particle whose mass is tripled after a step, also where steps are replayed; no mass holds it."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0, 0, 0), mass=1.0)
    model = builder.finalize(dtype=wp.float64)
    solver, speeds = SolverXPBD(model), []
    state = model.state()
    state.particle_f.assign([[6.0, 0, 0]])
    for mass in (1.0, 1.0, 1.0, 3.0, 0.0):
        model.particle_mass.assign([mass])
        state.particle_qd.zero_()
        solver.step(state, state, None, None, 0.5)
        speeds.append(state.particle_qd.numpy()[0, 0])
    np.testing.assert_allclose(speeds, [3.0, 3.0, 3.0, 1.0, 0.0], rtol=1e-12)


def test_checkpoints_keep_gradients_of_contact_between_particles():
    """With contacts that are new to the loop: their grid has its memory already."""
    found = []
    for checkpointed in (False, True):
        model, contacts = heap(dtype=wp.float64)
        solver = SolverXPBD(model, substeps=2)
        start, state = model.state(requires_grad=True), model.state(requires_grad=True)
        step = lambda k, state=state, contacts=contacts, solver=solver: (  # noqa: E731
            solver.step(state, state, None, contacts, DT)
        )
        with wp.Tape() as tape:
            state.assign(start)
            if checkpointed:
                scratch = [*solver.scratch, *contacts.scratch]
                wp.checkpoint(step, list(state.arrays.values()), 8, scratch=scratch)
            else:
                for k in range(8):
                    step(k)
        tape.backward(grads={state.particle_q: wp.ones(state.particle_q.shape, dtype=wp.vec3d)})
        found.append(start.particle_qd.grad.numpy().copy())
    assert (found[0] == found[1]).all() and np.abs(found[0]).max() > 0
