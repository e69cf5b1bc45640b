"""Forward mode and second order: how results change along a direction, and how gradients do.

`jvp` carries tangents beside values: exact for whatever reverse mode is exact for, at about twice the cost of
a launch. For one direction and many outputs it is the cheaper mode; for one loss and many inputs use a tape.
`hvp` carries tangents through the launches and through their adjoints: the exact product of the Hessian of a
loss with a vector, at the cost of a few gradients, whatever the number of inputs.

Both take a kernel with the arguments of a launch, a tape, or a Python function that launches kernels. Gradient
arrays keep what they hold. Functions with gradients of their own (`func_grad`, `func_native`) use those, where
they write no memory, and neither branch nor loop if they take or return structs; elsewhere the tangent
is that of their body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.emit.program import FormKind
from ..core.language import Kernel, array, launch
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.arrays.mirrors import Mirror
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.devices.device_memory import on_host
from ..core.runtime.devices.memory_range import overlap
from ..core.runtime.tape.given_seeds import check_loss
from ..core.runtime.tape.tangent_launch import as_type
from ..core.runtime.tape.tape import Tape
from ..core.types.arrays import ArrayType
from ..core.types.cotangents import has_cotangent
from ..errors import GradientError, user_frames
from .bound import BoundArguments
from .copies import PrivateCopies
from .dual import Along, DualLaunch
from .sweeps import ForwardSweep, OfArrays, ReverseSweep

# ----- tangents -----------------------------------------------------------------------------------


@user_frames
def jvp(
    subject: Any,
    dim: Any = None,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    tangents: Any = None,
    device: Any = None,
) -> dict[Any, Any]:
    """Tangents of what a kernel, a tape or a function writes, for tangents of what it reads.

    `jvp(kernel, dim, inputs, outputs, tangents={"x": u, "k": 1.0})` launches the kernel, and returns the
    tangents of the arrays that it writes, by parameter name (`"y"`, `"s.y"`). tangents: for parameters by
    name, or for arrays that are arguments, arrays of the same shape (NumPy arrays and lists will do);
    for parameters that are numbers, numbers. What is not given does not move.

    `jvp(tape, tangents={x: u})` carries tangents through what the tape recorded, and returns those of the
    arrays that it wrote, by array. Views and what they are views of stand for the same memory, in what is given and
    in what is looked up; where arrays that are given overlap, their tangents must be the same.
    `jvp(function, inputs=[x], tangents={x: u})` calls the function on a tape.

    Raises `GradientError` for a tangent that does not fit or belongs to nothing, `NotDifferentiableError`
    for a kernel without a tangent, `TapeOverwriteError` when contents were changed since, and what
    `launch` raises.
    """
    if isinstance(subject, Kernel):
        return launch_with_tangents(subject, dim, [*inputs, *outputs], tangents or {}, device)
    if isinstance(subject, Tape):
        return output_tangents(subject, tangents or {})
    with WithGradients(inputs):
        tape, _ = recorded_call(subject, inputs)
        return output_tangents(tape, tangents or {})


def output_tangents(tape: Tape, tangents: Mapping[Any, Any]) -> dict[Any, Any]:
    """Tangents of the arrays that a tape wrote."""
    sweep = ForwardSweep(tape, further=tangents)
    with Paused():
        sweep.set(tangents)
        sweep.run()
    known = {id(a) for record in tape.records for a in record.written_arrays()}
    return OfArrays(sweep.tangents, (a for a in tape.arrays() if id(a) in known))


def launch_with_tangents(kernel: Kernel, dim: Any, args: list[Any], tangents: Along, device: Any) -> dict[str, Any]:
    """One launch in forward mode."""
    dual = DualLaunch(kernel, dim, args, device)
    moved = dual.by_name(tangents)
    arrays = arrays_that_move(dual, moved)
    names = [name for name in dual.refs if name in moved or name in arrays]
    mirror = Mirror(dual.value(name) for name in arrays)
    set_tangents(dual, mirror, moved)
    for name in dual.written:
        dual.value(name)._array.mark_write()
    values = {name: mirror.of(dual.value(name)) for name in arrays}
    further = [values[n] if n in values else as_type(dual.types_of[n], moved[n]) for n in names]
    dual.run(FormKind.TANGENT, names, further)
    return {name: mirror.of(dual.value(name)) for name in dual.written}


def arrays_that_move(dual: DualLaunch, moved: Iterable[str]) -> list[str]:
    """Arrays that have a tangent: those given one, those that are written, and what shares memory with these."""
    names = [name for name in dual.arrays() if name in moved or name in dual.written]
    while True:
        known = [dual.value(name) for name in names]
        others = [name for name in dual.arrays() if name not in names]
        more = [name for name in others if any(overlap(dual.value(name), a) for a in known)]
        if not more:
            return names
        names += more


def set_tangents(dual: DualLaunch, mirror: Mirror, moved: dict[str, Any]) -> None:
    """Write given tangents of arrays into their mirrors."""
    for name, numbers in moved.items():
        if isinstance(dual.types_of[name], ArrayType):
            mirror.set(dual.value(name), numbers)


# ----- second order -------------------------------------------------------------------------------


@user_frames
def hvp(
    subject: Any,
    dim: Any = None,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    vector: Any = None,
    loss: Any = None,
    cotangents: Any = None,
    device: Any = None,
) -> dict[Any, Any]:
    """The Hessian of a loss times `vector`.

    `hvp(tape, loss=loss, vector={x: u})` gives for every array with a gradient how its gradient changes when x
    moves along u, by array; `loss` and `cotangents` are those of `Tape.backward`.
    `hvp(function, inputs=[x], vector={x: u})` calls the function, which returns the loss, on a tape.

    `hvp(kernel, dim, inputs, outputs, vector={"x": u}, cotangents={"y": w})` gives the products for the arrays
    that the kernel reads and the numbers in `vector`, by parameter name; the loss is the sum of the
    products of the outputs with their cotangents (without these: the one number that the kernel writes). The
    arguments keep their contents.

    Raises what `jvp` and `Tape.backward` raise.
    """
    if isinstance(subject, Kernel):
        return second_order_of_launch(subject, dim, [*inputs, *outputs], vector or {}, cotangents, device)
    if isinstance(subject, Tape):
        return products(subject, loss, cotangents or {}, vector or {})
    with WithGradients(inputs):
        tape, loss = recorded_call(subject, inputs)
        return products(tape, loss, {}, vector or {})


def products(tape: Tape, loss: Any, cotangents: Mapping[Any, Any], vector: Mapping[Any, Any]) -> dict[Any, Any]:
    """The Hessian of a tape's loss times a vector."""
    seeds = dict(cotangents)
    if loss is not None:
        check_loss(loss)
        seeds[loss] = np.ones(loss._data.shape, loss._data.dtype)
    if not seeds:
        raise GradientError(
            "hvp got neither a loss nor cotangents\nexpected: hvp(tape, loss=loss, vector={array: direction})"
        )
    sweep = ForwardSweep(tape, for_reverse=True, further=vector)
    with Paused():
        sweep.set(vector)
        sweep.run()
        reverse = ReverseSweep(sweep, seeds)
        reverse.set(seeds)
        reverse.run()
    return OfArrays(reverse.gradient_tangents, (a for a in tape.arrays() if a._gradient is not None))


