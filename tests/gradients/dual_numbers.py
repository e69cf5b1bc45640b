"""A Python twin of kernels: the same text, run by Python on dual numbers in float64.

A `Dual` is a number with its derivatives along all numbers that a program starts from. What is stored in an array
without gradient loses its derivatives, and so do the numbers that such an array starts from: that is the whole rule.
Threads run one after the other.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

CLOSE = 1e-9  # numbers that are compared, and no further apart, leave open which way a kernel goes


class Undecided(Exception):
    """A comparison that rounding decides: the program is no measure."""


class Dual:
    """A number and its derivatives."""

    __slots__ = ("d", "v")
    __array_priority__ = 1

    def __init__(self, v, d=0.0):
        self.v, self.d = float(v), d

    def __add__(self, other):
        other = dual(other)
        return Dual(self.v + other.v, self.d + other.d)

    def __sub__(self, other):
        other = dual(other)
        return Dual(self.v - other.v, self.d - other.d)

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.v * other.v, self.d * other.v + other.d * self.v)

    def __truediv__(self, other):
        other = dual(other)
        return Dual(self.v / other.v, self.d / other.v - other.d * (self.v / other.v**2))

    def __neg__(self):
        return Dual(-self.v, -self.d)

    def __lt__(self, other):
        other = dual(other)
        if not abs(self.v - other.v) > CLOSE * max(1.0, abs(self.v)):
            raise Undecided
        return self.v < other.v


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


class Memory:
    """Numbers with derivatives; `varies` says whether derivatives are kept."""

    def __init__(self, numbers, first, total, varies):
        self.varies = varies
        self.cells = [Dual(v, unit(total, first + k) if varies else 0.0) for k, v in enumerate(np.ravel(numbers))]

    def get(self, at):
        return self.cells[at]

    def set(self, at, value):
        self.cells[at] = dual(value) if self.varies else Dual(dual(value).v)

    def values(self):
        return np.array([c.v for c in self.cells])

    def derivatives(self, total):
        return np.array([np.broadcast_to(c.d, total) for c in self.cells])


def unit(total, k):
    found = np.zeros(total)
    found[k] = 1.0
    return found


class Numbers:
    """An array of numbers, or what an index table picks of it."""

    def __init__(self, memory, places):
        self.memory, self.places = memory, places

    def __getitem__(self, i):
        return self.memory.get(self.places[i])

    def __setitem__(self, i, value):
        self.memory.set(self.places[i], value)


class Pairs:
    """An array of vectors of two numbers."""

    def __init__(self, memory, places):
        self.memory, self.places = memory, places

    def __getitem__(self, i):
        return Numbers(self.memory, [2 * self.places[i], 2 * self.places[i] + 1])

    def __setitem__(self, i, value):
        for k in range(2):
            self.memory.set(2 * self.places[i] + k, value[k])


def update(combine):
    def atomic(array, i, value):
        old = array[i]
        array[i] = combine(old, dual(value))
        return old

    return atomic


LANGUAGE = SimpleNamespace(
    kernel=lambda f: f, float64=dual,
    sin=lambda x: Dual(math.sin(dual(x).v), dual(x).d * math.cos(dual(x).v)),
    cos=lambda x: Dual(math.cos(dual(x).v), -dual(x).d * math.sin(dual(x).v)),
    vec2d=lambda x, y: (x, y),
    atomic_add=update(lambda old, new: old + new), atomic_sub=update(lambda old, new: old - new),
    atomic_min=update(lambda old, new: new if new < old else old),
    atomic_max=update(lambda old, new: new if old < new else old),
    atomic_exch=update(lambda old, new: new),
)  # fmt: skip
"""What `wp` means in the twin."""


def module(text):
    """The kernels of a text as Python functions."""
    found = {"wp": SimpleNamespace(**vars(LANGUAGE)), "F": dual}
    exec(compile(text, "<twin>", "exec", dont_inherit=True), found)
    return found


def launch(found, name, dim, args):
    for t in range(dim):
        found["wp"].tid = lambda t=t: t
        found[name](*args)
