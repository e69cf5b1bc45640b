"""The simulated driver keeps the rules that programs on a GPU must live by, and shows when they do not.

Scenarios are in simulator_memory.py and its neighbours; none of them runs in this process.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_simulator import simulator

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
pytestmark = pytest.mark.skipif(bool(simulator.missing()), reason=simulator.missing())

HERE = Path(__file__).resolve().parent

import simulator_cases  # noqa: E402  (needs cuda-bindings)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each scenario."""
    library = simulator.build(tmp_path_factory.mktemp("simulator"), HERE / "simulator_kernels.c")
    command = [sys.executable, str(HERE / "simulator_cases.py"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", simulator_cases.gather())
def test_scenario(outcomes, name):
    assert outcomes[name] == ""
