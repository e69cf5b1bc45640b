"""Joints while they move: locked axes, momenta, limits, drives, reactions, breaking, loops, worlds, threads, the
interpreter."""

import numpy as np
import pytest
from joint_scenes import DRIVEN, KINDS, LIMITED, add_random_body, random_chain, random_frame
from scipy.spatial.transform import Rotation

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.solvers import JointAxis, JointKind, ModelBuilder, SolverBodies

DT = 1.0 / 60.0
STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def play(builder, steps=60, substeps=10, iterations=2, dtype=wp.float64, dt=DT, each=None, control=None, **options):
    """The state after some steps. each(model, state): called after every one."""
    model = builder.finalize(**{"device": "cpu", **options}, dtype=dtype)
    solver, state = SolverBodies(model, substeps, iterations), model.state()
    for _ in range(steps):
        solver.step(state, state, control and control(model), None, dt)
        if each:
            each(model, state)
    return state


def between(model, state, joint):
    """Where the child's frame is in the parent's, and how it is turned."""
    q = np.vstack([state.body_q.numpy(), STILL]).astype(float)
    places, turns = [], []
    for side in ("parent", "child"):
        pose = q[getattr(model, f"joint_{side}").numpy()[joint]]
        frame = getattr(model, f"joint_{side}_frame").numpy()[joint].astype(float)
        turn = Rotation.from_quat(pose[3:])
        places.append(turn.apply(frame[:3]) + pose[:3])
        turns.append(turn * Rotation.from_quat(frame[3:]))
    return turns[0].inv().apply(places[1] - places[0]), turns[0].inv() * turns[1]


def locked_errors(model, state):
    """Of all joints: how far what is locked is off, ways and angles."""
    worst = 0.0
    for j, kind in enumerate(model.joint_kind.numpy()):
        offset, turn = between(model, state, j)
        locked = model.joint_lower.numpy()[j] == model.joint_upper.numpy()[j]
        if kind == JointKind.DISTANCE:
            errors = [np.linalg.norm(offset) - model.joint_lower.numpy()[j, 3]]
        else:
            errors = list(offset[locked[3:]])
            free = np.flatnonzero(~locked[:3])
            m = turn.as_matrix()
            if len(free) == 0:
                errors.append(turn.magnitude())
            elif len(free) == 1:
                errors.append(np.arccos(min(m[free[0], free[0]], 1.0)) if m[free[0], free[0]] < 1.0 - 1e-14 else 0.0)
            elif len(free) == 2:
                k = 3 - free.sum()
                errors.append(np.arcsin(m[(k + 1) % 3, (k + 2) % 3]))
        worst = max(worst, np.abs(errors).max(initial=0.0))
    return worst


def momenta(model, state):
    """Momentum, and angular momentum about the origin, of all bodies."""
    q, qd = state.body_q.numpy().astype(float), state.body_qd.numpy().astype(float)
    mass, com, inertia = (getattr(model, f"body_{n}").numpy().astype(float) for n in ("mass", "com", "inertia"))
    turn = Rotation.from_quat(q[:, 3:])
    center, m = q[:, :3] + turn.apply(com), turn.as_matrix()
    spin = np.einsum("nij,njk,nlk,nl->ni", m, inertia, m, qd[:, :3])
    return (mass[:, None] * qd[:, 3:]).sum(axis=0), (spin + np.cross(center, mass[:, None] * qd[:, 3:])).sum(axis=0)


# ----- what is locked, and what is kept -----------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_locked_axes_stay_locked(kind, dtype):
    worst = []
    for seed in range(3):
        builder = random_chain(KINDS[kind], seed, count=5)
        play(builder, dtype=dtype, each=lambda model, state: worst.append(locked_errors(model, state)))
    assert max(worst) < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_momenta_of_a_free_chain_stay(kind):
    scenes, seen = {**KINDS, **{f"driven {k}": v for k, v in DRIVEN.items()}}, []
    for name, add in scenes.items():
        if name.endswith(kind):
            builder = random_chain(add, 4, count=5, held=False, gravity=0.0)
            seen.clear()
            play(builder, steps=100, each=lambda model, state: seen.append(np.concatenate(momenta(model, state))))
            assert np.abs(np.diff(seen, axis=0)).sum() < 1e-10
            assert np.abs(seen[0]).max() > 0.1


