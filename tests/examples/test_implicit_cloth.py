"""The cloth by implicit Euler: Newton's method ends, its gradient is that of differences, its files are there."""

from argparse import Namespace

import numpy as np
from pxr import Usd, UsdGeom

EXAMPLE = "implicit_cloth"


def test_the_gradient_is_that_of_differences(example, tmp_path):
    files = {"--output": tmp_path / "c.usdc", "--picture": tmp_path / "c.png"}
    options = {"--cells": 3, "--seconds": 0.1}
    exact, difference = example.main([str(part) for pair in {**files, **options}.items() for part in pair])
    example.check((exact, difference))
    assert abs(exact - difference) < 1e-6 * abs(exact)
    stage = Usd.Stage.Open(str(files["--output"]))
    [cloth] = [p for p in stage.Traverse() if p.GetName() == "cloth"]
    points = np.array(UsdGeom.Mesh(cloth).GetPointsAttr().Get(6.0))
    assert points.shape == (16, 3) and points[-1, 1] < 1.38
    assert (points[[0, 3], 1] == np.float32(1.4)).all()  # held
    assert files["--picture"].stat().st_size > 10_000


def test_the_residual_vanishes_and_the_stiffness_is_its_derivative(example):
    cloth = example.Cloth(Namespace(cells=3, fps=60))
    x, v = (example.wp.array(a, dtype=example.wp.vec3d) for a in (cloth.start, 0.1 * cloth.start))
    new, _ = cloth.step(x, v)
    assert np.abs(cloth.linearize(new, x, v, -np.inf)[0].numpy()).max() < 1e-9
    dense = example.sparse.bsr_to_scipy(cloth.stiffness, copy=True).toarray()
    direction, step = np.random.default_rng(0).standard_normal(new.numpy().shape), 1e-6
    direction[[0, 3]] = 0.0
    up, down = (
        cloth.linearize(example.wp.array(new.numpy() + s * direction, dtype=example.wp.vec3d), x, v, 0.0)[0].numpy()
        for s in (step, -step)
    )
    np.testing.assert_allclose(dense @ direction.ravel(), (up - down).ravel() / (2.0 * step), rtol=1e-5, atol=1e-5)
