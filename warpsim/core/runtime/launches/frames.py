"""Frame scopes: the point in time, now or a graph's launch, at which a tape's saved contents are valid.

Operations act now, or in the time of the graph that is captured; `Session.frame` says where the contents are valid
that a tape needs. A write in one time leaves the reads of another alone. When a capture ends, and when its graph
is about to run, the tapes of the capture hold nothing; when the graph has run, they hold what they held when the
capture ended, now or in the time of another capture.
"""

from __future__ import annotations

from typing import Any

from ....errors import TapeError
from ..arrays import saved_contents


def join(session: saved_contents.Session, capture: Any, used: bool) -> None:
    """Record in the time of the graph that is captured, or now. Raises `TapeError` for a tape of another time.

    used: whether the tape has recorded already.
    """
    if session.home is capture:
        return
    if used or session.home is not None:
        before = "outside of this capture" if capture is not None else "while a graph was captured"
        raise TapeError(
            f"this tape recorded {before}\nexpected: one tape for a capture, and one for what runs at once\n"
            "help: use another tape, or call tape.reset() first"
        )
    session.home = session.frame = capture
    capture.sessions.append(session)


def check_frame(session: saved_contents.Session, capture: Any) -> None:
    """Raise `TapeError` when what a tape recorded is not there: its graph has still to run."""
    if session.frame is not None and session.frame is not capture:
        raise TapeError(
            "this tape recorded while a graph was captured, and the graph has not run since\n"
            "expected: backward in the same capture, or after wp.capture_launch(graph)"
        )


class Stay:
    """A tape's reads, as they are when the graph it was recorded in has run."""

    def __init__(self, session: saved_contents.Session):
        self.session = session
        self.reads = [(read, read.spoiled, read.there) for read in session.reads]

    def leave(self, graph: Any) -> None:
        """Hold nothing until `graph` has run."""
        with saved_contents.lock:
            self.session.frame = graph
            for read in self.session.reads:
                read.let_go()
                if read.there:
                    read.memory.drop(read)

    def enter(self, frame: Any) -> None:
        """Hold what the graph left, in the time of another graph or (None) now."""
        if not self.session.live:
            return
        with saved_contents.lock:
            self.session.frame = frame
            for read, spoiled, there in self.reads:
                read.spoiled = spoiled
                if there:
                    read.memory.add(read)
