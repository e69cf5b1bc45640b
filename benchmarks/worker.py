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


class Worker:
    """Holds the framework and the one workload that is set up at a time."""

    def __init__(self) -> None:
        self.name = ""
        self.module: ModuleType | None = None
        self.case: Case | None = None

    def hello(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import and prepare the framework named in the request."""
        self.name = request["framework"]
        self.module = frameworks.load(self.name)
        frameworks.prepare(self.name, self.module)
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
            _once(timed)
        self.case = case
        answer = {"digest": digest(case.values()), "note": case.note}
        gc.collect()
        return answer

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """One timing of each metric, in seconds per unit."""
        if self.case is None:
            raise RuntimeError("no workload is set up: send 'setup' before 'time'")
        warm = bool(request.get("warm", True))
        return {"seconds": {name: _sample(part, warm) for name, part in self.case.timed.items()}}

    def drop(self, request: dict[str, Any]) -> dict[str, Any]:
        """Free the workload."""
        self.case = None
        gc.collect()
        return {}


def _sample(timed: Timed, warm: bool) -> float:
    # other frameworks ran since the last sample: wake the threads and the caches up first
    if warm:
        _once(timed)
    gc.disable()
    seconds = _once(timed)
    gc.enable()
    return seconds / timed.units


def _once(timed: Timed) -> float:
    if timed.before is not None:
        timed.before()
    start = time.perf_counter()
    timed.run()
    return time.perf_counter() - start


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
