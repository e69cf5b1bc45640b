"""Kernels as functions of JAX: jit, grad, jvp, vmap, shard_map and pmap, by the primitive in `primitive.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...core.runtime.devices.device import CPU
from ...core.runtime.launches.dimensions import threads_of_block
from ...core.runtime.launches.kernel import Kernel
from ...core.types import compounds, scalars
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, instance, user_frames
from ..copied import Copied
from ..forms import VALUE
from ..operator import Operator, operator_of
from ..signature import Parameter, dims_for
from .arrays import check_width
from .evaluation import Callee, Evaluation, callee_of
from .modes import JaxCallableGraphMode, JaxModulePreloadMode, check_staged
from .primitive import evaluate

_METHODS = (None, "broadcast_all", "expand_dims", "sequential", "sequential_unrolled", "legacy_vectorized")
_DEFAULT = "broadcast_all"


class JaxOptions(NamedTuple):
    """How a kernel or function is one of JAX: arguments of `jax_kernel` and `jax_callable` of these names."""

    num_outputs: int | None
    in_out_argnames: Any
    launch_dims: Any
    output_dims: Any
    enable_backward: bool
    has_side_effect: bool
    block_dim: int | None = None
    graph_mode: JaxCallableGraphMode = JaxCallableGraphMode.JAX


class JaxFunction(Copied):
    """A kernel, or a function that launches kernels, as a function of JAX; made by `jax_kernel` and `jax_callable`."""

    def __init__(self, subject: Any, options: JaxOptions):
        super().__init__(make_function, subject, *options)
        self.subject, self.options = subject, options
        threads_of_block(options.block_dim, CPU)  # raises for what is none
        self.callee = self.with_outputs(options.num_outputs or 1)
        self.__name__ = getattr(subject, "key", None) or subject.__name__

    def with_outputs(self, count: int) -> Callee:
        """What programs call for this number of outputs."""
        options = self.options
        operator = operator_of(self.subject, count, options.in_out_argnames, options.block_dim)
        how = (bool(options.enable_backward), bool(options.has_side_effect), options.graph_mode)
        return callee_of(operator, options.block_dim, *how)

    @property
    def operator(self) -> Operator:
        return self.callee.operator

    def __repr__(self) -> str:
        return f"<JAX function of {self.operator.signature.owner}>"

    @user_frames
    def __call__(
        self, *args: Any, launch_dims: Any = None, output_dims: Any = None, vmap_method: str | None = None
    ) -> list[jax.Array]:
        """The outputs, as a list. launch_dims, output_dims: as of `jax_kernel`, for this call."""
        check_method(vmap_method)
        self.fit(len(args))
        signature = self.operator.signature
        signature.check_count(args)
        numbers, operands, shapes = [], [], []
        for a, param in zip(args, signature.inputs, strict=True):
            if not param.is_array and not isinstance(a, jax.Array):
                numbers.append(constant(a, param, signature.owner))
                shapes.append(())
            else:
                operands.append(operand(a, param, signature.owner))
                numbers.append(None)
                shapes.append(operands[-1].shape)
        for param in signature.outputs:
            check_width(param.dtype, f"output {param.name!r} of {signature.owner}")
        launch_dims = dims_for(self.options.launch_dims if launch_dims is None else launch_dims, args)
        output_dims = dims_for(self.options.output_dims if output_dims is None else output_dims, args)
        dims, full = signature.dims(shapes, launch_dims, output_dims)
        return list(evaluate(Evaluation(self.callee, VALUE, tuple(numbers), dims, tuple(full)), operands))

    def fit(self, count: int) -> None:
        """Where the number of outputs was not said, it follows from that of the arguments."""
        signature = self.operator.signature
        pure = len(signature.params) - count
        if not all(param.is_array for param in signature.params[count:]):
            return  # an argument is missing: no output
        if self.options.num_outputs is None and pure > 0 and pure != len(signature.pure):
            self.callee = self.with_outputs(pure + len(signature.in_out))


def check_method(vmap_method: Any) -> None:
    """Raise `ArgumentTypeError` for a method that JAX does not have."""
    if vmap_method not in _METHODS:
        raise ArgumentTypeError(f"vmap_method={vmap_method!r}\nexpected: one of {', '.join(map(repr, _METHODS[1:]))}")


def operand(a: Any, param: Parameter, owner: str) -> Any:
    """An argument as an operand of the kernel's dtype and rank."""
    what = f"argument {param.name!r} of {owner}"
    check_width(param.dtype, what)
    if not isinstance(a, jax.Array | np.ndarray):
        raise ArgumentTypeError(f"{what} is {type(a).__name__}\nexpected: a JAX array")
    value = jnp.asarray(a)
    if not param.is_array:
        if value.shape != param.inner:
            raise ArrayError(f"{what} has shape {value.shape}\nexpected: {param.inner}, for {type_name(param.type)}")
        if value.dtype.kind not in "biu" and not scalars.is_float(compounds.scalar_of(param.type)):
            raise ArgumentTypeError(f"{what} is an array of {value.dtype}\nexpected: {type_name(param.type)}")
        return value.astype(param.dtype)
    if value.dtype != param.dtype:
        raise ArgumentTypeError(
            f"{what} is an array of {value.dtype}\nexpected: {param.dtype}\nhelp: x.astype({str(param.dtype)!r})"
        )
    param.outer(value.shape, owner)
    return value


