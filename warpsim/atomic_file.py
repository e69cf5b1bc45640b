"""`AtomicFile`: a file that appears under its name whole or not at all."""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import stat
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

_NAME = 64  # characters of the target's name in the name of the file beside it
_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class AtomicFile:
    """A file under construction at `path`, beside its target `.STEM.XXXX.partial.EXT`; a `with` block gives the path.

        with AtomicFile(target) as path:
            path.write_bytes(content)

    `commit` gives it the target's name, in place of an older file, once its content is on the disk, so that a power cut
    leaves the one or the other whole; `discard` removes it. Leaving the block does the one or, after an error, the
    other. What is under construction when the program exits or is ended by SIGTERM or SIGHUP is removed, unless the
    program handles these signals itself. SIGKILL leaves it.

    durable: `commit` waits for the disk. Without, which is for many files in a row, a power cut may leave a file that
    is empty or of zeros; the end of the program, whatever the reason, still leaves the old or the new one.
    """

    def __init__(self, target: str | os.PathLike[str], durable: bool = True):
        self._durable, self._is_there = durable, False
        name = os.fspath(target)
        whole = os.path.realpath(name) if os.path.islink(name) else os.path.join(os.getcwd(), name)
        self.target = self.path = Path(whole)  # a link keeps leading to the file, and a path to the folder of now
        kind = _kind_of(whole)
        if kind == stat.S_IFDIR:
            raise IsADirectoryError(f"{str(self.target)!r} is a folder; choose a file name")
        if kind in (stat.S_IFREG, 0):  # a device or a pipe is written as it is
            stem, suffix = os.path.splitext(os.path.basename(name))
            self.path = self.target.with_name(f".{stem[:_NAME]}.{secrets.token_hex(4)}.partial{suffix}")
            self._is_there = True
            _unfinished.add(self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def commit(self) -> None:
        """Give the file its name. Raises OSError where that cannot be, and removes it."""
        try:
            if self.path != self.target:
                if self._durable:
                    _write_through(self.path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
                os.replace(self.path, self.target)
                self._is_there = False
                if self._durable and os.name != "nt":  # Windows opens no folders
                    with suppress(OSError):  # the file has its name, and some file systems do this with no folder
                        _write_through(self.target.parent, os.O_RDONLY)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the file, if it is there."""
        if self._is_there:
            self.path.unlink(missing_ok=True)
            self._is_there = False
        if self.path != self.target:
            _unfinished.discard(self.path)


def _kind_of(path: str) -> int:
    """The kind of a file, as `stat.S_IFREG`; 0 where there is none."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return 0


def _write_through(path: Path, flags: int) -> None:
    """Wait until a file or a folder is on the disk as it is now."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Unfinished:
    """Files to remove where a signal ends the process, and the handlers that do so while there are any."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._process = os.getpid()

    def add(self, path: Path) -> None:
        if self._process != os.getpid():  # a fork: the files are its parent's
            self._paths.clear()
            self._process = os.getpid()
        self._paths.add(path)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)

    def discard(self, path: Path) -> None:
        self._paths.discard(path)
        if not self._paths and threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) == self._end:
                    signal.signal(number, signal.SIG_DFL)

    def remove(self) -> None:
        if self._process == os.getpid():
            for path in list(self._paths):
                path.unlink(missing_ok=True)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


_unfinished = _Unfinished()
atexit.register(_unfinished.remove)
