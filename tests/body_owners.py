"""Owners of replaced attributes with rigid bodies: a solver of theirs, and a coupling."""

import warnings

from warpsim import solvers


def chain_builder():
    """A ball and two boxes over a floor, of which one hangs on a hinge with a drive."""
    b = solvers.ModelBuilder()
    for k in range(3):
        body = b.add_body((0.25 * k, 0.2, 0.0, 0.0, 0.0, 0.0, 1.0))
        if k:
            b.add_shape_box(hx=0.1, hy=0.05, hz=0.05, body=body)
        else:
            b.add_shape_sphere(radius=0.1, body=body)
    b.add_joint_revolute(-1, 2, target_ke=1.0, target_kd=0.1)
    b.add_ground_plane()
    return b


class Tumbling:
    def __init__(self):
        self.model = chain_builder().finalize(device="cpu")
        self.solver = solvers.SolverBodies(self.model, 2, 1)
        self.state, self.control = self.model.state(), self.model.control()


def use_tumbling(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            t.solver.step(t.state, t.state, t.control, None, 1e-2)
    return [t.state.body_q.numpy().copy(), t.state.body_qd.numpy().copy()]


class Pushing:
    def __init__(self):
        own = chain_builder()
        builder = solvers.ModelBuilder()
        builder.add_bodies(own)
        builder.add_particles([[0.0, 0.32, 0.0], [0.3, 0.28, 0.0]], mass=0.1, radius=0.01)
        cloth = solvers.SolverXPBD(builder.finalize(device="cpu"), 2)
        self.coupling = solvers.Coupling(solvers.SolverBodies(own.finalize(device="cpu"), 2, 1), [cloth])
        self.states = list(self.coupling.states())


def use_pushing(p):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            p.coupling.step(p.states, p.states, dt=1e-2)
    return [a.numpy().copy() for s in p.states for a in (s.body_q, s.particle_q)]
