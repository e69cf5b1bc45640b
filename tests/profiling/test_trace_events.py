"""Traces and JSON of profiles: the Trace Event Format as its description has it, checked without warpsim's own code."""

import json
import threading
import time

import pytest

import warpsim as wp
from warpsim.profiling import timeline

pytestmark = pytest.mark.cpu


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def busy_profile():
    """A profile of two threads, with blocks in blocks, a tape and copies; the launches of each thread."""
    n = 20_000
    x, y = (wp.full(n, 1.0, dtype=float, requires_grad=True) for _ in range(2))

    def work():
        for _ in range(9):
            wp.launch(double, n, inputs=[wp.zeros(n, dtype=float), wp.zeros(n, dtype=float)])

    with wp.profile(title="two threads", print=False) as profile:
        worker = threading.Thread(target=work, name="worker")
        worker.start()
        with wp.ScopedTimer("outer", print=False), wp.ScopedTimer("inner", print=False):
            for _ in range(4):
                wp.launch(double, n, inputs=[x, y])
            time.sleep(0.001)
        with wp.Tape() as tape:
            wp.launch(double, n, inputs=[x, y])
        tape.backward(grads={y: wp.ones(n, dtype=float)})
        worker.join()
    return profile


def test_a_trace_is_of_the_trace_event_format(tmp_path):
    profile = busy_profile()
    path = profile.trace(tmp_path / "trace.json")
    trace = json.loads(path.read_text())
    assert isinstance(trace["traceEvents"], list) and trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "M") and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["name"], str) and isinstance(event["args"], dict)
        if event["ph"] == "X":
            assert event["ts"] >= 0.0 and event["dur"] >= 0.0 and event["cat"]
            assert event["ts"] + event["dur"] <= profile.report.seconds * 1e6 + 1.0
        else:
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert set(names.values()) == {threading.current_thread().name, "worker"}
    launches = [names[e["tid"]] for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == "double"]
    assert (launches.count("worker"), len(launches)) == (9, 14)
    sites = {e["args"]["called from"] for e in trace["traceEvents"] if e.get("cat") == "launch"}
    assert all(site.rpartition(":")[0] == __file__ for site in sites)


def test_spans_of_a_thread_lie_in_one_another_or_apart(tmp_path):
    trace = json.loads(busy_profile().trace(tmp_path / "trace.json").read_text())
    threads = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"], event["name"]))
    assert len(threads) == 2
    for spans in threads.values():
        open_spans = []
        for start, end, name in spans:  # by their beginnings, outer ones first, as viewers like them
            while open_spans and open_spans[-1] <= start + 1e-6:
                open_spans.pop()
            assert not open_spans or end <= open_spans[-1] + 1e-6, name
            open_spans.append(end)


def test_a_long_trace_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_SPANS", 10)
    x, y = (wp.zeros(8, dtype=float) for _ in range(2))
    with wp.profile(print=False) as profile:
        for _ in range(25):
            wp.launch(double, 8, inputs=[x, y])
    trace = json.loads(profile.trace(tmp_path / "trace.json").read_text())
    assert sum(e["ph"] == "X" for e in trace["traceEvents"]) == 10
    assert trace["otherData"]["dropped spans"] >= 15 and profile.report.dropped >= 15
    assert sum(one.count for one in profile.report.launches) == 25


def test_json_holds_all_numbers(tmp_path):
    profile = busy_profile()
    words = json.loads(profile.json(tmp_path / "profile.json").read_text())
    assert words["title"] == "two threads" and words["seconds"] == profile.report.seconds
    assert sum(one["count"] for one in words["launches"] if one["kernel"] == "double") == 14
    assert sum(words["parts"].values()) == pytest.approx(words["seconds"])
    for one in words["launches"]:
        assert one["mean"] == pytest.approx(one["total"] / one["count"])
        assert {"place", "line", "device", "bytes", "speed", "of_copy", "cores", "lanes", "why"} <= set(one)
    assert {"front_end", "passes", "llvm", "cache"} <= set(words["compilation"][0] if words["compilation"] else
                                                            ("front_end", "passes", "llvm", "cache"))  # fmt: skip
