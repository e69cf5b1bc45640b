"""Process-wide switches, set as attributes: `warpsim.config.verify = True`.

Every switch that changes generated code is part of the cache key, so a change takes effect at the
next launch of a kernel; nothing needs to be restarted.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, ClassVar

from .errors import WarpsimError


class DeterministicMode(IntEnum):
    """How far results of scattered sums are the same from run to run. Here both modes that are not 0 mean `True`."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


@dataclass
class Config:
    """The switches; an unknown name is an error that lists the known ones."""

    DeterministicMode: ClassVar[type[DeterministicMode]] = DeterministicMode

    verify: bool = field(default_factory=lambda: os.environ.get("WARPSIM_VERIFY", "0") not in ("", "0"))
    """Check indices and ids on compiled devices; an error names kernel, line, array, index, thread."""
    verify_fp: bool = False
    """Print what kernels write to arrays and is not finite, with element, thread and place."""
    dump: str = field(default_factory=lambda: os.environ.get("WARPSIM_DUMP", ""))
    """Print compiler stages: a stage name (`source`, `lower`, `inline`, ... `llvm`) or `all`."""
    fast_math: bool = False
    """Let the compiler reorder and contract floating-point operations and assume no NaN."""
    lanes: str = field(default_factory=lambda: os.environ.get("WARPSIM_LANES", "auto"))
    """Run neighbouring threads of a CPU kernel as lanes of vectors: `auto` where that pays, `off`, or `always`."""
    deterministic: bool | DeterministicMode = DeterministicMode.NOT_GUARANTEED
    """Make scattered float atomics independent of scheduling too, see `launch`."""
    lineinfo: bool = False
    """Relate CUDA machine code to source lines, for profilers and debuggers."""
    max_unroll: int = 16
    """Loops with a constant trip count up to this are unrolled."""
    legacy_scalar_return_types: bool = False
    """Built-ins, components and functions give Python's numbers on the host for all types, not for 32-bit ones only."""
    enable_backward: bool = True
    """Allow adjoint kernels to be compiled (they are compiled only when a tape asks)."""
    enable_cpu_blocks: bool = False
    """Let `block_dim=` of launches count where devices have no blocks of their own; else a block is one thread."""
    tape_snapshots: str = "copy"
    """What a tape does before a recorded launch overwrites what a gradient needs: `copy` it, or raise an `error`."""
    kernel_cache_dir: str = ""
    """Folder of the disk cache; empty: the platform's user cache folder."""
    check_numbers: bool = True
    """The interpreter stops at a NaN made of numbers and at a cast that does not fit."""
    cache_kernels: bool = True
    """Load and store compiled kernels on disk."""
    max_cache_bytes: int = 512 * 1024 * 1024
    """The disk cache drops its least recently used entries above this size."""
    log_level: int = 30
    """Level of the logger named `warpsim`, a number of `logging`; its name, such as `"INFO"`, becomes that number."""
    print_launches: bool = False
    """Print every launch before it runs."""
    load_module_max_workers: int | None = None
    """How many threads `load_module` and `force_load` compile on, 0 or 1: the calling one; None: as launches use."""
    mode: str = "release"
    """`debug` turns `verify` on for kernels and modules that do not say what it is."""
    track_memory: bool = False
    """Note which memory arrays take, for `print_memory_report`."""
    generation: ClassVar[int]
    """A number that changes whenever a switch is set."""
    verbose: bool = False
    """Log every compilation and cache hit at INFO."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _NAMES:
            raise WarpsimError(
                f"config has no switch {name!r}\nexpected: one of {', '.join(sorted(_NAMES))}\n"
                "help: check the spelling; switches of other frameworks do not carry over"
            )
        if name in _BOOLEANS and value not in (True, False):
            raise WarpsimError(f"config.{name} = {value!r}\nexpected: True or False")
        if name == "tape_snapshots" and value not in ("copy", "error"):
            raise WarpsimError(f"config.tape_snapshots = {value!r}\nexpected: 'copy' or 'error'")
        if name == "lanes":
            check_lanes(value, "config.lanes")
        if name in _members:
            check_member(value, _members[name], f"config.{name}")
        if name == "log_level" and name in vars(self):  # the default leaves the logger as the program has set it
            import logging  # noqa: PLC0415 - who sets no level need not wait for it

            logger = logging.getLogger("warpsim")
            logger.setLevel(value)  # type: ignore[arg-type]
            value = logger.level
        object.__setattr__(self, name, value)
        self.touch()

    def accept(self, switches: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
        """Know further switches, with their values, and constants that nobody sets; nothing on this floor reads them.

        A switch whose value is of an enumeration takes its members alone.
        """
        _NAMES.update(switches)
        _members.update({name: type(value) for name, value in switches.items() if isinstance(value, IntEnum)})
        vars(self).update({**switches, **constants})

    def touch(self) -> None:
        """Make the next launch of every kernel look at the switches again."""
        object.__setattr__(self, "generation", next(_generations))


LANES = ("auto", "off", "always")
"""Values of the switch `lanes`."""


def check_lanes(value: object, what: str) -> None:
    """Raise `WarpsimError` for what is no value of the switch `lanes`."""
    if value not in LANES:
        raise WarpsimError(f"{what} is {value!r}\nexpected: one of {', '.join(LANES)}")


def check_member(value: object, members: type[IntEnum], what: str) -> None:
    """Raise `ValueError` for what is no member of an enumeration."""
    if not isinstance(value, members):
        known = ", ".join(f"config.{members.__name__}.{member.name}" for member in members)
        raise ValueError(f"{what} = {value!r}\nexpected: one of {known}")


_generations = itertools.count()  # never the same number twice, whichever threads ask
_NAMES = {f.name for f in fields(Config)}
_BOOLEANS = {f.name for f in fields(Config) if f.type == "bool"}
_members: dict[str, type[IntEnum]] = {}  # of enumerations, by the names of switches

further_options: dict[str, Any] = {"mode": None}
"""Options of kernels and modules beside those that are switches here, with their values where nobody sets them: "debug"
of `mode` turns `verify` on where nothing else says what it is; floors above add what they accept and nothing reads."""

config = Config()
