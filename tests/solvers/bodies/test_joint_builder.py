"""Joints of a `ModelBuilder`: where their frames are, what they leave free, and what it says of impossible ones."""

import numpy as np
import pytest
from joint_scenes import KINDS, add_random_body, random_frame

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ModelError
from warpsim.solvers import JointAxis, JointKind, ModelBuilder, SolverBodies

INF = np.inf


def pair(seed=0):
    builder, rng = ModelBuilder(), np.random.default_rng(seed)
    for x in (0.0, 0.5):
        add_random_body(builder, rng, (x, 0.0, 0.0))
    return builder, rng


def pose_of(builder, body, frame):
    """A frame of a body in space, by matrices."""
    x, y, z, w = frame[3:]
    turn = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])  # q times p, for p from the left
    matrix = turn @ np.array([[w, -z, y, -x], [z, w, -x, -y], [-y, x, w, -z], [x, y, z, w]])
    own = np.eye(4)
    own[:3, :3], own[:3, 3] = matrix[:3, :3], frame[:3]
    return own if body < 0 else pose_of(builder, -1, builder.bodies["q"][body]) @ own


@pytest.mark.parametrize("parent", [-1, 0])
@pytest.mark.parametrize("named", [(), ("parent_xform",), ("child_xform",)])
def test_a_frame_that_is_not_named_is_where_the_other_is(parent, named):
    builder, rng = pair()
    joint = builder.add_joint_fixed(parent, 1, **{name: random_frame(rng) for name in named})
    frames = builder.joints["parent_frame"][joint], builder.joints["child_frame"][joint]
    assert np.allclose(pose_of(builder, parent, frames[0]), pose_of(builder, 1, frames[1]), atol=1e-12)
    if not named:
        assert np.array_equal(frames[1], [0, 0, 0, 0, 0, 0, 1])
    builder.finalize(device="cpu")


@pytest.mark.parametrize(
    "add, kind, lower, upper",
    [
        ("fixed", JointKind.FIXED, [0] * 6, [0] * 6),
        ("ball", JointKind.BALL, [-INF] * 3 + [0] * 3, [INF] * 3 + [0] * 3),
        ("revolute", JointKind.HINGE_Z, [0, 0, -INF, 0, 0, 0], [0, 0, INF, 0, 0, 0]),
        ("prismatic", JointKind.FIXED, [0] * 5 + [-INF], [0] * 5 + [INF]),
        ("universal", JointKind.UNIVERSAL_Z, [-INF, -INF, 0, 0, 0, 0], [INF, INF, 0, 0, 0, 0]),
    ],
)
def test_what_joints_leave_free(add, kind, lower, upper):
    builder, _ = pair()
    getattr(builder, f"add_joint_{add}")(0, 1)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    assert model.joint_kind.numpy()[0] == kind
    assert np.array_equal(model.joint_lower.numpy()[0], lower) and np.array_equal(model.joint_upper.numpy()[0], upper)


def test_axes_become_the_z_axis_of_the_joint():
    builder, _ = pair()
    axis = np.array([1.0, -2.0, 0.5])
    builder.add_joint_revolute(-1, 0, (0, 0, 0, 0, 0, 0, 1), axis=axis)
    pose = pose_of(builder, -1, builder.joints["parent_frame"][0])
    assert np.allclose(pose[:3, 2], axis / np.linalg.norm(axis), atol=1e-12)


def test_drives_and_limits_get_to_model_and_control():
    builder, _ = pair()
    builder.add_joint_revolute(
        0, 1, limit_lower=-1, limit_upper=2, target=0.5, target_velocity=3, target_ke=7, target_kd=8, break_force=9,
        break_torque=10,
    )  # fmt: skip
    model = builder.finalize(device="cpu", dtype=wp.float64)
    control = model.control()
    z = {"lower": -1, "upper": 2, "ke": 7, "kd": 8, "target": 0.5, "target_velocity": 3}
    for name, value in z.items():
        assert getattr(model, f"joint_{name}").numpy()[0, 2] == value
    assert control.joint_target.numpy()[0, 2] == 0.5 and control.joint_target_velocity.numpy()[0, 2] == 3
    assert model.joint_strength.numpy()[0].tolist() == [9, 10]


