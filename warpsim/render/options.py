"""`SimulationParser`: a command line whose help tells the default and the unit of every option."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

USUAL = {
    "--seconds": "time to simulate [s]",
    "--fps": "frames per simulated second [1/s]",
    "--output": "animation to write: .usd, .usda, .usdc or .usdz",
    "--picture": "picture to write: .png",
    "--device": "where kernels run: cpu, cuda:0, interp",
}
"""What options mean that most simulations have."""


class SimulationParser(argparse.ArgumentParser):
    """An `ArgumentParser` described by the first line of a module's docstring; `USUAL` options need no `help`."""

    def __init__(self, about: str | None, **options: Any):
        super().__init__(description=(about or "").strip().partition("\n")[0], **options)

    def add_argument(
        self, *names: str, help: str = "", above: float | None = None, least: float | None = None,
        most: float | None = None, **options: Any,
    ) -> argparse.Action:  # fmt: skip
        """Add an option as `argparse.ArgumentParser` does; its help ends with the default, if there is one.

        above, least, most: bounds of a number; whoever leaves them is told which option did so.
        """
        if (above, least, most) != (None, None, None):
            options["type"] = bounded_number(options["type"], above, least, most)
        text = help or USUAL.get(names[0], "")
        if options.get("default") not in (None, argparse.SUPPRESS):
            text = f"{text} (default: %(default)s)".strip()
        return super().add_argument(*names, help=text, **options)


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
