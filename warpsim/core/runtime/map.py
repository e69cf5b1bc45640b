"""`map`: apply a function to every element of arrays, by a kernel that is written here.

For `map(f, a, 2.0)` with a two-dimensional `a` the kernel is

    def map_f(a0, a1, out0):
        i, j = tid()
        out0[i, j] = f(a0[i, j], a1)

with the types of the arguments; a dimension of extent 1 that is broadcast is indexed by 0. The
types of the results are those that the front end finds for `f`. Kernels are kept by function and
types; functions that are made anew with the same code and the same captured values count as one. A Python function
whose names from outside have changed since is read again; a `wp.func` keeps its own.
"""

from __future__ import annotations

import inspect
import itertools
import keyword
import linecache
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from ...errors import (
    ArgumentCountError,
    ArgumentTypeError,
    ArgumentValueError,
    ArrayError,
    ArrayTypeError,
    KernelError,
    counted,
    user_frames,
)
from ...forks import fork_safe
from .. import compile as compiler
from ..frontend.functions.functions import Func
from ..frontend.source.source import Source
from ..ops import tid
from ..types import compounds, scalars, structs
from ..types.arrays import MAX_NDIM, array_type, type_name
from ..types.signatures import WEAK_FLOAT, WEAK_INT, weak_fits
from .arrays.array import array
from .arrays.creation import empty
from .arrays.host_memory import TypedMemory
from .devices.device import Device, DeviceLike, get_device
from .launch import launch
from .launches.kernel import Kernel
from .launches.modules import get_module

_MOST_KERNELS = 256
_INDICES = ("i", "j", "k", "l")


@user_frames
def map(
    func: Callable[..., Any],
    *inputs: object,
    out: object = None,
    return_kernel: bool = False,
    block_dim: int | None = None,
    device: DeviceLike = None,
) -> Any:
    """Call `func` for the elements of the inputs and return an array of the results.

    func: a `wp.func`, a built-in such as `wp.sin`, a type such as `wp.vec3`, a Python function or a
    lambda. inputs: at least one array (or NumPy array, read as scalars); numbers, vectors, matrices
    and structs go to every call as they are. A Python number takes the scalar type of the arrays if
    the function accepts it so. Shapes are broadcast as in NumPy. out: an array, or one per result,
    of the broadcast shape. A function with several results gives a list of arrays. With
    `return_kernel` nothing runs: the kernel takes the inputs, then the outputs.

    New arrays require gradients if an input does and their elements are floats. Raises `KernelError`
    when the function does not accept the elements, `ArrayError` for shapes that do not fit,
    `ArgumentTypeError` for unusable inputs or outputs.
    """
    places = [value.device for value in inputs if isinstance(value, TypedMemory)]
    device = get_device(device) if device is not None or not places else places[0]
    operands = [_operand(value, k, device) for k, value in enumerate(inputs)]
    arrays = [value for value in operands if isinstance(value, TypedMemory)]
    if not arrays:
        raise ArgumentValueError("map got no array\nexpected: at least one among the inputs")
    shape = _broadcast([a.shape for a in arrays])
    outs = None if out is None else list(out) if isinstance(out, list | tuple) else [out]
    kernel, results = _kernel_for(func, operands, shape, _indexed_flags(outs))
    if outs is not None:
        _check_outputs(outs, results, shape, kernel)
    if return_kernel:
        return kernel
    if outs is None:
        wants_grad = any(a.requires_grad for a in arrays)
        outs = [empty(shape, t, device, wants_grad and scalars.is_float(compounds.scalar_of(t))) for t in results]
    launch(kernel, shape, operands, outs, device=device, block_dim=block_dim)
    return outs[0] if len(outs) == 1 else outs


# ----- operands ---------------------------------------------------------------------------------


def _operand(value: object, position: int, device: Device) -> Any:
    """An input as an array of ours, on `device` if it was another's, or as a value that every call gets."""
    known = (TypedMemory, compounds.Compound, structs.Struct, bool, int, float, np.generic)
    if isinstance(value, known):
        return value
    protocols = ("__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__")
    if any(hasattr(value, name) for name in protocols):
        return array(value, copy=False, device=device)
    raise ArgumentTypeError(
        f"input {position} of map is {type(value).__name__}\nexpected: an array, number, vector, matrix or struct\n"
        "help: wp.array(x), or wp.vec3(x)"
    )


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = ", ".join(str(s) for s in shapes)
        raise ArrayError(
            f"map of arrays of shapes {shown}\nexpected: from the last dimension on, equal extents or 1"
        ) from None


