"""The kernels of a Python module: the options that they share, and loading them ahead of their first launch."""

from __future__ import annotations

import ast
import hashlib
import sys
import types as python_types
import weakref
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ....config import config
from ....errors import KernelError, KernelErrors, LaunchError, instance, user_frames
from ...emit.build import threads_for
from ...frontend.functions.functions import Func
from ...frontend.functions.gradients import FORGET
from ...frontend.functions.reached import Meanings
from ...types.structs import StructType
from ..devices.device import DeviceLike, get_device
from .dimensions import threads_of_block
from .options import Defaults, check_options
from .pool import thread_count

if TYPE_CHECKING:
    from .kernel import Kernel

UNIQUE = "unique"
"""What `module=` says for a kernel in a module of its own, which has options of its own."""


class Module:
    """The kernels of one Python module and the options they share."""

    def __init__(self, name: str):
        self.name = name
        self.kernels: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
        """Of equal names the one made last."""
        self.all: weakref.WeakSet[Kernel] = weakref.WeakSet()
        self.given: dict[str, Any] = {}
        """The options that were set."""
        self.options = ChainMap(self.given, Defaults())  # type: ignore[arg-type]  # only its first mapping changes
        """All options; what is changed here is set."""
        _EVERY.add(self)

    def load(
        self,
        device: DeviceLike | Sequence[DeviceLike] = None,
        block_dim: int | None = None,
        max_workers: int | None = None,
    ) -> None:
        """Compile every kernel that has concrete argument types; raises what is wrong with broken ones at the end.

        max_workers: threads that compile at a time, 0 or 1 for the calling one alone; by default
        `config.load_module_max_workers`, else as many as launches use. They share LLVM's part of the work on the CPU,
        which is most of it. Code does not depend on it, nor on `block_dim`, which is checked as launches check it.
        """
        _load([self], device, max_workers, block_dim)

    def unload(self) -> None:
        """Forget compiled code: kernels compile again at their next launch. Recorded and captured ones still run."""
        for kernel in list(self.all):
            kernel.forget()

    def hash_module(self) -> bytes:
        """A digest of what the kernels do: their programs at the types that they have, and all options.

        Names of types and of kernels count, places in files do not; so does what constants and functions mean now
        that kernels reach by their names, also where that is not what the programs were made with. Raises what is
        wrong with a broken kernel.
        """
        digest = hashlib.sha256(repr(sorted(self._resolve_options().items(), key=str)).encode())
        for kernel in sorted(self.all, key=lambda kernel: (kernel.key, ast.dump(kernel.source.tree))):
            digest.update(repr((kernel.key, kernel.bounds, sorted(kernel.options.items(), key=str))).encode())
            for text in (*kernel.current.texts(), *Meanings().of_source(kernel.source)):
                digest.update(text.encode())
        return digest.digest()

    get_module_hash = hash_module

    def _resolve_options(self) -> dict[str, Any]:
        """All options with what they mean where nobody set them."""
        options = {"verify_fp": config.verify_fp, **self.options}
        return {name: getattr(config, name, None) if value is None else value for name, value in options.items()}

    def __repr__(self) -> str:
        return f"Module({self.name!r})"


_MODULES: dict[str, Module] = {}
_EVERY: weakref.WeakSet[Module] = weakref.WeakSet()  # unique ones too


def get_module(name: str | python_types.ModuleType) -> Module:
    """The module of a name, made on first use."""
    key = name if isinstance(name, str) else instance(name, python_types.ModuleType, "name").__name__
    return _MODULES.setdefault(key, Module(key))


def module_of(
    module: str | python_types.ModuleType | Module | None,
    function: Callable[..., Any],
    options: dict[str, Any] | None = None,
    name: str | None = None,
) -> Module:
    """The module that `module=` of a decorator means: that of the function where it says nothing.

    Raises `ValueError` for options of a module that others share.
    """
    if module == UNIQUE:
        own = Module(name or function.__name__)
        check_options(options or {})
        own.given.update(options or {})
        return own
    if options is not None:
        raise ValueError(
            f"module_options of {function.__name__!r}, which shares its module\n"
            'expected: module="unique"\nhelp: wp.set_module_options sets options that a module shares'
        )
    if module is None:
        return get_module(function.__module__ or "__main__")
    return module if isinstance(module, Module) else get_module(module)


