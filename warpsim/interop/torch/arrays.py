"""PyTorch: arrays over tensors and tensors over arrays without copies, gradients included, and kernels as operators.

A tensor that requires a gradient and its array share that, too: `Tape.backward` adds to `tensor.grad`, optimisers of
PyTorch step on it. What PyTorch writes to shared memory between two operations of a tape is found by the counts that
tensors have of writes; what it writes once the tape is over, as steps of optimisers do, is not looked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...core.language import array, get_device
from ...core.runtime.arrays.allocation import shared_allocation
from ...core.runtime.arrays.host_memory import checked_dtype
from ...core.runtime.devices.cuda import interop
from ...core.runtime.devices.device import CPU, Device, DeviceLike
from ...core.runtime.devices.stream import Stream, get_stream
from ...core.types import compounds, scalars
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, DeviceError, GradientError, MissingPackageError, ReadOnlyError
from ..elements import seen_as

_OLDEST = (2, 6)
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < _OLDEST:
    raise MissingPackageError(
        f"PyTorch {torch.__version__} is installed\nexpected: {'.'.join(map(str, _OLDEST))} or newer\n"
        "help: pip install --upgrade torch"
    )

_FROM_TORCH: dict[Any, Any] = {torch.bool: scalars.bool_, torch.int8: scalars.int8, torch.int16: scalars.int16}
_FROM_TORCH |= {torch.int32: scalars.int32, torch.int64: scalars.int64, torch.uint8: scalars.uint8}
_FROM_TORCH |= {torch.uint16: scalars.uint16, torch.uint32: scalars.uint32, torch.uint64: scalars.uint64}
_FROM_TORCH |= {torch.float16: scalars.float16, torch.float32: scalars.float32, torch.float64: scalars.float64}
_FROM_TORCH |= {torch.bfloat16: scalars.bfloat16}
_TO_TORCH = {ours: theirs for theirs, ours in _FROM_TORCH.items()}
# PyTorch computes little with wide unsigned integers, so these are lent as the signed ones, with the same bits.
_TO_TORCH |= {scalars.uint16: torch.int16, scalars.uint32: torch.int32, scalars.uint64: torch.int64}


# ----- arrays -------------------------------------------------------------------------------------


def from_torch(
    t: torch.Tensor,
    dtype: Any = None,
    requires_grad: bool | None = None,
    grad: array | torch.Tensor | None = None,
    return_ctype: bool = False,
    retain_grad: bool = False,
) -> array:
    """An array over the memory of a tensor, without a copy.

    dtype: the element type, by default the tensor's; vectors and matrices take trailing extents of the tensor, which
    are then no extents of the array: (n, 3) are n elements of `vec3`. requires_grad: whether the array has a gradient,
    by default as the tensor requires one. It is `t.grad`, which is made where there is none; or `grad`, a tensor or
    an array; or memory of its own where autograd is switched off (`torch.no_grad`, inside `torch.autograd.Function`),
    as autograd adds what such code returns to `t.grad`. return_ctype: an array for launches alone, without a gradient,
    in half the time.

    Raises `ArrayError` for dtypes, shapes and layouts that arrays cannot have, `DeviceError` for other devices than
    CPUs and CUDA's, `GradientError` for a gradient that does not fit.
    """
    if not isinstance(t, torch.Tensor):
        raise ArgumentTypeError(f"t is {type(t).__name__}\nexpected: torch.Tensor")
    element = _element_of(t) if dtype is None else checked_dtype(dtype)
    counted = t.detach()
    memory = _memory_of(counted, element)
    a = array._wrap(memory, element, CPU if t.device.type == "cpu" else device_from_torch(t.device))
    if return_ctype:
        return a
    storage = t.untyped_storage()
    a._memory = shared_allocation(storage.data_ptr())
    a._memory.count_writes(id(t if t._base is None else t._base), counted, memory)
    a._room = storage.nbytes() - t.storage_offset() * t.element_size()
    if t.requires_grad if requires_grad is None else requires_grad:
        a.grad = _gradient_of(t, element, grad)
    a.retain_grad = retain_grad
    return a


def to_torch(a: array, requires_grad: bool | None = None) -> torch.Tensor:
    """A tensor over the memory of an array, without a copy; extents of elements become trailing extents.

    requires_grad: whether the tensor requires a gradient, by default as the array has one; its `grad` is then the
    array's. Raises `ArrayError` for arrays of structs, `ReadOnlyError`, `GradientError` where there is no gradient.
    """
    if not isinstance(a, array):
        raise ArgumentTypeError(f"a is {type(a).__name__}\nexpected: a warpsim array\nhelp: torch.as_tensor(a)")
    tensor = _tensor_over(a)
    if a._gradient is not None if requires_grad is None else requires_grad:
        if not tensor.is_floating_point():
            raise GradientError(f"a tensor of {type_name(a.dtype)} cannot require a gradient\nexpected: floats")
        tensor.requires_grad_(True)
        if a.grad is not None:
            tensor.grad = _tensor_over(a.grad)
    return tensor


def _element_of(t: torch.Tensor) -> Any:
    """The element type of a tensor. Raises `ArrayError` for a tensor of other things than numbers."""
    if t.dtype not in _FROM_TORCH:
        raise ArrayError(f"a tensor of {t.dtype}\nexpected: one of {', '.join(map(str, _FROM_TORCH))}")
    return _FROM_TORCH[t.dtype]


def _memory_of(t: torch.Tensor, element: type) -> np.ndarray:
    """The memory of a tensor that is detached as NumPy sees it, in the layout of an element type."""
    if t.device.type not in ("cpu", "cuda"):
        raise DeviceError(f"a tensor on {t.device}\nexpected: one on a CPU or a CUDA device")
    try:
        bits = t.view(torch.int16) if t.dtype is torch.bfloat16 else t  # which NumPy does not know
        memory = bits.numpy() if t.device.type == "cpu" else interop.memory_of(bits)
    except (RuntimeError, TypeError) as error:
        raise ArrayError(f"a tensor of {t.dtype} with layout {t.layout} on {t.device}: {error}") from error
    assert memory is not None
    memory = memory.view(scalars.bfloat16) if t.dtype is torch.bfloat16 else memory
    return seen_as(memory, element, f"a tensor of {t.dtype}")


def _gradient_of(t: torch.Tensor, element: type, grad: array | torch.Tensor | None) -> array:
    """The gradient array of an array over a tensor."""
    if isinstance(grad, array):
        return grad
    if not t.is_floating_point():
        raise GradientError(f"a gradient for a tensor of {t.dtype}\nexpected: floats")
    if grad is None:
        grad = _attached_gradient(t) if torch.is_grad_enabled() or _below_autograd() else _zeros_like(t)
    if grad.dtype is not t.dtype or grad.shape != t.shape or grad.device != t.device:
        raise GradientError(
            f"the gradient has shape {tuple(grad.shape)} and dtype {grad.dtype} on {grad.device}\n"
            f"expected: shape {tuple(t.shape)} and dtype {t.dtype} on {t.device}"
        )
    return from_torch(grad, dtype=element, requires_grad=False)


def _attached_gradient(t: torch.Tensor) -> torch.Tensor:
    """`t.grad`, made where there is none; with the strides of the tensor, as kernels expect them."""
    grad = t.grad if t.is_leaf or t.retains_grad else None
    if grad is None:
        grad = _zeros_like(t)
    elif grad.stride() != t.stride():
        grad = _zeros_like(t).copy_(grad)
    t.grad = grad
    return grad


def _zeros_like(t: torch.Tensor) -> torch.Tensor:
    """Zeros with the strides of a tensor, as kernels reach gradients with those of the array."""
    if any(step == 0 and n > 1 for n, step in zip(t.shape, t.stride(), strict=True)):  # elements that share memory
        return torch.zeros_like(t, requires_grad=False)
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).zero_()


def _below_autograd() -> bool:
    """Whether a custom operator runs: what it returns in `.grad` is what it was asked for."""
    return torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.AutogradOther)


def _tensor_over(a: array) -> torch.Tensor:
    """A tensor over the memory of an array."""
    if a._data.dtype.names is not None:
        raise ArrayError(f"an array of structs {type_name(a.dtype)} as a tensor\nexpected: numbers, vectors, matrices")
    if not a.device.shares_host_memory:
        return torch.as_tensor(a, device=device_to_torch(a.device))
    if not a._tag.writable:
        raise ReadOnlyError("the array is read-only memory, and tensors are written to\nhelp: pass a copy: wp.clone(a)")
    a._memory.lend(a._address)
    key = (a._address, a.dtype, a.shape, a.strides)
    if key not in a._memory.tensors:
        a._memory.count_writes(key, _tensor_of(a._data), a._data)
    return a._memory.tensors[key].detach()


def _tensor_of(memory: np.ndarray) -> torch.Tensor:
    """A tensor over memory of the host."""
    if memory.dtype == scalars.bfloat16:
        return torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16)
    if memory.dtype.kind == "u" and memory.itemsize > 1:
        memory = memory.view(f"i{memory.itemsize}")
    return torch.from_numpy(memory)


# ----- types, devices, streams ----------------------------------------------------------------------


def dtype_from_torch(torch_dtype: torch.dtype) -> Any:
    """The scalar type of a PyTorch dtype. Raises `ArgumentTypeError` (a `TypeError`) where there is none."""
    dtype = _FROM_TORCH.get(torch_dtype)
    if dtype is None:
        known = ", ".join(map(str, _FROM_TORCH))
        raise ArgumentTypeError(f"{torch_dtype} has no scalar type here\nexpected: one of {known}")
    return dtype


def dtype_to_torch(warp_dtype: type) -> torch.dtype:
    """The PyTorch dtype of a type's numbers; wide unsigned integers are mapped to signed ones of the same width.

    Raises `ArgumentTypeError` (a `TypeError`) where there is none.
    """
    element = scalars.canonical(warp_dtype)
    dtype = _TO_TORCH.get(compounds.scalar_of(element) if compounds.is_compound(element) else element)
    if dtype is None:
        raise ArgumentTypeError(f"{warp_dtype!r} has no PyTorch dtype\nexpected: a type of numbers")
    return dtype


def device_from_torch(torch_device: torch.device | str) -> Device:
    """The device of a `torch.device` or its name. Raises `DeviceError` (a `RuntimeError`) where there is none."""
    device = torch.device(torch_device)
    if device.type == "cpu":
        return get_device("cpu")
    if device.type == "cuda":
        return get_device(f"cuda:{torch.cuda.current_device() if device.index is None else device.index}")
    raise DeviceError(f"no device here is PyTorch's {device}\nexpected: cpu or cuda")


def device_to_torch(warp_device: DeviceLike) -> str:
    """The name of a device in PyTorch; the interpreter's memory is the CPU's."""
    device = get_device(warp_device)
    return "cpu" if device.shares_host_memory else str(device)


def stream_from_torch(stream_or_device: torch.cuda.Stream | torch.device | str | int | None = None) -> Stream:
    """PyTorch's CUDA stream, or the current one of a device of PyTorch's, as a stream for launches."""
    if not isinstance(stream_or_device, torch.cuda.Stream):
        stream_or_device = torch.cuda.current_stream(stream_or_device)
    return Stream(device_from_torch(stream_or_device.device), cuda_stream=stream_or_device.cuda_stream)


def stream_to_torch(stream_or_device: Stream | DeviceLike = None) -> Any:
    """A CUDA stream, or the current one of a device, as a stream of PyTorch. Raises `DeviceError` without CUDA."""
    stream = stream_or_device if isinstance(stream_or_device, Stream) else get_stream(stream_or_device)
    if stream.device.shares_host_memory:
        raise DeviceError(f"{stream.device} has no CUDA stream\nexpected: a stream of a CUDA device")
    return torch.cuda.ExternalStream(stream.cuda_stream, device=device_to_torch(stream.device))
