"""Random scenes of every kind of feature through checkpoints, against the tape that records every step.

WARPSIM_CHECKPOINTED_SCENES=500 makes that many, instead of a few.
"""

import os
import random

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import Contacts, Fluid, ModelBuilder, SolverDEM, SolverDFSPH, SolverSPH, SolverXPBD

MORE = int(os.environ.get("WARPSIM_CHECKPOINTED_SCENES", "0"))
STILL = (0.0, 0.0, 0.0)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
BALL = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
FACES = np.array([(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)])


def cloth(b):
    b.add_cloth_grid((0.0, 1.0, 0.0), UPRIGHT, STILL, 2, 2, 0.1, 0.1, 0.01, spring_ke=100.0, edge_ke=0.1)


def membrane(b):
    b.add_cloth_grid((1.0, 1.0, 0.0), UPRIGHT, STILL, 2, 2, 0.1, 0.1, 0.01, tri_ke=50.0, tri_drag=0.1)


def block(b):
    b.add_soft_grid((2.0, 0.2, 0.0), UPRIGHT, STILL, 1, 1, 1, 0.2, 0.2, 0.2, 100.0)


def balloon(b):
    first = b.add_particles(0.1 * BALL + [3.0, 0.5, 0.0], mass=0.01).start
    b.add_pressure(b.add_triangles(FACES + first, tri_ke=10.0), target=1.2, bulk_modulus=100.0)


def chain(b):
    i = b.add_particles([(4.0 + 0.1 * k, 0.05, 0.0) for k in range(4)], mass=[0.0, 1.0, 1.0, 1.0])
    b.add_springs([(i[k], i[k + 1]) for k in range(3)], ke=200.0, kd=1.0)
    b.add_tethers(i)


FEATURES = {
    "cloth": cloth,
    "membrane": membrane,
    "block": block,
    "balloon": balloon,
    "chain": chain,
    "loose": lambda b: b.add_particles([(5.0, 0.1, 0.0), (5.1, 0.1, 0.0)], mass=0.1),
    "held": lambda b: b.add_attachment(b.add_particle((6.0, 1.0, 0.0)), (6.0, 1.1, 0.0), ke=50.0),
    "ground": lambda b: b.add_ground_plane(),
    "sphere": lambda b: b.add_shape_sphere((2.1, 0.0, 0.1, *UPRIGHT), 0.21),
    "box": lambda b: b.add_shape_box((0.1, 0.9, 0.0, *UPRIGHT), 0.2, 0.095, 0.2),
}


def soft_scene(rng):
    builder = ModelBuilder()
    chosen = rng.sample(sorted(FEATURES), rng.randint(1, 5))
    for name in chosen:
        FEATURES[name](builder)
    if not builder.particles.count:
        FEATURES["held"](builder)
    model = builder.finalize(requires_grad=True, dtype=rng.choice([wp.float32, wp.float64]))
    solver = SolverXPBD(
        model,
        substeps=rng.choice([1, 3]),
        iterations=rng.choice([1, 2]),
        order=rng.choice(["colored", "jacobi"]),
        damping=rng.choice([0.0, 0.1]),
    )
    contacts = Contacts(model) if rng.random() < 0.3 else None
    scratch = [*solver.scratch, *(contacts.scratch if contacts else ())]
    return model, lambda state: solver.step(state, state, None, contacts, 1.0 / 60.0), lambda: scratch, lambda: []


def grains(rng):
    builder = ModelBuilder()
    n = rng.randint(1, 3)
    points = np.stack(np.meshgrid(*[np.arange(n)] * 3), -1).reshape(-1, 3) * 0.019 + [0.0, 0.01, 0.0]
    builder.add_particles(points, mass=0.01, radius=0.01)
    if rng.random() < 0.6:
        builder.add_ground_plane()
    model = builder.finalize(requires_grad=True, dtype=wp.float64)
    period = (1.0, 0.0, 1.0) if rng.random() < 0.5 else STILL
    solver = SolverDEM(
        model,
        substeps=rng.choice([1, 3]),
        law=rng.choice(["hertz", "linear"]),
        period=period,
        overlaps="ignore",
        rolling=rng.choice([None, "spring"]),
    )
    solver.reserve(4096)
    return model, lambda state: solver.step(state, state, dt=1.0e-5), lambda: solver.scratch, lambda: solver.history


def fluid_of(kind):
    def fluid(rng):
        builder = ModelBuilder()
        cells = np.stack(np.meshgrid(np.arange(8), np.arange(3), [0.0], indexing="ij"), -1).reshape(-1, 3)
        builder.add_particles((cells + np.array([0.5, 0.5, 0.0])) * 0.05, mass=1000.0 * 0.05**2)
        if rng.random() < 0.7:
            builder.add_ground_plane()
        model = builder.finalize(requires_grad=True, dtype=wp.float64)
        water = Fluid(viscosity=rng.choice([0.0, 0.01]))
        period = (0.4, 0.0, 0.0) if rng.random() < 0.5 else STILL
        solver = kind(
            model,
            water,
            dim=2,
            substeps=rng.choice([1, 2]),
            period=period,
            spacing=0.05,
            overlaps="ignore",
            bounds=((0.0, 0.0, 0.0), (0.4, 0.4, 0.0)),
        )
        return model, lambda state: solver.step(state, state, dt=5.0e-4), lambda: solver.scratch, lambda: []

    return fluid


def gradients(make, seed, checkpointed, schedule):
    model, step, scratch, beside = make(random.Random(seed))
    state = model.state()
    with wp.Tape() as tape:
        if checkpointed:
            carried = [*state.arrays.values(), *beside()]
            wp.checkpoint(lambda k: step(state), carried, 5, scratch=scratch(), schedule=schedule)
        else:
            for _ in range(5):
                step(state)
    seeds = {a: wp.full_like(a, 1.0) for a in (state.particle_q, state.particle_qd)}
    tape.backward(grads=seeds)
    inputs = {"mass": model.particle_mass, "gravity": model.gravity, **state.arrays}
    found = {name: a.grad.numpy().copy() for name, a in inputs.items() if a.grad is not None}
    return found | {f"the value of {name}": a.numpy() for name, a in state.arrays.items()}


SCENES = {"xpbd": soft_scene, "dem": grains, "sph": fluid_of(SolverSPH), "dfsph": fluid_of(SolverDFSPH)}
USUAL = {"xpbd": 5, "dem": 2, "sph": 2, "dfsph": 2}


@pytest.mark.parametrize("kind, seed", [(kind, seed) for kind in SCENES for seed in range(MORE or USUAL[kind])])
def test_checkpoints_give_what_whole_tapes_give(kind, seed):
    """To the last bit, but of fluids: in loops that may run again those find neighbours, and sum, in another order."""
    schedule = random.Random(-seed).choice(["sqrt", "binomial"])
    whole, parts = (gradients(SCENES[kind], seed, checkpointed, schedule) for checkpointed in (False, True))
    for name, expected in whole.items():
        if kind in ("sph", "dfsph"):
            floor = 1e-9 * np.abs(expected).max(initial=0.0) + 1e-14  # gradients that are zero but for rounding
            np.testing.assert_allclose(parts[name], expected, rtol=1e-9, atol=floor, err_msg=name)
        else:
            assert np.array_equal(parts[name], expected, equal_nan=True), name
