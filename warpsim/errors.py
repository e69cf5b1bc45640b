"""Every exception that warpsim raises on purpose, and the shape of a compiler message.

A message says where (file, line, caret), what was found, what was expected and what to do.
All classes derive from `WarpsimError`, which is a `RuntimeError`; where another built-in exception fits, they derive
from it too, so that `except TypeError` keeps working in users' scripts.
"""

from __future__ import annotations

import functools
import linecache
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar


class WarpsimError(RuntimeError):
    """Root of all errors that warpsim raises on purpose."""


@dataclass(frozen=True)
class Location:
    """A span of user source: 1-based line, 0-based columns, and the function it stands in."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    function: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column + 1}"
        return f"{where} in {self.function}" if self.function else where

    def excerpt(self) -> str:
        """The source line with a caret under the span, or nothing when the source is gone."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        gutter = " " * len(str(self.line))
        width = max(1, min(self.end_column or self.column + 1, len(text)) - self.column)
        caret = " " * self.column + "^" * width
        return f"{gutter} |\n{self.line} | {text}\n{gutter} | {caret}"


class KernelError(WarpsimError):
    """A kernel or function that cannot be compiled; `location` points into the user's source."""

    def __init__(
        self,
        message: str,
        location: Location | None = None,
        *,
        found: str = "",
        expected: str = "",
        help: str = "",
        chain: tuple[Location, ...] = (),
    ):
        self.message, self.location = message, location
        self.found, self.expected, self.help, self.chain = found, expected, help, chain
        super().__init__(message)

    def __str__(self) -> str:
        lines = [self.message]
        if self.location is not None:
            lines.append(f"  --> {self.location}")
            lines.append(self.location.excerpt())
        for label in ("found", "expected", "help"):
            if text := getattr(self, label):
                lines.append(f"{label}: {text}")
        lines.extend(f"called from {site}\n{site.excerpt()}" for site in self.chain)
        return "\n".join(line for line in lines if line)

    def __reduce__(self) -> tuple:
        fields = {"found": self.found, "expected": self.expected, "help": self.help, "chain": self.chain}
        return _rebuild, (type(self), self.message, self.location, fields)


def _rebuild(cls: type[KernelError], message: str, location: Location | None, fields: dict) -> KernelError:
    return cls(message, location, **fields)


class UnsupportedSyntaxError(KernelError, SyntaxError):
    """Python that is not part of the kernel language."""

    __str__ = KernelError.__str__


class KernelNameError(KernelError, NameError, KeyError):
    """A name that is not defined, or not defined on every path to its use."""


class KernelAttributeError(KernelError, AttributeError):
    """An attribute that a module, a value or a class does not have, or a field that a struct does not have."""


class UnassignedLocalError(KernelNameError):
    """A local variable that some path reaches without an assignment."""


class UnassignedLocalWarning(UserWarning):
    """A local, or the result of a function, is zero where some path gives it no value."""


class KernelTypeError(KernelError, TypeError):
    """Operands, arguments or assignments whose types do not fit."""


class KernelValueError(KernelError, ValueError):
    """A constant that cannot be used: out of range, a bad index, a bad `wp.static`."""


class KernelLookupError(KernelValueError, IndexError, KeyError):
    """A constant index or key outside of what it selects from."""


class NotDifferentiableError(KernelError, TypeError):
    """A derivative was asked of an operation that has none, or of a program whose reverse cannot be exact."""


class NativeCodeError(KernelError, ValueError):
    """Native text that the C++ compiler refuses, or that throws an exception."""


class NoCompilerError(KernelError):
    """Native text on a machine without a C++ compiler."""


class CustomGradientError(KernelError, TypeError):
    """A `func_grad`, `func_replay`, `wp.adjoint` or `wp.grad` that does not fit the function it is for."""


class RecursionNotSupportedError(KernelError, RecursionError):
    """A function that calls itself, directly or through others."""


class KernelErrors(KernelError):
    """Several independent errors of one kernel, reported at once; `errors` holds them.

    `except` clauses for Python's own classes of the first one catch all of them, as they would catch it alone.
    """

    def __new__(cls, errors: list[KernelError]) -> KernelErrors:
        return super().__new__(_several(type(errors[0])), errors)

    def __init__(self, errors: list[KernelError]):
        self.errors = errors
        super().__init__(f"{len(errors)} errors")

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)

    def __reduce__(self) -> tuple:
        return KernelErrors, (self.errors,)


