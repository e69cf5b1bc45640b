"""The kernels of a Python module, the options that they share, and compiling them ahead of launches."""

from __future__ import annotations

import sys
import types as python_types
import weakref
from typing import TYPE_CHECKING, Any

from ....config import config
from ....errors import KernelError, KernelErrors, instance
from ...frontend.gradients import FORGET
from ..devices.device import get_device

if TYPE_CHECKING:
    from .kernel import Kernel

OPTIONS = ("fast_math", "max_unroll", "verify", "deterministic", "enable_backward", "lineinfo")


class Module:
    """The kernels of one Python module and the options they share."""

    def __init__(self, name: str):
        self.name = name
        self.kernels: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
        """Of equal names the one made last."""
        self.all: weakref.WeakSet[Kernel] = weakref.WeakSet()
        self.options: dict[str, Any] = {}

    def load(self, device: Any = None) -> None:
        """Compile every kernel that has concrete argument types; raises what is wrong with broken ones at the end."""
        errors = []
        for kernel in list(self.all):
            try:
                if not kernel.generic:
                    kernel.current.prepare(get_device(device))
            except KernelError as error:
                errors.append(error)
        if errors:
            raise errors[0] if len(errors) == 1 else KernelErrors(errors)

    def __repr__(self) -> str:
        return f"Module({self.name!r})"


_MODULES: dict[str, Module] = {}


def get_module(name: str | python_types.ModuleType) -> Module:
    """The module of a name, made on first use."""
    key = name if isinstance(name, str) else instance(name, python_types.ModuleType, "name").__name__
    return _MODULES.setdefault(key, Module(key))


def forget_kernels() -> None:
    """Make every kernel compile again at its next launch."""
    for module in list(_MODULES.values()):
        for kernel in list(module.all):
            kernel.forget()


FORGET.append(forget_kernels)


def calling_module(module: Any) -> Module:
    if isinstance(module, Module):
        return module
    if module is not None:
        return get_module(module)
    return get_module(sys._getframe(2).f_globals.get("__name__", "__main__"))


def set_module_options(options: dict[str, Any], module: Any = None) -> None:
    """Set options for the kernels of a module (the caller's by default): fast_math, max_unroll, verify, ..."""
    check_options(instance(options, dict, "options"))
    calling_module(module).options.update(options)
    config.touch()


def get_module_options(module: Any = None) -> dict[str, Any]:
    """The options set for a module."""
    return dict(calling_module(module).options)


def check_options(options: dict[str, Any]) -> None:
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise ValueError(f"unknown option {sorted(unknown)[0]!r}\nexpected: {', '.join(OPTIONS)}")


def load_module(module: Any = None, device: Any = None, recursive: bool = False) -> None:
    """Compile the kernels of a module now instead of at their first launch."""
    wanted = calling_module(module)
    for found in list(_MODULES.values()):
        if found is wanted or (recursive and found.name.startswith(wanted.name + ".")):
            found.load(device)


def force_load(device: Any = None, modules: Any = None) -> None:
    """Compile the kernels of all (or the given) modules now."""
    for found in [get_module(m) for m in modules] if modules else list(_MODULES.values()):
        found.load(device)
