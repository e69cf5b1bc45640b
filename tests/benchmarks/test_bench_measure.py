"""Timings alternate, values are checked first, and no failure of one framework stops another."""

import json
from dataclasses import replace

import pytest

from benchmarks.measure import Bench, Outcome, judge
from benchmarks.rows import Probe
from benchmarks.worker import Worker, answer
from tests.benchmarks import fake_workload

NAMES = ("steady", "slow", "raises", "dies", "hangs", "differs", "absent")
PROBE = Probe("fake", "tests.benchmarks.fake_workload", full={"n": 5}, rounds=3, limit=20.0,
              frameworks=NAMES)


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log.txt"
    monkeypatch.setenv("BENCH_TEST_LOG", str(path))
    return path


def run(names, probe=PROBE):
    with Bench(names, worker_module="tests.benchmarks.fake_worker") as bench:
        bench.start()
        return bench, bench.run([probe])["fake"]


def test_single_timings_alternate(log):
    _, outcomes = run(("steady", "slow"))
    assert log.read_text().split() == ["steady", "slow"] * 3
    assert outcomes["slow"].samples["time"] == [3.0, 3.0, 3.0]
    assert outcomes["steady"].samples["default"] == [0.5, 0.5, 0.5]
    assert outcomes["slow"].note == "note of slow"


def test_a_failing_framework_drops_out_and_the_others_go_on(log):
    _, outcomes = run(("raises", "dies", "steady"))
    assert outcomes["raises"].status == "failed"
    assert outcomes["raises"].reason == "RuntimeError: second run"
    assert outcomes["dies"].reason == "process ended with code 7: last words"
    assert outcomes["steady"].samples["time"] == [1.0, 1.0, 1.0]
    assert log.read_text().split() == ["raises", "dies", "steady"] * 2 + ["steady"]


def test_a_framework_that_died_is_started_again_for_the_next_probe(log):
    probe = replace(PROBE, rounds=1)
    with Bench(("dies",), worker_module="tests.benchmarks.fake_worker") as bench:
        bench.start()
        bench._workers["dies"].close()
        assert bench.run([probe])["fake"]["dies"].samples["time"] == [1.0]


def test_a_framework_that_hangs_is_stopped_after_its_limit(log):
    probe = replace(PROBE, limit=3.0)
    _, outcomes = run(("hangs", "steady"), probe)
    assert outcomes["hangs"].reason == "no answer within 3 s: stopped"
    assert outcomes["steady"].status == "ok"


def test_wrong_values_are_not_timed(log):
    _, outcomes = run(("differs", "steady"))
    assert outcomes["differs"].status == "wrong"
    reason = outcomes["differs"].reason
    assert reason == "differs from NumPy: y: means[0] is 2.2 where 2 was expected"
    assert outcomes["differs"].samples == {}
    assert log.read_text().split() == ["steady"] * 3


def test_a_probe_may_leave_a_framework_out(log):
    _, outcomes = run(("steady", "slow"), replace(PROBE, frameworks=("slow",)))
    assert list(outcomes) == ["slow"]
    assert log.read_text().split() == ["slow"] * 3


def test_skipping_is_not_failing_and_absence_is_noticed(log):
    probe = replace(PROBE, full={"n": 5, "skipped": 1})
    bench, outcomes = run(("steady", "slow", "absent"), probe)
    assert (outcomes["slow"].status, outcomes["slow"].reason) == ("skipped", "cannot do this")
    assert bench.absent == {"absent": "not installed"}
    assert "absent" not in outcomes


def test_without_numpy_values_a_peer_judges_before_warpsim():
    values = {"y": {"shape": [1.0], "means": [1.0, 1.0], "samples": [1.0]}}
    others = {"y": {"shape": [1.0], "means": [2.0, 2.0], "samples": [2.0]}}
    outcomes = {"warpsim": Outcome(), "warp": Outcome()}
    judge(outcomes, {"warpsim": values, "warp": others}, None, 1.0e-6)
    assert outcomes["warp"].status == "ok"
    assert outcomes["warpsim"].reason.startswith("differs from warp: y: means[0] is 1 where 2")


def serve(worker, **request):
    return answer(worker, json.dumps(request))


@pytest.fixture
def worker():
    made = Worker()
    made.name = "warp"
    fake_workload.calls.clear()
    return made


def test_the_worker_times_per_unit_and_keeps_preparation_out(worker):
    module = fake_workload.__name__
    reply = serve(worker, do="setup", module=module, size={"n": 3})
    assert reply["ok"] and reply["note"] == "counted"
    assert reply["digest"]["y"]["samples"] == [0.0, 1.0, 2.0]
    assert fake_workload.calls == ["before", "run", "other"]
    reply = serve(worker, do="time", warm=False)
    assert set(reply["seconds"]) == {"time", "other"}
    assert fake_workload.calls == ["before", "run", "other"] * 2
    serve(worker, do="time")
    assert fake_workload.calls[6:] == ["before", "run"] * 2 + ["other"] * 2


def test_the_worker_survives_a_broken_workload(worker):
    reply = serve(worker, do="setup", module=fake_workload.__name__, size={"n": 3, "broken": 1})
    assert reply == {"ok": False, "error": "ValueError: the kernel / does not compile"}
    reply = serve(worker, do="time")
    assert "send 'setup' before 'time'" in reply["error"]
    worker.name = "numba"
    reply = serve(worker, do="setup", module=fake_workload.__name__, size={"n": 3})
    assert reply == {"ok": True, "skipped": "nothing to do here"}
