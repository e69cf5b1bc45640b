"""Instances in USD: copies of shapes that move and turn, read back as they were given, and refusals."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.plot import Surface, copies, sphere
from warpsim.usd import UsdError, UsdWriter

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
        points = np.concatenate([np.c_[SHAPES[number][0], np.ones(len(SHAPES[number][0]))] @ matrices[i]
                                 for i in np.flatnonzero(KINDS == number)])  # fmt: skip
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
    refused = pytest.raises(UsdError, match="velocities and spins come with every sample")
    with refused, UsdWriter(tmp_path / "bad.usdc") as usd:
        usd.frame()
        usd.instances("grains", SHAPES, q, turns, sizes)
        usd.frame()
        usd.instances("grains", SHAPES, q, turns, sizes, velocities=v)
