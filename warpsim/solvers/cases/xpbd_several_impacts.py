"""Several impacts of XPBD within one substep against closed forms: a cradle, a ball on two, a ball in a corner."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.language import float64
from ..contact.contacts import Contacts
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

RADIUS, SPEED, SUBSTEP = 0.1, 2.0, 1.0 / 600.0
PHASES = (0.05, 0.5, 0.95)


def after_impacts(builder: ModelBuilder, restitution: float) -> np.ndarray:
    """Velocities (n, 3) [m/s] after ten substeps without friction."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    contacts = Contacts(model, friction=0.0, restitution=restitution)
    for _ in range(10):
        solver.step(state, state, None, contacts, SUBSTEP)
    return np.asarray(state.particle_qd.numpy())


def hit(others: np.ndarray, touch: float, phase: float, restitution: float) -> np.ndarray:
    """Velocities after a ball has flown along x into equal ones in touch; touch: where it meets them [m]."""
    builder = ModelBuilder(gravity=0.0)
    start = [touch - (2.0 + phase) * SUBSTEP * SPEED, 0.0, 0.0]
    still = np.zeros_like(others)
    builder.add_particles([start, *others], [[SPEED, 0.0, 0.0], *still], 1.0, RADIUS)
    return after_impacts(builder, restitution)


def corner(phase: float, restitution: float) -> np.ndarray:
    """The velocity of a ball after it has met two walls in the same substep."""
    builder, v = ModelBuilder(gravity=0.0), np.array([-3.0, -2.0, 0.0])
    builder.add_particle([RADIUS, RADIUS, 0.0] - (2.0 + phase) * SUBSTEP * v, v, 1.0, RADIUS)
    for normal in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        builder.add_shape_plane(normal, (0.0, 0.0, 0.0), ShapeConfig(mu=0.0, restitution=restitution))
    return np.asarray(after_impacts(builder, restitution)[0])


@case("X27", "xpbd", "several impacts in one substep")
def several_impacts() -> Iterator[Measurement]:
    """A cradle of four balls in touch passes all of the speed of a fifth to its last one. A ball between two that touch
    keeps v (1 - 3 e / 2) / (5 / 2), by Newton's law of impact for both at once, and they share the rest. Walls of a
    corner turn each component v to -e v. The moment of impact within the substep does not matter."""
    row = np.array([[2.0 * RADIUS * k, 0.0, 0.0] for k in range(4)])
    pair = np.array([[0.0, RADIUS, 0.0], [0.0, -RADIUS, 0.0]])
    for phase in PHASES:
        v = hit(row, -2.0 * RADIUS, phase, 1.0)[:, 0]
        yield near(f"last of a cradle [m/s], phase {phase}", SPEED, v[-1], absolute=1e-6)
        yield at_most(f"the others [m/s], phase {phase}", 1e-6, np.abs(v[:-1]).max())
        for e in (0.5, 1.0):
            v = hit(pair, -np.sqrt(3.0) * RADIUS, phase, e)[:, 0]
            exact = SPEED * (1.0 - 1.5 * e) / 2.5
            yield near(f"a ball after two [m/s], e = {e}, phase {phase}", exact, v[0], absolute=0.002)
            yield near(f"each of the two [m/s], e = {e}, phase {phase}", 0.5 * (SPEED - exact), v[1], absolute=0.002)
    for e in (0.0, 0.5, 1.0):
        worst = max(float(np.abs(corner(phase, e) - e * np.array([3.0, 2.0, 0.0])).max()) for phase in PHASES)
        yield at_most(f"error of a ball after a corner [m/s], e = {e}", 1e-9, worst)
