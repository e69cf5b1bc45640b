"""Options of kernels and modules: which there are, and what they are where nobody set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....config import check_lanes, config, further_options
from ....errors import instance

SHAPING = ("fast_math", "max_unroll", "verify", "deterministic", "enable_backward", "lineinfo", "lanes")
"""Options with an effect, which are switches of `config` too."""


def check_options(options: dict[str, Any]) -> None:
    """Raises `ValueError` for an option that does not exist, and `WarpsimError` for a value that there is not."""
    instance(options, Mapping, "options")
    unknown = set(options) - set(SHAPING) - set(further_options)
    if unknown:
        known = ", ".join((*SHAPING, *further_options))
        raise ValueError(f"unknown option {sorted(unknown)[0]!r}\nexpected: {known}")
    if options.get("lanes") is not None:
        check_lanes(options["lanes"], "the option lanes")


def option(name: str, *places: dict[str, Any]) -> Any:
    """The value of an option: of the first place that says it (None says nothing), else of `config`."""
    for place in places:
        if place.get(name) is not None:
            return place[name]
        if name == "verify" and place.get("mode") is not None:
            return place["mode"] == "debug"
    return getattr(config, name, further_options.get(name)) or (name == "verify" and config.mode == "debug")


class Defaults(Mapping[str, Any]):
    """The values of options that nobody set: those of `config` now."""

    def __getitem__(self, name: str) -> Any:
        return getattr(config, name) if name in SHAPING else further_options[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*SHAPING, *further_options))

    def __len__(self) -> int:
        return len(SHAPING) + len(further_options)
