"""`@kernel`: a function launched over many threads, and its compiled forms.

A kernel is lowered once per argument types and compiled once per array layouts and options, at the
first launch that needs it. Nothing of one kernel depends on another: a broken one fails alone.
"""

from __future__ import annotations

import copy
import sys
import types as python_types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ....config import config
from ....errors import (
    ArgumentCountError,
    ArgumentTypeError,
    KernelError,
    KernelErrors,
    KernelTypeError,
    instance,
    user_frames,
)  # fmt: skip
from ... import compile as compiler
from ...emit import build as builder
from ...emit.program import FORWARD, Form, Program
from ...emit.target import Options
from ...frontend.functions import called_by, redefinitions
from ...frontend.gradients import FORGET
from ...frontend.overloads import Static, operand_pattern_type
from ...frontend.scope import describe
from ...frontend.source import Source, evaluated_annotations, kernel_parameters
from ...ir.nodes import Function
from ...types import scalars, structs
from ...types.arrays import ArrayType, array_type, type_name
from ...types.signatures import Weak, is_generic, match, match_weak, resolve
from ..devices.cuda.function import CudaFunction
from ..devices.device import Device, get_device

OPTIONS = ("fast_math", "max_unroll", "verify", "deterministic", "enable_backward", "lineinfo")
_MOST_THREADS = 1024  # of a block, on any GPU


class Settings(NamedTuple):
    """The options that shape code. Taken once per launch: another thread may change them meanwhile."""

    fast_math: bool
    verify: bool
    max_unroll: int


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


def block_bounds(given: int | tuple[int, ...] | None) -> tuple[int, int]:
    """The most threads of a block and the least blocks of a multiprocessor, 0 where free.

    Raises `ValueError` for what is neither a number of threads nor such a pair.
    """
    if given is None:
        return 0, 0
    numbers = given if isinstance(given, tuple) else (given,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in numbers)
    if not whole or len(numbers) not in (1, 2) or numbers[0] > _MOST_THREADS:
        raise ValueError(
            f"launch_bounds is {given!r}\nexpected: the most threads of a block, up to {_MOST_THREADS}, "
            "or with it the least blocks of a multiprocessor: launch_bounds=256, launch_bounds=(256, 2)"
        )
    return numbers[0], numbers[1] if len(numbers) > 1 else 0


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


