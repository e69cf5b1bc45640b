"""Kernel text run as ordinary Python: an oracle that shares no line with the front end.

`Wp` stands in for the module `warpsim`: decorators do nothing, types make `Plain` numbers and vectors whose operators
are the host forms of the op rows, and `tid` is a counter. Control flow, scoping, unpacking, closures and short
circuits are Python's own. Python names share what kernels copy, so texts for this oracle never bind one vector or
struct to two names.
"""

from __future__ import annotations

import numpy as np

import warpsim as wp
from warpsim.core.ops.registry import TABLE
from warpsim.core.types import compounds, scalars


def bare(x):
    """What a `Plain` wraps, or the thing itself."""
    return x.value if isinstance(x, Plain) else x


def op(name, *args, **attributes):
    """A row on host values; literals take the type of the typed operands."""
    return Plain(TABLE[name](*map(bare, args), **attributes))


class Plain:
    """A typed scalar, vector or matrix with the operators of kernels."""

    def __init__(self, value):
        object.__setattr__(self, "value", value)

    def __repr__(self):
        return f"Plain({self.value!r})"

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return int(self.value)

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        """A loop runs over the components as they are at its start."""
        return iter([self[k] for k in range(len(self.value))])

    # ----- parts ----------------------------------------------------------------------------

    def part(self, found):
        """A component keeps the type that its vector has; a row or swizzle shares no memory."""
        t = type(self.value)
        return Plain(found if compounds.is_compound(type(found)) else t.dtype(found))

    def __getattr__(self, name):
        return self.part(getattr(self.value, name))

    def __setattr__(self, name, x):
        setattr(self.value, name, bare(x))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.part(self.value[index])
        return self.part(self.value[self.position(index)])

    def __setitem__(self, index, x):
        self.value[index if isinstance(index, slice) else self.position(index)] = bare(x)

    def position(self, index):
        """Computed indices count from the end when negative; programs keep them in range."""
        indices = index if isinstance(index, tuple) else (index,)
        sides = list(zip(map(int, indices), type(self.value).shape, strict=False))
        assert all(-n <= i < n for i, n in sides)
        found = tuple(i % n for i, n in sides)
        return found if len(found) > 1 else found[0]

    # ----- operators ------------------------------------------------------------------------

    def __pow__(self, exponent):
        result = Plain(type(self.value)(1))
        for _ in range(exponent):
            result = result * self
        return result

    def __neg__(self):
        return op("neg", self)

    def __pos__(self):
        return op("pos", self)

    def __invert__(self):
        return op("invert", self)

    def __abs__(self):
        return op("abs", self)


def _operator(name, reflected=False):
    def apply(self, other):
        return op(name, other, self) if reflected else op(name, self, other)

    return apply


_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod"}
_BINARY |= {"and": "bit_and", "or": "bit_or", "xor": "bit_xor", "lshift": "lshift", "rshift": "rshift"}
for _python, _row in _BINARY.items():
    setattr(Plain, f"__{_python}__", _operator(_row))
    setattr(Plain, f"__r{_python}__", _operator(_row, reflected=True))
for _row in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Plain, f"__{_row}__", _operator(_row))


class Array:
    """An array argument: elements come out as `Plain` values that write through, like kernel places do."""

    def __init__(self, memory, dtype):
        self.memory, self.dtype = memory, dtype

    def __len__(self):
        return len(self.memory)

    @property
    def shape(self):
        return tuple(Plain(np.int32(n)) for n in self.memory.shape)

    def at(self, index):
        i = int(bare(index))
        return i + len(self.memory) if i < 0 else i

    def __getitem__(self, index):
        element = self.memory[self.at(index)]
        if isinstance(self.dtype, type) and issubclass(self.dtype, Record):
            return element
        if not compounds.is_compound(self.dtype):
            return Plain(self.dtype(element))
        value = self.dtype.__new__(self.dtype)
        object.__setattr__(value, "_data", element)  # a view of the memory
        return Plain(value)

    def __setitem__(self, index, x):
        if isinstance(x, Record):
            self.memory[self.at(index)] = x.copied()
        else:
            self.memory[self.at(index)] = np.asarray(bare(x))


class Record:
    """Base of structs: fields start as zeros of their types."""

    def __init__(self, **given):
        for name, t in type(self).__annotations__.items():
            self.__dict__[name] = given.get(name, t())

    def copied(self):
        found = type(self)()
        for name, x in vars(self).items():
            found.__dict__[name] = Plain(type(x.value)(x.value))
        return found


def _maker(t):
    """A scalar or compound type as a function on `Plain` values."""

    def make(*parts):
        if len(parts) == 1 and scalars.is_scalar(t):
            x = bare(parts[0])
            wide = {float: np.float64, int: np.uint64 if x >= 2**63 else np.int64}.get(type(x))
            return Plain(t(x) if type(x) is bool else TABLE["cast"](wide(x) if wide else x, to=t))
        return Plain(t(*map(bare, parts)))

    make.dtype = t
    return make


class Wp:
    """The names that generated texts use."""

    def __init__(self):
        self.thread = 0
        for name in ("float32", "float64", "int32", "uint32", "vec2", "vec3", "vec4", "mat22"):
            setattr(self, name, _maker(getattr(wp, name)))
        self.float, self.int = _maker(wp.float32), _maker(wp.int32)

    def __getattr__(self, name):
        if name not in TABLE:
            raise AttributeError(name)
        return lambda *args: op(name, *args)

    def kernel(self, function):
        return function

    def func(self, function):
        return function

    def struct(self, cls):
        return type(cls.__name__, (Record,), {"__annotations__": cls.__annotations__})

    def tid(self):
        return Plain(np.int32(self.thread))

    def array(self, dtype):
        return None

    def zeros(self, shape, dtype):
        t = dtype.dtype
        extents = (shape, *(t.shape if compounds.is_compound(t) else ()))
        return Array(np.zeros(extents, compounds.scalar_of(t)), t)

    def length(self, x):
        return Plain(np.int32(len(x)))

    def range(self, *bounds):
        return (Plain(np.int32(i)) for i in range(*(int(bare(b)) for b in bounds)))

    def namespace(self):
        """Globals for a text: some built-ins of Python as kernels understand them."""
        return {"wp": self, "float": self.float, "int": self.int, "range": self.range, "len": self.length}


def run(text, name, arguments, threads):
    """Execute `text` and call its function `name` once per thread; `arguments` maps arrays to element types."""
    module = Wp()
    scope = module.namespace()
    exec(compile(text, "<plain>", "exec", dont_inherit=True), scope)
    records = {r.__name__: r for r in scope.values() if isinstance(r, type) and issubclass(r, Record)}
    arrays = []
    for memory, t in arguments:
        record = records.get(getattr(t, "__name__", ""))
        arrays.append(Array([record() for _ in range(len(memory))], record) if record else Array(memory, t))
    with np.errstate(all="ignore"):
        for thread in range(threads):
            module.thread = thread
            scope[name](*arrays)
    return arrays