def forget_kernels() -> None:
    """Make every kernel compile again at its next launch."""
    for module in list(_EVERY):
        for kernel in list(module.all):
            kernel.forget()


FORGET.append(forget_kernels)


def _module_or_caller(module: str | python_types.ModuleType | Module | None) -> Module:
    """The module that a public function is given; that of its caller where it is given none."""
    if module is None:
        return get_module(sys._getframe(2).f_globals.get("__name__", "__main__"))
    return _module_named(module)


def set_module_options(options: dict[str, Any], module: str | python_types.ModuleType | Module | None = None) -> None:
    """Set options for the kernels of a module (the caller's by default): fast_math, max_unroll, verify, ..."""
    check_options(instance(options, dict, "options"))
    _module_or_caller(module).given.update(options)
    config.touch()


def get_module_options(module: str | python_types.ModuleType | Module | None = None) -> dict[str, Any]:
    """All options of a module (the caller's by default): as they were set, else with their defaults."""
    return dict(_module_or_caller(module).options)


def load_module(
    module: str | python_types.ModuleType | Module | None = None,
    device: DeviceLike | Sequence[DeviceLike] = None,
    recursive: bool = False,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compile the kernels of a module now instead of at their first launch, see `Module.load`.

    recursive: those of modules below it in its package too. device: one device or several. Raises `LaunchError` for
    a module that is named, or given, and holds nothing for kernels: a name with a slip, or one not imported yet.
    """
    chosen = _module_or_caller(module)
    below = [m for m in _MODULES.values() if recursive and m.name.startswith(chosen.name + ".")]
    if isinstance(module, (str, python_types.ModuleType)) and not below:
        _require_content(chosen)
    _load([chosen, *below], device, max_workers, block_dim)


def _require_content(module: Module) -> None:
    """Raise for a module without kernels, functions or structs."""
    names = vars(sys.modules[module.name]) if module.name in sys.modules else {}
    if not module.all and not any(isinstance(x, (Func, StructType)) for x in names.values()):
        raise LaunchError(
            f"module {module.name!r} has no kernels, functions or structs\n"
            "expected: the name of a module that is imported and has some"
        )


def force_load(
    device: DeviceLike | Sequence[DeviceLike] = None,
    modules: Iterable[str | python_types.ModuleType | Module] | None = None,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compile the kernels of all (or the given) modules now, see `Module.load`."""
    _load(list(_EVERY) if modules is None else map(_module_named, modules), device, max_workers, block_dim)


def _module_named(module: str | python_types.ModuleType | Module) -> Module:
    return module if isinstance(module, Module) else get_module(module)


@user_frames
def _load(
    modules: Iterable[Module], device: DeviceLike | Sequence[DeviceLike], max_workers: int | None, block_dim: int | None
) -> None:
    """Compile all kernels of modules; raises at the end what is wrong with broken ones."""
    places = [get_device(d) for d in (device if isinstance(device, (list, tuple)) else (device,))]
    for place in places:
        if place.block_threads == 1:
            threads_of_block(block_dim, place)
    pairs = [(kernel.current, place) for module in modules for kernel in list(module.all) for place in places]
    errors = []
    with threads_for(_worker_count(max_workers)) as threads:
        if threads is not None:
            for kernel, place in pairs:
                with suppress(KernelError):  # `prepare` raises it again
                    kernel.begin(place, threads)
        for kernel, place in pairs:
            try:
                kernel.prepare(place)
            except KernelError as error:
                errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else KernelErrors(errors)


def _worker_count(max_workers: int | None) -> int:
    """How many threads compile. Raises `ValueError` for what is no number of threads."""
    count = config.load_module_max_workers if max_workers is None else max_workers
    if count is None:
        return thread_count()
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(f"max_workers is {count!r}\nexpected: a number of threads, 0 for no other, or None")
    return count
