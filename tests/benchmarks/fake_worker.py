"""Stands in for a framework: what it does follows from the name it is given in ``hello``.

``steady`` and ``slow`` answer with 1 s and 3 s; ``raises`` fails at its second timing, ``dies``
ends its process there, ``hangs`` never answers it; ``differs`` computes something else; ``absent``
is not installed. Every timing is logged by name, so that a test can read the order.
"""

import json
import os
import sys
import time
from pathlib import Path

from benchmarks.check import digest
from tests.benchmarks.fake_workload import expected

LOG = Path(os.environ["BENCH_TEST_LOG"])


def setup(name, request):
    values = expected(request["size"])
    if name == "differs":
        values["y"][-1] += 1.0
    if request["size"].get("skipped") and name == "slow":
        return {"ok": True, "skipped": "cannot do this"}
    return {"ok": True, "digest": digest(values), "note": f"note of {name}"}


def timing(name, count):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{name}\n")
    if count == 2 and name == "raises":
        return {"ok": False, "error": "RuntimeError: second run"}
    if count == 2 and name == "dies":
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    if count == 2 and name == "hangs":
        time.sleep(600.0)
    return {"ok": True, "seconds": {"time": 3.0 if name == "slow" else 1.0, "default": 0.5}}


def main():
    name, count = "", 0
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"ok": True}
        if request["do"] == "hello":
            name = request["framework"]
            answer |= {"version": "1.0", "threads": 2, "note": ""}
            if name == "absent":
                answer = {"ok": False, "error": "No module named 'absent'", "absent": True}
        elif request["do"] == "setup":
            count, answer = 0, setup(name, request)
        elif request["do"] == "time":
            count += 1
            answer = timing(name, count)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
