"""The compiler's fingerprint in cache keys: a hash over its files, so that each version has machine code of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PARTS = ("emit", "ir", "ops", "passes", "types")
"""The folders that decide the code of a program, beside its text."""


@cache
def fingerprint(core: Path = Path(__file__).parents[1]) -> str:
    """A digest of the names and contents of the compiler's files.

    Times say nothing: builds that can be repeated (Nix, Guix, Debian, SOURCE_DATE_EPOCH) give all files the same. Nor
    do inodes and times of change, where file systems are images. To read all takes 3 ms.
    """
    digest = hashlib.sha256()
    roots = [str(core / part) for part in PARTS]
    for path in sorted([*(path for root in roots for path in _files(root)), *_compile(core)]):
        with open(path, "rb", buffering=0) as file:
            content = file.readall()
        digest.update(f"{path[len(str(core)) :]} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(folder: str) -> Iterator[str]:
    """Sources, or the byte code in their place; Python keeps its own copies apart."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file():
                yield entry.path
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)


def _compile(core: Path) -> Iterator[str]:
    return (str(path) for path in (core / "compile.py", core / "compile.pyc") if path.exists())