def second_order_of_launch(
    kernel: Kernel, dim: Any, args: list[Any], vector: Along, cotangents: Along | None, device: Any
) -> dict[str, Any]:
    """Record one launch on private arguments, and differentiate that."""
    dual = DualLaunch(kernel, dim, args, device)
    moved, seeds = dual.by_name(vector), weights_of(dual, cotangents)
    bound = BoundArguments(PrivateCopies(dual.args).args, dual.known.handle_params)
    own = DualLaunch(kernel, dim, bound.args, device)
    for name in own.arrays():
        own.value(name)._array.requires_grad = True
    with Paused(), Tape() as tape:
        launch(kernel, dim, bound.args, device=own.device)
    sweep = ForwardSweep(tape, {n: v for n, v in moved.items() if n not in own.arrays()}, for_reverse=True)
    with Paused():
        set_tangents(own, sweep.tangents, moved)
        sweep.run()
        reverse = ReverseSweep(sweep)
        set_tangents(own, reverse.gradients, seeds)
        reverse.run()
    parts = {name: reverse.gradient_tangents.of(own.value(name)) for name in own.arrays() if name in own.read}
    return {**parts, **{n: product_of_number(own, n, reverse) for n in moved if n not in own.arrays()}}


def product_of_number(dual: DualLaunch, name: str, reverse: ReverseSweep) -> array:
    """The product for a number, vector or field of a struct, as an array of one element."""
    ref = dual.refs[name]
    values = reverse.forward.moved[0].sums[ref.position]._data
    for field in ref.path:
        values = values[field]
    return array(on_host(values), dtype=dual.types_of[name], device=dual.device)


def weights_of(dual: DualLaunch, cotangents: Along | None) -> dict[str, Any]:
    """Cotangents by name; those of the only number that the kernel writes."""
    if cotangents is not None:
        return dual.by_name(cotangents)
    single = [name for name in dual.written if dual.value(name)._array._data.size == 1]
    if len(single) != 1:
        raise GradientError(
            f"kernel {dual.kernel.key!r} writes {', '.join(dual.written) or 'no floats'}\n"
            "expected: one array of one number, the loss\nhelp: weigh the outputs: cotangents={name: array}"
        )
    return {single[0]: np.ones(1)}


# ----- functions ----------------------------------------------------------------------------------


class WithGradients:
    """While it lasts, arrays have gradients, which a tape asks for; those that had none lose them again."""

    def __init__(self, values: Sequence[Any]):
        arrays = [a._array for a in values if isinstance(a, array | indexedarray)]
        self.without = [a for a in arrays if has_cotangent(a.dtype) and a._gradient is None]

    def __enter__(self) -> None:
        for a in self.without:
            a.requires_grad = True

    def __exit__(self, *error: Any) -> None:
        for a in self.without:
            a.requires_grad = False


def recorded_call(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Tape, Any]:
    """Call a function on a tape; gives the tape and what the function returned."""
    if not callable(function):
        raise GradientError(
            f"{function!r} is not differentiated\nexpected: a kernel, a tape, or a function that launches kernels"
        )
    with Paused(), Tape() as tape:
        result = function(*inputs)
    return tape, result
