"""Calls of XLA's typed foreign functions as Python sees them: buffers, attributes, errors.

Offsets are those of the structs in `xla/ffi/api/c_api.h`, version 0, on 64-bit systems.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ...errors import LaunchError

_EXECUTE, _METADATA = 3, 1
_INVALID = 3  # XLA_FFI_Error_Code_INVALID_ARGUMENT
_DTYPES: dict[int, Any] = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16}
_DTYPES |= {8: np.uint32, 9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64, 16: jax.numpy.bfloat16.dtype}
_DTYPES |= {15: np.complex64, 18: np.complex128}
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_kept: list[Any] = []  # XLA never forgets a handler


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


class Context:
    """Where a call runs. stream: the CUDA stream, 0 on the CPU."""

    def __init__(self, frame: int):
        self.frame, self.stream = frame, 0


class Frame:
    """One call of a foreign function."""

    def __init__(self, address: int):
        self.address = address

    def _buffers(self, at: int, writable: bool) -> list[np.ndarray]:
        count, pointers = _word(self.address + at + 16), _word(self.address + at + 32)
        return [buffer_at(_word(pointers + 8 * k), writable) for k in range(count)]

    @property
    def arguments(self) -> list[np.ndarray]:
        """The input buffers, read-only."""
        return self._buffers(40, False)

    @property
    def results(self) -> list[np.ndarray]:
        """The output buffers."""
        return self._buffers(80, True)

    @property
    def attributes(self) -> dict[str, Any]:
        """Numbers, texts and arrays of numbers by name."""
        at = self.address + 120
        count, types, names, values = _word(at + 16), _word(at + 24), _word(at + 32), _word(at + 40)
        attributes = {}
        for k in range(count):
            span = _word(names + 8 * k)
            name = ctypes.string_at(_word(span), _word(span + 8)).decode()
            attributes[name] = attribute_at(_half(types + 4 * k), _word(values + 8 * k))
        return attributes


def buffer_at(address: int, writable: bool) -> np.ndarray:
    """A buffer as a NumPy array over its memory."""
    rank, dims = _word(address + 32), _word(address + 40)
    shape = tuple(_word(dims + 8 * k) for k in range(rank))
    dtype = np.dtype(_DTYPES[_half(address + 16)])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = _word(address + 24)
    raw = (ctypes.c_char * size).from_address(data) if size else bytearray()
    buffer = np.frombuffer(raw, np.uint8).view(dtype).reshape(shape)
    buffer.flags.writeable = writable
    return buffer


def attribute_at(kind: int, address: int) -> Any:
    """The value of an attribute: array 1, dictionary 2, scalar 3, string 4."""
    if kind == 1:
        dtype, count = np.dtype(_DTYPES[_half(address)]), _word(address + 8)
        return np.frombuffer(ctypes.string_at(_word(address + 16), count * dtype.itemsize), dtype)
    if kind == 3:
        dtype = np.dtype(_DTYPES[_half(address)])
        return np.frombuffer(ctypes.string_at(_word(address + 8), dtype.itemsize), dtype)[0].item()
    if kind == 4:
        return ctypes.string_at(_word(address), _word(address + 8)).decode()
    return None


def handler_of(run: Callable[[Frame], None]) -> Any:
    """A function as a handler of XLA: what it raises becomes an error of JAX with the same text."""

    def handle(address: int) -> int | None:
        try:
            extension = _word(address + 8)
            if extension and _half(extension + 8) == _METADATA:
                describe(_word(extension + 24))
            elif _half(address + 32) == _EXECUTE:
                run(Frame(address))
        except BaseException as error:  # none may pass through XLA
            return failure(address, f"{type(error).__name__}: {error}")
        return None

    handler = _HANDLER(handle)
    _kept.append(handler)
    return handler


def describe(metadata: int) -> None:
    """Say which version of XLA's interface a handler was made for."""
    ctypes.c_int32.from_address(metadata + 24).value = 0
    ctypes.c_int32.from_address(metadata + 28).value = 1
    ctypes.c_uint32.from_address(metadata + 32).value = 0


def failure(address: int, text: str) -> int:
    """An error of XLA."""
    message = ctypes.create_string_buffer(text.encode())
    arguments = (ctypes.c_uint64 * 4)(32, 0, ctypes.addressof(message), _INVALID)
    create = _CREATE(_word(_word(address + 16) + 48))
    return int(create(ctypes.addressof(arguments)))


def register(name: str, handler: Any) -> None:
    """Register a handler for the CPU."""
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu", api_version=1)


_registered: dict[str, Any] = {}
_numbers = itertools.count()


def register_ffi_callback(name: str, func: Callable[..., None], graph_compatible: bool = True) -> None:
    """Register a Python function that `jax.ffi.ffi_call(name, ...)` calls: `func(inputs, outputs, attrs, ctx)`.

    inputs, outputs: buffers as NumPy arrays over their memory, for launches among others; attrs: the keywords of the
    call by name; ctx.stream: the CUDA stream, 0 on the CPU. What the function raises becomes an error of JAX.
    graph_compatible: whether it may be captured in a CUDA graph. Raises `LaunchError` for a name with another function.
    """
    if name in _registered and _registered[name] is not func:
        raise LaunchError(f"another function is registered as {name!r}\nhelp: choose another name")
    if name not in _registered:
        _registered[name] = func
        register(name, handler_of(lambda f: func(f.arguments, f.results, f.attributes, Context(f.address))))
