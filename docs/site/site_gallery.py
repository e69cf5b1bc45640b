"""The gallery: every example with its picture, what it shows, and the command that runs it; a page with its code."""

from __future__ import annotations

import ast
from pathlib import Path

from warpsim import gallery

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
PRINTED = ROOT / "docs" / "printed"

_PRINTS = "No picture: it prints that several processes compute what one does, and the time of both."
WITHOUT = {"grains_mpi": _PRINTS, "wave_mpi": _PRINTS}
"""Why some examples have no picture."""


def pages() -> dict[str, str]:
    """The gallery and a page for each example in Markdown, by place."""
    return {"gallery.md": overview(), **{f"gallery/{name}.md": details(name) for name in gallery.examples()}}


def overview() -> str:
    """All examples by topic."""
    parts = ["# Gallery", "Each is a program of two screens. `warpsim run NAME --help` shows what can be varied."]
    for topic, names in filter(lambda pair: pair[1], gallery.topics(gallery.examples()).items()):
        cards = "\n".join(card(name) for name in names)
        parts += [f"## {topic or 'More'}", f'<div class="gallery" markdown>\n{cards}\n</div>']
    return "\n\n".join(parts) + "\n"


def card(name: str) -> str:
    """One example: its picture where there is one, the first sentence of its file, the command."""
    shown = picture(name)
    image = f"[![{name}](pictures/{shown}){{ loading=lazy }}](gallery/{name}.md)\n\n" if shown else ""
    why = f"\n\n*{WITHOUT[name]}*" if name in WITHOUT else ""
    return f"<div markdown>\n{image}{sentence(name)}{why}\n\n[`warpsim run {name}`](gallery/{name}.md)\n</div>"


def details(name: str) -> str:
    """One example: its picture, what its file says of it, what it prints, its code."""
    text = gallery.examples()[name].read_text(encoding="utf-8")
    shown, doc = picture(name), ast.get_docstring(ast.parse(text)) or ""
    image = [f"![{name}](../pictures/{shown})"] if shown else []
    command = f"```sh\nwarpsim run {name} --view\nwarpsim run {name} --copy   # puts the file here, to change it\n```"
    printed = (PRINTED / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    numbers = f"It prints (times are those of a busy machine):\n\n```text\n{printed}\n```"
    return "\n\n".join([f"# {name}", *image, doc, command, numbers, f"```python\n{text.rstrip()}\n```"]) + "\n"


def picture(name: str) -> str:
    """The file in docs/pictures, "" without one."""
    return next((f"{name}{end}" for end in (".webp", ".png") if (PICTURES / f"{name}{end}").exists()), "")


def sentence(name: str) -> str:
    """What an example says it is."""
    return gallery.first_line(gallery.examples()[name])
