"""`Reader`: a USD file that another process reads, so that a file can end that process alone.

pxr cannot be held from inside: a text that nests too deeply and a damaged table end the process that reads them, and
references to references never end. So every file has a process of its own, with limits on memory and time, and hands
over plain arrays. Where processes can fork, a server that has loaded pxr forks one for each file, in some milliseconds;
elsewhere (Windows) one is started for each. Either begins without any layer in memory, so what is on disk is what is
read.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from multiprocessing import spawn
from typing import Any

from warpsim.forks import fork_safe
from warpsim.usd.checks import UsdError, positive
from warpsim.usd.messages import receive, send

MAX_BYTES, MAX_SECONDS = 1 << 30, 60.0
"""Limits that hold where a caller gives none: of the largest array, and on the time of one question [s]."""

_START = "import sys; sys.path[:] = {path!r}; from warpsim.usd.reader_process import {entry}; {entry}({fd})"
_FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds")
_LEAVE = 5.0  # seconds that the server may take to end
_WORD = 8  # bytes of a message to the server and of its answer
_ENVIRONMENT = {"PXR_WORK_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "TF_ENV_SETTING_ALERTS_ENABLED": "0"}


class Reader:
    """A file open in a process of its own; `ask` puts questions to its `Session`.

    max_bytes: of the largest array or table; the process has eight times as much and 1 GiB. max_seconds: the longest
    time for one question [s]. Questions of several threads are answered in turn.
    """

    def __init__(self, name: str, max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS):
        self.name, self.max_bytes = name, int(positive(max_bytes, "max_bytes"))
        self.max_seconds = min(positive(max_seconds, "max_seconds"), threading.TIMEOUT_MAX)
        self._lock, self._lost, self._owner = threading.Lock(), "", os.getpid()
        self._process = _server().fork() if _FORKS else _Spawned()
        weakref.finalize(self, self._process.close)
        limits = {"max_bytes": self.max_bytes, "max_seconds": self.max_seconds, "memory": _memory(self.max_bytes)}
        self.ask("begin", name=name, folder=os.getcwd(), **limits)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; what is asked after that is an error."""
        self._lost = self._lost or f"{self.name!r} is closed; read it again"
        self._process.close()

    def ask(self, question: str, **arguments: Any) -> Any:
        """The answer to a question. Raises UsdError for what the file cannot answer within its limits."""
        if os.getpid() != self._owner:  # a fork, whose questions would mix with those of its parent
            raise UsdError(f"{self.name!r} was opened by another process, which was forked since; open it in this one")
        with self._lock:
            if self._lost:
                raise UsdError(self._lost)
            answer = self._exchange({"question": question, **arguments})
        if "error" in answer:
            raise UsdError(answer["error"])
        return answer["answer"]

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._process.end()

        timer = threading.Timer(self.max_seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            send(self._process.stream, message)
            return receive(self._process.stream, _memory(self.max_bytes))
        except (EOFError, OSError, ValueError) as error:
            status = self._process.end()
            self._lost = str(error) if isinstance(error, UsdError) else self._obituary(expired.is_set(), status)
            raise UsdError(self._lost) from None
        except BaseException:  # an interrupt: the answer that would come is not for the next question
            self._process.end()
            self._lost = f"{self.name!r}: reading was interrupted; open it again"
            raise
        finally:
            timer.cancel()

    def _obituary(self, expired: bool, status: int) -> str:
        """Why the process gives no answer."""
        if expired:
            return (
                f"{self.name!r}: reading takes more than {self.max_seconds:g} s; it refers to very much or is "
                "damaged; pass a larger max_seconds if the file is to be trusted"
            )
        return (
            f"{self.name!r} ends the process that reads it ({_named(status)}): it is damaged, nests too deeply or "
            f"needs more than {_memory(self.max_bytes) / 2**30:.1f} GiB of memory; export it again, or pass a larger "
            "max_bytes if it is to be trusted"
        )


def _memory(max_bytes: int) -> int:
    """Bytes that a process may take for arrays of up to `max_bytes`."""
    return 8 * max_bytes + (1 << 30)


def _named(status: int) -> str:
    """A status of a process as words: negative is a signal."""
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status:#x}"
    except ValueError:
        return f"signal {-status}"


class _Forked:
    """A process that the server forked, at the other end of a socket."""

    def __init__(self, server: _Server, pid: int, connection: socket.socket):
        self._server, self._pid, self._socket = server, pid, connection
        self.stream: Any = connection.makefile("rwb")

    def close(self) -> None:
        """End the process by leaving it; it is not waited for."""
        try:
            self.stream.close()
        except OSError:  # what it has not read yet
            pass
        finally:
            self._socket.close()

    def end(self) -> int:
        """End the process if it has not ended yet, and give its status."""
        status = self._server.end(self._pid)
        self._socket.close()
        return status


class _Spawned:
    """A process started for one file, where none can be forked."""

    def __init__(self) -> None:
        self._process = _started("serve_pipes", subprocess.PIPE, subprocess.PIPE)
        self.stream: Any = _Pipes(self._process)

    def close(self) -> None:
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass

    def end(self) -> int:
        self._process.kill()
        return self._process.wait()


class _Pipes:
    """The two pipes of a process as one stream."""

    def __init__(self, process: subprocess.Popen[bytes]):
        assert process.stdin is not None and process.stdout is not None
        self.write, self.flush = process.stdin.write, process.stdin.flush
        self.read, self.readinto = process.stdout.read, process.stdout.readinto  # type: ignore[attr-defined]


class _Server:
    """The process whose forks read: it has loaded pxr and opens no file itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = _started("serve_forks", subprocess.DEVNULL, subprocess.DEVNULL, theirs.fileno())

    def fork(self) -> _Forked:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = self._command(0, [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return _Forked(self, pid, ours)

    def end(self, pid: int) -> int:
        """Kill a process unless it has ended, and give its status; 0 if the server has gone."""
        try:
            return self._command(pid)
        except OSError:
            return 0

    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Let the server end, after which it forks no more."""
        self._control.close()
        try:
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def abandon(self) -> None:
        """Forget a server that belongs to the process from which this one was forked."""
        self._control.close()
        self._process.returncode = 0

    def _command(self, pid: int, files: list[int] | None = None) -> int:
        with self._lock:
            try:
                socket.send_fds(self._control, [pid.to_bytes(_WORD, "little")], files or [])
                answer = self._control.recv(_WORD, socket.MSG_WAITALL)
            except BaseException:  # an interrupt between question and answer would mix up those that follow
                self._control.close()
                raise
        if len(answer) < _WORD:
            raise ConnectionError("the process that forks readers of USD has ended")
        return int.from_bytes(answer, "little", signed=True)


def _started(entry: str, stdin: int, stdout: int, fd: int | None = None) -> subprocess.Popen[bytes]:
    """A process of this Python that runs a function of `reader_process`."""
    code = _START.format(path=sys.path, entry=entry, fd="" if fd is None else fd)
    options: dict[str, Any] = {} if fd is None else {"pass_fds": [fd], "start_new_session": True}
    return subprocess.Popen(
        [os.fsdecode(spawn.get_executable()), "-c", code],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ENVIRONMENT},
        **options,
    )


_starting = fork_safe(threading.Lock())
_running: list[_Server] = []  # none or one


def _server() -> _Server:
    with _starting:
        if _running and not _running[0].alive():
            _running.pop().close()
        if not _running:
            _running.append(_Server())
        return _running[0]


def _leave() -> None:
    while _running:
        _running.pop().close()


def _forked() -> None:
    while _running:
        _running.pop().abandon()


atexit.register(_leave)
if _FORKS:
    os.register_at_fork(after_in_child=_forked)
