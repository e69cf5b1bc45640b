"""The wave example: conserved quantities, wave speed, an exact mode, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "wave"


def test_a_second_of_rings(run, example, tmp_path):
    result = run("--seconds", 1.0)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Mesh.Get(stage, "/World/water")
    assert water.GetPointsAttr().GetTimeSamples() == list(range(31))
    assert stage.GetEndTimeCode() == 30.0 and len(result.time) == 31
    first = np.array(water.GetPointsAttr().Get(0))
    assert abs(first[:, 1].max() - example.DEPTH - example.HEIGHT) < 0.01
    assert np.array(water.GetNormalsAttr().Get(0))[:, 1].min() > 0.0
    picture = imread(tmp_path / "out.png")
    assert (picture[..., 2] > 1.2 * picture[..., 0]).mean() > 0.05


def test_a_standing_mode_swings_at_its_exact_frequency(example):
    """cos(k x) cos(l z) between reflecting walls: sin(w dt / 2) is known for every grid."""
    cells, cfl, steps = 32, 0.5, 200
    phase = np.pi * (np.arange(cells) + 0.5) / cells
    mode = np.cos(2.0 * phase)[:, None] * np.cos(3.0 * phase)[None, :]
    inner = np.sin(np.pi / cells) ** 2 + np.sin(1.5 * np.pi / cells) ** 2
    omega = 2.0 * np.arcsin(cfl * np.sqrt(inner))
    heights = [example.wp.array(mode.astype(np.float32), dtype=float) for _ in range(2)]
    states = [mode]
    for _ in range(steps):
        heights = example.advance(*heights, 1, cfl)
        states.append(heights[1].numpy().copy())
    for n in (1, 50, 127, steps):
        amplitude = np.cos(omega * (n + 0.5)) / np.cos(0.5 * omega)  # both first steps are the mode
        np.testing.assert_allclose(states[n], amplitude * mode, atol=2e-5)


def test_energy_is_that_of_the_mode(example):
    rng = np.random.default_rng(0)
    before, now = rng.standard_normal((2, 9, 9))
    slopes = 0.0
    for i in range(9):
        for j in range(9):
            if i < 8:
                slopes += (before[i + 1, j] - before[i, j]) * (now[i + 1, j] - now[i, j])
            if j < 8:
                slopes += (before[i, j + 1] - before[i, j]) * (now[i, j + 1] - now[i, j])
    expected = 0.5 * ((now - before) ** 2).sum() + 0.5 * 0.3**2 * slopes
    np.testing.assert_allclose(example.energy(before, now, 0.3), expected)


def test_the_grid_faces_up_and_covers_the_pool(example):
    x, z, triangles = example.grid(5)
    points = np.stack([x, 0.0 * x, z], axis=-1).reshape(-1, 3)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    assert (area[:, 1] > 0.0).all()
    np.testing.assert_allclose(area[:, 1].sum(), (0.8 * example.SIDE) ** 2)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mean", 0.01, "mean height drifted"),
        ("energy", 0.9, "energy changed"),
        ("reach", 0.0, "the front is"),
    ],
)
def test_the_check_catches(example, field, value, message):
    time = np.array([0.0, 0.1])
    good = {
        "time": time,
        "mean": np.zeros(2),
        "energy": np.ones(2),
        "reach": example.SPEED * time + 3.03 * example.WIDTH,
    }
    example.check(example.Result(**good))
    good[field] = np.array([good[field][0], value])
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**good))


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--steps", 1), "unstable: c dt / dx = 1.20"), (("--cells", 1), "is not above 1")],
)
def test_refusals(run, tmp_path, capsys, options, message):
    with pytest.raises(SystemExit):
        run(*options)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
