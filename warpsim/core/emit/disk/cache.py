"""The disk cache of compiled code: a folder of entries under content hashes.

Guarantees: `load` returns exactly the bytes that were stored under that key, or None. Entries
appear whole or not at all, whatever kills the process and however many processes fill one folder.
A folder that is missing, full or read-only costs time and nothing else: the first `OSError` is a warning, later
ones are debug messages. What is loaded is run: so entries can be written by their owner alone, and one that neither the
user nor root owns, that others could have written, or that is no file (a link, a pipe), is not loaded, which is a
warning too. On Windows owners and modes are not looked at.

An entry is one file, `<key>.wscode`, all integers little-endian:

    offset  bytes  field
    0       8      magic "warpsim" and a newline
    8       4      version of this layout
    12      4      bytes of the label, L
    16      8      bytes of the payload, P
    24      32     sha256 of the 24 bytes above, the key, the label and the payload
    56      L      label, UTF-8: what the entry is, for people
    56+L    P      payload
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import stat
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ....config import config
from ....forks import fork_safe

_log = logging.getLogger("warpsim.cache")

_MAGIC = b"warpsim\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIIQ")
_DIGEST_BYTES = hashlib.sha256().digest_size
_LABEL_OFFSET = _HEAD.size + _DIGEST_BYTES
_SUFFIX = ".wscode"
_TEMPORARY_SUFFIX = ".wscode-tmp"
_TEMPORARY_LIFETIME = 3600.0  # [s] a write lasts milliseconds: an older file lost its process
_KEY = re.compile(r"[0-9A-Za-z_-]{1,200}")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SAFELY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
_KEPT_BY_PRUNING = 0.75  # room for new entries, so that not every store has to prune


class CacheEntry(NamedTuple):
    """One stored entry: bytes of its file, time of its last load or store [s since the epoch]."""

    key: str
    label: str
    bytes: int
    last_used: float


class ObjectCache:
    """The entries in `directory`, kept below about `max_bytes`; least recently used ones go first.

    The folder is created by the first `store`. All methods may be called from any thread and any
    process at once. A key is up to 200 letters, digits, `_` and `-`, else `ValueError`: callers
    use the hexadecimal digest of everything that the payload depends on.
    """

    def __init__(self, directory: Path, max_bytes: int):
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self._lock = fork_safe(threading.Lock())
        self._bytes_estimate: int | None = None  # of this folder; other processes add to it too
        self._warned: set[str] = set()

    def load(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None; a damaged or foreign entry is removed."""
        path = self._path(key)
        try:
            with _open_entry(path) as file:
                content = file.read()
                payload = _unpack(key, content)
                _touch(file)
        except FileNotFoundError:
            return None
        except _Distrusted as error:
            self._warn("distrusted", f"{path} {error}: it is not loaded, and made again")
            return None
        except OSError as error:
            _log.debug("cannot read %s: %s", path, error)
            return None
        if payload is None:
            _log.debug("%s is damaged", path)
            _remove(path)
        return payload

    def __contains__(self, key: str) -> bool:
        """Whether there is an entry under `key`, sound or not."""
        return self._path(key).exists()

    def store(self, key: str, payload: bytes, label: str = "") -> None:
        """Keep `payload` under `key`, in place of what was there."""
        path = self._path(key)
        content = _pack(key, payload, label)
        if len(content) > self.max_bytes:
            _log.debug("%s is larger than the cache may be: not stored", label or key)
            return
        unique = f"{key[:32]}-{os.getpid()}-{os.urandom(6).hex()}"
        temporary = path.with_name(unique + _TEMPORARY_SUFFIX)
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                _write(temporary, content)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            self._warn("store", f"compiled code is not kept: cannot store {path}: {error}")
            return
        self._make_room(len(content))

    def entries(self) -> list[CacheEntry]:
        """Every entry, the most recently used first; files that are no entries are left out."""
        entries = []
        for path, status in self._files(_SUFFIX):
            label = _read_label(path)
            if label is not None:
                entries.append(CacheEntry(path.stem, label, status.st_size, status.st_mtime))
        return sorted(entries, key=lambda entry: entry.last_used, reverse=True)

    def size(self) -> int:
        """Bytes of all entries on disk."""
        return sum(status.st_size for _, status in self._files(_SUFFIX))

    def clear(self) -> int:
        """Remove all entries and left-over temporary files; the number of entries removed."""
        with self._lock:
            self._bytes_estimate = None
            for path, _ in self._files(_TEMPORARY_SUFFIX):
                _remove(path)
            return sum(_remove(path) for path, _ in self._files(_SUFFIX))

    def _warn(self, kind: str, message: str) -> None:
        """A warning, once of each kind."""
        _log.log(logging.DEBUG if kind in self._warned else logging.WARNING, "%s", message)
        self._warned.add(kind)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(
                f"cache key {key!r}\nexpected: 1 to 200 letters, digits, '_' and '-'\n"
                "help: use a hexadecimal digest of what the payload depends on"
            )
        return self.directory / (key + _SUFFIX)

    def _files(self, suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
        """Files of the folder by suffix, without those that another process removes meanwhile."""
        try:
            with os.scandir(self.directory) as folder:
                items = [item for item in folder if item.name.endswith(suffix)]
        except OSError:
            return
        for item in items:
            try:
                yield Path(item.path), item.stat(follow_symlinks=False)
            except OSError:
                continue

    def _make_room(self, added: int) -> None:
        """Scan the folder at this cache's first store and again whenever it may be full."""
        with self._lock:
            if self._bytes_estimate is None:
                self._sweep_temporaries()
            elif self._bytes_estimate + added <= self.max_bytes:
                self._bytes_estimate += added
                return
            self._bytes_estimate = self._prune()

    def _prune(self) -> int:
        """Remove the least recently used entries of a folder that is too large; the bytes left."""
        files = sorted(self._files(_SUFFIX), key=lambda file: file[1].st_mtime_ns)
        total = sum(status.st_size for _, status in files)
        if total <= self.max_bytes:
            return total
        for path, status in files[:-1]:
            if total <= _KEPT_BY_PRUNING * self.max_bytes:
                break
            if _remove(path):
                total -= status.st_size
        return total

    def _sweep_temporaries(self) -> None:
        """Remove what processes that were killed while writing left behind."""
        oldest = time.time() - _TEMPORARY_LIFETIME
        for path, status in self._files(_TEMPORARY_SUFFIX):
            if status.st_mtime < oldest:
                _remove(path)


def object_cache() -> ObjectCache | None:
    """The disk cache as `config` wants it now, or None."""
    if not config.cache_kernels:
        return None
    directory = Path(config.kernel_cache_dir) if config.kernel_cache_dir else default_directory()
    return _cache_at(directory, config.max_cache_bytes)


@lru_cache(maxsize=8)
def _cache_at(directory: Path, limit: int) -> ObjectCache:
    return ObjectCache(directory, limit)


def default_directory() -> Path:
    """`$WARPSIM_CACHE_PATH`, else the folder `warpsim` in the platform's place for caches.

    That is `$XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on
    Windows; for a user without a home, a folder of their own among the temporary files.
    """
    if chosen := os.environ.get("WARPSIM_CACHE_PATH"):
        return Path(os.path.expanduser(chosen))
    try:
        return platform_cache_directory() / "warpsim"
    except RuntimeError:
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"warpsim-{user}"


def platform_cache_directory() -> Path:
    """The user's folder for caches of all programs. Raises `RuntimeError` for a user without a home."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path is to be ignored.
    return chosen if chosen.is_absolute() else Path.home() / ".cache"


def _pack(key: str, payload: bytes, label: str) -> bytes:
    text = label.encode("utf-8", "backslashreplace")
    head = _HEAD.pack(_MAGIC, _VERSION, len(text), len(payload))
    return b"".join((head, _digest(head, key, text, payload), text, payload))


def _unpack(key: str, content: bytes) -> bytes | None:
    """The payload of an entry's file, or None when anything in it is not as it was written."""
    if len(content) < _LABEL_OFFSET:
        return None
    head = content[: _HEAD.size]
    magic, version, label_bytes, payload_bytes = _HEAD.unpack(head)
    start = _LABEL_OFFSET + label_bytes
    if magic != _MAGIC or version != _VERSION or len(content) != start + payload_bytes:
        return None
    label, payload = content[_LABEL_OFFSET:start], content[start:]
    if _digest(head, key, label, payload) != content[_HEAD.size : _LABEL_OFFSET]:
        return None
    return payload


def _digest(head: bytes, key: str, label: bytes, payload: bytes) -> bytes:
    digest = hashlib.sha256(head)
    for part in (key.encode(), label, payload):
        digest.update(part)
    return digest.digest()


def _read_label(path: Path) -> str | None:
    try:
        with _open_entry(path) as file:
            head = file.read(_LABEL_OFFSET)
            if len(head) < _LABEL_OFFSET:
                return None
            magic, version, label_bytes, _ = _HEAD.unpack_from(head)
            if magic != _MAGIC or version != _VERSION:
                return None
            return file.read(label_bytes).decode("utf-8", "replace")
    except OSError:
        return None


class _Distrusted(OSError):
    """A file that somebody else may have put here."""


def _open_entry(path: Path) -> BinaryIO:
    """An entry's file. Raises `OSError`: `_Distrusted` for what this user did not make; it never waits for a writer."""
    try:
        handle = os.open(path, os.O_RDONLY | _SAFELY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        reason = {errno.ELOOP: "is a link", errno.ENXIO: "is no regular file"}.get(error.errno or 0)
        raise _Distrusted(reason) if reason else error from error
    status = os.fstat(handle)
    reason = _reason_against(status) if stat.S_ISREG(status.st_mode) else "is no regular file"
    if reason:
        os.close(handle)
        raise _Distrusted(reason)
    return os.fdopen(handle, "rb")


def _reason_against(status: os.stat_result) -> str:
    """Why a file may be somebody else's work, or nothing."""
    if not hasattr(os, "geteuid"):  # Windows: modes say nothing there
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    return "can be written by other users" if status.st_mode & _OTHERS_WRITE else ""


def is_private(folder: Path) -> bool:
    """Whether no other user can remove or rename what this one puts into a folder."""
    try:
        status = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and (bool(status.st_mode & stat.S_ISVTX) or not _reason_against(status))


def _write(path: Path, content: bytes) -> None:
    """Make a file that this user alone can read and write. Raises `OSError`, also where there is one."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, 0o600), "wb") as file:
        file.write(content)


def _touch(file: BinaryIO) -> None:
    try:
        os.utime(file.fileno() if os.utime in os.supports_fd else file.name)
    except OSError as error:
        _log.debug("cannot touch %s: %s", file.name, error)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError as error:
        _log.debug("cannot remove %s: %s", path, error)
        return False
    return True
