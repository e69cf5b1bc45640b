"""Errors of recordings: what cannot be recorded, and what cannot be written."""

from ..errors import WarpsimError


class RecordError(WarpsimError, ValueError):
    """What a recording cannot hold or go on from: arrays that do not fit, other columns than before, a gap."""


class RecordFileError(RecordError, OSError):
    """A recording that cannot be written: a full disk, a closed pipe, a read-only folder; earlier frames are there."""
