"""Random kernels with random indices, and what they compute by plain Python: negative indices count from the end.

A program is text that is both a kernel and a Python function. The twin runs it on arrays that check every index,
so it tells which access is the first one outside, if any.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from grammar.indices import Text
from kernel_text import module

import warpsim as wp


class OutsideError(Exception):
    """The twin's word for an index outside: array, axis, index."""


@dataclass
class TwinArray:
    """A checked array of Python numbers."""

    name: str
    data: np.ndarray

    @property
    def shape(self):
        return self.data.shape

    def at(self, key):
        key = key if isinstance(key, tuple) else (key,)
        for axis, (i, n) in enumerate(zip(key, self.shape, strict=False)):
            if not -n <= int(i) < n:
                raise OutsideError(self.name, axis, int(i), n)
        return tuple(int(i) for i in key)

    def __getitem__(self, key):
        found = self.data[self.at(key)]
        return TwinArray(self.name, found) if isinstance(found, np.ndarray) else found.item()

    def __setitem__(self, key, value):
        self.data[self.at(key)] = value


class Twin:
    """What a program finds under the name `wp` when Python runs it."""

    int32, int64, sin = int, int, staticmethod(math.sin)
    min, max = staticmethod(min), staticmethod(max)

    def __init__(self, thread):
        self.thread = thread

    def tid(self):
        return self.thread if len(self.thread) > 1 else self.thread[0]

    @staticmethod
    def mod(x, y):
        return int(math.fmod(x, y))

    @staticmethod
    def clamp(x, low, high):
        return min(max(x, low), high)

    @staticmethod
    def atomic_add(array, *rest):
        *indices, value = rest
        array[tuple(indices)] = array[tuple(indices)] + value


@dataclass
class Program:
    """A kernel's text, its arguments, and the launch dimensions."""

    text: str
    dim: tuple
    shapes: dict
    tables: dict
    shift: int
    inputs: dict

    def arrays(self):
        """Fresh contents of the arrays of numbers, by name."""
        return {name: value.copy() for name, value in self.inputs.items()}

    def twin(self, arrays, threads=None):
        """Run by Python on these arrays, in place. Raises `OutsideError`."""
        scope = {}
        exec(self.text, scope)
        given = {name: TwinArray(name, value) for name, value in {**arrays, **self.tables}.items()}
        for thread in threads or self.threads():
            scope["wp"] = Twin(thread)
            scope["program"](**given, shift=self.shift)

    def threads(self):
        return list(itertools.product(*map(range, self.dim)))

    def failures(self):
        """What each thread that fails says first: array, axis, index, extent."""
        found = []
        for thread in self.threads():
            try:
                self.twin(self.arrays(), [thread])
            except OutsideError as error:
                found.append(error.args)
        return found

    def kernel(self):
        return wp.kernel(module(self.annotated(self.text), {"wp": wp})["program"], module="unique")

    def annotated(self, text):
        """The text with types in its first line."""
        types = {name: f"wp.array(dtype=wp.float64, ndim={len(shape)})" for name, shape in self.shapes.items()}
        types |= {name: f"wp.array(dtype=wp.{value.dtype.name})" for name, value in self.tables.items()}
        first, rest = text.split("\n", 1)
        stem = first[: first.index("(")]
        return f"{stem}({', '.join(f'{n}: {t}' for n, t in types.items())}, shift: int):\n{rest}"


def program(seed, astray):
    """The program of this number. astray: whether indices may lie outside."""
    text, numbers = Text(seed, astray), np.random.default_rng(seed)
    inputs = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in text.shapes.items()}
    return Program(text.text, text.dim, text.shapes, text.tables, text.shift, inputs)
