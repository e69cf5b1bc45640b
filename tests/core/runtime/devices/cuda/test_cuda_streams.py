"""Streams and events of CUDA devices: what comes after what, and that memory outlives all work that uses it."""

import gc
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DeviceError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = x[i] * factor


@wp.kernel
def copy_to(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


N = 1000


def ones():
    return wp.ones(N, dtype=float, device="cuda:0")


def test_a_stream_runs_its_work_in_order():
    x, s = ones(), wp.Stream("cuda:0")
    wp.synchronize()
    for factor in (2.0, 3.0, 5.0):
        wp.launch(scale, N, [x, factor], stream=s)
    with wp.ScopedStream(s):
        x[:10].fill_(1.0)
        wp.launch(scale, 10, [x, 7.0], device="cuda:0")
    wp.synchronize_stream(s)
    assert s.is_complete
    assert x.numpy()[[0, 9, 10, N - 1]].tolist() == [7.0, 7.0, 30.0, 30.0]


@pytest.mark.parametrize("count", [0, N // 2])
def test_a_copy_follows_the_work_of_the_stream_that_it_names(count):
    x, y, s = ones(), wp.zeros(N, dtype=float, device="cuda:0"), wp.Stream("cuda:0")
    wp.synchronize()
    wp.launch(scale, N, [x, 4.0], stream=s)
    wp.copy(y, x, count=count, stream=s)
    wp.launch(scale, N, [x, 100.0], stream=s)
    wp.synchronize_stream(s)
    assert y.numpy()[[0, N - 1]].tolist() == [4.0, 0.0 if count else 4.0]


def test_streams_wait_for_each_other():
    x, y = ones(), wp.zeros(N, dtype=float, device="cuda:0")
    first, second = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    first.wait_stream(wp.get_stream("cuda:0"))
    wp.launch(scale, N, [x, 4.0], stream=first)
    second.wait_stream(first)
    wp.launch(copy_to, N, [x, y], stream=second)
    wp.synchronize_stream(second)
    assert y.numpy()[N - 1] == 4.0


def test_streams_wait_for_events():
    x, y = ones(), wp.zeros(N, dtype=float, device="cuda:0")
    first, second = wp.Stream("cuda:0"), wp.Stream("cuda:0")
    first.wait_stream(wp.get_stream("cuda:0"))
    wp.launch(scale, N, [x, 4.0], stream=first)
    done = first.record_event()
    wp.launch(scale, N, [x, 100.0], stream=first)
    with wp.ScopedStream(second, sync_enter=False):
        wp.wait_event(done)
        wp.launch(copy_to, 1, [x, y], device="cuda:0")
    wp.synchronize_event(done)
    assert done.is_complete
    second.synchronize()
    assert y.numpy()[0] in (4.0, 400.0)  # never 1
    wp.synchronize()


@pytest.mark.parametrize("sync_enter", [False, True])
def test_scoped_streams_restore_and_order(sync_enter):
    before, s = wp.get_stream("cuda:0"), wp.Stream("cuda:0")
    x = ones()
    wp.synchronize()
    with pytest.raises(ZeroDivisionError), wp.ScopedStream(s, sync_enter=sync_enter, sync_exit=True):
        assert wp.get_stream("cuda:0") is s
        wp.launch(scale, N, [x, 3.0], device="cuda:0")
        raise ZeroDivisionError
    assert wp.get_stream("cuda:0") is before
    wp.launch(scale, N, [x, 5.0], device="cuda:0")  # after what the block did
    assert x.numpy()[0] == 15.0


def test_scoped_streams_make_their_device_current():
    last = wp.get_cuda_devices()[-1]
    s = wp.Stream(last)
    with wp.ScopedDevice("cpu"):
        with wp.ScopedStream(s):
            x = wp.ones(N, dtype=float)
            wp.launch(scale, N, [x, 3.0])
        assert wp.get_device() == "cpu"
    assert x.device is last
    s.synchronize()
    assert x.numpy()[0] == 3.0


def test_set_stream_lasts():
    before, s = wp.get_stream("cuda:0"), wp.Stream("cuda:0")
    x = ones()
    try:
        wp.set_stream(s, "cuda:0", sync=True)
        wp.launch(scale, N, [x, 3.0], device="cuda:0")
        assert wp.get_stream("cuda:0") is s
        assert x.numpy()[0] == 3.0
    finally:
        wp.set_stream(before, sync=True)
    assert x.numpy()[N - 1] == 3.0


def test_priorities_are_those_that_the_driver_has():
    for priority in (-1, 0, 7, -100):
        s, x = wp.Stream("cuda:0", priority=priority), ones()
        s.wait_stream(wp.get_stream("cuda:0"))
        wp.launch(scale, N, [x, 2.0], stream=s)
        s.synchronize()
        assert x.numpy()[0] == 2.0


def test_threads_have_current_streams_of_their_own():
    main, found = wp.get_stream("cuda:0"), {}
    x = ones()
    wp.synchronize()

    def work():
        s = wp.Stream("cuda:0")
        wp.set_stream(s)
        found["stream"], found["mine"] = wp.get_stream("cuda:0"), s
        wp.launch(scale, N, [x, 2.0], device="cuda:0")
        s.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found["stream"] is found["mine"]
    assert wp.get_stream("cuda:0") is main
    assert int(main.cuda_stream) != int(found["mine"].cuda_stream)
    assert x.numpy()[0] == 2.0


def test_a_fresh_thread_may_ask_about_streams_and_events():
    """Nothing is current in it: every call must make the context so."""
    s, e = wp.Stream("cuda:0"), wp.Event("cuda:0", enable_timing=True)
    answers = []

    def work(action):
        answers.append(action())

    actions = [
        lambda: s.record_event(e),
        lambda: s.wait_event(e),
        lambda: e.is_complete,
        lambda: s.is_complete,
        lambda: wp.synchronize_event(e),
        s.synchronize,
        lambda: wp.get_event_elapsed_time(e, e),
        lambda: wp.synchronize_device("cuda:0"),
        lambda: s.wait_stream(wp.get_stream("cuda:0")),
        lambda: wp.get_device("cuda:0").free_memory,
        lambda: wp.Event("cuda:0"),
    ]
    for action in actions:
        thread = threading.Thread(target=work, args=(action,))
        thread.start()
        thread.join()
    assert len(answers) == len(actions)
    assert answers[6] == 0.0


def test_freed_memory_waits_for_all_streams():
    """The pool gives memory on only when work of other streams that read it has been done."""
    wp.synchronize()
    for _ in range(5):
        x, y, s = ones(), wp.zeros(N, dtype=float, device="cuda:0"), wp.Stream("cuda:0")
        s.wait_stream(wp.get_stream("cuda:0"))
        wp.launch(copy_to, N, [x, y], stream=s)
        del x
        wp.full(N, 9.0, dtype=float, device="cuda:0")
        s.synchronize()
        assert y.numpy().tolist() == [1.0] * N


def test_memory_of_a_stream_that_is_gone():
    s = wp.Stream("cuda:0")
    with wp.ScopedStream(s):
        x = ones()
        wp.launch(scale, N, [x, 2.0], device="cuda:0")
    del s
    gc.collect()
    wp.launch(scale, N, [x, 2.0], device="cuda:0")  # comes after what the stream had to do
    assert x.numpy()[0] == 4.0
    del x
    gc.collect()
    wp.synchronize()


def test_foreign_streams_are_used_and_left_alone():
    theirs = wp.Stream("cuda:0")
    ours = wp.Stream("cuda:0", cuda_stream=theirs.cuda_stream)
    assert ours.cuda_stream == theirs.cuda_stream
    x = ones()
    ours.wait_stream(wp.get_stream("cuda:0"))
    wp.launch(scale, N, [x, 2.0], stream=ours)
    del ours
    gc.collect()
    wp.launch(scale, N, [x, 2.0], stream=theirs)
    theirs.synchronize()
    assert x.numpy()[0] == 4.0


def test_times_between_events():
    x = ones()
    start, end = (wp.Event("cuda:0", enable_timing=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="not recorded"):
        wp.get_event_elapsed_time(start, end)
    wp.record_event(start)
    for _ in range(10):
        wp.launch(scale, N, [x, 1.0], device="cuda:0")
    wp.record_event(end)
    assert 0.0 <= wp.get_event_elapsed_time(start, end) < 60_000.0
    plain = wp.record_event(wp.Event("cuda:0"))
    with pytest.raises(DeviceError, match="enable_timing=True"):
        wp.get_event_elapsed_time(start, plain)


def test_what_does_not_belong_together_is_refused():
    other = wp.Stream("cpu")
    x = ones()
    with pytest.raises(DeviceError, match="the stream is one of cpu"):
        wp.launch(scale, N, [x, 2.0], device="cuda:0", stream=other)
    with pytest.raises(DeviceError, match="the event is one of cuda:0"):
        other.record_event(wp.Event("cuda:0"))
    with pytest.raises(DeviceError, match="the stream is one of cpu"):
        wp.set_stream(other, "cuda:0")


def test_the_host_waits_where_its_stream_is_told_to():
    x, s = ones(), wp.Stream("cuda:0")
    s.wait_stream(wp.get_stream("cuda:0"))
    wp.launch(scale, N, [x, 2.0], stream=s)
    wp.get_stream("cpu").wait_stream(s)
    assert s.is_complete


def test_two_devices_work_side_by_side():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two devices")
    a, b = (wp.ones(N, dtype=float, device=f"cuda:{k}") for k in range(2))
    for _ in range(3):
        wp.launch(scale, N, [a, 2.0], device="cuda:0")
        wp.launch(scale, N, [b, 3.0], device="cuda:1")
    other = wp.Stream("cuda:1")
    other.wait_stream(wp.get_stream("cuda:0"))
    other.wait_stream(wp.get_stream("cuda:1"))
    wp.launch(scale, N, [b, 5.0], stream=other)
    wp.get_stream("cuda:1").wait_stream(other)
    wp.synchronize()
    assert (a.numpy()[0], b.numpy()[0]) == (8.0, 135.0)
    with wp.ScopedDevice("cuda:1"):
        assert wp.get_stream().device == wp.get_device("cuda")
        assert str(wp.zeros(1, dtype=float).device) == "cuda:1"


def test_timers_wait_for_devices_that_nobody_named(capsys):
    x = wp.ones(N, dtype=float, device=wp.get_cuda_devices()[-1])
    s = wp.Stream(x.device)
    s.wait_stream(wp.get_stream(x.device))
    wp.launch(scale, N, [x, 2.0], stream=s)
    with wp.ScopedTimer("work", synchronize=True) as timer:
        wp.launch(scale, N, [x, 2.0], stream=s)
    assert s.is_complete
    assert timer.elapsed >= 0.0
    assert "work took" in capsys.readouterr().out
    assert np.all(x.numpy() == 4.0)
