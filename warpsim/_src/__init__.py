"""The private parts of Warp that programs on top of it reach: `_src.types` has tables of types, `_src.context.runtime`
functions of its native library, `_src.utils` is public.

A name without a module of its own here is the public module of that name, `warpsim.utils` and others. Where `warp` is
another name of this package, whoever gave it that name may serve more under `warp._src`.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

_PACKAGE = __name__.rpartition(".")[0]


def _is_here(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # a module of Warp that the package lacks, and says why
        return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # `unittest` asks every module for `__warningregistry__`
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for path in (f"{__name__}.{name}", f"{_PACKAGE}.{name}"):
        if _is_here(path):
            return importlib.import_module(path)
    if "warp._src" in sys.modules and sys.modules.get("warp") is sys.modules[_PACKAGE]:
        return importlib.import_module(f"warp._src.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
