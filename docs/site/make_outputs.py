"""Keeps what examples print, for the gallery: `python docs/site/make_outputs.py [NAME ...]` runs them as they are."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from warpsim import gallery

PRINTED = Path(__file__).resolve().parents[1] / "printed"


def printed(name: str, folder: Path) -> str:
    """What an example prints with its defaults; progress, which is not kept, goes to the other stream."""
    command = [sys.executable, "-m", "warpsim", "run", name]
    return subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True).stdout


if __name__ == "__main__":
    PRINTED.mkdir(exist_ok=True)
    for name in sys.argv[1:] or sorted(gallery.examples()):
        with tempfile.TemporaryDirectory() as folder:
            text = printed(name, Path(folder))
        (PRINTED / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.splitlines())} lines")
