"""Dragging: a spring with the stiffness that is said, on what was pointed at, and nothing left of it afterwards."""

import numpy as np
import pytest
from live_client import Client

import warpsim as wp
from warpsim.solvers import Material, ModelBuilder, Scene, SolverDEM, SolverXPBD
from warpsim.viewer import exchange, live
from warpsim.viewer.drag import Spring
from warpsim.viewer.exchange import Grip

FPS, GRAVITY, MASS = 50.0, 9.81, 0.3


def particles(points, masses, dtype=wp.float32, **options):
    """The model of free particles."""
    builder = ModelBuilder(gravity=-GRAVITY)
    for point, mass in zip(points, masses, strict=True):
        builder.add_particle(point, (0.0, 0.0, 0.0), mass)
    return builder.finalize("cpu", **options)


def settle(solver, state, grip, frames=300):
    spring = Spring(FPS)
    for _ in range(frames):
        with spring.pulling(state, grip):
            solver.step(state, state, dt=1.0 / FPS)
    return state.particle_q.numpy().astype(float), state.particle_qd.numpy().astype(float)


@pytest.mark.parametrize("make", [
    lambda model: SolverXPBD(model, substeps=10), lambda model: SolverXPBD(model, substeps=1),
    lambda model: SolverDEM(model, Material(youngs_modulus=1.0e6), substeps=10),
], ids=["xpbd", "one substep", "dem"])  # fmt: skip
def test_a_particle_comes_to_rest_below_where_it_is_held(make):
    """k (target - x) = m g, for the stiffness k = m f^2 / 2 that is promised."""
    model, target = particles([(0.0, 0.0, 0.0)], [MASS]), np.array([0.05, 0.1, -0.02])
    q, v = settle(make(model), state := model.state(), Grip(np.array([0]), target))
    stiffness = 0.5 * MASS * FPS**2
    np.testing.assert_allclose(q[0], target - [0.0, MASS * GRAVITY / stiffness, 0.0], atol=2.0e-6)
    np.testing.assert_allclose(v, 0.0, atol=1.0e-4)
    assert not state.particle_f.numpy().any()


def test_it_does_not_swing():
    """From rest it is there within half a second and not beyond by more than a hundredth of the way."""
    model = particles([(0.0, 0.0, 0.0)], [MASS])
    solver, state, spring, path = SolverXPBD(model, substeps=10), model.state(), Spring(FPS), []
    sag = 2.0 * GRAVITY / FPS**2
    for _ in range(25):
        with spring.pulling(state, Grip(np.array([0]), np.array([0.02, 0.0, 0.0]))):
            solver.step(state, state, dt=1.0 / FPS)
        path.append(state.particle_q.numpy()[0].astype(float))
    x, y, _ = np.array(path).T
    assert 0.0199 < x[-1] and x.max() < 0.0202 and abs(y[-1] + sag) < 1.0e-4


def test_a_far_target_pulls_no_harder_than_is_said():
    model = particles([(0.0, 0.0, 0.0)], [MASS])
    state, spring = model.state(), Spring(FPS)
    spring.reach = 0.1
    for target, longest in ((0.05, 0.05), (0.1, 0.1), (1.0e6, 0.1)):
        with spring.pulling(state, Grip(np.array([0]), np.array([target, 0.0, 0.0]))):
            force = state.particle_f.numpy()[0].copy()
        np.testing.assert_allclose(force, [0.5 * MASS * FPS**2 * longest, 0.0, 0.0], rtol=1e-6)


def test_particles_that_are_dragged_together_keep_their_places():
    """Each is pulled by its own mass, to where it was beside the one that is held; others are left alone."""
    points = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (5.0, 0.0, 0.0)]
    model = particles(points, [MASS, 3.0 * MASS, 0.0, MASS])
    target = np.array([0.03, 0.05, 0.0])
    q, _ = settle(SolverXPBD(model, substeps=5), model.state(), Grip(np.array([0, 1, 2]), target))
    hung = target - [0.0, 2.0 * GRAVITY / FPS**2, 0.0]
    np.testing.assert_allclose(q[:2], [hung, hung + np.array([0.1, 0.0, 0.0])], atol=5.0e-6)
    np.testing.assert_array_equal(q[2], np.float32(points[2]))
    np.testing.assert_allclose(q[3], [5.0, -0.5 * GRAVITY * 6.0**2, 0.0], rtol=0.02)