def test_energy_of_a_chain_does_not_drift():
    """Two hundred steps of a wild chain of balls: what it has varies by a part of 1e-3, and does not get less."""
    builder = random_chain(KINDS["ball"], 5, count=4, held=False, gravity=0.0)
    kinetic = []

    def measure(model, state):
        qd, m = state.body_qd.numpy(), Rotation.from_quat(state.body_q.numpy()[:, 3:]).as_matrix()
        w = np.einsum("nji,nj->ni", m, qd[:, :3])
        spin = np.einsum("ni,nij,nj->", w, model.body_inertia.numpy(), w)
        kinetic.append(0.5 * spin + 0.5 * (model.body_mass.numpy() * (qd[:, 3:] ** 2).sum(axis=1)).sum())

    play(builder, steps=200, substeps=20, each=measure)
    assert np.abs(np.diff(kinetic)).max() / kinetic[0] < 1e-3
    assert abs(np.mean(kinetic[-50:]) / np.mean(kinetic[:50]) - 1.0) < 1e-3


def test_a_long_chain_needs_one_pass():
    """Twenty links, the last of which weighs a hundred times as much: an error of the first order stays nowhere."""
    builder = ModelBuilder()
    for k in range(20):
        mass = 100.0 if k == 19 else 1.0
        builder.add_body((0.2 * k + 0.1, 0, 0, 0, 0, 0, 1), mass=mass, com=(0, 0, 0), inertia=np.full(3, 0.004 * mass))
        builder.add_joint_ball(k - 1, k, child_xform=(-0.1, 0, 0, 0, 0, 0, 1))
    worst = []
    play(builder, substeps=20, iterations=1, each=lambda m, s: worst.append(locked_errors(m, s)))
    assert max(worst) < 1e-5


