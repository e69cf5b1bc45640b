"""`WriteQueue`: files on their way to the disk, written by a thread while the program goes on, in the order of saves.

A file appears after those that were saved before it, and not at all once one of them could not be written: what it
refers to is there. The first error stays until it has been raised.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ...atomic_file import AtomicFile
from .image import PAGE, FileImage

_MOST = 4  # files that may be on their way
_PAST_CACHE: int = getattr(os, "O_DIRECT", 0)


class OpenFile:
    """A new file, open from the start: where it cannot be made is known before anybody goes on."""

    def __init__(self, path: str | os.PathLike[str]):
        self.target = os.fspath(path)
        self._file = AtomicFile(path)
        self._is_new = self._file.path != self._file.target
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        try:
            self._handle = os.open(self._file.path, flags, 0o666)
        except BaseException:
            self._file.discard()
            raise

    def write(self, content: np.ndarray) -> None:
        """Write all bytes, and give the file its name. Raises OSError where that cannot be, and removes it."""
        try:
            try:
                self._write_all(memoryview(content))
            finally:
                os.close(self._handle)
            self._file.commit()
        except BaseException:
            self._file.discard()
            raise

    def forget(self) -> None:
        """What is not to be written leaves nothing."""
        os.close(self._handle)
        self._file.discard()

    def release_signals(self) -> None:
        """Give signals their meaning back, which the main thread alone can do, once all is written."""
        self._file.discard()

    def _write_all(self, content: memoryview) -> None:
        whole = len(content) - len(content) % PAGE
        done = self._write_past_cache(content[:whole]) if self._is_new and whole and _PAST_CACHE else 0
        if 0 < done < len(content):
            os.lseek(self._handle, done, os.SEEK_SET)
        while done < len(content):
            done += os.write(self._handle, content[done:])

    def _write_past_cache(self, content: memoryview) -> int:
        """Write whole pages without a copy in the system's cache; returns how many bytes it took that way."""
        done = 0
        try:
            handle = os.open(self._file.path, os.O_WRONLY | _PAST_CACHE)
            try:
                while done < len(content):
                    done += os.write(handle, content[done:])
            finally:
                os.close(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # which says that it cannot be done
                raise
        return done


class WriteQueue:
    """Files that a thread writes, one after the other."""

    def __init__(self) -> None:
        self._forget()
        atexit.register(self._report)  # the thread has ended by then, with all that it had to do
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Begin without anything, as in a fork: what is on its way there is its parent's."""
        self._thread: ThreadPoolExecutor | None = None
        self._open: deque[tuple[OpenFile, FileImage, Future[None]]] = deque()
        self._last: OpenFile | None = None
        self._failed: tuple[str, Exception] | None = None
        self._lock = threading.RLock()

    def write(self, path: str | os.PathLike[str], image: FileImage, take: Callable[[], None], wait: bool) -> None:
        """Let an image take its contents, and write them: now, or behind the program's back.

        Raises OSError where the file cannot be made, or one before it could not be written.
        """
        with self._lock:
            self._wait(lambda others: wait or image in others or len(others) >= _MOST)
            self._raise()
            file = OpenFile(path)
            try:
                take()
                future = None if wait else self._submit(file, image)
            except BaseException:
                file.forget()
                raise
            if future is None:
                file.write(image.seal())
            else:
                self._open.append((file, image, future))

    def finish(self) -> None:
        """Wait for all files. Raises OSError if one could not be written."""
        with self._lock:
            self.wait()
            self._raise()

    def wait(self) -> None:
        """Wait for all files; errors stay to be raised."""
        with self._lock:
            self._wait(lambda others: True)
            if self._last is not None:
                self._last.release_signals()
                self._last = None

    def _wait(self, is_early: Callable[[list[FileImage]], bool]) -> None:
        """Wait for files, as long as it is too early with images of others on their way."""
        while self._open and (self._open[0][2].done() or is_early([image for _, image, _ in self._open])):
            self._open[0][2].result()
            self._last = self._open.popleft()[0]

    def _raise(self) -> None:
        """Raise the first error, once those behind it are out of the way."""
        if self._failed is None:
            return
        self._wait(lambda others: True)
        (path, error), self._failed = self._failed, None
        stays = "an earlier save had not been waited for, and failed; the file from before it is still there"
        if isinstance(error, OSError):
            raise OSError(error.errno, f"{error.strerror} ({stays})", path) from error
        raise OSError(f"{path!r}: {error} ({stays})") from error

    def _submit(self, file: OpenFile, image: FileImage) -> Future[None] | None:
        """Let the thread write; None at the end of the program, when there are no more threads."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "warpsim saves")
        try:
            return self._thread.submit(self._write, file, image)
        except RuntimeError:
            return None

    def _write(self, file: OpenFile, image: FileImage) -> None:
        if self._failed is not None:
            file.forget()
            return
        try:
            file.write(image.seal())
        except Exception as error:
            self._failed = file.target, error

    def _report(self) -> None:
        """Say at the end of the program what nobody was told."""
        try:
            self.finish()
        except OSError as error:
            print(f"warpsim: the last save failed: {error}", file=sys.stderr)


writes = WriteQueue()