def test_forces_that_were_there_are_there_again():
    model = particles([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [MASS, MASS])
    state, own = model.state(), np.float32([(0.1, 0.2, 0.3), (0.4, 0.5, 0.6)])
    state.particle_f.assign(own)
    grip = Grip(np.array([1]), np.array([1.0, 0.05, 0.0]))
    with pytest.raises(KeyError), Spring(FPS).pulling(state, grip):
        forces = state.particle_f.numpy().copy()
        raise KeyError
    assert forces[1, 1] > own[1, 1] and (forces[0] == own[0]).all()
    np.testing.assert_array_equal(state.particle_f.numpy(), own)


def test_double_precision():
    model = particles([(0.0, 0.0, 0.0)], [MASS], dtype=wp.float64)
    target = np.array([0.0, 0.01, 0.0])
    q, _ = settle(SolverXPBD(model, substeps=4), model.state(), Grip(np.array([0]), target))
    np.testing.assert_allclose(q[0], target - [0.0, 2.0 * GRAVITY / FPS**2, 0.0], atol=2.0e-6)


# ----- by a browser ------------------------------------------------------------------------------


class Row:
    """Particles in a row, the first held, drawn in another order."""

    ORDER = (3, 1, 0, 2)

    def __init__(self):
        points = [(0.5 * k, 0.0, 0.0) for k in range(4)]
        self.model = particles(points, [0.0, MASS, MASS, MASS])
        self.state = self.model.state()
        self.scene = Scene(solver=SolverXPBD(self.model, substeps=4), state=self.state)

    def run(self, view, frames, at):
        for number in view.frames(range(frames), stay=False):
            if number:
                self.scene.solver.step(self.state, self.state, dt=1.0 / FPS)
            view.frame()
            view.points("row", self.state.particle_q.numpy()[list(self.ORDER)], 0.05)
            at.get(number, lambda: None)()
        return self.state.particle_q.numpy()


@pytest.fixture
def row():
    return Row()


@pytest.fixture
def view(row):
    with live(row.scene, fps=FPS, speed=None, browser=False) as view:
        yield view


def test_what_is_pointed_at_is_pulled_in_whatever_order_it_is_drawn(row, view):
    client, answers = Client(view), []

    def grab():
        view._show()
        client.news()
        answers.append(client.do("grab", shot=client.shot, body=0, point=0, reach=0.0))
        client.do("pull", x=1.5, y=0.05, z=0.0)

    q = row.run(view, 200, {0: grab, 199: lambda: client.do("release")})
    assert answers == [(200, {"place": [1.5, 0.0, 0.0], "particles": 1})]
    np.testing.assert_allclose(q[3], [1.5, 0.05 - 2.0 * GRAVITY / FPS**2, 0.0], atol=1.0e-4)
    assert (q[1:3, 1] < -5.0).all()


def test_what_is_around_comes_along_and_what_is_held_does_not(row, view):
    client, answers = Client(view), []

    def grab():
        view._show()
        client.news()
        for point, reach in ((1, 0.6), (2, 0.0), (2, 0.6)):
            answers.append(client.do("grab", shot=client.shot, body=0, point=point, reach=reach))

    row.run(view, 1, {0: grab})
    assert answers[0] == (200, {"place": [0.5, 0.0, 0.0], "particles": 2})
    assert answers[1] == (400, "there is no particle that could be moved\nhelp: point at one that has mass\n")
    assert answers[2] == (200, {"place": [0.5, 0.0, 0.0], "particles": 1})


def test_who_falls_silent_lets_go(row, view, monkeypatch):
    client = Client(view)
    monkeypatch.setattr(exchange, "_HOLD", 0.0)

    def grab():
        view._show()
        client.news()
        assert client.do("grab", shot=client.shot, body=0, point=0, reach=0.0)[0] == 200

    q = row.run(view, 50, {0: grab})
    assert (q[1:, 1] < -1.0).all() and view._exchange.held() is None


def test_a_reset_lets_go(row, view):
    client = Client(view)

    def grab():
        view._show()
        client.news()
        client.do("grab", shot=client.shot, body=0, point=0, reach=0.0)
        assert view._exchange.held() is not None
        client.do("reset")
        assert view._exchange.held() is None

    numbers = []
    for number in view.frames(range(3), stay=False):
        view.frame()
        view.points("row", row.state.particle_q, 0.05)
        if not numbers:
            view.points("row", row.state.particle_q.numpy()[list(row.ORDER)], 0.05)
            grab()
        numbers.append(number)
    assert numbers == [0, 0, 1, 2] and not row.state.particle_f.numpy().any()
