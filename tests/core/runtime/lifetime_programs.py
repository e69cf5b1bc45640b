"""Random programs that drop, replace and reuse what launches, graphs, tapes, structs and handles refer to.

Run in a process of its own, `python lifetime_programs.py FIRST COUNT`: memory of arrays is poisoned when it is given
back, so that whoever looks at it afterwards reads numbers that are far from right; pages that are unmapped end the
process. What programs compute is compared with what they compute when nothing is ever dropped.
"""

import ctypes
import gc
import random
import sys
import weakref

import numpy as np

import warpsim as wp
from warpsim.core.runtime.devices import device as devices
from warpsim.errors import WarpsimError

N = 16
POISON = 0xCB  # as a float -2.7e7, as an address nowhere
SLOTS = 5


def poisoned_memory(size, zero):
    """What `device._aligned_buffer` gives, in memory that outlives its views and is poisoned then."""
    keeper = (ctypes.c_char * (size + 2 * devices.ALIGNMENT))()
    start = -ctypes.addressof(keeper) % devices.ALIGNMENT
    address = ctypes.addressof(keeper) + start
    if not zero:
        ctypes.memset(address, POISON, size)
    lent = (ctypes.c_char * (size + 1)).from_address(address)
    weakref.finalize(lent, poison, keeper, address, size)
    graveyard.append(keeper)
    return memoryview(lent).cast("B"), 0


graveyard = []  # what was given back stays mapped, and poisoned


def poison(keeper, address, size):
    ctypes.memset(address, POISON, size)


@wp.struct
class Pair:
    scale: float
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)


@wp.struct
class Nest:
    pair: Pair
    cells: wp.array(dtype=Pair)


@wp.kernel
def mix(x: wp.array(dtype=float), y: wp.array(dtype=float), c: float):
    i = wp.tid()
    y[i] = 0.5 * y[i] + c * wp.sin(x[i])


@wp.kernel
def mix_pair(p: Pair):
    i = wp.tid()
    p.b[i] = 0.5 * p.b[i] + p.scale * wp.sin(p.a[i])


@wp.kernel
def mix_nest(n: Nest, at: int):
    i = wp.tid()
    n.pair.b[i] = 0.5 * n.pair.b[i] + wp.sin(n.pair.a[i]) + 0.1 * n.cells[at].a[i]


@wp.kernel
def mix_cells(cells: wp.array(dtype=Pair), y: wp.array(dtype=float), at: int):
    i = wp.tid()
    y[i] = 0.5 * y[i] + cells[at].scale * wp.sin(cells[at].a[i])


@wp.kernel
def write_cells(cells: wp.array(dtype=Pair), at: int):
    i = wp.tid()
    cells[at].b[i] = 0.5 * cells[at].b[i] + 0.2


@wp.kernel
def store_cell(cells: wp.array(dtype=Pair), p: Pair, at: int):
    cells[at] = p


@wp.kernel
def move_cell(source: wp.array(dtype=Pair), cells: wp.array(dtype=Pair), at: int):
    cells[at] = source[0]


@wp.kernel
def store_row(cells: wp.array(dtype=Pair), rows: wp.array2d(dtype=float), at: int):
    cells[at].a = rows[at]


