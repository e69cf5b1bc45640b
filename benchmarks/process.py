"""Child processes as the harness sees them: a worker to talk to, and a fresh start to clock.

Guarantees: no call waits longer than its time limit; a child that dies or hangs raises
``ChildFailed`` with the reason (exit code, the end of its error output), never blocks the run.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import frameworks

BOOT = Path(__file__).resolve().parent / "boot.py"


class ChildFailed(RuntimeError):
    """A child process crashed, hung or refused; the message says how. ``absent``: not installed."""

    def __init__(self, message: str, absent: bool = False) -> None:
        super().__init__(message)
        self.absent = absent


def child_environment(cache: str, threads: int | None, device: str = "cpu") -> dict[str, str]:
    """The parent's environment, with this checkout importable and bytecode files allowed."""
    variables = {**os.environ, **frameworks.environment(cache, threads, device)}
    # without bytecode files every timed import would pay for parsing
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    checkout = BOOT.parent.parent
    if (checkout / "warpsim" / "__init__.py").is_file():
        paths = [str(checkout), *filter(None, [variables.get("PYTHONPATH")])]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
    return variables


def start_command(python: str, module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this package in the interpreter ``python``."""
    return [python, str(BOOT), module, *arguments]


class WorkerProcess:
    """A long-lived child that serves requests as JSON lines."""

    def __init__(self, command: Sequence[str], env: dict[str, str], name: str) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env=env, text=True, encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    @property
    def alive(self) -> bool:
        """Whether the child can take another request."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Send one request and wait at most ``limit`` seconds for the answer.

        Raises ``ChildFailed`` when the child answers with an error, dies or is too slow; in the
        last two cases it is gone afterwards.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise ChildFailed(f"no answer within {limit:g} s: stopped") from None
        except OSError:
            line = ""
        if not line:
            raise ChildFailed(self._obituary())
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise ChildFailed(answer["error"], absent=bool(answer.get("absent")))
        return answer

    def _obituary(self) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = None
        last_words = _tail(self._errors)
        self.close()
        return f"process ended with code {code}: {last_words}"

    def close(self, patience: float = 0.0) -> None:
        """End the child: by the end of its input within ``patience`` seconds, or else by force."""
        if self._process.poll() is None and patience > 0.0:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                pass
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        # the child is gone, so the reader sees the end of its output
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # unsent input of a dead child
                    pass


def run_fresh(command: Sequence[str], env: dict[str, str], limit: float) -> dict[str, Any]:
    """Run a child to its end and return the JSON line it wrote.

    Raises ``ChildFailed`` when it fails or takes more than ``limit`` seconds.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, env=env,
                timeout=limit, check=False,
            )
        except subprocess.TimeoutExpired:
            raise ChildFailed(f"not finished within {limit:g} s: stopped") from None
        if done.returncode != 0 or not done.stdout.strip():
            raise ChildFailed(f"process ended with code {done.returncode}: {_tail(errors)}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if not answer.pop("ok"):
        raise ChildFailed(answer["error"], absent=bool(answer.get("absent")))
    return answer


def _tail(errors: Any, limit: int = 300) -> str:
    errors.seek(0)
    text = errors.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-3:])[-limit:] or "no error output"
