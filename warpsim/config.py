"""Process-wide switches, set as attributes: `warpsim.config.verify = True`.

Every switch that changes generated code is part of the cache key, so a change takes effect at the
next launch of a kernel; nothing needs to be restarted.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import ClassVar

from .errors import WarpsimError


class DeterministicMode(IntEnum):
    """How far results of scattered sums are the same from run to run. Here both modes that are not 0 mean `True`."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


class LaunchArrayAccessMode(IntEnum):
    """How launches look at the arrays they are given. Here the tape looks always, whatever the mode."""

    RELAXED = 0
    CHECKED = 1
    STRICT = 2


@dataclass
class Config:
    """The switches; an unknown name is an error that lists the known ones."""

    DeterministicMode: ClassVar[type[DeterministicMode]] = DeterministicMode
    LaunchArrayAccessMode: ClassVar[type[LaunchArrayAccessMode]] = LaunchArrayAccessMode
    version: ClassVar[str] = "1.19.0"
    """The version of Warp whose names and arguments these are; warpsim's own is `warpsim.__version__`."""

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
    deterministic: bool | DeterministicMode = False
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
    verify_autograd_array_access: bool = False
    """Kept for scripts that set it: tapes always notice overwrites, and keep what gradients need."""
    print_launches: bool = False
    """Print every launch before it runs."""
    quiet: bool = True
    """Kept for scripts that set it: warpsim prints nothing at start-up or launch."""
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

    # Switches that scripts written for Warp set. They name parts of its compilers and of its CUDA runtime that
    # are not here, so they are kept and have no effect; docs/warp.md says what stands in their place.
    compile_time_trace: bool = False
    cpu_compiler_flags: str | None = None
    cuda_arch_suffix: str | None = None
    cuda_output: str | None = None
    default_grid_stride: bool = True
    deterministic_debug: bool = False
    deterministic_max_records: int = 0
    enable_graph_capture_module_load_by_default: bool = True
    enable_mathdx_fft: bool = True
    enable_mathdx_gemm: bool = True
    enable_mathdx_solver: bool = True
    enable_mempools_at_init: bool = True
    enable_tiles_in_stack_memory: bool = True
    enable_vector_component_overwrites: bool = False
    launch_array_access_mode: LaunchArrayAccessMode = LaunchArrayAccessMode.RELAXED
    legacy_cpu_linker: bool = False
    line_directives: bool = True
    llvm_cuda: bool = False
    optimization_level: int | None = None
    ptx_target_arch: int | None = None
    use_precompiled_headers: bool = True
    verbose_warnings: bool = False
    verify_cuda: bool = False

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _NAMES:
            raise WarpsimError(
                f"config has no switch {name!r}\nexpected: one of {', '.join(sorted(_NAMES))}\n"
                "help: check the spelling; switches of other frameworks do not carry over"
            )
        if name == "tape_snapshots" and value not in ("copy", "error"):
            raise WarpsimError(f"config.tape_snapshots = {value!r}\nexpected: 'copy' or 'error'")
        if name == "launch_array_access_mode":
            check_access_mode(value)
        if name == "lanes":
            check_lanes(value, "config.lanes")
        if name == "log_level" and name in vars(self):  # the default leaves the logger as the program has set it
            import logging  # noqa: PLC0415 - who sets no level need not wait for it

            logger = logging.getLogger("warpsim")
            logger.setLevel(value)  # type: ignore[arg-type]
            value = logger.level
        object.__setattr__(self, name, value)
        self.touch()

    def touch(self) -> None:
        """Make the next launch of every kernel look at the switches again."""
        object.__setattr__(self, "generation", next(_generations))


LANES = ("auto", "off", "always")
"""Values of the switch `lanes`."""


def check_lanes(value: object, what: str) -> None:
    """Raise `WarpsimError` for what is no value of the switch `lanes`."""
    if value not in LANES:
        raise WarpsimError(f"{what} is {value!r}\nexpected: one of {', '.join(LANES)}")


def check_access_mode(value: object) -> None:
    """Raise `ValueError` for what is no `LaunchArrayAccessMode`."""
    if not isinstance(value, LaunchArrayAccessMode):
        known = ", ".join(f"config.LaunchArrayAccessMode.{mode.name}" for mode in LaunchArrayAccessMode)
        raise ValueError(f"config.launch_array_access_mode = {value!r}\nexpected: one of {known}")


_generations = itertools.count()  # never the same number twice, whichever threads ask
_NAMES = frozenset(f.name for f in fields(Config))

config = Config()
