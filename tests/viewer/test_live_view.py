"""Live views: what browsers ask for happens between frames, a reset is exact, and nothing waits for a browser."""

import socket
import threading
import time
import types

import numpy as np
import pytest
from live_client import GRAINS, Client, Grains

from warpsim.errors import ArgumentTypeError, SceneFileError
from warpsim.solvers import Scene
from warpsim.viewer import Slider, ViewError, live, live_view


@pytest.fixture
def grains():
    return Grains()


@pytest.fixture
def view(grains):
    sliders = [Slider("gravity [m/s^2]", 9.81, 0.0, 20.0, grains.pull)]
    with live(grains.scene, fps=100.0, sliders=sliders, speed=None, browser=False) as view:
        yield view


def run(grains, view, frames, at=()):
    """The bits after each frame, and its number; at: what happens in which iteration, while a frame is simulated."""
    at, seen = dict(at), []
    for number in view.frames(range(frames), stay=False):
        if number:
            grains.step()
        grains.draw(view)
        seen.append((number, grains.bits()))
        at.get(len(seen) - 1, lambda: None)()
    return seen


def alone(frames, before=()):
    """The same without a view; before: what happens before which frame."""
    grains, before, seen = Grains(), dict(before), []
    for number in range(frames):
        before.get(number, lambda grains: None)(grains)
        if number:
            grains.step()
        seen.append((number, grains.bits()))
    return seen


@pytest.fixture
def in_background(grains, view):
    """Runs without end beside the test."""
    errors = []

    def work():
        try:
            for number in view.frames():
                if number:
                    grains.step()
                grains.draw(view)
                if view._exchange.closed:
                    return
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    yield view
    Client(view).do("play")
    view.close()
    thread.join(30)
    assert not errors and not thread.is_alive()


# ----- the simulation -----------------------------------------------------------------------------


def test_a_view_changes_no_bit(grains, view):
    client = Client(view)
    asking = threading.Thread(target=client.watch)
    asking.start()
    assert run(grains, view, 12) == alone(12)
    view.close()
    asking.join(30)
    assert client.header["bodies"][0]["count"] == GRAINS


def test_a_reset_is_exact(grains, view):
    client = Client(view)
    seen = run(grains, view, 9, {7: lambda: client.do("reset"), 10: lambda: client.do("reset")})
    expected = alone(9)
    assert seen == [*expected[:8], *expected[:3], *expected]


def test_sliders_are_set_between_frames(grains, view):
    client = Client(view)
    answers = []
    seen = run(grains, view, 8, {3: lambda: answers.append(client.do("slide", slider=0, value=2.5))})
    assert answers == [(200, {})]
    assert seen == alone(8, {4: lambda grains: grains.pull(2.5)})
    assert seen[4:] != alone(8)[4:]


def test_of_many_values_the_last_one_is_set(grains, view):
    client, values = Client(view), []
    object.__setattr__(view._sliders[0], "set", values.append)
    run(grains, view, 3, {1: lambda: [client.do("slide", slider=0, value=v) for v in (1.0, 2.0, 3.0)]})
    assert values == [3.0]


def test_a_reset_leaves_sliders_where_they_are(grains, view):
    client = Client(view)
    moments = {2: lambda: client.do("slide", slider=0, value=1.0), 5: lambda: client.do("reset")}
    seen = run(grains, view, 7, moments)
    assert seen[6:] == alone(7, {0: lambda grains: grains.pull(1.0)})
    assert client.until(lambda told: True)["sliders"] == [1.0]


def test_pause_and_single_steps(in_background):
    client = Client(in_background)
    client.do("pause")
    held = client.until(lambda told: told["paused"])["frame"]
    time.sleep(0.1)
    client.do("speed", factor=0)  # makes news
    held = max(held, client.news()["frame"])
    for k in (1, 2, 3):
        client.do("step")
        assert client.until(lambda told, k=k: told["frame"] >= held + k)["frame"] == held + k
    client.do("speed", factor=0)
    time.sleep(0.1)
    assert client.news()["frame"] == held + 3
    client.do("play")
    assert client.until(lambda told: told["frame"] > held + 5)["paused"] is False


def test_a_reset_while_it_is_paused_shows_the_first_frame(in_background, grains):
    client = Client(in_background)
    client.until(lambda told: told["frame"] > 3)
    client.do("pause")
    client.until(lambda told: told["paused"])
    client.do("reset")
    told = client.until(lambda told: told["frame"] == 0 and "shot" in told)
    assert told["paused"] and told["time"] == 0.0
    found, extent = client.points()
    np.testing.assert_allclose(found, Grains().state.particle_q.numpy(), atol=extent / 65535)


def test_the_last_frame_stays_until_a_reset(grains, view):
    client, numbers = Client(view), []

    def ask():
        client.until(lambda told: told["ended"])
        client.do("reset")

    asking = threading.Thread(target=ask)
    asking.start()
    frames = view.frames(range(10, 13))
    for number in frames:
        numbers.append(number)
        grains.draw(view)
        if len(numbers) == 6:
            break
    assert numbers == [10, 11, 12] * 2
    asking.join(30)


def test_speed_is_by_real_time(grains):
    with live(grains.scene, fps=100.0, speed=4.0, browser=False) as view:
        begin = time.perf_counter()
        for _ in view.frames(range(41), stay=False):
            grains.draw(view)
        took = time.perf_counter() - begin
        assert took > 0.09
        assert Client(view).do("speed", factor=0.5) == (200, {})
        assert view._exchange.status["speed"] == 0.5


