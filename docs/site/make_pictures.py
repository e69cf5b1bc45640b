"""Makes the pictures of the gallery: `python docs/site/make_pictures.py [EXAMPLE ...]` runs examples at smaller sizes.

Pictures that show several moments side by side are cut to two of them, and all become WebP.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURES = Path(__file__).resolve().parents[1] / "pictures"
WIDTH = 800  # [pixels]

RUNS = {
    "cloth_drop": ("", 0.5, 1.0),
    "cloth_on_mesh": ("--vertices 60", 0.25, 0.75),
    "flag": ("--cells 48 --seconds 2", 0.5, 1.0),
    "soft_squash": ("--cells 7", 0.0, 0.5),
    "soft_stack": ("", 0.0, 0.5),
    "dem_grains": ("--grains 12000 --seconds 0.6", 0.0, 1.0),
    "sph_dam": ("--cells 30 --seconds 0.7", 0.0, 1.0),
    "dam_obstacle": ("--spacing 0.016 --seconds 0.6", 0.0, 1.0),
    "ocean": ("--seconds 1 --cells 192", 0.0, 1.0),
    "ocean_float": ("--seconds 3", 0.0, 1.0),
    "wave": ("", 0.25, 0.75),
    "bounce_to_target": ("", 0.0, 1.0),
    "spring_cage": ("", 0.0, 0.56),
    "wave_inverse": ("", 0.0, 1.0),
    "raymarch": ("--height 300", 0.0, 1.0),
}
"""Options of each run, and which part of its picture to keep, from the left to the right."""


def make(name: str, folder: Path) -> Path:
    """Run an example, and keep its picture."""
    options, left, right = RUNS[name]
    made = folder / f"{name}.png"
    command = [sys.executable, "-m", "warpsim", "run", name, *options.split(), "--picture", str(made)]
    subprocess.run(command, check=True, cwd=folder)
    return keep(made, left, right)


def keep(made: Path, left: float, right: float) -> Path:
    """Cut a picture, shrink it, write it as WebP."""
    picture = Image.open(made).convert("RGB")
    picture = picture.crop((round(left * picture.width), 0, round(right * picture.width), picture.height))
    picture.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
    kept = PICTURES / f"{made.stem}.webp"
    picture.save(kept, quality=82, method=6)
    return kept


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or RUNS:
            print(make(name, Path(folder)))
