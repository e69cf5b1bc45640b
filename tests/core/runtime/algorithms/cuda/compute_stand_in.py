"""The part of `cuda.compute` that warpsim uses, computed by NumPy on copies: same names, same keywords, same protocol.

`installed(monkeypatch)` puts it in place of the package and returns it; `calls` lists what ran. It refuses what
the package would refuse or misunderstand: strided memory, another dtype than the one an algorithm was made for,
storage that is too small, streams that are none, more elements than an array has.
"""

import copy
import enum

import numpy as np

from warpsim.core.runtime.algorithms.cuda import compute
from warpsim.core.runtime.devices.cuda.driver import call

_BINDINGS_AVAILABLE = True
_STORAGE = 768  # [bytes] that every algorithm asks for


class OpKind(enum.IntEnum):
    PLUS = 2


class Determinism(enum.IntEnum):
    NOT_GUARANTEED, RUN_TO_RUN, GPU_TO_GPU = range(3)


class SortOrder(enum.Enum):
    ASCENDING, DESCENDING = range(2)


class Package:
    """Stands for the module; a test may take names away or let algorithms fail."""

    def __init__(self):
        self.calls = []
        self._BINDINGS_AVAILABLE = _BINDINGS_AVAILABLE
        self.OpKind, self.Determinism, self.SortOrder = OpKind, Determinism, SortOrder
        self.made = 0
        self.kept = {}

    def serialize(self, algorithm):
        blob = f"{id(self)} {len(self.kept)}".encode()
        self.kept[blob] = algorithm
        return blob

    def deserialize(self, blob):
        if blob not in self.kept:
            raise ValueError("a blob of another version")
        return copy.copy(self.kept[blob])

    def make_inclusive_scan(self, *, d_in, d_out, op, init_value=None, compute_capability=None):
        return Scan(self, d_in, d_out, op, init_value, True)

    def make_exclusive_scan(self, *, d_in, d_out, op, init_value, compute_capability=None):
        return Scan(self, d_in, d_out, op, init_value, False)

    def make_reduce_into(self, *, d_in, d_out, op, h_init=None, **kwargs):
        assert kwargs == {"determinism": Determinism.RUN_TO_RUN}
        return Reduce(self, d_in, d_out, op, h_init)

    def make_radix_sort(self, *, d_in_keys, d_out_keys, d_in_values, d_out_values, order, compute_capability=None):
        assert order is SortOrder.ASCENDING
        return RadixSort(self, d_in_keys, d_out_keys, d_in_values, d_out_values)


def installed(monkeypatch):
    """A fresh package in place of the one that would be looked for."""
    package = Package()
    monkeypatch.setattr(compute, "_found", compute._Found(package))
    monkeypatch.setattr(compute._made, "algorithms", {}, raising=False)
    return package


class Algorithm:
    """Knows the dtypes that it was made for."""

    def __init__(self, package, **arrays):
        self.package = package
        self.dtypes = {name: dtype_of(a) for name, a in arrays.items()}
        package.made += 1

    def begin(self, temp_storage, stream, num_items, **arrays):
        """Check a call; returns whether it is one that runs."""
        self.bound = arrays  # as the package, which keeps what it was given last
        for name, a in arrays.items():
            assert dtype_of(a) == self.dtypes[name], f"{name} was made for {self.dtypes[name]}"
            assert interface(a)["shape"] == (1,) if name == "d_out_sum" else interface(a)["shape"][0] >= num_items
        assert num_items > 0
        version, handle = stream.__cuda_stream__()
        assert version == 0 and type(handle) is int
        if temp_storage is None:
            return False
        assert temp_storage.nbytes >= _STORAGE and interface(temp_storage)["data"][0]
        call("cuMemsetD8Async", interface(temp_storage)["data"][0], 0xEE, _STORAGE, handle)
        self.package.calls.append((type(self).__name__, num_items, handle))
        return True


class Scan(Algorithm):
    def __init__(self, package, d_in, d_out, op, init_value, inclusive):
        super().__init__(package, d_in=d_in, d_out=d_out)
        assert op is OpKind.PLUS and not init_value.any() and init_value.dtype == dtype_of(d_in)
        self.inclusive = inclusive

    def __call__(self, *, temp_storage, d_in, d_out, op, init_value, num_items, stream=None):
        if self.begin(temp_storage, stream, num_items, d_in=d_in, d_out=d_out):
            x = read(d_in, num_items, stream)
            sums = np.cumsum(x, dtype=x.dtype)
            write(d_out, sums if self.inclusive else sums - x, stream)
        return _STORAGE


class Reduce(Algorithm):
    def __init__(self, package, d_in, d_out, op, h_init):
        super().__init__(package, d_in=d_in, d_out_sum=d_out)
        assert op is OpKind.PLUS and not h_init.any() and h_init.dtype == dtype_of(d_out)

    def __call__(self, *, temp_storage, d_in, d_out, num_items, op, h_init, stream=None):
        if self.begin(temp_storage, stream, num_items, d_in=d_in, d_out_sum=d_out):
            write(d_out, read(d_in, num_items, stream).sum(dtype=h_init.dtype, keepdims=True), stream)
        return _STORAGE


class RadixSort(Algorithm):
    def __init__(self, package, d_in_keys, d_out_keys, d_in_values, d_out_values):
        super().__init__(package, keys=d_in_keys, keys_out=d_out_keys, values=d_in_values, values_out=d_out_values)
        assert self.dtypes["keys"] == self.dtypes["keys_out"] and self.dtypes["keys"].kind == "u"
        assert self.dtypes["values"] == self.dtypes["values_out"]

    def __call__(
        self, *, temp_storage, d_in_keys, d_out_keys, d_in_values, d_out_values, num_items, begin_bit=None,
        end_bit=None, stream=None,
    ):  # fmt: skip
        arrays = {"keys": d_in_keys, "keys_out": d_out_keys, "values": d_in_values, "values_out": d_out_values}
        places = {interface(a)["data"][0] for a in arrays.values()}
        assert len(places) == 4, "the package may not sort in place"
        if self.begin(temp_storage, stream, num_items, **arrays):
            keys, values = read(d_in_keys, num_items, stream), read(d_in_values, num_items, stream)
            one = keys.dtype.type
            digits = keys >> one(begin_bit)
            if end_bit - begin_bit < 8 * keys.itemsize:
                digits = digits & one((1 << (end_bit - begin_bit)) - 1)
            order = np.argsort(digits, kind="stable")
            write(d_out_keys, keys[order], stream)
            write(d_out_values, values[order], stream)
        return _STORAGE


# ----- memory -----------------------------------------------------------------------------------


def interface(a):
    found = a.__cuda_array_interface__
    assert found["version"] == 3 and found["strides"] is None and not found["data"][1]
    return found


def dtype_of(a):
    assert np.dtype(interface(a)["typestr"]) == a.dtype
    return a.dtype


def read(a, count, stream):
    made, handle = np.empty(count, a.dtype), stream.__cuda_stream__()[1]
    call("cuMemcpyDtoHAsync", made.ctypes.data, interface(a)["data"][0], made.nbytes, handle)
    call("cuStreamSynchronize", handle)
    return made


def write(a, contents, stream):
    contents, handle = np.ascontiguousarray(contents, a.dtype), stream.__cuda_stream__()[1]
    call("cuMemcpyHtoDAsync", interface(a)["data"][0], contents.ctypes.data, contents.nbytes, handle)
