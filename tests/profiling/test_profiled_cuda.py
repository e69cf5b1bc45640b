"""Profiles of work on CUDA devices: times by events, on a timeline of the device's own."""

import json

import numpy as np
import pytest

import warpsim as wp

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
N = 1000


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = x[i] * factor


def ones():
    return wp.ones(N, dtype=float, device="cuda:0", requires_grad=True)


def rows(profile):
    return {(one.kernel, one.device): one for one in profile.report.launches}


def test_launches_are_timed_by_events_of_the_device(tmp_path):
    x = ones()
    wp.launch(scale, N, [x, 1.0], device="cuda:0")
    with wp.profile(print=False) as profile:
        for _ in range(5):
            wp.launch(scale, N, [x, 2.0], device="cuda:0")
    assert (x.numpy() == 32.0).all()
    one = rows(profile)["scale", "cuda:0"]
    assert one.count == 5 and one.bytes == 5 * 8 * N and one.lanes == 0
    threads = {thread.name: thread.launches for thread in profile.report.threads}
    assert threads.pop("cuda:0") == 5 and set(threads.values()) == {0}
    assert profile.report.parts["submission to devices"] > 0.0
    trace = json.loads(profile.trace(tmp_path / "trace.json").read_text())
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert [names[e["tid"]] for e in trace["traceEvents"] if e["name"] == "scale"] == 5 * ["cuda:0"]
    assert "scale [cuda:0]" in str(profile)


def test_graphs_run_step_by_step_on_a_device():
    x, y = ones(), ones()
    with wp.ScopedCapture(device="cuda:0") as capture:
        for _ in range(3):
            wp.launch(scale, N, [x, 2.0], device="cuda:0")
        wp.copy(y, x)
    with wp.profile(print=False) as profile:
        for _ in range(2):
            wp.capture_launch(capture.graph)
    assert (y.numpy() == 64.0).all() and rows(profile)["scale", "cuda:0"].count == 6
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 512.0).all()


def test_a_backward_on_a_device_is_counted():
    x = ones()
    with wp.profile(print=False) as profile:
        with wp.Tape() as tape:
            wp.launch(scale, N, [x, 3.0], device="cuda:0")
        tape.backward(grads={x: wp.ones(N, dtype=float, device="cuda:0")})
    assert np.allclose(x.grad.numpy(), 3.0)
    counts = {name: one.count for (name, _), one in rows(profile).items()}
    assert counts == {"scale": 1, "scale (adjoint)": 1}


def test_copies_to_the_host_and_waiting_are_counted():
    x = ones()
    with wp.profile(print=False) as profile:
        x.numpy()
        wp.synchronize()
    kinds = {(one.kind, one.name): one.count for one in profile.report.blocks}
    assert kinds["copy", "to the host"] >= 1 and kinds["waiting", "for a device"] >= 1
