"""Commands of the viewer: `warpsim view` and `warpsim run NAME --view`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .animation import Animation
from .film import write_film
from .page import write_page
from .server import view

FILM_RATE = 25.0  # images a second [1/s]


def run(chosen: argparse.Namespace) -> int:
    """Write the page and the film that were asked for; show the animation if neither was."""
    if not (chosen.html or chosen.film):
        return watch(chosen.file, chosen.port, not chosen.no_browser)
    animation = Animation(chosen.file)
    written = [write_page(animation, chosen.html, every=chosen.every)] if chosen.html else []
    if chosen.film:
        images = max(1, round(animation.seconds * FILM_RATE))
        print(f"drawing a film of {images} images, which takes about a second for each", flush=True)
        written.append(write_film(animation, chosen.film, fps=FILM_RATE))
    for path in written:
        print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
    return 0


def watch(path: Path, port: int = 0, browser: bool = True) -> int:
    """Show an animation until the user interrupts."""
    server = view(Animation(path), port, browser)
    print(f"{path} is shown at {server.url}; Ctrl-C ends it", flush=True)
    try:
        server.wait()
    finally:
        server.close()
    return 0