@functools.cache
def _several(first: type[KernelError]) -> type[KernelErrors]:
    """`KernelErrors` that are of the classes of Python that the first error is of."""
    own = [c for c in first.__mro__ if c.__module__ == "builtins" and not issubclass(KernelErrors, c)]
    fields = {"__doc__": KernelErrors.__doc__, "__module__": __name__}
    return type("KernelErrors", (KernelErrors, *own), fields) if own else KernelErrors


class CompilerError(WarpsimError):
    """A defect of warpsim itself: a pass produced a program that the verifier refuses."""


class LaunchError(WarpsimError):
    """A launch whose arguments do not fit the kernel."""


class ArgumentTypeError(LaunchError, TypeError):
    """An argument of the wrong dtype, rank or kind."""


class ArgumentValueError(ArgumentTypeError, ValueError):
    """An argument that does not make the value of a parameter, such as a vector, or inputs among which is no array."""


class ArgumentCountError(LaunchError, TypeError):
    """Too few or too many arguments."""


class DimensionError(LaunchError, ValueError):
    """Launch dimensions that are negative, too large, or do not fit the kernel's `tid()`."""


class DimensionTypeError(DimensionError, TypeError):
    """Launch dimensions that are no integers."""


class KernelCallError(LaunchError, TypeError, NotImplementedError):
    """A kernel that is called as a function, or a function of kernels alone that is called by Python."""


class ReadOnlyError(LaunchError, ValueError):
    """A kernel writes to an array whose memory is read-only."""


class DeviceError(WarpsimError, ValueError):
    """An unknown or unavailable device, or an array on the wrong one."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device that has no room for an array; what exists is intact."""


class ComponentKeyError(WarpsimError, KeyError):
    """A key that selects no components of a vector or a matrix: no integer, no slice, or too many of them."""

    __str__ = Exception.__str__


class OperandError(WarpsimError, TypeError):
    """Operands of arithmetic on vectors, matrices, quaternions and transforms that do not fit together."""


class ComponentCountError(WarpsimError, TypeError, ValueError):
    """Too few or too many components for a vector, a matrix, a quaternion or a transform."""


class FieldNameError(WarpsimError, AttributeError):
    """A field that a struct does not have."""


class FieldKeywordError(FieldNameError, TypeError):
    """A keyword of a struct's constructor that names no field."""


class FieldTypeError(WarpsimError, TypeError):
    """A struct or a field of a type that none can have, or a value of another type than its field."""


class ArrayError(WarpsimError, ValueError):
    """Data, shape, strides or dtype that cannot make an array."""


class ArrayTypeError(ArrayError, TypeError):
    """A type that the memory of an array cannot be seen as."""


class AxisError(ArrayError, IndexError):
    """An axis that an array does not have."""


class FixedAttributeError(WarpsimError, AttributeError):
    """An attribute that stays as its object was made, and was set or deleted."""


class OutOfBoundsError(WarpsimError, IndexError):
    """An index outside an array, found by `config.verify` or the interpreter."""


class KernelAssertionError(WarpsimError, AssertionError):
    """An `assert` inside a kernel failed."""


class StructureIdError(WarpsimError, ValueError):
    """An id that stands for no structure, for one that is closed, or for one of another kind."""


class InvalidNumberError(WarpsimError, ArithmeticError):
    """The interpreter met a NaN, an infinity or a cast that does not fit its integer type."""


class MeshError(WarpsimError, ValueError):
    """Arrays that do not make a mesh: of another type, shape or device, or with indices out of range."""


class BvhError(WarpsimError, ValueError):
    """Boxes, groups or options that cannot make a bounding volume hierarchy."""


class HashGridError(WarpsimError, ValueError):
    """Dimensions, a radius, periods or groups that cannot make a hash grid."""


class MeshFileError(WarpsimError, ValueError):
    """A file that holds no usable triangle mesh."""


class JacobianError(WarpsimError, ValueError):
    """A Jacobian of something that has none, or of inputs and outputs that do not exist."""


class GradientMismatchError(WarpsimError, ValueError):
    """A gradient check failed: adjoint and finite differences disagree."""


class GradientError(WarpsimError, ValueError):
    """A gradient that is missing, or that does not fit what it belongs to."""


class TapeError(WarpsimError):
    """A tape that is used out of turn, or that cannot give right gradients any more."""


class TapeOverwriteError(TapeError):
    """Contents that a gradient needs were overwritten."""


class CheckpointError(TapeError, ValueError):
    """A loop that `checkpoint` cannot run again as it ran first, or arguments that make no such loop."""


