"""Scans, sorts, reductions and run lengths over whole arrays: `wp.utils`.

NumPy does the work on the CPU: these run once per step, on data it sees without a copy.
"""

from __future__ import annotations
