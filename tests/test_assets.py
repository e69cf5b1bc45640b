"""The committed assets are what their generator makes, small, and fit for cloth."""

import importlib.util
from pathlib import Path

import numpy as np
from pxr import Sdf

from warpsim.usd import read_mesh

ASSETS = Path(__file__).resolve().parents[1] / "assets"


def load_generator():
    spec = importlib.util.spec_from_file_location("make_assets", ASSETS / "make_assets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generator_reproduces_every_committed_file(tmp_path):
    written = load_generator().main(["--folder", str(tmp_path)])
    committed = sorted(path.name for path in ASSETS.iterdir() if path.suffix in (".usda", ".usd"))
    assert sorted(path.name for path in written) == committed
    for path in written:
        made, kept = (Sdf.Layer.FindOrOpen(str(p)) for p in (path, ASSETS / path.name))
        assert made.ExportToString() == kept.ExportToString()
        assert kept.customLayerData["license"] == "Apache-2.0"


def test_assets_are_small():
    for path in ASSETS.iterdir():
        assert path.is_dir() or path.stat().st_size < 500_000, path.name


def test_the_sheet_is_a_flat_square_that_faces_up():
    mesh = read_mesh(ASSETS / "cloth_sheet.usda")
    assert mesh.points.shape == (65 * 65, 3) and mesh.triangles.shape == (2 * 64 * 64, 3)
    np.testing.assert_array_equal(mesh.points.min(0), [-0.5, 0.0, -0.5])
    np.testing.assert_array_equal(mesh.points.max(0), [0.5, 0.0, 0.5])
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    np.testing.assert_allclose(area, [[0.0, 0.5 / 64**2, 0.0]] * len(area), rtol=1e-6)


def test_the_sheet_is_as_stiff_to_the_left_as_to_the_right():
    """Mirrored left to right its edges are the same edges, so cloth of it has no preferred side."""
    mesh = read_mesh(ASSETS / "cloth_sheet.usda")
    ends = mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    middles = mesh.points[ends].mean(axis=1)
    rising = np.diff(mesh.points[ends], axis=1)[:, 0]
    slope = np.sign(rising[:, 0] * rising[:, 2])
    assert (slope > 0).sum() == (slope < 0).sum()
    cells = {tuple(m) for m in np.round(middles[slope > 0] * 128).astype(int)}
    assert all((-x, y, z) not in cells for x, y, z in cells)


def test_the_ring_is_closed_has_one_hole_and_stands_on_the_ground():
    mesh = read_mesh(ASSETS / "ring.usda")
    sides = mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).tolist()
    directed = set(map(tuple, sides))
    assert len(directed) == len(sides) and all((q, p) in directed for p, q in directed)
    assert len(mesh.points) - len(sides) // 2 + len(mesh.triangles) == 0  # as on a torus
    assert 0.0 <= mesh.points[:, 1].min() < 0.01 and 0.58 < mesh.points[:, 1].max() < 0.62
    a, b, c = (mesh.points[mesh.triangles[:, k]].astype(float) for k in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0.0
