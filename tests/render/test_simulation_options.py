"""Command lines of simulations: options have words and defaults, and long loops tell how far they are."""

from pathlib import Path

import pytest

import warpsim as wp
from warpsim.render import SimulationParser, add_film_options, film_options, film_parser


def test_options_of_a_command_line():
    parser = SimulationParser("A drop falls.\n\nMore.")
    add_film_options(parser, "drop", seconds=2.0)
    chosen = parser.parse_args(["--fps", "30"])
    assert (chosen.seconds, chosen.fps) == (2.0, 30)
    assert (chosen.output, chosen.picture) == (Path("drop.usdc"), Path("drop.png"))


def test_help_has_units_and_defaults():
    parser = SimulationParser("A drop falls.\n\nMore.")
    add_film_options(parser, "drop", seconds=2.0)
    parser.add_argument("--mesh", type=Path, help="any file")
    text = " ".join(parser.format_help().split())
    assert "A drop falls. options:" in text and "More" not in text
    assert "--seconds SECONDS time to simulate [s] (default: 2.0)" in text
    assert "--output OUTPUT animation to write: .usd, .usda, .usdc or .usdz (default: drop.usdc)" in text
    assert text.endswith("--mesh MESH any file")


@pytest.mark.parametrize(
    "given, told",
    [
        ("--seconds -1", "argument --seconds: -1 is not above 0"),
        ("--fps 0", "argument --fps: 0 is not above 0"),
        ("--seconds nan", "argument --seconds: nan is not above 0"),
        ("--seconds inf", "--seconds: inf is not above"),
        ("--fps 2.5", "argument --fps: invalid int value: '2.5'"),
        ("--tilt 81", "argument --tilt: 81 is not at least -80 and at most 80"),
        ("--probes 7", "argument --probes: 7 is not at least 8"),
    ],
)
def test_a_number_out_of_bounds_is_told_by_its_option_alone(given, told, capsys):
    parser = SimulationParser("A drop falls.")
    add_film_options(parser, "drop", seconds=2.0)
    parser.add_argument("--tilt", type=float, least=-80, most=80, default=0.0)
    parser.add_argument("--probes", type=int, least=8, default=8)
    with pytest.raises(SystemExit):
        parser.parse_args(given.split())
    assert told in capsys.readouterr().err


def test_a_film_parser_has_options_by_name(capsys):
    parser = film_parser("A drop falls.", "drop", fps=None, drops=(6, "in all"), cfl=(0.5, "c dt / dx [-]", 0.7))
    chosen = parser.parse_args(["--drops", "2"])
    assert vars(chosen) == {
        "drops": 2, "cfl": 0.5, "output": Path("drop.usdc"), "picture": Path("drop.png"), "device": "cpu"
    }  # fmt: skip
    assert "--cfl CFL c dt / dx [-] (default: 0.5)" in " ".join(parser.format_help().split())
    for words, told in ((["--drops", "0"], "0 is not above 0"), (["--cfl", "0.8"], "above 0 and at most 0.7")):
        with pytest.raises(SystemExit):
            parser.parse_args(words)
        assert told in capsys.readouterr().err


def test_the_device_of_film_options_is_the_default():
    device = wp.get_device()
    try:
        args = film_options(["--device", "interp"], "A drop falls.", "drop", seconds=1.0)
        assert str(wp.get_device()) == "interp" and args.seconds == 1.0
    finally:
        wp.set_device(device)
