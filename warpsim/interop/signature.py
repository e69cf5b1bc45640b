"""Signatures of operators: parameters of a kernel or an annotated function as inputs and outputs.

Frameworks know numbers alone, so elements of vectors and matrices are trailing extents of their tensors: an array
of shape (n,) of `mat22` is a tensor of shape (n, 2, 2). Shapes with these extents are called full here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.frontend.source.source import Source, evaluated_annotations
from ..core.language import Kernel
from ..core.types import compounds, scalars, structs
from ..core.types.arrays import MAX_NDIM, ArrayType, type_name
from ..core.types.cotangents import has_cotangent
from ..core.types.extents import MAX_EXTENT
from ..core.types.signatures import is_generic
from ..errors import ArgumentCountError, ArgumentTypeError, ArrayError, counted
from ..forks import cached_property

Shape = tuple[int, ...]
Extents = int | Sequence[int]
LaunchDims = Extents | Callable[..., Extents] | None
OutputDims = Extents | Mapping[str, Extents] | Callable[..., Extents | Mapping[str, Extents]] | None
Subject = Kernel | Callable[..., None]  # what operators are made of
_MOST_KNOWN = 256


@dataclass(frozen=True)
class Parameter:
    """A parameter: an array, a number, a vector or a matrix."""

    name: str
    type: Any

    @cached_property
    def is_array(self) -> bool:
        return isinstance(self.type, ArrayType)

    @cached_property
    def element(self) -> Any:
        """The type of an element, or of the value itself."""
        return self.type.dtype if self.is_array else self.type

    @cached_property
    def inner(self) -> Shape:
        """The extents of an element."""
        return tuple(self.element.shape) if compounds.is_compound(self.element) else ()

    @cached_property
    def dtype(self) -> np.dtype:
        """The dtype of the numbers."""
        return np.dtype(compounds.scalar_of(self.element))

    @cached_property
    def rank(self) -> int:
        """The rank of a tensor for it."""
        return (self.type.ndim if self.is_array else 0) + len(self.inner)

    @cached_property
    def is_differentiable(self) -> bool:
        return bool(has_cotangent(self.element))

    def settle(self) -> None:
        """Compute all properties: compilers of PyTorch do not follow the lock of one that is not known yet."""
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property):
                getattr(self, name)

    def outer(self, full: Sequence[int], owner: str) -> Shape:
        """The extents of the array for a tensor of full shape. Raises `ArrayError`."""
        inner, full = self.inner, tuple(full)
        if len(full) != self.rank or full[len(full) - len(inner) :] != inner:
            extents = ", ".join([*("n" for _ in range(self.rank - len(inner))), *map(str, inner)])
            raise ArrayError(
                f"argument {self.name!r} of {owner} has shape {full}\nexpected: ({extents}), for {type_name(self.type)}"
            )
        return full[: len(full) - len(inner)]

    def full(self, dims: Extents, owner: str) -> Shape:
        """The full shape of an output from its extents, with or without those of an element. Raises `ArrayError`."""
        extents, inner = as_shape(dims, f"output_dims of {owner}, for {self.name!r},"), self.inner
        if inner and len(extents) == self.rank and extents[len(extents) - len(inner) :] == inner:
            return extents
        if len(extents) != self.type.ndim:
            raise ArrayError(
                f"output {self.name!r} of {owner} is to have shape {extents}\n"
                f"expected: {counted(self.type.ndim, 'extent')}, for {type_name(self.type)}\n"
                f"help: output_dims={{{self.name!r}: ...}}"
            )
        return (*extents, *inner)


def as_shape(dims: Extents, what: str) -> Shape:
    """Extents from an integer or a sequence of such. Raises `ArrayError`."""
    extents = tuple(dims) if isinstance(dims, list | tuple) else (dims,)
    for n in extents:  # of symbols, while a framework traces
        if isinstance(n, bool) or not (isinstance(n, int) or hasattr(n, "__index__")):
            raise ArrayError(f"{what} is {dims!r}\nexpected: an integer or a tuple of integers")
        if isinstance(n, int) and not 0 <= n <= MAX_EXTENT:
            raise ArrayError(f"{what} is {dims!r}\nexpected: each from 0 to 2**31 - 1")
    return extents


class Signature:
    """Inputs and outputs of a kernel, or of a function that is annotated like one.

    num_outputs: how many arrays are returned: the last parameters, and those named in in_out_argnames, which are inputs
    as well and are returned first. Raises `ArgumentTypeError` for parameters that cannot be had.
    """

    def __init__(self, subject: Subject, num_outputs: int = 1, in_out_argnames: Iterable[str] = ()):
        self.owner, types = describe(subject)
        self.params = [Parameter(name, t) for name, t in types.items()]
        self._known: dict[tuple[Shape, ...], tuple[Any, list[Shape]]] = {}
        for param in self.params:
            refuse_parameter(param, self.owner)
            param.settle()
        names = [in_out_argnames] if isinstance(in_out_argnames, str) else list(in_out_argnames or ())
        pure = num_outputs - len(names)
        if not 0 <= pure <= len(self.params) or num_outputs < 1:
            raise ArgumentTypeError(
                f"num_outputs={num_outputs}, with {len(names)} of them in in_out_argnames, for the {len(self.params)} "
                f"parameters of {self.owner}\nexpected: at least 1, in-out arrays among them"
            )
        split = len(self.params) - pure
        self.inputs, self.pure = self.params[:split], self.params[split:]
        self.in_out = [self.position(name) for name in names]
        self.in_out.sort()
        self.outputs = [*(self.inputs[k] for k in self.in_out), *self.pure]
        for param in self.outputs:
            if not param.is_array:
                raise ArgumentTypeError(
                    f"output {param.name!r} of {self.owner} is {type_name(param.type)}\nexpected: an array"
                )

    def position(self, name: str) -> int:
        """The position of an input that is named. Raises `ArgumentTypeError`."""
        names = [param.name for param in self.inputs]
        if name not in names:
            raise ArgumentTypeError(f"{self.owner} has no input {name!r}\nexpected: one of {', '.join(names)}")
        return names.index(name)

    @cached_property
    def float_outputs(self) -> tuple[int, ...]:
        """The outputs that have cotangents."""
        return tuple(k for k, param in enumerate(self.outputs) if param.is_differentiable)

    def check_count(self, args: Sequence[Any]) -> None:
        """Raise `ArgumentCountError` unless there is one argument for every input."""
        if len(args) != len(self.inputs):
            names = ", ".join(param.name for param in self.inputs)
            raise ArgumentCountError(
                f"{self.owner} got {counted(len(args), 'argument')}\nexpected: {len(self.inputs)}: {names}"
            )

    def usual_dims(self, shapes: tuple[Shape, ...]) -> tuple[Any, list[Shape]]:
        """As `dims` where nothing is named, known from earlier calls."""
        try:
            dims = self._known.get(shapes)
        except TypeError:  # symbols, which have no hash
            return self.dims(shapes, None, None)
        if dims is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            dims = self._known[shapes] = self.dims(shapes, None, None)
        return dims

    def dims(
        self, shapes: Sequence[Shape], launch_dims: Extents | None, output_dims: Extents | Mapping[str, Extents] | None
    ) -> tuple[Any, list[Shape]]:
        """The threads of a launch, and the full shapes of all outputs.

        shapes: full shapes of the inputs, () of numbers. launch_dims: by default the extents of the first array.
        output_dims: by default the launch's; one shape for all outputs or a dict of shapes by name.
        """
        first = next((k for k, param in enumerate(self.inputs) if param.is_array), None)
        if launch_dims is not None:
            launch_dims = self.threads(launch_dims)
        elif first is not None:
            launch_dims = self.inputs[first].outer(shapes[first], self.owner)
        own = [tuple(shapes[k]) for k in self.in_out]
        if launch_dims is None and output_dims is None:
            raise ArrayError(f"{self.owner} has no array among its inputs\nhelp: name the threads: launch_dims=...")
        named = output_dims if isinstance(output_dims, Mapping) else {}
        if unknown := set(named) - {param.name for param in self.outputs}:
            raise ArrayError(f"output_dims names {sorted(unknown)}, which {self.owner} does not return")
        usual = launch_dims if output_dims is None or named else output_dims
        own += [param.full(named.get(param.name, usual), self.owner) for param in self.pure]
        if launch_dims is None:
            launch_dims = self.outputs[-1].outer(own[-1], self.owner)
        return launch_dims, own

    def threads(self, launch_dims: Extents) -> Shape:
        """The extents of a launch that a user names. Raises `ArrayError`."""
        extents = as_shape(launch_dims, f"launch_dims of {self.owner}")
        if not 1 <= len(extents) <= MAX_NDIM:
            raise ArrayError(
                f"launch_dims of {self.owner} is {launch_dims!r}, {counted(len(extents), 'extent')}\n"
                f"expected: 1 to {MAX_NDIM}"
            )
        return extents


def describe(subject: Subject) -> tuple[str, dict[str, Any]]:
    """What messages call a kernel or function, and its parameters' types by name."""
    if isinstance(subject, Kernel):
        return f"kernel {subject.key!r}", dict(subject.patterns)
    if not inspect.isfunction(subject):
        raise ArgumentTypeError(f"{subject!r} is no operator\nexpected: a kernel, or a function that launches kernels")
    declared = evaluated_annotations(Source(subject))
    owner = f"function {subject.__name__!r}"
    names = list(inspect.signature(subject).parameters)
    if missing := [name for name in names if name not in declared]:
        raise ArgumentTypeError(f"{owner} has no types for {', '.join(missing)}\nhelp: annotate them as in a kernel")
    return owner, {name: scalars.canonical(declared[name]) for name in names}


def refuse_parameter(param: Parameter, owner: str) -> None:
    """Raise `ArgumentTypeError` for a parameter that no framework has a value for."""
    t = param.type
    bad = ""
    if is_generic(t):
        bad, cure = "is generic", "write the types out"
    elif isinstance(t, ArrayType) and (t.indexed or structs.is_struct(t.dtype)):
        bad, cure = f"is {type_name(t)}", "use arrays of numbers, vectors or matrices"
    elif structs.is_struct(t):
        bad, cure = f"is a struct, {type_name(t)}", "pass its fields as parameters"
    if bad:
        raise ArgumentTypeError(f"parameter {param.name!r} of {owner} {bad}\nhelp: {cure}")


def dims_for(dims: LaunchDims | OutputDims, args: Sequence[Any]) -> Any:
    """Extents that a user gave, or a function of the arguments that returns them."""
    return dims(*args) if callable(dims) else dims


def count(shape: Iterable[int]) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)
