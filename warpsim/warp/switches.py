"""Switches and options that programs written for Warp set. They name parts of its compilers and of its CUDA runtime
that are not here, so they are kept and have no effect; docs/warp.md says what stands in their place.
"""

from __future__ import annotations

from enum import IntEnum

from ..config import config, further_options


class LaunchArrayAccessMode(IntEnum):
    """How launches look at the arrays they are given. Here the tape looks always, whatever the mode."""

    RELAXED = 0
    CHECKED = 1
    STRICT = 2


class Constants:
    """What `config` tells and nobody sets."""

    LaunchArrayAccessMode: type[LaunchArrayAccessMode] = LaunchArrayAccessMode
    version: str = "1.19.0"
    """The version of Warp whose names and arguments these are; warpsim's own is `warpsim.__version__`."""


class Switches(Constants):
    """Switches of `config`, with what they are where nobody sets them."""

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
    quiet: bool = True
    """Nothing is printed at start-up or launch."""
    use_precompiled_headers: bool = True
    verbose_warnings: bool = False
    verify_autograd_array_access: bool = False
    """Tapes always notice overwrites, and keep what gradients need."""
    verify_cuda: bool = False


OPTIONS = {"block_dim": 256, "cluster_dim": None, "compile_time_trace": False, "cpu_compiler_flags": None}
OPTIONS |= {"cuda_max_registers": None, "cuda_output": None, "default_grid_stride": None}
OPTIONS |= {"deterministic_max_records": 0, "enable_cuda_smem_spilling": None, "enable_mathdx_fft": None}
OPTIONS |= {"enable_mathdx_gemm": None, "enable_mathdx_solver": None, "entry_point_abi": None}
OPTIONS |= {"extra_build_options": None, "fuse_fp": True, "grid_stride": None, "optimization_level": None}
OPTIONS |= {"strip_hash": False}
"""Options of kernels and modules, with Warp's defaults."""

config.accept(*({name: getattr(part, name) for name in part.__annotations__} for part in (Switches, Constants)))
further_options.update(OPTIONS)
