"""What a coupling says of itself when it is not stable, and that it says nothing else."""

import warnings

import numpy as np
import pytest
from coupled_scenes import run, scene

import warpsim as wp
from warpsim.solvers import (
    Coupling,
    CouplingWarning,
    ModelBuilder,
    ShapeConfig,
    SolverBodies,
    SolverXPBD,
)

ROPE = 0.4  # its mass [kg]
LATER = "ignore::warpsim.solvers.bodies.alarms.DivergenceWarning"
"""What a solver says of bodies when a coupling that was not stable has thrown them too far."""


def dragged(ratio, **options):
    """A block that pulls a rope of `ratio` times its mass along: how fast it got [m/s]."""
    bodies, builder = ModelBuilder(gravity=0.0), ModelBuilder(gravity=0.0)
    bodies.add_shape_box(hx=0.1, hy=0.1, hz=0.1, cfg=ShapeConfig(density=ROPE / ratio / 0.008), body=bodies.add_body())
    builder.add_bodies(bodies)
    builder.add_particles([[0, 0.12 + 0.05 * k, 0] for k in range(4)], [[0.5 * k, 0, 0.3] for k in range(4)], ROPE / 4)
    builder.add_springs([(0, 1), (1, 2), (2, 3)])
    builder.add_attachment(0, (0, 0.12, 0), shape=0, kd=0.5)
    one, other = (b.finalize("cpu", dtype=wp.float64) for b in (bodies, builder))
    coupling = Coupling(SolverBodies(one, 2), [SolverXPBD(other, 10, 2)], **options)
    states, fastest = coupling.states(), 0.0
    for _ in range(60):
        coupling.step(states, states, dt=1 / 120)
        fastest = max(fastest, np.abs(states[0].body_qd.numpy()[0, 3:]).max())
    return fastest


@pytest.mark.filterwarnings(LATER)
@pytest.mark.parametrize("ratio", [1.1, 1.25, 1.7, 2.5])
def test_bodies_too_light_for_what_they_drag_are_told_once(ratio):
    words = r"matter throws body 0 of .* kg to and fro[\s\S]*expected: below 1 times.*iterations=1\nhelp: .*iterations="
    with pytest.warns(CouplingWarning, match=words) as told:
        dragged(ratio)
    assert sum(issubclass(one.category, CouplingWarning) for one in told) == 1


@pytest.mark.parametrize(
    "ratio, options",
    [
        (0.6, {}),
        (2.5, {"iterations": 8, "relaxation": 0.3}),
        (2.5, {"iterations": 13, "relaxation": 0.19}),
        (10.0, {"iterations": 31, "relaxation": 0.077}),  # what the warning below asks for
    ],
)
def test_what_is_stable_is_not_told(ratio, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dragged(ratio, **options) < 2.0


@pytest.mark.filterwarnings(LATER)
def test_rounds_that_do_not_settle_are_told():
    words = r"each round with about .* expected: below 3 times, which is stable with iterations=8 and relaxation=0.5"
    with pytest.warns(CouplingWarning, match=words.replace(" expected", r"[\s\S]*expected")):
        dragged(10.0, iterations=8, relaxation=0.5)


@pytest.mark.parametrize("options", [{}, {"iterations": 4}])
def test_a_busy_scene_is_not_told(options):
    """Impacts, rolling, splashes: forces that jump, and do not grow from one to the next."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(scene(**options), 200)


def test_springs_that_are_stiff_for_the_time_between_hand_overs_are_told():
    """A ball of 4.2 kg on a spring of 1 MN/m to a particle of a ton."""
    bodies, builder = ModelBuilder(gravity=0.0), ModelBuilder(gravity=0.0)
    ball = bodies.add_body(qd=(0, 0, 0, 0, 0.1, 0))
    bodies.add_shape_sphere(radius=0.1, cfg=ShapeConfig(density=1000.0), body=ball)
    builder.add_bodies(bodies)
    builder.add_particle((0, 0.2, 0), mass=1e3)
    builder.add_attachment(0, (0, 0.2, 0), ke=1e6, shape=0)
    one, other = (b.finalize("cpu", dtype=wp.float64) for b in (bodies, builder))

    def speed(substeps):
        coupling = Coupling(SolverBodies(one, 2), [SolverXPBD(other, 10)], substeps=substeps)
        return np.abs(run(coupling, 30)[0].body_qd.numpy()[0, 3:]).max()

    with pytest.warns(CouplingWarning, match="where contact is stiff also less than"):
        speed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert speed(16) < 0.2
