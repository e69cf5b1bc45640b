"""The report of `Tape.report`: copies that a tape made before overwrites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays.saved_contents import Session


@dataclass(frozen=True)
class Snapshot:
    """One copy. needed: what needs it and where that was recorded; writer: what overwrote the original."""

    needed: str
    needed_at: str
    writer: str
    writer_at: str
    bytes: int


@dataclass(frozen=True)
class SnapshotReport:
    """All copies of a tape, in the order in which they were made."""

    snapshots: tuple[Snapshot, ...]

    @property
    def count(self) -> int:
        return len(self.snapshots)

    @property
    def bytes(self) -> int:
        """Size of all copies."""
        return sum(s.bytes for s in self.snapshots)

    def __str__(self) -> str:
        """One line per pair of places: how often, how many bytes."""
        groups: dict[Any, list[int]] = {}
        for s in self.snapshots:
            groups.setdefault((s.needed, s.needed_at, s.writer, s.writer_at), []).append(s.bytes)
        lines = [f"{self.count} snapshots, {self.bytes} bytes"]
        for (needed, needed_at, writer, writer_at), sizes in groups.items():
            lines.append(f"  {len(sizes)} x, {sum(sizes)} bytes: {needed}, recorded at {needed_at}")
            lines.append(f"    overwritten by {writer} at {writer_at}")
        return "\n".join(lines)


def report(session: Session) -> SnapshotReport:
    """The copies that a recording made."""
    snapshots = []
    for read in session.copies:
        assert read.copy is not None
        writer, size = read.writer, read.addresses.size
        snapshots.append(Snapshot(read.name, str(read.place), writer.what, str(writer.place), size))
    return SnapshotReport(tuple(snapshots))
