"""Device memory as NumPy arrays: with NumPy's shapes, strides and views, and contents on a device.

`DeviceMemory` is a NumPy array whose data pointer leads to a device. Slicing, transposing and reinterpreting it
touch no element. Writing into it (`m[...] = x`, `np.copyto`) copies to the device, or on it; reading it
(arithmetic, sums, lists of its elements) works on a copy on the host, for which it waits. So what is written for host
memory is right for device memory, and what should be fast there has its own way. How contents move is the affair
of the device's own subclass.

No code written in C may be given such an array unseen: `np.asarray(m)` would read addresses of the device.
`on_host(m)` is what to give it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from .device import Device

_LAYOUT_ONLY = {np.may_share_memory, np.shares_memory, np.ndim, np.shape, np.size}
_IN_PLACE = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}

_READING = (
    "all any argmax argmin argpartition argsort byteswap choose clip compress conj conjugate cumprod cumsum dot dump "
    "dumps item max mean min nonzero prod repeat round searchsorted std sum take tobytes tofile tolist trace var "
    "__bool__ __complex__ __contains__ __copy__ __deepcopy__ __float__ __format__ __index__ __int__ __repr__ __str__"
).split()
"""Methods written in C that read contents."""
_WRITING = "partition resize setfield sort".split()


class DeviceMemory(np.ndarray):
    """A view of memory on a device that the host does not see."""

    device: Device = None  # type: ignore[assignment]  # NumPy's own attribute of this name is read-only

    def __array_finalize__(self, source: object) -> None:
        if isinstance(source, DeviceMemory):
            self.device = source.device

    # ----- reading ------------------------------------------------------------------------------

    def host(self) -> np.ndarray:
        """A copy of the contents on the host; waits for the work that makes them."""
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        if _is_advanced(key):
            return self.host()[key]
        if isinstance(key, str):
            return super().__getitem__(key)
        keys = key if isinstance(key, tuple) else (key,)
        part = super().__getitem__(keys if Ellipsis in keys else (*keys, ...))
        assert isinstance(part, DeviceMemory)
        single = part.ndim == 0 and Ellipsis not in keys
        return part.host()[()] if single else part

    def copy(self, order: Literal["K", "A", "C", "F"] | None = "C") -> DeviceMemory:
        """The same contents in fresh memory of the device, packed."""
        memory: Any = self.device.empty(self.shape, self.dtype)
        memory.put(self)
        return memory  # type: ignore[no-any-return]

    def astype(self, dtype: Any, *args: Any, **options: Any) -> np.ndarray:
        return self.host().astype(dtype, *args, **options)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """As NumPy's, but where that would copy, the copy is made on the device."""
        if self.flags.c_contiguous:
            return super().reshape(*shape)
        given_extents = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
        extents = tuple(self.size // max(1, -math.prod(given_extents)) if n == -1 else int(n) for n in given_extents)
        # NumPy finds out whether it must copy by copying, so it is asked only about what is packed.
        strides = regroup_strides(self.shape, self.strides, extents) if math.prod(extents) == self.size else None
        if strides is None:
            return self.copy().reshape(extents)
        return np.lib.stride_tricks.as_strided(self, extents, strides, subok=True)

    def ravel(self, order: Literal["K", "A", "C", "F"] | None = "C") -> Any:
        return self.reshape(-1)

    flatten = ravel

    def __iter__(self) -> Any:
        return iter(self.host())

    def __reduce__(self) -> Any:
        return self.host().__reduce__()

    # ----- writing ------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: object) -> None:
        if _is_advanced(key):
            contents = self.host()
            contents[key] = on_host(value)
            self.put(contents)
        elif isinstance(key, str):
            self[key].put(value)
        else:
            keys = key if isinstance(key, tuple) else (key,)
            part = super().__getitem__(keys if Ellipsis in keys else (*keys, ...))
            assert isinstance(part, DeviceMemory)
            part.put(value)

    def fill(self, value: object) -> None:
        self.put(value)

    def put(self, value: object) -> None:  # type: ignore[override]
        """Copy a value, of any shape that NumPy would broadcast, into this memory, in order of the device's work."""
        raise NotImplementedError

    def add(self, value: object) -> bool:
        """Add a value where the memory is; False, and nothing done, where that is not known."""
        return False

    # ----- NumPy's functions --------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """Compute on the host, but for sums in place; results go back to the device where `out`, or `at`, says so."""
        in_place = ufunc is np.add and method == "__call__" and not options and out is not None and out[0] is inputs[0]
        if in_place and isinstance(out[0], DeviceMemory) and out[0].add(inputs[1]):
            return out[0]
        operands = [on_host(x) for x in inputs]
        if method == "at":
            ufunc.at(*operands, **options)
            inputs[0].put(operands[0])
            return None
        options = {name: on_host(x) for name, x in options.items()}
        results = getattr(ufunc, method)(*operands, **options)
        if out is None:
            return results
        for target, result in zip(out, results if isinstance(results, tuple) else (results,), strict=True):
            target[...] = result
        return out[0] if len(out) == 1 else out

    def __array_function__(
        self, function: Callable[..., Any], types: object, args: Iterable[Any], options: Mapping[str, Any]
    ) -> Any:
        if function in _OWN:
            return _OWN[function](*args, **options)
        if function in _LAYOUT_ONLY:
            return function(*(_plain(x) for x in args), **options)
        if function in _IN_PLACE:
            name = function.__name__
            raise TypeError(f"np.{name} does not write to memory on {self.device}\nhelp: write with a[...] =")
        return function(*_all_on_host(args), **{name: _all_on_host(x) for name, x in options.items()})


def _by_host(name: str) -> Any:
    """A method of NumPy's arrays, on a copy of the contents."""

    def method(self: DeviceMemory, *args: object, **options: object) -> Any:
        return getattr(self.host(), name)(*map(_all_on_host, args), **options)

    return method


def _refusal(name: str) -> Any:
    """A method that would write to the memory from C."""

    def method(self: DeviceMemory, *args: object, **options: object) -> Any:
        raise TypeError(f"{name}() does not write to memory on {self.device}\nhelp: write with a[...] =")

    return method


for _name in _READING:
    setattr(DeviceMemory, _name, _by_host(_name))
for _name in _WRITING:
    setattr(DeviceMemory, _name, _refusal(_name))


def _copyto(
    target: np.ndarray,
    source: object,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
    where: object = True,
) -> None:
    if isinstance(target, DeviceMemory) and where is True:
        target.put(source)
        return
    contents = on_host(target)
    np.copyto(contents, on_host(source), casting, where=on_host(where))
    if isinstance(target, DeviceMemory):
        target.put(contents)


def _like(value: int | None) -> Any:
    """One of `np.zeros_like` and its kin, for device memory."""

    def make(prototype: DeviceMemory, dtype: npt.DTypeLike | None = None) -> Any:
        memory: Any = prototype.device.empty(prototype.shape, dtype or prototype.dtype)
        if value is not None:
            memory.put(value)
        return memory

    return make


_OWN = {np.copyto: _copyto, np.empty_like: _like(None), np.zeros_like: _like(0), np.ones_like: _like(1)}


def _is_advanced(key: object) -> bool:
    """Whether NumPy would gather elements instead of making a view."""
    keys = key if isinstance(key, tuple) else (key,)
    basic = (int, np.integer, slice, str, type(None), type(Ellipsis))
    return any(isinstance(k, bool) or not isinstance(k, basic) for k in keys)


def _plain(x: object) -> Any:
    return x.view(np.ndarray) if isinstance(x, DeviceMemory) else x


def _all_on_host(x: object) -> Any:
    return type(x)(map(_all_on_host, x)) if isinstance(x, list | tuple) else on_host(x)


def on_host(x: object) -> Any:
    """The contents of device memory on the host; anything else as it is."""
    return x.host() if isinstance(x, DeviceMemory) else x


def regroup_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new_shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides with which other extents of as many elements meet the same memory in the same order, if there are any."""
    runs: list[tuple[int, int]] = []  # elements at one distance from each other, the innermost first
    for n, step in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if runs and step == runs[-1][0] * runs[-1][1]:
                runs[-1] = (runs[-1][0] * n, runs[-1][1])
            else:
                runs.append((n, step))
    new_strides, left, reach = [], 1, 0
    for n in reversed(new_shape):
        if n != 1 and left == 1:
            left, reach = runs.pop(0)
        if left % n:
            return None
        new_strides.append(reach)
        left, reach = left // n, reach * n
    return tuple(reversed(new_strides))
