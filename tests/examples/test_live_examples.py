"""Every example with frames runs live: what it draws is shown, a reset begins the very same run, sliders change it."""

import json
import urllib.request

import pytest
from test_resumed_examples import KILLED, SMALL, options

from warpsim import cli, gallery
from warpsim.viewer import LiveView, live_view

WITH_SLIDERS = ("cloth_drop", "flag", "dem_grains", "ocean")


class Stop(Exception):
    pass


def bits(view):
    """All that is drawn, as it is."""
    shot = view.shot()
    moments = [(body.name, shot.moment(body, 0)) for body in shot.bodies]
    return [(name, [None if a is None else a.tobytes() for a in vars(moment).values()]) for name, moment in moments]


def run_live(name, folder, monkeypatch, passes, at_end=lambda view: None):
    """What is drawn in each frame, pass by pass: from the first frame to the last, then a reset."""
    seen, tell = [[]], LiveView._tell

    def note(view, number, is_last):
        tell(view, number, is_last)
        if view._is_drawn:
            seen[-1].append((number, bits(view)))
        if is_last and len(seen) == passes:
            raise Stop
        if is_last:
            at_end(view)
            seen.append([])
            view._exchange.reset = True

    monkeypatch.setattr(LiveView, "_tell", note)
    monkeypatch.setattr(live_view.webbrowser, "open", lambda url: True)
    with pytest.raises(Stop):
        gallery.load_example(gallery.examples()[name]).main(options(folder, name, "--live"))
    return seen


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in KILLED else pytest.mark.slow) for n in SMALL])
def test_an_example_begins_anew_bit_for_bit(name, tmp_path, monkeypatch, capsys):
    first, again = run_live(name, tmp_path, monkeypatch, 2)
    assert len(first) > 2 and first[0][1] != first[-1][1]
    for (number, drawn), (other, other_drawn) in zip(first, again, strict=True):
        assert number == other and drawn == other_drawn, f"frame {number} is another one after a reset"
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out.startswith(f"{name} is shown at http://127.0.0.1:")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in KILLED else pytest.mark.slow) for n in WITH_SLIDERS])
def test_its_sliders_change_it(name, tmp_path, monkeypatch):
    """Each of them, from its value to its upper bound and back."""
    settings = []

    def next_setting(view):
        if not settings:
            settings.extend({k: slider.high} for k, slider in enumerate(view._sliders))
            settings.append({k: slider.value for k, slider in enumerate(view._sliders)})
        chosen = {k: slider.value for k, slider in enumerate(view._sliders)} | settings.pop(0)
        view._exchange.slides = chosen

    count = {"cloth_drop": 2, "dem_grains": 2}.get(name, 1)
    first, *others, last = run_live(name, tmp_path, monkeypatch, count + 2, next_setting)
    assert len(others) == count and all(other[-1] != first[-1] for other in others)
    assert [number for number, _ in last] == [number for number, _ in first]
    if name != "cloth_drop":  # whose compliance comes back as a product
        assert last == first


def test_who_has_no_frames_says_so(capsys):
    with pytest.raises(SystemExit):
        cli.main(["run", "spring_cage", "--live"])
    assert "this program has no frames that could be shown live" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--live", "--save-every", "3"], ["--live", "70000"], ["--live", "-1"], ["--live", "x"]]
)
def test_command_lines_that_are_none(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as error:
        cli.main(["run", "flag", *options(tmp_path, "flag", *words)])
    assert error.value.code == 2 and "argument --live" in capsys.readouterr().err


def test_a_live_run_goes_on_from_a_save(tmp_path, monkeypatch):
    """It begins where the saved run stands, and a reset leads there."""
    flag = gallery.load_example(gallery.examples()["flag"])
    flag.main(options(tmp_path, "flag", "--save-every", "5"))
    seen, tell = [], LiveView._tell

    def note(view, number, is_last):
        tell(view, number, is_last)
        seen.append((number, bits(view)))
        view._exchange.reset = is_last
        if len(seen) == 6:
            raise Stop

    monkeypatch.setattr(LiveView, "_tell", note)
    monkeypatch.setattr(live_view.webbrowser, "open", lambda url: True)
    with pytest.raises(Stop):
        flag.main(["--resume", str(tmp_path / "a.scene"), "--live"])
    assert [number for number, _ in seen] == [10, 11, 12, 10, 11, 12] and seen[:3] == seen[3:]


def test_a_port_that_is_chosen_opens_no_browser(tmp_path, monkeypatch, capsys):
    opened = []

    def ask(view, number, is_last):
        told = json.loads(urllib.request.urlopen(f"{view.url}news/0/0/0").read()[4:].partition(b"}")[0] + b"}")
        assert told["paused"] is False
        raise Stop

    server = live_view.live(browser=False)
    port = server.url.split(":")[2].split("/")[0]
    server.close()
    monkeypatch.setattr(LiveView, "_tell", ask)
    monkeypatch.setattr(live_view.webbrowser, "open", opened.append)
    with pytest.raises(Stop):
        cli.main(["run", "wave", *options(tmp_path, "wave", "--live", port)])
    assert opened == [] and f":{port}/" in capsys.readouterr().out
