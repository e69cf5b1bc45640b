"""`Step`: the interface of everything that a captured graph holds, a file brings along or a tape runs in reverse.

A kind of step is a subclass, here in this folder. What runs graphs, reports on them, draws them, writes them into
files or reads them asks steps through this interface and tells no kinds apart. A new kind is a class, a line in
`kinds` if files may hold it, and a row in its test, which fails for a class without one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..devices.capture import current_graph
from ..devices.device import Device
from .fields import Fields
from .refusals import unsavable

Json = dict[str, Any]


class Use(NamedTuple):
    """Memory that a step reads or, if `writes`, changes: NumPy's, or an array that picks elements by tables."""

    memory: Any
    writes: bool = False

    def __str__(self) -> str:
        """The memory in words."""
        memory = self.memory
        return f"{memory.dtype}{list(memory.shape)}" if isinstance(memory, np.ndarray) else repr(memory)


class Moved(NamedTuple):
    """Host memory of which all bytes become those of other memory of this size, apart from it; without a source, 0."""

    target: np.ndarray
    source: np.ndarray | None


@dataclass(frozen=True)
class GraphPart:
    """What runs in one piece.

    kernels: in order, none for steps that are no launches or are another device's. strip: how many threads of a loop
    go through all kernels at a time, 0 for a single launch. why: why it is not one loop with what stands before.
    """

    what: str
    kernels: tuple[str, ...] = ()
    threads: int = 0
    strip: int = 0
    why: str = ""

    def __str__(self) -> str:
        strips = f", {min(self.strip, self.threads)} at a time" if self.strip else ""
        threads = f" over {self.threads} threads{strips}: {names_in_words(self.kernels)}" if self.kernels else ""
        return f"  {self.what}{threads}" + (f"\n    apart: {self.why}" if self.why else "")


def names_in_words(names: Iterable[str]) -> str:
    """Names in words, each once, with how often it is there."""
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in Counter(names).items())


class Step(ABC):
    """Something to do, now or as often as a graph is launched.

    device: the CUDA device on whose current stream it is work and nothing else, None for any other. command: the
    step as a command for the pool of threads, if that is all there is to do. moved: the bytes that it moves, if that is
    all. told: does the same and tells tapes, or
    the capture of another graph; None for what is no concern of theirs. parts: the steps that it consists of.
    """

    device: Device | None = None
    command: bytes | None = None
    moved: Moved | None = None
    told: Callable[[], None] | None = None
    parts: Sequence[Step] = ()

    @abstractmethod
    def run(self) -> None:
        """Do it."""

    def submit(self) -> None:
        """Run now, or become a step of the graph that is captured; no tape is told."""
        capture = current_graph()
        if capture is None:
            self.run()
        else:
            capture.add(self)

    def replay(self) -> None:
        """The same for a step of a graph that is launched; tapes are told."""
        if self.told is None:
            self.submit()
        else:
            self.told()

    def run_watched(self, watcher: StepWatcher) -> None:
        """Run now, so that somebody sees every launch in it, and what is none."""
        watcher.run_other(self)

    # ----- words ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The step in words."""
        return names_in_words(part.name for part in self.parts)

    def uses(self) -> list[Use]:
        """What it reads and writes by itself, as far as anybody knows."""
        return [use for part in self.parts for use in part.uses()]

    def in_report(self) -> GraphPart:
        """The step in the report of a graph."""
        return GraphPart(self.name)

    def labels(self, verbose: bool) -> Iterator[str]:
        """What stands in its nodes in a picture; verbose: with what it reads and writes."""
        for part in self.parts:
            yield from part.labels(verbose)
        if not self.parts:
            uses = self.uses() if verbose else ()
            yield "\n".join([self.name, *(f"{'writes' if use.writes else 'reads'} {use}" for use in uses)])

    # ----- files ------------------------------------------------------------------------------

    def save(self, file: GraphWriter) -> Iterator[Json]:
        """Its parts of the description in a file, each with the word for its kind. Raises `GraphFileError`.

        Kinds that files hold have a class method `read`, which makes the step of such a part (see `kinds`).
        """
        if not self.parts:
            raise unsavable(f"{self.name}, work of the host that only this process can do")
        return (words for part in self.parts for words in part.save(file))


class StepWatcher(Protocol):
    """Who sees steps run, and runs them."""

    def run_launch(self, step: Any) -> None:
        """Run a launch by its `run_openly`."""

    def run_loop(self, step: Step, calls: Sequence[Any]) -> None:
        """Run a step that does several launches in one loop."""

    def run_other(self, step: Step) -> None:
        """Run any other step."""


class GraphWriter(Protocol):
    """What steps ask of a file that they are written to."""

    def view(self, memory: Any) -> Json:
        """Memory as NumPy sees it, or elements of it that index tables pick."""

    def launch(self, call: Any) -> Json:
        """Machine code and arguments of a launch, and the way in which it runs."""

    def publication(self, record: Any, content: Any) -> Json:
        """What kernels see of a structure."""

    def steps(self, graph: Any) -> list[Json]:
        """The steps of a graph; those of no graph are none."""


class GraphReader(Protocol):
    """What steps ask of a file that they are read from."""

    device: Device
    memory: Any

    def elements(self, part: Fields) -> Any:
        """Memory, or elements of it that index tables pick."""

    def launch(self, part: Fields) -> Any:
        """A launch."""

    def publication(self, part: Fields) -> tuple[Any, bytes]:
        """A structure, and what kernels are to see of it."""

    def graph(self, part: Fields, name: str) -> Any:
        """A graph of steps in a step."""
