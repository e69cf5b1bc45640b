"""What held bodies of tetrahedra bear as a whole: statics at the default settings, energy, momenta, threads, gradients.

`WARPSIM_FUZZ_BEARING=N` runs N seeds of energy instead of six.
"""

import os

import numpy as np
import pytest
from scipy.spatial import Delaunay

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.solvers import ModelBuilder, SolverXPBD, soft
from warpsim.solvers.xpbd import statics

SEEDS = range(int(os.environ.get("WARPSIM_FUZZ_BEARING", "6")))
DT, G, L, RHO = 1.0 / 60.0, 9.81, 0.6, 500.0


def bar(young, nu=0.0, dims=(2, 6, 2), **options):
    """A bar that hangs from its upper end."""
    builder = ModelBuilder(gravity=-G)
    size = L / dims[1]
    builder.add_soft_grid(
        (0, 0, 0), (0, 0, 0, 1), 0.0, *dims, size, size, size, density=RHO, youngs_modulus=young, poissons_ratio=nu,
        fix=lambda p: p[:, 1] > L - 1e-3,
    )  # fmt: skip
    return builder.finalize(**{"device": "cpu", **options})


def moved(model, frames=120, dt=DT, **options):
    """How far particles are from where they began."""
    solver, state = SolverXPBD(model, **options), model.state()
    before = state.particle_q.numpy().copy()
    for _ in range(frames):
        solver.step(state, state, None, None, dt)
    return state.particle_q.numpy() - before


def bearing(model, **options):
    return SolverXPBD(model, **options).constraints["tetrahedra"].bearing


# ----- at rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [(2, 6, 2), (1, 12, 1)])
@pytest.mark.parametrize("young", [1e7, 1e8, 1e9])
def test_a_bar_sinks_by_what_its_stiffness_says(young, dims):
    """Without bearing one iteration leaves it 0.3 mm too low, 340 times the sag at 1e9 Pa."""
    sunk = -moved(bar(young, 0.0, dims, dtype=wp.float64), damping=2.0)[:, 1].min()
    # Strains are Green's: of what gravity adds in a substep, their squares leave a small part.
    assert np.isclose(sunk, RHO * G * L**2 / (2.0 * young), rtol=0.05, atol=0.005 * G / 600.0**2)


@pytest.mark.parametrize("dt", [1.0 / 24.0, 1.0 / 240.0])
@pytest.mark.parametrize("order", ["colored", "jacobi"])
def test_a_rigid_bar_stays_where_it_is(dt, order):
    assert np.abs(moved(bar(1e9, 0.3), dt=dt, order=order)).max() < 1e-5


def test_gravity_may_turn_and_so_may_what_holds():
    """A bar whose upper end is turned by a right angle within a second then holds it sideways."""
    model = bar(1e9, 0.3)
    solver, state = SolverXPBD(model, damping=2.0), model.state()
    rest, held = state.particle_q.numpy().copy(), model.particle_mass.numpy() == 0.0
    for frame in range(120):
        c, s = np.cos(np.pi / 120 * min(frame, 60)), np.sin(np.pi / 120 * min(frame, 60))
        turned = rest @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T
        q = state.particle_q.numpy()
        state.particle_q.assign(np.where(held[:, None], turned, q))
        solver.step(state, state, None, None, DT)
    assert np.abs(state.particle_q.numpy() - turned).max() < 1e-4


def test_two_bars_bear_each_for_itself():
    """One of them is pushed, and the other does not notice."""
    builder = ModelBuilder(gravity=-G)
    for x in (0.0, 1.0):
        builder.add_soft_grid(
            (x, 0, 0), (0, 0, 0, 1), 0.0, 1, 3, 1, 0.1, 0.1, 0.1, RHO, youngs_modulus=1e9, fix=lambda p: p[:, 1] > 0.299
        )
    model = builder.finalize(device="cpu", dtype=wp.float64)
    assert bearing(model).count == 2
    places = []
    for speed in (0.0, 1.0):
        solver, state = SolverXPBD(model), model.state()
        state.particle_qd.assign(np.where(model.particle_q.numpy()[:, :1] < 0.5, [[0.0, speed, 0.0]], 0.0))
        for _ in range(3):
            solver.step(state, state, None, None, DT)
        places.append(state.particle_q.numpy())
    half = model.particle_count // 2
    assert (places[0][half:] == places[1][half:]).all() and not (places[0][:half] == places[1][:half]).all()