def test_reactions_of_a_hanging_weight():
    builder = ModelBuilder(gravity=-10.0)
    builder.add_body(STILL, mass=2.0, com=(0.3, 0, 0), inertia=(1, 1, 1))
    turned = (0.0, 0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
    builder.add_joint_fixed(-1, 0, turned)
    state = play(builder, steps=3)
    # In the joint's frame, whose x is up: 20 N up, and a torque that holds 6 N m.
    assert np.allclose(state.joint_f.numpy(), [[0.0, 0.0, 6.0, 20.0, 0.0, 0.0]], atol=1e-9)


# ----- limits and drives --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIMITED)
def test_limits_hold(kind):
    ranges = []

    def measure(model, state):
        for j in range(model.joint_count):
            offset, turn = between(model, state, j)
            ranges.append(turn.as_euler("XYZ")[2] if kind in ("revolute", "driven") else offset[2])
            if kind == "universal":
                ranges[-1] = turn.as_euler("XYZ")[0]

    for seed in range(3):
        play(random_chain(LIMITED[kind], seed), steps=120, substeps=20, each=measure)
    lower, upper = (-0.01, 0.01) if kind == "prismatic" else (-0.03, 0.02)
    assert lower - 1e-4 < min(ranges) < 0.9 * lower and 0.9 * upper < max(ranges) < upper + 1e-4


def test_a_limit_only_pushes():
    """A pendulum falls on its limit, stays there, and leaves it once gravity turns round."""
    builder = ModelBuilder(gravity=-10.0)
    builder.add_body((0.5, 0, 0, 0, 0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint_revolute(-1, 0, STILL, limit_lower=-0.5, limit_upper=0.5)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, control = SolverBodies(model), model.state(), model.control()
    torques, angles = [], []
    for k in range(240):
        control.gravity.assign([[0.0, -10.0 if k < 120 else 10.0, 0.0]])
        solver.step(state, state, control, None, DT)
        torques.append(state.joint_f.numpy()[0, 2])
        angles.append(np.arctan2(state.body_q.numpy()[0, 1], state.body_q.numpy()[0, 0]))
    assert np.allclose(angles[60:120], -0.5, atol=1e-6) and np.allclose(angles[200:], 0.5, atol=1e-6)
    assert np.allclose(torques[60:120], 5.0 * np.cos(0.5), rtol=1e-6)
    assert np.allclose(torques[121:125], 0.0, atol=1e-9)
    assert (np.abs(state.body_qd.numpy()) < 1e-9).all()


@pytest.mark.parametrize("ke", [1e2, 1e6, 1e12])
@pytest.mark.parametrize("dt", [1.0 / 600.0, 0.1])
def test_drives_reach_targets_at_any_stiffness(ke, dt):
    builder = ModelBuilder(gravity=0.0)
    builder.add_body((0.5, 0, 0, 0, 0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    kd = 2.0 * np.sqrt(0.35 * ke)
    builder.add_joint_revolute(-1, 0, STILL, target=2.5, target_ke=ke, target_kd=kd)
    angles = []
    play(builder, steps=round(3.0 / dt), substeps=1, dt=dt,
         each=lambda m, s: angles.append(np.arctan2(*s.body_q.numpy()[0, 1::-1])))  # fmt: skip
    assert abs(angles[-1] - 2.5) < 1e-3 and max(angles) < 2.6


def test_an_arm_holds_where_its_drives_say():
    """Three links under gravity, with stiff drives: they sag by torque over stiffness."""
    builder = ModelBuilder(gravity=-10.0)
    for k in range(3):
        builder.add_body((k + 0.5, 0, 0, 0, 0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.add_joint_revolute(k - 1, k, child_xform=(-0.5, 0, 0, 0, 0, 0, 1), target_ke=1e6, target_kd=1e4)
    state = play(builder, steps=120)
    assert np.allclose(state.joint_f.numpy()[:, 2], [45.0, 20.0, 5.0], rtol=1e-4)
    assert np.allclose(state.body_q.numpy()[0, 5], -0.5 * 45.0 / 1e6, rtol=1e-3)


def test_a_motor_turns_a_wheel_at_its_speed():
    builder = ModelBuilder()
    builder.add_body(STILL, mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint_revolute(-1, 0, axis=(0, 1, 0), target_velocity=30.0, target_kd=5.0)
    state = play(builder, steps=60)
    assert np.allclose(state.body_qd.numpy()[0, :3], [0, 30.0, 0], rtol=1e-6)


def test_targets_come_from_the_control():
    builder = ModelBuilder(gravity=0.0)
    builder.add_body(STILL, mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint_prismatic(-1, 0, target_ke=1e3, target_kd=60.0)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, control = SolverBodies(model), model.state(), model.control()
    target = control.joint_target.numpy()
    target[0, 5] = 0.7
    control.joint_target.assign(target)
    for _ in range(120):
        solver.step(state, state, control, None, DT)
    assert np.allclose(state.body_q.numpy()[0, :3], [0, 0, 0.7], atol=1e-6)


def test_a_rope_is_slack_or_tight():
    """A weight falls freely, then hangs on a rope of 1 m."""
    builder = ModelBuilder(gravity=-10.0)
    builder.add_body((0.0, -0.2, 0, 0, 0, 0, 1), mass=3.0, com=(0, 0, 0), inertia=(1, 1, 1))
    builder.add_joint_distance(-1, 0, max_distance=1.0)
    heights = []
    state = play(builder, each=lambda m, s: heights.append(s.body_q.numpy()[0, 1]))
    assert np.allclose(heights[5], -0.2 - 5.0 * (6 * DT) ** 2, atol=1e-6)
    assert np.allclose(heights[-1], -1.0, atol=1e-6) and min(heights) > -1.0 - 1e-6
    assert np.allclose(state.joint_f.numpy()[0, 3:], [0, 30.0, 0], rtol=1e-6)


# ----- breaking -----------------------------------------------------------------------------------


BREAKS = [
    ({"break_force": 19.0}, True),
    ({"break_force": 21.0}, False),
    ({"break_torque": 5.9}, True),
    ({"break_torque": 6.1}, False),
]


@pytest.mark.parametrize("strength, breaks", BREAKS)
def test_joints_break_beyond_their_strength(strength, breaks):
    builder = ModelBuilder(gravity=-10.0)
    builder.add_body(STILL, mass=2.0, com=(0.3, 0, 0), inertia=(1, 1, 1))
    builder.add_joint_fixed(-1, 0, **strength)
    broken = []
    state = play(builder, each=lambda m, s: broken.append((s.joint_broken.numpy()[0], s.body_q.numpy()[0, 1])))
    assert broken[0][0] == breaks and abs(broken[0][1]) < 1e-12  # the step in which it breaks it still holds
    fallen = 0.5 * 10.0 * (59 * DT) ** 2 if breaks else 0.0
    assert np.isclose(state.body_q.numpy()[0, 1], -fallen, atol=1e-9)
    assert np.allclose(state.joint_f.numpy()[0, 3:], 0.0 if breaks else (0, 20, 0), atol=1e-9)


# ----- loops --------------------------------------------------------------------------------------


def ring(add, count=6, dtype=wp.float64, **options):
    """Bodies in a ring, each held to the next, the first and the last too; pushed."""
    builder, rng = ModelBuilder(gravity=-9.81), np.random.default_rng(1)
    for k in range(count):
        angle = 2.0 * np.pi * k / count
        add_random_body(builder, rng, (np.cos(angle), np.sin(angle), 0.0), 0.5)
    for k in range(count):
        add(builder, k, (k + 1) % count, None, random_frame(rng))
    add(builder, -1, 0, None, random_frame(rng))
    return builder


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("kind", ["fixed", "revolute", "ball", "universal"])
def test_loops_close_though_they_are_overdetermined(kind, dtype):
    """A ring of six welded bodies has six equations too many, one of hinges with any axes is stiff."""
    worst, forces = [], []

    def measure(model, state):
        worst.append(locked_errors(model, state))
        forces.append(np.abs(state.joint_f.numpy()).max())

    play(ring(KINDS[kind]), dtype=dtype, steps=120, each=measure)
    assert max(worst) < 1e-4 and max(forces[20:]) < (1e4 if dtype is wp.float32 else 2e3)  # rounding, over h^2


def test_two_hinges_are_as_good_as_one():
    """A door on two hinges: more equations than it has freedoms."""
    states = []
    for hinges in ([0.0], [-0.4, 0.4]):
        builder = ModelBuilder(up_axis="Z")
        builder.add_body((0.5, 0, 0, 0, 0, 0, 1), qd=(0, 0, 1.0, 0, 0.5, 0), mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
        for height in hinges:
            builder.add_joint_revolute(-1, 0, (0, 0, height, 0, 0, 0, 1))
        states.append(play(builder))
    assert np.allclose(states[0].body_q.numpy(), states[1].body_q.numpy(), atol=1e-8)
    forces = states[1].joint_f.numpy()
    assert np.allclose(forces[:, 3:].sum(axis=0), states[0].joint_f.numpy()[0, 3:], atol=1e-5)


# ----- worlds, threads, the interpreter -----------------------------------------------------------


def mixed(seed=0):
    """Every kind of joint once."""
    builder, rng = ModelBuilder(), np.random.default_rng(seed)
    for k, add in enumerate([*KINDS.values(), *DRIVEN.values(), *LIMITED.values()]):
        add_random_body(builder, rng, (0.4 * k, 0.0, 0.1 * k))
        add(builder, (k if k % 5 else 0) - 1, k, None, random_frame(rng))
    return builder


def numbers_of(state):
    return np.concatenate([a.numpy().ravel() for a in (state.body_q, state.body_qd, state.joint_f, state.joint_broken)])


def test_threads_do_not_change_a_bit():
    threads, results = pool.get_pool().threads, []
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            whole = ModelBuilder()
            whole.add_world(mixed(), 20)
            results.append(numbers_of(play(whole, steps=30, dtype=wp.float32)))
    finally:
        wp.set_num_threads(threads)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_worlds_are_as_if_alone():
    scenes, whole = [mixed(k) for k in range(3)], ModelBuilder()
    for scene in scenes:
        whole.add_world(scene)
    together = play(whole, steps=20)
    for k, scene in enumerate(scenes):
        alone, world = play(scene, steps=20), together.world(k)
        assert np.array_equal(numbers_of(alone), numbers_of(world))


@pytest.mark.parametrize("kind", [*KINDS, *(f"driven {k}" for k in DRIVEN), *(f"limited {k}" for k in LIMITED)])
def test_every_joint_is_the_same_on_the_interpreter(kind):
    scenes = {
        **KINDS,
        **{f"driven {k}": v for k, v in DRIVEN.items()},
        **{f"limited {k}": v for k, v in LIMITED.items()},
    }
    results = [
        numbers_of(play(random_chain(scenes[kind], 6), steps=1, substeps=2, device=device))
        for device in ("interp", "cpu")
    ]
    assert np.allclose(*results, rtol=1e-11, atol=1e-11)


def test_a_broken_joint_is_the_same_on_the_interpreter():
    results = []
    for device in ("interp", "cpu"):
        builder = random_chain(lambda b, *at: b.add_joint_fixed(*at, break_force=1e-3), 6)
        results.append(numbers_of(play(builder, steps=2, substeps=1, device=device)))
    assert np.allclose(*results, rtol=1e-11, atol=1e-11)


def test_free_axes_need_no_bounds():
    """A hinge turns many times, and its drive takes the shorter way round."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_body(STILL, qd=(0, 0, 20.0, 0, 0, 0), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint_revolute(-1, 0)
    state = play(builder)
    turned = 2.0 * np.arctan2(state.body_q.numpy()[0, 5], state.body_q.numpy()[0, 6])
    assert np.isclose(np.cos(turned), np.cos(20.0), atol=1e-9)
    assert JointAxis().limit_upper == np.inf
