"""The profile of a whole process: `WARPSIM_PROFILE=1` prints it on stderr when the process ends."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

from .profile import Profile


def begin() -> None:
    """Begin the profile, and print it at the end."""
    one = Profile(Path(sys.argv[0]).name or "python").__enter__()
    atexit.register(show, one)


def show(one: Profile) -> None:
    """End a profile, and print its table."""
    one.__exit__()
    print(one, file=sys.stderr)
