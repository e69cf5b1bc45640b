"""The wave that several processes share: two of them agree with one, field and gradient."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


@pytest.mark.cpu(reason="memory that MPI sends from")
@pytest.mark.parametrize("ranks", (1, 2))
def test_processes_agree_with_one(ranks):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if RUN is None:
        pytest.skip("no mpiexec: pip install mpich")
    program = [sys.executable, ROOT / "examples" / "wave_mpi.py", "--size", "40", "--steps", "12"]
    command = [RUN, "-n", str(ranks), *program]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=200, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{ranks} processes: fields and gradients of 12 steps equal those of one process")