class Kernel:
    """A kernel made of a Python function; `key` names it in messages and caches."""

    def __init__(
        self,
        func: Callable[..., None],
        key: str | None = None,
        module: Any = None,
        options: dict[str, Any] | None = None,
        launch_bounds: int | tuple[int, ...] | None = None,
    ):
        check_options(options or {})
        instance(func, python_types.FunctionType, "what @wp.kernel decorates")
        self.bounds = block_bounds(launch_bounds)
        self.function = func
        self.key = key or func.__qualname__.replace("<locals>.", "")
        self.module = calling_module(module) if module is not None else get_module(func.__module__ or "__main__")
        self.options = dict(options or {})
        self.__doc__, self.__name__ = func.__doc__, func.__name__
        self.source = Source(func)
        self._patterns: dict[str, Any] | None = None
        self._lowered: dict[Any, Function] = {}
        self._programs: dict[Any, Program] = {}
        self._compiled: dict[Any, Any] = {}  # machine code for the CPU, and on CUDA devices
        self.launchers: dict[Any, Any] = {}
        self.latest: dict[str, Any] = {}  # the launcher used last on each device, tried first
        self.needs: dict[Any, Any] = {}  # what tapes must know of it, by types, see `needs`
        self.face = self._edition = self
        self._redefinitions = redefinitions()
        self._called: set[Any] | None = None  # what the edition was made with; None before anything was made
        self.module.kernels[self.key] = self
        self.module.all.add(self)

    def __repr__(self) -> str:
        return f"Kernel({self.key!r})"

    def __call__(self, *args: Any, **keywords: Any) -> None:
        raise TypeError(f"kernel {self.key!r} is not called\nhelp: wp.launch({self.key}, dim=n, inputs=[...])")

    # ----- parameters -----------------------------------------------------------------------

    @property
    def patterns(self) -> dict[str, Any]:
        """Parameter names and their annotations as types or patterns."""
        if self._patterns is None:
            found = evaluated_annotations(self.source)
            self._patterns = {name: self._pattern(name, found) for name in kernel_parameters(self.source)}
        return self._patterns

    def _pattern(self, name: str, found: dict[str, Any]) -> Any:
        if name not in found:
            raise KernelTypeError(
                f"parameter {name!r} of kernel {self.key!r} has no type", self.source.whole(),
                help=f"annotate it: {name}: float, {name}: wp.vec3, {name}: wp.array(dtype=float)",
            )  # fmt: skip
        t = scalars.canonical(found[name])
        if not structs.is_field_type(t) and not is_generic(t):
            raise KernelTypeError(
                f"parameter {name!r} of kernel {self.key!r} has type {type_name(t)}", self.source.whole(),
                expected="a scalar, vector, matrix, struct or array type",
            )  # fmt: skip
        return t

    @property
    def generic(self) -> bool:
        return any(is_generic(p) for p in self.patterns.values())

    def types_for(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Concrete parameter types for launch arguments.

        Raises `ArgumentCountError`, and `ArgumentTypeError` where a generic parameter does not fit.
        """
        if len(args) != len(self.patterns):
            names = ", ".join(self.patterns)
            raise ArgumentCountError(
                f"kernel {self.key!r} got {len(args)} arguments\nexpected: {len(self.patterns)}: {names}"
            )
        if not self.generic:
            return tuple(self.patterns.values())
        bound: dict[Any, Any] = {}
        found = []
        given = [argument_type(a) for a in args]
        for pattern, t in zip(self.patterns.values(), given, strict=True):
            if is_generic(pattern) and not isinstance(t, Weak):
                match(pattern, t, bound)
        for (name, pattern), t in zip(self.patterns.items(), given, strict=True):
            if not is_generic(pattern):
                found.append(pattern)
                continue
            if isinstance(t, Static) and t.value is None and isinstance(pattern, ArrayType):
                found.append(array_type(element_of_none(pattern.dtype, bound), pattern.ndim, pattern.indexed))
                continue
            concrete = match_weak(pattern, t, bound) if isinstance(t, Weak) else t
            fits = concrete is not None and (isinstance(t, Weak) or match(pattern, t, bound))
            if isinstance(t, Static) or not fits:
                shown = describe(t.value) if isinstance(t, Static) else type_name(t)
                raise ArgumentTypeError(
                    f"argument {name!r} of kernel {self.key!r} is {shown}\nexpected: {type_name(pattern)}"
                )
            found.append(concrete)
        return tuple(found)

    # ----- compiled forms -------------------------------------------------------------------

    def option(self, name: str) -> Any:
        """An option of the kernel, else of its module, else of `config`."""
        for place in (self.options, self.module.options):
            if name in place:
                return place[name]
        return getattr(config, name)

    def settings(self) -> Settings:
        """The options that shape code, as they are now."""
        return Settings(bool(self.option("fast_math")), bool(self.option("verify")), self.option("max_unroll"))

    def program(
        self, types: tuple[Any, ...], settings: Settings | None = None, aliased: bool = False,
        form: Form = FORWARD,
    ) -> Program:  # fmt: skip
        """The final IR at concrete parameter types; `aliased` as in `Options`."""
        unroll = (settings or self.settings()).max_unroll
        key = (types, unroll, form)
        if key not in self._programs:
            with builder.compiling:  # threads that meet here compile once
                if key not in self._programs:
                    self._programs[key] = self._made(types, unroll, form)
        program = self._programs[key]
        return replace(program, plan=program.plan.without_assumptions()) if aliased else program

    def lowered(self, types: tuple[Any, ...]) -> Function:
        """The kernel in the IR before any pass, with calls in it."""
        if types not in self._lowered:
            self._lowered[types] = compiler.lower(self.source, self.patterns, list(types))
            if self._called is None:
                self._called = called_by(self.source)
        return self._lowered[types]

    def _made(self, types: tuple[Any, ...], unroll: int, form: Form) -> Program:
        fn = self.lowered(types)
        forward = self._programs.get((types, unroll, FORWARD)) or compiler.finish(fn, unroll)
        return forward if form == FORWARD else compiler.derive(fn, unroll, form, forward.ndim, forward.handle_params)

    def compiled(
        self, types: tuple[Any, ...], layouts: tuple[str, ...], settings: Settings, aliased: bool = False,
        form: Form = FORWARD,
    ) -> builder.Compiled:  # fmt: skip
        """Machine code for the CPU; `aliased` as in `Options`, layouts for all parameters of the form."""
        options = Options(layouts, settings.fast_math, settings.verify, aliased)
        key = (types, options, settings.max_unroll, form)
        if key not in self._compiled:
            with builder.compiling:
                if key not in self._compiled:
                    self._compiled[key] = builder.build(self.program(types, settings, aliased, form), options)
        compiled: builder.Compiled = self._compiled[key]
        return compiled

    def loaded(
        self, types: tuple[Any, ...], layouts: tuple[str, ...], settings: Settings, device: Any, aliased: bool = False,
        form: Form = FORWARD,
    ) -> CudaFunction:  # fmt: skip
        """Machine code on a CUDA device; arguments as of `compiled`."""
        lineinfo = bool(self.option("lineinfo"))
        options = Options(layouts, settings.fast_math, settings.verify, aliased, lineinfo, self.bounds)
        key = (types, options, settings.max_unroll, form, device.alias)
        if key not in self._compiled:
            with builder.compiling:
                if key not in self._compiled:
                    code = builder.build_cuda(self.program(types, settings, aliased, form), options, device.arch)
                    self._compiled[key] = CudaFunction(code, device)
        function: CudaFunction = self._compiled[key]
        return function

    def prepare(self, device: Device) -> None:
        """Compile for contiguous arrays, as `load_module` asks."""
        types = tuple(self.patterns.values())
        layouts = tuple("C" if isinstance(t, ArrayType) and not t.indexed else "" for t in types)
        if device.is_cuda:
            self.loaded(types, layouts, self.settings(), device)
        else:
            self.compiled(types, layouts, self.settings())

    @property
    def current(self) -> Kernel:
        """The kernel with the functions that it calls as they are defined now.

        When one was defined again since it was compiled, that is a copy with compiled forms of its own: what tapes
        and graphs recorded keeps the program that ran.
        """
        edition = self.face._edition
        if edition._redefinitions == redefinitions():
            return edition
        with builder.compiling:
            seen, called = redefinitions(), called_by(self.source)
            if edition._lowered and called != edition._called:
                self.latest.clear()
                edition = self.face._edition = copy.copy(self.face)
                edition._lowered, edition._programs, edition._compiled = {}, {}, {}
                edition.launchers, edition.needs = {}, {}
            edition._redefinitions, edition._called = seen, called
        return edition

    @property
    def is_current(self) -> bool:
        """Whether launches of the kernel still run this, see `current`."""
        return self is self.face._edition

    def forget(self) -> None:
        """Compile again at the next launch: something that the kernel calls was declared anew."""
        for k in {self, self.face._edition}:
            for kept in (k._lowered, k._programs, k._compiled, k.launchers, k.needs, k.latest):
                kept.clear()

    def add_overload(self, types: Any) -> Kernel:
        """Check that concrete types fit this generic kernel (they compile at their first launch)."""
        given = self.types_by_name(types) if isinstance(types, dict) else list(types)
        names = list(self.patterns)
        if len(given) != len(names):
            raise ArgumentTypeError(f"{len(given)} types for the {len(names)} parameters of kernel {self.key!r}")
        bound: dict[Any, Any] = {}
        for name, t in zip(names, given, strict=True):
            if not match(self.patterns[name], scalars.canonical(t), bound):
                raise ArgumentTypeError(
                    f"type {type_name(t)} for {name!r} of kernel {self.key!r}\n"
                    f"expected: {type_name(self.patterns[name])}"
                )
        self._patterns_of(given)
        return self

    def types_by_name(self, types: dict[str, Any]) -> list[Any]:
        """Types of all parameters from a dict that has at least the generic ones."""
        generic = [name for name, pattern in self.patterns.items() if is_generic(pattern)]
        if set(types) - set(self.patterns) or set(generic) - set(types):
            raise ArgumentTypeError(
                f"overload of kernel {self.key!r} has types for {', '.join(types)}\nexpected: {', '.join(generic)}"
            )
        return [types.get(name, pattern) for name, pattern in self.patterns.items()]

    def _patterns_of(self, given: list[Any]) -> None:
        self.current.program(tuple(resolve(t, {}) for t in given))


def element_of_none(pattern: Any, bound: dict[Any, Any]) -> Any:
    """The element type of a generic array that is None: that of others, else any, as there are no elements."""
    try:
        found = resolve(pattern, bound)
    except KeyError:
        found = scalars.float32
    return scalars.float32 if is_generic(found) else found


def argument_type(value: Any) -> Any:
    """The kernel type of a launch argument."""
    found = getattr(value, "type", None)
    if isinstance(found, ArrayType):
        return found
    if hasattr(value, "__array_interface__") and not isinstance(value, (int, float)) and getattr(value, "ndim", None):
        return array_type(scalars.canonical(value.dtype), value.ndim)
    if (on_device := getattr(value, "__cuda_array_interface__", None)) is not None:
        return array_type(scalars.canonical(np.dtype(on_device["typestr"])), len(on_device["shape"]))
    return operand_pattern_type(value)


def kernel(
    f: Callable[..., None] | None = None, *, key: str | None = None, module: Any = None,
    enable_backward: bool | None = None, deterministic: bool | None = None, fast_math: bool | None = None,
    max_unroll: int | None = None, verify: bool | None = None, lineinfo: bool | None = None,
    launch_bounds: int | tuple[int, ...] | None = None, **misspelt: Any,
) -> Any:  # fmt: skip
    """Make a kernel of a typed Python function.

    Every parameter needs a type; the function returns nothing and asks for its thread index with
    `wp.tid()`. Options override those of the module and of `config`. `launch_bounds` is for CUDA: the most
    threads of a block, or a pair of that and the least blocks that a multiprocessor should hold at a time.
    """
    given = {
        "enable_backward": enable_backward, "deterministic": deterministic, "fast_math": fast_math,
        "max_unroll": max_unroll, "verify": verify, "lineinfo": lineinfo,
    }  # fmt: skip
    check_options(misspelt)
    options = {name: value for name, value in given.items() if value is not None}

    @user_frames
    def wrap(function: Callable[..., None]) -> Kernel:
        return Kernel(function, key, None if module == "unique" else module, options, launch_bounds)

    return wrap(f) if f is not None else wrap


def overload(kernel: Kernel, arg_types: Any = None) -> Kernel:
    """Declare concrete argument types of a generic kernel; an error shows now instead of at launch."""
    instance(kernel, Kernel, "kernel")
    return kernel if arg_types is None else kernel.add_overload(arg_types)
