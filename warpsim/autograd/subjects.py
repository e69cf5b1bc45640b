"""Subjects of a Jacobian behind one interface: a kernel launch or a Python function.

Guarantees: a subject knows its differentiable inputs and outputs by name, evaluates any number of times
from the same starting contents, and leaves the caller's arrays as they were. A kernel runs on private
copies; a Python function gets the caller's own arrays, whose contents and gradients are put back.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.language import Kernel, array, launch
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.tape.kernel_arrays import arrays_in, arrays_of
from ..core.types import scalars
from ..core.types.compounds import is_compound
from ..errors import JacobianError, counted, instance
from .bound import BoundArguments
from .components import Components
from .copies import PrivateCopies


class FunctionMetadata:
    """Names and layouts of the inputs and outputs of a function, for tables and pictures.

    key: its name. input_labels, output_labels: names of the arguments and results, in order.
    input_dtypes, output_dtypes: element types, by label, or in the order of the labels. input_strides,
    output_strides: numbers per array element, by label; those that are missing follow from the types. In a list
    they are steps in memory, as Warp has them, and nothing is drawn by them.
    """

    def __init__(
        self,
        key: str | None = None,
        input_labels: list[str] | None = None,
        output_labels: list[str] | None = None,
        input_strides: Mapping[str, int] | Sequence[Any] | None = None,
        output_strides: Mapping[str, int] | Sequence[Any] | None = None,
        input_dtypes: Mapping[str, Any] | Sequence[Any] | None = None,
        output_dtypes: Mapping[str, Any] | Sequence[Any] | None = None,
    ):
        self.key, self.input_labels, self.output_labels = key, input_labels, output_labels
        self.input_dtypes = _by_label(input_dtypes, input_labels)
        self.output_dtypes = _by_label(output_dtypes, output_labels)
        self.input_strides = _numbers_per_element(input_strides, self.input_dtypes)
        self.output_strides = _numbers_per_element(output_strides, self.output_dtypes)


def _by_label(dtypes: Mapping[str, Any] | Sequence[Any] | None, labels: list[str] | None) -> dict[str, Any]:
    """Element types by label; None is the type of what is no array."""
    if dtypes is None or isinstance(dtypes, Mapping):
        return dict(dtypes or {})
    if len(dtypes) != len(labels or []):
        raise JacobianError(f"{len(dtypes)} dtypes for {len(labels or [])} labels\nexpected: one for each, in order")
    return {label: dtype for label, dtype in zip(labels or [], dtypes, strict=True) if dtype is not None}


def _numbers_per_element(known: Mapping[str, int] | Sequence[Any] | None, dtypes: Mapping[str, Any]) -> dict[str, int]:
    numbers = {}
    for label, dtype in dtypes.items():
        element = scalars.canonical(dtype)
        if is_compound(element):
            numbers[label] = math.prod(element.shape)
    return {**numbers, **(known if isinstance(known, Mapping) else {})}


class Subject:
    """Something with arrays as inputs and arrays as outputs.

    inputs: differentiable arrays by name. outputs: the same, filled by `evaluate`. input_labels,
    output_labels: all arguments and results, differentiable or not, as masks count them. title: for tables.
    """

    key: str
    title: str
    inputs: dict[str, array]
    outputs: dict[str, array]
    input_labels: list[str]
    output_labels: list[str]

    def find_outputs(self) -> None:
        """Fill `outputs`, for subjects that only know them after an evaluation."""

    def evaluate(self) -> None:
        """Compute the outputs from the inputs as they are now."""
        raise NotImplementedError

    def restore(self) -> None:
        """Every array as it was at the start."""
        raise NotImplementedError

    @contextmanager
    def restore_on_error(self) -> Iterator[None]:
        """What happens inside leaves the arrays as they were, if it raises too."""
        try:
            yield
        except BaseException:
            self.restore()
            raise

    def metadata(self) -> FunctionMetadata:
        metadata = FunctionMetadata(self.key, self.input_labels, self.output_labels)
        for arrays, strides, dtypes in (
            (self.inputs, metadata.input_strides, metadata.input_dtypes),
            (self.outputs, metadata.output_strides, metadata.output_dtypes),
        ):
            strides.update((name, Components(a).per_element) for name, a in arrays.items())
            dtypes.update((name, a.dtype) for name, a in arrays.items())
        return metadata


class KernelSubject(Subject):
    """A launch of a kernel on private copies of its arguments.

    roles: positions of the parameters that count as inputs, and as outputs; one may be both.
    """

    def __init__(
        self,
        kernel: Kernel,
        dim: Any,
        args: Sequence[Any],
        roles: tuple[Sequence[int], Sequence[int]],
        options: dict[str, Any],
        metadata: FunctionMetadata,
    ):
        inputs, outputs = roles
        if dim is None:
            raise JacobianError(f"no launch dimensions for kernel {kernel.key!r}\nhelp: pass dim=")
        self.kernel, self.dim, self.options = kernel, dim, options
        names = list(kernel.patterns)
        self.key = metadata.key or kernel.key
        self.title = f"kernel {self.key}"
        self.input_labels = _labels(metadata.input_labels, [names[k] for k in inputs], "inputs")
        self.output_labels = _labels(metadata.output_labels, [names[k] for k in outputs], "outputs")
        known = arrays_of(kernel, kernel.types_for(list(args)), kernel.settings())
        self._copies = PrivateCopies(known.whole(args))
        self._bound = BoundArguments(self._copies.args, known.handle_params)
        self.inputs = _differentiable(self.input_labels, [self._copies.args[k] for k in inputs])
        self.outputs = _differentiable(self.output_labels, [self._copies.args[k] for k in outputs])

    def evaluate(self) -> None:
        launch(self.kernel, self.dim, self._bound.args, **self.options)

    def restore(self) -> None:
        self._copies.restore()


def launch_subject(
    kernel: Kernel,
    dim: Any,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    options: dict[str, Any],
    metadata: FunctionMetadata,
) -> KernelSubject:
    """The subject of a launch; without `outputs` they are the parameters that the kernel writes."""
    args = [*inputs, *outputs]
    known = arrays_of(kernel, kernel.types_for(args), kernel.settings())
    written = known.parameters(known.written)
    last = range(len(inputs), len(args)) if outputs else [k for k, n in enumerate(kernel.patterns) if n in written]
    return KernelSubject(kernel, dim, args, (range(len(inputs)), last), options, metadata)


class FunctionSubject(Subject):
    """A Python function that takes arrays (and other arguments) and returns arrays."""

    def __init__(
        self, function: Callable[..., Any], inputs: Sequence[Any], restore_inputs: bool, metadata: FunctionMetadata
    ):
        self.function, self.args, self.restore_inputs = function, list(inputs), restore_inputs
        self.key = metadata.key or str(getattr(function, "__name__", type(function).__name__))
        self.title = f"function {self.key}"
        self.given_labels = metadata.output_labels
        self.input_labels = _labels(metadata.input_labels, self._parameters(), "inputs")
        self.inputs = _differentiable(self.input_labels, self.args)
        whole = [a for arg in self.args for _, a in arrays_in(arg, "")]
        self._before = [(a, a._data.copy(), None if a.grad is None else a.grad._data.copy()) for a in whole]
        self.outputs, self.output_labels = {}, []

    def _parameters(self) -> list[str]:
        """Names of the positional parameters that the arguments meet."""
        try:
            bound = inspect.signature(self.function).bind(*self.args)
        except ValueError:  # a built-in without a signature
            return [f"input_{k}" for k in range(len(self.args))]
        except TypeError as error:
            raise JacobianError(f"{self.key} does not take {counted(len(self.args), 'input')}: {error}") from None
        names: list[str] = []
        for name, value in bound.arguments.items():
            several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            names += [f"{name}_{k}" for k in range(len(value))] if several else [name]
        return names

    def find_outputs(self) -> None:
        with Paused():
            self.evaluate()
        self.restore()

    def evaluate(self) -> None:
        returned = self.function(*self.args)
        results = list(returned) if isinstance(returned, list | tuple) else [returned]
        for k, result in enumerate(results):
            if not isinstance(result, array | indexedarray):
                raise JacobianError(
                    f"result {k} of {self.key} is {type(result).__name__}\nexpected: an array, or a list of arrays"
                )
        names = [f"output_{k}" for k in range(len(results))]
        self.output_labels = _labels(self.given_labels, names, "outputs")
        self.outputs = _differentiable(self.output_labels, results)

    def restore(self) -> None:
        if self.restore_inputs:
            for a, contents, slope in self._before:
                a._data[...] = contents
                if slope is not None and a.grad is not None:
                    a.grad._data[...] = slope


def subject_of(
    function: Any,
    dim: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any] | None,
    options: dict[str, Any],
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> Subject:
    """The subject for the arguments of `jacobian`. Raises `JacobianError` for arguments that make none."""
    known = FunctionMetadata() if metadata is None else instance(metadata, FunctionMetadata, "metadata")
    for name, value in (("inputs", inputs), ("outputs", outputs)):
        if value is not None and not isinstance(value, list | tuple):
            raise JacobianError(f"{name} is {type(value).__name__}\nexpected: a list of arguments\nhelp: {name}=[...]")
    if isinstance(function, Kernel):
        return launch_subject(function, dim, inputs or [], outputs or [], options, known)
    if not callable(function):
        raise JacobianError(f"{function!r} is neither a kernel nor a function\nhelp: decorate it with @wp.kernel")
    return FunctionSubject(function, inputs or [], restore_inputs, known)


def _labels(labels: list[str] | None, defaults: list[str], what: str) -> list[str]:
    if not labels:
        return defaults
    if len(labels) != len(defaults):
        expected = f"{len(defaults)}: {', '.join(defaults)}"
        raise JacobianError(f"metadata has {len(labels)} labels of {what}\nexpected: {expected}")
    return list(labels)


def _differentiable(labels: list[str], values: Sequence[Any]) -> dict[str, array]:
    """The float arrays with gradients among arguments, by name."""
    named = [pair for label, value in zip(labels, values, strict=True) for pair in arrays_in(value, label)]
    return {name: a for name, a in named if a.requires_grad and Components(a).size}
