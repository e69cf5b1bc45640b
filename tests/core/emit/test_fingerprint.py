"""The cache of machine code does not outlive the compiler that filled it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import warpsim
from warpsim.core.emit.fingerprint import PARTS, fingerprint

PACKAGE = Path(warpsim.__file__).parent
PROGRAM = """
import numpy as np, warpsim as wp
@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]
x = wp.ones(4, dtype=float)
wp.launch(double, 4, inputs=[x])
"""


def test_every_part_exists_and_counts(tmp_path):
    for part in PARTS:
        (tmp_path / part).mkdir()
        assert (PACKAGE / "core" / part).is_dir()
    (tmp_path / "compile.py").write_text("")
    seen = set()
    for path in ("compile.py", *(f"{part}/inner.py" for part in PARTS)):
        (tmp_path / path).write_text("x = 1\n")
        fingerprint.cache_clear()
        seen.add(fingerprint(tmp_path))
    os.utime(tmp_path / "emit" / "inner.py", ns=(1, 1))  # the same length, at another time
    fingerprint.cache_clear()
    seen.add(fingerprint(tmp_path))
    assert len(seen) == len(PARTS) + 2


def test_a_changed_compiler_compiles_again(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "warpsim", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "program.py").write_text(PROGRAM)
    cache = tmp_path / "cache"

    def entries() -> int:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "WARPSIM_CACHE_PATH": str(cache)}
        subprocess.run([sys.executable, str(tmp_path / "program.py")], env=environment, check=True)
        return len(list(cache.iterdir()))

    first = entries()
    assert entries() == first
    with open(tmp_path / "warpsim" / "core" / "emit" / "lower.py", "a") as file:
        file.write("\n# changed\n")
    assert entries() > first
