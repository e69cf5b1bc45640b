"""Run the probes: every framework in its own process, single timings in turn, values checked first.

Guarantees: the order of timings is A B C D A B C D ...; a framework that fails, crashes or
computes something else drops out of that probe with its reason and the others go on; nobody is
timed on a probe before its values were compared.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.check import Digest, difference, digest
from benchmarks.process import (
    ChildFailed,
    WorkerProcess,
    child_environment,
    run_fresh,
    start_command,
)
from benchmarks.rows import Probe

# thread pools of the framework timed before may still spin for a moment
PAUSE = 0.02
START_LIMIT = 120.0


@dataclass
class Outcome:
    """What one framework did on one probe.

    ``status`` is ``ok``, ``skipped``, ``failed`` or ``wrong``; ``samples`` are seconds by metric.
    """

    status: str = "ok"
    reason: str = ""
    note: str = ""
    samples: dict[str, list[float]] = field(default_factory=dict)

    def stop(self, status: str, reason: str) -> None:
        """End the framework's part in the probe."""
        self.status, self.reason = status, reason


@dataclass
class Bench:
    """One run of the benchmarks: which frameworks, through which interpreters, how thoroughly."""

    frameworks: tuple[str, ...]
    pythons: dict[str, str] = field(default_factory=dict)
    quick: bool = False
    rounds: int | None = None
    threads: int | None = None
    device: str = "cpu"
    tell: Callable[[str], None] = lambda text: None
    worker_module: str = "benchmarks.worker"
    clock_module: str = "benchmarks.startup.clock"

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warpsim-bench-")
        self._workers: dict[str, WorkerProcess] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.absent: dict[str, str] = {}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close(patience=5.0)
        self._folder.cleanup()

    def present(self) -> tuple[str, ...]:
        """The frameworks that could be imported."""
        return tuple(name for name in self.frameworks if name not in self.absent)

    def start(self) -> None:
        """Start every worker once, to learn what is installed and which versions."""
        for name in self.frameworks:
            try:
                self._worker(name)
            except ChildFailed as problem:
                self.absent[name] = "not installed" if problem.absent else str(problem)

    def run(self, probes: Iterable[Probe]) -> dict[str, dict[str, Outcome]]:
        """All outcomes by probe and framework."""
        results = {}
        for probe in probes:
            self.tell(f"{probe.name} ...")
            begin = time.perf_counter()
            results[probe.name] = self._probe_fresh(probe) if probe.start else self._probe(probe)
            self.tell(f"{probe.name} took {time.perf_counter() - begin:.1f} s")
        return results

    def _probe(self, probe: Probe) -> dict[str, Outcome]:
        outcomes = {name: Outcome() for name in self.present() if name in probe.frameworks}
        digests: dict[str, Digest] = {}
        request = {"do": "setup", "module": probe.module, "size": probe.size(self.quick)}
        for name, outcome in outcomes.items():
            reply = self._ask(name, request, outcome, probe.limit)
            if "skipped" in reply:
                outcome.stop("skipped", reply["skipped"])
            elif outcome.status == "ok":
                outcome.note = reply["note"]
                digests[name] = reply["digest"]
        judge(outcomes, digests, expected(probe, self.quick), probe.tolerance)
        self._rounds(probe, outcomes, lambda name, outcome: self._ask(
            name, {"do": "time", "warm": probe.warm}, outcome, probe.limit))
        for name in outcomes:
            if name in self._workers and self._workers[name].alive:
                self._ask(name, {"do": "drop"}, Outcome(), probe.limit)
        return outcomes

    def _probe_fresh(self, probe: Probe) -> dict[str, Outcome]:
        outcomes = {name: Outcome() for name in self.present() if name in probe.frameworks}
        digests: dict[str, Digest] = {}
        # untimed: files get into the system's cache, and a warm start gets its disk cache
        for name, outcome in outcomes.items():
            reply = self._clock(name, probe, outcome)
            if outcome.status == "ok":
                digests[name] = reply["digest"]
        judge(outcomes, digests, None, probe.tolerance)
        self._rounds(probe, outcomes, lambda name, outcome: self._clock(name, probe, outcome))
        return outcomes

    def _rounds(
        self,
        probe: Probe,
        outcomes: dict[str, Outcome],
        sample: Callable[[str, Outcome], dict[str, Any]],
    ) -> None:
        rounds = self.rounds or (probe.quick_rounds if self.quick else probe.rounds)
        for _ in range(rounds):
            for name, outcome in outcomes.items():
                if outcome.status != "ok":
                    continue
                time.sleep(PAUSE)
                for metric, seconds in sample(name, outcome).get("seconds", {}).items():
                    outcome.samples.setdefault(metric, []).append(seconds)

    def _ask(
        self, name: str, request: dict[str, Any], outcome: Outcome, limit: float
    ) -> dict[str, Any]:
        try:
            return self._worker(name).ask(request, limit)
        except ChildFailed as problem:
            outcome.stop("failed", str(problem))
            return {}

    def _worker(self, name: str) -> WorkerProcess:
        worker = self._workers.get(name)
        if worker is None or not worker.alive:
            command = start_command(self._python(name), self.worker_module)
            folder = str(Path(self._folder.name) / name)
            Path(folder).mkdir(exist_ok=True)
            worker = WorkerProcess(command, self._environment(folder), name)
            self._workers[name] = worker
            self.facts[name] = worker.ask({"do": "hello", "framework": name}, START_LIMIT)
        return worker

    def _clock(self, name: str, probe: Probe, outcome: Outcome) -> dict[str, Any]:
        mode = {"import": "import", "cold-forward": "launch-forward"}.get(probe.start, "launch")
        command = start_command(self._python(name), self.clock_module, name, mode)
        try:
            if probe.start == "warm":
                kept = Path(self._folder.name) / f"warm-{name}"
                kept.mkdir(exist_ok=True)
                return run_fresh(command, self._environment(str(kept)), probe.limit)
            with tempfile.TemporaryDirectory(dir=self._folder.name) as empty:
                return run_fresh(command, self._environment(empty), probe.limit)
        except ChildFailed as problem:
            outcome.stop("failed", str(problem))
            return {}

    def _environment(self, folder: str) -> dict[str, str]:
        return child_environment(folder, self.threads, self.device)

    def _python(self, name: str) -> str:
        return self.pythons.get(name, sys.executable)


def expected(probe: Probe, quick: bool) -> Digest | None:
    """The digest of the right values where the workload can tell them by NumPy."""
    compute = getattr(importlib.import_module(probe.module), "expected", None)
    return digest(compute(probe.size(quick))) if compute else None


def judge(
    outcomes: dict[str, Outcome],
    digests: dict[str, Digest],
    right: Digest | None,
    tolerance: float,
) -> None:
    """Mark as wrong whoever differs from the right values, or else from the first other framework.

    Peers come before warpsim as a reference, so that a difference is never held against them by
    warpsim's own word.
    """
    judges = sorted(digests, key=lambda name: name == "warpsim")
    reference, origin = (right, "NumPy") if right is not None else (
        digests[judges[0]] if judges else None, judges[0] if judges else "")
    for name, found in digests.items():
        if reference is None or name == origin:
            continue
        message = difference(found, reference, tolerance)
        if message:
            outcomes[name].stop("wrong", f"differs from {origin}: {message}")
