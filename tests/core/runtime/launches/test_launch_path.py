"""The inputs of a launch pass through few files: who reads how they become a call need not read more."""

import sys
from pathlib import Path

import pytest

import warpsim as wp
from warpsim.core.runtime.launches.launcher import LaunchCall
from warpsim.core.runtime.steps.launch import LaunchStep

PACKAGE = Path(wp.__file__).parent
AT_MOST = 13
FUNCTIONS, FILES = 60, 20  # of all ways together: at once, on a tape, as a command, in a graph


def functions_passed(call, *inputs):
    """Functions of the package that are given an input, alone or in a list, a `LaunchCall` or a step: file and line."""

    def carries(value, depth=2):
        if isinstance(value, list | tuple) and not isinstance(value, LaunchCall) and depth:
            return any(carries(v, depth - 1) for v in value)
        return isinstance(value, LaunchCall | LaunchStep) or any(value is x for x in inputs)

    def look(frame, event, _):
        code = frame.f_code
        arguments = code.co_varnames[: code.co_argcount]
        if event == "call" and any(carries(frame.f_locals.get(name)) for name in arguments):
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE) and path.name != "forks.py":  # which stands for functools
                passed.add((path.relative_to(PACKAGE).as_posix(), code.co_firstlineno))

    passed = set()
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return passed


def files_passed(call, *inputs):
    """Their files."""
    return {file for file, _ in functions_passed(call, *inputs)}


@pytest.fixture
def kernel():
    """Fresh, so that its first launch compiles."""

    @wp.kernel
    def scaled(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    return scaled


def test_from_the_first_launch_to_one_on_a_tape(kernel):
    x, y = (wp.zeros(5000, dtype=float, requires_grad=True, device="cpu") for _ in range(2))

    def launch():
        wp.launch(kernel, 5000, inputs=[x, y, 2.0], device="cpu")

    def recorded():
        with wp.Tape():
            launch()

    first, again, taped = (files_passed(call, x, y) for call in (launch, launch, recorded))
    assert "core/runtime/launch.py" in again and again <= first and len(again) <= 3, again
    assert "core/runtime/tape/recording.py" in taped
    assert len(first | taped) <= AT_MOST, sorted(first | taped)


@pytest.mark.cpu(reason="captures a graph on the CPU")
def test_all_ways_of_a_launch_together(kernel):
    x, y = (wp.zeros(5000, dtype=float, requires_grad=True, device="cpu") for _ in range(2))

    def launch(**options):
        return wp.launch(kernel, 5000, inputs=[x, y, 2.0], device="cpu", **options)

    def recorded():
        with wp.Tape():
            launch()

    def captured():
        with wp.ScopedCapture(device="cpu") as capture:
            launch()
        wp.capture_launch(capture.graph)

    ways = (launch, launch, recorded, lambda: launch(record_cmd=True).launch(), captured)
    passed = set().union(*(functions_passed(way, x, y) for way in ways))
    assert len(passed) <= FUNCTIONS and len({file for file, _ in passed}) <= FILES, sorted(passed)
