# Made by `pytest tests/test_public_api.py --update-golden` from warpsim/names.py, the rows of the op table, and
# docs/typing/head.pyi, which holds the part written by hand.
#
# In kernels `float`, `int` and `bool` are the 32-bit types, and so they are here: float32 is float, int32 is int.
# Arithmetic of other scalars is NumPy's. A parameter of rank 1 is `array[vec3]`, of rank 2 `array2d[vec3]`.

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Literal, ParamSpec, TypeAlias
from typing import overload as _overload

import numpy as np
from typing_extensions import Self, TypeVar

from .config import Config as _Config
from .core.frontend.functions.functions import Func as _Func
from .core.runtime.arrays.annotations import fixedarray as _FixedArray
from .core.runtime.arrays.array import array as _Array
from .core.runtime.arrays.indexed import indexedarray as _IndexedArray
from .core.runtime.launches.kernel import Kernel as Kernel
from .warp.switches import Switches as _Switches

class _AllSwitches(_Config, _Switches): ...
config: _AllSwitches

float32: TypeAlias = float
float64: TypeAlias = np.float64
float16: TypeAlias = np.float16
class bfloat16(float): ...
int8: TypeAlias = np.int8
int16: TypeAlias = np.int16
int32: TypeAlias = int
int64: TypeAlias = np.int64
uint8: TypeAlias = np.uint8
uint16: TypeAlias = np.uint16
uint32: TypeAlias = np.uint32
uint64: TypeAlias = np.uint64
handle: TypeAlias = np.uint64
bool: TypeAlias = builtins.bool

_Number: TypeAlias = float | np.number[Any]
_Integer: TypeAlias = int | np.integer[Any]
_A = TypeVar("_A")
_Class = TypeVar("_Class", bound=type)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_Rank = TypeVar("_Rank", default=Literal[1])
_S = TypeVar("_S", bound=_Number)
_I = TypeVar("_I", bound=_Integer)
_N = TypeVar("_N")
_M = TypeVar("_M")

# ----- vectors, matrices, quaternions, transforms -------------------------------------------------

