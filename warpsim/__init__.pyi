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


@_overload
def empty(shape: Any = ..., *, device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., length: int = ...) -> array[float, Any]: ...
@_overload
def empty(shape: Any = ..., *, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., length: int = ...) -> array[_A, Any]: ...
@_overload
def empty(shape: Any, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ...) -> array[_A, Any]: ...
@_overload
def empty(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., **options: Any) -> array[Any, Any]:
    """An array of undefined contents.

    shape: an integer, or a tuple of up to four extents; `length=n` is accepted too, and `ndim`, if it fits. dtype: of
    the elements: a number, vector, matrix, quaternion, transform or struct. device: where, default: the current one.
    requires_grad: with an array of gradients, `.grad`, of zeros. pinned: memory of the host that copies to a GPU need
    not wait for. strides: bytes from one element to the next, for each dimension.

    Raises `ArrayError` for a shape or dtype that no array has, `DeviceError` for an unknown device.
    """
@_overload
def zeros(shape: Any = ..., *, device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., length: int = ...) -> array[float, Any]: ...
@_overload
def zeros(shape: Any = ..., *, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., length: int = ...) -> array[_A, Any]: ...
@_overload
def zeros(shape: Any, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ...) -> array[_A, Any]: ...
@_overload
def zeros(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., strides: Any = ..., **options: Any) -> array[Any, Any]:
    """An array of zeros; arguments and errors are those of `empty`.

    In a kernel, `wp.zeros(shape=8, dtype=float)` is an array of zeros on the thread's stack; its shape is constant.
    """
@_overload
def ones(shape: Any = ..., *, device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., length: int = ...) -> array[float, Any]: ...
@_overload
def ones(shape: Any = ..., *, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., length: int = ...) -> array[_A, Any]: ...
@_overload
def ones(shape: Any, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ...) -> array[_A, Any]: ...
@_overload
def ones(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., **options: Any) -> array[Any, Any]:
    """An array whose elements have the value 1 in every component; arguments and errors are those of `empty`.
    """
@_overload
def full(shape: Any, value: Any, dtype: type[_A], device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ...) -> array[_A, Any]: ...
@_overload
def full(shape: Any = ..., value: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., pinned: builtins.bool = ..., retain_grad: builtins.bool = ..., **options: Any) -> array[Any, Any]:
    """An array filled with `value`; other arguments and errors are those of `empty`.

    dtype: default: the type of the value. A Python int makes int32 and a float float32, a list makes a vector, nested
    lists a matrix.
    """
