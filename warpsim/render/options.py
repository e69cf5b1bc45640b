"""`SimulationParser`: a command line whose help tells the default and the unit of every option."""

from __future__ import annotations

import argparse
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

    def add_argument(self, *names: str, help: str = "", **options: Any) -> argparse.Action:
        """Add an option as `ArgumentParser` does; its help ends with the default, if there is one."""
        text = help or USUAL.get(names[0], "")
        if options.get("default") not in (None, argparse.SUPPRESS):
            text = f"{text} (default: %(default)s)".strip()
        return super().add_argument(*names, help=text, **options)


def add_film_options(parser: argparse.ArgumentParser, name: str, seconds: float, fps: int = 60) -> None:
    """Let a command line choose --seconds, --fps, --output (name.usdc) and --picture (name.png)."""
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--fps", type=int, default=fps)
    parser.add_argument("--output", type=Path, default=Path(f"{name}.usdc"))
    parser.add_argument("--picture", type=Path, default=Path(f"{name}.png"))
