"""Pendulums on two devices and in two processes: the same numbers, and the truth."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.cpu(reason="JAX on the CPU")
pytest.importorskip("jax", reason="JAX is not installed")


def started(folder, *options):
    command = [sys.executable, ROOT / "examples" / "pendulums_jax.py", "--pendulums", "256", *options]
    return subprocess.Popen(
        [str(part) for part in command], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def output(run):
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    return out


def numbers(out):
    """Length, friction and loss that a run found."""
    return [float(n) for n in re.search(r"length ([\d.]+) m, friction ([\d.]+) 1/s, loss ([\d.]+)", out).groups()]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_processes_agree_with_two_devices_and_with_the_truth(tmp_path):
    found = numbers(output(started(tmp_path, "--devices", "2")))
    assert found == [pytest.approx(0.8, abs=0.03), pytest.approx(0.3, abs=0.06), pytest.approx(0.05**2, rel=0.2)]
    assert imread(tmp_path / "pendulums_jax.png").std() > 0.05
    shared = ("--processes", "2", "--coordinator", f"127.0.0.1:{free_port()}", "--process")
    runs = [started(tmp_path, *shared, str(k)) for k in range(2)]
    first, second = (output(run) for run in runs)
    assert numbers(first) == pytest.approx(found, rel=0.01) and "round" not in second


def test_shares_must_be_whole(tmp_path):
    run = started(tmp_path, "--devices", "3")
    assert "--pendulums must be a multiple of the devices" in run.communicate(timeout=100)[1]
