"""Tetrahedra of any shape, stiffness and step: what is left alone never gains energy, and keeps its momentum.

`WARPSIM_FUZZ_TETRAHEDRA=N` runs N seeds instead of one.
"""

import os

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD, soft

SEEDS = range(int(os.environ.get("WARPSIM_FUZZ_TETRAHEDRA", "1")))


class Tetrahedra:
    """Free tetrahedra of 1 mm to 10 m, E from 1e3 to 1e12 Pa, nu up to 0.499, each for itself."""

    def __init__(self, seed, count=300, damping=0.0):
        rng = np.random.default_rng(seed)
        rest = rng.normal(size=(8 * count, 4, 3))
        frames = np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)
        widths = np.linalg.svd(frames, compute_uv=False)
        fair = (widths[:, 2] > 0.05 * widths[:, 0]) & (np.linalg.det(frames) > 0.0)
        self.rest = rest[fair][:count] * 10.0 ** rng.uniform(-3, 1, (count, 1, 1))
        self.young, self.nu = 10.0 ** rng.uniform(3, 12, count), rng.uniform(0.0, 0.499, count)
        self.density = 10.0 ** rng.uniform(2, 4, count)
        self.size = np.abs(self.rest - self.rest.mean(axis=1, keepdims=True)).max(axis=(1, 2))
        self.rng, self.damping = rng, damping

    def model(self, **options):
        builder = ModelBuilder(gravity=0.0)
        corners = np.arange(4 * len(self.rest)).reshape(-1, 4)
        self.volume = soft.volumes(self.rest.reshape(-1, 3), corners)
        self.mass = np.repeat(self.density * self.volume / 4.0, 4)
        builder.add_particles(self.rest.reshape(-1, 3), 0.0, self.mass)
        self.mu, self.lam = np.array([soft.lame(e, nu) for e, nu in zip(self.young, self.nu, strict=True)]).T
        builder.add_tetrahedra(corners, self.mu, self.lam, self.damping)
        return builder.finalize(**{"device": "cpu", "dtype": wp.float64, **options})

    def stir(self, state, noise, speed):
        """Noise in places by size, and speeds that are `speed` sizes per frame of a sixtieth of a second."""
        scale = np.repeat(self.size, 4)[:, None]
        q = state.particle_q.numpy()
        state.particle_q.assign(q + noise * scale * self.rng.normal(size=q.shape))
        state.particle_qd.assign(60.0 * speed * scale * self.rng.normal(size=q.shape))

    def energy(self, state):
        """Of each tetrahedron, kinetic and elastic, in float64 [J]."""
        q, v = (a.numpy().astype(np.float64).reshape(-1, 4, 3) for a in (state.particle_q, state.particle_qd))
        frames = [np.swapaxes(p[:, 1:] - p[:, :1], 1, 2) for p in (q, self.rest)]
        f = frames[0] @ np.linalg.inv(frames[1])
        e = np.linalg.svd(f, compute_uv=False)
        e[:, 2] *= np.sign(np.linalg.det(f))
        e -= 1.0  # stretches less one: stiff bodies at rest would be differences of large numbers
        pairs, product = e[:, 0] * e[:, 1] + e[:, 1] * e[:, 2] + e[:, 2] * e[:, 0], e.prod(axis=1)
        swell = e.sum(axis=1) + pairs + product
        law = self.mu * (0.5 * (e**2).sum(axis=1) - pairs - product) + 0.5 * (self.lam + self.mu) * swell**2
        return 0.5 * self.mass[::4] * (v**2).sum(axis=(1, 2)) + self.volume * law


@pytest.mark.parametrize("substeps", [1, 4, 50])
@pytest.mark.parametrize(("noise", "speed"), [(1e-3, 0.0), (0.1, 0.0), (0.0, 1e-3), (0.05, 0.01)])
@pytest.mark.parametrize("seed", SEEDS)
def test_energy_never_grows(seed, noise, speed, substeps):
    scene = Tetrahedra(seed)
    model = scene.model()
    solver, state = SolverXPBD(model, substeps=substeps), model.state()
    scene.stir(state, noise, speed)
    first = scene.energy(state)
    for _ in range(40):
        solver.step(state, state, None, None, 1.0 / 60.0)
        grown = scene.energy(state) / first
        worst = int(np.argmax(grown))
        assert grown.max() <= 1.001, (grown[worst], scene.young[worst], scene.nu[worst], (grown > 1.001).sum())


@pytest.mark.parametrize("young", [1e4, 1e6, 1e8, 1e11])
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_a_hanging_bar_stays_at_rest(young, dtype):
    builder = ModelBuilder()
    builder.add_soft_grid(
        (0, 0, 0), (0, 0, 0, 1), 0.0, 1, 4, 1, 0.1, 0.1, 0.1, 500.0, youngs_modulus=young, poissons_ratio=0.3,
        fix=lambda p: p[:, 1] > 0.399,
    )  # fmt: skip
    model = builder.finalize(device="cpu", dtype=dtype)
    solver, state, most = SolverXPBD(model), model.state(), 0.0
    for _ in range(30):
        solver.step(state, state, None, None, 1.0 / 60.0)
        most = max(most, solver.statistics(state).kinetic_energy)
    weight = 500.0 * 9.81 * 0.004
    sag = 500.0 * 9.81 * 0.4**2 / (2.0 * young) + 4 * 9.81 / 600.0**2  # one iteration leaves what a substep adds
    assert most < 0.5 * weight * sag
    assert not solver.statistics(state).diverged


