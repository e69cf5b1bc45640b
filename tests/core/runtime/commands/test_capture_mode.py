"""Modes of captures, which scripts name and nothing depends on."""

import pytest

import warpsim as wp
from warpsim.errors import LaunchError


def test_modes_have_the_numbers_of_cuda_and_change_nothing():
    assert {mode.name: int(mode) for mode in wp.CaptureMode} == {"GLOBAL": 0, "THREAD_LOCAL": 1, "RELAXED": 2}
    x = wp.zeros(3, dtype=float)
    for mode in (*wp.CaptureMode, 2):
        with wp.ScopedCapture(capture_mode=mode, apic=True, external=False) as capture:
            x.fill_(float(mode))
        wp.capture_launch(capture.graph)
        assert x.numpy().tolist() == [float(mode)] * 3
        wp.capture_begin(capture_mode=mode, apic=True)
        wp.capture_end()
    for start in (wp.capture_begin, wp.ScopedCapture):
        with pytest.raises(ValueError, match="is not a valid CaptureMode"):
            start(capture_mode=7)
    with pytest.raises(LaunchError, match="no capture is running"):
        wp.capture_end()
