"""`@kernel`: a function launched over many threads, and its compiled forms.

A kernel is lowered once per argument types and compiled once per array layouts and options, at the
first launch that needs it. Nothing of one kernel depends on another: a broken one fails alone.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types as python_types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ....config import config
from ....errors import ArgumentTypeError, KernelCallError, KernelNameError, KernelTypeError, instance, user_frames
from ... import compile as compiler
from ...emit import build as builder
from ...emit.program import PRIMAL, Form, Program
from ...emit.target import Options
from ...frontend.functions.definitions import redefinitions
from ...frontend.functions.functions import called_by
from ...frontend.source import texts
from ...frontend.source.by_name import ByName
from ...frontend.source.source import Source, evaluated_annotations, kernel_parameters
from ...ir.nodes import Function
from ...ir.printer import print_function
from ...types import scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.signatures import is_generic
from ..devices.device import Device
from .argument_types import concrete_types, overload_types
from .modules import Module, module_of
from .options import check_options, option
from .programs import Inputs, Recipe, program_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

_MOST_THREADS = 1024  # of a block, on any GPU
_MOST_TYPES = 256  # that a kernel is compiled for at a time: structs of arguments may be made anew without end
_MOST_PROGRAMS = 4 * _MOST_TYPES


class Settings(NamedTuple):
    """The options that shape code. Taken once per launch: another thread may change them meanwhile."""

    fast_math: bool
    verify: bool
    max_unroll: int
    lanes: str
    verify_fp: bool


class Variant(NamedTuple):
    """Which machine code of a kernel: its options, whether arrays overlap (`aliased` as in `Options`), and the form."""

    settings: Settings
    aliased: bool = False
    form: Form = PRIMAL


def block_bounds(bounds: int | tuple[int, ...] | None) -> tuple[int, int]:
    """The most threads of a block and the least blocks of a multiprocessor, 0 where free.

    Raises `ValueError` for what is neither a number of threads nor such a pair.
    """
    if bounds is None:
        return 0, 0
    numbers = bounds if isinstance(bounds, tuple) else (bounds,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in numbers)
    if not whole or len(numbers) not in (1, 2) or numbers[0] > _MOST_THREADS:
        raise ValueError(
            f"launch_bounds is {bounds!r}\nexpected: the most threads of a block, up to {_MOST_THREADS}, "
            "or with it the least blocks of a multiprocessor: launch_bounds=256, launch_bounds=(256, 2)"
        )
    return numbers[0], numbers[1] if len(numbers) > 1 else 0


class Kernel(ByName):
    """A kernel made of a Python function; `key` names it in messages and caches."""

    def __init__(
        self,
        func: Callable[..., None],
        key: str | None = None,
        module: str | python_types.ModuleType | Module | None = None,
        options: dict[str, Any] | None = None,
        launch_bounds: int | tuple[int, ...] | None = None,
        module_options: dict[str, Any] | None = None,
    ):
        check_options({} if options is None else options)
        instance(func, python_types.FunctionType, "what @wp.kernel decorates")
        self.bounds = block_bounds(launch_bounds)
        self.function = func
        self.key = key or func.__qualname__.replace("<locals>.", "")
        self.module = module_of(module, func, module_options, key)
        self.options = dict(options or {})
        self.declared: list[tuple[Any, ...]] = []  # types that `overload` named
        self.__doc__, self.__name__, self.__module__ = func.__doc__, func.__name__, func.__module__
        self.place = (func.__module__, func.__qualname__)
        self.source = Source(func)
        self._patterns: dict[str, Any] | None = None
        self._lowered: dict[Any, Function] = {}
        self._programs: dict[Any, Program] = {}
        self.inputs: dict[Any, Inputs | None] = {}  # of its programs, by types
        self._compiled: dict[Any, Any] = {}  # machine code, by device
        self.launchers: dict[Any, Any] = {}
        self.latest: dict[str, Any] = {}  # the launcher used last on each device, tried first
        self.arrays: dict[Any, Any] = {}  # what tapes know of its arrays, by types, see `kernel_arrays`
        self.face = self._edition = self._base = self
        self.rank = 0
        """Of the launches that it is for, where they have more dimensions than `tid()` has indices."""
        self._ranked: dict[int, Kernel] = {}
        self._redefinitions = redefinitions()
        self._called: set[Any] | None = None  # what the edition was made with; None before anything was made
        self.module.kernels[self.key] = self
        self.module.all.add(self)

    def __repr__(self) -> str:
        return f"Kernel({self.key!r})"

    def __call__(self, *args: object, **keywords: object) -> None:
        raise KernelCallError(f"kernel {self.key!r} is not called\nhelp: wp.launch({self.key}, dim=n, inputs=[...])")

    # ----- parameters -----------------------------------------------------------------------

    @property
    def patterns(self) -> dict[str, Any]:
        """Parameter names and their annotations as types or patterns."""
        if self._patterns is None:
            annotations = evaluated_annotations(self.source)
            self._patterns = {name: self._pattern(name, annotations) for name in kernel_parameters(self.source)}
        return self._patterns

    def _pattern(self, name: str, annotations: dict[str, Any]) -> Any:
        if name not in annotations:
            raise KernelTypeError(
                f"parameter {name!r} of kernel {self.key!r} has no type",
                self.source.whole(),
                help=f"annotate it: {name}: float, {name}: wp.vec3, {name}: wp.array(dtype=float)",
            )
        t = scalars.canonical(annotations[name])
        if not structs.is_field_type(t) and not is_generic(t):
            raise KernelTypeError(
                f"parameter {name!r} of kernel {self.key!r} has type {type_name(t)}",
                self.source.whole(),
                expected="a scalar, vector, matrix, struct or array type",
                help=f"say of what: {name}: wp.array[float], {name}: wp.array2d[wp.vec3]" if _holds_data(t) else "",
            )
        if isinstance(t, ArrayType) and t.local_shape is not None:
            raise KernelTypeError(
                f"parameter {name!r} of kernel {self.key!r} is a tile: {t!r}",
                self.source.whole(),
                expected="an array, whose memory outlives a thread",
                help=f"load the tile in the kernel: wp.tile_load({name}, shape={t.local_shape})",
            )
        return t

    @property
    def adj(self) -> python_types.SimpleNamespace:
        """The parameters as `adj.args`, each with its `label` and `type`: where engines look for them."""
        args = [python_types.SimpleNamespace(label=name, type=t) for name, t in self.patterns.items()]
        return python_types.SimpleNamespace(args=args)

    @property
    def generic(self) -> bool:
        return any(is_generic(p) for p in self.patterns.values())

    def types_for(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Concrete parameter types for launch arguments.

        Raises `ArgumentCountError`, and `ArgumentTypeError` where a generic parameter does not fit.
        """
        return concrete_types(self.key, self.patterns, args)

    # ----- compiled forms -------------------------------------------------------------------

    def option(self, name: str) -> Any:
        """An option of the kernel, else of its module, else of `config`."""
        return option(name, self.options, self.module.given)

    def settings(self) -> Settings:
        """The options that shape code, as they are now."""
        option, verify_fp = self.option, config.verify_fp
        fast = bool(option("fast_math")) and not verify_fp  # fast mathematics takes for granted that all is finite
        return Settings(fast, bool(option("verify")), option("max_unroll"), option("lanes"), bool(verify_fp))

    def program(
        self, types: tuple[Any, ...], settings: Settings | None = None, aliased: bool = False, form: Form = PRIMAL
    ) -> Program:
        """The final IR at concrete parameter types; `aliased` as in `Options`."""
        settings = settings or self.settings()
        program = self.program_of(Recipe(types, settings.max_unroll, form, settings.verify_fp))
        return program.with_plan(program.plan.without_assumptions()) if aliased else program

    def program_of(self, recipe: Recipe) -> Program:
        """The final IR by a recipe, made once."""
        if recipe not in self._programs:
            with builder.compiling:  # threads that meet here compile once
                if recipe not in self._programs:
                    if len(self._programs) >= _MOST_PROGRAMS:
                        self.forget()
                    self._programs[recipe] = program_of(self, recipe)
        return self._programs[recipe]

    def lower(self, types: tuple[Any, ...]) -> Function:
        """The kernel in the IR before any pass, with calls in it."""
        if types not in self._lowered:
            if len(self._lowered) >= _MOST_TYPES:
                self.forget()
            self._lowered[types] = compiler.lower(self.source, self.patterns, list(types))
            self.note_called()
        return self._lowered[types]

    def is_lowered(self, types: tuple[Any, ...]) -> bool:
        """Whether the kernel is translated at these types."""
        return types in self._lowered

    def note_called(self) -> None:
        """Keep which functions the first program was made with."""
        if self._called is None:
            self._called = called_by(self.source)

    def compile(self, types: tuple[Any, ...], layouts: tuple[str, ...], device: Device, variant: Variant) -> Any:
        """Machine code on a device, as `Device.build` makes it. layouts: of all parameters of the form."""
        settings, aliased, form = variant
        options = self._code_options(layouts, settings, aliased)
        key = (types, options, settings.max_unroll, settings.verify_fp, form, device.alias)
        if key not in self._compiled:
            with builder.compiling:
                if key not in self._compiled:
                    self._compiled[key] = device.build(self.program(types, settings, aliased, form), options)
        return self._compiled[key]

    def serialize_code(
        self, types: tuple[Any, ...], layouts: tuple[str, ...], device: Device, variant: Variant
    ) -> bytes:
        """The same machine code as bytes for another process, see `Device.serialize`."""
        settings, aliased, form = variant
        options = self._code_options(layouts, settings, aliased)
        return device.serialize(self.program(types, settings, aliased, form), options)

    def _code_options(self, layouts: tuple[str, ...], settings: Settings, aliased: bool = False) -> Options:
        lineinfo = bool(self.option("lineinfo"))
        return Options(layouts, settings.fast_math, settings.verify, aliased, lineinfo, self.bounds, settings.lanes)

    def prepare(self, device: Device) -> Any:
        """Compile for contiguous arrays, as `load_module` asks; a generic kernel at the types that `overload` named.

        Gives the machine code at the last of the types.
        """
        code = None
        for types in self.known_types():
            code = self.compile(types, _contiguous(types), device, Variant(self.settings()))
        return code

    def begin(self, device: Device, threads: Executor) -> None:
        """Let other threads do their part of what `prepare` will ask for."""
        settings = self.settings()
        for types in self.known_types():
            options = self._code_options(_contiguous(types), settings)
            if (types, options, settings.max_unroll, settings.verify_fp, PRIMAL, device.alias) not in self._compiled:
                device.begin(self.program(types, settings), options, threads)

    def known_types(self) -> list[tuple[Any, ...]]:
        """The types of parameters that are known without a launch: of a generic kernel those that `overload` named."""
        return self.declared if self.generic else [tuple(self.patterns.values())]

    def texts(self) -> Iterator[str]:
        """The programs at the known types as text; of a generic kernel its source too."""
        if self.generic:
            yield ast.dump(self.source.tree)
        for types in self.known_types():
            yield print_function(self.program(types).fn)

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
            if edition._called is not None and called != edition._called:
                self.latest.clear()
                edition = self.face._edition = self.face._anew()
                edition._lowered, edition._ranked, edition._base = {}, {}, edition
                edition.inputs = {}
            edition._redefinitions, edition._called = seen, called
        return edition

    def _anew(self) -> Kernel:
        """A copy with nothing compiled yet."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._programs, other._compiled, other.launchers, other.arrays = {}, {}, {}, {}
        return other

    def over(self, rank: int, types: tuple[Any, ...]) -> Kernel:
        """The kernel for launches of `rank` dimensions: where `tid()` has fewer indices, one that takes the leading."""
        base = self._base
        if rank < 2 or not 0 < base.program(types).ndim < rank:
            return base
        if rank not in base._ranked:
            with builder.compiling:
                if rank not in base._ranked:
                    other = base._anew()
                    other.rank = rank
                    base._ranked[rank] = other
        return base._ranked[rank]

    @property
    def is_current(self) -> bool:
        """Whether launches of the kernel still run this, see `current`."""
        return self._base is self.face._edition

    def forget(self) -> None:
        """Compile again at the next launch: something that the kernel calls was declared anew."""
        for k in {self, self.face._edition}:
            for cache in (k._lowered, k.inputs, k._programs, k._compiled, k.launchers, k.arrays, k.latest, k._ranked):
                cache.clear()

    def add_overload(self, types: Any) -> Kernel:
        """Note concrete types for this generic kernel, which must fit; what its body makes of them is found out when
        it is compiled."""
        self.declared.append(overload_types(self.key, self.patterns, types))
        return self


def _holds_data(annotation: object) -> bool:
    """Whether an annotation is a class of arrays, as `np.ndarray` or a bare `wp.array`, which leaves open of what."""
    return hasattr(annotation, "__dlpack__")


def _contiguous(types: Sequence[Any]) -> tuple[str, ...]:
    """The layouts of arguments whose arrays are contiguous."""
    return tuple("C" if _may_be_contiguous(t) else "" for t in types)


def _may_be_contiguous(t: Any) -> bool:
    if structs.is_struct(t):
        return structs.holds_arrays(t) and all(map(_may_be_contiguous, filter(structs.holds_arrays, t.fields.values())))
    return isinstance(t, ArrayType) and not t.indexed


def kernel(
    f: Callable[..., None] | None = None,
    *,
    name: str | None = None,
    module: str | python_types.ModuleType | Module | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    module_options: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Make a kernel of a typed Python function.

    Every parameter needs a type; the function returns nothing and asks for its thread index with
    `wp.tid()`. `name` is its name in messages and caches. `options` override those of its module and of `config`:
    `enable_backward`, `fast_math`, `max_unroll`, `verify`, `deterministic`, `lineinfo`, `lanes`; those
    that the face accepts have no effect. `module="unique"` is a module for this kernel alone, with `module_options`.
    `launch_bounds` is for CUDA: the most threads of a block, or a pair of that and the least blocks that a
    multiprocessor should hold at a time.

    Raises `ValueError` for unknown options, and `KernelError` when something of the function is not in the language.
    """
    check_options(options)
    set_options = {option: value for option, value in options.items() if value is not None}

    @user_frames
    def wrap(function: Callable[..., None]) -> Kernel:
        return Kernel(function, name, module, set_options, launch_bounds, module_options)

    return wrap(f) if f is not None else wrap


