"""What `warpsim run` tells of examples: all are listed, each with a time, and each with help for every option."""

import re
import sys

import pytest

from warpsim import gallery
from warpsim.render import SimulationParser

NAMES = sorted(gallery.examples())


@pytest.fixture
def load(monkeypatch):
    """An example, or one of the files about them, as a module that is gone after the test."""

    def loaded(path):
        monkeypatch.setitem(sys.modules, f"warpsim_example_{path.stem}", None)  # so that it is restored
        return gallery.load_example(path)

    return loaded


def test_every_example_has_a_time_below_a_minute_on_two_cores(load):
    times = load(gallery.examples()["wave"].with_name("_times.py"))
    assert sorted(times.SECONDS) == NAMES
    assert [name for name, (alone, shared) in times.SECONDS.items() if alone + shared / 2 >= 60.0] == []


@pytest.mark.parametrize("threads", [1, 8])
def test_times_follow_the_speed_of_the_machine(load, monkeypatch, threads):
    times = load(gallery.examples()["wave"].with_name("_times.py"))
    monkeypatch.setattr(gallery.pool, "get_pool", lambda: type("Pool", (), {"threads": threads}))
    monkeypatch.setattr(gallery, "probe", lambda: 2.0 * times.PROBE)
    alone, shared = times.SECONDS["wave"]
    expected = 2.0 * (alone + shared / threads)
    assert gallery.estimates(gallery.examples())["wave"] == pytest.approx(expected)
    assert gallery.estimates({}) == {}


def test_a_probe_takes_time():
    assert 0.0 < gallery.probe() < 10.0


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(load, monkeypatch, name):
    if name.endswith("_mpi"):
        pytest.importorskip("mpi4py")
    options = []

    def note(parser, arguments=None):
        options.extend(parser._actions)
        raise SystemExit

    monkeypatch.setattr(SimulationParser, "parse_args", note)
    with pytest.raises(SystemExit):
        load(gallery.examples()[name]).main([])
    assert len(options) > 2
    for option in options:
        assert option.help and not option.help.startswith("("), f"{option.option_strings[0]} of {name} needs words"
        assert option.default in (None, "==SUPPRESS==") or "(default: %(default)s)" in option.help
        assert option.type is not float or re.search(r"\[.+\]", option.help), f"unit of {option.option_strings[0]}?"


def test_assets_are_there():
    assert gallery.asset("ring.usda").is_file() and gallery.asset("cloth_sheet.usda").is_file()
