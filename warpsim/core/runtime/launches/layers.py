"""Numba's threading layers (TBB, OpenMP, its own workqueue), loaded from their files without Numba."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ....errors import DeviceError

_LAYER_FILES = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}  # preferred first
LAYER_VARIABLE = "WARPSIM_THREADING_LAYER"
_WAIT_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # libraries read them when they are loaded
# TBB 2021.11. Numba's extension module would take 12060, but up to 12100 many short launches in a row are slow: on 2
# cores examples/cloth_drop.py does 130 substeps a second, with later ones 1,800 to 3,500, and serially 1,700.
_OLDEST_TBB_INTERFACE = 12110

_LAUNCH_THREADS = ctypes.CFUNCTYPE(None, ctypes.c_int)


class Layer(NamedTuple):
    """One of Numba's threading layers: addresses of its C functions."""

    name: str
    parallel_for: int
    launch_threads: int

    @property
    def is_reentrant(self) -> bool:
        # Two launches at once would make workqueue abort the process.
        return self.name != "workqueue"

    def start(self, threads: int) -> None:
        # omp makes its threads at the first loop. Its launch function would only change OpenMP's
        # settings (nested teams, default team size) for all other users in the process.
        if self.name != "omp":
            _LAUNCH_THREADS(self.launch_threads)(threads)


def choose_layer(requested: str, is_forked_child: bool) -> Layer | None:
    """The requested layer, or the first that can be loaded; None for serial execution.

    A forked child may use OpenMP only on request: it hangs if the parent has used it in any way.
    """
    name = requested.strip().lower()
    if name == "serial":
        return None
    if name and name not in _LAYER_FILES:
        raise DeviceError(
            f"{LAYER_VARIABLE} is {requested!r}\nexpected: {', '.join(_LAYER_FILES)} or serial\n"
            "help: unset it to let warpsim choose"
        )
    failures = []
    for candidate in [name] if name else _LAYER_FILES:
        if candidate == "omp" and is_forked_child and not name:
            continue
        try:
            return _load_layer(candidate)
        except (ImportError, OSError) as error:
            failures.append(f"{candidate}: {error}")
    if name:
        raise DeviceError(
            f"{LAYER_VARIABLE} asks for a layer that cannot be loaded\nfound: {failures[0]}\n"
            "help: `pip install tbb` for tbb, install libgomp for omp, or unset the variable"
        )
    return None


def _load_layer(name: str) -> Layer:
    # find_spec of a top-level name looks for the folder and imports nothing.
    numba = importlib.util.find_spec("numba")
    if numba is None or numba.origin is None:
        raise ImportError("numba is not installed")
    folder = Path(numba.origin).parent
    if name == "tbb":
        _preload_tbb(folder.parent)
    path = _extension_file(folder / "np" / "ufunc", _LAYER_FILES[name])
    with _passive_waiting() if name == "omp" else contextlib.nullcontext():
        module = _load_private_copy(path) if name == "workqueue" else _load_extension(path)
    return Layer(name, module.parallel_for, module.launch_threads)


@contextlib.contextmanager
def _passive_waiting() -> Iterator[None]:
    """Let the threads of an OpenMP library that is loaded meanwhile sleep between launches, unless the user chose.

    By default those of libgomp turn in a loop for milliseconds, on cores that other processes want: two processes
    that launch side by side on two cores do a twentieth of what one alone does.
    """
    if any(name in os.environ for name in _WAIT_VARIABLES):
        yield
        return
    os.environ[_WAIT_VARIABLES[0]] = "passive"
    try:
        yield
    finally:
        del os.environ[_WAIT_VARIABLES[0]]


def _extension_file(folder: Path, name: str) -> Path:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if (path := folder / (name + suffix)).exists():
            return path
    raise ImportError(f"numba has no extension module {name} in {folder}")


def _load_extension(path: Path) -> ModuleType:
    """Load an extension module under a name of our own, so that numba may import it as well."""
    name = f"{__name__}.{path.name.partition('.')[0]}"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # it is None only for a file without a loader
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _load_private_copy(path: Path) -> ModuleType:
    """Load a copy, whose threads and queues are ours alone.

    Numba's own parallel loops use the original: with both on one queue, a launch beside a loop
    would abort the process, and a loop of more threads than we started would wait for ever. Windows
    cannot delete a loaded file and shares the original.
    """
    if sys.platform == "win32":
        return _load_extension(path)
    with tempfile.TemporaryDirectory(prefix="warpsim-") as folder:
        return _load_extension(Path(shutil.copy(path, folder)))


def _preload_tbb(site_packages: Path) -> None:
    """Load the TBB library, so that the extension finds it by name wherever pip has put it.

    The one beside Python comes before the system's, which may be years old. Raises `ImportError` when there is none,
    or one too old.
    """
    name = {"win32": "tbb12.dll", "darwin": "libtbb.12.dylib"}.get(sys.platform, "libtbb.so.12")
    library = None
    # The name alone comes last: what it stands for then is what the extension will get.
    for place in (*(str(p) for p in _tbb_places(site_packages, name)), name):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(place)
    if library is None:
        raise ImportError(f"{name} is neither beside Python nor installed in the system")
    version = library.TBB_runtime_interface_version()
    if version < _OLDEST_TBB_INTERFACE:
        raise ImportError(f"TBB interface {version} is older than {_OLDEST_TBB_INTERFACE}")


def _tbb_places(site_packages: Path, name: str) -> list[Path]:
    """Where the library lies beside Python, if it does."""
    prefixes = [Path(sys.prefix), Path(sys.base_prefix), *site_packages.parents[1:3], site_packages]
    places = (prefix / folder / name for prefix in prefixes for folder in ("lib", "Library/bin"))
    return [place for place in places if place.exists()][:1]
