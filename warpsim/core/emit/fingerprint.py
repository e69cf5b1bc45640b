"""A fingerprint of the compiler: machine code that another version of its files made is not taken for its own."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

PARTS = ("emit", "ir", "ops", "passes", "types")
"""The folders that decide the code of a program, beside its text."""


@cache
def fingerprint(core: Path = Path(__file__).parents[1]) -> str:
    """Names, sizes and times of the compiler's files (1 ms; their contents would take five times as long)."""
    paths = [core / "compile.py"]
    for part in PARTS:
        paths += [Path(folder, name) for folder, _, names in os.walk(core / part) for name in names]
    sources = sorted(path for path in paths if path.suffix in (".py", ".ll"))
    return "\n".join(f"{path.relative_to(core)} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sources)
