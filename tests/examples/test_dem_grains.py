"""The grains example: the law of one contact, a collapse, its files, and refusals."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def example():
    """The example as a module, loaded by its file as any user's script is."""
    spec = importlib.util.spec_from_file_location("dem_grains", ROOT / "examples" / "dem_grains.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["dem_grains"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["dem_grains"]


def run(example, folder, *options):
    files = ["--output", str(folder / "grains.usdc"), "--picture", str(folder / "grains.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def test_a_small_column_collapses(example, tmp_path):
    result = run(example, tmp_path, "--grains", 1000, "--seconds", 0.5)
    example.check(result)
    assert result.rows[-1, 1] < 0.5 * result.rows[0, 1], "it came down"
    stage = Usd.Stage.Open(str(tmp_path / "grains.usdc"))
    grains = UsdGeom.Points.Get(stage, "/World/grains")
    assert grains.GetPointsAttr().GetTimeSamples() == list(range(13))
    np.testing.assert_allclose(np.array(grains.GetPointsAttr().Get(12)), result.points)
    np.testing.assert_allclose(np.array(grains.GetWidthsAttr().Get(12)), 2.0 * result.radii, rtol=1e-6)
    picture = imread(tmp_path / "grains.png")[..., :3]
    assert (np.ptp(picture, axis=-1) > 0.2).mean() > 0.05, "grains have colors"


def test_the_column_has_as_many_grains_as_asked_and_none_that_touch(example):
    for count, aspect in ((1000, 0.5), (5000, 3.0)):
        points = example.column(count, aspect)
        assert abs(len(points) / count - 1.0) < 0.15
        near = np.linalg.norm(points[:, None] - points[None, :400], axis=-1)
        near[near == 0.0] = 1.0
        assert near.min() > 2.0 * example.RADIUS * (1.0 + example.SPREAD)
        wide, tall = np.ptp(points[:, 0]), np.ptp(points[:, 1])
        assert abs(tall / (0.5 * wide) / aspect - 1.0) < 0.35


def opened(example, points):
    """Grains without the pipe."""
    grains = example.Grains(points, None)
    grains.pipe.fill_(np.inf)
    return grains


def test_two_grains_bounce_as_a_spring_and_a_dashpot_do(example):
    """Momentum stays; the rebound is that of the damped oscillator, cut off where it would pull."""
    grains = opened(example, np.array([[0.0, 1.0, 0.0], [3.0 * example.RADIUS, 1.0, 0.0]]))
    radius = np.full(2, example.RADIUS, np.float32)
    grains.radius.assign(radius)
    grains.v.assign(np.array([[0.2, 0.0, 0.0], [-0.2, 0.0, 0.0]], np.float32))
    mass = example.DENSITY * 4.0 / 3.0 * np.pi * example.RADIUS**3
    h, gap, speed = example.STEP, example.RADIUS, -0.4  # of the pair
    while gap <= 0.0 or speed < 0.0:
        force = max(-example.STIFFNESS * gap - example.DAMPING * speed, 0.0) if gap < 0.0 else 0.0
        speed += 2.0 * force / mass * h
        gap += speed * h
    for _ in range(600):
        grains.step()
    v = grains.v.numpy().astype(float)
    np.testing.assert_allclose(v[0, 0] + v[1, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(v[1, 0] - v[0, 0], speed, rtol=1e-3)
    np.testing.assert_allclose(v[:, 1], example.GRAVITY * 600 * example.STEP, rtol=1e-4)


def test_friction_slows_a_grain_that_slides_on_the_floor(example):
    grains = opened(example, np.array([[0.0, example.RADIUS, 0.0]]))
    grains.radius.assign(np.array([example.RADIUS], np.float32))
    grains.v.assign(np.array([[0.5, 0.0, 0.0]], np.float32))
    for _ in range(1000):
        grains.step()
    lost = example.FRICTION * example.GRAVITY * 1000 * example.STEP
    np.testing.assert_allclose(grains.v.numpy()[0], (0.5 + lost, 0.0, 0.0), atol=0.01)


@pytest.mark.cpu
def test_the_same_bits_on_any_number_of_threads(example):
    before, seen = get_pool().threads, set()
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        grains = example.Grains(example.column(3000, 1.0), None)
        for _ in range(200):
            grains.step()
        seen.add(grains.x.numpy().tobytes())
    wp.set_num_threads(before)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.full((1, 3), np.nan)}, "not finite"),
        ({"points": np.full((1, 3), -0.01)}, "sank into the floor"),
        ({"rows": np.array([[0.0, 0.1, 0.1, 1.0], [1.0, 0.05, 0.2, 1.1]])}, "energy grew"),
        ({"rows": np.array([[0.0, 0.1, 0.1, 1.0], [1.0, 0.05, 0.11, 0.3]])}, "spread by 0.10 radii"),
    ],
)
def test_the_check_catches(example, change, message):
    rows = np.array([[0.0, 0.1, 0.1, 1.0], [1.0, 0.05, 0.2, 0.3]])
    good = {"points": np.full((1, 3), 0.1), "radii": np.array([0.005]), "rows": rows}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **change}))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--grains", 0)
    assert "must be above zero" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
