"""Paddle: arrays over tensors and tensors over arrays without copies, gradients included.

A tensor that needs a gradient and its array share that, too: `Tape.backward` adds to `tensor.grad`, optimisers of
Paddle step on it. Paddle copies what is assigned to `tensor.grad`, so the memory that both share is Paddle's. Its
`clear_grad` gives it back: take the array anew afterwards, or zero the array's gradient instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle

from ..core.language import array, get_device
from ..core.runtime.arrays.allocation import shared_allocation
from ..core.runtime.arrays.host_memory import checked_dtype
from ..core.runtime.devices.cuda import interop
from ..core.runtime.devices.device import CPU, Device, DeviceLike
from ..core.runtime.devices.stream import Stream
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, DeviceError, GradientError, MissingPackageError, ReadOnlyError
from .elements import seen_as

_OLDEST = 3
if int(paddle.__version__.split(".")[0]) < _OLDEST:
    raise MissingPackageError(
        f"Paddle {paddle.__version__} is installed\nexpected: {_OLDEST}.0 or newer\n"
        "help: pip install --upgrade paddlepaddle"
    )

_NAMES = ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16")
_WIDE = ("uint16", "uint32", "uint64")  # which older versions lack
_FROM_PADDLE: dict[Any, Any] = {paddle.bool: scalars.bool_} | {
    getattr(paddle, name): getattr(scalars, name) for name in (*_NAMES, *_WIDE) if hasattr(paddle, name)
}
_TO_PADDLE = {ours: theirs for theirs, ours in _FROM_PADDLE.items()}
# Paddle computes little with wide unsigned integers, so these are lent as the signed ones, with the same bits.
_TO_PADDLE |= {getattr(scalars, name): getattr(paddle, name[1:]) for name in _WIDE}


# ----- arrays -------------------------------------------------------------------------------------


def from_paddle(
    t: paddle.Tensor, dtype: Any = None, requires_grad: bool | None = None, grad: Any = None, return_ctype: bool = False
) -> array:
    """An array over the memory of a tensor, without a copy.

    dtype: the element type, by default the tensor's; vectors and matrices take trailing extents of the tensor, which
    are then no extents of the array: (n, 3) are n elements of `vec3`. requires_grad: whether the array has a gradient,
    by default where the tensor's `stop_gradient` is False. It is `t.grad`, which is made where there is none, or
    `grad`, a tensor or an array. return_ctype: an array for launches alone, without a gradient.

    Raises `ArrayError` for dtypes, shapes and layouts that arrays cannot have, `DeviceError` for other devices than
    CPUs and CUDA's, `GradientError` for a gradient that does not fit.
    """
    if not isinstance(t, paddle.Tensor):
        raise ArgumentTypeError(f"t is {type(t).__name__}\nexpected: paddle.Tensor")
    element = _element_of(t) if dtype is None else checked_dtype(dtype)
    device = device_from_paddle(t.place)
    memory = seen_as(_memory_of(t, device), element, f"a tensor of {t.dtype}")
    a = array._wrap(memory, element, device)
    if return_ctype:
        return a
    a._memory = shared_allocation(t.data_ptr() - t.offset)
    a._memory.exposed = True
    if not t.stop_gradient if requires_grad is None else requires_grad:
        a.grad = grad if isinstance(grad, array) else _gradient_of(t, element, grad)
    return a


def to_paddle(a: array, requires_grad: bool | None = None) -> paddle.Tensor:
    """A tensor over the memory of an array, without a copy; extents of elements become trailing extents.

    requires_grad: whether `stop_gradient` is False, by default as the array has a gradient. That moves to memory of
    Paddle's, as `tensor.grad`. Raises `ArrayError` for arrays of structs, `ReadOnlyError`, `GradientError` where
    there is no gradient.
    """
    if not isinstance(a, array):
        raise ArgumentTypeError(f"a is {type(a).__name__}\nexpected: a warpsim array\nhelp: paddle.to_tensor(a)")
    tensor = _tensor_over(a)
    if a._gradient is not None if requires_grad is None else requires_grad:
        if not tensor.is_floating_point():
            raise GradientError(f"a tensor of {type_name(a.dtype)} cannot require a gradient\nexpected: floats")
        tensor.stop_gradient = False
        if a.grad is not None:
            tensor.grad = _tensor_over(a.grad)
            a.grad = from_paddle(tensor.grad, dtype=a.dtype, requires_grad=False)
    return tensor


def _element_of(t: paddle.Tensor) -> Any:
    """The element type of a tensor. Raises `ArrayError` for a tensor of other things than numbers."""
    if t.dtype not in _FROM_PADDLE:
        raise ArrayError(f"a tensor of {t.dtype}\nexpected: one of {', '.join(map(str, _FROM_PADDLE))}")
    return _FROM_PADDLE[t.dtype]


def _memory_of(t: paddle.Tensor, device: Device) -> np.ndarray:
    """The memory of a tensor as NumPy sees it."""
    is_bfloat16 = t.dtype == paddle.bfloat16
    if not t.is_dense():
        raise ArrayError(f"a sparse tensor of {t.dtype}\nexpected: a dense one\nhelp: t.to_dense()")
    try:
        bits = t.detach().view(paddle.int16) if is_bfloat16 else t.detach()  # which NumPy does not know
        memory = np.from_dlpack(bits) if device is CPU else interop.memory_of(bits)
    except (RuntimeError, TypeError, BufferError, ValueError) as error:
        raise ArrayError(f"a tensor of {t.dtype} on {t.place}: {error}") from error
    assert memory is not None
    return memory.view(scalars.bfloat16) if is_bfloat16 else memory


def _gradient_of(t: paddle.Tensor, element: type, grad: Any) -> array:
    """The gradient array of an array over a tensor."""
    if not t.is_floating_point():
        raise GradientError(f"a gradient for a tensor of {t.dtype}\nexpected: floats")
    if grad is None:
        if t.grad is None:
            t.grad = paddle.zeros_like(t)
        grad = t.grad
    if grad.dtype != t.dtype or list(grad.shape) != list(t.shape) or str(grad.place) != str(t.place):
        raise GradientError(
            f"the gradient has shape {tuple(grad.shape)} and dtype {grad.dtype} on {grad.place}\n"
            f"expected: shape {tuple(t.shape)} and dtype {t.dtype} on {t.place}"
        )
    return from_paddle(grad, dtype=element, requires_grad=False)


def _tensor_over(a: array) -> paddle.Tensor:
    """A tensor over the memory of an array."""
    if a._data.dtype.names is not None:
        raise ArrayError(f"an array of structs {type_name(a.dtype)} as a tensor\nexpected: numbers, vectors, matrices")
    if not a._tag.writable:
        raise ReadOnlyError("a read-only array as a tensor, which may be written to\nhelp: wp.clone(a)")
    dtype = dtype_to_paddle(a.dtype)
    is_bfloat16 = dtype == paddle.bfloat16
    bits = np.dtype("int16" if is_bfloat16 else str(dtype).rpartition(".")[2])
    a._memory.expose(a._data)
    tensor = paddle.utils.dlpack.from_dlpack(a._data.view(bits) if a.device.shares_host_memory else a)
    return tensor.view(dtype) if tensor.dtype != dtype else tensor


# ----- types, devices, streams --------------------------------------------------------------------


def dtype_from_paddle(paddle_dtype: Any) -> Any:
    """The scalar type of a Paddle dtype. Raises `ArgumentTypeError` (a `TypeError`) where there is none."""
    dtype = _FROM_PADDLE.get(paddle_dtype)
    if dtype is None:
        known = ", ".join(map(str, _FROM_PADDLE))
        raise ArgumentTypeError(f"{paddle_dtype} has no scalar type here\nexpected: one of {known}")
    return dtype


def dtype_to_paddle(warp_dtype: type) -> Any:
    """The Paddle dtype of a type's numbers; wide unsigned integers are mapped to signed ones of the same width.

    Raises `ArgumentTypeError` (a `TypeError`) where there is none.
    """
    element = scalars.canonical(warp_dtype)
    dtype = _TO_PADDLE.get(compounds.scalar_of(element) if compounds.is_compound(element) else element)
    if dtype is None:
        raise ArgumentTypeError(f"{warp_dtype!r} has no Paddle dtype\nexpected: a type of numbers")
    return dtype


def device_from_paddle(paddle_device: Any) -> Device:
    """The device of a place of Paddle's or its name. Raises `DeviceError` (a `RuntimeError`) where there is none."""
    name = str(paddle_device).removeprefix("Place(").removesuffix(")")
    kind, _, number = name.partition(":")
    if kind in ("cpu", "gpu_pinned"):
        return get_device("cpu")
    if kind in ("gpu", "cuda"):
        return get_device(f"cuda:{number or 0}")
    raise DeviceError(f"no device here is Paddle's {name}\nexpected: cpu or gpu")


def device_to_paddle(warp_device: DeviceLike) -> str:
    """The name of a device in Paddle; the interpreter's memory is the CPU's."""
    device = get_device(warp_device)
    return "cpu" if device.shares_host_memory else f"gpu:{device.ordinal}"


def stream_from_paddle(stream_or_device: Any = None) -> Stream:
    """Paddle's CUDA stream, or the current one of a device of Paddle's. Raises `DeviceError` without CUDA."""
    if not paddle.is_compiled_with_cuda():
        raise DeviceError("this Paddle has no CUDA streams\nexpected: the package paddlepaddle-gpu")
    if not hasattr(stream_or_device, "cuda_stream"):
        stream_or_device = paddle.device.current_stream(stream_or_device).stream_base
    device = getattr(stream_or_device, "place", None) or paddle.device.get_device()
    return Stream(device_from_paddle(device), cuda_stream=stream_or_device.cuda_stream)
