"""The squashed ball: it gives way, keeps its volume and comes back; its mesh is a ball."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.solvers import soft

EXAMPLE = "soft_squash"


def test_the_mesh_fills_a_ball(example):
    points, tets = example.ball(12)
    volumes = soft.volumes(points, tets)
    assert volumes.min() > 0.0
    assert volumes.sum() == pytest.approx(4.0 / 3.0 * np.pi * example.RADIUS**3, rel=0.02)
    corners = np.unique(soft.surface(tets))
    np.testing.assert_allclose(np.linalg.norm(points[corners], axis=1), example.RADIUS, rtol=1e-12)


def test_a_ball_is_squashed_and_comes_back(example, tmp_path):
    files = {"--output": tmp_path / "s.usdc", "--picture": tmp_path / "s.png"}
    options = {"--cells": 4, "--seconds": 2.0, "--device": example.wp.get_device()}
    result = example.main([str(part) for pair in {**files, **options}.items() for part in pair])
    example.check(result)
    stage = Usd.Stage.Open(str(files["--output"]))
    [ball] = [p for p in stage.Traverse() if p.GetName() == "ball"]
    heights = [np.ptp(np.array(UsdGeom.Mesh(ball).GetPointsAttr().Get(float(t)))[:, 1]) for t in (0, 30, 120)]
    np.testing.assert_allclose(heights, result.height[[0, 30, 120]], atol=1e-6)
    assert files["--picture"].stat().st_size > 10_000


def test_the_default_ball_stays_finite(example):
    """Its smallest tetrahedra, of a cubic centimetre, have the largest numbers of all examples."""
    builder, plate = example.build(10)
    model = builder.finalize(example.wp.get_device())
    solver, state, control = example.SolverXPBD(model, 20, damping=0.2), model.state(), model.control()
    for frame in range(4):
        control.set_shape(plate, velocity=(0.0, example.speed_at(frame / 60), 0.0))
        solver.step(state, state, control, None, 1.0 / 60.0)
        control.advance(1.0 / 60.0)
    assert np.isfinite(state.particle_q.numpy()).all()
    assert solver.statistics(state).volume_ratio.min() > 0.7


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--substeps", "0"])
    assert "is not above 0" in capsys.readouterr().err
