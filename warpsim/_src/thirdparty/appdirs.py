"""Folders of a platform for the files of programs, under the names of the package `appdirs`, which Newton reads."""

from __future__ import annotations

import sys
from pathlib import Path

from ...core.emit.disk.cache import platform_cache_directory


def user_cache_dir(
    appname: str | None = None, appauthor: str | bool | None = None, version: str | None = None, opinion: bool = True
) -> str:
    """The user's folder for what a program may make again. It need not exist.

    On Windows it lies below a folder of the author (the program's name if there is none; none for False) and is called
    `Cache`, which `opinion=False` leaves away. Raises `RuntimeError` for a user without a home.
    """
    parts = [] if appname is None else [appname]
    if sys.platform == "win32" and appname is not None:
        author = appname if appauthor is None else appauthor
        parts = [*([str(author)] if author else []), appname, *(["Cache"] if opinion else [])]
    if appname is not None and version is not None:
        parts.append(version)
    return str(Path(platform_cache_directory(), *parts))
