"""Instances in USD: copies of shapes that move and turn, read back as they were given, and refusals."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.plot import Surface, copies, sphere
from warpsim.usd import UsdError, UsdWriter
from warpsim.viewer import Animation
from warpsim.viewer.pack import frame_bytes

SHAPES = [(s.points, s.triangles, s.color) for s in (sphere((0.0, 0.0, 0.0), r, rings=3) for r in (1.0, 2.0))]
KINDS = np.array([0, 1, 0, 1, 1])


def motion(seed):
    """Positions, rotations, sizes, velocities and spins of five copies."""
    rng = np.random.default_rng(seed)
    turns = rng.normal(size=(5, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    return rng.normal(size=(5, 3)), turns, rng.uniform(0.1, 1.0, 5), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))


def test_copies_move_and_turn_as_they_were_given(tmp_path):
    with UsdWriter(tmp_path / "copies.usdc", fps=10) as usd:
        for frame in range(3):
            usd.frame()
            q, turns, sizes, v, w = motion(frame)
            usd.instances("grains", SHAPES, q, 3.0 * turns, sizes, kinds=KINDS, velocities=v, spins=w)
    stage = Usd.Stage.Open(str(tmp_path / "copies.usdc"))
    instancer = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    assert len(instancer.GetPrototypesRel().GetTargets()) == 2
    np.testing.assert_array_equal(instancer.GetProtoIndicesAttr().Get(), KINDS)
    for frame in range(3):
        q, turns, sizes, v, w = motion(frame)
        np.testing.assert_allclose(instancer.GetPositionsAttr().Get(frame), q, rtol=1e-6)
        found = np.array([[*o.imaginary, o.real] for o in instancer.GetOrientationsAttr().Get(frame)], float)
        np.testing.assert_allclose(found, turns, atol=2e-3)
        np.testing.assert_allclose(np.array(instancer.GetScalesAttr().Get(frame))[:, 1], sizes, rtol=1e-6)
        np.testing.assert_allclose(instancer.GetVelocitiesAttr().Get(frame), v, rtol=1e-6)
        np.testing.assert_allclose(instancer.GetAngularVelocitiesAttr().Get(frame), np.degrees(w), rtol=1e-5)
        low, high = np.array(instancer.GetExtentAttr().Get(frame))
        reach = (sizes * np.array([1.0, 2.0])[KINDS])[:, None]
        np.testing.assert_allclose([low, high], [(q - reach).min(axis=0), (q + reach).max(axis=0)], rtol=1e-5)


def test_copies_in_pictures_stand_where_those_in_usd_do(tmp_path):
    """The surfaces that are drawn, against the matrices that USD computes for the instances."""
    q, turns, sizes, *_ = motion(7)
    with UsdWriter(tmp_path / "one.usdc") as usd:
        usd.instances("grains", SHAPES, q, turns, sizes, kinds=KINDS)
    stage = Usd.Stage.Open(str(tmp_path / "one.usdc"))
    instancer = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    matrices = np.array(instancer.ComputeInstanceTransformsAtTime(0, 0))
    drawn = copies([Surface(*s) for s in SHAPES], q, turns, sizes, KINDS)
    for number, surface in enumerate(drawn):
        points = np.concatenate(
            [
                np.c_[SHAPES[number][0], np.ones(len(SHAPES[number][0]))] @ matrices[i]
                for i in np.flatnonzero(KINDS == number)
            ]
        )
        np.testing.assert_allclose(surface.points, points[:, :3], atol=6e-3)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kinds": [0, 1, 2, 0, 0]}, r"kinds: found 0 to 2, expected 0 to 1"),
        ({"kinds": [0.5] * 5}, r"kinds: found float64 of shape \(5,\), expected integers \(5,\)"),
        ({"rotations": np.zeros((5, 4))}, r"rotations: found a quaternion of zeros"),
        ({"rotations": np.ones((4, 4))}, r"rotations: found shape \(4, 4\), expected \(5, 4\)"),
        ({"sizes": -1.0}, r"sizes"),
        ({"positions": np.full((5, 3), np.nan)}, r"positions"),
    ],
)
def test_what_are_no_copies_is_refused(tmp_path, changes, text):
    q, turns, sizes, *_ = motion(0)
    given = {"positions": q, "rotations": turns, "sizes": sizes, **changes}
    with pytest.raises(UsdError, match=text), UsdWriter(tmp_path / "bad.usdc") as usd:
        usd.instances("grains", SHAPES, **given)


def test_motion_comes_with_every_sample_or_never(tmp_path):
    q, turns, sizes, v, _ = motion(0)
    refused = pytest.raises(UsdError, match="velocities, spins and ids come with every sample")
    with refused, UsdWriter(tmp_path / "bad.usdc") as usd:
        usd.frame()
        usd.instances("grains", SHAPES, q, turns, sizes)
        usd.frame()
        usd.instances("grains", SHAPES, q, turns, sizes, velocities=v)


def stream(frame):
    """Copies that come one by one from none, of which the oldest goes: their ids, kinds and positions."""
    ids = np.arange(max(0, frame - 3), frame)
    return ids, ids % 2, np.stack([1.0 * ids, 0.0 * ids + frame, 0.0 * ids], axis=1)


@pytest.fixture
def poured(tmp_path):
    with UsdWriter(tmp_path / "poured.usdc", fps=10) as usd:
        for frame in range(6):
            usd.frame()
            ids, kinds, q = stream(frame)
            turns = np.tile([0.0, 0.0, 0.6, 0.8], (len(ids), 1))
            usd.instances("grains", SHAPES, q, turns, 0.5, kinds=kinds, velocities=-q, ids=ids)
    return tmp_path / "poured.usdc"


def test_copies_with_ids_come_and_go(poured):
    stage = Usd.Stage.Open(str(poured))
    instancer = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    for frame in range(6):
        ids, kinds, q = stream(frame)
        np.testing.assert_array_equal(instancer.GetIdsAttr().Get(frame), ids)
        np.testing.assert_array_equal(instancer.GetProtoIndicesAttr().Get(frame), kinds)
        np.testing.assert_array_equal(np.reshape(instancer.GetPositionsAttr().Get(frame), (-1, 3)), q)
        np.testing.assert_array_equal(np.reshape(instancer.GetVelocitiesAttr().Get(frame), (-1, 3)), -q)
        assert len(instancer.GetOrientationsAttr().Get(frame)) == len(instancer.GetScalesAttr().Get(frame)) == len(ids)
        assert len(instancer.ComputeInstanceTransformsAtTime(frame, frame)) == len(ids)


def test_the_viewer_shows_copies_that_come_and_go(poured):
    scene = Animation(poured)
    assert len(scene) == 6
    for frame in range(6):
        _, kinds, q = stream(frame)
        for number, body in enumerate(scene.bodies):
            now = scene.moment(body, frame)
            np.testing.assert_allclose(now.points, q[kinds == number])
            assert len(now.turns) == len(now.sizes) == np.count_nonzero(kinds == number)
    low, high = scene.bounds()
    np.testing.assert_allclose(low, [-0.5, 0.5, -1.0], atol=1e-3)  # the larger ones come later
    np.testing.assert_allclose(high, [4.5, 6.0, 1.0], atol=1e-3)
    empty, full = (frame_bytes(scene, scene.bodies, frame) for frame in (0, 5))
    assert len(full) - len(empty) == sum(6 * n + -6 * n % 4 + 8 * n + 12 * n for n in (2, 1))


def test_copies_without_ids_come_and_go_and_change_too(tmp_path):
    """Kinds are written once, and again when they change."""
    counts, kinds = (0, 2, 2, 3, 0, 1), ([], [0, 1], [1, 1], [0, 1, 0], [], [1])
    with UsdWriter(tmp_path / "pile.usdc") as usd:
        for n, which in zip(counts, kinds, strict=True):
            usd.frame()
            turns = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
            usd.instances("pile", SHAPES, np.ones((n, 3)), turns, np.ones(n), kinds=np.array(which, int))
            usd.instances("still", SHAPES, np.ones((2, 3)), np.ones((2, 4)), kinds=[1, 0])
    stage = Usd.Stage.Open(str(tmp_path / "pile.usdc"))
    pile, still = (UsdGeom.PointInstancer.Get(stage, f"/World/{name}") for name in ("pile", "still"))
    for frame, which in enumerate(kinds):
        np.testing.assert_array_equal(pile.GetProtoIndicesAttr().Get(frame), which)
        assert len(pile.ComputeInstanceTransformsAtTime(frame, frame)) == len(which)
        np.testing.assert_array_equal(still.GetProtoIndicesAttr().Get(frame), [1, 0])
    assert still.GetProtoIndicesAttr().GetNumTimeSamples() == 0


def test_ids_come_with_every_sample_or_never(tmp_path):
    q, turns, *_ = motion(0)
    refused = pytest.raises(UsdError, match="velocities, spins and ids come with every sample or never")
    with refused, UsdWriter(tmp_path / "bad.usdc") as usd:
        usd.frame()
        usd.instances("grains", SHAPES, q, turns)
        usd.frame()
        usd.instances("grains", SHAPES, q, turns, ids=range(5))


def test_two_copies_have_not_one_id(tmp_path):
    q, turns, sizes, *_ = motion(0)
    with pytest.raises(UsdError, match="ids: found repeated values"), UsdWriter(tmp_path / "bad.usdc") as usd:
        usd.instances("grains", SHAPES, q, turns, sizes, ids=[0, 1, 2, 2, 3])
