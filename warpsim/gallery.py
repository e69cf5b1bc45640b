"""The examples that come with warpsim: where they are, their topics, and about how long each takes on this machine.

They lie in `examples/` of the repository, and in `warpsim/_examples` of an installed package; so do their meshes in
`assets`. Files whose names begin with an underscore tell about the others: `_topics.py` and `_times.py`.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .core.runtime.launches import pool

PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The repository that this package is imported from, or None when it is installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None


def asset(name: str) -> Path:
    """A file of those that examples read: of the repository, else packed with the package."""
    return (checkout() or PACKAGE) / "assets" / name


def examples() -> dict[str, Path]:
    """Examples by name: of the repository, else those packed with the package."""
    root = checkout()
    folders = [*([root / "examples"] if root else []), PACKAGE / "_examples"]
    for folder in folders:
        paths = {path.stem: path for path in sorted(folder.rglob("*.py")) if not path.stem.startswith("_")}
        if paths:
            return paths
    return {}


def topics(paths: dict[str, Path]) -> dict[str, list[str]]:
    """Names of examples by topic, as `_topics.py` beside them says; the rest comes last, without a topic."""
    told = _read_constant("_topics.py", "TOPICS", paths)
    by_topic = {topic: [name for name in names if name in paths] for topic, names in told.items()}
    return {**by_topic, "": [name for name in paths if not any(name in names for names in by_topic.values())]}


def estimates(paths: dict[str, Path]) -> dict[str, float]:
    """How long examples take with their own settings, about [s]: `_times.py` beside them, for this machine.

    The table has seconds of one thread, and seconds that threads share (Amdahl's law); a small probe scales them by its
    time here and where the table was made.
    """
    told = _read_constant("_times.py", "SECONDS", paths)
    if not told:
        return {}
    scale, threads = probe() / _read_constant("_times.py", "PROBE", paths), pool.get_pool().threads
    return {name: scale * (alone + shared / threads) for name, (alone, shared) in told.items() if name in paths}


def probe() -> float:
    """How long one core takes for some Python and some NumPy [s]: the least of a few tries."""
    return min(_try() for _ in range(5))


def _try() -> float:
    begin = time.thread_time()
    total = np.zeros(2000)
    for k in range(400):
        total = np.sqrt(total * total + k)
    assert np.isfinite(sum(float(x) for x in total))
    return time.thread_time() - begin


def first_line(path: Path) -> str:
    """The first line of a module's docstring."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith('"""'):
            return line.strip('" ')
    return ""


def load_example(path: Path) -> ModuleType:
    """Import a file as a module of its own; it may import its neighbours."""
    # A name that hides nothing: the standard library has a `wave`, too.
    name = f"warpsim_example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec.loader.exec_module(module)
    return module


def _read_constant(file: str, name: str, paths: dict[str, Path]) -> Any:
    """What a file beside the examples says of them under a name, if there is one."""
    beside = min(paths.values(), key=lambda path: len(path.parts)).with_name(file) if paths else None
    return getattr(load_example(beside), name) if beside is not None and beside.is_file() else {}
