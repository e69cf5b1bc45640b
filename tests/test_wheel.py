"""The wheel, outside of the repository: it builds, its description is sound, and its examples run.

By day a stage of `.ci/run` does the same, in environments of their own.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command, cwd, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
def test_the_wheel_runs_without_the_repository(tmp_path):
    for package in ("build", "twine", "hatchling"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[dev]'")
    run("-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,), (source,) = (list((tmp_path / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    run("-m", "twine", "check", "--strict", wheel, source, cwd=tmp_path)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
        [metadata] = [name for name in packed.namelist() if name.endswith("dist-info/METADATA")]
        told = packed.read(metadata).decode()
    assert {"License-File: LICENSE", "License-File: warpsim/viewer/page/three.LICENSE"} <= set(told.split("\n"))
    assert (tmp_path / "installed" / "warpsim" / "py.typed").exists()
    assert not (tmp_path / "installed" / "tests").exists()
    here = {"PYTHONPATH": str(tmp_path / "installed"), "WARPSIM_CACHE_PATH": str(tmp_path / "cache")}
    place = run("-c", "import warpsim; print(warpsim.__file__)", cwd=tmp_path, **here)
    assert Path(place.strip()).is_relative_to(tmp_path)
    assert "cloth_drop" in run("-m", "warpsim", "run", cwd=tmp_path, **here)
    files = ("--output", "out.usdc", "--picture", "out.png")
    run("-m", "warpsim", "run", "cloth_drop", "--seconds", "0.1", *files, cwd=tmp_path, **here)
    assert (tmp_path / "out.usdc").stat().st_size > 1000 and (tmp_path / "out.png").stat().st_size > 1000
