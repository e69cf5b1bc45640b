"""The ray marching example: depths and normals against formulas, its files, volumes of other tools, refusals."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from warpsim.errors import VolumeFormatError

EXAMPLE = "raymarch"
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
CENTER, RADIUS, VOXEL = np.array([2.0, 3.0, -1.0]), 0.8, 0.04


def run(example, folder, *options):
    files = ["--picture", str(folder / "out.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def ball(example, folder, sign=1.0):
    """A ball as a dense signed distance, away from the origin."""
    low = CENTER - 1.2 * RADIUS
    axes = [a + VOXEL * np.arange(round(2.4 * RADIUS / VOXEL) + 1) for a in low]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    field = sign * (np.linalg.norm(points - CENTER, axis=-1) - RADIUS)
    volume = example.wp.Volume.load_from_numpy(field.astype(np.float32), tuple(low), VOXEL, sign * 0.2 * RADIUS)
    volume.save_to_nvdb(folder / "ball.nvdb")
    return folder / "ball.nvdb"


def rays(result):
    """Unit directions (h, w, 3) of the rays that `depth` belongs to, one per pixel."""
    height, width = result.depth.shape
    y, x = np.mgrid[:height, :width] + 0.5
    slopes = np.stack([2.0 * x - width, height - 2.0 * y, np.full(x.shape, float(height))], axis=-1) / height
    directions = slopes @ result.axes
    return directions / np.linalg.norm(directions, axis=-1, keepdims=True)


def test_depths_of_a_ball_are_those_of_its_equation(example, tmp_path):
    result = run(example, tmp_path, "--volume", ball(example, tmp_path), "--height", 60, "--samples", 1)
    example.check(result)
    ray, away = rays(result), result.eye - CENTER
    along = ray @ away
    inner = along**2 - away @ away + RADIUS**2
    exact = -along - np.sqrt(np.maximum(inner, 0.0))
    hit = result.depth > 0.0
    np.testing.assert_array_equal(hit[np.abs(inner) > 0.1], inner[np.abs(inner) > 0.1] > 0.0)
    assert hit.sum() > 500
    clear = hit & (inner > 0.1)  # where rays graze, a small error of the distance is a large one along the ray
    np.testing.assert_allclose(result.depth[clear], exact[clear], atol=0.1 * VOXEL)


def test_the_picture_is_bright_where_the_sun_shines_and_dark_in_shadow(example, tmp_path):
    result = run(example, tmp_path, "--volume", ball(example, tmp_path), "--height", 80, "--samples", 1)
    ray, light = rays(result), result.image.mean(axis=-1)
    points = result.eye + ray * result.depth[..., None]
    normals = (points - CENTER) / RADIUS
    hit = result.depth > 0.0
    assert light[hit & (normals @ example.SUN > 0.8)].min() > light[hit & (normals @ example.SUN < 0.0)].max()
    floor = CENTER[1] - RADIUS
    t = (floor - result.eye[1]) / np.where(ray[..., 1] < 0.0, ray[..., 1], -1e9)
    ground = result.eye + ray * t[..., None]
    beside = np.linalg.norm(np.cross(ground - CENTER, example.SUN), axis=-1)  # from the axis of the shadow
    on_floor = ~hit & (ray[..., 1] < -0.1) & (t < 6.0)
    dark, bright = light[on_floor & (beside < 0.85 * RADIUS)], light[on_floor & (beside > 1.3 * RADIUS)]
    assert len(dark) > 5 and len(bright) > 50 and dark.max() < bright.min()


def test_the_default_volume_is_made_written_and_drawn(example, tmp_path):
    result = run(example, tmp_path, "--height", 90, "--samples", 1)
    example.check(result)
    picture = imread(tmp_path / "out.png")
    assert picture.shape[:2] == (90, 126)
    np.testing.assert_allclose(picture[..., :3], result.image, atol=1 / 255)
    volume = example.wp.Volume.load_from_nvdb(tmp_path / "out.nvdb")
    values = volume.to_numpy()
    assert values.min() == pytest.approx(-0.08) and values.max() == pytest.approx(0.08)
    hit = result.depth > 0.0
    points = (result.eye + rays(result) * result.depth[..., None])[hit]
    voxels = np.round(points / example.VOXEL).astype(int) - volume.get_tiles().numpy().reshape(-1, 3).min(axis=0)
    assert np.abs(values[tuple(voxels.T)]).max() < example.VOXEL


def test_the_made_shape_is_a_distance(example):
    """It never grows faster than one moves, so that marching by it cannot pass the surface."""
    wp, rng = example.wp, np.random.default_rng(1)
    points = rng.uniform((-1.0, 0.0, -0.5), (1.0, 1.3, 0.8), (4000, 3))
    steps = rng.standard_normal((4000, 3))
    steps *= 1e-2 / np.linalg.norm(steps, axis=1, keepdims=True)

    @wp.kernel
    def evaluate(p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        out[wp.tid()] = example.shape(p[wp.tid()])

    here, there = wp.zeros(4000, dtype=float), wp.zeros(4000, dtype=float)
    wp.launch(evaluate, 4000, [wp.array(points, dtype=wp.vec3), here])
    wp.launch(evaluate, 4000, [wp.array(points + steps, dtype=wp.vec3), there])
    slope = np.abs(there.numpy() - here.numpy()) / 1e-2
    assert slope.max() < 1.001 and np.median(slope) > 0.3
    assert (here.numpy() < 0.0).mean() > 0.05


def test_the_same_picture_twice(example, tmp_path):
    path = ball(example, tmp_path)
    first, second = (run(example, tmp_path, "--volume", path, "--height", 40) for _ in range(2))
    assert first.image.tobytes() == second.image.tobytes()


@pytest.mark.parametrize("name", ["rocks", "torus"])
def test_volumes_of_other_tools(example, tmp_path, name):
    path = DATA / f"{name}.nvdb"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    result = run(example, tmp_path, "--volume", path, "--height", 60, "--samples", 1)
    example.check(result)
    assert (result.depth > 0.0).mean() > 0.05


def test_the_check_catches_empty_pictures(example, tmp_path):
    grey = np.full((4, 4, 3), 0.5)
    with pytest.raises(AssertionError, match="an empty picture"):
        example.check(example.Result(grey, np.ones((4, 4)), None, None))
    grey[0] = 0.0
    with pytest.raises(AssertionError, match=r"covers 0\.0% of the picture"):
        example.check(example.Result(grey, -np.ones((4, 4)), None, None))


def test_refusals(example, tmp_path, capsys):
    dense = example.wp.Volume.load_from_numpy(np.ones((8, 8, 8), np.float32))
    dense.save_to_nvdb(tmp_path / "fog.nvdb")
    with pytest.raises(SystemExit, match="expected a signed distance"):
        run(example, tmp_path, "--volume", tmp_path / "fog.nvdb")
    with pytest.raises(FileNotFoundError):
        run(example, tmp_path, "--volume", tmp_path / "none.nvdb")
    (tmp_path / "text.nvdb").write_text("dear friend" * 100)
    with pytest.raises(VolumeFormatError):
        run(example, tmp_path, "--volume", tmp_path / "text.nvdb")
    for option in (("--height", 0), ("--elevation", 90)):
        with pytest.raises(SystemExit):
            run(example, tmp_path, *option)
    assert "is not above 0" in capsys.readouterr().err
