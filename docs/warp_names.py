"""Writes the table of Warp's public names in docs/warp.md: `python docs/warp_names.py`.

The names are those of warp-lang where it is installed, else those that the table has.

Tests compare the table with what warpsim has, and with Warp where that is installed.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import warpsim

PAGE = Path(__file__).with_name("warp.md")
BEGIN, END = "<!-- names:begin -->", "<!-- names:end -->"
HERE = "here"

ABSENT = {
    "tiles come later": (
        r"tile_fft|tile_ifft"
    ),
    "buffers and textures of OpenGL come later": r"TextureResourceFlags|GLTextureResource|RegisteredGLBuffer",
    "code compiled ahead of time: the cache on disk is that": (
        r"compile_aot_module|load_aot_module|get_cuda_supported_archs|.*lto_cache|ModuleBuildOptions|build_experimental"
    ),
    "addresses as numbers: kernels have none, see `wp.address_of`": r"address|indexref|index|array_store",
    "memory shared between processes comes later": r".*ipc_handle",
    "interoperation has modules of its own, see README": r".*(jax|Jax|paddle|torch).*",
}
"""Why names are not here, by patterns that match them whole."""


def state_of(name: str) -> str:
    """Whether warpsim has a name of Warp, or why not."""
    try:
        if hasattr(warpsim, name):
            return HERE
    except warpsim.errors.MissingPackageError:  # of a framework that this machine lacks
        return HERE
    return next((why for why, pattern in ABSENT.items() if re.fullmatch(pattern, name)), "not yet")


def table(names: list[str]) -> str:
    """Rows of the table: a state, and the names in it."""
    by_state: dict[str, list[str]] = {}
    for name in sorted(names):
        by_state.setdefault(state_of(name), []).append(name)
    rows = [HERE, *sorted(set(by_state) - {HERE})]
    lines = ["| state | names |", "|---|---|"]
    cells = {state: " ".join(f"`{name}`" for name in by_state.get(state, [])) for state in rows}
    return "\n".join([*lines, *(f"| {state} | {cells[state]} |" for state in rows)])


def listed(page: str) -> dict[str, str]:
    """The names in the table of a page, with their states."""
    rows = [line.split("|") for line in between(page).splitlines() if line.startswith("| ")]
    return {name: row[1].strip() for row in rows[1:] for name in re.findall(r"`(\w+)`", row[2])}


def between(page: str) -> str:
    """The part of the page that the script writes."""
    return page.partition(BEGIN)[2].partition(END)[0].strip()


def names_of_warp() -> list[str]:
    import warp  # noqa: PLC0415 - the peer, which this page is about

    return [name for name in dir(warp) if not name.startswith("_")]


def written(page: str, names: list[str]) -> str:
    """The page with the table made anew."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table(names)}\n{END}{rest.partition(END)[2]}"


def update() -> None:
    """Write the table anew."""
    page = PAGE.read_text(encoding="utf-8")
    names = names_of_warp() if importlib.util.find_spec("warp") else list(listed(page))
    PAGE.write_text(written(page, names), encoding="utf-8")


if __name__ == "__main__":
    update()
