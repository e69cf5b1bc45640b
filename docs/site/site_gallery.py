"""The gallery: every example with its picture, what it shows, and the command that runs it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"

TOPICS = {
    "Cloth and soft bodies": (
        "garment", "cloth_drop", "cloth_on_mesh", "flag", "soft_squash", "soft_stack",
    ),
    "Grains and fluids": ("dem_grains", "sph_dam", "dam_obstacle"),
    "Oceans and waves": ("ocean", "ocean_float", "ocean_cloth", "wave", "wave_mpi"),
    "Found by gradients": (
        "cloth_throw", "bounce_to_target", "spring_cage", "wave_inverse", "soft_identify", "ocean_inverse",
    ),
    "Points and volumes": ("radius_aggregation", "raymarch"),
}  # fmt: skip


def page() -> str:
    """The gallery in Markdown."""
    parts = ["# Gallery", "Each is a program of two screens. `warpsim run NAME --help` shows what can be varied."]
    for topic, names in TOPICS.items():
        cards = "\n".join(card(name) for name in names)
        parts += [f"## {topic}", f'<div class="gallery" markdown>\n{cards}\n</div>']
    return "\n\n".join(parts) + "\n"


def card(name: str) -> str:
    """One example: its picture where there is one, the first sentence of its file, the command."""
    path = next((PICTURES / f"{name}{end}" for end in (".webp", ".png") if (PICTURES / f"{name}{end}").exists()), None)
    picture = f"![{name}](pictures/{path.name}){{ loading=lazy }}\n\n" if path else ""
    return f"<div markdown>\n{picture}{sentence(name)}\n\n`warpsim run {name}`\n</div>"


def sentence(name: str) -> str:
    """What an example says it is."""
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
