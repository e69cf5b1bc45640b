"""The aggregation example: values and slopes against all pairs in float64, its picture, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread

EXAMPLE = "radius_aggregation"


def run(example, folder, *options):
    files = ["--picture", str(folder / "points.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def all_pairs(queries, cloud, features, target, radius, sigma):
    """Results, loss and slopes (of queries, cloud, features) in float64, by hand."""
    q, c, f, t = (a.astype(np.float64) for a in (queries, cloud, features, target))
    d = q[:, None] - c[None]
    distance = np.linalg.norm(d, axis=-1)
    w = np.where(distance <= radius, np.exp(-distance / sigma), 0.0)
    total = w.sum(axis=1, keepdims=True) + 1.0e-8
    out = w @ f / total
    d_out = 2.0 * (out - t) / out.size
    d_w = (d_out @ f.T - (d_out * out).sum(axis=1, keepdims=True)) / total
    d_pair = (d_w * w * -1.0 / sigma / np.maximum(distance, 1.0e-12))[..., None] * d
    return out, ((out - t) ** 2).mean(), (d_pair.sum(axis=1), -d_pair.sum(axis=0), (w / total).T @ d_out)


@pytest.mark.parametrize("radius", (0.2, 0.4, 5.0))
def test_values_and_slopes_are_those_of_all_pairs(example, radius):
    inputs = example.data(700, 6)
    out, loss, slopes = example.on_grid(*inputs, radius, 0.1, None)
    expected, expected_loss, expected_slopes = all_pairs(*inputs, radius, 0.1)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    for found, known in zip(slopes, expected_slopes, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-5 * np.abs(known).max())


def test_a_small_run(example, tmp_path):
    result = run(example, tmp_path, "--points", 6000, "--side", 8, "--radius", 0.3)
    example.check(result)
    picture = imread(tmp_path / "points.png")[..., :3]
    red, blue = ((picture[..., k] - picture[..., 2 - k] > 0.2).mean() for k in (0, 2))
    assert red > 0.02 and blue > 0.02


@pytest.mark.cpu(reason="tensors of the CPU build of PyTorch")
def test_the_operator_agrees_with_tensors_and_tells_their_ratio(example, capsys):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    found = example.differences(example.data(2000, 8), 0.3, 0.1)
    assert len(found) == 4 and max(found.values()) < 1.0e-4
    assert float(capsys.readouterr().out.rpartition("ratio ")[2]) > 0.0


def test_the_check_catches(example):
    example.check(example.Result(0.3, 0.1, None))
    with pytest.raises(AssertionError, match="is left"):
        example.check(example.Result(0.3, 0.2, None))
    with pytest.raises(AssertionError, match="values differ"):
        example.check(example.Result(0.3, 0.1, {"values": 0.01}))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--radius", 0.0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
