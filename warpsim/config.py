"""Process-wide switches, set as attributes: `warpsim.config.verify = True`.

Every switch that changes generated code is part of the cache key, so a change takes effect at the
next launch of a kernel; nothing needs to be restarted.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, fields
from typing import ClassVar

from .errors import WarpsimError


@dataclass
class Config:
    """The switches; an unknown name is an error that lists the known ones."""

    verify: bool = field(default_factory=lambda: os.environ.get("WARPSIM_VERIFY", "0") not in ("", "0"))
    """Check indices and ids on compiled devices; an error names kernel, line, array, index, thread."""
    dump: str = field(default_factory=lambda: os.environ.get("WARPSIM_DUMP", ""))
    """Print compiler stages: a stage name (`source`, `lower`, `inline`, ... `llvm`) or `all`."""
    fast_math: bool = False
    """Let the compiler reorder and contract floating-point operations and assume no NaN."""
    deterministic: bool = False
    """Make scattered float atomics independent of scheduling too, see `launch`."""
    lineinfo: bool = False
    """Relate CUDA machine code to source lines, for profilers and debuggers."""
    max_unroll: int = 16
    """Loops with a constant trip count up to this are unrolled."""
    enable_backward: bool = True
    """Allow adjoint kernels to be compiled (they are compiled only when a tape asks)."""
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
    log_level: str = "WARNING"
    """Level of the logger named `warpsim`."""
    verify_autograd_array_access: bool = False
    """Kept for scripts that set it: tapes always notice overwrites, and keep what gradients need."""
    quiet: bool = True
    """Kept for scripts that set it: warpsim prints nothing at start-up or launch."""
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
        if name == "tape_snapshots" and value not in ("copy", "error"):
            raise WarpsimError(f"config.tape_snapshots = {value!r}\nexpected: 'copy' or 'error'")
        object.__setattr__(self, name, value)
        self.touch()

    def touch(self) -> None:
        """Make the next launch of every kernel look at the switches again."""
        object.__setattr__(self, "generation", next(_generations))


_generations = itertools.count()  # never the same number twice, whichever threads ask
_NAMES = frozenset(f.name for f in fields(Config))

config = Config()
