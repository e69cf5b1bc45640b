"""The child process of one framework: answers JSON lines on standard input, one by one.

Guarantees: every request gets exactly one answer; an exception in a workload becomes an answer
``{"ok": false, "error": ...}`` and leaves the worker usable. Requests: ``hello``, ``setup``,
``time``, ``drop``; the end of input ends the worker.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from benchmarks import frameworks
from benchmarks.case import Case, Timed
from benchmarks.channel import claim_stdout
from benchmarks.check import digest

# a batch on a GPU is long against the wait for its end, and short against a person's patience
BATCH_SECONDS, LARGEST_BATCH = 5.0e-3, 200


class Worker:
    """Holds the framework and the one workload that is set up at a time."""

    def __init__(self) -> None:
        self.name = ""
        self.module: ModuleType | None = None
        self.case: Case | None = None
        self.watch = Watch(None)

    def hello(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import and prepare the framework named in the request."""
        self.name = request["framework"]
        self.module = frameworks.load(self.name)
        frameworks.prepare(self.name, self.module)
        self.watch = Watch(frameworks.settle(self.module))
        facts = frameworks.describe(self.name, self.module)
        return {**facts, "python": sys.version.split()[0]}

    def setup(self, request: dict[str, Any]) -> dict[str, Any]:
        """Build the workload, run it once and answer with the digest of its values."""
        workload = importlib.import_module(request["module"])
        dialect = frameworks.DIALECTS[self.name]
        make = getattr(workload, f"{dialect}_case", None)
        if make is None:
            return {"skipped": workload.SKIPPED[dialect]}
        case: Case = make(self.module, request["size"])
        for timed in case.timed.values():
            self.watch.once(timed)
        self.case = case
        answer = {"digest": digest(case.values()), "note": case.note}
        gc.collect()
        return answer

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """One timing of each metric, in seconds per unit."""
        if self.case is None:
            raise RuntimeError("no workload is set up: send 'setup' before 'time'")
        warm = bool(request.get("warm", True))
        return {"seconds": {name: self.watch.sample(part, warm) for name, part in self.case.timed.items()}}

    def drop(self, request: dict[str, Any]) -> dict[str, Any]:
        """Free the workload."""
        self.case = None
        gc.collect()
        return {}


class Watch:
    """A stopwatch. ``settle`` waits for a GPU, whose work goes on when a call has returned."""

    def __init__(self, settle: Callable[[], object] | None) -> None:
        self.settle = settle

    def sample(self, timed: Timed, warm: bool) -> float:
        """Seconds of a unit, of one run or, on a GPU, of a batch of runs without a pause."""
        # other frameworks ran since the last sample: wake the threads and the caches up first
        count = self._batch(timed, self.once(timed)) if warm else 1
        gc.disable()
        seconds = self.once(timed, count)
        gc.enable()
        return seconds / (count * timed.units)

    def once(self, timed: Timed, count: int = 1) -> float:
        """Seconds of a run, or of several in a row."""
        if timed.before is not None:
            timed.before()
        self._wait()
        start = time.perf_counter()
        for _ in range(count):
            timed.run()
        if not timed.host:
            self._wait()
        seconds = time.perf_counter() - start
        self._wait()
        return seconds

    def _wait(self) -> None:
        if self.settle is not None:
            self.settle()

    def _batch(self, timed: Timed, seconds: float) -> int:
        if self.settle is None or timed.host or (timed.before is not None and not timed.again):
            return 1
        return min(LARGEST_BATCH, 1 + int(BATCH_SECONDS / max(seconds, 1.0e-9)))


def answer(worker: Worker, line: str) -> dict[str, Any]:
    """Serve one request; any failure of it is described in the answer."""
    try:
        request = json.loads(line)
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "hello": worker.hello, "setup": worker.setup,
            "time": worker.time, "drop": worker.drop,
        }
        return {"ok": True, **handlers[request["do"]](request)}
    except ModuleNotFoundError as problem:
        missing = worker.module is None and problem.name == frameworks.MODULES.get(worker.name)
        return {"ok": False, "error": _describe(problem), "absent": missing}
    except Exception as problem:  # a broken workload must not end the run of the others
        return {"ok": False, "error": _describe(problem)}


def _describe(problem: BaseException) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"{type(problem).__name__}: {' / '.join(lines[:4])}"


def main() -> None:
    """Serve requests until standard input ends."""
    out = claim_stdout()
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(answer(worker, line)), file=out, flush=True)


if __name__ == "__main__":
    main()
