"""Kernels as differentiable operators of PyTorch: autograd, `torch.func` and `torch.compile`.

Eagerly an operator is a `torch.autograd.Function`, which knows forward and second-order derivatives too. Inside
compiled graphs it is a custom operator.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch.overrides import handle_torch_function, has_torch_function

from ...core.language import get_device
from ...core.runtime.devices.device import Device
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, DeviceError, LaunchError, user_frames
from ...forks import cached_property
from ..copied import Copied
from ..forms import VALUE
from ..operator import KernelOperator, Operator, operator_of
from ..signature import LaunchDims, OutputDims, Parameter, Subject, dims_for
from .arrays import device_from_torch, dtype_to_torch, from_torch
from .function import Evaluation, are_plain, function_for
from .library import dispatcher_operators, is_taken, overload, schema_arguments, trace
from .repeat import Layouts

_numbers = itertools.count(2)
_named: WeakValueDictionary[str, TorchOperator] = WeakValueDictionary()


class TorchOperator(Copied):
    """A kernel as a function of tensors; made by `torch_op`."""

    def __init__(
        self, operator: Operator, launch_dims: LaunchDims, output_dims: OutputDims, name: str, chosen_name: str | None
    ):
        s = operator.signature
        in_out = tuple(s.inputs[k].name for k in s.in_out)
        super().__init__(made_again, operator.subject, len(s.outputs), in_out, launch_dims, output_dims, name)
        self.operator, self.signature = operator, operator.signature
        self.launch_dims, self.output_dims = launch_dims, output_dims
        self.name, self.chosen_name = name, chosen_name
        self.layouts = Layouts(self)
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<operator {self.name} of {self.signature.owner}>"

    @user_frames
    def __call__(self, *args: Any, launch_dims: LaunchDims = None, output_dims: OutputDims = None) -> Any:
        """Results for tensors and numbers, one for every input of the kernel: a tensor, or a tuple of several."""
        if torch.compiler.is_compiling():
            return self.results(args, launch_dims, output_dims, compiling=True)
        return self.eager_results(args, launch_dims, output_dims)

    @torch.compiler.disable
    def eager_results(self, args: Sequence[Any], launch_dims: LaunchDims, output_dims: OutputDims) -> Any:
        """The results outside of graphs: a compiler that gave this call up must not take its parts up again."""
        if has_torch_function(args):
            options = {"launch_dims": launch_dims, "output_dims": output_dims}
            return handle_torch_function(self, args, *args, **options)
        if torch._C._get_tracing_state() is not None:
            raise LaunchError(
                f"a call of {self.signature.owner} in torch.jit.trace, whose graphs keep the extents of one call\n"
                "help: use torch.compile, torch.export.export or torch.fx"
            )
        return self.results(args, launch_dims, output_dims, compiling=False)

    def results(self, args: Sequence[Any], launch_dims: LaunchDims, output_dims: OutputDims, compiling: bool) -> Any:
        """As of a call; in graphs the operator of the dispatcher is called."""
        self.signature.check_count(args)
        numbers = self.numbers(args)
        launch_dims = dims_for(self.launch_dims if launch_dims is None else launch_dims, args)
        output_dims = dims_for(self.output_dims if output_dims is None else output_dims, args)
        operands = [a for a in args if isinstance(a, torch.Tensor)]
        if not compiling and not are_plain(operands):
            self.check_layouts(args)
        shapes = tuple([tuple(a.shape) if isinstance(a, torch.Tensor) else () for a in args])
        if launch_dims is None and output_dims is None and not compiling:
            dims, full = self.signature.usual_dims(shapes)
        else:
            dims, full = self.signature.dims(shapes, launch_dims, output_dims)
        if compiling:
            name = self.variant(tuple(isinstance(a, torch.Tensor) for a in args))
            return getattr(torch.ops.warpsim, name).default(*schema_arguments(self, args, dims, full))
        tensors = tuple([k for k, number in enumerate(numbers) if number is None])
        evaluation = Evaluation(self, VALUE, numbers, tensors, dims, tuple(full))
        results = function_for(operands)(evaluation, *operands)
        return results[0] if len(full) == 1 else tuple(results)

    def numbers(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The inputs that are no tensors, checked; None in the place of tensors."""
        constants = []
        for a, param in zip(args, self.signature.inputs, strict=True):
            if isinstance(a, torch.Tensor):
                constants.append(None)
            elif param.is_array or a is None:
                number = "" if param.is_array else f", or a number: {type_name(param.type)}"
                raise ArgumentTypeError(
                    f"argument {param.name!r} of {self.signature.owner} is {type(a).__name__}\n"
                    f"expected: a tensor{number}"
                )
            else:
                constants.append(a)
        return tuple(constants)

    def check_layouts(self, args: Sequence[Any]) -> None:
        """Raise `ArrayError` for a tensor among the arguments that has no strides."""
        for a, param in zip(args, self.signature.inputs, strict=True):
            if isinstance(a, torch.Tensor):
                self.check_layout(a, param)

    def check_layout(self, t: torch.Tensor, param: Parameter) -> None:
        """Raise `ArrayError` for a tensor without strides: sparse, nested or of a library's own."""
        if t.layout is torch.strided and not t.is_nested:
            return
        kind = "a nested tensor" if t.is_nested else f"a tensor of layout {t.layout}"
        cure = "call it for each of x.unbind()" if t.is_nested else "convert it: x.to_dense()"
        raise ArrayError(
            f"argument {param.name!r} of {self.signature.owner} is {kind}\nexpected: torch.strided\nhelp: {cure}"
        )

    def as_argument(self, t: torch.Tensor, param: Parameter, as_value: bool = False) -> Any:
        """A tensor as the kernel takes it.

        Raises `ArgumentTypeError` for another dtype, `ArrayError` for another shape or a layout without strides.
        """
        self.check_layout(t, param)
        if t.dtype is not self.dtypes[param.name] and not same_bits(t.dtype, self.dtypes[param.name]):
            raise ArgumentTypeError(
                f"argument {param.name!r} of {self.signature.owner} is a tensor of {t.dtype}\n"
                f"expected: {self.dtypes[param.name]}\nhelp: convert it: x.to({self.dtypes[param.name]})"
            )
        param.outer(t.shape, self.signature.owner) if param.is_array else None
        if as_value:
            return param.type(t.item()) if not param.inner else param.type(*t.detach().flatten().tolist())
        t = t if t.is_contiguous() else t.contiguous()
        if not param.is_array:
            t = t.reshape(1, *param.inner)
        return from_torch(t, dtype=param.element, requires_grad=False)

    @cached_property
    def dtypes(self) -> dict[str, torch.dtype]:
        """The dtype of every parameter's numbers."""
        return {param.name: dtype_to_torch(param.element) for param in self.signature.params}

    def saved_operands(self, evaluation: Evaluation, operands: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
        """What is saved for the backward pass: of inputs whose contents it does not read, only their shape."""
        operator = self.operator
        if evaluation.form != VALUE or not any(needed) or not isinstance(operator, KernelOperator):
            return list(operands)
        active = tuple(k for k, flag in zip(evaluation.tensors, needed, strict=True) if flag)
        saved = operator.saved_inputs(active)
        return [
            a if k in saved else a.new_zeros(()).expand(a.shape)
            for k, a in zip(evaluation.tensors, operands, strict=True)
        ]

    def device_of(self, operands: Sequence[torch.Tensor]) -> Device:
        """The device of all tensors. Raises `DeviceError` where they are on several."""
        devices = {t.device for t in operands}
        if len(devices) > 1:
            raise DeviceError(
                f"the tensors for {self.signature.owner} are on {', '.join(sorted(map(str, devices)))}\n"
                "expected: all on one device"
            )
        return device_from_torch(*devices) if devices else get_device()

    @property
    def overload(self) -> Any:
        """The operator of PyTorch's dispatcher, all of whose scalars are numbers: for `torch.library.opcheck`."""
        return overload(self.variant(tuple(param.is_array for param in self.signature.inputs)))

    @torch.compiler.assume_constant_result
    def variant(self, tensors: tuple[bool, ...]) -> str:
        """The name of the operator in graphs that takes tensors for these inputs, registered once."""
        return dispatcher_operators(self, tensors).name

    def trace(self, evaluation: Evaluation, operands: Sequence[torch.Tensor]) -> list[Any]:
        """The results of a form by the dispatcher."""
        return trace(evaluation, operands)


def same_bits(a: torch.dtype, b: torch.dtype) -> bool:
    """Whether integers of the dtypes differ in their sign alone."""
    return a.itemsize == b.itemsize and not (a.is_floating_point or b.is_floating_point) and torch.bool not in (a, b)


@user_frames
def torch_op(
    subject: Subject,
    num_outputs: int = 1,
    in_out_argnames: Iterable[str] | None = None,
    launch_dims: LaunchDims = None,
    output_dims: OutputDims = None,
    name: str | None = None,
) -> TorchOperator:
    """A kernel, or a function that launches kernels, as a differentiable operator of PyTorch.

        saxpy_op = wp.torch_op(saxpy)
        y = saxpy_op(a, x)

    The operator takes tensors for arrays, and numbers or tensors without extents for numbers; it returns new tensors
    for the last `num_outputs` parameters. Elements of vectors and matrices are trailing extents of tensors. A function
    is annotated as kernels are. Gradients of first and second order, `torch.func` and `torch.compile` work, the
    latter for first order; kernels that sum into outputs find zeros there.

    in_out_argnames: names of arrays that are read and written; they are returned first, the tensors stay as they are.
    launch_dims: the threads of a launch, by default the extents of the first array. output_dims: shapes of outputs, by
    default those of the launch: one for all, or a dict by name. Both may be functions of the operator's arguments, and
    may be given to a call. name: the operator's name in graphs, `warpsim::name`.

    Raises `ArgumentTypeError` for parameters that are no arrays or numbers; calls raise it for other dtypes,
    `ArrayError` for shapes that do not fit, `DeviceError` for tensors on several devices, and what `launch` raises.
    """
    operator = operator_of(subject, num_outputs, in_out_argnames)
    title = name or re.sub(r"\W", "_", getattr(subject, "key", None) or subject.__name__)
    while title in _named or is_taken(title):
        title = f"{title}_{next(_numbers)}"
    _named[title] = TorchOperator(operator, launch_dims, output_dims, title, name)
    return _named[title]


def made_again(*recipe: Any) -> TorchOperator:
    """An operator from `pickle`: the one of this process that is made in this way, or a new one."""
    known = _named.get(recipe[-1])
    return known if known is not None and known.recipe[1] == recipe else torch_op(*recipe)
