"""The simulated driver keeps the rules that programs on a GPU must live by, and shows when they do not.

Scenarios are in simulator_memory.py and its neighbours; none of them runs in this process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_simulator import simulator

from warpsim.core.emit.disk.cache import ObjectCache

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
pytestmark = pytest.mark.skipif(bool(simulator.missing()), reason=simulator.missing())

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[4]

import simulator_cases  # noqa: E402  (needs cuda-bindings)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The driver, with kernels for scenarios in it."""
    return simulator.build(tmp_path_factory.mktemp("simulator"), HERE / "simulator_kernels.c")


@pytest.fixture(scope="module")
def outcomes(library):
    """What became of each scenario."""
    command = [sys.executable, str(HERE / "simulator_cases.py"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", simulator_cases.gather())
def test_scenario(outcomes, name):
    assert outcomes[name] == ""


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
def test_kernels_of_warpsim(library, tmp_path, order):
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WARPSIM_CACHE_PATH": str(cache), "FAKE_CUDA_ORDER": order}
    command = [sys.executable, str(HERE / "simulator_program.py"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "here 123 2\n" in done.stdout and done.stdout.endswith("all is well\n")
    labels = [entry.label for entry in ObjectCache(cache, 1 << 30).entries()]
    images = [name for name in labels if not name.startswith("program of ")]
    assert not [name for name in images if "native" not in name], "images hold addresses of one process"
