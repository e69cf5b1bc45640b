"""Workers of the thread pool run on other cores than their caller, and launches end where there is no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpsim.core.runtime.launches import pool

pytestmark = [
    pytest.mark.cpu(reason="the pool of CPU threads"),
    pytest.mark.skipif(sys.platform != "linux", reason="cores are chosen on Linux only"),
]

ROOT = Path(pool.__file__).parents[4]
BEGIN = """
import os, time
import pool_scenarios
from warpsim.core.runtime.launches.pool import get_pool

get_pool().always_fork(True)
before = set(os.listdir("/proc/self/task"))

def cores_of_workers():
    "After a launch that had to wake them."
    time.sleep(0.1)
    pool_scenarios.launch_and_check(times=1)
    return [os.sched_getaffinity(int(task)) for task in set(os.listdir("/proc/self/task")) - before]

"""


def run(text: str, tmp_path: Path) -> None:
    variables = {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}",
        "WARPSIM_CACHE_PATH": str(tmp_path),
        "WARPSIM_NUM_THREADS": "4",
    }
    command = [sys.executable, "-c", BEGIN + text]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_workers_keep_off_the_core_of_their_caller_wherever_it_goes(tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this process has one core")
    follow = """
pool_scenarios.launch_and_check()
every = os.sched_getaffinity(0)
for core in sorted(every)[:2] * 2:
    os.sched_setaffinity(0, {core})  # of this thread
    assert cores_of_workers() == [every - {core}] * 3
"""
    run(follow, tmp_path)


def test_workers_share_the_only_core(tmp_path):
    only = """
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
for _ in range(2):
    assert cores_of_workers() == [{core}] * 3
"""
    run(only, tmp_path)


def test_workers_of_a_forked_child_have_cores_of_their_own(tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this process has one core")
    fork = """
every, core = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
pool_scenarios.launch_and_check()
os.sched_setaffinity(0, {core})
cores_of_workers()
os.sched_setaffinity(0, every)
child = os.fork()
if child == 0:
    before = set(os.listdir("/proc/self/task"))
    pool_scenarios.launch_and_check()
    os.sched_setaffinity(0, {core})
    os._exit(cores_of_workers() != [every - {core}] * 3)
assert os.waitpid(child, 0)[1] == 0
"""
    run(fork, tmp_path)
