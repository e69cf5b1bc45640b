"""A private way out of a child process: frameworks may print, the parent reads only JSON lines.

Guarantees that whatever is printed to standard output, by Python or by native code, goes to
standard error. It imports nothing heavy, because start-up is timed in the same process.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO


def claim_stdout() -> TextIO:
    """Keep standard output for the parent alone and send all later prints to standard error."""
    private = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return private