@_overload
def empty_like(src: array[_T, _Rank], device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[_T, _Rank]: ...
@_overload
def empty_like(src: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """An array of undefined contents with the shape and dtype of `src`.

    device, requires_grad: default: those of `src`. Raises `ArgumentTypeError` where `src` is no array.
    """
@_overload
def zeros_like(src: array[_T, _Rank], device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[_T, _Rank]: ...
@_overload
def zeros_like(src: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """An array of zeros with the shape and dtype of `src`; arguments are those of `empty_like`.
    """
@_overload
def ones_like(src: array[_T, _Rank], device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[_T, _Rank]: ...
@_overload
def ones_like(src: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """An array of ones with the shape and dtype of `src`; arguments are those of `empty_like`.
    """
@_overload
def full_like(src: array[_T, _Rank], value: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[_T, _Rank]: ...
@_overload
def full_like(src: Any, value: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """An array filled with `value`, with the shape and dtype of `src`; other arguments are those of `empty_like`.
    """
@_overload
def clone(src: array[_T, _Rank], device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[_T, _Rank]: ...
@_overload
def clone(src: Any, device: Any = ..., requires_grad: builtins.bool | None = ..., pinned: builtins.bool | None = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """A contiguous copy of an array, without its gradient; arguments are those of `empty_like`. Tapes record it.
    """
@_overload
def from_numpy(arr: Any, dtype: type[_A], shape: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., retain_grad: builtins.bool = ...) -> array[_A, Any]: ...
@_overload
def from_numpy(arr: Any, dtype: Any = ..., shape: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., retain_grad: builtins.bool = ...) -> array[Any, Any]:
    """An array with the contents of a NumPy array (copied).

    Without dtype and shape, data of rank 2 is read as vectors along its last axis, and data of
    higher rank as matrices in its last two axes: (n, 3) becomes n elements of vec3,
    (n, 2, 2) n of mat22. Raises `ArrayError` for data without a type.
    """
def from_dlpack(source: Any, dtype: Any = ...) -> array[Any, Any]:
    """An array over the memory of any object with `__dlpack__`, or of a bare capsule, without copying.

    It is on the device that the memory is on; see `cuda.interop` for the order of work there. Raises `DeviceError`
    for memory on a device that is not there, `ArrayError` for memory that `dtype` does not fit, `ArgumentTypeError`
    for what is no memory of the host or of a CUDA device. Elements of one size may be taken for each other, bool for
    uint8 for example.
    """
def from_ptr(ptr: int, length: int, dtype: Any = ..., shape: Any = ..., device: Any = ...) -> array[Any, Any]:
    """An array over foreign memory, which the caller keeps alive; `ptr` may be None where there are no elements.

    Raises `ArrayError` for what is no address.
    """

# ----- structures that kernels get

class MeshData:
    """A triangle mesh as kernels see it; `wp.mesh_get(id)` returns it."""
    points: array[vec3, Literal[1]]
    velocities: array[vec3, Literal[1]]
    indices: array[int, Literal[1]]
    tree: Any
    packs: array[Any, Literal[1]]
    moments: array[Any, Literal[1]]
    groups: array[int, Literal[1]]
    roots: array[int, Literal[1]]
    average_edge: array[float, Literal[1]]

class MeshQueryAABBTiled:
    """A query of faces whose boxes meet a box, and whether it has ended."""
    query: MeshQueryAABB
    ended: bool

class MeshQueryPoint:
    """A point of `face`: with weights u and v of its first two corners, and 1 - u - v of the third."""
    result: bool
    sign: float
    face: int
    u: float
    v: float

class MeshQueryRay:
    """A hit: at start + t dir, on `face` with weights u and v of its first two corners, 1 - u - v of the third."""
    result: bool
    sign: float
    face: int
    t: float
    u: float
    v: float
    normal: vec3


# ----- vectors, matrices, quaternions and transforms by name

class vec2(_Vector[Literal[2], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: float
    y: float
    xy: Self
    yx: Self

class vec3(_Vector[Literal[3], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: float
    y: float
    z: float
    xy: vec2
    xz: vec2
    yx: vec2
    yz: vec2
    zx: vec2
    zy: vec2
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4(_Vector[Literal[4], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: float
    y: float
    z: float
    w: float
    xy: vec2
    xz: vec2
    xw: vec2
    yx: vec2
    yz: vec2
    yw: vec2
    zx: vec2
    zy: vec2
    zw: vec2
    wx: vec2
    wy: vec2
    wz: vec2
    xyz: vec3
    xyw: vec3
    xzy: vec3
    xzw: vec3
    xwy: vec3
    xwz: vec3
    yxz: vec3
    yxw: vec3
    yzx: vec3
    yzw: vec3
    ywx: vec3
    ywz: vec3
    zxy: vec3
    zxw: vec3
    zyx: vec3
    zyw: vec3
    zwx: vec3
    zwy: vec3
    wxy: vec3
    wxz: vec3
    wyx: vec3
    wyz: vec3
    wzx: vec3
    wzy: vec3
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22(_Matrix[Literal[2], Literal[2], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2) -> vec2: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2) -> vec2: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33(_Matrix[Literal[3], Literal[3], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3) -> vec3: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3) -> vec3: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44(_Matrix[Literal[4], Literal[4], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4) -> vec4: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4) -> vec4: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class quat(_Quaternion[float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Compound[Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...

class transform(_Transform[float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, p: Any = ..., q: Any = ...) -> None: ...
    @_overload
    def __init__(self, *values: Any) -> None: ...
    p: vec3
    q: quat

class spatial_vector(_Vector[Literal[6], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, c0: _Number, c1: _Number, c2: _Number, c3: _Number, c4: _Number, c5: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[6], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, a: _Vector[Literal[3], Any], b: _Vector[Literal[3], Any], /) -> None: ...

class spatial_matrix(_Matrix[Literal[6], Literal[6], float]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float: ...
    @_overload
    def __getitem__(self, index: _Integer) -> spatial_vector: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: spatial_vector) -> spatial_vector: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: spatial_vector) -> spatial_vector: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...

vec2f: TypeAlias = vec2

vec3f: TypeAlias = vec3

vec4f: TypeAlias = vec4

mat22f: TypeAlias = mat22

mat33f: TypeAlias = mat33

mat44f: TypeAlias = mat44

quatf: TypeAlias = quat

transformf: TypeAlias = transform

spatial_vectorf: TypeAlias = spatial_vector

spatial_matrixf: TypeAlias = spatial_matrix

class vec2d(_Vector[Literal[2], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: float64
    y: float64
    xy: Self
    yx: Self

class vec3d(_Vector[Literal[3], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: float64
    y: float64
    z: float64
    xy: vec2d
    xz: vec2d
    yx: vec2d
    yz: vec2d
    zx: vec2d
    zy: vec2d
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4d(_Vector[Literal[4], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: float64
    y: float64
    z: float64
    w: float64
    xy: vec2d
    xz: vec2d
    xw: vec2d
    yx: vec2d
    yz: vec2d
    yw: vec2d
    zx: vec2d
    zy: vec2d
    zw: vec2d
    wx: vec2d
    wy: vec2d
    wz: vec2d
    xyz: vec3d
    xyw: vec3d
    xzy: vec3d
    xzw: vec3d
    xwy: vec3d
    xwz: vec3d
    yxz: vec3d
    yxw: vec3d
    yzx: vec3d
    yzw: vec3d
    ywx: vec3d
    ywz: vec3d
    zxy: vec3d
    zxw: vec3d
    zyx: vec3d
    zyw: vec3d
    zwx: vec3d
    zwy: vec3d
    wxy: vec3d
    wxz: vec3d
    wyx: vec3d
    wyz: vec3d
    wzx: vec3d
    wzy: vec3d
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22d(_Matrix[Literal[2], Literal[2], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2d: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2d) -> vec2d: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2d) -> vec2d: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33d(_Matrix[Literal[3], Literal[3], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3d: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3d) -> vec3d: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3d) -> vec3d: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44d(_Matrix[Literal[4], Literal[4], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4d: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4d) -> vec4d: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4d) -> vec4d: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class quatd(_Quaternion[float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Compound[Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...

class transformd(_Transform[float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, p: Any = ..., q: Any = ...) -> None: ...
    @_overload
    def __init__(self, *values: Any) -> None: ...
    p: vec3d
    q: quatd

class spatial_vectord(_Vector[Literal[6], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, c0: _Number, c1: _Number, c2: _Number, c3: _Number, c4: _Number, c5: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[6], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, a: _Vector[Literal[3], Any], b: _Vector[Literal[3], Any], /) -> None: ...

class spatial_matrixd(_Matrix[Literal[6], Literal[6], float64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> spatial_vectord: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: spatial_vectord) -> spatial_vectord: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: spatial_vectord) -> spatial_vectord: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...

class vec2h(_Vector[Literal[2], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: float16
    y: float16
    xy: Self
    yx: Self

class vec3h(_Vector[Literal[3], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: float16
    y: float16
    z: float16
    xy: vec2h
    xz: vec2h
    yx: vec2h
    yz: vec2h
    zx: vec2h
    zy: vec2h
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4h(_Vector[Literal[4], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: float16
    y: float16
    z: float16
    w: float16
    xy: vec2h
    xz: vec2h
    xw: vec2h
    yx: vec2h
    yz: vec2h
    yw: vec2h
    zx: vec2h
    zy: vec2h
    zw: vec2h
    wx: vec2h
    wy: vec2h
    wz: vec2h
    xyz: vec3h
    xyw: vec3h
    xzy: vec3h
    xzw: vec3h
    xwy: vec3h
    xwz: vec3h
    yxz: vec3h
    yxw: vec3h
    yzx: vec3h
    yzw: vec3h
    ywx: vec3h
    ywz: vec3h
    zxy: vec3h
    zxw: vec3h
    zyx: vec3h
    zyw: vec3h
    zwx: vec3h
    zwy: vec3h
    wxy: vec3h
    wxz: vec3h
    wyx: vec3h
    wyz: vec3h
    wzx: vec3h
    wzy: vec3h
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22h(_Matrix[Literal[2], Literal[2], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2h: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2h) -> vec2h: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2h) -> vec2h: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33h(_Matrix[Literal[3], Literal[3], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3h: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3h) -> vec3h: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3h) -> vec3h: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44h(_Matrix[Literal[4], Literal[4], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4h: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4h) -> vec4h: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4h) -> vec4h: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class quath(_Quaternion[float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Compound[Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...

class transformh(_Transform[float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, p: Any = ..., q: Any = ...) -> None: ...
    @_overload
    def __init__(self, *values: Any) -> None: ...
    p: vec3h
    q: quath

class spatial_vectorh(_Vector[Literal[6], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, c0: _Number, c1: _Number, c2: _Number, c3: _Number, c4: _Number, c5: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[6], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, a: _Vector[Literal[3], Any], b: _Vector[Literal[3], Any], /) -> None: ...

class spatial_matrixh(_Matrix[Literal[6], Literal[6], float16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> float16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> spatial_vectorh: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: spatial_vectorh) -> spatial_vectorh: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: spatial_vectorh) -> spatial_vectorh: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[6], Any, Any]) -> Any: ...

class vec2b(_Vector[Literal[2], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: int8
    y: int8
    xy: Self
    yx: Self

class vec3b(_Vector[Literal[3], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: int8
    y: int8
    z: int8
    xy: vec2b
    xz: vec2b
    yx: vec2b
    yz: vec2b
    zx: vec2b
    zy: vec2b
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4b(_Vector[Literal[4], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: int8
    y: int8
    z: int8
    w: int8
    xy: vec2b
    xz: vec2b
    xw: vec2b
    yx: vec2b
    yz: vec2b
    yw: vec2b
    zx: vec2b
    zy: vec2b
    zw: vec2b
    wx: vec2b
    wy: vec2b
    wz: vec2b
    xyz: vec3b
    xyw: vec3b
    xzy: vec3b
    xzw: vec3b
    xwy: vec3b
    xwz: vec3b
    yxz: vec3b
    yxw: vec3b
    yzx: vec3b
    yzw: vec3b
    ywx: vec3b
    ywz: vec3b
    zxy: vec3b
    zxw: vec3b
    zyx: vec3b
    zyw: vec3b
    zwx: vec3b
    zwy: vec3b
    wxy: vec3b
    wxz: vec3b
    wyx: vec3b
    wyz: vec3b
    wzx: vec3b
    wzy: vec3b
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22b(_Matrix[Literal[2], Literal[2], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2b: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2b) -> vec2b: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2b) -> vec2b: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33b(_Matrix[Literal[3], Literal[3], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3b: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3b) -> vec3b: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3b) -> vec3b: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44b(_Matrix[Literal[4], Literal[4], int8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4b: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4b) -> vec4b: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4b) -> vec4b: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2ub(_Vector[Literal[2], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: uint8
    y: uint8
    xy: Self
    yx: Self

class vec3ub(_Vector[Literal[3], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: uint8
    y: uint8
    z: uint8
    xy: vec2ub
    xz: vec2ub
    yx: vec2ub
    yz: vec2ub
    zx: vec2ub
    zy: vec2ub
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4ub(_Vector[Literal[4], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: uint8
    y: uint8
    z: uint8
    w: uint8
    xy: vec2ub
    xz: vec2ub
    xw: vec2ub
    yx: vec2ub
    yz: vec2ub
    yw: vec2ub
    zx: vec2ub
    zy: vec2ub
    zw: vec2ub
    wx: vec2ub
    wy: vec2ub
    wz: vec2ub
    xyz: vec3ub
    xyw: vec3ub
    xzy: vec3ub
    xzw: vec3ub
    xwy: vec3ub
    xwz: vec3ub
    yxz: vec3ub
    yxw: vec3ub
    yzx: vec3ub
    yzw: vec3ub
    ywx: vec3ub
    ywz: vec3ub
    zxy: vec3ub
    zxw: vec3ub
    zyx: vec3ub
    zyw: vec3ub
    zwx: vec3ub
    zwy: vec3ub
    wxy: vec3ub
    wxz: vec3ub
    wyx: vec3ub
    wyz: vec3ub
    wzx: vec3ub
    wzy: vec3ub
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22ub(_Matrix[Literal[2], Literal[2], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2ub: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2ub) -> vec2ub: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2ub) -> vec2ub: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33ub(_Matrix[Literal[3], Literal[3], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3ub: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3ub) -> vec3ub: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3ub) -> vec3ub: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44ub(_Matrix[Literal[4], Literal[4], uint8]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint8: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4ub: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4ub) -> vec4ub: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4ub) -> vec4ub: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2s(_Vector[Literal[2], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: int16
    y: int16
    xy: Self
    yx: Self

class vec3s(_Vector[Literal[3], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: int16
    y: int16
    z: int16
    xy: vec2s
    xz: vec2s
    yx: vec2s
    yz: vec2s
    zx: vec2s
    zy: vec2s
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4s(_Vector[Literal[4], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: int16
    y: int16
    z: int16
    w: int16
    xy: vec2s
    xz: vec2s
    xw: vec2s
    yx: vec2s
    yz: vec2s
    yw: vec2s
    zx: vec2s
    zy: vec2s
    zw: vec2s
    wx: vec2s
    wy: vec2s
    wz: vec2s
    xyz: vec3s
    xyw: vec3s
    xzy: vec3s
    xzw: vec3s
    xwy: vec3s
    xwz: vec3s
    yxz: vec3s
    yxw: vec3s
    yzx: vec3s
    yzw: vec3s
    ywx: vec3s
    ywz: vec3s
    zxy: vec3s
    zxw: vec3s
    zyx: vec3s
    zyw: vec3s
    zwx: vec3s
    zwy: vec3s
    wxy: vec3s
    wxz: vec3s
    wyx: vec3s
    wyz: vec3s
    wzx: vec3s
    wzy: vec3s
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22s(_Matrix[Literal[2], Literal[2], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2s: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2s) -> vec2s: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2s) -> vec2s: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33s(_Matrix[Literal[3], Literal[3], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3s: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3s) -> vec3s: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3s) -> vec3s: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44s(_Matrix[Literal[4], Literal[4], int16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4s: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4s) -> vec4s: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4s) -> vec4s: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2us(_Vector[Literal[2], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: uint16
    y: uint16
    xy: Self
    yx: Self

class vec3us(_Vector[Literal[3], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: uint16
    y: uint16
    z: uint16
    xy: vec2us
    xz: vec2us
    yx: vec2us
    yz: vec2us
    zx: vec2us
    zy: vec2us
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4us(_Vector[Literal[4], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: uint16
    y: uint16
    z: uint16
    w: uint16
    xy: vec2us
    xz: vec2us
    xw: vec2us
    yx: vec2us
    yz: vec2us
    yw: vec2us
    zx: vec2us
    zy: vec2us
    zw: vec2us
    wx: vec2us
    wy: vec2us
    wz: vec2us
    xyz: vec3us
    xyw: vec3us
    xzy: vec3us
    xzw: vec3us
    xwy: vec3us
    xwz: vec3us
    yxz: vec3us
    yxw: vec3us
    yzx: vec3us
    yzw: vec3us
    ywx: vec3us
    ywz: vec3us
    zxy: vec3us
    zxw: vec3us
    zyx: vec3us
    zyw: vec3us
    zwx: vec3us
    zwy: vec3us
    wxy: vec3us
    wxz: vec3us
    wyx: vec3us
    wyz: vec3us
    wzx: vec3us
    wzy: vec3us
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22us(_Matrix[Literal[2], Literal[2], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2us: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2us) -> vec2us: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2us) -> vec2us: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33us(_Matrix[Literal[3], Literal[3], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3us: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3us) -> vec3us: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3us) -> vec3us: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44us(_Matrix[Literal[4], Literal[4], uint16]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint16: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4us: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4us) -> vec4us: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4us) -> vec4us: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2i(_Vector[Literal[2], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: int
    y: int
    xy: Self
    yx: Self

class vec3i(_Vector[Literal[3], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: int
    y: int
    z: int
    xy: vec2i
    xz: vec2i
    yx: vec2i
    yz: vec2i
    zx: vec2i
    zy: vec2i
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4i(_Vector[Literal[4], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: int
    y: int
    z: int
    w: int
    xy: vec2i
    xz: vec2i
    xw: vec2i
    yx: vec2i
    yz: vec2i
    yw: vec2i
    zx: vec2i
    zy: vec2i
    zw: vec2i
    wx: vec2i
    wy: vec2i
    wz: vec2i
    xyz: vec3i
    xyw: vec3i
    xzy: vec3i
    xzw: vec3i
    xwy: vec3i
    xwz: vec3i
    yxz: vec3i
    yxw: vec3i
    yzx: vec3i
    yzw: vec3i
    ywx: vec3i
    ywz: vec3i
    zxy: vec3i
    zxw: vec3i
    zyx: vec3i
    zyw: vec3i
    zwx: vec3i
    zwy: vec3i
    wxy: vec3i
    wxz: vec3i
    wyx: vec3i
    wyz: vec3i
    wzx: vec3i
    wzy: vec3i
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22i(_Matrix[Literal[2], Literal[2], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2i: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2i) -> vec2i: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2i) -> vec2i: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33i(_Matrix[Literal[3], Literal[3], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3i: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3i) -> vec3i: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3i) -> vec3i: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44i(_Matrix[Literal[4], Literal[4], int]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4i: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4i) -> vec4i: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4i) -> vec4i: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2ui(_Vector[Literal[2], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: uint32
    y: uint32
    xy: Self
    yx: Self

class vec3ui(_Vector[Literal[3], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: uint32
    y: uint32
    z: uint32
    xy: vec2ui
    xz: vec2ui
    yx: vec2ui
    yz: vec2ui
    zx: vec2ui
    zy: vec2ui
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4ui(_Vector[Literal[4], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: uint32
    y: uint32
    z: uint32
    w: uint32
    xy: vec2ui
    xz: vec2ui
    xw: vec2ui
    yx: vec2ui
    yz: vec2ui
    yw: vec2ui
    zx: vec2ui
    zy: vec2ui
    zw: vec2ui
    wx: vec2ui
    wy: vec2ui
    wz: vec2ui
    xyz: vec3ui
    xyw: vec3ui
    xzy: vec3ui
    xzw: vec3ui
    xwy: vec3ui
    xwz: vec3ui
    yxz: vec3ui
    yxw: vec3ui
    yzx: vec3ui
    yzw: vec3ui
    ywx: vec3ui
    ywz: vec3ui
    zxy: vec3ui
    zxw: vec3ui
    zyx: vec3ui
    zyw: vec3ui
    zwx: vec3ui
    zwy: vec3ui
    wxy: vec3ui
    wxz: vec3ui
    wyx: vec3ui
    wyz: vec3ui
    wzx: vec3ui
    wzy: vec3ui
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22ui(_Matrix[Literal[2], Literal[2], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint32: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2ui: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2ui) -> vec2ui: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2ui) -> vec2ui: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33ui(_Matrix[Literal[3], Literal[3], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint32: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3ui: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3ui) -> vec3ui: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3ui) -> vec3ui: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44ui(_Matrix[Literal[4], Literal[4], uint32]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint32: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4ui: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4ui) -> vec4ui: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4ui) -> vec4ui: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2l(_Vector[Literal[2], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: int64
    y: int64
    xy: Self
    yx: Self

class vec3l(_Vector[Literal[3], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: int64
    y: int64
    z: int64
    xy: vec2l
    xz: vec2l
    yx: vec2l
    yz: vec2l
    zx: vec2l
    zy: vec2l
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4l(_Vector[Literal[4], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: int64
    y: int64
    z: int64
    w: int64
    xy: vec2l
    xz: vec2l
    xw: vec2l
    yx: vec2l
    yz: vec2l
    yw: vec2l
    zx: vec2l
    zy: vec2l
    zw: vec2l
    wx: vec2l
    wy: vec2l
    wz: vec2l
    xyz: vec3l
    xyw: vec3l
    xzy: vec3l
    xzw: vec3l
    xwy: vec3l
    xwz: vec3l
    yxz: vec3l
    yxw: vec3l
    yzx: vec3l
    yzw: vec3l
    ywx: vec3l
    ywz: vec3l
    zxy: vec3l
    zxw: vec3l
    zyx: vec3l
    zyw: vec3l
    zwx: vec3l
    zwy: vec3l
    wxy: vec3l
    wxz: vec3l
    wyx: vec3l
    wyz: vec3l
    wzx: vec3l
    wzy: vec3l
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22l(_Matrix[Literal[2], Literal[2], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2l: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2l) -> vec2l: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2l) -> vec2l: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33l(_Matrix[Literal[3], Literal[3], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3l: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3l) -> vec3l: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3l) -> vec3l: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44l(_Matrix[Literal[4], Literal[4], int64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> int64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4l: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4l) -> vec4l: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4l) -> vec4l: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...

class vec2ul(_Vector[Literal[2], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[2], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    x: uint64
    y: uint64
    xy: Self
    yx: Self

class vec3ul(_Vector[Literal[3], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[3], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xy: _Vector[Literal[2], Any], z: _Number, /) -> None: ...
    x: uint64
    y: uint64
    z: uint64
    xy: vec2ul
    xz: vec2ul
    yx: vec2ul
    yz: vec2ul
    zx: vec2ul
    zy: vec2ul
    xyz: Self
    xzy: Self
    yxz: Self
    yzx: Self
    zxy: Self
    zyx: Self

class vec4ul(_Vector[Literal[4], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, x: _Number, y: _Number, z: _Number, w: _Number, /) -> None: ...
    @_overload
    def __init__(self, values: _Vector[Literal[4], Any] | Sequence[Any] | np.ndarray[Any, Any], /) -> None: ...
    @_overload
    def __init__(self, xyz: _Vector[Literal[3], Any], w: _Number, /) -> None: ...
    x: uint64
    y: uint64
    z: uint64
    w: uint64
    xy: vec2ul
    xz: vec2ul
    xw: vec2ul
    yx: vec2ul
    yz: vec2ul
    yw: vec2ul
    zx: vec2ul
    zy: vec2ul
    zw: vec2ul
    wx: vec2ul
    wy: vec2ul
    wz: vec2ul
    xyz: vec3ul
    xyw: vec3ul
    xzy: vec3ul
    xzw: vec3ul
    xwy: vec3ul
    xwz: vec3ul
    yxz: vec3ul
    yxw: vec3ul
    yzx: vec3ul
    yzw: vec3ul
    ywx: vec3ul
    ywz: vec3ul
    zxy: vec3ul
    zxw: vec3ul
    zyx: vec3ul
    zyw: vec3ul
    zwx: vec3ul
    zwy: vec3ul
    wxy: vec3ul
    wxz: vec3ul
    wyx: vec3ul
    wyz: vec3ul
    wzx: vec3ul
    wzy: vec3ul
    xyzw: Self
    xywz: Self
    xzyw: Self
    xzwy: Self
    xwyz: Self
    xwzy: Self
    yxzw: Self
    yxwz: Self
    yzxw: Self
    yzwx: Self
    ywxz: Self
    ywzx: Self
    zxyw: Self
    zxwy: Self
    zyxw: Self
    zywx: Self
    zwxy: Self
    zwyx: Self
    wxyz: Self
    wxzy: Self
    wyxz: Self
    wyzx: Self
    wzxy: Self
    wzyx: Self

class mat22ul(_Matrix[Literal[2], Literal[2], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec2ul: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec2ul) -> vec2ul: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec2ul) -> vec2ul: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[2], Any, Any]) -> Any: ...

class mat33ul(_Matrix[Literal[3], Literal[3], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec3ul: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec3ul) -> vec3ul: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec3ul) -> vec3ul: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[3], Any, Any]) -> Any: ...

class mat44ul(_Matrix[Literal[4], Literal[4], uint64]):
    @_overload
    def __init__(self) -> None: ...
    @_overload
    def __init__(self, value: _Number, /) -> None: ...
    @_overload
    def __init__(self, *parts: Any) -> None: ...
    @_overload  # type: ignore[override]
    def __getitem__(self, index: tuple[_Integer, _Integer]) -> uint64: ...
    @_overload
    def __getitem__(self, index: _Integer) -> vec4ul: ...
    @_overload
    def __getitem__(self, index: Any) -> Any: ...
    @_overload  # type: ignore[override]
    def __mul__(self, other: vec4ul) -> vec4ul: ...
    @_overload
    def __mul__(self, other: Self | _Number) -> Self: ...
    @_overload
    def __mul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...
    @_overload  # type: ignore[override]
    def __matmul__(self, other: vec4ul) -> vec4ul: ...
    @_overload
    def __matmul__(self, other: Self) -> Self: ...
    @_overload
    def __matmul__(self, other: _Matrix[Literal[4], Any, Any]) -> Any: ...


# ----- built-in functions

@_overload
def eig3(A: mat33d) -> tuple[mat33d, vec3d]: ...
@_overload
def eig3(A: mat33) -> tuple[mat33, vec3]: ...
@_overload
def eig3(A: mat33h) -> tuple[mat33h, vec3h]: ...
@_overload
def eig3(A: mat33d, Q: mat33d, d: vec3d) -> None: ...
@_overload
def eig3(A: mat33, Q: mat33, d: vec3) -> None: ...
@_overload
def eig3(A: mat33h, Q: mat33h, d: vec3h) -> None:
    """A = Q diag(d) Q^T of a symmetric matrix, returned as (Q, d): Q is a rotation, d ascends.

        A matrix that is not symmetric is replaced by its symmetric part. Cyclic Jacobi (Golub & Van
        Loan, Matrix Computations, 8.5) with a fixed number of rotations.
    """
@_overload
def qr3(A: mat33d) -> tuple[mat33d, mat33d]: ...
@_overload
def qr3(A: mat33) -> tuple[mat33, mat33]: ...
@_overload
def qr3(A: mat33h) -> tuple[mat33h, mat33h]: ...
@_overload
def qr3(A: mat33d, Q: mat33d, R: mat33d) -> None: ...
@_overload
def qr3(A: mat33, Q: mat33, R: mat33) -> None: ...
@_overload
def qr3(A: mat33h, Q: mat33h, R: mat33h) -> None:
    """A = Q R, returned as (Q, R): Q is a rotation, R is upper triangular.

        R[0, 0] and R[1, 1] are not negative; R[2, 2] has the sign of det A.
    """
@_overload
def svd2(A: mat22d) -> tuple[mat22d, vec2d, mat22d]: ...
@_overload
def svd2(A: mat22) -> tuple[mat22, vec2, mat22]: ...
@_overload
def svd2(A: mat22h) -> tuple[mat22h, vec2h, mat22h]: ...
@_overload
def svd2(A: mat22d, U: mat22d, sigma: vec2d, V: mat22d) -> None: ...
@_overload
def svd2(A: mat22, U: mat22, sigma: vec2, V: mat22) -> None: ...
@_overload
def svd2(A: mat22h, U: mat22h, sigma: vec2h, V: mat22h) -> None:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

        sigma[0] >= sigma[1] >= 0; V is a rotation; U is one unless det A < 0.
    """
@_overload
def svd3(A: mat33d) -> tuple[mat33d, vec3d, mat33d]: ...
@_overload
def svd3(A: mat33) -> tuple[mat33, vec3, mat33]: ...
@_overload
def svd3(A: mat33h) -> tuple[mat33h, vec3h, mat33h]: ...
@_overload
def svd3(A: mat33d, U: mat33d, sigma: vec3d, V: mat33d) -> None: ...
@_overload
def svd3(A: mat33, U: mat33, sigma: vec3, V: mat33) -> None: ...
@_overload
def svd3(A: mat33h, U: mat33h, sigma: vec3h, V: mat33h) -> None:
    """Singular values: A = U diag(sigma) V^T, returned as (U, sigma, V).

        U and V are rotations (determinant +1); sigma[0] >= sigma[1] >= |sigma[2]|, and sigma[2] has the
        sign of det A: negative where A reflects.

        Jacobi on A^T A for V and QR of A V for U, as McAdams et al. 2011 (Computing the Singular Value
        Decomposition of 3x3 Matrices with Minimal Branching and Elementary Floating Point Operations).
        Only the largest singular vector is taken from A^T A, whose squared condition spoils the small
        ones; the other two come from an exact 2x2 decomposition of what is left of A.
    """
@_overload
def dense_chol(n: int, A: array[Any, Any], regularization: float64 | float, L: array[Any, Any]) -> None: ...
@_overload
def dense_chol(n: int, A: array[Any, Any], regularization: float, L: array[Any, Any]) -> None: ...
@_overload
def dense_chol(n: int, A: array[Any, Any], regularization: float16 | float, L: array[Any, Any]) -> None:
    """The lower factor of A + regularization * identity = L L^T, where A is symmetric and positive definite.

        Reads the lower triangle of A and writes that of L.
    """
@_overload
def dense_chol_batched(A_start: array[Any, Any], A_dim: array[Any, Any], A: array[Any, Any], regularization: float64 | float, L: array[Any, Any]) -> None: ...
@_overload
def dense_chol_batched(A_start: array[Any, Any], A_dim: array[Any, Any], A: array[Any, Any], regularization: float, L: array[Any, Any]) -> None: ...
@_overload
def dense_chol_batched(A_start: array[Any, Any], A_dim: array[Any, Any], A: array[Any, Any], regularization: float16 | float, L: array[Any, Any]) -> None:
    """The factor of the thread: where its matrix begins in A and its factor in L, and how many rows they have.
    """
def dense_gemm(m: int, n: int, p: int, t1: int, t2: int, A: array[Any, Any], B: array[Any, Any], C: array[Any, Any]) -> None:
    """C = A B, of m rows and n columns, as sums of p products; t1, t2: whether A, B are stored as their transposes.
    """
def dense_gemm_batched(m: array[Any, Any], n: array[Any, Any], p: array[Any, Any], t1: int, t2: int, A_start: array[Any, Any], B_start: array[Any, Any], C_start: array[Any, Any], A: array[Any, Any], B: array[Any, Any], C: array[Any, Any]) -> None:
    """The product of the thread: its extents, and where its matrices begin in the arrays.
    """
def dense_solve(n: int, A: array[Any, Any], L: array[Any, Any], b: array[Any, Any], x: array[Any, Any]) -> None:
    """x of A x = b, where A is symmetric and L its lower factor: the gradient reaches A instead of L.
    """
def dense_solve_batched(b_start: array[Any, Any], A_start: array[Any, Any], A_dim: array[Any, Any], A: array[Any, Any], L: array[Any, Any], b: array[Any, Any], x: array[Any, Any]) -> None:
    """The solution of the thread: where its vectors begin in b and x, its matrices in A and L, and their rows.
    """
def dense_subs(n: int, L: array[Any, Any], b: array[Any, Any], x: array[Any, Any]) -> None:
    """x of L L^T x = b, for the lower factor of a matrix of n rows.
    """
@_overload
def closest_point_edge_edge(p1: vec3d, q1: vec3d, p2: vec3d, q2: vec3d, epsilon: float64 | float) -> vec3d: ...
@_overload
def closest_point_edge_edge(p1: vec3, q1: vec3, p2: vec3, q2: vec3, epsilon: float) -> vec3: ...
@_overload
def closest_point_edge_edge(p1: vec3h, q1: vec3h, p2: vec3h, q2: vec3h, epsilon: float16 | float) -> vec3h:
    """(s, t, distance) of the closest points p1 + s (q1 - p1) and p2 + t (q2 - p2) of two segments.

        A segment whose squared length is at most `epsilon` counts as its first point, and has weight 0. Of the
        common perpendicular, if it meets both segments, and of the four ends p1, p2, q2 and q1, each with its closest point
        on the other segment, the shortest wins, of several the first: so parallel segments and nearly parallel ones are as
        exact as others.
    """
@_overload
def intersect_tri_tri(v0: vec3, v1: vec3, v2: vec3, u0: vec3, u1: vec3, u2: vec3) -> int: ...
@_overload
def intersect_tri_tri(v0: vec3d, v1: vec3d, v2: vec3d, u0: vec3d, u1: vec3d, u2: vec3d) -> int:
    """1 where two triangles have a point in common, else 0. They may lie in one plane, or have no area.
    """
@_overload
def curlnoise(state: uint32 | int, xy: vec2, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec2: ...
@_overload
def curlnoise(state: uint32 | int, xyz: vec3, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec3: ...
@_overload
def curlnoise(state: uint32 | int, xyzt: vec4, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec3:
    """A field without divergence: the gradient of noise turned by +90 degrees (Bridson et al. 2007).

        Octave i has frequency lacunarity^i and weight gain^i; zero octaves give zero. 3-D and 4-D points
        (the fourth coordinate is time) give the 3-D curl of three independent potentials.
    """
@_overload
def noise(state: uint32 | int, x: float) -> float: ...
@_overload
def noise(state: uint32 | int, xy: vec2) -> float: ...
@_overload
def noise(state: uint32 | int, xyz: vec3) -> float: ...
@_overload
def noise(state: uint32 | int, xyzt: vec4) -> float:
    """1-D noise in [-1/2, 1/2].
    """
@_overload
def pnoise(state: uint32 | int, x: float, px: int) -> float: ...
@_overload
def pnoise(state: uint32 | int, xy: vec2, px: int, py: int) -> float: ...
@_overload
def pnoise(state: uint32 | int, xyz: vec3, px: int, py: int, pz: int) -> float: ...
@_overload
def pnoise(state: uint32 | int, xyzt: vec4, px: int, py: int, pz: int, pt: int) -> float:
    """1-D noise that repeats after `px` > 0 cells, on both sides of zero.
    """
@_overload
def quat_between_vectors(a: vec3d, b: vec3d) -> quatd: ...
@_overload
def quat_between_vectors(a: vec3, b: vec3) -> quat: ...
@_overload
def quat_between_vectors(a: vec3h, b: vec3h) -> quath:
    """The smallest rotation that takes the direction of `a` to that of `b`; lengths do not matter.

        Opposite directions give a half turn about some perpendicular axis; a zero vector the identity.
    """
@_overload
def quat_from_axis_angle(axis: vec3d, angle: float64 | float) -> quatd: ...
@_overload
def quat_from_axis_angle(axis: vec3, angle: float) -> quat: ...
@_overload
def quat_from_axis_angle(axis: vec3h, angle: float16 | float) -> quath:
    """The rotation by `angle` [rad] about the unit vector `axis`.
    """
@_overload
def quat_from_euler(e: vec3d, i: int, j: int, k: int) -> quatd: ...
@_overload
def quat_from_euler(e: vec3, i: int, j: int, k: int) -> quat: ...
@_overload
def quat_from_euler(e: vec3h, i: int, j: int, k: int) -> quath:
    """Rotation about the fixed axes `i`, then `j`, then `k` (0, 1, 2 are x, y, z; i != j != k).

        Angles stand by axis, not by place in the sequence: `e[0]` is the angle about x [rad]. A
        sequence with i == k reads its first and its last angle from the same component.
    """
@_overload
def quat_from_matrix(mat: mat33d) -> quatd: ...
@_overload
def quat_from_matrix(mat: mat33) -> quat: ...
@_overload
def quat_from_matrix(mat: mat33h) -> quath: ...
@_overload
def quat_from_matrix(mat: mat44d) -> quatd: ...
@_overload
def quat_from_matrix(mat: mat44) -> quat: ...
@_overload
def quat_from_matrix(mat: mat44h) -> quath:
    """The unit quaternion of a rotation matrix; w >= 0 where the trace is not negative.
    """
@_overload
def quat_identity() -> quat: ...
@_overload
def quat_identity(dtype: Any) -> Any:
    """The rotation that turns nothing, (0, 0, 0, 1), of a scalar type.
    """
@_overload
def quat_inverse(quat: quatd) -> quatd: ...
@_overload
def quat_inverse(quat: quat) -> quat: ...
@_overload
def quat_inverse(quat: quath) -> quath:
    """The conjugate: the inverse rotation of a unit quaternion.
    """
@_overload
def quat_rotate(quat: quatd, vec: vec3d) -> vec3d: ...
@_overload
def quat_rotate(quat: quat, vec: vec3) -> vec3: ...
@_overload
def quat_rotate(quat: quath, vec: vec3h) -> vec3h:
    """`vec` rotated by the unit quaternion `quat`.
    """
@_overload
def quat_rotate_inv(quat: quatd, vec: vec3d) -> vec3d: ...
@_overload
def quat_rotate_inv(quat: quat, vec: vec3) -> vec3: ...
@_overload
def quat_rotate_inv(quat: quath, vec: vec3h) -> vec3h:
    """`vec` rotated by the inverse of the unit quaternion `quat`.
    """
@_overload
def quat_rpy(roll: float64, pitch: float64 | float, yaw: float64 | float) -> quatd: ...
@_overload
def quat_rpy(roll: float, pitch: float, yaw: float) -> quat: ...
@_overload
def quat_rpy(roll: float16, pitch: float16 | float, yaw: float16 | float) -> quath:
    """Roll about x, then pitch about y, then yaw about z, all about fixed axes [rad].
    """
@_overload
def quat_slerp(a: quatd, b: quatd, t: float64 | float) -> quatd: ...
@_overload
def quat_slerp(a: quat, b: quat, t: float) -> quat: ...
@_overload
def quat_slerp(a: quath, b: quath, t: float16 | float) -> quath:
    """From the rotation `a` (t = 0) to `b` (t = 1) on the shorter arc, at constant speed.

        `a` must have unit length, `b` any but zero; other `t` extrapolate. Where the two are half a
        turn apart (dot(a, b) = 0), both ways are equally short and the result jumps.

        Shoemake 1985, Animating Rotation with Quaternion Curves.
    """
@_overload
def quat_to_axis_angle(quat: quatd) -> tuple[vec3d, float64]: ...
@_overload
def quat_to_axis_angle(quat: quat) -> tuple[vec3, float]: ...
@_overload
def quat_to_axis_angle(quat: quath) -> tuple[vec3h, float16]: ...
@_overload
def quat_to_axis_angle(quat: quatd, axis: vec3d, angle: float64 | float) -> None: ...
@_overload
def quat_to_axis_angle(quat: quat, axis: vec3, angle: float) -> None: ...
@_overload
def quat_to_axis_angle(quat: quath, axis: vec3h, angle: float16 | float) -> None:
    """(unit axis, angle [rad] in [0, pi]) of the rotation `quat`, of any length.

        The identity has axis zero. The axis and its derivative are discontinuous there.
    """
@_overload
def quat_to_euler(q: quatd, i: int, j: int, k: int) -> vec3d: ...
@_overload
def quat_to_euler(q: quat, i: int, j: int, k: int) -> vec3: ...
@_overload
def quat_to_euler(q: quath, i: int, j: int, k: int) -> vec3h:
    """The angles [rad] of the rotation `q` (any length) about fixed axes `i`, then `j`, then `k`.

        Angles stand by axis as in `quat_from_euler`, which inverts this for i != k. For i == k the last
        angle stands in component 3 - i - j. The middle angle is in [-pi/2, pi/2], or [0, pi] for
        i == k; the others are in [-pi, pi]. At gimbal lock the first is zero, and no angle has a
        derivative.

        Bernardes & Viollet 2022, Quaternion to Euler angles conversion: a direct, general and
        computationally efficient method.
    """
@_overload
def quat_to_matrix(quat: quatd) -> mat33d: ...
@_overload
def quat_to_matrix(quat: quat) -> mat33: ...
@_overload
def quat_to_matrix(quat: quath) -> mat33h:
    """The 3x3 matrix M of the unit quaternion `quat`: M v = quat_rotate(quat, v).
    """
@_overload
def quat_to_rpy(q: quatd) -> vec3d: ...
@_overload
def quat_to_rpy(q: quat) -> vec3: ...
@_overload
def quat_to_rpy(q: quath) -> vec3h:
    """(roll, pitch, yaw) [rad] that `quat_rpy` takes to `q`; roll is 0 at gimbal lock.
    """
@_overload
def quat_twist(axis: vec3d, q: quatd) -> quatd: ...
@_overload
def quat_twist(axis: vec3, q: quat) -> quat: ...
@_overload
def quat_twist(axis: vec3h, q: quath) -> quath:
    """The part of the rotation `q` that turns about the unit vector `axis`, of unit length.

        q = swing * twist, the swing turning about an axis perpendicular to `axis`. The identity where
        `q` is a half turn about such an axis (any twist would do).
    """
@_overload
def quat_twist_angle(axis: vec3d, q: quatd) -> float64: ...
@_overload
def quat_twist_angle(axis: vec3, q: quat) -> float: ...
@_overload
def quat_twist_angle(axis: vec3h, q: quath) -> float16:
    """Size of the twist of `q` about `axis` [rad]: to pi for q[3] >= 0, else from pi to 2 pi.
    """
@_overload
def quat_twist_angle_signed(axis: vec3d, q: quatd) -> float64: ...
@_overload
def quat_twist_angle_signed(axis: vec3, q: quat) -> float: ...
@_overload
def quat_twist_angle_signed(axis: vec3h, q: quath) -> float16:
    """Angle of the twist of `q` about `axis` [rad], positive where it turns with the axis, from -2 pi to 2 pi.
    """
def poisson(state: uint32 | int, lam: float) -> uint32:
    """Poisson with mean `lam`. Advances `state` as often as needed, not at all when `lam` is not positive.
    """
@_overload
def rand_init(seed: int) -> uint32: ...
@_overload
def rand_init(seed: int, offset: int) -> uint32:
    """The random state of a seed.
    """
@_overload
def randf(state: uint32 | int) -> float: ...
@_overload
def randf(state: uint32 | int, low: float, high: float) -> float:
    """Uniform in [0, 1): a multiple of 2^-24. Advances `state`.
    """
@_overload
def randi(state: uint32 | int) -> int: ...
@_overload
def randi(state: uint32 | int, low: int, high: int) -> int:
    """Uniform over all signed 32-bit integers. Advances `state`.
    """
def randn(state: uint32 | int) -> float:
    """Normal with mean 0 and variance 1 (Box & Muller 1958). Advances `state` twice; |value| < 5.8.
    """
@_overload
def randu(state: uint32 | int) -> uint32: ...
@_overload
def randu(state: uint32 | int, low: uint32 | int, high: uint32 | int) -> uint32:
    """Uniform over all unsigned 32-bit integers. Advances `state`.
    """
@_overload
def lower_bound(arr: array[_S, Any], value: _Number) -> int: ...
@_overload
def lower_bound(arr: array[_S, Any], arr_begin: int, arr_end: int, value: _Number) -> int:
    """The index of the first element of ascending `arr` not below `value`; the last index if all are below.
    """
def sample_cdf(state: uint32 | int, cdf: array[Any, Any]) -> int:
    """An index drawn with the probabilities whose running sum is `cdf` (ascending, last element 1). One draw.
    """
def sample_triangle(state: uint32 | int) -> vec2:
    """Barycentric coordinates (u, v) of a point in a triangle: it is u a + v b + (1 - u - v) c.

        Turk 1990, Generating random points in triangles. Two draws.
    """
def sample_unit_cube(state: uint32 | int) -> vec3:
    """A point in the cube [-1/2, 1/2)^3. Three draws.
    """
def sample_unit_disk(state: uint32 | int) -> vec2:
    """A point in the disk of radius 1. Two draws.
    """
def sample_unit_hemisphere(state: uint32 | int) -> vec3:
    """A point in the upper half (z >= 0) of the ball of radius 1. Three draws.
    """
def sample_unit_hemisphere_surface(state: uint32 | int) -> vec3:
    """A point on the upper half (z > 0) of the sphere of radius 1. Two draws.
    """
def sample_unit_ring(state: uint32 | int) -> vec2:
    """A point on the circle of radius 1. One draw.
    """
def sample_unit_sphere(state: uint32 | int) -> vec3:
    """A point in the ball of radius 1. Three draws.
    """
def sample_unit_sphere_surface(state: uint32 | int) -> vec3:
    """A point on the sphere of radius 1: z is uniform (Archimedes' hat box). Two draws.
    """
def sample_unit_square(state: uint32 | int) -> vec2:
    """A point in the square [-1/2, 1/2)^2. Two draws.
    """
@_overload
def spatial_adjoint(r: mat33d, s: mat33d) -> spatial_matrixd: ...
@_overload
def spatial_adjoint(r: mat33, s: mat33) -> spatial_matrix: ...
@_overload
def spatial_adjoint(r: mat33h, s: mat33h) -> spatial_matrixh:
    """Blocks [[r, 0], [s, r]]; with s = skew(p) r it maps twists by the transform (p, r).
    """
@_overload
def spatial_bottom(svec: spatial_vectord) -> vec3d: ...
@_overload
def spatial_bottom(svec: spatial_vector) -> vec3: ...
@_overload
def spatial_bottom(svec: spatial_vectorh) -> vec3h:
    """Components 3 to 5: linear velocity of a twist, force of a wrench.
    """
@_overload
def spatial_cross(a: spatial_vectord, b: spatial_vectord) -> spatial_vectord: ...
@_overload
def spatial_cross(a: spatial_vector, b: spatial_vector) -> spatial_vector: ...
@_overload
def spatial_cross(a: spatial_vectorh, b: spatial_vectorh) -> spatial_vectorh:
    """The rate of change of twist `b` carried along by twist `a`: (wa x wb, va x wb + wa x vb).
    """
@_overload
def spatial_cross_dual(a: spatial_vectord, b: spatial_vectord) -> spatial_vectord: ...
@_overload
def spatial_cross_dual(a: spatial_vector, b: spatial_vector) -> spatial_vector: ...
@_overload
def spatial_cross_dual(a: spatial_vectorh, b: spatial_vectorh) -> spatial_vectorh:
    """The rate of change of wrench `b` carried along by twist `a`: (w x n + v x f, w x f).
    """
@_overload
def spatial_dot(a: spatial_vectord, b: spatial_vectord) -> float64: ...
@_overload
def spatial_dot(a: spatial_vector, b: spatial_vector) -> float: ...
@_overload
def spatial_dot(a: spatial_vectorh, b: spatial_vectorh) -> float16:
    """Sum of the six products; the power [W] of a wrench on a twist.
    """
@_overload
def spatial_top(svec: spatial_vectord) -> vec3d: ...
@_overload
def spatial_top(svec: spatial_vector) -> vec3: ...
@_overload
def spatial_top(svec: spatial_vectorh) -> vec3h:
    """Components 0 to 2: angular velocity of a twist, torque of a wrench.
    """
@_overload
def velocity_at_point(qd: spatial_vectord, r: vec3d) -> vec3d: ...
@_overload
def velocity_at_point(qd: spatial_vector, r: vec3) -> vec3: ...
@_overload
def velocity_at_point(qd: spatial_vectorh, r: vec3h) -> vec3h:
    """Velocity [m/s] of the point at offset `r` [m] from the origin of twist `qd`: v + w x r.
    """
@_overload
def erfcinv(x: float64) -> float64: ...
@_overload
def erfcinv(x: float) -> float: ...
@_overload
def erfcinv(x: float16) -> float16: ...
@_overload
def erfcinv(x: float16 | float) -> float16:
    """The y with erfc(y) = x; infinite at 0 and 2, NaN outside. Accurate for the smallest x.
    """
@_overload
def erfinv(x: float64) -> float64: ...
@_overload
def erfinv(x: float) -> float: ...
@_overload
def erfinv(x: float16) -> float16: ...
@_overload
def erfinv(x: float16 | float) -> float16:
    """The y with erf(y) = x; infinite at -1 and 1, NaN outside.
    """
def tile_scan_exclusive(a: array[Any, Literal[1]]) -> Any:
    """Sums of the elements before each of a tile.
    """
def tile_scan_inclusive(a: array[Any, Literal[1]]) -> Any:
    """Sums of the elements up to each of a tile, itself among them.
    """
def tile_scan_max_inclusive(a: array[Any, Literal[1]]) -> Any:
    """The largest of the elements up to each of a tile, itself among them.
    """
def tile_scan_min_inclusive(a: array[Any, Literal[1]]) -> Any:
    """The smallest of the elements up to each of a tile, itself among them.
    """
@_overload
def untile(a: array[Any, Literal[1]]) -> Any: ...
@_overload
def untile(a: array[Any, Literal[2]]) -> Any:
    """What this lane holds: the inverse of `tile`, of a tile with an element for each lane.
    """
@_overload
def transform_compose(position: vec3d, rotation: quatd, scale: vec3d) -> mat44d: ...
@_overload
def transform_compose(position: vec3, rotation: quat, scale: vec3) -> mat44: ...
@_overload
def transform_compose(position: vec3h, rotation: quath, scale: vec3h) -> mat44h:
    """The matrix that scales, then rotates, then moves: [[R diag(scale), p], [0, 1]].
    """
@_overload
def transform_decompose(m: mat44d) -> tuple[vec3d, quatd, vec3d]: ...
@_overload
def transform_decompose(m: mat44) -> tuple[vec3, quat, vec3]: ...
@_overload
def transform_decompose(m: mat44h) -> tuple[vec3h, quath, vec3h]:
    """(position, rotation, scale) that `transform_compose` takes to `m`, where `m` has no shear.

        A reflection (negative determinant) gives a negative scale along x and nowhere else. Axes scaled
        to zero are filled in to a right-handed frame.
    """
@_overload
def transform_from_matrix(mat: mat44d) -> transformd: ...
@_overload
def transform_from_matrix(mat: mat44) -> transform: ...
@_overload
def transform_from_matrix(mat: mat44h) -> transformh:
    """The transform of [[R, p], [0, 1]]; the block R must be a rotation.
    """
@_overload
def transform_get_rotation(xform: transformd) -> quatd: ...
@_overload
def transform_get_rotation(xform: transform) -> quat: ...
@_overload
def transform_get_rotation(xform: transformh) -> quath:
    """The rotation.
    """
@_overload
def transform_get_translation(xform: transformd) -> vec3d: ...
@_overload
def transform_get_translation(xform: transform) -> vec3: ...
@_overload
def transform_get_translation(xform: transformh) -> vec3h:
    """The position.
    """
@_overload
def transform_identity() -> transform: ...
@_overload
def transform_identity(dtype: Any) -> Any:
    """The transform that moves nothing, of a scalar type.
    """
@_overload
def transform_inverse(xform: transformd) -> transformd: ...
@_overload
def transform_inverse(xform: transform) -> transform: ...
@_overload
def transform_inverse(xform: transformh) -> transformh:
    """The transform that undoes `xform`.
    """
@_overload
def transform_multiply(a: transformd, b: transformd) -> transformd: ...
@_overload
def transform_multiply(a: transform, b: transform) -> transform: ...
@_overload
def transform_multiply(a: transformh, b: transformh) -> transformh:
    """The transform that applies `b`, then `a`.
    """
@_overload
def transform_point(xform: transformd, point: vec3d) -> vec3d: ...
@_overload
def transform_point(xform: transform, point: vec3) -> vec3: ...
@_overload
def transform_point(xform: transformh, point: vec3h) -> vec3h: ...
@_overload
def transform_point(mat: mat44d, point: vec3d) -> vec3d: ...
@_overload
def transform_point(mat: mat44, point: vec3) -> vec3: ...
@_overload
def transform_point(mat: mat44h, point: vec3h) -> vec3h:
    """`point` rotated, then moved.
    """
@_overload
def transform_set_rotation(xform: transformd, q: quatd) -> None: ...
@_overload
def transform_set_rotation(xform: transform, q: quat) -> None: ...
@_overload
def transform_set_rotation(xform: transformh, q: quath) -> None:
    """Give `xform` the rotation `q`, in place.
    """
@_overload
def transform_set_translation(xform: transformd, p: vec3d) -> None: ...
@_overload
def transform_set_translation(xform: transform, p: vec3) -> None: ...
@_overload
def transform_set_translation(xform: transformh, p: vec3h) -> None:
    """Give `xform` the position `p`, in place.
    """
@_overload
def transform_to_matrix(xform: transformd) -> mat44d: ...
@_overload
def transform_to_matrix(xform: transform) -> mat44: ...
@_overload
def transform_to_matrix(xform: transformh) -> mat44h:
    """[[R, p], [0, 1]] with the rotation matrix R and the position p.
    """
@_overload
def transform_twist(t: transformd, x: spatial_vectord) -> spatial_vectord: ...
@_overload
def transform_twist(t: transform, x: spatial_vector) -> spatial_vector: ...
@_overload
def transform_twist(t: transformh, x: spatial_vectorh) -> spatial_vectorh:
    """The twist (w, v) in the frame that `t` maps to: (R w, R v + p x R w).
    """
@_overload
def transform_vector(xform: transformd, vec: vec3d) -> vec3d: ...
@_overload
def transform_vector(xform: transform, vec: vec3) -> vec3: ...
@_overload
def transform_vector(xform: transformh, vec: vec3h) -> vec3h: ...
@_overload
def transform_vector(mat: mat44d, vec: vec3d) -> vec3d: ...
@_overload
def transform_vector(mat: mat44, vec: vec3) -> vec3: ...
@_overload
def transform_vector(mat: mat44h, vec: vec3h) -> vec3h:
    """`vec` rotated; a direction does not move.
    """
@_overload
def transform_wrench(t: transformd, x: spatial_vectord) -> spatial_vectord: ...
@_overload
def transform_wrench(t: transform, x: spatial_vector) -> spatial_vector: ...
@_overload
def transform_wrench(t: transformh, x: spatial_vectorh) -> spatial_vectorh:
    """The wrench (n, f) in the frame that `t` maps to: (R n + p x R f, R f).
    """
@_overload
def abs(x: _S) -> _S: ...
@_overload
def abs(x: _VectorT) -> _VectorT:
    """abs(x: Scalar) -> Scalar
    abs(x: Vec[N, Scalar]) -> Vec[N, Scalar]

    Absolute value; the derivative at 0 is 1.

    Absolute value, component by component.

    Gradient: yes.

    Scalar: a number of any type
    `Vec[N, T]`: a vector of N components
    """
@_overload
def acos(x: float64) -> float64: ...
@_overload
def acos(x: float) -> float: ...
@_overload
def acos(x: float16) -> float16:
    """acos(x: Float) -> Float

    Inverse cosine [rad]; `x` is clamped to [-1, 1].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def add(a: _A, b: _A) -> _A: ...
@_overload
def add(x: _A, y: _A) -> _A:
    """add(a: Element, b: Element) -> Element
    add(x: Element, y: Element) -> Element

    Sum, component by component.

    Component by component; a scalar goes with every component.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
def argmax(a: _Vector[_N, _S]) -> uint32:
    """argmax(a: Vec[N, Scalar]) -> uint32

    Index of the first largest component.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    """
def argmin(a: _Vector[_N, _S]) -> uint32:
    """argmin(a: Vec[N, Scalar]) -> uint32

    Index of the first smallest component.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    """
@_overload
def asin(x: float64) -> float64: ...
@_overload
def asin(x: float) -> float: ...
@_overload
def asin(x: float16) -> float16:
    """asin(x: Float) -> Float

    Inverse sine [rad]; `x` is clamped to [-1, 1].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def atan(x: float64) -> float64: ...
@_overload
def atan(x: float) -> float: ...
@_overload
def atan(x: float16) -> float16:
    """atan(x: Float) -> Float

    Inverse tangent [rad].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def atan2(y: float64, x: float64 | float) -> float64: ...
@_overload
def atan2(y: float, x: float) -> float: ...
@_overload
def atan2(y: float16, x: float16 | float) -> float16:
    """atan2(y: Float, x: Float) -> Float

    Angle [rad] of the point (x, y).

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def atomic_add(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_add(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_add(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_add(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_add(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_add(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_add(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_add(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_add(array: Any, *rest: Any) -> Any

    Add to an element. Returns the value before.

    Gradient: yes.
    """
@_overload
def atomic_and(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_and(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_and(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_and(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_and(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_and(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_and(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_and(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_and(array: Any, *rest: Any) -> Any

    Bitwise and with an element. Returns the value before.

    Gradient: none, an exchange or a bit operation has no derivative.
    """
@_overload
def atomic_cas(array: array[_T, Any], i: _Integer, compare: _T, value: _T) -> _T: ...
@_overload
def atomic_cas(array: array[_T, Any], i: _Integer, j: _Integer, compare: _T, value: _T) -> _T: ...
@_overload
def atomic_cas(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, compare: _T, value: _T) -> _T: ...
@_overload
def atomic_cas(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, compare: _T, value: _T) -> _T: ...
@_overload
def atomic_cas(array: array[_S, Any], i: _Integer, compare: _Number, value: _Number) -> _S: ...
@_overload
def atomic_cas(array: array[_S, Any], i: _Integer, j: _Integer, compare: _Number, value: _Number) -> _S: ...
@_overload
def atomic_cas(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, compare: _Number, value: _Number) -> _S: ...
@_overload
def atomic_cas(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, compare: _Number, value: _Number) -> _S:
    """atomic_cas(array: Any, *rest: Any) -> Any

    Replace an element if it equals the first value. Returns the value before.

    Gradient: none, an exchange or a bit operation has no derivative.
    """
@_overload
def atomic_exch(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_exch(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_exch(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_exch(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_exch(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_exch(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_exch(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_exch(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_exch(array: Any, *rest: Any) -> Any

    Replace an element. Returns the value before.

    Gradient: none, an exchange or a bit operation has no derivative.
    """
@_overload
def atomic_max(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_max(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_max(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_max(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_max(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_max(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_max(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_max(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_max(array: Any, *rest: Any) -> Any

    Raise an element to a value. Returns the value before.

    Gradient: yes.
    """
@_overload
def atomic_min(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_min(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_min(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_min(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_min(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_min(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_min(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_min(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_min(array: Any, *rest: Any) -> Any

    Lower an element to a value. Returns the value before.

    Gradient: yes.
    """
@_overload
def atomic_or(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_or(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_or(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_or(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_or(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_or(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_or(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_or(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_or(array: Any, *rest: Any) -> Any

    Bitwise or with an element. Returns the value before.

    Gradient: none, an exchange or a bit operation has no derivative.
    """
@_overload
def atomic_sub(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_sub(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_sub(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_sub(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_sub(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_sub(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_sub(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_sub(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_sub(array: Any, *rest: Any) -> Any

    Subtract from an element. Returns the value before.

    Gradient: yes.
    """
@_overload
def atomic_xor(array: array[_T, Any], i: _Integer, value: _T) -> _T: ...
@_overload
def atomic_xor(array: array[_T, Any], i: _Integer, j: _Integer, value: _T) -> _T: ...
@_overload
def atomic_xor(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, value: _T) -> _T: ...
@_overload
def atomic_xor(array: array[_T, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _T) -> _T: ...
@_overload
def atomic_xor(array: array[_S, Any], i: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_xor(array: array[_S, Any], i: _Integer, j: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_xor(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, value: _Number) -> _S: ...
@_overload
def atomic_xor(array: array[_S, Any], i: _Integer, j: _Integer, k: _Integer, l: _Integer, value: _Number) -> _S:
    """atomic_xor(array: Any, *rest: Any) -> Any

    Bitwise xor with an element. Returns the value before.

    Gradient: none, an exchange or a bit operation has no derivative.
    """
@_overload
def bit_and(a: _I, b: _I) -> _I: ...
@_overload
def bit_and(a: _I, b: float) -> _I: ...
@_overload
def bit_and(a: float, b: _I) -> _I: ...
@_overload
def bit_and(a: bool, b: bool) -> bool: ...
@_overload
def bit_and(a: _VectorT, b: _VectorT) -> _VectorT: ...
@_overload
def bit_and(a: _MatrixT, b: _MatrixT) -> _MatrixT:
    """bit_and(a: Int, b: Int) -> Int
    bit_and(a: bool, b: bool) -> bool
    bit_and(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]
    bit_and(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

    Bitwise and.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
def bit_count(x: _I) -> int:
    """bit_count(x: Int) -> int32

    Number of one bits.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    """
@_overload
def bit_or(a: _I, b: _I) -> _I: ...
@_overload
def bit_or(a: _I, b: float) -> _I: ...
@_overload
def bit_or(a: float, b: _I) -> _I: ...
@_overload
def bit_or(a: bool, b: bool) -> bool: ...
@_overload
def bit_or(a: _VectorT, b: _VectorT) -> _VectorT: ...
@_overload
def bit_or(a: _MatrixT, b: _MatrixT) -> _MatrixT:
    """bit_or(a: Int, b: Int) -> Int
    bit_or(a: bool, b: bool) -> bool
    bit_or(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]
    bit_or(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

    Bitwise or.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
@_overload
def bit_xor(a: _I, b: _I) -> _I: ...
@_overload
def bit_xor(a: _I, b: float) -> _I: ...
@_overload
def bit_xor(a: float, b: _I) -> _I: ...
@_overload
def bit_xor(a: bool, b: bool) -> bool: ...
@_overload
def bit_xor(a: _VectorT, b: _VectorT) -> _VectorT: ...
@_overload
def bit_xor(a: _MatrixT, b: _MatrixT) -> _MatrixT:
    """bit_xor(a: Int, b: Int) -> Int
    bit_xor(a: bool, b: bool) -> bool
    bit_xor(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]
    bit_xor(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

    Bitwise xor.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
def block_dim() -> int:
    """block_dim() -> int32

    Threads of a block: those of the launch; on CPUs 1 unless `config.enable_cpu_blocks` is on.

    Gradient: none, an integer.
    """
@_overload
def cbrt(x: float64) -> float64: ...
@_overload
def cbrt(x: float) -> float: ...
@_overload
def cbrt(x: float16) -> float16:
    """cbrt(x: Float) -> Float

    Cube root.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def ceil(x: float64) -> float64: ...
@_overload
def ceil(x: float) -> float: ...
@_overload
def ceil(x: float16) -> float16:
    """ceil(x: Float) -> Float

    The smallest whole number not below `x`.

    Gradient: none, piecewise constant.

    Float: a float of any precision
    """
@_overload
def clamp(x: _S, low: _S, high: _S) -> _S: ...
@_overload
def clamp(x: _S, low: float, high: float) -> _S: ...
@_overload
def clamp(x: float, low: _S, high: _S) -> _S:
    """clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar

    `x` limited to [low, high]; NaN becomes `low`, a limit that is NaN is none, and `high` wins where they cross.

    Gradient: yes.

    Scalar: a number of any type
    """
@_overload
def copysign(x: float64, y: float64 | float) -> float64: ...
@_overload
def copysign(x: float, y: float) -> float: ...
@_overload
def copysign(x: float16, y: float16 | float) -> float16:
    """copysign(x: Float, y: Float) -> Float

    The magnitude of `x` with the sign of `y`.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def cos(x: float64) -> float64: ...
@_overload
def cos(x: float) -> float: ...
@_overload
def cos(x: float16) -> float16:
    """cos(x: Float) -> Float

    Cosine of `x` [rad].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def cosh(x: float64) -> float64: ...
@_overload
def cosh(x: float) -> float: ...
@_overload
def cosh(x: float16) -> float16:
    """cosh(x: Float) -> Float

    Hyperbolic cosine.

    Gradient: yes.

    Float: a float of any precision
    """
def cross(a: _Vector3T, b: _Vector3T) -> _Vector3T:
    """cross(a: Vec[3, Scalar], b: Vec[3, Scalar]) -> Vec[3, Scalar]

    Cross product.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    """
def cw_div(a: _A, b: _A) -> _A:
    """cw_div(a: Element, b: Element) -> Element

    Quotient, component by component.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
def cw_mul(a: _A, b: _A) -> _A:
    """cw_mul(a: Element, b: Element) -> Element

    Product, component by component.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
def ddot(x: _Matrix[_M, _N, _S], y: _Matrix[_M, _N, _S]) -> _S:
    """ddot(a: Element, b: Element) -> Scalar

    Sum of products of all entries of two matrices.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    Scalar: a number of any type
    """
@_overload
def degrees(x: float64) -> float64: ...
@_overload
def degrees(x: float) -> float: ...
@_overload
def degrees(x: float16) -> float16:
    """degrees(x: Float) -> Float

    Radians to degrees.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def determinant(a: mat22d) -> float64: ...
@_overload
def determinant(a: mat22) -> float: ...
@_overload
def determinant(a: mat22h) -> float16: ...
@_overload
def determinant(a: mat33d) -> float64: ...
@_overload
def determinant(a: mat33) -> float: ...
@_overload
def determinant(a: mat33h) -> float16: ...
@_overload
def determinant(a: mat44d) -> float64: ...
@_overload
def determinant(a: mat44) -> float: ...
@_overload
def determinant(a: mat44h) -> float16:
    """determinant(a: Mat[2, 2, Float]) -> Float
    determinant(a: Mat[3, 3, Float]) -> Float
    determinant(a: Mat[4, 4, Float]) -> Float

    Determinant.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Float: a float of any precision
    """
@_overload
def diag(vec: vec2d) -> mat22d: ...
@_overload
def diag(vec: vec2) -> mat22: ...
@_overload
def diag(vec: vec2h) -> mat22h: ...
@_overload
def diag(vec: vec3d) -> mat33d: ...
@_overload
def diag(vec: vec3) -> mat33: ...
@_overload
def diag(vec: vec3h) -> mat33h: ...
@_overload
def diag(vec: vec4d) -> mat44d: ...
@_overload
def diag(vec: vec4) -> mat44: ...
@_overload
def diag(vec: vec4h) -> mat44h: ...
@_overload
def diag(vec: _Vector[Any, Any]) -> Any:
    """diag(vec: Vec[N, Scalar]) -> Mat[N, N, Scalar]

    The matrix with `vec` on its diagonal and zeros elsewhere.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
@_overload
def div(a: _S, b: _S) -> _S: ...
@_overload
def div(a: _S, b: float) -> _S: ...
@_overload
def div(a: float, b: _S) -> _S: ...
@_overload
def div(a: _A, b: _S) -> _A: ...
@_overload
def div(a: _S, b: _A) -> _A:
    """div(a: Scalar, b: Scalar) -> Scalar
    div(a: Element, b: Scalar) -> Element
    div(a: Scalar, b: Element) -> Element

    Quotient; integers truncate towards zero.

    Every component divided by `b`.

    `a` divided by every component.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def dot(x: _Vector[_N, _S], y: _Vector[_N, _S]) -> _S: ...
@_overload
def dot(x: _Quaternion[_S], y: _Quaternion[_S]) -> _S:
    """dot(a: Element, b: Element) -> Scalar

    Dot product.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    Scalar: a number of any type
    """
@_overload
def erf(x: float64) -> float64: ...
@_overload
def erf(x: float) -> float: ...
@_overload
def erf(x: float16) -> float16:
    """erf(x: Float) -> Float

    Error function.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def erfc(x: float64) -> float64: ...
@_overload
def erfc(x: float) -> float: ...
@_overload
def erfc(x: float16) -> float16:
    """erfc(x: Float) -> Float

    Complementary error function, 1 - erf(x).

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def exp(x: float64) -> float64: ...
@_overload
def exp(x: float) -> float: ...
@_overload
def exp(x: float16) -> float16:
    """exp(x: Float) -> Float

    Exponential.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def floor(x: float64) -> float64: ...
@_overload
def floor(x: float) -> float: ...
@_overload
def floor(x: float16) -> float16:
    """floor(x: Float) -> Float

    The largest whole number not above `x`.

    Gradient: none, piecewise constant.

    Float: a float of any precision
    """
@_overload
def floordiv(a: _S, b: _S) -> _S: ...
@_overload
def floordiv(a: _S, b: float) -> _S: ...
@_overload
def floordiv(a: float, b: _S) -> _S:
    """floordiv(a: Scalar, b: Scalar) -> Scalar

    The largest whole number not above x / y.

    Gradient: none, piecewise constant.

    Scalar: a number of any type
    """
@_overload
def frac(x: float64) -> float64: ...
@_overload
def frac(x: float) -> float: ...
@_overload
def frac(x: float16) -> float16:
    """frac(x: Float) -> Float

    The fraction of `x`, with its sign.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def get_diag(mat: mat22d) -> vec2d: ...
@_overload
def get_diag(mat: mat22) -> vec2: ...
@_overload
def get_diag(mat: mat22h) -> vec2h: ...
@_overload
def get_diag(mat: mat33d) -> vec3d: ...
@_overload
def get_diag(mat: mat33) -> vec3: ...
@_overload
def get_diag(mat: mat33h) -> vec3h: ...
@_overload
def get_diag(mat: mat44d) -> vec4d: ...
@_overload
def get_diag(mat: mat44) -> vec4: ...
@_overload
def get_diag(mat: mat44h) -> vec4h: ...
@_overload
def get_diag(mat: _Matrix[Any, Any, Any]) -> Any:
    """get_diag(mat: Mat[N, N, Scalar]) -> Vec[N, Scalar]

    The diagonal as a vector.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Scalar: a number of any type
    `Vec[N, T]`: a vector of N components
    """
@_overload
def inverse(a: mat22d) -> mat22d: ...
@_overload
def inverse(a: mat22) -> mat22: ...
@_overload
def inverse(a: mat22h) -> mat22h: ...
@_overload
def inverse(a: mat33d) -> mat33d: ...
@_overload
def inverse(a: mat33) -> mat33: ...
@_overload
def inverse(a: mat33h) -> mat33h: ...
@_overload
def inverse(a: mat44d) -> mat44d: ...
@_overload
def inverse(a: mat44) -> mat44: ...
@_overload
def inverse(a: mat44h) -> mat44h:
    """inverse(a: Mat[2, 2, Float]) -> Mat[2, 2, Float]
    inverse(a: Mat[3, 3, Float]) -> Mat[3, 3, Float]
    inverse(a: Mat[4, 4, Float]) -> Mat[4, 4, Float]

    Inverse; zero for a singular matrix.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Float: a float of any precision
    """
@_overload
def invert(a: _I) -> _I: ...
@_overload
def invert(a: _VectorT) -> _VectorT: ...
@_overload
def invert(a: _MatrixT) -> _MatrixT:
    """invert(a: Int) -> Int
    invert(a: Vec[N, Int]) -> Vec[N, Int]
    invert(a: Mat[R, C, Int]) -> Mat[R, C, Int]

    Bitwise complement.

    Bitwise complement of every component.

    Bitwise complement of every entry.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
@_overload
def isfinite(a: float64) -> bool: ...
@_overload
def isfinite(a: float) -> bool: ...
@_overload
def isfinite(a: float16) -> bool: ...
@_overload
def isfinite(x: _A) -> bool:
    """isfinite(a: Float) -> bool
    isfinite(x: Element) -> bool

    Whether `a` is neither infinite nor NaN.

    Whether every component is neither infinite nor NaN.

    Gradient: yes, but for some types none, a boolean has no derivative.

    Float: a float of any precision
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def isinf(a: float64) -> bool: ...
@_overload
def isinf(a: float) -> bool: ...
@_overload
def isinf(a: float16) -> bool: ...
@_overload
def isinf(x: _A) -> bool:
    """isinf(a: Float) -> bool
    isinf(x: Element) -> bool

    Whether `a` is infinite.

    Whether some component is infinite.

    Gradient: yes, but for some types none, a boolean has no derivative.

    Float: a float of any precision
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def isnan(a: float64) -> bool: ...
@_overload
def isnan(a: float) -> bool: ...
@_overload
def isnan(a: float16) -> bool: ...
@_overload
def isnan(x: _A) -> bool:
    """isnan(a: Float) -> bool
    isnan(x: Element) -> bool

    Whether `a` is not a number.

    Whether some component is not a number.

    Gradient: yes, but for some types none, a boolean has no derivative.

    Float: a float of any precision
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def length(a: _Vector[_N, _S]) -> _S: ...
@_overload
def length(a: quatd) -> float64: ...
@_overload
def length(a: quat) -> float: ...
@_overload
def length(a: quath) -> float16:
    """length(a: Vec[N, Float]) -> Float
    length(a: Quat[Float]) -> Float

    Euclidean length; its gradient at zero is taken as zero.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    `Quat[T]`: a quaternion (x, y, z, w)
    """
@_overload
def length_sq(a: _Vector[_N, _S]) -> _S: ...
@_overload
def length_sq(a: quatd) -> float64: ...
@_overload
def length_sq(a: quat) -> float: ...
@_overload
def length_sq(a: quath) -> float16:
    """length_sq(a: Vec[N, Scalar]) -> Scalar
    length_sq(a: Quat[Float]) -> Float

    Sum of squares.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    `Quat[T]`: a quaternion (x, y, z, w)
    Float: a float of any precision
    """
@_overload
def lerp(a: float64, b: float64 | float, t: float64 | float) -> float64: ...
@_overload
def lerp(a: float, b: float, t: float) -> float: ...
@_overload
def lerp(a: float16, b: float16 | float, t: float16 | float) -> float16: ...
@_overload
def lerp(a: _A, b: _A, t: _S) -> _A: ...
@_overload
def lerp(a: _VectorT, b: _VectorT, t: _Number) -> _VectorT: ...
@_overload
def lerp(a: _MatrixT, b: _MatrixT, t: _Number) -> _MatrixT:
    """lerp(a: Float, b: Float, t: Float) -> Float
    lerp(a: Element, b: Element, t: Float) -> Element
    lerp(a: Vec[N, Float], b: Vec[N, Float], t: Float) -> Vec[N, Float]
    lerp(a: Mat[R, K, Float], b: Mat[R, K, Float], t: Float) -> Mat[R, K, Float]

    Linear blend: `a` at t = 0, `b` at t = 1.

    Linear blend, component by component.

    Gradient: yes.

    Float: a float of any precision
    Element: a number, vector, matrix, quaternion or transform
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
def load(array: array[_T, Any], *indices: _Integer) -> _T:
    """load(array: Any, *indices: Any) -> Any

    The element at the indices.

    Gradient: yes.
    """
@_overload
def log(x: float64) -> float64: ...
@_overload
def log(x: float) -> float: ...
@_overload
def log(x: float16) -> float16:
    """log(x: Float) -> Float

    Natural logarithm.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def log10(x: float64) -> float64: ...
@_overload
def log10(x: float) -> float: ...
@_overload
def log10(x: float16) -> float16:
    """log10(x: Float) -> Float

    Decimal logarithm.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def log2(x: float64) -> float64: ...
@_overload
def log2(x: float) -> float: ...
@_overload
def log2(x: float16) -> float16:
    """log2(x: Float) -> Float

    Binary logarithm.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def lshift(a: _I, b: _I) -> _I: ...
@_overload
def lshift(a: _I, b: float) -> _I: ...
@_overload
def lshift(a: float, b: _I) -> _I: ...
@_overload
def lshift(a: _VectorT, b: _VectorT) -> _VectorT: ...
@_overload
def lshift(a: _MatrixT, b: _MatrixT) -> _MatrixT:
    """lshift(a: Int, b: Int) -> Int
    lshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]
    lshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

    `a` shifted left by `b` modulo the width, of 8 and 16 bits modulo 32.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
@_overload
def max(a: _S, b: _S) -> _S: ...
@_overload
def max(a: _S, b: float) -> _S: ...
@_overload
def max(a: float, b: _S) -> _S: ...
@_overload
def max(a: _A, b: _A) -> _A: ...
@_overload
def max(a: _Vector[_N, _S]) -> _S:
    """max(a: Scalar, b: Scalar) -> Scalar
    max(a: Element, b: Element) -> Element
    max(a: Vec[N, Scalar]) -> Scalar

    The larger of two; a tie goes to `a`, NaN loses against a number.

    The larger, component by component.

    The largest component.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    `Vec[N, T]`: a vector of N components
    """
@_overload
def min(a: _S, b: _S) -> _S: ...
@_overload
def min(a: _S, b: float) -> _S: ...
@_overload
def min(a: float, b: _S) -> _S: ...
@_overload
def min(a: _A, b: _A) -> _A: ...
@_overload
def min(a: _Vector[_N, _S]) -> _S:
    """min(a: Scalar, b: Scalar) -> Scalar
    min(a: Element, b: Element) -> Element
    min(a: Vec[N, Scalar]) -> Scalar

    The smaller of two; a tie goes to `a`, NaN loses against a number.

    The smaller, component by component.

    The smallest component.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    `Vec[N, T]`: a vector of N components
    """
@_overload
def mod(a: _S, b: _S) -> _S: ...
@_overload
def mod(a: _S, b: float) -> _S: ...
@_overload
def mod(a: float, b: _S) -> _S: ...
@_overload
def mod(x: _A, y: _A) -> _A:
    """mod(a: Scalar, b: Scalar) -> Scalar
    mod(x: Element, y: Element) -> Element

    Remainder with the sign of `a`.

    Component by component; a scalar goes with every component.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def mul(x: _S, y: _S) -> _S: ...
@_overload
def mul(x: _S, y: float) -> _S: ...
@_overload
def mul(x: float, y: _S) -> _S: ...
@_overload
def mul(x: _A, s: _S) -> _A: ...
@_overload
def mul(s: _S, x: _A) -> _A: ...
@_overload
def mul(a: mat22d, b: mat22d) -> mat22d: ...
@_overload
def mul(a: mat22, b: mat22) -> mat22: ...
@_overload
def mul(a: mat22h, b: mat22h) -> mat22h: ...
@_overload
def mul(a: mat33d, b: mat33d) -> mat33d: ...
@_overload
def mul(a: mat33, b: mat33) -> mat33: ...
@_overload
def mul(a: mat33h, b: mat33h) -> mat33h: ...
@_overload
def mul(a: mat44d, b: mat44d) -> mat44d: ...
@_overload
def mul(a: mat44, b: mat44) -> mat44: ...
@_overload
def mul(a: mat44h, b: mat44h) -> mat44h: ...
@_overload
def mul(a: _Matrix[Any, Any, Any], b: _Matrix[Any, Any, Any]) -> Any: ...
@_overload
def mul(a: mat22d, v: vec2d) -> vec2d: ...
@_overload
def mul(a: mat22, v: vec2) -> vec2: ...
@_overload
def mul(a: mat22h, v: vec2h) -> vec2h: ...
@_overload
def mul(a: mat33d, v: vec3d) -> vec3d: ...
@_overload
def mul(a: mat33, v: vec3) -> vec3: ...
@_overload
def mul(a: mat33h, v: vec3h) -> vec3h: ...
@_overload
def mul(a: mat44d, v: vec4d) -> vec4d: ...
@_overload
def mul(a: mat44, v: vec4) -> vec4: ...
@_overload
def mul(a: mat44h, v: vec4h) -> vec4h: ...
@_overload
def mul(a: _Matrix[Any, Any, Any], v: _Vector[Any, Any]) -> Any: ...
@_overload
def mul(v: vec2d, a: mat22d) -> vec2d: ...
@_overload
def mul(v: vec2, a: mat22) -> vec2: ...
@_overload
def mul(v: vec2h, a: mat22h) -> vec2h: ...
@_overload
def mul(v: vec3d, a: mat33d) -> vec3d: ...
@_overload
def mul(v: vec3, a: mat33) -> vec3: ...
@_overload
def mul(v: vec3h, a: mat33h) -> vec3h: ...
@_overload
def mul(v: vec4d, a: mat44d) -> vec4d: ...
@_overload
def mul(v: vec4, a: mat44) -> vec4: ...
@_overload
def mul(v: vec4h, a: mat44h) -> vec4h: ...
@_overload
def mul(v: _Vector[Any, Any], a: _Matrix[Any, Any, Any]) -> Any: ...
@_overload
def mul(a: quatd, b: quatd) -> quatd: ...
@_overload
def mul(a: quat, b: quat) -> quat: ...
@_overload
def mul(a: quath, b: quath) -> quath: ...
@_overload
def mul(a: transformd, b: transformd) -> transformd: ...
@_overload
def mul(a: transform, b: transform) -> transform: ...
@_overload
def mul(a: transformh, b: transformh) -> transformh:
    """mul(x: Scalar, y: Scalar) -> Scalar
    mul(x: Element, s: Scalar) -> Element
    mul(s: Scalar, x: Element) -> Element
    mul(a: Mat[R, K, Scalar], b: Mat[K, C, Scalar]) -> Mat[R, C, Scalar]
    mul(a: Mat[R, K, Scalar], v: Vec[K, Scalar]) -> Vec[R, Scalar]
    mul(v: Vec[K, Scalar], a: Mat[K, C, Scalar]) -> Vec[C, Scalar]
    mul(a: Quat[Float], b: Quat[Float]) -> Quat[Float]
    mul(a: Transform[Float], b: Transform[Float]) -> Transform[Float]

    Product of numbers, scaling, or the product of the kind (matrix, quaternion, transform).

    Every component times `s`.

    `s` times every component.

    Matrix product.

    Matrix times column vector.

    Row vector times matrix.

    Hamilton product: the rotation `b`, then `a`.

    The transform that applies `b`, then `a`.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    `Mat[R, C, T]`: a matrix of R rows and C columns
    `Vec[N, T]`: a vector of N components
    `Quat[T]`: a quaternion (x, y, z, w)
    Float: a float of any precision
    `Transform[T]`: a translation and a rotation
    """
def neg(x: _A) -> _A:
    """neg(x: Element) -> Element

    Negation, component by component.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
def nonzero(x: _S) -> _S:
    """nonzero(x: Scalar) -> Scalar

    1 where `x` is not zero, else 0.

    Gradient: yes.

    Scalar: a number of any type
    """
def norm_huber(v: _Vector[_N, _S], delta: _Number = ...) -> _S:
    """norm_huber(v: Vec[N, Float], delta: Float) -> Float

    Huber norm: quadratic up to `delta`, linear beyond.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    """
def norm_l1(v: _Vector[_N, _S]) -> _S:
    """norm_l1(v: Vec[N, Float]) -> Float

    Sum of absolute components.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    """
def norm_l2(v: _Vector[_N, _S]) -> _S:
    """norm_l2(v: Vec[N, Float]) -> Float

    Euclidean length.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    """
def norm_pseudo_huber(v: _Vector[_N, _S], delta: _Number = ...) -> _S:
    """norm_pseudo_huber(v: Vec[N, Float], delta: Float) -> Float

    Smooth Huber norm, delta * sqrt(1 + |x / delta|^2).

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    """
@_overload
def normalize(a: _VectorT) -> _VectorT: ...
@_overload
def normalize(a: quatd) -> quatd: ...
@_overload
def normalize(a: quat) -> quat: ...
@_overload
def normalize(a: quath) -> quath:
    """normalize(a: Vec[N, Float]) -> Vec[N, Float]
    normalize(a: Quat[Float]) -> Quat[Float]

    `a` scaled to length 1; zero stays zero.

    `a` scaled to length 1; zero becomes the rotation by nothing, (0, 0, 0, 1).

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    `Quat[T]`: a quaternion (x, y, z, w)
    """
@_overload
def outer(a: vec2d, b: vec2d) -> mat22d: ...
@_overload
def outer(a: vec2, b: vec2) -> mat22: ...
@_overload
def outer(a: vec2h, b: vec2h) -> mat22h: ...
@_overload
def outer(a: vec3d, b: vec3d) -> mat33d: ...
@_overload
def outer(a: vec3, b: vec3) -> mat33: ...
@_overload
def outer(a: vec3h, b: vec3h) -> mat33h: ...
@_overload
def outer(a: vec4d, b: vec4d) -> mat44d: ...
@_overload
def outer(a: vec4, b: vec4) -> mat44: ...
@_overload
def outer(a: vec4h, b: vec4h) -> mat44h: ...
@_overload
def outer(a: _Vector[Any, Any], b: _Vector[Any, Any]) -> Any:
    """outer(a: Vec[R, Scalar], b: Vec[C, Scalar]) -> Mat[R, C, Scalar]

    The matrix of products a[i] * b[j].

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
def pos(x: _A) -> _A:
    """pos(x: Element) -> Element

    The value itself.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def pow(x: float64, y: float64 | float) -> float64: ...
@_overload
def pow(x: float, y: float) -> float: ...
@_overload
def pow(x: float16, y: float16 | float) -> float16:
    """pow(x: Float, y: Float) -> Float

    `x` to the power `y`.

    Gradient: yes.

    Float: a float of any precision
    """
def printf(format: str, *values: Any) -> None:
    """printf(*values: Any) -> None

    Print `values` by the C conversions of the constant `format`.

    Gradient: none, a report has no value.
    """
@_overload
def radians(x: float64) -> float64: ...
@_overload
def radians(x: float) -> float: ...
@_overload
def radians(x: float16) -> float16:
    """radians(x: Float) -> Float

    Degrees to radians.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def rint(x: float64) -> float64: ...
@_overload
def rint(x: float) -> float: ...
@_overload
def rint(x: float16) -> float16:
    """rint(x: Float) -> Float

    The nearest whole number; halves go to the even one.

    Gradient: none, piecewise constant.

    Float: a float of any precision
    """
@_overload
def round(x: float64) -> float64: ...
@_overload
def round(x: float) -> float: ...
@_overload
def round(x: float16) -> float16:
    """round(x: Float) -> Float

    The nearest whole number; halves go away from zero.

    Gradient: none, piecewise constant.

    Float: a float of any precision
    """
@_overload
def rshift(a: _I, b: _I) -> _I: ...
@_overload
def rshift(a: _I, b: float) -> _I: ...
@_overload
def rshift(a: float, b: _I) -> _I: ...
@_overload
def rshift(a: _VectorT, b: _VectorT) -> _VectorT: ...
@_overload
def rshift(a: _MatrixT, b: _MatrixT) -> _MatrixT:
    """rshift(a: Int, b: Int) -> Int
    rshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]
    rshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

    `a` shifted right by `b` modulo the width, of 8 and 16 bits modulo 32; signed numbers keep their sign.

    Gradient: none, integers have no derivative.

    Int: an integer of any width
    `Vec[N, T]`: a vector of N components
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
@_overload
def sign(x: _S) -> _S: ...
@_overload
def sign(x: _VectorT) -> _VectorT:
    """sign(x: Scalar) -> Scalar
    sign(x: Vec[N, Scalar]) -> Vec[N, Scalar]

    -1 for negative `x`, else 1.

    -1 for negative components, else 1.

    Gradient: yes.

    Scalar: a number of any type
    `Vec[N, T]`: a vector of N components
    """
@_overload
def sin(x: float64) -> float64: ...
@_overload
def sin(x: float) -> float: ...
@_overload
def sin(x: float16) -> float16:
    """sin(x: Float) -> Float

    Sine of `x` [rad].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def sinh(x: float64) -> float64: ...
@_overload
def sinh(x: float) -> float: ...
@_overload
def sinh(x: float16) -> float16:
    """sinh(x: Float) -> Float

    Hyperbolic sine.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def skew(vec: vec3d) -> mat33d: ...
@_overload
def skew(vec: vec3) -> mat33: ...
@_overload
def skew(vec: vec3h) -> mat33h: ...
@_overload
def skew(vec: _Vector[Any, Any]) -> Any:
    """skew(vec: Vec[3, Scalar]) -> Mat[3, 3, Scalar]

    The matrix whose product with u is cross(v, u).

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Scalar: a number of any type
    `Mat[R, C, T]`: a matrix of R rows and C columns
    """
def smooth_normalize(v: _VectorT, delta: _Number = ...) -> _VectorT:
    """smooth_normalize(v: Vec[N, Float], delta: Float) -> Vec[N, Float]

    `v` divided by its pseudo-Huber norm: smooth through zero.

    Gradient: yes.

    `Vec[N, T]`: a vector of N components
    Float: a float of any precision
    """
@_overload
def smoothstep(a: float64, b: float64 | float, x: float64 | float) -> float64: ...
@_overload
def smoothstep(a: float, b: float, x: float) -> float: ...
@_overload
def smoothstep(a: float16, b: float16 | float, x: float16 | float) -> float16:
    """smoothstep(a: Float, b: Float, x: Float) -> Float

    Hermite blend from 0 at x = a to 1 at x = b; a step behind x = a where both are one number.

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def sqrt(x: float64) -> float64: ...
@_overload
def sqrt(x: float) -> float: ...
@_overload
def sqrt(x: float16) -> float16:
    """sqrt(x: Float) -> Float

    Square root.

    Gradient: yes.

    Float: a float of any precision
    """
def step(x: _S) -> _S:
    """step(x: Scalar) -> Scalar

    1 for negative `x`, else 0.

    Gradient: yes.

    Scalar: a number of any type
    """
def store(array: array[_T, Any], *indices_and_value: Any) -> None:
    """store(array: Any, *rest: Any) -> None

    Write the last argument to the element at the indices.

    Gradient: yes.
    """
@_overload
def sub(a: _A, b: _A) -> _A: ...
@_overload
def sub(x: _A, y: _A) -> _A:
    """sub(a: Element, b: Element) -> Element
    sub(x: Element, y: Element) -> Element

    Difference, component by component.

    Component by component; a scalar goes with every component.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def tan(x: float64) -> float64: ...
@_overload
def tan(x: float) -> float: ...
@_overload
def tan(x: float16) -> float16:
    """tan(x: Float) -> Float

    Tangent of `x` [rad].

    Gradient: yes.

    Float: a float of any precision
    """
@_overload
def tanh(x: float64) -> float64: ...
@_overload
def tanh(x: float) -> float: ...
@_overload
def tanh(x: float16) -> float16:
    """tanh(x: Float) -> Float

    Hyperbolic tangent.

    Gradient: yes.

    Float: a float of any precision
    """
def tid() -> _Thread:
    """tid() -> int32

    The index of the thread; unpack as many indices as the launch has dimensions (1 to 4).

    Gradient: none, an integer.
    """
def trace(a: _Matrix[_N, _N, _S]) -> _S:
    """trace(a: Mat[N, N, Scalar]) -> Scalar

    Sum of the diagonal.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Scalar: a number of any type
    """
@_overload
def transpose(a: mat22d) -> mat22d: ...
@_overload
def transpose(a: mat22) -> mat22: ...
@_overload
def transpose(a: mat22h) -> mat22h: ...
@_overload
def transpose(a: mat33d) -> mat33d: ...
@_overload
def transpose(a: mat33) -> mat33: ...
@_overload
def transpose(a: mat33h) -> mat33h: ...
@_overload
def transpose(a: mat44d) -> mat44d: ...
@_overload
def transpose(a: mat44) -> mat44: ...
@_overload
def transpose(a: mat44h) -> mat44h: ...
@_overload
def transpose(a: _Matrix[Any, Any, Any]) -> Any:
    """transpose(a: Mat[R, C, Scalar]) -> Mat[C, R, Scalar]

    The transposed matrix.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Scalar: a number of any type
    """
@_overload
def trunc(x: float64) -> float64: ...
@_overload
def trunc(x: float) -> float: ...
@_overload
def trunc(x: float16) -> float16:
    """trunc(x: Float) -> Float

    `x` without its fraction.

    Gradient: none, piecewise constant.

    Float: a float of any precision
    """
@_overload
def unot(a: bool) -> bool: ...
@_overload
def unot(a: _S) -> bool:
    """unot(a: bool) -> bool
    unot(a: Scalar) -> bool

    Logical negation.

    Whether a number is zero.

    Gradient: yes, but for some types none, a boolean has no derivative.

    Scalar: a number of any type
    """
def view(array: array[_T, Any], *indices: _Integer) -> array[_T, Any]:
    """view(array: Any, *indices: Any) -> Any

    The sub-array at leading indices: `a[i]` of a 2-D array is a 1-D array.

    Gradient: none, a view shares memory: gradients flow through loads.
    """
def where(condition: Any, if_true: _A, if_false: _A) -> _A:
    """where(cond: bool, value_if_true: Element, value_if_false: Element) -> Element

    `value_if_true` where the condition holds, else `value_if_false`; both are evaluated.

    Gradient: yes.

    Element: a number, vector, matrix, quaternion or transform
    """
def breakpoint() -> None:
    """breakpoint() -> None

    Stop in Python's debugger on device="interp"; nothing on compiled devices.

    Gradient: none, a report has no value.
    """
@_overload
def div_approx(a: _S, b: _S) -> _S: ...
@_overload
def div_approx(a: _S, b: float) -> _S: ...
@_overload
def div_approx(a: float, b: _S) -> _S: ...
@_overload
def div_approx(a: _A, b: _S) -> _A: ...
@_overload
def div_approx(a: _S, b: _A) -> _A:
    """div(a: Scalar, b: Scalar) -> Scalar
    div(a: Element, b: Scalar) -> Element
    div(a: Scalar, b: Element) -> Element

    Quotient; integers truncate towards zero.

    Every component divided by `b`.

    `a` divided by every component.

    Gradient: yes.

    Scalar: a number of any type
    Element: a number, vector, matrix, quaternion or transform
    """
@_overload
def inverse_approx(a: mat22d) -> mat22d: ...
@_overload
def inverse_approx(a: mat22) -> mat22: ...
@_overload
def inverse_approx(a: mat22h) -> mat22h: ...
@_overload
def inverse_approx(a: mat33d) -> mat33d: ...
@_overload
def inverse_approx(a: mat33) -> mat33: ...
@_overload
def inverse_approx(a: mat33h) -> mat33h: ...
@_overload
def inverse_approx(a: mat44d) -> mat44d: ...
@_overload
def inverse_approx(a: mat44) -> mat44: ...
@_overload
def inverse_approx(a: mat44h) -> mat44h:
    """inverse(a: Mat[2, 2, Float]) -> Mat[2, 2, Float]
    inverse(a: Mat[3, 3, Float]) -> Mat[3, 3, Float]
    inverse(a: Mat[4, 4, Float]) -> Mat[4, 4, Float]

    Inverse; zero for a singular matrix.

    Gradient: yes.

    `Mat[R, C, T]`: a matrix of R rows and C columns
    Float: a float of any precision
    """
def bvh_get_group_root(id: uint64 | int, group: int) -> int:
    """The `root` with which a query finds boxes of one group only; -1, the root of all, if there is no such group.
    """
def bvh_query_aabb(id: uint64 | int, low: vec3, high: vec3, root: int = ...) -> BvhQueryAabb:
    """A query of all boxes that meet the box from `low` to `high`. root: see `bvh_get_group_root`.
    """
def bvh_query_capsule(id: uint64 | int, start: vec3, dir: vec3, radius: float, root: int = ...) -> BvhQueryCapsule:
    """A query of all boxes that meet a sphere on its way from `start` along `dir`, as far as `bvh_query_next` allows.

        From one point to another, the way is their difference and max_dist is 1.
    """
@_overload
def bvh_query_next(query: BvhQueryAabb, index: int, max_dist: float = ...) -> bool: ...
@_overload
def bvh_query_next(query: BvhQuerySphere, index: int, max_dist: float = ...) -> bool: ...
@_overload
def bvh_query_next(query: BvhQueryRay, index: int, max_dist: float = ...) -> bool: ...
@_overload
def bvh_query_next(query: BvhQueryCapsule, index: int, max_dist: float = ...) -> bool:
    """Whether there is another primitive; its number in the arrays of the hierarchy goes to `index`.

        max_dist: how far to follow a ray or capsule, in lengths of its direction; without meaning for boxes and spheres.
        It may come down from call to call; where it goes up, primitives may be missed. At the end `index` keeps its value.
    """
def bvh_query_ray(id: uint64 | int, start: vec3, dir: vec3, root: int = ...) -> BvhQueryRay:
    """A query of all boxes that a ray meets, as far as `bvh_query_next` allows; `dir` need not be a unit vector.
    """
def bvh_query_sphere(id: uint64 | int, center: vec3, radius: float, root: int = ...) -> BvhQuerySphere:
    """A query of all boxes that meet a sphere.
    """
@_overload
def hash_grid_neighbors(id: uint64 | int, point: vec3, max_dist: float) -> HashGridNeighbors: ...
@_overload
def hash_grid_neighbors(id: uint64 | int, point: vec3, max_dist: float, group: int) -> HashGridNeighbors: ...
@_overload
def hash_grid_neighbors(id: uint64 | int, point: vec3d, max_dist: float64 | float) -> HashGridNeighborsD: ...
@_overload
def hash_grid_neighbors(id: uint64 | int, point: vec3d, max_dist: float64 | float, group: int) -> HashGridNeighborsD:
    """A query of all points within `max_dist` of `point`, each once. See `hash_grid_neighbors_next`.

        Distances are those to positions as the grid was built from, round its `period` the shorter way.
    """
@_overload
def hash_grid_neighbors_next(query: HashGridNeighbors, index: int) -> bool: ...
@_overload
def hash_grid_neighbors_next(query: HashGridNeighborsD, index: int) -> bool:
    """Whether there is another neighbour; its index in the user's array goes to `index`.

        At the end `index` keeps its value.
    """
def nearest_image(offset: Any, period: Any) -> Any:
    """The shortest of a difference of positions and its images, all `vec3`; a period of 0 stands for none.

        What kernels need beside queries of periodic grids. The derivative is that of `offset`.
    """
def hash_grid_point_id(id: uint64 | int, index: int) -> int:
    """The user's index of a sorted point; -1 for an `index` out of range.

        Threads that take points in this order work on neighbours in space, so that they share the cache. All points
        occur once; those with a NaN or an infinity come last.
    """
@_overload
def hash_grid_query(id: uint64 | int, point: vec3, max_dist: float) -> HashGridQuery: ...
@_overload
def hash_grid_query(id: uint64 | int, point: vec3, max_dist: float, group: int) -> HashGridQuery: ...
@_overload
def hash_grid_query(id: uint64 | int, point: vec3d, max_dist: float64 | float) -> HashGridQueryD: ...
@_overload
def hash_grid_query(id: uint64 | int, point: vec3d, max_dist: float64 | float, group: int) -> HashGridQueryD: ...
@_overload
def hash_grid_query(id: uint64 | int, point: vec3h, max_dist: float16 | float) -> HashGridQuery: ...
@_overload
def hash_grid_query(id: uint64 | int, point: vec3h, max_dist: float16 | float, group: int) -> HashGridQuery:
    """A query of all points in the cells that `point - max_dist` to `point + max_dist` covers: candidates.

        Some are farther away than `max_dist`: the kernel tests distances. See `hash_grid_query_next`, and
        `hash_grid_neighbors` for the points within `max_dist` and no others.
    """
@_overload
def hash_grid_query_next(query: HashGridQuery, index: int) -> bool: ...
@_overload
def hash_grid_query_next(query: HashGridQueryD, index: int) -> bool:
    """Whether there is another candidate; its index in the user's array goes to `index`.

        At the end `index` keeps its value.
    """
def mesh_eval_face_normal(id: uint64 | int, face: int) -> vec3:
    """The unit normal of a face, towards the side from which it turns counter-clockwise; zero without area.
    """
def mesh_eval_position(id: uint64 | int, face: int, bary_u: float, bary_v: float) -> vec3:
    """The point u a + v b + (1 - u - v) c of a face with the corners a, b, c.
    """
def mesh_eval_velocity(id: uint64 | int, face: int, bary_u: float, bary_v: float) -> vec3:
    """The velocity of that point of a face; zero where the mesh has no velocities.
    """
def mesh_get(id: uint64 | int) -> MeshData:
    """The arrays of a mesh: `points`, `velocities` (empty where it has none), `indices`.
    """
def mesh_get_group_root(id: uint64 | int, group: int) -> int:
    """The `root` with which queries along rays look at the faces of one group; -1, all faces, if there is none.
    """
def mesh_get_index(id: uint64 | int, index: int) -> int:
    """The vertex at a place of the index array: 3 * face + 0, 1 or 2.
    """
def mesh_get_point(id: uint64 | int, index: int) -> vec3:
    """The position of the vertex at a place of the index array: 3 * face + 0, 1 or 2.
    """
def mesh_get_velocity(id: uint64 | int, index: int) -> vec3:
    """The velocity of the vertex at a place of the index array; zero where the mesh has no velocities.
    """
def mesh_query_aabb(id: uint64 | int, low: vec3, high: vec3) -> MeshQueryAABB:
    """The faces whose bounding boxes meet the box from `low` to `high`, touching included.

        That is what the name says: the face itself may pass by the box; `intersect_tri_aabb` tells. A box that
        is empty along an axis, or not a number, meets nothing.
    """
@_overload
def mesh_query_aabb_next(query: MeshQueryAABB, index: int) -> bool: ...
@_overload
def mesh_query_aabb_next(query: MeshQuerySphere, index: int) -> bool:
    """Write the next face of a query to `index`; returns whether there is one. At the end `index` stays as it is.
    """
@_overload
def mesh_query_next(query: MeshQueryAABB, index: int) -> bool: ...
@_overload
def mesh_query_next(query: MeshQuerySphere, index: int) -> bool:
    """Write the next face of a query to `index`; returns whether there is one. At the end `index` stays as it is.
    """
def mesh_query_sphere(id: uint64 | int, center: vec3, radius: float) -> MeshQuerySphere:
    """The faces that have a point within `radius` of `center`, touching included.

        A negative radius counts as 0; one that is not a number finds nothing. Squares of areas must be numbers of float32:
        inside of triangles larger than about 1e9, or smaller than about 1e-8, points may be missed, their edges are not.
    """
def mesh_query_aabb_next_tiled(query: MeshQueryAABBTiled) -> Any:
    """The next faces, one for each lane, as a tile of one int32: -1 at the end of the query.
    """
def mesh_query_aabb_tiled(id: uint64 | int, low: vec3, high: vec3) -> MeshQueryAABBTiled:
    """A query of the faces whose bounding boxes meet the box from `low` to `high`, as `mesh_query_aabb`.
    """
def tile_mesh_query_aabb(id: uint64 | int, low: vec3, high: vec3) -> MeshQueryAABBTiled:
    """A query of the faces whose bounding boxes meet the box from `low` to `high`, as `mesh_query_aabb`.
    """
def tile_mesh_query_aabb_next(query: MeshQueryAABBTiled) -> Any:
    """The next faces, one for each lane, as a tile of one int32: -1 at the end of the query.
    """
@_overload
def tile_query_valid(query: Any) -> bool: ...
@_overload
def tile_query_valid(query: MeshQueryAABBTiled) -> bool:
    """Whether a query goes on: until a call of its `next` found nothing.
    """
def bvh_query_aabb_tiled(id: uint64 | int, low: vec3, high: vec3) -> Any:
    """A query of all boxes that meet the box from `low` to `high`, for `tile_bvh_query_next`.
    """
def bvh_query_next_tiled(query: Any) -> Any:
    """The numbers of the next boxes, one for each lane, as a tile of one int32: -1 at the end of the query.
    """
def bvh_query_ray_tiled(id: uint64 | int, start: vec3, dir: vec3) -> Any:
    """A query of all boxes that a ray meets, for `tile_bvh_query_next`; `dir` need not be a unit vector.
    """
def tile_bvh_query_aabb(id: uint64 | int, low: vec3, high: vec3) -> Any:
    """A query of all boxes that meet the box from `low` to `high`, for `tile_bvh_query_next`.
    """
def tile_bvh_query_next(query: Any) -> Any:
    """The numbers of the next boxes, one for each lane, as a tile of one int32: -1 at the end of the query.
    """
def tile_bvh_query_ray(id: uint64 | int, start: vec3, dir: vec3) -> Any:
    """A query of all boxes that a ray meets, for `tile_bvh_query_next`; `dir` need not be a unit vector.
    """
@_overload
def mesh_query_furthest_point_no_sign(id: uint64 | int, point: vec3, min_dist: float) -> MeshQueryPoint: ...
@_overload
def mesh_query_furthest_point_no_sign(id: uint64 | int, point: vec3, min_dist: float, face: int, bary_u: float, bary_v: float) -> bool:
    """The point of the mesh furthest from `point`, if it is strictly further than `min_dist`: always a vertex.
    """
@_overload
def mesh_query_point(id: uint64 | int, point: vec3, max_dist: float) -> MeshQueryPoint: ...
@_overload
def mesh_query_point(id: uint64 | int, point: vec3, max_dist: float, inside: float, face: int, bary_u: float, bary_v: float) -> bool:
    """The point of the mesh closest to `point`, if it is strictly closer than `max_dist`, and a sign.

        `sign` is -1 where at least two of the three rays from `point` along the positive axes first hit the back of a
        face, else 1. A front and a back that are hit at once, where a ray grazes an edge, do not count. Rays look at the
        whole mesh, whatever `max_dist` is. Right for closed meshes; in a mesh with holes, a vote of what is seen.
    """
@_overload
def mesh_query_point_no_sign(id: uint64 | int, point: vec3, max_dist: float) -> MeshQueryPoint: ...
@_overload
def mesh_query_point_no_sign(id: uint64 | int, point: vec3, max_dist: float, face: int, bary_u: float, bary_v: float) -> bool:
    """The point of the mesh closest to `point`, if it is strictly closer than `max_dist`.

        Of equally close faces that with the smallest number. Squares of areas must be numbers of float32: distances may
        be up to 1e9, and triangles smaller than about 1e-8 count as their edges. That holds for all queries for points.
    """
@_overload
def mesh_query_point_sign_normal(id: uint64 | int, point: vec3, max_dist: float, epsilon: float = ...) -> MeshQueryPoint: ...
@_overload
def mesh_query_point_sign_normal(id: uint64 | int, point: vec3, max_dist: float, inside: float, face: int, bary_u: float, bary_v: float, epsilon: float = ...) -> bool:
    """As `mesh_query_point`, with the sign by the angle-weighted normals at the closest point.

        Exact for closed meshes without self-intersections, also thin ones, and faster than rays: faces meet at an edge or a
        corner where they have the same coordinates, whatever their indices. Triangles with an angle below 3.5e-4 count as
        their edges, so beside them the sign may be wrong.

        epsilon: only where the faces around the closest edge or corner do not close up (holes, corners in the middle of
        edges, coordinates that differ by rounding), those within `epsilon` times the average edge count as meeting.
        Signs around what is thinner than that may then be wrong.
    """
@_overload
def mesh_query_point_sign_parity(id: uint64 | int, point: vec3, max_dist: float, n_sample: int = ..., perturbation_scale: float = ...) -> MeshQueryPoint: ...
@_overload
def mesh_query_point_sign_parity(id: uint64 | int, point: vec3, max_dist: float, inside: float, face: int, bary_u: float, bary_v: float, n_sample: int = ..., perturbation_scale: float = ...) -> bool:
    """As `mesh_query_point`, with -1 where at least half of `n_sample` rays cross the mesh an odd number of times.

        The orientation of faces does not matter. No ray slips between two faces, so one is enough for closed meshes.
        `n_sample` below 1 counts as 1.
    """
@_overload
def mesh_query_point_sign_winding_number(id: uint64 | int, point: vec3, max_dist: float, accuracy: float = ..., threshold: float = ...) -> MeshQueryPoint: ...
@_overload
def mesh_query_point_sign_winding_number(id: uint64 | int, point: vec3, max_dist: float, inside: float, face: int, bary_u: float, bary_v: float, accuracy: float = ..., threshold: float = ...) -> bool:
    """As `mesh_query_point`, with -1 where the winding number is above `threshold`.

        Right for meshes with holes and self-intersections too. accuracy: see `winding_number`. A mesh made without
        `support_winding_number` has the sign of `mesh_query_point`.
    """
@_overload
def mesh_query_ray(id: uint64 | int, start: vec3, dir: vec3, max_t: float, root: int = ...) -> MeshQueryRay: ...
@_overload
def mesh_query_ray(id: uint64 | int, start: vec3, dir: vec3, max_t: float, t: float, bary_u: float, bary_v: float, sign: float, normal: vec3, face: int, root: int = ...) -> bool:
    """The first hit of the ray start + t dir with 0 <= t < max_t; `dir` need not have unit length.

        root: where to look, see `mesh_get_group_root`; -1 for all faces.

        Without a hit, `result` is False, `face` -1 and the rest 0. Faces seen edge-on are not hit.
    """
def mesh_query_ray_anyhit(id: uint64 | int, start: vec3, dir: vec3, max_t: float, root: int = ...) -> bool:
    """Whether the ray start + t dir hits anything with 0 <= t < max_t; root: as of `mesh_query_ray`.
    """
def mesh_query_ray_count_intersections(id: uint64 | int, start: vec3, dir: vec3, root: int = ...) -> int:
    """How many faces the ray start + t dir crosses at t >= 0; root: as of `mesh_query_ray`.

        A ray through an edge or a corner crosses as many of the faces there as a ray beside it, up to an even
        number: so the count is odd exactly for a start inside a closed mesh. At the rim of an open mesh it crosses one.
    """
@_overload
def texture_sample(tex: Texture1D, u: float, dtype: Any, lod: float = ...) -> Any: ...
@_overload
def texture_sample(tex: Texture2D, uv: vec2, dtype: Any, lod: float = ...) -> Any: ...
@_overload
def texture_sample(tex: Texture2D, u: float, v: float, dtype: Any, lod: float = ...) -> Any: ...
@_overload
def texture_sample(tex: Texture3D, uvw: vec3, dtype: Any, lod: float = ...) -> Any: ...
@_overload
def texture_sample(tex: Texture3D, u: float, v: float, w: float, dtype: Any, lod: float = ...) -> Any:
    """The numbers, of type `dtype`, of a texture at a coordinate; zero where there is no texture.

        u: from 0 to 1 along the texture, where it has normalized coordinates; else in texels. The centre of texel i of n is
        at (i + 1/2) / n, or at i + 1/2.
        dtype: float, vec2f or vec4f: channels that the texture lacks are zero.
        lod: the level of detail, 0 the finest. Numbers below 0 count as 0, those above the coarsest level as that. Between
        levels `mip_filter_mode` counts.
    """
def volume_sample_grad_index(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, voxel_data: array[Any, Any], background: _A, grad: Any) -> None:
    """`volume_sample_index`; `grad` becomes the gradient with respect to `uvw`, which is zero for CLOSEST.

        grad: a vector of three elements; for vectors of N components a matrix of shape (N, 3).
    """
@_overload
def volume_sample_index(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, voxel_data: array[_S, Any], background: _Number) -> _I: ...
@_overload
def volume_sample_index(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, voxel_data: array[Any, Any], background: _A) -> _A:
    """The value at the point `uvw` of index space, from an array with one element per voxel of the volume.

        sampling_mode: `Volume.CLOSEST` or `Volume.LINEAR`; integers are always those of the closest voxel.
        voxel_data: at least `volume_voxel_count` elements, in the order of `volume_lookup_index`.
        background: the value, of the array's type, of voxels without an index.
    """
@_overload
def volume_lookup(id: uint64 | int, i: int, j: int, k: int, dtype: Any = ...) -> Any: ...
@_overload
def volume_lookup(id: uint64 | int, ijk: vec3i, dtype: Any = ...) -> Any:
    """The value, of type `dtype`, of voxel (i, j, k).

        dtype: what the volume holds. One that holds something else makes the launch fail with a `KernelAssertionError`.
    """
def volume_lookup_f(id: uint64 | int, i: int, j: int, k: int) -> float:
    """`volume_lookup` of float32.
    """
def volume_lookup_i(id: uint64 | int, i: int, j: int, k: int) -> int:
    """`volume_lookup` of int32.
    """
def volume_lookup_index(id: uint64 | int, i: int, j: int, k: int) -> int:
    """The position of voxel (i, j, k) in arrays of `volume_voxel_count` elements, -1 for a voxel that has none.

        In volumes of values all 512 voxels of a leaf have one, in index volumes those that are active.
    """
def volume_lookup_v(id: uint64 | int, i: int, j: int, k: int) -> vec3:
    """`volume_lookup` of vec3f.
    """
def volume_store(id: uint64 | int, i: int, j: int, k: int, value: Any) -> None:
    """Replace the value of voxel (i, j, k), which must lie in a leaf: outside of leaves nothing happens.

        The tree stays as it is: no voxel becomes active, and statistics in the grid are not brought up to date.
    """
def volume_store_f(id: uint64 | int, i: int, j: int, k: int, value: float) -> None:
    """`volume_store` of float32.
    """
def volume_store_i(id: uint64 | int, i: int, j: int, k: int, value: int) -> None:
    """`volume_store` of int32.
    """
def volume_store_v(id: uint64 | int, i: int, j: int, k: int, value: vec3) -> None:
    """`volume_store` of vec3f.
    """
def volume_voxel_count(id: uint64 | int) -> int:
    """The number of voxels with an index, see `volume_lookup_index`.
    """
def volume_sample_local(id: uint64 | int, uvw: vec3, sampling_mode: int) -> float:
    """`volume_sample_f`: the point `uvw` lies in index space.
    """
def volume_sample_world(id: uint64 | int, xyz: vec3, sampling_mode: int) -> float:
    """`volume_sample_f` at the point `xyz` of world space.
    """
def volume_transform(id: uint64 | int, uvw: vec3) -> vec3:
    """`volume_index_to_world`: from voxel space to world space.
    """
def volume_transform_inv(id: uint64 | int, xyz: vec3) -> vec3:
    """`volume_world_to_index`: from world space to voxel space.
    """
def volume_sample(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, dtype: Any) -> Any:
    """The value, of type `dtype`, of a volume at the point `uvw` of index space.

        sampling_mode: `Volume.CLOSEST` or `Volume.LINEAR`; integers are always those of the closest voxel.
        dtype: what the volume holds: float32, float64, int32, int64, uint32, vec3f, vec3d, vec4f or vec4d.
        A volume that holds something else makes the launch fail with a `KernelAssertionError`.
    """
def volume_sample_f(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int) -> float:
    """`volume_sample` of float32.
    """
def volume_sample_grad(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, grad: Any, dtype: Any) -> None:
    """`volume_sample`; `grad` becomes the gradient with respect to `uvw`, which is zero for CLOSEST.

        grad: a vector of three `dtype`; for vectors of N components a matrix of shape (N, 3).
    """
def volume_sample_grad_f(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, grad: vec3) -> float:
    """`volume_sample_grad` of float32.
    """
def volume_sample_grad_v(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int, grad: mat33) -> vec3:
    """`volume_sample_grad` of vec3f.
    """
def volume_sample_i(id: uint64 | int, uvw: _Vector[Literal[3], _S]) -> int:
    """`volume_sample` of int32: the value of the closest voxel.
    """
def volume_sample_v(id: uint64 | int, uvw: _Vector[Literal[3], _S], sampling_mode: int) -> vec3:
    """`volume_sample` of vec3f.
    """
@_overload
def volume_index_to_world(id: uint64 | int, uvw: vec3) -> vec3: ...
@_overload
def volume_index_to_world(id: uint64 | int, uvw: vec3d) -> vec3d:
    """The point of world space that stands at `uvw` in index space.
    """
@_overload
def volume_index_to_world_dir(id: uint64 | int, uvw: vec3) -> vec3: ...
@_overload
def volume_index_to_world_dir(id: uint64 | int, uvw: vec3d) -> vec3d:
    """A direction of index space in world space; its length changes with the size of the voxels.
    """
@_overload
def volume_world_to_index(id: uint64 | int, xyz: vec3) -> vec3: ...
@_overload
def volume_world_to_index(id: uint64 | int, xyz: vec3d) -> vec3d:
    """The point of index space that stands at `xyz` in world space.
    """
@_overload
def volume_world_to_index_dir(id: uint64 | int, xyz: vec3) -> vec3: ...
@_overload
def volume_world_to_index_dir(id: uint64 | int, xyz: vec3d) -> vec3d:
    """A direction of world space in index space.
    """

# ----- everything else, from the module that defines it

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from math import tau as tau
from .config import DeterministicMode as DeterministicMode
from .core.frontend.rules.addresses import address_of as address_of
from .core.frontend.functions.derivatives import grad as grad
from .core.frontend.translate.forms import adjoint as adjoint
from .core.frontend.translate.forms import length as len
from .core.frontend.translate.forms import print_ as print
from .core.frontend.functions.gradients import func_grad as func_grad
from .core.frontend.functions.gradients import func_replay as func_replay
from .core.frontend.functions.native import func_native as func_native
from .core.lib.tile_algebra import tile_axpy as tile_axpy
from .core.lib.tile_algebra import tile_cholesky as tile_cholesky
from .core.lib.tile_algebra import tile_cholesky_inplace as tile_cholesky_inplace
from .core.lib.tile_algebra import tile_cholesky_solve as tile_cholesky_solve
from .core.lib.tile_algebra import tile_cholesky_solve_inplace as tile_cholesky_solve_inplace
from .core.lib.tile_algebra import tile_diag_add as tile_diag_add
from .core.lib.tile_algebra import tile_dot as tile_dot
from .core.lib.tile_algebra import tile_lower_solve as tile_lower_solve
from .core.lib.tile_algebra import tile_lower_solve_inplace as tile_lower_solve_inplace
from .core.lib.tile_algebra import tile_matmul as tile_matmul
from .core.lib.tile_algebra import tile_upper_solve as tile_upper_solve
from .core.lib.tile_algebra import tile_upper_solve_inplace as tile_upper_solve_inplace
from .core.lib.tile_order import tile_sort as tile_sort
from .core.lib.tile_random import tile_randf as tile_randf
from .core.lib.tile_random import tile_randi as tile_randi
from .core.frontend.rules.tiles import tile as tile
from .core.frontend.tiles.shapes import tile_assign as tile_assign
from .core.frontend.tiles.shapes import tile_broadcast as tile_broadcast
from .core.frontend.tiles.shapes import tile_reshape as tile_reshape
from .core.frontend.tiles.shapes import tile_slice_indexed as tile_slice_indexed
from .core.frontend.tiles.shapes import tile_squeeze as tile_squeeze
from .core.frontend.tiles.shapes import tile_transpose as tile_transpose
from .core.frontend.tiles.shapes import tile_view as tile_view
from .core.frontend.tiles.scatter import tile_scatter_add as tile_scatter_add
from .core.frontend.tiles.scatter import tile_scatter_masked as tile_scatter_masked
from .core.frontend.tiles.stack import tile_stack as tile_stack
from .core.frontend.tiles.stack import tile_stack_clear as tile_stack_clear
from .core.frontend.tiles.stack import tile_stack_count as tile_stack_count
from .core.frontend.tiles.stack import tile_stack_pop as tile_stack_pop
from .core.frontend.tiles.stack import tile_stack_push as tile_stack_push
from .core.frontend.tiles.arithmetic import tile_argmax as tile_argmax
from .core.frontend.tiles.arithmetic import tile_argmin as tile_argmin
from .core.frontend.tiles.arithmetic import tile_astype as tile_astype
from .core.frontend.tiles.arithmetic import tile_extract as tile_extract
from .core.frontend.tiles.arithmetic import tile_map as tile_map
from .core.frontend.tiles.arithmetic import tile_max as tile_max
from .core.frontend.tiles.arithmetic import tile_min as tile_min
from .core.frontend.tiles.arithmetic import tile_reduce as tile_reduce
from .core.frontend.tiles.arithmetic import tile_sum as tile_sum
from .core.frontend.tiles.memory import tile_arange as tile_arange
from .core.frontend.tiles.memory import tile_atomic_add as tile_atomic_add
from .core.frontend.tiles.memory import tile_atomic_add_indexed as tile_atomic_add_indexed
from .core.frontend.tiles.memory import tile_empty as tile_empty
from .core.frontend.tiles.memory import tile_from_thread as tile_from_thread
from .core.frontend.tiles.memory import tile_full as tile_full
from .core.frontend.tiles.memory import tile_load as tile_load
from .core.frontend.tiles.memory import tile_load_indexed as tile_load_indexed
from .core.frontend.tiles.memory import tile_ones as tile_ones
from .core.frontend.tiles.memory import tile_store as tile_store
from .core.frontend.tiles.memory import tile_store_indexed as tile_store_indexed
from .core.frontend.tiles.memory import tile_zeros as tile_zeros
from .core.ops import expect_eq as expect_eq
from .core.ops import expect_near as expect_near
from .core.ops import expect_neq as expect_neq
from .core.ops import identity as identity
from .core.ops import matrix as matrix
from .core.ops import matrix_from_cols as matrix_from_cols
from .core.ops import matrix_from_rows as matrix_from_rows
from .core.ops import quaternion as quaternion
from .core.ops import transform_expand as transform_expand
from .core.ops import transformation as transformation
from .core.ops import vector as vector
from .core.runtime.arrays.creation import copy as copy
from .core.runtime.arrays.creation import dtype_from_numpy as dtype_from_numpy
from .core.runtime.arrays.creation import dtype_to_numpy as dtype_to_numpy
from .core.runtime.arrays.creation import to_dlpack as to_dlpack
from .core.runtime.rollout.checkpoint import checkpoint as checkpoint
from .core.runtime.devices.cuda.access import ScopedMempool as ScopedMempool
from .core.runtime.devices.cuda.access import ScopedMempoolAccess as ScopedMempoolAccess
from .core.runtime.devices.cuda.access import ScopedPeerAccess as ScopedPeerAccess
from .core.runtime.devices.cuda.access import get_cuda_driver_version as get_cuda_driver_version
from .core.runtime.devices.cuda.access import get_mempool_release_threshold as get_mempool_release_threshold
from .core.runtime.devices.cuda.access import get_mempool_used_mem_current as get_mempool_used_mem_current
from .core.runtime.devices.cuda.access import get_mempool_used_mem_high as get_mempool_used_mem_high
from .core.runtime.devices.cuda.access import is_mempool_access_enabled as is_mempool_access_enabled
from .core.runtime.devices.cuda.access import is_mempool_access_supported as is_mempool_access_supported
from .core.runtime.devices.cuda.access import is_mempool_enabled as is_mempool_enabled
from .core.runtime.devices.cuda.access import is_mempool_supported as is_mempool_supported
from .core.runtime.devices.cuda.access import is_peer_access_enabled as is_peer_access_enabled
from .core.runtime.devices.cuda.access import is_peer_access_supported as is_peer_access_supported
from .core.runtime.devices.cuda.access import set_mempool_access_enabled as set_mempool_access_enabled
from .core.runtime.devices.cuda.access import set_mempool_enabled as set_mempool_enabled
from .core.runtime.devices.cuda.access import set_mempool_release_threshold as set_mempool_release_threshold
from .core.runtime.devices.cuda.access import set_peer_access_enabled as set_peer_access_enabled
from .core.runtime.devices.allocators import ScopedAllocator as ScopedAllocator
from .core.runtime.devices.allocators import get_device_allocator as get_device_allocator
from .core.runtime.devices.allocators import set_cuda_allocator as set_cuda_allocator
from .core.runtime.devices.allocators import set_device_allocator as set_device_allocator
from .core.runtime.devices.allotted import Allocator as Allocator
from .core.runtime.devices.cuda.managed import CudaManagedAllocator as CudaManagedAllocator
from .core.runtime.devices.memory_kinds import MemoryKind as MemoryKind
from .core.runtime.devices.device import Device as Device
from .core.runtime.devices.device import DeviceLike as DeviceLike
from .core.runtime.devices.device import ScopedDevice as ScopedDevice
from .core.runtime.devices.device import get_cuda_device as get_cuda_device
from .core.runtime.devices.device import get_cuda_device_count as get_cuda_device_count
from .core.runtime.devices.device import get_cuda_devices as get_cuda_devices
from .core.runtime.devices.device import get_device as get_device
from .core.runtime.devices.device import get_devices as get_devices
from .core.runtime.devices.device import get_preferred_device as get_preferred_device
from .core.runtime.devices.device import is_cpu_available as is_cpu_available
from .core.runtime.devices.device import is_cuda_available as is_cuda_available
from .core.runtime.devices.device import is_device_available as is_device_available
from .core.runtime.devices.device import set_device as set_device
from .core.runtime.devices.device import synchronize as synchronize
from .core.runtime.devices.device import synchronize_device as synchronize_device
from .core.runtime.commands.command import Launch as Launch
from .core.runtime.commands.conditional import capture_if as capture_if
from .core.runtime.commands.conditional import capture_while as capture_while
from .core.runtime.commands.conditional import is_conditional_graph_supported as is_conditional_graph_supported
from .warp.logger import LOG_DEBUG as LOG_DEBUG
from .warp.logger import LOG_ERROR as LOG_ERROR
from .warp.logger import LOG_INFO as LOG_INFO
from .warp.logger import LOG_WARNING as LOG_WARNING
from .warp.logger import Logger as Logger
from .warp.logger import ScopedLogLevel as ScopedLogLevel
from .warp.logger import ScopedLogger as ScopedLogger
from .warp.logger import get_logger as get_logger
from .warp.logger import set_logger as set_logger
from .warp.profiling import ScopedCudaProfiler as ScopedCudaProfiler
from .warp.profiling import TIMING_ALL as TIMING_ALL
from .warp.profiling import TIMING_GRAPH as TIMING_GRAPH
from .warp.profiling import TIMING_KERNEL as TIMING_KERNEL
from .warp.profiling import TIMING_KERNEL_BUILTIN as TIMING_KERNEL_BUILTIN
from .warp.profiling import TIMING_MEMCPY as TIMING_MEMCPY
from .warp.profiling import TIMING_MEMSET as TIMING_MEMSET
from .warp.profiling import TimingResult as TimingResult
from .warp.profiling import can_access as can_access
from .warp.profiling import cuda_profiler_start as cuda_profiler_start
from .warp.profiling import cuda_profiler_stop as cuda_profiler_stop
from .warp.profiling import get_cuda_supported_archs as get_cuda_supported_archs
from .warp.profiling import get_cuda_toolkit_version as get_cuda_toolkit_version
from .warp.profiling import is_cubql_available as is_cubql_available
from .warp.profiling import map_cuda_device as map_cuda_device
from .warp.profiling import timing_begin as timing_begin
from .warp.profiling import timing_end as timing_end
from .warp.profiling import timing_print as timing_print
from .warp.profiling import unmap_cuda_device as unmap_cuda_device
from .warp.captures import CaptureMode as CaptureMode
from .warp.captures import ScopedCapture as ScopedCapture
from .warp.captures import capture_begin as capture_begin
from .warp.captures import capture_end as capture_end
from .core.runtime.commands.dot import capture_debug_dot_print as capture_debug_dot_print
from .core.runtime.commands.graph import Graph as Graph
from .core.runtime.commands.graph import capture_launch as capture_launch
from .core.graph_files.files import capture_load as capture_load
from .core.graph_files.files import capture_load_from_bytes as capture_load_from_bytes
from .core.graph_files.files import capture_save as capture_save
from .warp.fabric import fabricarray as fabricarray
from .warp.fabric import indexedfabricarray as indexedfabricarray
from .warp.fabric_rows import fabricarrayarray as fabricarrayarray
from .warp.fabric_rows import indexedfabricarrayarray as indexedfabricarrayarray
from .core.runtime.arrays.memory_tracker import ScopedMemoryTracker as ScopedMemoryTracker
from .core.runtime.arrays.memory_tracker import print_memory_report as print_memory_report
from .core.runtime.launches.kernel import kernel_from_source as kernel_from_source
from .core.runtime.launches.kernel import overload as overload
from .core.runtime.launches.kernel_properties import get_cpu_kernel_cache_key as get_cpu_kernel_cache_key
from .core.runtime.launches.kernel_properties import get_cuda_kernel_properties as get_cuda_kernel_properties
from .core.runtime.launches.kernel_properties import get_suggested_block_size as get_suggested_block_size
from .core.runtime.launches.modules import Module as Module
from .core.runtime.launches.modules import force_load as force_load
from .core.runtime.launches.modules import get_module as get_module
from .core.runtime.launches.modules import get_module_options as get_module_options
from .core.runtime.launches.modules import load_module as load_module
from .core.runtime.launches.modules import set_module_options as set_module_options
from .core.runtime.launch import launch as launch
from .core.runtime.launch import launch_tiled as launch_tiled
from .core.runtime.map import map as map
from .core.runtime.launches.session import clear_kernel_cache as clear_kernel_cache
from .core.runtime.launches.session import init as init
from .core.runtime.launches.session import set_num_threads as set_num_threads
from .profiling.profile import Profile as Profile
from .profiling.profile import profile as profile
from .core.runtime.devices.stream import Event as Event
from .core.runtime.devices.stream import ScopedStream as ScopedStream
from .core.runtime.devices.stream import Stream as Stream
from .core.runtime.devices.stream import get_event_elapsed_time as get_event_elapsed_time
from .core.runtime.devices.stream import get_stream as get_stream
from .core.runtime.devices.stream import record_event as record_event
from .core.runtime.devices.stream import set_stream as set_stream
from .core.runtime.devices.stream import synchronize_event as synchronize_event
from .core.runtime.devices.stream import synchronize_stream as synchronize_stream
from .core.runtime.devices.stream import wait_event as wait_event
from .core.runtime.devices.stream import wait_stream as wait_stream
from .core.runtime.tape.tape import Tape as Tape
from .core.runtime.tape.timer import ScopedTimer as ScopedTimer
from .core.types.references import ref as ref
from .core.types.signatures import Float as Float
from .core.types.signatures import Int as Int
from .core.types.signatures import Scalar as Scalar
from .diagnostics import print_diagnostics as print_diagnostics
from .errors import KernelError as WarpCodegenError
from .errors import KernelError as WarpCodegenTypeError
from .errors import KernelError as WarpCodegenValueError
from .errors import KernelError as WarpCodegenAttributeError
from .errors import KernelError as WarpCodegenIndexError
from .errors import KernelError as WarpCodegenKeyError
from .errors import LaunchError as WarpDeterminismError
from .geometry.bvh.bvh import Bvh as Bvh
from .geometry.hash_grid.hash_grid import HashGrid as HashGrid
from .geometry.marching_cubes.marching_cubes import MarchingCubes as MarchingCubes
from .geometry.mesh.mesh import Mesh as Mesh
from .geometry.mesh.files import load_mesh as load_mesh
from .geometry.mesh.files import mesh_from_file as mesh_from_file
from .geometry.bvh.tiled import BvhQueryTiled as BvhQueryTiled
from .geometry.texture.modes import TextureAddressMode as TextureAddressMode
from .geometry.texture.modes import TextureFilterMode as TextureFilterMode
from .geometry.texture.texture import Texture as Texture
from .geometry.texture.texture import Texture1D as Texture1D
from .geometry.texture.texture import Texture2D as Texture2D
from .geometry.texture.texture import Texture3D as Texture3D
from .geometry.volume.from_mesh import mesh_to_volume as mesh_to_volume
from .geometry.volume.volume import Volume as Volume
from .interop.torch.arrays import from_torch as from_torch
from .interop.torch.arrays import to_torch as to_torch
from .interop.torch.arrays import device_from_torch as device_from_torch
from .interop.torch.arrays import device_to_torch as device_to_torch
from .interop.torch.arrays import dtype_from_torch as dtype_from_torch
from .interop.torch.arrays import dtype_to_torch as dtype_to_torch
from .interop.torch.arrays import stream_from_torch as stream_from_torch
from .interop.torch.arrays import stream_to_torch as stream_to_torch
from .interop.torch.operator import torch_op as torch_op
from .interop.jax.arrays import from_jax as from_jax
from .interop.jax.arrays import to_jax as to_jax
from .interop.jax.arrays import device_from_jax as device_from_jax
from .interop.jax.arrays import device_to_jax as device_to_jax
from .interop.jax.arrays import dtype_from_jax as dtype_from_jax
from .interop.jax.arrays import dtype_to_jax as dtype_to_jax
from .interop.jax.arrays import get_jax_device as get_jax_device
from .interop.paddle import from_paddle as from_paddle
from .interop.paddle import to_paddle as to_paddle
from .interop.paddle import device_from_paddle as device_from_paddle
from .interop.paddle import device_to_paddle as device_to_paddle
from .interop.paddle import dtype_from_paddle as dtype_from_paddle
from .interop.paddle import dtype_to_paddle as dtype_to_paddle
from .interop.paddle import stream_from_paddle as stream_from_paddle
from .interop.numba.from_numba import from_numba as from_numba
from .interop.numba.to_numba import to_numba as to_numba
from .interop.jax.frames import register_ffi_callback as register_ffi_callback
from .interop.jax.kernel import clear_jax_callable_graph_cache as clear_jax_callable_graph_cache
from .interop.jax.kernel import jax_callable as jax_callable
from .interop.jax.kernel import jax_kernel as jax_kernel
from .interop.jax.modes import JaxCallableGraphMode as JaxCallableGraphMode
from .interop.jax.modes import JaxModulePreloadMode as JaxModulePreloadMode
from . import autograd as autograd
from . import types as types
from . import utils as utils
from . import errors as errors
from . import fem as fem
from . import fft as fft
from . import geometry as geometry
from . import optim as optim
from . import plot as plot
from . import record as record
from . import render as render
from . import solvers as solvers
from . import sparse as sparse
from . import usd as usd
from . import viewer as viewer

__version__: str
E: float
INF: float
NAN: float
PI: float
TAU: float
half_pi: float
HALF_PI: float
ln2: float
ln10: float
phi: float
log2e: float
log10e: float
LN2: float
LN10: float
LOG2E: float
LOG10E: float
PHI: float

__all__ = [
    "e",
    "inf",
    "nan",
    "pi",
    "tau",
    "config",
    "DeterministicMode",
    "E",
    "INF",
    "NAN",
    "PI",
    "TAU",
    "half_pi",
    "HALF_PI",
    "ln2",
    "ln10",
    "phi",
    "log2e",
    "log10e",
    "LN2",
    "LN10",
    "LOG2E",
    "LOG10E",
    "PHI",
    "address_of",
    "grad",
    "adjoint",
    "cast",
    "constant",
    "select",
    "static",
    "len",
    "print",
    "Function",
    "func",
    "func_grad",
    "func_replay",
    "func_native",
    "eig3",
    "qr3",
    "svd2",
    "svd3",
    "dense_chol",
    "dense_chol_batched",
    "dense_gemm",
    "dense_gemm_batched",
    "dense_solve",
    "dense_solve_batched",
    "dense_subs",
    "closest_point_edge_edge",
    "intersect_tri_tri",
    "curlnoise",
    "noise",
    "pnoise",
    "quat_between_vectors",
    "quat_from_axis_angle",
    "quat_from_euler",
    "quat_from_matrix",
    "quat_identity",
    "quat_inverse",
    "quat_rotate",
    "quat_rotate_inv",
    "quat_rpy",
    "quat_slerp",
    "quat_to_axis_angle",
    "quat_to_euler",
    "quat_to_matrix",
    "quat_to_rpy",
    "quat_twist",
    "quat_twist_angle",
    "quat_twist_angle_signed",
    "poisson",
    "rand_init",
    "randf",
    "randi",
    "randn",
    "randu",
    "lower_bound",
    "sample_cdf",
    "sample_triangle",
    "sample_unit_cube",
    "sample_unit_disk",
    "sample_unit_hemisphere",
    "sample_unit_hemisphere_surface",
    "sample_unit_ring",
    "sample_unit_sphere",
    "sample_unit_sphere_surface",
    "sample_unit_square",
    "spatial_adjoint",
    "spatial_bottom",
    "spatial_cross",
    "spatial_cross_dual",
    "spatial_dot",
    "spatial_top",
    "velocity_at_point",
    "erfcinv",
    "erfinv",
    "tile_axpy",
    "tile_cholesky",
    "tile_cholesky_inplace",
    "tile_cholesky_solve",
    "tile_cholesky_solve_inplace",
    "tile_diag_add",
    "tile_dot",
    "tile_lower_solve",
    "tile_lower_solve_inplace",
    "tile_matmul",
    "tile_upper_solve",
    "tile_upper_solve_inplace",
    "tile_sort",
    "tile_randf",
    "tile_randi",
    "tile_scan_exclusive",
    "tile_scan_inclusive",
    "tile_scan_max_inclusive",
    "tile_scan_min_inclusive",
    "untile",
    "tile",
    "tile_assign",
    "tile_broadcast",
    "tile_reshape",
    "tile_slice_indexed",
    "tile_squeeze",
    "tile_transpose",
    "tile_view",
    "tile_scatter_add",
    "tile_scatter_masked",
    "tile_stack",
    "tile_stack_clear",
    "tile_stack_count",
    "tile_stack_pop",
    "tile_stack_push",
    "tile_argmax",
    "tile_argmin",
    "tile_astype",
    "tile_extract",
    "tile_map",
    "tile_max",
    "tile_min",
    "tile_reduce",
    "tile_sum",
    "tile_arange",
    "tile_atomic_add",
    "tile_atomic_add_indexed",
    "tile_empty",
    "tile_from_thread",
    "tile_full",
    "tile_load",
    "tile_load_indexed",
    "tile_ones",
    "tile_store",
    "tile_store_indexed",
    "tile_zeros",
    "transform_compose",
    "transform_decompose",
    "transform_from_matrix",
    "transform_get_rotation",
    "transform_get_translation",
    "transform_identity",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
    "transform_set_rotation",
    "transform_set_translation",
    "transform_to_matrix",
    "transform_twist",
    "transform_vector",
    "transform_wrench",
    "abs",
    "acos",
    "add",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bit_and",
    "bit_count",
    "bit_or",
    "bit_xor",
    "block_dim",
    "cbrt",
    "ceil",
    "clamp",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "cw_div",
    "cw_mul",
    "ddot",
    "degrees",
    "determinant",
    "diag",
    "div",
    "dot",
    "erf",
    "erfc",
    "exp",
    "expect_eq",
    "expect_near",
    "expect_neq",
    "floor",
    "floordiv",
    "frac",
    "get_diag",
    "identity",
    "inverse",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "length_sq",
    "lerp",
    "load",
    "log",
    "log10",
    "log2",
    "lshift",
    "matrix",
    "matrix_from_cols",
    "matrix_from_rows",
    "max",
    "min",
    "mod",
    "mul",
    "neg",
    "nonzero",
    "norm_huber",
    "norm_l1",
    "norm_l2",
    "norm_pseudo_huber",
    "normalize",
    "outer",
    "pos",
    "pow",
    "printf",
    "quaternion",
    "radians",
    "rint",
    "round",
    "rshift",
    "sign",
    "sin",
    "sinh",
    "skew",
    "smooth_normalize",
    "smoothstep",
    "sqrt",
    "step",
    "store",
    "sub",
    "tan",
    "tanh",
    "tid",
    "trace",
    "transform_expand",
    "transformation",
    "transpose",
    "trunc",
    "unot",
    "vector",
    "view",
    "where",
    "breakpoint",
    "div_approx",
    "inverse_approx",
    "array1d",
    "array2d",
    "array3d",
    "array4d",
    "fixedarray",
    "indexedarray1d",
    "indexedarray2d",
    "indexedarray3d",
    "indexedarray4d",
    "array",
    "clone",
    "copy",
    "dtype_from_numpy",
    "dtype_to_numpy",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_numpy",
    "from_ptr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "to_dlpack",
    "zeros",
    "zeros_like",
    "checkpoint",
    "ScopedMempool",
    "ScopedMempoolAccess",
    "ScopedPeerAccess",
    "get_cuda_driver_version",
    "get_mempool_release_threshold",
    "get_mempool_used_mem_current",
    "get_mempool_used_mem_high",
    "is_mempool_access_enabled",
    "is_mempool_access_supported",
    "is_mempool_enabled",
    "is_mempool_supported",
    "is_peer_access_enabled",
    "is_peer_access_supported",
    "set_mempool_access_enabled",
    "set_mempool_enabled",
    "set_mempool_release_threshold",
    "set_peer_access_enabled",
    "ScopedAllocator",
    "get_device_allocator",
    "set_cuda_allocator",
    "set_device_allocator",
    "Allocator",
    "CudaManagedAllocator",
    "MemoryKind",
    "Device",
    "DeviceLike",
    "ScopedDevice",
    "get_cuda_device",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_devices",
    "get_preferred_device",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "set_device",
    "synchronize",
    "synchronize_device",
    "Launch",
    "capture_if",
    "capture_while",
    "is_conditional_graph_supported",
    "LOG_DEBUG",
    "LOG_ERROR",
    "LOG_INFO",
    "LOG_WARNING",
    "Logger",
    "ScopedLogLevel",
    "ScopedLogger",
    "get_logger",
    "set_logger",
    "ScopedCudaProfiler",
    "TIMING_ALL",
    "TIMING_GRAPH",
    "TIMING_KERNEL",
    "TIMING_KERNEL_BUILTIN",
    "TIMING_MEMCPY",
    "TIMING_MEMSET",
    "TimingResult",
    "can_access",
    "cuda_profiler_start",
    "cuda_profiler_stop",
    "get_cuda_supported_archs",
    "get_cuda_toolkit_version",
    "is_cubql_available",
    "map_cuda_device",
    "timing_begin",
    "timing_end",
    "timing_print",
    "unmap_cuda_device",
    "CaptureMode",
    "ScopedCapture",
    "capture_begin",
    "capture_end",
    "capture_debug_dot_print",
    "Graph",
    "capture_launch",
    "capture_load",
    "capture_load_from_bytes",
    "capture_save",
    "fabricarray",
    "indexedfabricarray",
    "fabricarrayarray",
    "indexedfabricarrayarray",
    "ScopedMemoryTracker",
    "print_memory_report",
    "indexedarray",
    "Kernel",
    "kernel",
    "kernel_from_source",
    "overload",
    "get_cpu_kernel_cache_key",
    "get_cuda_kernel_properties",
    "get_suggested_block_size",
    "Module",
    "force_load",
    "get_module",
    "get_module_options",
    "load_module",
    "set_module_options",
    "launch",
    "launch_tiled",
    "map",
    "clear_kernel_cache",
    "init",
    "set_num_threads",
    "Profile",
    "profile",
    "Event",
    "ScopedStream",
    "Stream",
    "get_event_elapsed_time",
    "get_stream",
    "record_event",
    "set_stream",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
    "Tape",
    "ScopedTimer",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "handle",
    "ref",
    "Float",
    "Int",
    "Scalar",
    "struct",
    "print_diagnostics",
    "WarpCodegenError",
    "WarpCodegenTypeError",
    "WarpCodegenValueError",
    "WarpCodegenAttributeError",
    "WarpCodegenIndexError",
    "WarpCodegenKeyError",
    "WarpDeterminismError",
    "Bvh",
    "BvhQuery",
    "BvhQueryAabb",
    "BvhQueryCapsule",
    "BvhQueryRay",
    "BvhQuerySphere",
    "bvh_get_group_root",
    "bvh_query_aabb",
    "bvh_query_capsule",
    "bvh_query_next",
    "bvh_query_ray",
    "bvh_query_sphere",
    "HashGrid",
    "HashGridNeighbors",
    "HashGridNeighborsD",
    "hash_grid_neighbors",
    "hash_grid_neighbors_next",
    "nearest_image",
    "HashGridQuery",
    "HashGridQueryD",
    "hash_grid_point_id",
    "hash_grid_query",
    "hash_grid_query_next",
    "MarchingCubes",
    "Mesh",
    "MeshData",
    "mesh_eval_face_normal",
    "mesh_eval_position",
    "mesh_eval_velocity",
    "mesh_get",
    "mesh_get_group_root",
    "mesh_get_index",
    "mesh_get_point",
    "mesh_get_velocity",
    "load_mesh",
    "mesh_from_file",
    "MeshQuery",
    "MeshQueryAABB",
    "MeshQuerySphere",
    "mesh_query_aabb",
    "mesh_query_aabb_next",
    "mesh_query_next",
    "mesh_query_sphere",
    "MeshQueryAABBTiled",
    "mesh_query_aabb_next_tiled",
    "mesh_query_aabb_tiled",
    "tile_mesh_query_aabb",
    "tile_mesh_query_aabb_next",
    "tile_query_valid",
    "BvhQueryTiled",
    "bvh_query_aabb_tiled",
    "bvh_query_next_tiled",
    "bvh_query_ray_tiled",
    "tile_bvh_query_aabb",
    "tile_bvh_query_next",
    "tile_bvh_query_ray",
    "MeshQueryPoint",
    "mesh_query_furthest_point_no_sign",
    "mesh_query_point",
    "mesh_query_point_no_sign",
    "mesh_query_point_sign_normal",
    "mesh_query_point_sign_parity",
    "mesh_query_point_sign_winding_number",
    "MeshQueryRay",
    "mesh_query_ray",
    "mesh_query_ray_anyhit",
    "mesh_query_ray_count_intersections",
    "TextureAddressMode",
    "TextureFilterMode",
    "texture_sample",
    "Texture",
    "Texture1D",
    "Texture2D",
    "Texture3D",
    "mesh_to_volume",
    "Volume",
    "volume_sample_grad_index",
    "volume_sample_index",
    "volume_lookup",
    "volume_lookup_f",
    "volume_lookup_i",
    "volume_lookup_index",
    "volume_lookup_v",
    "volume_store",
    "volume_store_f",
    "volume_store_i",
    "volume_store_v",
    "volume_voxel_count",
    "volume_sample_local",
    "volume_sample_world",
    "volume_transform",
    "volume_transform_inv",
    "volume_sample",
    "volume_sample_f",
    "volume_sample_grad",
    "volume_sample_grad_f",
    "volume_sample_grad_v",
    "volume_sample_i",
    "volume_sample_v",
    "volume_index_to_world",
    "volume_index_to_world_dir",
    "volume_world_to_index",
    "volume_world_to_index_dir",
    "autograd",
    "types",
    "utils",
    "vec2",
    "vec3",
    "vec4",
    "mat22",
    "mat33",
    "mat44",
    "quat",
    "transform",
    "spatial_vector",
    "spatial_matrix",
    "vec2f",
    "vec3f",
    "vec4f",
    "mat22f",
    "mat33f",
    "mat44f",
    "quatf",
    "transformf",
    "spatial_vectorf",
    "spatial_matrixf",
    "vec2d",
    "vec3d",
    "vec4d",
    "mat22d",
    "mat33d",
    "mat44d",
    "quatd",
    "transformd",
    "spatial_vectord",
    "spatial_matrixd",
    "vec2h",
    "vec3h",
    "vec4h",
    "mat22h",
    "mat33h",
    "mat44h",
    "quath",
    "transformh",
    "spatial_vectorh",
    "spatial_matrixh",
    "vec2b",
    "vec3b",
    "vec4b",
    "mat22b",
    "mat33b",
    "mat44b",
    "vec2ub",
    "vec3ub",
    "vec4ub",
    "mat22ub",
    "mat33ub",
    "mat44ub",
    "vec2s",
    "vec3s",
    "vec4s",
    "mat22s",
    "mat33s",
    "mat44s",
    "vec2us",
    "vec3us",
    "vec4us",
    "mat22us",
    "mat33us",
    "mat44us",
    "vec2i",
    "vec3i",
    "vec4i",
    "mat22i",
    "mat33i",
    "mat44i",
    "vec2ui",
    "vec3ui",
    "vec4ui",
    "mat22ui",
    "mat33ui",
    "mat44ui",
    "vec2l",
    "vec3l",
    "vec4l",
    "mat22l",
    "mat33l",
    "mat44l",
    "vec2ul",
    "vec3ul",
    "vec4ul",
    "mat22ul",
    "mat33ul",
    "mat44ul",
]