# ----- energy and momenta -------------------------------------------------------------------------


class Held:
    """A block, or random tetrahedra, held at one end, here and there, or at one particle."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.size, self.gravity = 10.0 ** rng.uniform(-2, 1), float(rng.choice([0.0, -G]))
        points, tets = self.block() if rng.random() < 0.5 else self.scattered()
        volume = soft.volumes(points, tets)
        mass = 10.0 ** rng.uniform(2, 4) / 4.0 * np.bincount(tets.ravel(), np.repeat(volume, 4), len(points))
        mass[self.held(points)] = 0.0
        stiff = 10.0 ** (rng.uniform(3, 11) + rng.uniform(0, 2, len(tets)) * (rng.random() < 0.5))
        nu = float(rng.uniform(0.0, 0.499))
        mu, lam = np.array([soft.lame(float(e), nu) for e in stiff]).T
        builder = ModelBuilder(gravity=self.gravity)
        builder.add_particles(points, 0.0, mass)
        builder.add_tetrahedra(tets, mu, lam, float(rng.choice([0.0, 0.0, 1e-3])))
        self.model = builder.finalize(device="cpu", dtype=wp.float64)
        self.substeps, self.iterations = int(rng.choice([2, 5, 10, 50])), int(rng.choice([1, 1, 3]))
        self.mass = self.model.particle_mass.numpy()[:, None]

    def block(self):
        cells = self.size * 10.0 ** self.rng.uniform(-0.5, 0.5, 3) / 4.0
        points, tets = soft.block(tuple(self.rng.integers(1, 6, 3).tolist()), tuple(cells.tolist()))
        return points + 0.1 * cells * self.rng.normal(size=points.shape), tets

    def scattered(self):
        points = self.rng.uniform(0, 1, (int(self.rng.integers(6, 30)), 3))
        tets = Delaunay(points).simplices
        turned = soft.volumes(points, tets) < 0.0
        tets[turned] = tets[turned][:, [0, 1, 3, 2]]
        tets = tets[soft.volumes(points, tets) > 0.05 / len(points) ** 1.5]
        return self.size * points, tets

    def held(self, points):
        kind = self.rng.integers(3)
        if kind == 0:
            return points[:, 1] > np.quantile(points[:, 1], 0.8)
        return self.rng.random(len(points)) < 0.2 if kind == 1 else np.arange(len(points)) == 0

    def stir(self, state):
        q, free = state.particle_q.numpy(), self.mass > 0.0
        noise, speed = 10.0 ** self.rng.uniform(-5, -1.2), 10.0 ** self.rng.uniform(-4, -1)
        state.particle_q.assign(q + noise * self.size * free * self.rng.normal(size=q.shape))
        state.particle_qd.assign(60.0 * speed * self.size * free * self.rng.normal(size=q.shape))

    def moving(self, state):
        """Kinetic energy and that of weight [J]."""
        speed, height = (state.particle_qd.numpy() ** 2).sum(axis=1), state.particle_q.numpy()[:, 1]
        return float(self.mass[:, 0] @ (0.5 * speed - self.gravity * height))

    def elastic(self, state):
        m = self.model
        mu, lam, p = m.tet_mu.numpy(), m.tet_lambda.numpy(), state.particle_q.numpy()[m.tet_indices.numpy()]
        f = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2) @ m.tet_pose.numpy()
        e = np.linalg.svd(f, compute_uv=False)
        e[:, 2] *= np.sign(np.linalg.det(f))
        e -= 1.0
        pairs, product = e[:, 0] * e[:, 1] + e[:, 1] * e[:, 2] + e[:, 2] * e[:, 0], e.prod(axis=1)
        law = mu * (0.5 * (e**2).sum(axis=1) - pairs - product)
        return (m.tet_volume.numpy() * (law + 0.5 * (lam + mu) * (e.sum(axis=1) + pairs + product) ** 2)).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_held_bodies_never_gain_energy(seed):
    scene = Held(seed)
    solver, state = SolverXPBD(scene.model, scene.substeps, scene.iterations), scene.model.state()
    scene.stir(state)
    still, first = scene.moving(state), scene.elastic(state)
    kinetic = still - scene.moving(scene.model.state())
    fall = 4.0 * scene.mass.sum() * (scene.gravity * DT / scene.substeps) ** 2  # what a substep gives what is at rest
    for step in range(60):
        solver.step(state, state, None, None, DT)
        grown = scene.moving(state) - still
        assert grown <= 0.001 * abs(kinetic) + 1.001 * first + fall, (step, grown, first, scene.substeps)


def test_what_is_let_go_keeps_its_momenta():
    """A body that was held when the solver was made, and is not any more: what it bears are forces within it."""
    model = bar(1e6, 0.3, dtype=wp.float64)
    solver, state, rng = SolverXPBD(model), model.state(), np.random.default_rng(2)
    mass = 0.1 + rng.random(model.particle_count)
    model.particle_mass.assign(mass)
    q = state.particle_q.numpy()
    state.particle_q.assign(q + 0.01 * rng.normal(size=q.shape))
    tetrahedra, x = solver.constraints["tetrahedra"], solver.workspace.x
    solver._load(state)
    tetrahedra.prepare(model.control(), wp.float64(DT))
    before = x.numpy()[:, :3].copy()
    tetrahedra.reset(x)
    impulse = mass[:, None] * (x.numpy()[:, :3] - before)
    size = np.abs(impulse).sum()
    assert size > 1e-3
    assert np.abs(impulse.sum(axis=0)).max() < 1e-13 * size
    assert np.abs(np.cross(before, impulse).sum(axis=0)).max() < 1e-13 * size


# ----- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("young", [1e6, 1e9])
def test_gradients_are_those_of_the_steps(young):
    """Against central differences of the same solver, where most of the load is borne before tetrahedra are solved."""
    model, rng = bar(young, 0.3, (1, 4, 1), dtype=wp.float64, requires_grad=True), np.random.default_rng(4)
    solver, start = SolverXPBD(model, substeps=3), model.state(requires_grad=True)
    q, free = start.particle_q.numpy(), model.particle_mass.numpy() > 0.0
    start.particle_q.assign(q + 1e-3 * free[:, None] * rng.normal(size=q.shape))
    start.particle_qd.assign(0.1 * free[:, None] * rng.normal(size=q.shape))
    weights = rng.normal(size=q.shape)

    def step(state):
        solver.step(start, state, None, None, DT)
        solver.step(state, state, None, None, DT)
        return float((state.particle_q.numpy() * weights).sum())

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        step(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    assert np.abs(solver.constraints["tetrahedra"].bearing.shares.numpy()).max() > 0.3
    inputs = {"q": start.particle_q, "qd": start.particle_qd, "mu": model.tet_mu, "lambda": model.tet_lambda}
    inputs |= {"pose": model.tet_pose, "mass": model.particle_mass, "gravity": model.gravity}
    for name, array in inputs.items():
        before, gradient = array.numpy().copy(), array.grad.numpy()
        direction = rng.normal(size=before.shape) * (before if name in ("mass", "mu", "lambda") else 1.0)
        sides = []
        for side in (1.0, -1.0):
            array.assign(before + side * 1e-8 * direction)  # steps of Newton's method begin and end beyond
            sides.append(step(model.state()))
        array.assign(before)
        expected = (sides[0] - sides[1]) / 2e-8
        parts = np.abs(gradient * direction).sum()
        assert parts > 0.0
        assert abs((gradient * direction).sum() - expected) <= 1e-5 * parts + 1e-7, name


# ----- threads, and what is borne -----------------------------------------------------------------


def test_threads_do_not_change_a_bit():
    threads, places = pool.get_pool().threads, []
    model = bar(1e7, 0.3, (6, 12, 6))
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            places.append(moved(model, 3))
    finally:
        wp.set_num_threads(threads)
    assert (places[0] == places[1]).all() and (places[0] == places[2]).all()


def test_impulses_of_the_patterns_are_masses():
    """Each free particle of a held body gets its mass along the axis, and what holds the body bears the sum."""
    model = bar(1e8, 0.3, dtype=wp.float64)
    found, mass = statics.patterns(model), model.particle_mass.numpy()
    pose = model.tet_pose.numpy()
    slopes = np.concatenate([-pose.sum(axis=1, keepdims=True), pose], axis=1)
    full = found.stress[:, :, [[0, 5, 4], [5, 1, 3], [4, 3, 2]]]
    pull = np.zeros((model.particle_count, 3, 3))
    np.add.at(pull, model.tet_indices.numpy(), np.einsum("tkij,tcj->tcki", full, slopes))
    free = mass > 0.0
    assert np.allclose(pull[free], mass[free, None, None] * np.eye(3), atol=1e-6 * mass.max())
    assert np.allclose(pull[~free].sum(axis=0), -mass.sum() * np.eye(3), atol=1e-6 * mass.sum())


def test_large_bodies_are_solved_by_iterations_to_the_same(monkeypatch):
    model = bar(1e8, 0.3)
    direct = statics.patterns(model).stress
    monkeypatch.setattr(statics, "_DIRECT", 0)
    assert np.abs(statics.patterns(model).stress - direct).max() < 1e-4 * np.abs(direct).max()


def test_nothing_is_borne_where_nothing_is_held():
    builder = ModelBuilder()
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0.0, 1, 1, 1, 0.1, 0.1, 0.1, RHO)
    builder.add_particle((5, 0, 0), 0.0, 0.0)
    assert bearing(builder.finalize(device="cpu")) is None


def test_a_body_held_at_one_particle_swings():
    """It bears its weight along the way to its support, and falls around it as if there were no bearing."""
    builder = ModelBuilder(gravity=-G)
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0.0, 4, 1, 1, 0.1, 0.1, 0.1, RHO, youngs_modulus=1e7,
                          fix=lambda p: np.linalg.norm(p, axis=1) < 1e-6)  # fmt: skip
    model = builder.finalize(device="cpu", dtype=wp.float64)
    assert bearing(model).count == 1
    q, mass = model.particle_q.numpy(), model.particle_mass.numpy()
    frames, found = 20, moved(model, 20, substeps=40)
    inertia, middle = (mass[:, None] * (q**2)).sum(), (mass[:, None] * q).sum(axis=0)
    tensor = inertia * np.eye(3) - np.einsum("i,ij,ik->jk", mass, q, q)
    turn = np.linalg.solve(tensor, np.cross(middle, [0.0, -G, 0.0])) * 0.5 * (frames * DT) ** 2
    assert found[-1, 1] < 0.5 * np.cross(turn, q[-1])[1] < 0.0


def test_checkpoints_give_what_whole_tapes_give():
    def gradient(checkpointed):
        model = bar(1e6, requires_grad=True)
        solver, state = SolverXPBD(model, substeps=2), model.state()

        def step(_):
            solver.step(state, state, None, None, DT)

        with wp.Tape() as tape:
            if checkpointed:
                wp.checkpoint(step, list(state.arrays.values()), 4, scratch=solver.scratch)
            else:
                for k in range(4):
                    step(k)
        tape.backward(grads={state.particle_q: wp.ones_like(state.particle_q)})
        return state.particle_q.grad.numpy()

    assert np.array_equal(gradient(True), gradient(False))


def test_a_step_from_numbers_that_are_none_leaves_nothing_behind():
    """The next step from a good state is that of a new solver."""
    model = bar(1e6)
    spoiled, fresh = SolverXPBD(model), SolverXPBD(model)
    bad = model.state()
    bad.particle_qd.assign(np.full((model.particle_count, 3), np.nan))
    spoiled.step(bad, bad, None, None, DT)
    ends = [model.state(), model.state()]
    for solver, state in zip((spoiled, fresh), ends, strict=True):
        for _ in range(3):
            solver.step(state, state, None, None, DT)
    assert np.array_equal(ends[0].particle_q.numpy(), ends[1].particle_q.numpy())
