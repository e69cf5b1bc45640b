"""Grids that warpsim writes, as `nanovdb_validate` of the format's own tools sees them (Debian: libnanovdb-tools).

The tool ends with status 0 also for a grid that failed, so its words are read.  Version 10 of the Debian package
knows the format up to 32.4: neither index grids (`onindex` came with 32.6) nor vectors of 4.
"""

import re
import shutil
import subprocess

import numpy as np
import pytest

from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.file import read, write

TOOL = shutil.which("nanovdb_validate")
pytestmark = pytest.mark.skipif(TOOL is None, reason="nanovdb_validate (Debian: libnanovdb-tools) is not installed")

BALL = np.linalg.norm(np.mgrid[-9:10, -9:10, -9:10], axis=0) - 7.0
SPOTS = np.random.default_rng(2).integers(-5000, 5000, (20, 3))


def verdicts(path):
    """The tool's word for each grid of a file: name and "passed" or what it said."""
    done = subprocess.run([TOOL, "-v", str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r'Grid named "([^"]*)": (\w+)', done.stdout)


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
@pytest.mark.parametrize("kind", ["float", "double", "int16", "int32", "int64", "uint32", "vec3f", "vec3d"])
def test_values(tmp_path, kind, codec):
    if codec == "blosc":
        pytest.importorskip("blosc")
    array = BALL if not kind.startswith("vec") else np.stack([BALL, BALL, -BALL], axis=3)
    array = array.astype("f8") if kind[0] in "fdv" else np.abs(array * 10).astype("i8")
    grid = from_dense(array, (-9, 100, 4090), type=kind, name=kind, voxel_size=0.1, translation=(1, 2, 3))
    write(tmp_path / "a.nvdb", grid, codec)
    assert verdicts(tmp_path / "a.nvdb") == [(kind, "passed")]
    assert np.array_equal(read(tmp_path / "a.nvdb")[0].buffer, grid.buffer)


@pytest.mark.parametrize("version", [(32, 3, 3), (32, 4, 2), (32, 6, 0)], ids=str)
def test_several_grids(tmp_path, version):
    grids = [
        from_dense(BALL, background=2.0, grid_class="level_set", name="ball", version=version),
        from_voxels(SPOTS, np.arange(20.0), grid_class="fog", name="spots", version=version),
        from_tiles(SPOTS, background=(1, 2, 3), type="vec3f", grid_class="staggered", name="wind", version=version),
        from_voxels(SPOTS, type="mask", grid_class="topology", name="where", version=version),
        from_dense(np.zeros((2, 2, 2), "f4"), name="nothing", version=version),
    ]
    write(tmp_path / "a.nvdb", grids, "zip", numbered=False)
    assert verdicts(tmp_path / "a.nvdb") == [(name, "passed") for name in ("ball", "spots", "wind", "where", "nothing")]


def test_the_tool_sees_damage(tmp_path):
    """So that "passed" above means something."""
    write(tmp_path / "a.nvdb", from_dense(BALL, name="ball"))
    data = bytearray((tmp_path / "a.nvdb").read_bytes())
    data[16 + 176 + 5 + 672 + 64 + 28] ^= 1  # the background value
    (tmp_path / "a.nvdb").write_bytes(data)
    assert verdicts(tmp_path / "a.nvdb") == [("ball", "failed")]
