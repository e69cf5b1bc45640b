"""Random programs over tiles: text that means the same with tiles in a kernel and with arrays of NumPy on the host.

Names are references in both: `t = u` gives a tile a second name, transposes are views, `t + u` is new.
"""

import random

import numpy as np

import warpsim as wp

D = wp.float64
SIDE = 3


@wp.func
def same(t: wp.tile[D, SIDE, SIDE]):
    return t


@wp.func
def halve(t: wp.tile[D, SIDE, SIDE]):
    t *= D(0.5)


@wp.func
def smooth(t: wp.tile[D, SIDE, SIDE], u: wp.tile[D, SIDE, SIDE]):
    return wp.tile_map(wp.sin, t * u)


def halve_array(t):
    t *= 0.5


def assign_array(t, u):
    t[...] = u


def add_product(t, u, out):
    out += t @ u


KERNEL = {
    "same": same, "halve": halve, "smooth": smooth, "turn": wp.tile_transpose, "assign": wp.tile_assign,
    "product": wp.tile_matmul, "add_product": wp.tile_matmul, "D": D,
}  # fmt: skip
HOST = {
    "same": lambda t: t, "halve": halve_array, "smooth": lambda t, u: np.sin(t * u), "turn": lambda t: t.T,
    "assign": assign_array, "product": lambda t, u: t @ u, "add_product": add_product, "D": float,
}  # fmt: skip


class Program:
    """A program of some statements over tiles t0, t1, ... of which the first ones are loaded."""

    def __init__(self, seed, inputs=2, names=4):
        self.random, self.inputs = random.Random(seed), inputs
        self.names = [f"t{k}" for k in range(names)]
        self.lines = [f"{t} = {self.fresh(self.names[:k])}" for k, t in enumerate(self.names) if k >= inputs]
        self.lines += self.block(self.random.randint(3, 6), 2)

    def name(self, among=None):
        return self.random.choice(among or self.names)

    def place(self):
        return f"{self.name()}[{self.random.randrange(SIDE)}, {self.random.choice(['0', '1', '-1'])}]"

    def fresh(self, among=None):
        """An expression that makes a tile."""
        t, u = self.name(among), self.name(among)
        kinds = [f"{t} + {u}", f"{t} * D(0.5) - {u}", f"smooth({t}, {u})", f"product({t}, {u}) * D(0.1)", f"-{t}"]
        return self.random.choice(kinds)

    def statement(self):
        t, u = self.name(), self.name()
        kinds = [
            f"{t} = {self.fresh()}", f"{t} = {self.fresh()}", f"{t} = turn({u})", f"{t} = {u}", f"{t} = same({u})",
            f"{t} += {u}", f"{t} *= D(0.5)", f"{self.place()} = {self.place()} * D(0.7)", f"{self.place()} += D(0.3)",
            f"halve({t})", f"assign({t}, {u})", f"add_product({u}, {self.name()}, {t})", f"{t}, {u} = {u}, {t}",
            f"{t} -= turn({u})", f"{t}[::-1, 0:2][0, 1] = {self.place()}", f"{t}[1] += {u}[0]",
        ]  # fmt: skip
        return [self.random.choice(kinds)]

    def block(self, count, depth):
        lines = []
        for _ in range(count):
            kind = self.random.random()
            if depth and kind < 0.25:
                lines += ["for _ in range(n):", *indented(self.block(self.random.randint(1, 3), depth - 1))]
            elif depth and kind < 0.4:
                lines += [f"if {self.place()} > {self.place()}:", *indented(self.block(2, depth - 1))]
                if self.random.random() < 0.5:
                    lines += ["else:", *indented(self.block(1, depth - 1))]
            else:
                lines += self.statement()
        return lines

    def kernel(self):
        loads = [f"{t} = wp.tile_load(a[{k}], shape=({SIDE}, {SIDE}))" for k, t in enumerate(self.names[: self.inputs])]
        stores = [f"wp.tile_store(out[{k}], {t})" for k, t in enumerate(self.names)]
        head = "def program(a: wp.array3d[D], n: int, out: wp.array3d[D]):"
        return wp.kernel_from_source("\n".join([head, *indented([*loads, *self.lines, *stores])]), scope=KERNEL)

    def numpy(self, a, n):
        scope = {**HOST, "n": n, **{t: a[k].copy() for k, t in enumerate(self.names[: self.inputs])}}
        exec("\n".join(self.lines), scope)
        return np.stack([scope[t] for t in self.names])


def indented(lines):
    return [f"    {line}" for line in lines]
