"""The cache of machine code does not outlive the compiler that filled it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import warpsim
from warpsim.core.emit.disk.fingerprint import PARTS, fingerprint

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
    assert len(seen) == len(PARTS) + 1


def test_contents_count_and_times_do_not(tmp_path):
    for part in PARTS:
        (tmp_path / part / "inner").mkdir(parents=True)
    source = tmp_path / "emit" / "inner" / "code.ll"

    def of(text: str, time: int) -> str:
        source.write_text(text)
        os.utime(source, ns=(time, time))
        return fingerprint.__wrapped__(tmp_path)

    assert of("x = 1\n", 1) == of("x = 1\n", 2) != of("x = 2\n", 2)


def test_byte_code_in_the_place_of_sources_counts_and_beside_them_does_not(tmp_path):
    for part in PARTS:
        (tmp_path / part / "__pycache__").mkdir(parents=True)
    seen = []
    for path in ("emit/__pycache__/inner.pyc", "emit/inner.pyc", "compile.pyc"):
        (tmp_path / path).write_bytes(b"code")
        seen.append(fingerprint.__wrapped__(tmp_path))
    assert len(set(seen)) == 3
    (tmp_path / "emit" / "__pycache__" / "inner.pyc").write_bytes(b"other")
    assert fingerprint.__wrapped__(tmp_path) == seen[-1]


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
    # A build with fixed times (SOURCE_DATE_EPOCH) of another version, whose files have the same sizes.
    changed = tmp_path / "warpsim" / "core" / "emit" / "lower.py"
    times = os.stat(changed)
    changed.write_text(changed.read_text().replace("One walker", "One Walker", 1))
    os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert os.stat(changed).st_size == times.st_size
    assert entries() > first
