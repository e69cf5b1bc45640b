"""`ScopedTimer`: what it prints, what it knows when its block is over, and scopes on tapes."""

import re
import time

import pytest

import warpsim as wp

LINE = re.compile(r"^( *)(\w+) took (\d+\.\d\d) ms(?: (.*))?$")


def test_the_time_is_printed_and_kept(capsys):
    timer = wp.ScopedTimer("nap")
    assert timer.elapsed == 0.0
    with timer as inside:
        assert inside is timer
        time.sleep(0.02)
    [line] = capsys.readouterr().out.splitlines()
    assert LINE.match(line).groups() == ("", "nap", f"{timer.elapsed:.2f}", None)
    assert 20.0 <= timer.elapsed < 2000.0 and timer.timing_results == []


def test_timers_in_timers_are_indented(capsys):
    with wp.ScopedTimer("outer"), wp.ScopedTimer("inner") as inner:
        inner.extra_msg = "(3 steps)"
    first, second = (LINE.match(line).groups() for line in capsys.readouterr().out.splitlines())
    assert (first[0], first[1], first[3]) == ("    ", "inner", "(3 steps)")
    assert (second[0], second[1], second[3]) == ("", "outer", None)


def test_times_are_collected_by_name(capsys):
    times = {}
    for name in ("a", "b", "a"):
        with wp.ScopedTimer(name, print=False, dict=times):
            pass
    assert {name: len(values) for name, values in times.items()} == {"a": 2, "b": 1}
    assert all(value >= 0.0 for values in times.values() for value in values)
    assert capsys.readouterr().out == ""


def test_an_inactive_timer_measures_nothing(capsys):
    times = {}
    with wp.ScopedTimer("off", active=False, dict=times, detailed=True, synchronize=True) as timer:
        pass
    assert (timer.elapsed, times, capsys.readouterr().out) == (0.0, {}, "")


def test_a_profile_of_python(capsys):
    def slow():
        return sorted(range(1000))

    with wp.ScopedTimer("profile", detailed=True):
        slow()
    text = capsys.readouterr().out
    assert "function calls" in text and "(slow)" in text and "profile took" in text


def test_options_are_kept_and_those_of_cuda_do_no_harm(capsys):
    def report(results, indent):
        pytest.fail("there is nothing to report")

    options = {"use_nvtx": True, "color": "blue", "cuda_filter": wp.TIMING_ALL, "report_func": report}
    with wp.ScopedTimer("cuda", synchronize=True, detailed=False, skip_tape=True, **options) as timer:
        wp.zeros(3)
    assert {name: getattr(timer, name) for name in options} == options
    assert (timer.synchronize, timer.detailed, timer.skip_tape, timer.print) == (True, False, True, True)
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("skip", [False, True])
def test_scopes_on_tapes(skip):
    @wp.kernel
    def one(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    with wp.Tape() as tape, wp.ScopedTimer("step", print=False, skip_tape=skip):
        wp.launch(one, 2, [wp.zeros(2)])
    assert [scope.name for scope in tape.scopes] == ([] if skip else ["step", None])


def test_an_exception_ends_the_block(capsys):
    with pytest.raises(ZeroDivisionError), wp.ScopedTimer("broken"):
        raise ZeroDivisionError
    with wp.ScopedTimer("next"):
        pass
    assert [LINE.match(line)[1] for line in capsys.readouterr().out.splitlines()] == ["", ""]