def test_a_rod_is_as_long_as_it_is():
    builder, _ = pair()
    builder.add_joint_distance(0, 1)
    builder.add_joint_distance(0, 1, max_distance=2.0)
    assert builder.joints["lower"][0, 3] == builder.joints["upper"][0, 3] == 0.5
    assert builder.joints["lower"][1, 3] == -INF and builder.joints["upper"][1, 3] == 2.0
    builder.finalize(device="cpu")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"parent": 1}, "parent and child are both body 1"),
        ({"parent": 5}, "parent is 5"),
        ({"child": -1}, "child is -1"),
        ({"child": 2}, "child is 2"),
        ({"limit_lower": 1.0, "limit_upper": 0.5}, "angle about z of joint 0 has the limits 1 to 0.5"),
        ({"limit_lower": 1.0}, "less than a turn apart"),
        ({"limit_lower": -4.0, "limit_upper": 4.0}, "less than a turn apart"),
        ({"limit_lower": 1.0, "limit_upper": 1.0}, "is locked at 1"),
        ({"limit_lower": 0.0, "limit_upper": 0.0, "target_ke": 1.0}, "is locked and has a drive"),
        ({"target_ke": INF}, "target_ke = inf"),
        ({"target_kd": -1.0}, "target_kd = -1"),
        ({"target_ke": np.nan}, "target_ke = nan"),
        ({"target": INF}, "target inf"),
        ({"stiffness": 1.0}, "a joint has no 'stiffness'"),
        ({"axis": (0, 0, 0)}, "direction is"),
        ({"break_force": 0.0}, "break_force is 0"),
        ({"parent_xform": (0, 0, 0, 0, 0, 0, 2)}, "parent_xform is"),
    ],
)
def test_impossible_hinges_are_refused(arguments, message):
    builder, _ = pair()
    with pytest.raises(ModelError, match=message):
        builder.add_joint_revolute(**{"parent": 0, "child": 1, **arguments})


def test_axes_that_are_none_are_refused():
    builder, _ = pair()
    with pytest.raises(ModelError, match="an axis of a joint is 'w'"):
        builder.add_joint_d6(0, 1, angular_axes={"w": JointAxis()})


@pytest.mark.parametrize("kind", ["fixed", "ball", "revolute", "prismatic", "universal"])
def test_joints_that_start_broken_say_how_far(kind):
    builder, rng = pair()
    builder.add_joint_ball(-1, 0)
    frame = random_frame(rng)
    joint = KINDS[kind](builder, 0, 1, None, frame)
    builder.joints["child_frame"][joint, :3] += (0.03, 0.04, 0.12)
    with pytest.raises(
        ModelError, match=r"joint 1 of parent 0 and child 1 starts broken: its frames are 0\.1.* m apart"
    ):
        builder.finalize(device="cpu")


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic", "universal"])
def test_joints_that_start_turned_say_how_far(kind):
    builder, _ = pair()
    turn = np.array([0.06, 0.05, 0.04, 0.0])
    turn[3] = np.sqrt(1.0 - turn @ turn)
    joint = getattr(builder, f"add_joint_{kind}")(-1, 0, (0, 0, 0, 0, 0, 0, 1), None)
    builder.joints["parent_frame"][joint, :3] = builder.bodies["q"][0, :3]
    builder.joints["child_frame"][joint, :3] = 0.0
    builder.joints["parent_frame"][joint, 3:] = turn
    with pytest.raises(ModelError, match=r"starts broken: its frames are 0\..* rad apart"):
        builder.finalize(device="cpu")


@pytest.mark.parametrize("limits", [{}, {"min_distance": 0.0, "max_distance": 1e-6}, {"max_distance": 0.0}])
def test_rods_without_a_length_are_refused(limits):
    builder = ModelBuilder()
    body = builder.add_body(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    with pytest.raises(ModelError, match=r"its ends coincide and have no direction\n.*\nhelp: add_joint_ball"):
        builder.add_joint_distance(-1, body, **limits)


@pytest.mark.parametrize(
    ("add", "arguments", "words"),
    [
        ("d6", {"linear_axes": {"x": 1.0}}, r"linear_axes\['x'\] is 1.0"),
        ("d6", {"linear_axes": ("x",)}, "linear_axes is"),
        ("universal", {"first": 0.1}, "first is 0.1"),
        ("ball", {"target": "a"}, "target of a joint is 'a'"),
        ("ball", {"target_ke": (0, 0, 1)}, "target_ke of a joint is"),
    ],
)
def test_axes_and_fields_that_are_none_are_named(add, arguments, words):
    builder, _ = pair()
    with pytest.raises((ModelError, ArgumentTypeError), match=words):
        getattr(builder, f"add_joint_{add}")(0, 1, **arguments)


def test_rods_of_another_length_are_refused():
    builder, _ = pair()
    builder.add_joint_distance(0, 1, min_distance=0.7, max_distance=0.7)
    with pytest.raises(ModelError, match=r"a rod of 0\.7 m, starts broken: its ends are 0\.5 m apart"):
        builder.finalize(device="cpu")


def test_bodies_that_nothing_moves_may_have_joints():
    builder = ModelBuilder()
    for x in (0.0, 1.0):
        builder.add_body((x, 0, 0, 0, 0, 0, 1), mass=0.0)
    builder.add_joint_fixed(0, 1)
    builder.add_joint_revolute(-1, 0, target_ke=3.0, limit_lower=-1, limit_upper=1)
    model = builder.finalize(device="cpu")
    solver, state = SolverBodies(model), model.state()
    solver.step(state, state, dt=0.01)
    assert np.array_equal(state.body_q.numpy(), model.body_q.numpy())
