"""One start of one framework on the clock: ``benchmarks.startup.clock NAME MODE``.

``MODE`` is ``import``, ``launch`` or ``launch-forward`` (adjoints off where that is a choice).
Writes one JSON line: seconds of the import, or from its begin to the first finished kernel and to
the last of twelve: an import that leaves its work to the first launch gains nothing. Guarantees that
nothing which a framework needs is imported before the watch starts, and that the values are looked at
only after it stopped.
"""

import importlib
import json
import os
import sys
import time

from benchmarks import frameworks
from benchmarks.channel import claim_stdout


def imported(name: str) -> dict:
    """Seconds that ``import`` takes, NumPy and all else it pulls in included."""
    start = time.perf_counter()
    frameworks.load(name)
    return {"seconds": {"time": time.perf_counter() - start}, "digest": {}}


def launched(name: str, forward_only: bool) -> dict:
    """Seconds from the begin of the import until the first kernel, and all twelve, have run."""
    os.environ["BENCH_LANGUAGE"] = frameworks.MODULES[name]
    start = time.perf_counter()
    module = frameworks.load(name)
    frameworks.prepare(name, module, forward_only=forward_only)
    finish = frameworks.settle(module) or (lambda: None)
    dialect = frameworks.DIALECTS[name]
    script = importlib.import_module(f"benchmarks.startup.twelve_{dialect}").Script()
    script.first()
    finish()
    first = time.perf_counter()
    script.rest()
    finish()
    last = time.perf_counter()
    values = {f"kernel_{k}": value for k, value in enumerate(script.values(), start=1)}
    digest = importlib.import_module("benchmarks.check").digest(values)
    return {"seconds": {"first": first - start, "all": last - start}, "digest": digest}


def main() -> None:
    """Time what the command line asks for and report it, a failure included."""
    out = claim_stdout()
    name, mode = sys.argv[1:]
    try:
        found = imported(name) if mode == "import" else launched(name, mode == "launch-forward")
        answer = {"ok": True, **found}
    except Exception as problem:  # reported to the parent as this framework's reason
        absent = (isinstance(problem, ModuleNotFoundError)
                  and problem.name == frameworks.MODULES[name])
        answer = {"ok": False, "error": f"{type(problem).__name__}: {problem}", "absent": absent}
    print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