def constant(a: Any, param: Parameter, owner: str) -> bytes:
    """The bits of a number, vector or matrix that is a constant of the program: 0.0 and -0.0 are two, NaN is one."""
    try:
        if compounds.is_compound(param.type):
            return np.asarray(a, param.dtype).tobytes()
        if scalars.is_integer(param.type) and not isinstance(a, int | np.integer | np.bool_):
            raise TypeError
        if a is None:  # a NaN to NumPy
            raise TypeError
        return np.asarray(param.type(a).item(), param.dtype).tobytes()
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"argument {param.name!r} of {owner} is {type(a).__name__}\nexpected: {type_name(param.type)}"
        ) from None


def make_function(subject: Any, *options: Any) -> JaxFunction:
    """A function with options one by one, as pickles have them."""
    return JaxFunction(subject, JaxOptions(*options))


@user_frames
def jax_kernel(
    kernel: Any,
    num_outputs: int | None = None,
    vmap_method: str = _DEFAULT,
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Any = None,
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    enable_backward: bool = True,
    has_side_effect: bool = False,
    block_dim: int | None = None,
) -> JaxFunction:
    """A kernel as a function of JAX, which returns a list of its outputs.

        [y] = jax_kernel(saxpy)(x, 2.0)

    The last parameters of the kernel are its outputs: `num_outputs` of them, or as many as a call has no arguments for.
    Numbers are constants, or JAX arrays without extents, traced or not; elements of vectors and matrices are trailing
    extents. jit, grad, jvp, vmap, shard_map and pmap work, gradients to second order. A kernel that sums into outputs
    finds zeros there.

    in_out_argnames: names of arrays that are read and written; they are returned first, in their own buffers where JAX
    needs them no more. launch_dims: the threads, by default the extents of the first array; output_dims: shapes of
    outputs, by default those of the launch: one for all, or a dict by name; both may be functions of the arguments,
    and may be given to a call. vmap_method: accepted; every method gives the results of one call after the other.
    module_preload_mode: accepted; a kernel is compiled when a program that calls it is. enable_backward: whether it
    has derivatives. has_side_effect: a program launches the kernel also where it does not need the results.
    block_dim: as of `wp.launch`.

    Raises `ArgumentTypeError` for parameters that JAX has no values for, `ValueError` for modes that there are not;
    calls raise it for other dtypes, `ArrayError` for shapes that do not fit and 64-bit numbers that JAX is not told to
    have, and `DeviceError` in programs for devices other than the CPU. What fails later is an error of JAX.
    """
    check_method(vmap_method)
    JaxModulePreloadMode(module_preload_mode)
    options = JaxOptions(
        num_outputs, in_out_argnames, launch_dims, output_dims, enable_backward, has_side_effect, block_dim
    )
    return JaxFunction(instance(kernel, Kernel, "what jax_kernel makes a function of"), options)


@user_frames
def jax_callable(
    func: Callable[..., None],
    num_outputs: int | None = None,
    graph_mode: JaxCallableGraphMode = JaxCallableGraphMode.JAX,
    vmap_method: str = _DEFAULT,
    output_dims: Any = None,
    in_out_argnames: Any = None,
    stage_in_argnames: Sequence[str] | None = None,
    stage_out_argnames: Sequence[str] | None = None,
    graph_cache_max: int | None = 32,
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect: bool = False,
    enable_backward: bool = True,
) -> JaxFunction:
    """A Python function that launches kernels as a function of JAX, which returns a list of its outputs.

    The function is annotated like a kernel and gets arrays and numbers. Derivatives come from a tape: arrays that it
    makes between inputs and outputs need `requires_grad=True`. output_dims: shapes of outputs, by default the extents
    of the first array. graph_mode: who captures the launches in a CUDA graph; on the CPU nobody does, and modes other
    than NONE and JAX are refused. stage_in_argnames, stage_out_argnames, graph_cache_max: of such graphs; the names
    are checked, none has an effect. The other arguments, and what is raised, are as of `jax_kernel`.
    """
    check_method(vmap_method)
    JaxModulePreloadMode(module_preload_mode)
    mode = JaxCallableGraphMode(graph_mode)
    how = (enable_backward, has_side_effect, None, mode)
    function = JaxFunction(func, JaxOptions(num_outputs, in_out_argnames, None, output_dims, *how))
    arrays = [param.name for param in function.operator.signature.params if param.is_array]
    check_staged(stage_in_argnames, arrays, "stage_in_argnames")
    check_staged(stage_out_argnames, arrays, "stage_out_argnames")
    return function


def clear_jax_callable_graph_cache(callable: JaxFunction | None = None) -> None:
    """Forget the CUDA graphs of one function of `jax_callable`, or of all: there are none, see `modes.py`.

    Raises `ArgumentTypeError` for what is no function of JAX made here.
    """
    if callable is not None:
        instance(callable, JaxFunction, "callable")