def test_frames_without_a_picture_are_passed_through_while_paused(grains, view):
    """As of a sea whose foam comes before its first picture."""
    Client(view).do("pause")
    numbers = []
    for number in view.frames(range(-3, 2), stay=False):
        numbers.append(number)
        if number >= 0:
            grains.draw(view)
            Client(view).do("play")
    assert numbers == [-3, -2, -1, 0, 1]


def test_what_nobody_looks_at_is_not_copied(grains, view):
    """But for the first frame, which tells where the camera stands."""
    run(grains, view, 5)
    assert view._shots == 1


def test_numbers_that_are_not_finite_are_told_and_end_with_a_reset(in_background, grains):
    client = Client(in_background)
    client.until(lambda told: told["frame"] > 2)
    client.do("pause")
    client.until(lambda told: told["paused"] and "shot" in told)
    grains.state.particle_q.assign(np.full((GRAINS, 3), np.nan, np.float32))
    in_background._is_new = True
    client.do("speed", factor=0)
    told = client.until(lambda told: told["message"])
    assert "grains positions: found nan in row 0" in told["message"] and told["paused"]
    client.do("reset")
    assert client.until(lambda told: told["frame"] == 0 and not told["message"])["paused"]


# ----- browsers that are slow -----------------------------------------------------------------------


def test_a_browser_that_does_not_read_holds_nothing_up(view, grains):
    """Its frame is larger than what the system takes for it."""

    points = np.random.default_rng(0).uniform(size=(400_000, 3)).astype(np.float32)
    host, port = view.url.split("/")[2].split(":")
    path = "/" + view.url.split("/", 3)[3] + "news/0/0/0"
    deaf = []
    for _ in range(4):
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        deaf.append(connection)
    deadline = time.monotonic() + 60.0
    count = 0
    for number in view.frames(range(2000), stay=False):
        count = number + 1
        view.frame()
        view.points("points", points, 0.01)
        assert time.monotonic() < deadline
    assert count == 2000
    assert 1 <= view._shots < 20
    for connection in deaf:
        connection.close()


def test_copies_take_a_small_part_of_the_time(grains):
    """However often somebody asks: time of the processor, which a busy machine does not change much."""
    points = np.random.default_rng(0).uniform(size=(100_000, 3)).astype(np.float32)
    with live(grains.scene, speed=None, browser=False) as view:
        client = Client(view)
        asking = threading.Thread(target=client.watch)
        asking.start()
        show, spent = view._show, []

        def measured():
            begin = time.perf_counter()
            show()
            spent.append(time.perf_counter() - begin)

        view._show = measured
        begin = time.perf_counter()
        for _ in view.frames():
            view.frame()
            view.points("points", points, 0.01)
            time.sleep(0.002)  # a step
            if time.perf_counter() - begin > 3.0:
                break
        took = time.perf_counter() - begin
        view.close()
        asking.join(30)
    assert len(spent) > 3 and sum(spent[1:]) < 0.05 * took


# ----- refusals and notebooks ------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [
    (1.0, 2.0, 3.0), (2.0, 1.0, 1.0), (float("nan"), 0.0, 1.0), (0.0, 0.0, float("inf")), ("x", 0.0, 1.0),
    (1.0, 1.0, 1.0),
])  # fmt: skip
def test_sliders_that_are_none(numbers):
    with pytest.raises(ViewError, match="expected: finite numbers, low <= value <= high, low < high"):
        Slider("wind", *numbers, print)


def test_views_that_cannot_be(grains):
    one = Slider("wind", 0.0, 0.0, 1.0, print)
    for options, error in (
        ({"sliders": [one, one]}, ViewError), ({"speed": 0.0}, ViewError), ({"speed": float("nan")}, ViewError),
        ({"up_axis": "X"}, ViewError), ({"fps": 0.0}, ValueError), ({"port": -1}, ArgumentTypeError),
        ({"sliders": [1]}, ArgumentTypeError), ({"fps": "x"}, ArgumentTypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            live(grains.scene, browser=False, **options)
    with pytest.raises(ViewError, match="expected: text, callable"):
        Slider("wind", 0.0, 0.0, 1.0, None)
    with live(Scene(law=lambda x: x), browser=False) as view, pytest.raises(SceneFileError, match="law is a function"):
        next(view.frames())


def test_a_view_without_a_scene_has_neither_reset_nor_hand():
    with live(speed=None, browser=False) as view:
        client, numbers = Client(view), []
        for number in view.frames(range(4), stay=False):
            view.frame()
            view.sphere("ball", (0.0, 0.0, 0.0), 0.1)
            numbers.append(number)
            client.do("reset")
        assert numbers == [0, 1, 2, 3]
        assert '"resets": false' in view._server._page.decode() and '"drags": false' in view._server._page.decode()


def test_the_browser_is_opened_by_a_file_of_this_user_alone(grains, monkeypatch):
    opened = []
    monkeypatch.setattr(live_view.webbrowser, "open", opened.append)
    with live(grains.scene) as view:
        path = opened[0].removeprefix("file://")
        assert view.url not in opened[0] and view.url in live_view.Path(path).read_text()
        assert live_view.Path(path).stat().st_mode & 0o077 == 0


def test_a_notebook_shows_it_below_the_cell(grains, monkeypatch):
    shown = []
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(live_view.sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(live_view.sys.modules, "IPython.display", types.SimpleNamespace(display=shown.append))
    with live(grains.scene) as view:
        assert shown == [view]
        assert f'<iframe src="{view.url}"' in view._repr_html_()
