"""Adjoint launches by hand.

`wp.launch(kernel, dim, inputs, outputs, adj_inputs=[...], adj_outputs=[...], adjoint=True)`.
An entry of the lists is None (the array's own `.grad`, if it has one), an array that takes the place of
`.grad` for this launch, or, for a number, vector or struct, an array of one element to which its gradient
is added. A number, vector or struct in the place of such an array is as good as None: programs give one that have no
use for the gradient of a value. The arrays must hold what they held after the forward launch.

An array's own gradient is taken out where the kernel overwrote the element, so that launches that came before add to
nothing. An array in the list for what the kernel only writes is left as it is, as PyTorch asks of a backward function;
a recorded launch, and one whose kernel reads what it overwrites, takes it out too.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....errors import GradientError, NotDifferentiableError, counted
from ...emit.program import FormKind
from ...passes.reverse.extra_params import Before, Extent, ExtraParam, Extras, GradientSum
from ...types.arrays import ArrayType, type_name
from ...types.cotangents import has_cotangent
from ...types.scalars import int32
from ..arrays.array import array
from ..arrays.host_memory import allocate_like
from ..arrays.indexed import indexedarray
from ..devices.device import Device
from ..launches.arguments import adapt, packer
from ..launches.dimensions import as_indexed, normalize_dim, rank
from ..launches.for_device import USUAL, LaunchOptions, prepare
from ..launches.kernel import Kernel
from ..steps.move import copying
from ..tape.adjoint_launch import check_names, phases, threads
from ..tape.adjoint_needs import Needs, needs_of_arrays
from ..tape.kernel_arrays import KernelArrays, arrays_at, arrays_of, same_arrays
from .command import Launch


class WithAdjoints(NamedTuple):
    """Arguments of a launch, and gradients for them: the lists of `wp.launch` of these names."""

    inputs: Sequence[Any]
    outputs: Sequence[Any] = ()
    adj_inputs: Sequence[Any] = ()
    adj_outputs: Sequence[Any] = ()

    def gradients(self) -> list[Any]:
        """One entry per argument. Raises `GradientError`."""
        first = adjoints(self.adj_inputs, self.inputs, "adj_inputs")
        return [*first, *adjoints(self.adj_outputs, self.outputs, "adj_outputs")]


def launch_adjoint(
    kernel: Kernel,
    dim: int | tuple[int, ...],
    lists: WithAdjoints,
    device: Device,
    options: LaunchOptions = USUAL,
    record_cmd: bool = False,
) -> Any:
    """Run the adjoint of a kernel with gradients given by hand, or return it as a `Launch`."""
    if not kernel.option("enable_backward"):
        raise NotDifferentiableError(
            f"kernel {kernel.key!r} has enable_backward=False", help="make it with enable_backward=True"
        )
    gradients = lists.gradients()
    args = [*lists.inputs, *lists.outputs]
    types, settings, dim = kernel.types_for(args), kernel.settings(), normalize_dim(dim)
    kernel = kernel.over(rank(dim), types)
    named = zip(args, types, kernel.patterns, strict=True)
    args = [adapt(a, t, name, kernel.key, device) for a, t, name in named]
    arrays = arrays_of(kernel, types, settings)
    arrays = arrays_of(kernel, types, settings, same_arrays(arrays, args))
    sums: dict[int, array] = {}
    backs: list[tuple[array, np.ndarray]] = []
    outputs_alone = set() if record_cmd else only_written(needs_of_arrays(arrays))
    for k, (name, t, grad) in enumerate(zip(kernel.patterns, types, gradients, strict=True)):
        if grad is None or is_value(grad, t):
            continue
        check_adjoint(args[k], t, grad, f"argument {name!r} of kernel {kernel.key!r}")
        if isinstance(t, ArrayType):
            args[k] = with_gradient(args[k], grad, backs, k in outputs_alone)
        else:
            sums[k] = grad
    whole = arrays.whole(args)
    names = names_given(arrays, whole, sums)
    check_names(arrays, names)
    form = arrays.form(FormKind.ADJOINT, names)
    if record_cmd and backs:
        raise GradientError(
            "record_cmd=True with gradients whose strides differ from those of their arrays\n"
            "help: give gradients with the layout of the arrays"
        )
    for part in [form] if record_cmd else phases(arrays, form, whole):  # what is recorded is one launch
        program = arrays.program(part)
        more = [extra_by_hand(kernel, extra, sums, as_indexed(dim, program.ndim)) for extra in program.extras]
        call = prepare(kernel, threads(arrays, part, whole, dim), [*whole, *more], device, part, options)
        launch = Launch.of(call)
        launch.with_gradient = partial(replace_gradient, arrays, names, program.extras)
        launch.check_gradients = partial(check_present, arrays, names)
        if record_cmd:
            return launch
        launch.launch()
    for target, source in backs:
        copying(target._data, source).submit()
    return None


def only_written(needs: Needs) -> set[int]:
    """The positions of arrays that the kernel stores to and never reads."""
    arrays = needs.arrays
    shared = {k for pair in arrays.same for k in pair}
    alone = {ref for ref in arrays.name if not ref.path and ref.position not in shared}
    return {ref.position for ref in (alone & arrays.uses.changed) - needs.read - arrays.uses.extremes}


def replace_gradient(
    arrays: KernelArrays, names: frozenset[str], extras: Extras, args: list[Any], k: int, grad: Any
) -> list[Any]:
    """The arguments of an adjoint launch with another gradient of parameter `k`, which had one when it was recorded.

    names: all that had one then.
    """
    name, t = list(arrays.kernel.patterns)[k], arrays.types[k]
    what = f"argument {name!r} of kernel {arrays.kernel.key!r}"
    check_adjoint(args[k], t, grad, what)
    backs: list[Any] = []
    regraded_args = list(args)
    if isinstance(t, ArrayType) and arrays.names[k] in names:
        regraded_args[k] = with_gradient(args[k], grad, backs)
    elif GradientSum(k) in extras:
        regraded_args[len(arrays.arguments) + extras.index(GradientSum(k))] = grad
    else:
        raise GradientError(f"{what} had no gradient when the launch was recorded\nexpected: one, to be replaced")
    if backs:
        raise GradientError(f"the gradient of {what} has other strides than the array\nexpected: the same layout")
    return regraded_args


def adjoints(gradients: Sequence[Any], args: Sequence[Any], name: str) -> list[Any]:
    """One entry per argument. Raises `GradientError`."""
    if not isinstance(gradients, list | tuple):
        raise GradientError(f"{name} is {type(gradients).__name__}\nexpected: a list, one entry per argument")
    if gradients and len(gradients) != len(args):
        raise GradientError(
            f"{name} has {counted(len(gradients), 'entry')}\nexpected: {len(args)}, one for each of "
            f"{name.removeprefix('adj_')}, or none\nhelp: None stands for the array's own gradient"
        )
    return list(gradients) or [None] * len(args)


def is_value(grad: Any, t: Any) -> bool:
    """Whether `grad` is a value that a parameter of type `t` takes, which is no array and so keeps no gradient."""
    pack = None if isinstance(grad, array) else packer(t)
    if pack is None:
        return False
    try:
        pack(grad)
    except (TypeError, ValueError, OverflowError, struct.error):
        return False
    return True


def check_adjoint(arg: Any, t: Any, grad: Any, what: str) -> None:
    """Raise unless `grad` can be the gradient of an argument."""
    element = t.dtype if isinstance(t, ArrayType) else t
    if not has_cotangent(element):
        raise GradientError(f"a gradient for {what}, which is {type_name(t)}\nexpected: None, as it has no derivative")
    if not isinstance(grad, array):
        raise GradientError(
            f"the gradient of {what} is {type(grad).__name__}\nexpected: an array"
            + ("" if isinstance(t, ArrayType) else f" of one {type_name(t)}, to which the gradient is added")
        )
    shape = arg._array.shape if isinstance(t, ArrayType) else (1,)
    if grad.dtype is not element or grad.shape != shape:
        raise GradientError(
            f"the gradient of {what} has shape {grad.shape} and dtype {type_name(grad.dtype)}\n"
            f"expected: shape {shape} and dtype {type_name(element)}"
        )


def with_gradient(arg: Any, grad: array, backs: list[tuple[array, np.ndarray]], copied: bool = False) -> Any:
    """An array argument with another gradient; `backs` gets what must be copied back after the launch.

    copied: the launch gets a copy of the gradient, to do with it what it likes.
    """
    owner = arg._array
    regraded_array = array._wrap(owner._data, owner.dtype, owner.device, owner=owner)
    regraded_array._held = owner._held
    if grad.strides == owner.strides and not copied:
        regraded_array._grad = grad
    else:
        memory = allocate_like(owner._data)
        copying(memory, grad._data, owner.device).submit()
        regraded_array._grad = array._wrap(memory, owner.dtype, owner.device)
        if not copied:
            backs.append((grad, memory))
    regraded_array._pack()
    return indexedarray(regraded_array, arg.indices) if isinstance(arg, indexedarray) else regraded_array


def names_given(arrays: KernelArrays, args: list[Any], sums: dict[int, array]) -> frozenset[str]:
    """The names of everything that has a gradient in a launch by hand."""
    names = {arrays.names[k] for k in sums}
    for ref in arrays.floats:
        if any(a._gradient is not None for _, a in arrays_at(args, ref, tables=False) if isinstance(a, array)):
            names.add(arrays.name[ref])
    return frozenset(names)


def check_present(arrays: KernelArrays, names: frozenset[str], args: list[Any]) -> None:
    """Raise unless arguments of a recorded adjoint launch have the gradients that it was recorded with."""
    numbers = {arrays.names[k] for k, t in enumerate(arrays.types) if not isinstance(t, ArrayType)}
    missing = names - names_given(arrays, arrays.whole(args), {}) - numbers
    if missing:
        raise GradientError(
            f"{', '.join(sorted(missing))} of an adjoint launch of kernel {arrays.kernel.key!r} have no gradient\n"
            "expected: arrays with the gradients that they had when it was recorded\nhelp: requires_grad=True"
        )


def extra_by_hand(kernel: Kernel, extra: ExtraParam, sums: dict[int, array], dims: Sequence[int]) -> Any:
    """The argument of an extra parameter of a launch. Raises where only a tape can give it."""
    if isinstance(extra, GradientSum):
        return sums[extra.position]
    if isinstance(extra, Extent):
        return int32(dims[extra.position])
    if isinstance(extra, Before):
        name = list(kernel.patterns)[extra.position]
        what = f"needs array {name!r} as it was before the launch, which overwrites it"
    else:
        what = "needs what its atomics returned in the launch"
    raise GradientError(
        f"the adjoint of kernel {kernel.key!r} {what}\n"
        "expected: a kernel whose arrays hold all that its adjoint reads\n"
        "help: launch it inside `with wp.Tape() as tape:`, which keeps that, and call tape.backward()"
    )
