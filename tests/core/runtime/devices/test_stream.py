"""Streams and events on the CPU: launches are finished when they return, events are moments."""

import time

import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError

pytestmark = pytest.mark.cpu(reason="streams of the host; those of CUDA have tests of their own")


@wp.kernel
def count(out: wp.array(dtype=int)):
    wp.atomic_add(out, 0, 1)


def test_launches_on_a_stream_are_finished():
    out = wp.zeros(1, dtype=int)
    stream = wp.Stream("cpu")
    wp.launch(count, dim=10, inputs=[out], stream=stream)
    assert out.numpy()[0] == 10
    assert stream.is_complete
    wp.synchronize_stream(stream)
    wp.synchronize()
    wp.synchronize_device("cpu")


def test_launches_follow_the_device_of_the_stream():
    out = wp.zeros(1, dtype=int)
    assert isinstance(wp.launch(count, dim=3, inputs=[out], stream=wp.Stream("interp"), record_cmd=True), wp.Launch)
    wp.launch(count, dim=3, inputs=[out], stream=wp.Stream("interp"))
    assert out.numpy()[0] == 3


def test_one_current_stream_per_device():
    assert wp.get_stream("cpu") is wp.get_stream()
    assert wp.get_stream("interp") is not wp.get_stream("cpu")
    assert str(wp.get_stream("interp").device) == "interp"
    before, other = wp.get_stream(), wp.Stream()
    wp.set_stream(other)
    assert wp.get_stream() is other
    wp.set_stream(before, "cpu")
    assert wp.get_stream() is before


def test_scoped_streams_nest_and_restore():
    before, first, second = wp.get_stream(), wp.Stream(), wp.Stream()
    with wp.ScopedStream(first) as entered:
        assert entered is first
        with wp.ScopedStream(second):
            assert wp.get_stream() is second
        assert wp.get_stream() is first
        with wp.ScopedStream(None) as nothing:
            assert nothing is None
            assert wp.get_stream() is first
    assert wp.get_stream() is before
    with pytest.raises(ZeroDivisionError), wp.ScopedStream(first):
        raise ZeroDivisionError
    assert wp.get_stream() is before


def test_events_measure_time():
    start, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
    assert wp.record_event(start) is start
    time.sleep(0.02)
    wp.record_event(end)
    wp.synchronize_event(end)
    assert 20.0 <= wp.get_event_elapsed_time(start, end) < 10_000.0
    assert end.is_complete
    made = wp.get_stream().record_event()
    assert wp.get_event_elapsed_time(end, made) >= 0.0


def test_waiting_is_over_at_once():
    first, second = wp.Stream(), wp.Stream()
    event = first.record_event()
    second.wait_event(event)
    second.wait_stream(first)
    wp.wait_event(event)
    wp.wait_stream(first)
    assert second.is_complete


def test_a_stream_knows_whether_a_graph_of_its_device_is_captured():
    stream, other = wp.Stream("cpu"), wp.Stream("interp")
    assert not stream.is_capturing
    with wp.ScopedCapture("cpu"):
        assert stream.is_capturing and wp.get_stream("cpu").is_capturing and not other.is_capturing
    assert not stream.is_capturing


def test_a_device_makes_itself_current():
    device = wp.get_device("cpu")
    assert not device.has_stream
    with wp.ScopedDevice("interp"):
        device.make_current()
        assert wp.get_device() is device


def test_parameters_have_the_names_by_which_scripts_for_warp_pass_them():
    event, other = wp.record_event(event=None, external=False), wp.Stream("cpu")
    wp.wait_event(event=event, external=False)
    wp.wait_stream(other_stream=other, event=event, external=False)
    other.wait_stream(other_stream=wp.get_stream("cpu"))
    other.record_event(event=event, external=False)
    other.wait_event(event=event, external=True)
    wp.synchronize_stream(stream_or_device="cpu")
    assert wp.get_event_elapsed_time(start_event=event, end_event=wp.record_event(), synchronize=True) >= 0.0
    assert wp.is_device_available(device="cpu") and not wp.is_device_available(device="tpu")


def test_events_that_were_not_recorded():
    with pytest.raises(RuntimeError, match=r"an event was not recorded\nhelp: call wp.record_event"):
        wp.get_event_elapsed_time(wp.Event(), wp.record_event())


def test_unknown_devices():
    with pytest.raises(DeviceError, match="unknown device 'tpu'"):
        wp.Stream("tpu")
    cure = r"is not available(.|\n)*device=\"cpu\"|does not exist\nexpected: cuda:0"
    with pytest.raises(DeviceError, match=rf"'cuda:99' ({cure})"):
        wp.Event("cuda:99")


def test_copies_take_streams_and_refuse_what_is_none():
    x = wp.zeros(3, dtype=float)
    wp.copy(x, wp.ones(3, dtype=float), stream=wp.Stream())
    assert x.numpy().tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ArgumentTypeError, match=r"stream is 3 \(int\)\nexpected: warpsim\.Stream"):
        wp.copy(x, x, stream=3)


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_a_device_has_a_current_stream(name):
    device, first = wp.get_device(name), wp.get_stream(name)
    assert device.stream is first
    other = wp.Stream(name)
    try:
        device.set_stream(other)
        assert device.stream is other is wp.get_stream(name)
        with wp.ScopedStream(third := wp.Stream(name)):
            assert device.stream is third
        device.stream = first
        assert wp.get_stream(name) is first
        device.set_stream(other, sync=False)
    finally:
        device.set_stream(first)
    with pytest.raises(DeviceError, match="expected"):
        device.set_stream(wp.Stream("interp" if name == "cpu" else "cpu"))
    with pytest.raises(ArgumentTypeError, match="stream is None"):
        device.stream = None
    assert device.stream is first
