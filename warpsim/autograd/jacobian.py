"""Jacobians of kernels and functions: by the adjoint, row by row, and by differences, column by column.

A Jacobian has one row per number of the output and one column per number of the input; both count
element by element and, in an element, component by component. What was not evaluated is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..core.language import Kernel, array, zeros_like
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.tape.tape import Tape
from ..errors import JacobianError, user_frames
from .components import Components
from .differences import central_differences
from .pairs import Pair, chosen_pairs
from .plots import plot_kernel_jacobians
from .subjects import FunctionMetadata, Subject, subject_of

Matrices = dict[Pair, np.ndarray]


class Jacobians(dict[Any, array]):
    """Jacobian matrices by (input, output): keys are positions, and `jacobians["x", "loss"]` finds them by name too.

    An array in a struct has no position, and goes by its name (`s.x`). names: those of inputs and outputs by key.
    metadata: names and layouts of inputs and outputs. figure: the picture, when one was asked for.
    """

    def __init__(self, matrices: dict[Pair, array], metadata: FunctionMetadata):
        self.metadata = metadata
        super().__init__({self._key(pair): matrix for pair, matrix in matrices.items()})
        self.names: dict[Any, Pair] = {self._key(pair): pair for pair in matrices}
        self.figure: Any = None

    def __missing__(self, key: Any) -> array:
        by_name = self._key(key)
        if by_name != key and by_name in self.keys():
            return self[by_name]
        named = [f"{key} {' -> '.join(pair)}" for key, pair in self.names.items()]
        raise KeyError(f"{key!r}; there are {', '.join(named)}")

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(key) or super().__contains__(self._key(key))

    def _key(self, key: Any) -> Any:
        """Names in a key as positions, where they have one."""
        if not isinstance(key, tuple) or len(key) != 2:
            return key
        labels = (self.metadata.input_labels or [], self.metadata.output_labels or [])
        return tuple(names.index(k) if k in names else k for k, names in zip(key, labels, strict=True))


@user_frames
def jacobian(
    function: Kernel | Callable[..., Any],
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Sequence[tuple[str | int, str | int]] | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_outputs_per_var: int = -1,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> Jacobians:
    """Jacobians by reverse mode: one backward pass for every number of the outputs.

    function: a kernel, launched with `dim`, `inputs`, `outputs` (and `device`, `max_blocks`, `block_dim`);
    or a Python function, called with `inputs`, that returns an array or several. Without `outputs` those
    of a kernel are the arrays it writes. Only float arrays with `requires_grad=True` take part, arrays in
    struct arguments too (as `s.x`).
    input_output_mask: pairs of an input and an output, by name or position; None for all.
    max_outputs_per_var: evaluate the first so many rows of every output only (-1: all).
    plot_jacobians: draw them (see `plot_kernel_jacobians`); the picture is `figure` of the result.
    metadata: other names for tables and pictures. restore_inputs: put back what a Python function did to
    the contents and gradients of its inputs. A kernel runs on copies and changes nothing.

    Returns a dict from (input position, output position) to an array (output numbers, input numbers) on the device
    of the output, float64 where one of them is, else float32; names are understood too. Raises `JacobianError`,
    for kernels with `enable_backward=False` too.
    """
    options = {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}
    subject = subject_of(function, dim, inputs, outputs, options, metadata, restore_inputs)
    with subject.restore_on_error():
        subject.find_outputs()
        pairs = chosen_pairs(subject, input_output_mask)
        rows = adjoint_rows(subject, pairs, max_outputs_per_var)
    return _result(subject, rows, plot_jacobians)


@user_frames
def jacobian_fd(
    function: Kernel | Callable[..., Any],
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Sequence[tuple[str | int, str | int]] | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    eps: float | None = None,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> Jacobians:
    """Jacobians by central differences, in the precision of the data.

    eps: the step, in the unit of the input; None chooses one for every number from the type of the input
    and its magnitude, and tries neighbouring ones (eight evaluations a number instead of two).
    max_inputs_per_var: evaluate the first so many columns of every input only (-1: all).
    Everything else, the result and the errors are those of `jacobian`.
    """
    options = {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}
    subject = subject_of(function, dim, inputs, outputs, options, metadata, restore_inputs)
    with subject.restore_on_error():
        subject.find_outputs()
        pairs = chosen_pairs(subject, input_output_mask)
        columns = central_differences(subject, pairs, max_inputs_per_var, eps)
    matrices = {pair: differences.values for pair, differences in columns.items()}
    return _result(subject, matrices, plot_jacobians)


def adjoint_rows(subject: Subject, pairs: Collection[Pair], limit: int) -> Matrices:
    """Rows of Jacobians by backward passes over one recorded evaluation; restores the subject."""
    subject.restore()
    with Paused(), Tape() as tape:
        subject.evaluate()
    check_differentiable(tape)
    memories = {id(a.grad): a.grad._data for a in [*tape.arrays(), *subject.inputs.values()] if a.grad is not None}
    before = [values.copy() for values in memories.values()]
    matrices: Matrices = {}
    for target in dict.fromkeys(target for _, target in pairs):
        sources = {source: subject.inputs[source] for source, other in pairs if other == target}
        rows = {source: np.full((_count(subject.outputs[target]), _count(a)), np.nan) for source, a in sources.items()}
        for k in range(_row_count(_count(subject.outputs[target]), limit)):
            for values in memories.values():
                values[...] = np.zeros((), values.dtype)
            _backward(tape, subject.outputs[target], k)
            for source, a in sources.items():
                rows[source][k] = Components(a.grad).read()
        matrices.update({(source, target): values for source, values in rows.items()})
    for values, earlier in zip(memories.values(), before, strict=True):
        values[...] = earlier
    subject.restore()
    return {pair: matrices[pair] for pair in pairs}


def check_differentiable(tape: Tape) -> None:
    """Raise for launches that backward would pass by: the Jacobian would lack what they do."""
    for entry in tape.launches:
        if not entry.kernel.option("enable_backward"):
            raise JacobianError(
                f"kernel {entry.kernel.key!r}, launched at {entry.place}, has enable_backward=False\n"
                "expected: kernels with an adjoint\nhelp: jacobian_fd needs none"
            )


def _backward(tape: Tape, out: array, k: int) -> None:
    """Gradients of one number of an output."""
    seed = zeros_like(out, requires_grad=False)
    Components(seed)[k] = 1.0
    if tape.records:
        tape.backward(grads={out: seed})
    elif out.grad is not None:  # the function gave back what it was given
        out.grad.assign(seed)


def _count(a: array) -> int:
    return Components(a).size


def _row_count(count: int, limit: int) -> int:
    return count if limit <= 0 else min(limit, count)


def _result(subject: Subject, matrices: Matrices, plot: bool) -> Jacobians:
    arrays = {}
    for (source, target), values in matrices.items():
        out = subject.outputs[target]
        types = (Components(subject.inputs[source]).dtype, Components(out).dtype)
        arrays[source, target] = array(values, dtype=np.result_type(np.float32, *types).type, device=out.device)
    jacobians = Jacobians(arrays, subject.metadata())
    if plot:
        jacobians.figure = plot_kernel_jacobians(jacobians)
    return jacobians
