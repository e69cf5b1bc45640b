"""Logs of animations: arrays as they were, equal ones once, parts of bounded size, and no other calls than those."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import SceneFileError
from warpsim.render import call_log
from warpsim.render.call_log import CallLog
from warpsim.usd import UsdWriter


@pytest.fixture
def log(tmp_path):
    parts = []
    log = CallLog(UsdWriter(tmp_path / "a.usda"), parts.append)
    log.parts = parts
    yield log
    log.abort()


def calls(log):
    log.flush()
    return [call for part in log.parts for call in part]


def test_calls_before_the_first_frame_are_those_of_every_run(log):
    log.sphere("still", (0, 0, 0), 1.0)
    log.frame()
    log.sphere("ball", (0, 0, 0), 1.0)
    assert calls(log) == [("frame", (), {}), ("sphere", ("ball", (0, 0, 0), 1.0), {})]


def test_arrays_are_noted_as_they_are_now(log):
    points = np.zeros((2, 3), np.float32)
    moving = wp.zeros(2, dtype=wp.vec3)
    for step in range(3):
        points[:], _ = step, moving.fill_(wp.vec3(float(step)))
        log.frame()
        log.points("a", points, 0.1, velocities=moving.numpy())
        log.points("b", moving, 0.1)
    rows = [call for call in calls(log) if call[0] == "points"]
    assert [row[1][1].max() for row in rows] == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    assert [row[2]["velocities"].max() for row in rows[::2]] == [0.0, 1.0, 2.0]


def test_equal_arrays_are_held_once_but_zeros_keep_their_signs(log):
    faces, x = np.array([[0, 1, 2]]), np.zeros((3, 3))
    for sign in (1.0, 1.0, -1.0):
        log.frame()
        log.mesh("a", sign * x, faces.copy())
    first, second, third = (call[1] for call in calls(log) if call[0] == "mesh")
    assert first[2] is second[2] is third[2] and first[1] is second[1]
    assert np.signbit(third[1]).all() and not np.signbit(second[1]).any()


def test_parts_are_handed_on_before_they_fill_memory(log, monkeypatch):
    monkeypatch.setattr(call_log, "_ROOM", 1000)
    for step in range(4):
        log.frame()
        log.points("a", np.full((50, 3), step), 0.1)
    assert len(log.parts) >= 3


@pytest.mark.parametrize("call", [("abort", (), {}), ("__init__", (), {}), "frame", ("frame", ()), (1, (), {})])
def test_other_calls_are_refused(log, call):
    with pytest.raises(SceneFileError, match="a part of an animation has the call"):
        log.replay([call])


def test_what_is_no_call_of_an_animation_passes(log):
    assert log.parts == [] and log.close is not None
    with pytest.raises(AttributeError):
        log.nothing  # noqa: B018
