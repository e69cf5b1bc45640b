"""Time from the source of a kernel with ``ops`` straight-line operations to its first result.

Every timing compiles a kernel that was never seen before: its constants are new to the process and
to its cache folder, so no cache can answer. The source is a module file, because frameworks read
kernels back from their file.
"""

import importlib.util
import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.case import Case, Timed

TEMPLATES = {
    "warp": """
def define(wp):
    @wp.kernel
    def chain(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        {body}
    return chain
""",
    "taichi": """
def define(ti):
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)
    @ti.kernel
    def chain(x: array, y: array):
        for i in x:
            {body}
    return chain
""",
    "numba": """
def define(nb):
    @nb.njit(parallel=True)
    def chain(x, y):
        for i in nb.prange(x.shape[0]):
            {body}
    return chain
""",
}
N = 8
SEEDS = 4096
_seeds = itertools.count()


def operations(ops: int, seed: int) -> list[tuple[str, float]]:
    """``ops`` pairs of operator and constant; operator ``@`` multiplies the last two values.

    Three operations map v to about v^2 / 2 + 0.3, which draws [0, 1] to a fixed point near 0.37.
    """
    # steps that float32 resolves, or a cache that is keyed by rounded constants would answer
    shift = seed % SEEDS * 1.0e-5
    kinds = (("*", 0.5 + shift), ("@", 0.0), ("+", 0.3 + shift))
    return [(kinds[k % 3][0], kinds[k % 3][1] + k * 1.0e-6) for k in range(ops)]


def statements(ops: int, seed: int) -> list[str]:
    """The operations as assignments, one operation a line."""
    lines = ["t0 = x[i]"]
    for k, (operator, constant) in enumerate(operations(ops, seed), start=1):
        right = f"* t{k - 2}" if operator == "@" else f"{operator} {constant:.12f}"
        lines.append(f"t{k} = t{k - 1} {right}")
    return [*lines, f"y[i] = t{ops}"]


def evaluate(ops: int, seed: int, x: np.ndarray) -> np.ndarray:
    """The same operations in NumPy, in the precision of ``x``."""
    last, before = x, x
    for operator, constant in operations(ops, seed):
        if operator == "@":
            last, before = last * before, last
        else:
            last, before = (last * constant if operator == "*" else last + constant), last
    return last


def inputs() -> np.ndarray:
    """``x``, float32 in [0, 1), shape ``(N,)``."""
    return np.random.default_rng(8).random(N, dtype=np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """Each case divides by the value that its own constants must give."""
    return {"quotient": np.ones(N)}


class Compilation:
    """Writes a new module per run (untimed), then imports it and runs its kernel (timed)."""

    def __init__(self, dialect: str, ops: int, first_run: Callable[[ModuleType], Any]) -> None:
        self.dialect, self.ops, self.first_run = dialect, ops, first_run
        self.folder = Path(tempfile.mkdtemp(dir=os.environ["BENCH_CACHE"]))
        self.seed, self.path = 0, Path()

    def write(self) -> None:
        """Put the source of a kernel with fresh constants on disk."""
        self.seed = next(_seeds)
        template = TEMPLATES[self.dialect]
        indent = next(line for line in template.splitlines() if "{body}" in line).split("{")[0]
        body = ("\n" + indent).join(statements(self.ops, self.seed))
        self.path = self.folder / f"chain_{self.seed}.py"
        self.path.write_text(template.replace("{body}", body), encoding="utf-8")

    def compile(self) -> None:
        """Import the module and run its kernel once."""
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.first_run(module)

    def case(self, result: Callable[[], np.ndarray]) -> Case:
        """The case whose values are found divided by wanted."""
        def quotient() -> dict[str, np.ndarray]:
            wanted = evaluate(self.ops, self.seed, inputs().astype(np.float64))
            return {"quotient": result() / wanted}

        return Case({"time": Timed(self.compile, before=self.write)}, quotient)


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """Import, launch, done."""
    x, y = wp.array(inputs(), dtype=float), wp.zeros(N, dtype=float)

    def first_run(module: ModuleType) -> None:
        wp.launch(module.define(wp), dim=N, inputs=[x, y])

    return Compilation("warp", size["ops"], first_run).case(y.numpy)


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """Import, call, done."""
    x, y = ti.ndarray(ti.f32, N), ti.ndarray(ti.f32, N)
    x.from_numpy(inputs())
    return Compilation("taichi", size["ops"], lambda module: module.define(ti)(x, y)).case(
        y.to_numpy)


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """Import, call, done."""
    x, y = inputs(), np.zeros(N, np.float32)
    return Compilation("numba", size["ops"], lambda module: module.define(nb)(x, y)).case(lambda: y)