@user_frames
def kernel_from_source(
    text: str, name: str | None = None, scope: dict[str, Any] | None = None, **options: Any
) -> Kernel:
    """Make a kernel of a text (runtime code generation): of its last function, or of the one called `name`.

    `scope` has the names that the text may use; `wp` is warpsim unless it says otherwise. Functions before the kernel
    may be decorated with `@wp.func`, and the kernel itself with `@wp.kernel`; else `options` are those of `kernel`.
    It belongs to the module of the caller, and is pickled if that has it under its name. Messages show the lines of the
    text.

    Raises `SyntaxError` for a text that is not Python, `KernelNameError` if it has no such function, and `KernelError`
    when something of it is not in the language.
    """
    instance(text, str, "the text of a kernel")
    module = sys._getframe(2).f_globals.get("__name__", "__main__")  # of the caller of `user_frames`
    space: dict[str, Any] = {"__name__": module, "wp": sys.modules["warpsim"], **(scope or {})}
    file = texts.remember(text, "kernel_from_source")
    exec(compile(text, file, "exec", dont_inherit=True), space)
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    chosen = name or (names[-1] if names else None)
    if chosen not in names:
        raise KernelNameError(
            f"the text has no function {name!r}" if name else "the text has no function",
            help=f"it has {', '.join(names)}" if names else "define the kernel in it: def NAME(parameter: type, ...):",
        )
    thing = space[chosen]
    result: Kernel = thing if isinstance(thing, Kernel) else kernel(thing, **options)
    weakref.finalize(result, linecache.cache.pop, file, None).atexit = False
    return result


def overload(kernel: Kernel | Callable[..., None], arg_types: Any = None) -> Kernel:
    """Declare concrete argument types of a generic kernel, which `load_module` then compiles: a list or a dict.

    As a decorator of a function with the name and the concrete parameters of the kernel, whose body says nothing.
    Raises `ArgumentTypeError` for types that do not fit, and for a kernel that is not generic.
    """
    generic = kernel if isinstance(kernel, Kernel) else None
    if generic is None:
        function = instance(kernel, python_types.FunctionType, "kernel")
        generic = module_of(None, function).kernels.get(function.__qualname__.replace("<locals>.", ""))
        if generic is None:
            raise ArgumentTypeError(f"there is no kernel {function.__qualname__!r} to overload")
        arg_types = list(evaluated_annotations(Source(function)).values())
    if not generic.generic:
        raise ArgumentTypeError(f"kernel {generic.key!r} is not generic\nhelp: it runs without wp.overload")
    return generic if arg_types is None else generic.add_overload(arg_types)
