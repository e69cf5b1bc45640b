"""Fingerprints in cache keys: hashes over files, so that each version has programs and machine code of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PARTS = ("emit", "ir", "ops", "passes", "types")
"""The folders that decide the code of a program, beside its text."""


PACKAGE = Path(__file__).parents[3]


@cache
def fingerprint(core: Path = PACKAGE / "core") -> str:
    """A digest of the files of the compiler's back end and passes, which takes 3 ms to read."""
    roots = [str(core / part) for part in PARTS]
    return _digest(core, [*(path for root in roots for path in _files(root)), *_compile(core)])


@cache
def fingerprint_of(package: Path) -> str:
    """A digest of all files of Python in a package: those of warpsim take 10 to 20 ms."""
    return _digest(package, [path for path in _files(str(package)) if path.endswith((".py", ".pyc"))])


def _digest(root: Path, paths: list[str]) -> str:
    """A digest of the names and contents of files.

    Times say nothing: builds that can be repeated (Nix, Guix, Debian, SOURCE_DATE_EPOCH) give all files the same. Nor
    do inodes and times of change, where file systems are images.
    """
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb", buffering=0) as file:
            content = file.readall()
        digest.update(f"{path[len(str(root)) :]} {len(content)}\n".encode())
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
