"""Run the scripts under Warp and keep what they print, without what Warp tells of itself."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent / "scripts"
OF_ITSELF = re.compile(r"Module |Warp \d|   CUDA|   Devices|     \"|   Kernel cache|     /|Saved the USD stage")


def record(script: Path) -> None:
    """Write beside a script what it prints. Raises `CalledProcessError` when it fails."""
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip() and not OF_ITSELF.match(line)]
    script.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    print("Warp", version("warp-lang"))
    for path in sorted(SCRIPTS.glob("*.py")):
        if len(sys.argv) == 1 or any(word in path.stem for word in sys.argv[1:]):
            record(path)
            print(path.stem)
