"""Simulations that several processes share: two of them agree with one, grains also when they change hands."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
pytestmark = pytest.mark.cpu(reason="memory that MPI sends from")


def run(ranks, name, *options):
    """Start an example on so many ranks."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if RUN is None:
        pytest.skip("no mpiexec: pip install mpich")
    command = [RUN, "-n", str(ranks), sys.executable, str(ROOT / "examples" / f"{name}.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False)


@pytest.mark.parametrize("ranks", (1, 2))
def test_a_wave(ranks):
    done = run(ranks, "wave_mpi", "--size", "40", "--steps", "12")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{ranks} processes: fields and gradients of 12 steps equal those of one process")


def test_grains():
    done = run(2, "grains_mpi", "--size", "20", "--steps", "30")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 processes: 720 grains after 30 steps within ")
    assert int(re.search(r"(\d+) grains changed hands", done.stdout)[1]) > 0


def test_slabs_thinner_than_the_halo_are_refused():
    done = run(2, "grains_mpi", "--size", "8", "--steps", "1")
    assert done.returncode and "help: fewer processes, or a longer box" in done.stderr


@pytest.mark.parametrize("name", ("wave_mpi", "grains_mpi"))
def test_a_missing_mpi_is_named(name):
    program = f"import runpy, sys; sys.modules['mpi4py'] = None; runpy.run_path('examples/{name}.py')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode and "Traceback" not in done.stderr
    assert done.stderr.endswith("help: pip install mpi4py mpich\n")
