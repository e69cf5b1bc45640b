"""The gallery: every example with its picture, what it shows, and the command that runs it."""

from __future__ import annotations

from pathlib import Path

from warpsim import gallery

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"

_PRINTS = "No picture: it prints that several processes compute what one does, and the time of both."
WITHOUT = {"grains_mpi": _PRINTS, "wave_mpi": _PRINTS}
"""Why some examples have no picture."""


def page() -> str:
    """The gallery in Markdown."""
    parts = ["# Gallery", "Each is a program of two screens. `warpsim run NAME --help` shows what can be varied."]
    for topic, names in filter(lambda pair: pair[1], gallery.topics(gallery.examples()).items()):
        cards = "\n".join(card(name) for name in names)
        parts += [f"## {topic or 'More'}", f'<div class="gallery" markdown>\n{cards}\n</div>']
    return "\n\n".join(parts) + "\n"


def card(name: str) -> str:
    """One example: its picture where there is one, the first sentence of its file, the command."""
    path = next((PICTURES / f"{name}{end}" for end in (".webp", ".png") if (PICTURES / f"{name}{end}").exists()), None)
    picture = f"![{name}](pictures/{path.name}){{ loading=lazy }}\n\n" if path else ""
    why = f"\n\n*{WITHOUT[name]}*" if name in WITHOUT else ""
    return f"<div markdown>\n{picture}{sentence(name)}{why}\n\n`warpsim run {name}`\n</div>"


def sentence(name: str) -> str:
    """What an example says it is."""
    return gallery.first_line(gallery.examples()[name])
