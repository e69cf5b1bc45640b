"""A second implementation of the kernel language: kernels as plain Python, numbers that record how they came about.

The text of a kernel runs once per thread with this module in the place of `wp`. Its floats are `Number`s: a float64
and, for reverse mode, the numbers that it was made of with the partial derivatives. Contents of an array without
gradient are constants, so what is stored there is cut off (`detached`). Nothing of warpsim is used.

`doubtful()` tells whether a comparison or an extreme was decided by a margin so small that another order of
rounding could decide otherwise, or whether a value left the range in which results can be compared.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

MARGIN = 1e-9
LARGE = 1e6


class Thread:
    """The thread that runs, and what was noticed on the way."""

    index = 0
    doubt = False


def doubtful() -> bool:
    return Thread.doubt


# ----- numbers ------------------------------------------------------------------------------------


class Number:
    """A float64 with its parents and the partial derivative by each; a constant has none."""

    __slots__ = ("cotangent", "parents", "value")

    def __init__(self, value, parents=()):
        self.value, self.cotangent = float(value), 0.0
        self.parents = tuple(pair for pair in parents if pair[0].parents)
        if not abs(self.value) < LARGE:
            Thread.doubt = True

    def __add__(self, other):
        a, b = self, lifted(other)
        return Number(a.value + b.value, ((a, 1.0), (b, 1.0)))

    def __sub__(self, other):
        a, b = self, lifted(other)
        return Number(a.value - b.value, ((a, 1.0), (b, -1.0)))

    def __mul__(self, other):
        if isinstance(other, Vector):
            return other * self
        a, b = self, lifted(other)
        return Number(a.value * b.value, ((a, b.value), (b, a.value)))

    def __truediv__(self, other):
        a, b = self, lifted(other)
        return Number(a.value / b.value, ((a, 1.0 / b.value), (b, -a.value / b.value**2)))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return lifted(other) - self

    def __rtruediv__(self, other):
        return lifted(other) / self

    def __neg__(self):
        return Number(-self.value, ((self, -1.0),))

    def __lt__(self, other):
        return decided(self, other) < 0.0

    def __gt__(self, other):
        return decided(self, other) > 0.0


def decided(a, b):
    """The difference of two numbers that something depends on; equal constants leave no doubt."""
    b = lifted(b)
    difference = a.value - b.value
    if abs(difference) < MARGIN * max(1.0, abs(a.value)) and (difference or a.parents or b.parents):
        Thread.doubt = True
    return difference


def variable(value):
    """A number by which others are differentiated: it counts as made of itself."""
    made = Number(value)
    made.parents = ((made, 0.0),)
    return made


def lifted(x):
    return x if isinstance(x, Number) else Number(x)


def detached(x):
    """The same value without a past."""
    if isinstance(x, Vector):
        return Vector(*(detached(c) for c in x.parts))
    return Number(x.value) if isinstance(x, Number) else x


def backward(result):
    """Add the derivative of a number by everything that it was made of to the cotangents of these."""
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent, _ in node.parents)
    result.cotangent += 1.0
    for node in reversed(order):
        for parent, partial in node.parents:
            parent.cotangent += node.cotangent * partial


class Vector:
    """A few numbers."""

    def __init__(self, *parts):
        self.parts = [lifted(x) for x in parts]

    def __getitem__(self, k):
        return self.parts[k]

    def __setitem__(self, k, x):
        self.parts[k] = lifted(x)

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other):
        return Vector(*(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def __mul__(self, scale):
        return Vector(*(a * scale for a in self.parts))

    __rmul__ = __mul__


# ----- memory -------------------------------------------------------------------------------------


class Memory:
    """Elements of one allocation; `tracks` says whether it has a gradient."""

    def __init__(self, elements, tracks):
        self.elements, self.tracks = list(elements), tracks
        self.first = list(self.elements)


class View:
    """Some elements of a memory, in an order and a shape of its own."""

    def __init__(self, memory, places):
        self.memory, self.places = memory, places
        self.shape = places.shape

    def __getitem__(self, key):
        found = self.places[key]
        if isinstance(found, np.ndarray):
            return View(self.memory, found)
        element = self.memory.elements[found]
        return Element(self, key, element.parts) if isinstance(element, Vector) else element

    def __setitem__(self, key, x):
        if isinstance(x, float | int) and not isinstance(self.memory.elements[self.places[key]], int):
            x = Number(x)
        if isinstance(x, Vector):
            x = Vector(*x.parts)
        self.memory.elements[self.places[key]] = x if self.memory.tracks else detached(x)

    def values(self):
        """All elements as NumPy sees them."""
        flat = [self.memory.elements[k] for k in self.places.reshape(-1)]
        return np.array([[c.value for c in x.parts] if isinstance(x, Vector) else getattr(x, "value", x) for x in flat])


class Element(Vector):
    """A vector in memory: to set a part of it stores it."""

    def __init__(self, view, key, parts):
        super().__init__(*parts)
        self.view, self.key = view, key

    def __setitem__(self, k, x):
        super().__setitem__(k, x)
        self.view[self.key] = self


def memory_of(contents, tracks, length=0):
    """A view of new memory that holds what a NumPy array does; length: of the vectors that its last axis makes."""
    shape = contents.shape[:-1] if length else contents.shape
    numbers = [(variable if tracks else Number)(x) for x in contents.reshape(-1)]
    flat = [Vector(*numbers[k : k + length]) for k in range(0, len(numbers), length)] if length else numbers
    return View(Memory(flat, tracks), np.arange(len(flat)).reshape(shape))


def cotangents(view):
    """Derivatives by the first contents of a memory, seen as it was made; None without gradient."""
    memory = view.memory
    if not memory.tracks:
        return None
    flat = [[c.cotangent for c in x.parts] if isinstance(x, Vector) else x.cotangent for x in memory.first]
    return np.array(flat).reshape((*view.shape, -1) if isinstance(memory.first[0], Vector) else view.shape)


# ----- the language -------------------------------------------------------------------------------


def kernel(function):
    return function


func = struct = kernel


def array(**_):
    return None


array2d = indexedarray = array


def float64(x):
    return lifted(x)


vec2d = vec3d = Vector


def tid():
    return Thread.index


def launch(function, dim, args):
    for Thread.index in range(dim):
        function(*args)


def of_one(value, slope):
    """A function of one number from its value and its derivative."""
    return lambda x: Number(value(x.value), ((x, slope(x.value)),))


sin = of_one(math.sin, math.cos)
cos = of_one(math.cos, lambda x: -math.sin(x))
exp = of_one(math.exp, math.exp)
tanh = of_one(math.tanh, lambda x: 1.0 - math.tanh(x) ** 2)
sqrt = of_one(math.sqrt, lambda x: 0.5 / math.sqrt(x))
log = of_one(math.log, lambda x: 1.0 / x)
atan = of_one(math.atan, lambda x: 1.0 / (1.0 + x * x))


def smaller(a, b):
    return a if lifted(a) < b else lifted(b)


def larger(a, b):
    return a if lifted(a) > b else lifted(b)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def atomic_add(a, *place_and_value):
    *place, x = place_and_value
    key = tuple(place) if len(place) > 1 else place[0]
    old = a[key]
    a[key] = old + x
    return old


def atomic_sub(a, *place_and_value):
    *place, x = place_and_value
    key = tuple(place) if len(place) > 1 else place[0]
    old = a[key]
    a[key] = old - x
    return old


def atomic_exch(a, k, x):
    old, a[k] = a[k], x
    return old


def atomic_min(a, k, x):
    old = a[k]
    if lifted(x) < old:
        a[k] = x
    return old


def atomic_max(a, k, x):
    old = a[k]
    if lifted(x) > old:
        a[k] = x
    return old


LANGUAGE = SimpleNamespace(**globals(), min=smaller, max=larger)
