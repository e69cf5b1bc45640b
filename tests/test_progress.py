"""Progress of long loops: what logs and terminals are told, and when an estimate is one."""

import io

import pytest

import warpsim as wp
from warpsim import progress as module
from warpsim.core.emit.build import compiling
from warpsim.progress import Estimate, progress


class Clock:
    """Time that passes when the test says so."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    def items(self, seconds):
        """Numbers, one after another, that take so long each."""
        for number, each in enumerate(seconds):
            yield number
            self.now += each


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def told(clock, seconds, capsys, **options):
    """The lines of a loop whose items take so long."""
    for each in progress(seconds, **options):
        clock.now += each
    return capsys.readouterr().err.splitlines()


def test_a_log_hears_of_long_loops_now_and_then(clock, capsys):
    assert told(clock, [0.0, 3.0, *[2.0] * 8], capsys) == [
        "frame 3 of 10",
        "frame 6 of 10, about 8 s left",
        "frame 9 of 10, about 2 s left",
    ]


def test_a_loop_that_goes_on_counts_from_there(clock, capsys):
    assert told(clock, [2.0] * 4, capsys, before=96) == ["frame 99 of 100"]


def test_a_loop_without_a_known_end_tells_how_it_stands(clock, capsys):
    assert told(clock, [3.0] * 4, capsys, unit="sweep", note=lambda: "half done") == ["sweep 2, half done"]


def test_short_loops_say_nothing(capsys):
    assert list(progress([7, 8], "swing")) == [7, 8]
    assert capsys.readouterr().err == ""


def test_a_log_says_that_kernels_are_compiled(clock, capsys):
    for _ in progress(range(3)):
        for _ in range(2):
            with compiling:
                clock.now += 6.0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "frame 0 of 3, compiling",
        "frame 1 of 3",
        "frame 1 of 3, compiling",
        "frame 2 of 3",
        "frame 2 of 3, compiling",
    ]
    assert compiling.listeners == []


def test_time_of_compilations_is_counted_once(clock):
    before = compiling.seconds
    with compiling:
        clock.now += 1.0
        with compiling:
            clock.now += 2.0
    assert compiling.seconds == before + 3.0


def test_compiling_a_kernel_is_heard():
    heard = []
    compiling.listeners.append(heard.append)
    try:

        @wp.kernel
        def double(x: wp.array[float]):
            x[wp.tid()] *= 2.0

        wp.launch(double, 4, [wp.ones(4, dtype=float)])
    finally:
        compiling.listeners.remove(heard.append)
    assert heard[:2] == [True, False] and heard.count(True) == heard.count(False)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_bar_that_says_that_kernels_are_compiled(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(module.sys, "stderr", terminal)
    for _ in progress(range(3)):
        with compiling:
            pass
    seen = terminal.getvalue()
    assert "0/3 frames" in seen and "compiling" in seen
    assert "3/3 frames" in seen.rsplit("\r", 1)[-1] and "compiling" not in seen.rsplit("\r", 1)[-1]


def test_a_terminal_sees_nothing_of_short_loops_of_setting_up(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(module.sys, "stderr", terminal)
    for _ in progress(range(3), "sweep", note=lambda: "words"):
        with compiling:
            pass
    assert terminal.getvalue() == ""


def test_a_closed_stderr_stops_no_compilation(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(module.sys, "stderr", terminal)
    loop = progress(range(2))
    next(loop)
    terminal.close()
    with compiling:
        pass


# ----- estimates ------------------------------------------------------------------------------------


def estimate(*items):
    result = Estimate()
    for item in items:
        result.add(*(item if isinstance(item, tuple) else (item, 0.0)))
    return result.each()


@pytest.mark.parametrize(
    "items",
    [
        (),
        (5.0, 5.0),
        (0.0, 9.0, 0.4),
        (0.0, 9.0, 0.4, 0.4),  # too few
        (0.0, 9.0, 1.0, 2.0),  # halves differ
        (0.0, 9.0, (8.0, 7.0), (6.0, 5.0), (4.0, 3.0)),  # of compilations
    ],
)
def test_no_estimate_before_it_is_one(items):
    assert estimate(*items) is None


def test_an_estimate_is_of_what_items_take_now():
    assert estimate(0.0, 9.0, 1.0, 1.2) == pytest.approx(1.2)
    assert estimate(0.0, 9.0, (8.0, 7.0), 1.0, 1.2) == pytest.approx(1.2)
    assert estimate(0.0, 9.0, *[1.0] * 10, *[1.2] * 10) == pytest.approx(1.2)


def test_an_estimate_hides_where_frames_change_and_comes_back():
    """Three times as long after a tenth of the frames, as cloth that meets a ball."""
    frames, seen = [0.0, 2.0, *[0.1] * 20, *[0.3] * 180], []
    result = Estimate()
    for k, each in enumerate(frames):
        result.add(each, 0.0)
        rest, guess = sum(frames[k + 1 :]), result.each()
        if guess is not None and k + 1 < len(frames):
            seen.append((k, guess * (len(frames) - k - 1) / rest))
    assert all(0.5 < ratio < 2.0 for k, ratio in seen if k > 22) and len(seen) > 100