@pytest.mark.parametrize("damping", [0.0, 1e-3, 1.0])
def test_momentum_and_the_motion_of_the_middle_are_kept(damping):
    scene = Tetrahedra(3, count=100, damping=damping)
    model = scene.model()
    solver, state = SolverXPBD(model, substeps=3), model.state()
    scene.stir(state, 0.1, 0.02)
    middle = lambda a: (a.numpy() * scene.mass[:, None]).reshape(-1, 4, 3).sum(axis=1)  # noqa: E731
    before, scale = middle(state.particle_qd), np.abs(state.particle_qd.numpy() * scene.mass[:, None]).max()
    for _ in range(5):
        solver.step(state, state, None, None, 1.0 / 60.0)
    assert np.abs(middle(state.particle_qd) - before).max() < 1e-9 * scale


@pytest.mark.parametrize("noise", [1e-3, 0.2])
def test_damping_never_adds_energy(noise):
    scene = Tetrahedra(5, count=150, damping=10.0 ** np.random.default_rng(1).uniform(-5, 1, 150))
    model = scene.model()
    solver, state = SolverXPBD(model, substeps=5), model.state()
    scene.stir(state, noise, 0.0)
    first = scene.energy(state)
    for _ in range(20):
        solver.step(state, state, None, None, 1.0 / 60.0)
        assert (scene.energy(state) <= 1.001 * first).all()


def test_what_is_torn_or_swollen_has_diverged():
    builder = ModelBuilder(gravity=0.0)
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0.0, 1, 1, 1, 0.1, 0.1, 0.1, 500.0)
    builder.add_springs([(0, 1)], 10.0)
    model = builder.finalize()
    solver, state = SolverXPBD(model), model.state()
    rest = state.particle_q.numpy()
    assert solver.statistics(state).divergence is None
    for places, word in (
        (rest * 20.0, "spring 0 has a strain of 19"),
        (rest * [1, 1, 1e-3], "of their volume"),
        (rest * [1, 9, 9], "81 times its volume"),
        (rest * np.nan, "not finite"),
    ):
        state.particle_q.assign(places)
        found = solver.statistics(state)
        assert found.diverged and word in found.divergence and "help: more substeps" in found.divergence


@pytest.mark.parametrize("noise", [0.02, 0.25])
def test_gradients_go_through_all_steps_of_newtons_method(noise):
    """Against central differences, where elements take several steps, and some of them halves."""
    scene = Tetrahedra(7, count=8, damping=1e-3)
    scene.young = 10.0 ** scene.rng.uniform(4, 8, 8)
    model = scene.model(requires_grad=True)
    solver, start = SolverXPBD(model, substeps=2), model.state(requires_grad=True)
    scene.stir(start, noise, 0.01)
    weights = scene.rng.normal(size=(32, 3)) / np.repeat(scene.size, 4)[:, None]

    def step(state):
        solver.step(start, state, None, None, 1.0 / 60.0)
        return float((state.particle_q.numpy() * weights).sum())

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        step(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    inputs = {"q": start.particle_q, "qd": start.particle_qd, "mu": model.tet_mu, "lambda": model.tet_lambda}
    inputs |= {"pose": model.tet_pose, "damping": model.tet_damping, "mass": model.particle_mass}
    for name, array in inputs.items():
        before, gradient = array.numpy().copy(), array.grad.numpy()
        rows = before.reshape(len(before), -1)
        scale = np.abs(rows).max(axis=1) if name not in ("q", "qd") else np.repeat(scene.size, 4)
        direction = (scene.rng.normal(size=rows.shape) * scale[:, None]).reshape(before.shape)
        sides = []
        for side in (1.0, -1.0):
            array.assign(before + side * 1e-5 * direction)
            sides.append(step(model.state()))
        array.assign(before)
        expected = (sides[0] - sides[1]) / 2e-5
        parts = np.abs(gradient * direction).sum()
        assert abs((gradient * direction).sum() - expected) <= 1e-5 * parts + 1e-7, name


@pytest.mark.parametrize("young", [1e5, 1e6])
@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_gradients_at_rest_are_those_of_differences(young, noise):
    """Steps of Newton's method are of the size of rounding there, which must decide nothing."""
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    builder.add_soft_grid(
        (0.5, 0.3, 0), (0, 0, 0, 1), (0, -1.0, 0.3), 1, 2, 1, 0.1, 0.1, 0.1, density=500.0, youngs_modulus=young
    )
    model = builder.finalize(device="cpu", requires_grad=True, dtype=wp.float64)
    solver, weights = SolverXPBD(model, substeps=2, iterations=2), rng.normal(size=(model.particle_count, 3))
    direction = rng.normal(size=weights.shape)
    start = model.particle_q.numpy() + noise * rng.normal(size=weights.shape)

    def fall(state, places):
        state.particle_q.assign(places)
        for _ in range(4):
            solver.step(state, state, None, None, 1.0 / 60.0)
        return (state.particle_q.numpy() * weights).sum()

    state = model.state()
    state.particle_q.assign(start)
    with wp.Tape() as tape:
        for _ in range(4):
            solver.step(state, state, None, None, 1.0 / 60.0)
    tape.backward(grads={state.particle_q: wp.array(weights, dtype=wp.vec3d)})
    expected = (fall(model.state(), start + 1e-6 * direction) - fall(model.state(), start - 1e-6 * direction)) / 2e-6
    assert (state.particle_q.grad.numpy() * direction).sum() == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("material", [(1.0e5, 0.3), (2.0e4, 0.45), (5.0, 0.0)])
def test_elastic_constants_are_those_of_lame_parameters(material):
    assert soft.elastic_constants(*soft.lame(*material)) == pytest.approx(material, abs=1e-9)