def _element_types(operands: list[Any]) -> Iterator[tuple[Any, ...]]:
    """What the types of the elements may be, likeliest first: a Python number fits several."""
    fixed = [_fixed_type(value) for value in operands]
    around = list(dict.fromkeys(compounds.scalar_of(t) for t in fixed if t is not None and not structs.is_struct(t)))
    choices = [[t] if t is not None else _number_types(value, around) for value, t in zip(operands, fixed, strict=True)]
    return itertools.product(*choices)


def _fixed_type(value: object) -> Any:
    if isinstance(value, TypedMemory):
        return value.dtype
    if isinstance(value, bool):
        return scalars.bool_
    return None if type(value) in (int, float) else scalars.canonical(type(value))


def _number_types(value: int | float, around: list[Any]) -> list[Any]:
    weak = WEAK_INT if type(value) is int else WEAK_FLOAT
    types = [t for t in (*around, weak.default) if weak_fits(weak, t)]
    if type(value) is int:
        types = [t for t in types if scalars.is_float(t) or np.iinfo(t).min <= value <= np.iinfo(t).max]
    return list(dict.fromkeys(types or [scalars.int64]))


# ----- kernels ----------------------------------------------------------------------------------


_kernels: OrderedDict[Any, tuple[Any, Kernel, tuple[Any, ...]]] = OrderedDict()  # with the function
_lock = fork_safe(threading.Lock())
_numbers = itertools.count()


def _kernel_for(
    func: Any, operands: list[Any], shape: tuple[int, ...], indexed: tuple[bool, ...] | None
) -> tuple[Kernel, tuple[Any, ...]]:
    """The kernel for these operands and the element types of its outputs, from memory or new."""
    types = tuple(_element_types(operands))
    forms = tuple(_access(value, shape) for value in operands)
    kinds = tuple(value.type if isinstance(value, TypedMemory) else None for value in operands)
    key = (_identity(func), types, kinds, forms, len(shape), indexed)
    with _lock:
        if key in _kernels:
            before, kernel, results = _kernels[key]
            if not _is_plain(func) or _is_current(before):
                _kernels.move_to_end(key)
                return kernel, results
    callee = Func(func) if _is_plain(func) else func
    chosen, results = _infer_types(callee, types)
    params = [t if kind is None else kind for t, kind in zip(chosen, kinds, strict=True)]
    flags = indexed if indexed is not None and len(indexed) == len(results) else (False,) * len(results)
    params += [array_type(t, len(shape), flag) for t, flag in zip(results, flags, strict=True)]
    kernel = _write_kernel(callee, forms, params, len(shape), len(results))
    with _lock:
        _kernels[key] = callee, kernel, results
        while len(_kernels) > _MOST_KERNELS:
            _kernels.popitem(last=False)
    return kernel, results


def _is_current(callee: Func) -> bool:
    return all(overload.source.captured.is_current() for overload in callee.overloads)


def _access(value: object, shape: tuple[int, ...]) -> str:
    """How a kernel over `shape` indexes an input: `[i, j]`, `[0, j]`, or not at all."""
    if not isinstance(value, TypedMemory):
        return ""
    first = len(shape) - value.ndim
    indices = [_INDICES[first + k] if n == shape[first + k] else "0" for k, n in enumerate(value.shape)]
    return f"[{', '.join(indices)}]"


