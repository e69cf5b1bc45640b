"""Options of kernels and modules: which there are, and what they are where nobody set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ....config import check_lanes, config
from ....errors import instance

SHAPING = ("fast_math", "max_unroll", "verify", "deterministic", "enable_backward", "lineinfo", "lanes")
"""Options with an effect, which are switches of `config` too."""

ACCEPTED: dict[str, Any] = {
    "block_dim": 256, "cluster_dim": None, "compile_time_trace": False, "cpu_compiler_flags": None,
    "cuda_max_registers": None, "cuda_output": None, "default_grid_stride": None, "deterministic_max_records": 0,
    "enable_cuda_smem_spilling": None, "enable_mathdx_fft": None, "enable_mathdx_gemm": None,
    "enable_mathdx_solver": None, "entry_point_abi": None, "extra_build_options": None, "fuse_fp": True,
    "grid_stride": None, "mode": None, "optimization_level": None, "strip_hash": False,
}  # fmt: skip
"""Options of scripts written for Warp, with Warp's defaults. They name parts of its compilers, which are not here;
`mode` alone has an effect: "debug" turns `verify` on where nothing else says what it is."""


def check_options(options: dict[str, Any]) -> None:
    """Raises `ValueError` for an option that does not exist, and `WarpsimError` for a value that there is not."""
    instance(options, Mapping, "options")
    unknown = set(options) - set(SHAPING) - set(ACCEPTED)
    if unknown:
        known = ", ".join((*SHAPING, *ACCEPTED))
        raise ValueError(f"unknown option {sorted(unknown)[0]!r}\nexpected: {known}")
    if options.get("lanes") is not None:
        check_lanes(options["lanes"], "the option lanes")


def option(name: str, *places: dict[str, Any]) -> Any:
    """The value of an option: of the first place that says it (None says nothing), else of `config`."""
    for place in places:
        if place.get(name) is not None:
            return place[name]
        if name == "verify" and place.get("mode") is not None:
            return place["mode"] == "debug"
    return getattr(config, name, ACCEPTED.get(name)) or (name == "verify" and config.mode == "debug")


class Defaults(MutableMapping[str, Any]):
    """The values of options that nobody set: those of `config` now.

    `collections.ChainMap` asks for mappings that can change.
    """

    def __getitem__(self, name: str) -> Any:
        return getattr(config, name) if name in SHAPING else ACCEPTED[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*SHAPING, *ACCEPTED))

    def __len__(self) -> int:
        return len(SHAPING) + len(ACCEPTED)

    def __setitem__(self, name: str, value: Any) -> None:
        raise TypeError("defaults are switches of `config`")

    def __delitem__(self, name: str) -> None:
        self[name] = None
