"""`run_pytest`: a run of pytest of its own, for tests of how the suite itself is chosen and run."""

import os
import subprocess
import sys
from pathlib import Path


def run_pytest(*arguments):
    """The finished process, with what it said. What the run around it was told by PYTEST_ADDOPTS does not count."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--assembly=off", *map(str, arguments)]
    settings = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    root = Path(__file__).resolve().parent.parent
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, env=settings)
