"""What `warpsim view` and `warpsim run NAME --view` do."""

from __future__ import annotations

import argparse
from pathlib import Path

from .animation import Animation
from .film import write_film
from .page import write_page
from .server import view


def run(chosen: argparse.Namespace) -> int:
    """Write the page and the film that were asked for; show the animation if neither was."""
    if not (chosen.html or chosen.film):
        return watch(chosen.file, chosen.port, not chosen.no_browser)
    animation = Animation(chosen.file)
    written = [write_page(animation, chosen.html, every=chosen.every)] if chosen.html else []
    if chosen.film:
        print(f"drawing {animation.seconds:.1f} s, 25 frames each; a frame takes about a second", flush=True)
        written.append(write_film(animation, chosen.film))
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