class _Compound(Generic[_T]):
    def __len__(self) -> int: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __truediv__(self, other: _Number) -> Self: ...
    def __rmul__(self, other: _Number) -> Self: ...
    def __array__(self, dtype: Any = ..., copy: builtins.bool | None = ...) -> np.ndarray[Any, Any]: ...
    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy of the components as a NumPy array."""

class _Vector(_Compound[_T], Generic[_N, _T]):
    def __add__(self, other: Self | _Number) -> Self: ...
    def __radd__(self, other: _Number) -> Self: ...
    def __sub__(self, other: Self | _Number) -> Self: ...
    def __rsub__(self, other: _Number) -> Self: ...
    def __mod__(self, other: Self | _Number) -> Self: ...
    def __rtruediv__(self, other: _Number) -> Self: ...
    def __iter__(self) -> Iterator[_T]: ...
    @_overload
    def __getitem__(self, index: _Integer) -> _T: ...
    @_overload
    def __getitem__(self, index: slice) -> Any: ...
    def __setitem__(self, index: _Integer | slice, value: Any) -> None: ...
    def __mul__(self, other: _Number) -> Self: ...

class _Matrix(_Compound[_T], Generic[_M, _N, _T]):
    def __add__(self, other: Self | _Number) -> Self: ...
    def __radd__(self, other: _Number) -> Self: ...
    def __sub__(self, other: Self | _Number) -> Self: ...
    def __rsub__(self, other: _Number) -> Self: ...
    def __mod__(self, other: Self | _Number) -> Self: ...
    def __rtruediv__(self, other: _Number) -> Self: ...
    @_overload
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> _T: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[_N, Any, _T]) -> Any: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[_N, Any, _T]) -> Any: ...
    def get_row(self, index: _Integer) -> Any:
        """A row of a matrix, as a vector."""
    def get_col(self, index: _Integer) -> Any:
        """A column of a matrix, as a vector."""
    def set_row(self, index: _Integer, value: Any) -> None:
        """Give a row of a matrix new entries, or one number for all."""
    def set_col(self, index: _Integer, value: Any) -> None:
        """Give a column of a matrix new entries, or one number for all."""

class _Quaternion(_Compound[_T]):
    x: _T
    y: _T
    z: _T
    w: _T
    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, other: Self) -> Self: ...
    def __mul__(self, other: Self | _Number) -> Self: ...
    def __iter__(self) -> Iterator[_T]: ...
    @_overload
    def __getitem__(self, index: _Integer) -> _T: ...
    @_overload
    def __getitem__(self, index: slice) -> Any: ...
    def __setitem__(self, index: _Integer, value: Any) -> None: ...

class _Transform(_Compound[_T]):
    def __add__(self, other: Self) -> Self: ...
    def __sub__(self, other: Self) -> Self: ...
    def __mul__(self, other: Self | _Number) -> Self: ...
    def __iter__(self) -> Iterator[_T]: ...
    @_overload
    def __getitem__(self, index: _Integer) -> _T: ...
    @_overload
    def __getitem__(self, index: slice) -> Any: ...
    def __setitem__(self, index: _Integer | slice, value: Any) -> None: ...

_VectorT = TypeVar("_VectorT", bound=_Vector[Any, Any])
_Vector3T = TypeVar("_Vector3T", bound=_Vector[Literal[3], Any])
_MatrixT = TypeVar("_MatrixT", bound=_Matrix[Any, Any, Any])

# ----- arrays -------------------------------------------------------------------------------------

class array(_Array, Generic[_T, _Rank]):
    """Typed memory of rank 1 to 4, which kernels and NumPy share.

    data: list, tuple, NumPy array, or any object with an array protocol; copied unless `copy=False` and the memory
    fits. dtype: element type, taken from the data when left out. shape: extents. ptr: an address instead of data.
    As an annotation `array[vec3]` is an array of rank 1, `array2d[vec3]` one of rank 2.
    Raises `ArrayError` for data that does not fit, `DeviceError` for an unknown device.
    """

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    @_overload
    def __init__(
        self: array[_A, Any], data: Any = ..., *, dtype: type[_A], shape: Any = ..., strides: Any = ...,
        ptr: int | None = ..., capacity: int | None = ..., device: Any = ..., pinned: builtins.bool = ...,
        copy: builtins.bool = ..., deleter: Callable[[int, int], None] | None = ..., ndim: int | None = ...,
        grad: _Array | None = ..., requires_grad: builtins.bool = ..., retain_grad: builtins.bool = ...,
        length: int | None = ...,
    ) -> None: ...
    @_overload
    def __init__(
        self: array[_A, Any], data: Any, dtype: type[_A], shape: Any = ..., strides: Any = ...,
        *, device: Any = ..., requires_grad: builtins.bool = ..., copy: builtins.bool = ...,
    ) -> None: ...
    @_overload
    def __init__(
        self: array[Any, Any], data: Any = ..., dtype: Any = ..., shape: Any = ..., strides: Any = ...,
        ptr: int | None = ..., capacity: int | None = ..., device: Any = ..., pinned: builtins.bool = ...,
        copy: builtins.bool = ..., deleter: Callable[[int, int], None] | None = ..., ndim: int | None = ...,
        grad: _Array | None = ..., requires_grad: builtins.bool = ..., retain_grad: builtins.bool = ...,
        length: int | None = ...,
    ) -> None: ...
    @property
    def grad(self) -> array[_T, _Rank]:
        """The gradient, an array like this one; None without `requires_grad`."""
    @grad.setter
    def grad(self, value: _Array | None) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self: array[_T, Literal[1]], key: _Integer) -> _T: ...
    @_overload
    def __getitem__(self: array[_T, Literal[2]], key: tuple[_Integer, _Integer]) -> _T: ...
    @_overload
    def __getitem__(self: array[_T, Literal[3]], key: tuple[_Integer, _Integer, _Integer]) -> _T: ...
    @_overload
    def __getitem__(self: array[_T, Literal[4]], key: tuple[_Integer, _Integer, _Integer, _Integer]) -> _T: ...
    @_overload
    def __getitem__(self: array[_T, Literal[2]], key: _Integer) -> array[_T, Literal[1]]: ...
    @_overload
    def __getitem__(self, key: slice) -> array[_T, _Rank]: ...
    @_overload
    def __getitem__(self, key: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __setitem__(self: array[_S, Any], key: Any, value: _Number | _Array | Sequence[Any] | np.ndarray[Any, Any]) -> None: ...
    @_overload
    def __setitem__(
        self, key: _Integer | tuple[_Integer, ...], value: _T | _Array | Sequence[Any] | np.ndarray[Any, Any]
    ) -> None: ...
    @_overload
    def __setitem__(self, key: slice | tuple[Any, ...] | _Array | np.ndarray[Any, Any] | list[int], value: Any) -> None: ...

array1d: TypeAlias = array[_T, Literal[1]]
array2d: TypeAlias = array[_T, Literal[2]]
array3d: TypeAlias = array[_T, Literal[3]]
array4d: TypeAlias = array[_T, Literal[4]]

class indexedarray(_IndexedArray, Generic[_T, _Rank]):
    """Elements of an array that tables of indices pick, one table for each dimension or None."""

    @_overload
    def __getitem__(self: indexedarray[_T, Literal[1]], key: _Integer) -> _T: ...
    @_overload
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...

indexedarray1d: TypeAlias = indexedarray[_T, Literal[1]]
indexedarray2d: TypeAlias = indexedarray[_T, Literal[2]]
indexedarray3d: TypeAlias = indexedarray[_T, Literal[3]]
indexedarray4d: TypeAlias = indexedarray[_T, Literal[4]]

class fixedarray(_FixedArray, Generic[_T]):
    """An array on the stack of a thread, as `zeros(shape=8, dtype=float)` makes it in kernels."""

    def __getitem__(self, key: Any) -> _T: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...

# ----- kernels and functions ----------------------------------------------------------------------

class Function(_Func, Generic[_P, _R]):
    """A function that kernels call; called from Python it runs as it is written."""

    def __call__(self, *args: _P.args, **keywords: _P.kwargs) -> _R: ...

@_overload
def kernel(f: Callable[..., None]) -> Kernel: ...
@_overload
def kernel(
    *, name: str | None = ..., module: Any = ..., launch_bounds: int | tuple[int, ...] | None = ...,
    module_options: dict[str, Any] | None = ..., enable_backward: builtins.bool | None = ...,
    fast_math: builtins.bool | None = ..., max_unroll: int | None = ..., verify: builtins.bool | None = ...,
    deterministic: Any = ..., **options: Any,
) -> Callable[[Callable[..., None]], Kernel]:
    """Make a kernel of a typed Python function, which returns nothing and asks for its thread index by `wp.tid()`.

    Raises `ValueError` for unknown options, and `KernelError` when something of the function is not in the language.
    """

@_overload
def func(f: Callable[_P, _R]) -> Function[_P, _R]: ...
@_overload
def func(
    *, name: str | None = ..., inout: tuple[str, ...] = ..., overload_of: Any = ..., nondiff: str | None = ...,
    module: Any = ..., inline: builtins.bool | None = ...,
) -> Callable[[Callable[_P, _R]], Function[_P, _R]]:
    """Make a Python function callable from kernels; two of one name are overloads, chosen by argument types."""

@_overload
def struct(c: _Class, *, module: Any = ...) -> _Class:
    """Make a struct type of an annotated class; class attributes become defaults, other fields are zero."""

@_overload
def struct(c: None = ..., *, module: Any = ...) -> Callable[[_Class], _Class]: ...

def constant(x: _A) -> _A:
    """Mark a module-level constant; kernels see any number, vector or matrix of their module anyway."""

def static(expr: _A) -> _A:
    """In a kernel: evaluate a Python expression when the kernel is compiled. On the host: the value itself."""

def cast(a: Any, dtype: type[_A]) -> _A:
    """In a kernel: the bits of `a` as a value of the type `dtype`, of the same size. `dtype(a)` converts numbers."""

def select(cond: Any, value_if_false: _A, value_if_true: _A) -> _A:
    """One of two values; note the order: the value for False comes first."""

class _Thread(int):
    def __iter__(self) -> Iterator[int]: ...

# ----- what yields indices ------------------------------------------------------------------------

class _Query:
    def __iter__(self) -> Iterator[int]: ...

class BvhQueryAabb(_Query): ...
class BvhQuerySphere(_Query): ...
class BvhQueryRay(_Query): ...
class BvhQueryCapsule(_Query): ...
class HashGridQuery(_Query): ...
class HashGridQueryD(_Query): ...
class HashGridNeighbors(_Query): ...
class HashGridNeighborsD(_Query): ...
class MeshQueryAABB(_Query): ...
class MeshQuerySphere(_Query): ...

BvhQuery: TypeAlias = BvhQueryAabb | BvhQuerySphere | BvhQueryRay | BvhQueryCapsule
MeshQuery: TypeAlias = MeshQueryAABB | MeshQuerySphere

# ----- making arrays ------------------------------------------------------------------------------