def _infer_types(callee: Any, candidates: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first types that the function accepts, and the types of its results there."""
    names = [f"a{k}" for k in range(len(candidates[0]))]
    called = _name_of(callee)
    text = f"def apply({', '.join(names)}):\n    return {called}({', '.join(names)})\n"
    source = Source(_define(text, "apply", called, callee))
    problem: KernelError | None = None
    for types in candidates:
        try:
            results = compiler.result_types(source, names, list(types))
        except KernelError as error:
            problem = problem or error
            continue
        for t in results:
            if t is None or not (scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t)):
                shown = "something that is no value at run time" if t is None else type_name(t)
                raise ArgumentTypeError(
                    f"{_title(callee)} returns {shown}\n"
                    "expected: scalars, vectors, matrices or structs, one for each output"
                )
        return types, results
    assert problem is not None
    raise problem


def _write_kernel(callee: Any, forms: tuple[str, ...], params: list[Any], ndim: int, results: int) -> Kernel:
    """The kernel as text, compiled by Python and registered so that its source can be read."""
    called = _name_of(callee)
    inputs = [f"a{k}" for k in range(len(forms))]
    outputs = [f"out{k}" for k in range(results)]
    where = ", ".join(_INDICES[:ndim])
    targets = ", ".join(f"{name}[{where}]" for name in outputs)
    arguments = ", ".join(name + form for name, form in zip(inputs, forms, strict=True))
    name = f"map_{_title(callee)}"
    text = (
        f"def {name}({', '.join([*inputs, *outputs])}):\n    {where} = tid()\n    {targets} = {called}({arguments})\n"
    )
    function = _define(text, name, called, callee)
    function.__annotations__ = dict(zip([*inputs, *outputs], params, strict=True))
    home = getattr(callee, "__module__", None) or __name__
    kernel = Kernel(function, module=get_module(home))
    weakref.finalize(kernel, linecache.cache.pop, function.__code__.co_filename, None).atexit = False
    return kernel


def _define(text: str, name: str, called: str, callee: object) -> Any:
    """A function made of text; `inspect` finds its source through `linecache`."""
    file = f"<warpsim.map {called} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": __name__, "tid": tid, called: callee}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def _title(callee: object) -> str:
    """What messages call the function."""
    name = getattr(callee, "__name__", None) or getattr(callee, "name", "")
    return "lambda" if name == "<lambda>" else name if name.isidentifier() else "function"


def _name_of(callee: object) -> str:
    """A name for the function that can stand in the kernel's text."""
    name = _title(callee)
    taken = name in ("tid", "apply", *_INDICES) or (name.startswith(("a", "out")) and name[-1:].isdigit())
    return "function" if taken or keyword.iskeyword(name) else name


# ----- which functions are the same --------------------------------------------------------------


@dataclass(frozen=True)
class _Same:
    """An object as a key, equal to itself only; it keeps the object alive."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _is_plain(func: object) -> bool:
    return inspect.isfunction(func) and not getattr(func, "kernel_form", "")


def _identity(func: Any, around: tuple[Any, ...] = ()) -> Any:
    """A key for a function: a lambda in a loop is a new object each time, but the same function.

    around: the functions whose closures lead here.
    """
    if func in around:
        return around.index(func)
    if isinstance(func, Func):
        return _Same(func), tuple(func.overloads)
    if not _is_plain(func):
        return _Same(func)
    cells = tuple(_cell_key(cell, (*around, func)) for cell in func.__closure__ or ())
    defaults = (*(func.__defaults__ or ()), *(func.__kwdefaults__ or {}).items())
    return func.__code__, _Same(func.__globals__), cells, tuple(_value_key(v) for v in defaults)


def _cell_key(cell: CellType, around: tuple[Any, ...]) -> Any:
    try:
        return _value_key(cell.cell_contents, around)
    except ValueError:  # a name that is not assigned yet
        return None


def _value_key(value: object, around: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, bool | int | float | str | np.generic):
        return type(value), repr(value)
    if isinstance(value, Func) or _is_plain(value):
        return _identity(value, around)
    return _Same(value)


# ----- outputs ----------------------------------------------------------------------------------


def _indexed_flags(outs: list[Any] | None) -> tuple[bool, ...] | None:
    """Which of the given outputs are indexed arrays: they make another kernel."""
    if outs is None:
        return None
    for k, a in enumerate(outs):
        if not isinstance(a, TypedMemory):
            raise ArgumentTypeError(f"out[{k}] of map is {type(a).__name__}\nexpected: an array")
    return tuple(not isinstance(a, array) for a in outs)


def _check_outputs(outs: list[Any], results: tuple[Any, ...], shape: tuple[int, ...], kernel: Kernel) -> None:
    name = kernel.key.removeprefix("map_")
    if len(outs) != len(results):
        raise ArgumentCountError(
            f"map got {counted(len(outs), 'output array')}\nexpected: {len(results)}, which {name} returns"
        )
    for k, (a, t) in enumerate(zip(outs, results, strict=True)):
        if a.dtype is not t:
            raise ArgumentTypeError(
                f"out[{k}] of map has dtype {type_name(a.dtype)}\nexpected: {type_name(t)}, which {name} returns"
            )
        if a.shape != shape:
            raise ArrayTypeError(f"out[{k}] of map has shape {a.shape}\nexpected: {shape}, that of the inputs together")


assert len(_INDICES) == MAX_NDIM
