"""`SimulationParser`: a command line whose help tells the default and the unit of every option."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..arguments import checked
from ..core.runtime.devices.device import set_device
from ..errors import SceneFileError
from .saves import FREE, read_note

USUAL = {
    "--seconds": "time to simulate [s]",
    "--fps": "frames per simulated second [1/s]",
    "--output": "animation to write: .usd, .usda, .usdc or .usdz",
    "--picture": "picture to write: .png",
    "--device": "where kernels run: cpu, cuda:0, interp",
    "--save-every": "frames between saves; the file is --output with the ending .scene, see docs/long_runs.md",
    "--resume": "go on from this file, which --save-every wrote; with its options, where no others are given",
    "--live": "show it in the browser while it runs, and write no files; at this port the browser is left to you",
}
"""What options mean that most simulations have."""

_SAVED = "saved and gone on from"
_OF_FRAMES = {"--save-every": _SAVED, "--resume": _SAVED, "--live": "shown live"}


class SimulationParser(argparse.ArgumentParser):
    """An `ArgumentParser` described by the first line of a module's docstring; `USUAL` options need no `help`."""

    def __init__(self, about: str | None, **options: Any):
        super().__init__(description=(about or "").strip().partition("\n")[0], **options)

    def add_argument(
        self,
        *names: str,
        help: str = "",
        above: float | None = None,
        least: float | None = None,
        most: float | None = None,
        **options: Any,
    ) -> argparse.Action:
        """Add an option as `argparse.ArgumentParser` does; its help ends with the default, if there is one.

        above, least, most: bounds of a number; whoever leaves them is told which option did so.
        """
        if (above, least, most) != (None, None, None):
            options["type"] = bounded_number(options["type"], above, least, most)
        text = help or USUAL.get(names[0], "")
        if options.get("default") not in (None, argparse.SUPPRESS):
            text = f"{text} (default: %(default)s)".strip()
        return super().add_argument(*names, help=text, **options)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """The options; where `--resume` names a file, those of the run that was saved, unless others are given.

        Ends the process with a message where the file cannot be gone on from, as for any other mistake.
        """
        options = super().parse_args(args, namespace)
        if getattr(options, "live", None) is not None and options.save_every:
            self.error("argument --live: a live run writes no files; leave out --save-every")
        if getattr(options, "resume", None) is not None:
            try:
                note = read_note(options.resume)
            except (OSError, SceneFileError) as error:
                self.error(f"argument --resume: {error}")
            if note["example"] != options.example:
                self.error(f"argument --resume: {options.resume} was saved by {note['example']}, not {options.example}")
            self._adopt(note["options"], options, args)
        return options

    def error(self, message: str) -> NoReturn:
        """End the process with a message; who has no frames to save or to show says so."""
        for option, purpose in _OF_FRAMES.items():
            if message.startswith("unrecognized") and option in message:
                message = f"{message}: this program has no frames that could be {purpose}"
                break
        super().error(message)

    def _adopt(self, saved: dict[str, Any], options: argparse.Namespace, args: Sequence[str] | None) -> None:
        """Take over options of a saved run. Refuses given ones that would make another run of it."""
        absent = object()
        blank = argparse.Namespace(**{action.dest: absent for action in self._actions})
        given_ones = vars(super().parse_args(args, blank))
        for action in self._actions:
            name = action.dest
            if name not in saved or name == "resume":
                continue
            value = _as_option(action, saved[name])
            if given_ones[name] is absent:
                setattr(options, name, value)
            elif name not in FREE and getattr(options, name) != value:
                self.error(f"argument {action.option_strings[0]}: the saved run has {value}\nhelp: leave it out")


def _as_option(action: argparse.Action, value: Any) -> Any:
    """The value of an option as parsing makes it, of one that a file holds."""
    if isinstance(value, list):
        return [_as_option(action, item) for item in value]
    return Path(value) if action.type is Path and isinstance(value, str) else value


def bounded_number(
    number: Callable[[str], float], above: float | None = None, least: float | None = None, most: float | None = None
) -> Callable[[str], float]:
    """The type of an option that is a finite number in bounds."""
    bounds = (("above", above), ("at least", least), ("at most", most))

    def parse(text: str) -> float:
        x = number(text)
        if x - x == 0.0 and (above is None or x > above) and x >= (x if least is None else least):
            if most is None or x <= most:
                return x
        words = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        raise argparse.ArgumentTypeError(f"{text} is not {words}")

    parse.__name__ = number.__name__  # which argparse names for what is no number
    return parse


def add_film_options(parser: argparse.ArgumentParser, name: str, seconds: float, fps: int = 60) -> None:
    """Let a command line choose --seconds, --fps, --output (name.usdc) and --picture (name.png)."""
    parser.add_argument("--seconds", type=bounded_number(float, above=0), default=seconds)
    parser.add_argument("--fps", type=bounded_number(int, above=0), default=fps)
    parser.add_argument("--output", type=Path, default=Path(f"{name}.usdc"))
    parser.add_argument("--picture", type=Path, default=Path(f"{name}.png"))


def film_parser(
    about: str | None, name: str, seconds: float | None = None, fps: int | None = 60, **numbers: Any
) -> SimulationParser:
    """A command line of a program that writes a film of its result: options as of `add_film_options`, and --device.

    seconds, fps: their defaults; None leaves an option out. numbers: further options by name, the default, what it is,
    and the most, if there is one: `marbles=(6, "on the floor")`; they are above zero, integers where their default is
    one.
    """
    parser = SimulationParser(about)
    for option, default in (("--seconds", seconds), ("--fps", fps)):
        if default is not None:
            parser.add_argument(option, type=type(default), above=0, default=default)
    for word, (default, text, *most) in numbers.items():
        bounds = {"above": 0, "most": most[0] if most else None}
        parser.add_argument(f"--{word}", type=type(default), default=default, help=text, **bounds)
    parser.add_argument("--output", type=Path, default=Path(f"{name}.usdc"))
    parser.add_argument("--picture", type=Path, default=Path(f"{name}.png"))
    parser.add_argument("--device", default="cpu")
    return parser


@checked
def film_options(argv: Sequence[str] | None, about: str | None, name: str, **options: Any) -> argparse.Namespace:
    """The options of a command line by `film_parser`; --device becomes the default device of the process."""
    args: argparse.Namespace = film_parser(about, name, **options).parse_args(argv)
    set_device(args.device)
    return args


@checked
def add_save_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Let a command line choose --save-every, --resume and --live, see `Saves`; name: of the program, in files."""
    parser.add_argument("--save-every", type=bounded_number(int, above=0), metavar="N")
    parser.add_argument("--resume", type=Path, metavar="FILE")
    parser.add_argument("--live", type=bounded_number(int, least=0, most=65535), nargs="?", const=0, metavar="PORT")
    parser.set_defaults(example=name)