@wp.kernel
def near(grid: wp.uint64, y: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for n in wp.hash_grid_query(grid, wp.vec3(0.0, 0.0, 0.0), 0.5):
        total += 0.01 * float(n)
    y[i] = 0.5 * y[i] + total


@wp.kernel
def looked_up(volume: wp.uint64, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * y[i] + wp.volume_lookup_f(volume, i, 1, 1)


class World:
    """Slots of arrays, structs and so on. `hoard`: nothing that was in a slot is ever dropped."""

    def __init__(self, seed, hoard):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.hoard, self.hoarding = [], hoard
        self.seen = []
        self.arrays = [self.array() for _ in range(SLOTS)]
        self.pairs = [self.pair() for _ in range(2)]
        self.cells = [self.made_cells() for _ in range(2)]
        self.grids, self.volumes = [self.grid()], [self.volume()]
        self.commands, self.graphs, self.tapes = [], [], []

    # ----- things -----

    def array(self):
        return wp.array(self.numbers.uniform(-1.0, 1.0, N), dtype=float, requires_grad=self.random.random() < 0.7)

    def pair(self):
        return Pair(scale=self.numbers.uniform(0.1, 1.0), a=self.random.choice(self.arrays), b=self.array())

    def made_cells(self):
        return wp.array([self.pair() for _ in range(3)], dtype=Pair)

    def grid(self):
        made = wp.HashGrid(4, 4, 4)
        made.build(wp.array(self.numbers.uniform(-1.0, 1.0, (20, 3)), dtype=wp.vec3), 0.5)
        return made

    def volume(self):
        return wp.Volume.load_from_numpy(self.numbers.uniform(0.0, 0.3, (N, 2, 2)).astype(np.float32))

    def put(self, slots, thing):
        """Replace a thing; the one before goes, unless things are hoarded."""
        at = self.random.randrange(len(slots))
        if self.hoarding:
            self.hoard.append(slots[at])
        slots[at] = thing

    # ----- what happens -----

    def do_replace(self):
        kind = self.random.choice(["arrays", "arrays", "arrays", "pairs", "cells", "grids", "volumes"])
        made = {"arrays": self.array, "pairs": self.pair, "cells": self.made_cells, "grids": self.grid}
        self.put(getattr(self, kind), made.get(kind, self.volume)())

    def do_drop(self):
        kind = self.random.choice(["commands", "graphs", "tapes"])
        if getattr(self, kind):
            found = getattr(self, kind).pop(self.random.randrange(len(getattr(self, kind))))
            if self.hoarding:
                self.hoard.append(found)

    def do_field(self):
        pair, name = self.random.choice(self.pairs), self.random.choice(["a", "b"])
        if self.hoarding:
            self.hoard.append(getattr(pair, name))
        setattr(pair, name, self.random.choice([self.array(), self.random.choice(self.arrays)]))

    def do_swap(self):
        pair = self.random.choice(self.pairs)
        pair.a, pair.b = pair.b, pair.a

    def do_cell(self):
        cells, at = self.random.choice(self.cells), self.random.randrange(3)
        how = self.random.choice(["item", "copy", "records", "numpy", "fill", "picked", "clone"])
        if how == "item":
            cells[at] = self.pair()
        elif how == "copy":
            wp.copy(cells, self.made_cells())
        elif how == "records":
            cells.assign(self.made_cells().numpy())
        elif how == "numpy":
            cells.numpy()[at] = self.random.choice(self.cells).numpy()[0]
            wp.launch(mix_cells, 0, inputs=[cells, self.arrays[0], at])  # launches take note of it
        elif how == "fill":
            cells.fill_(self.pair())
        elif how == "picked":
            cells[[at]].assign(self.random.choice(self.cells)[[0]])
        else:
            self.put(self.cells, wp.clone(cells))

    def do_gradient(self):
        a = self.random.choice(self.arrays)
        if self.hoarding:
            self.hoard.append(a._grad)
        a.requires_grad = not a.requires_grad

    def do_view(self):
        table = wp.array(self.numbers.uniform(-1.0, 1.0, (2, N)), dtype=float)
        self.put(self.arrays, table[1] if self.random.random() < 0.5 else table.flatten()[N:])

    def do_wrap(self):
        data = np.frombuffer(poisoned_memory(4 * N, False)[0], np.float32, N)
        data[:] = self.numbers.uniform(-1.0, 1.0, N)
        self.put(self.arrays, wp.array(data, dtype=float, copy=False))

    def do_structure(self):
        grid = self.random.choice(self.grids)
        grid.build(wp.array(self.numbers.uniform(-1.0, 1.0, (self.random.choice([5, 30, 200]), 3)), dtype=wp.vec3), 0.5)

    def launches(self, count):
        for _ in range(count):
            self.launch()

    def launch(self, **options):
        x, y = self.random.choice(self.arrays), self.random.choice(self.arrays)
        pair, cells, at = self.random.choice(self.pairs), self.random.choice(self.cells), self.random.randrange(3)
        kernel = self.random.choice(
            [mix, mix_pair, mix_nest, mix_cells, write_cells, store_cell, move_cell, store_row, near, looked_up]
        )
        nest = Nest(pair=pair, cells=cells)
        args = {
            mix: (N, [x, y, self.numbers.uniform(0.1, 1.0)]),
            mix_pair: (N, [pair]),
            mix_nest: (N, [nest, at]),
            mix_cells: (N, [cells, y, at]),
            write_cells: (N, [cells, at]),
            store_cell: (1, [cells, self.pair(), at]),
            move_cell: (1, [self.random.choice(self.cells), cells, at]),
            store_row: (1, [cells, wp.array(self.numbers.uniform(-1.0, 1.0, (3, N)), dtype=float), at]),
            near: (N, [self.random.choice(self.grids).id, y]),
            looked_up: (N, [self.random.choice(self.volumes).id, y]),
        }
        size, inputs = args[kernel]
        if self.hoarding:
            self.hoard.append([inputs, [p.a for p in self.pairs], [p.b for p in self.pairs]])
        return wp.launch(kernel, size, inputs=inputs, **options)

    def do_launch(self):
        self.launches(self.random.randint(1, 3))

    def do_command(self):
        self.commands.append(self.launch(record_cmd=True))

    def do_run_command(self):
        if self.commands:
            self.random.choice(self.commands).launch()

    def do_capture(self):
        with wp.ScopedCapture() as capture:
            self.launches(self.random.randint(1, 3))
            if self.graphs and self.random.random() < 0.3:
                wp.capture_launch(self.random.choice(self.graphs))
            if self.commands and self.random.random() < 0.3:
                self.random.choice(self.commands).launch()
            if self.random.random() < 0.5:
                wp.copy(self.random.choice(self.arrays), self.random.choice(self.arrays))
            if self.random.random() < 0.4:
                with wp.Tape() as tape:
                    self.launches(2)
                self.backward(tape)
            elif self.tapes and self.random.random() < 0.3:
                self.backward(self.random.choice(self.tapes))
        self.graphs.append(capture.graph)

    def do_run_graph(self):
        if self.graphs:
            wp.capture_launch(self.random.choice(self.graphs))

    def do_tape(self):
        with wp.Tape() as tape:
            for _ in range(self.random.randint(1, 4)):
                runs = [self.do_launch, self.do_run_graph, self.do_run_command]
                what = self.random.choice([*runs, self.do_replace, self.do_cell, self.do_swap, self.do_structure])
                what()
        self.tapes.append(tape)

    def do_backward(self):
        if self.tapes:
            self.backward(self.random.choice(self.tapes))

    def backward(self, tape):
        recorded = [id(a) for a in tape.arrays()]
        targets = [a for a in self.arrays if id(a) in recorded and a.grad is not None]
        if tape.records and targets:
            a = targets[self.random.randrange(len(targets))]
            tape.backward(grads={a: wp.ones(N, dtype=float)})
            self.seen.append([a.grad.numpy().copy() for a in targets])

    def do_look(self):
        cells = self.random.choice(self.cells)
        self.seen.append([None if c.a is None else c.a.numpy().copy() for c in cells.list()])

    def run(self, steps):
        names = [name for name in dir(self) if name.startswith("do_")]
        for k in range(steps):
            name = self.random.choice(names)
            try:
                getattr(self, name)()
            except WarpsimError as error:
                self.seen.append(type(error).__name__)
            if k % 8 == 0:
                gc.collect()
            self.seen.append([name, *(a.numpy().copy() for a in self.arrays)])
        return self.seen


def same(a, b):
    """Whether two runs saw the same."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b, equal_nan=True)
    return a == b


def check(seed, steps=40):
    """Run a program twice; returns where it went another way when things were dropped, or None."""
    kept, dropped = World(seed, True).run(steps), World(seed, False).run(steps)
    gc.collect()
    gc.freeze()  # what is left is compiled kernels: later collections look at what programs make
    graveyard.clear()
    if same(kept, dropped):
        return None
    return next(k for k, (a, b) in enumerate(zip(kept, dropped, strict=False)) if not same(a, b))


def main(first, count):
    devices._aligned_buffer = poisoned_memory
    wrong = []
    for seed in range(first, first + count):
        print("seed", seed, file=sys.stderr, flush=True)
        at = check(seed)
        if at is not None:
            wrong.append(seed)
            print(f"wrong from step {at}", file=sys.stderr, flush=True)
    print(f"{count} programs, wrong: {wrong}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
