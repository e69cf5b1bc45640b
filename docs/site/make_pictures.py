"""Makes the pictures of the gallery: `python docs/site/make_pictures.py [EXAMPLE ...]` runs examples at smaller sizes.

Pictures that show several moments side by side are cut to two of them, and all become WebP; one is a film.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from warpsim.viewer import Animation, write_film

PICTURES = Path(__file__).resolve().parents[1] / "pictures"
WIDTH = 800  # [pixels]

RUNS = {
    "cloth_drop": ("", 0.5, 1.0),
    "cloth_on_mesh": ("--vertices 60", 0.25, 0.75),
    "flag": ("--cells 48 --seconds 2", 0.5, 1.0),
    "implicit_cloth": ("", 0.0, 1.0),
    "soft_squash": ("--cells 7", 0.0, 0.5),
    "soft_stack": ("", 0.0, 0.5),
    "soft_gripper": ("", 0.0, 1.0),
    "block_tower": ("", 0.0, 1.0),
    "plank_bridge": ("", 0.0, 1.0),
    "grain_wheel": ("", 0.0, 1.0),
    "bucket": ("", 0.0, 1.0),
    "dem_grains": ("", 0.0, 1.0),
    "sph_dam": ("", 0.0, 1.0),
    "dam_obstacle": ("", 0.0, 1.0),
    "fountain": ("--seconds 0.6", 0.333, 1.0),
    "water_drop": ("", 0.0, 0.5),
    "water_float": ("", 0.0, 0.5),
    "steer_jet": ("", 0.39, 1.0),
    "ocean": ("", 0.0, 1.0),
    "ocean_float": ("--seconds 3", 0.0, 1.0),
    "wave": ("", 0.25, 0.75),
    "bounce_to_target": ("", 0.0, 1.0),
    "spring_cage": ("", 0.0, 1.0),
    "wave_inverse": ("", 0.0, 1.0),
    "raymarch": ("--height 300", 0.0, 1.0),
    "hourglass": ("", 0.0, 1.0),
    "grain_drum": ("", 0.0, 1.0),
    "cloth_throw": ("", 0.0, 1.0),
    "net_catch": ("", 0.0, 1.0),
    "windy_throws": ("", 0.0, 1.0),
    "ocean_cloth": ("", 0.0, 1.0),
    "boat": ("", 0.0, 1.0),
    "grain_friction": ("", 0.262, 1.0),
    "soft_identify": ("", 0.622, 1.0),
    "ocean_inverse": ("", 0.0, 1.0),
    "cartpole": ("", 0.0, 1.0),
    "walker": ("", 0.0, 1.0),
    "radius_aggregation": ("", 0.0, 1.0),
    "pendulums_jax": ("", 0.0, 1.0),
}
"""Options of each run, and which part of its picture to keep, from the left to the right."""

FILMS = {"garment": {"fps": 15, "size": (400, 420), "azimuth": 20.0, "elevation": 10.0, "quality": 82}}
"""What is filmed instead, and how: options of `write_film`."""


def make(name: str, folder: Path) -> Path:
    """Run an example, and keep its picture."""
    options, left, right = RUNS[name]
    made = folder / f"{name}.png"
    command = [sys.executable, "-m", "warpsim", "run", name, *options.split(), "--picture", str(made)]
    subprocess.run(command, check=True, cwd=folder)
    return keep(made, left, right)


def film(name: str, folder: Path) -> Path:
    """Run an example, and film its animation."""
    scene = folder / f"{name}.usdc"
    command = [sys.executable, "-m", "warpsim", "run", name, "--output", str(scene), "--picture", str(folder / "x.png")]
    subprocess.run(command, check=True, cwd=folder)
    return write_film(Animation(scene), PICTURES / f"{name}.webp", **FILMS[name])


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
        for name in sys.argv[1:] or [*RUNS, *FILMS]:
            print((film if name in FILMS else make)(name, Path(folder)))