class NotConvergedError(WarpsimError, ArithmeticError):
    """An iterative solve that was required to converge did not."""


class VolumeError(WarpsimError, ValueError):
    """Values, coordinates or a transform that cannot make a volume, or a volume that cannot do what is asked."""


class VolumeTypeError(VolumeError, TypeError):
    """Points, sizes or backgrounds of volumes that are of another type than numbers."""


class TextureError(WarpsimError, ValueError):
    """Data, sizes or modes that make no texture, or a copy between a texture and what does not fit it."""


class VolumeFormatError(VolumeError):
    """NanoVDB bytes that break a rule of the format: `field` names what was read, then found and expected."""

    def __init__(self, field: str, found: object, expected: str, help: str = ""):
        self.field, self.found, self.expected, self.help = field, str(found), expected, help
        super().__init__(field, self.found, expected, help)

    def __str__(self) -> str:
        lines = [f"NanoVDB: {self.field}", f"found: {self.found}", f"expected: {self.expected}"]
        return "\n".join([*lines, f"help: {self.help}"] if self.help else lines)


class GraphFileError(WarpsimError, ValueError):
    """A graph that cannot be written into a file, a file that holds none or one for another machine, a wrong name."""


class MissingGraphFileError(GraphFileError, FileNotFoundError):
    """A file of a graph, or of its machine code, that does not exist."""


class SceneFileError(WarpsimError, ValueError):
    """A file that is no saved scene, or is damaged, hostile, or of another version; or what a scene cannot hold."""


class ModelError(WarpsimError, ValueError):
    """Particles, constraints, shapes or materials that cannot make a model for solvers."""


class StateError(WarpsimError, ValueError):
    """A state, a control or a time step that does not fit the model it is given to."""


class DivergenceError(WarpsimError, ArithmeticError):
    """A state with numbers that are not finite: says the step, the stage of it and the first particle."""


class MissingPackageError(WarpsimError, ModuleNotFoundError):
    """An optional package that is needed and not installed, or a module of Warp that is not here."""


reason: Callable[[str], str] = lambda name: ""  # noqa: E731
"""What a message adds for an absent name below the package; bound by `warp.absent`."""
_PLURALS = {"entry": "entries", "index": "indices", "launch": "launches", "vertex": "vertices"}


def counted(n: int, noun: str) -> str:
    """A number of things in words: `1 argument`, `2 arguments`, `3 vertices`."""
    return f"{n} {noun if n == 1 else _PLURALS.get(noun, noun + 's')}"


def shown(value: object) -> str:
    """A value as messages show it: on one line, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a number with too many digits, or an object that is not whole
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-15:]}"


def instance(value: Any, kinds: type | tuple[type, ...], name: str) -> Any:
    """The value, if it is one of some classes. Raises `ArgumentTypeError`."""
    if not isinstance(value, kinds):
        known = " or ".join(_class_name(k) for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise ArgumentTypeError(f"{name} is {shown(value)} ({type(value).__name__})\nexpected: {known}")
    return value


def _class_name(kind: type) -> str:
    package = kind.__module__.partition(".")[0]
    if package == "collections":  # an abstract class: what it is, since a dict serves as well
        return f"a {kind.__name__.lower()}"
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"


# ----- tracebacks -----------------------------------------------------------------------------

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def trim_frames(error: WarpsimError) -> WarpsimError:
    """The error without frames of warpsim, and without causes that have no other: the message says it all.

    A defect of warpsim keeps its frames, and so does everything where the environment has `WARPSIM_TRACEBACK=1`.
    """
    if isinstance(error, CompilerError) or os.environ.get("WARPSIM_TRACEBACK"):
        return error
    at: BaseException | None = error
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.__traceback__ = _outside(at.__traceback__)
        for part in at.errors if isinstance(at, KernelErrors) else ():
            trim_frames(part)
        below = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
        if below is not None and _outside(below.__traceback__) is None:
            at.__cause__, at.__suppress_context__, below = None, True, None
        at = below
    return error


def user_frames(function: _Function) -> _Function:
    """Decorator of public functions that are not called often: errors show users' frames alone."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except WarpsimError as error:
            del args, keywords  # this frame stays with the error, and whoever keeps that should not keep a kernel
            raise trim_frames(error)  # noqa: B904

    return call  # type: ignore[return-value]


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that are not warpsim's."""
    outer: list[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            outer.append(traceback)
        traceback = traceback.tb_next
    rest = None
    for each in reversed(outer):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest
