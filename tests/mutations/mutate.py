"""Run tests against the package with a fault in it: `python tests/mutations/mutate.py [PART OF A NAME ...]`.

Each fault of `faults.py` is put into a copy of the package in a temporary folder, and every test that is named there is
to fail. `--all TEST ...` asks other tests instead. Prints a line for each, and ends with 1 if one noticed nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from faults import FAULTS, Fault

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
PACKAGE = ROOT / "warpsim"
SECONDS = 900


def changed(fault: Fault) -> str:
    """The text of the file with the fault. Raises `ValueError` unless the place is there once."""
    text = (PACKAGE / fault.file).read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.name}: {text.count(fault.old)} places in {fault.file}\nexpected: one")
    return text.replace(fault.old, fault.new)


@contextmanager
def package_with(fault: Fault | None) -> Iterator[Path]:
    """A folder that holds a copy of the package with the fault, and a kernel cache of its own."""
    with tempfile.TemporaryDirectory(prefix="warpsim-fault-") as name:
        folder = Path(name)
        shutil.copytree(PACKAGE, folder / "warpsim", ignore=shutil.ignore_patterns("__pycache__"))
        if fault is not None:
            (folder / "warpsim" / fault.file).write_text(changed(fault), encoding="utf-8")
        yield folder


def run(folder: Path, test: str, tests: Path = TESTS) -> int:
    """The exit code of a test against the package in a folder: 0 for no failure, 1 for one."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--assembly=off", "-c"]
    command += [str(tests.parent / "pyproject.toml"), "--rootdir", str(tests.parent), str(tests / test)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "WARPSIM_CACHE_PATH": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return 1  # a fault may keep a loop from ending
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{test} did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.returncode


def is_noticed(fault: Fault | None, test: str, tests: Path = TESTS) -> bool:
    """Whether a test fails with a fault in the package."""
    with package_with(fault) as folder:
        return run(folder, test, tests) == 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of faults; none: all")
    parser.add_argument("--all", nargs="+", default=[], metavar="TEST", help="not the tests that faults name")
    parser.add_argument("--tests", type=Path, default=TESTS, help="the folder of the tests, if not this one")
    options = parser.parse_args(arguments)
    unnoticed = 0
    for fault in FAULTS:
        if options.names and not any(part in fault.name for part in options.names):
            continue
        for test in options.all or fault.noticed_by:
            began = time.perf_counter()
            noticed = is_noticed(fault, test, options.tests)
            unnoticed += not noticed
            word, seconds = "noticed" if noticed else "UNNOTICED", time.perf_counter() - began
            print(f"{word:9} {seconds:6.1f} s  {test}: {fault.name}")
            sys.stdout.flush()
    return min(1, unnoticed)


if __name__ == "__main__":
    sys.exit(main())
