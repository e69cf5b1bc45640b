"""Kernels as operators of PyTorch and JAX, beside the cheapest operators of these, in one run on the CPU.

    python -m benchmarks.interop [torch] [jax] [radius]    # some of the tables; default: all that are installed

Calls over a hundred numbers, so that the call is all there is to pay for; and the aggregation within a radius that
`examples` have, beside the same with tensors over all pairs. Sides take turns and minima are reported.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import warpsim as wp

from .turns import timed

CALLS, ROUNDS = 200, 40
QUERIES, POINTS, CHANNELS = 3000, 6000, 8  # of the aggregation


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)) -> None:
    i = wp.tid()
    y[i] = 2.0 * x[i]


def many(call: Callable[[], Any]) -> Callable[[], None]:
    """A call, as often as a clock needs it."""

    def run() -> None:
        for _ in range(CALLS):
            call()

    return run


def beside(title: str, sides: dict[str, Callable[[], Any]], rounds: int) -> list[list[str]]:
    """Times of calls, and how many times the last one's they are."""
    best = timed({name: many(call) for name, call in sides.items()}, rounds)
    trivial = best[list(sides)[-1]]
    return [[title, name, f"{1.0e6 * s / CALLS:.1f} us", f"{s / trivial:.2f}"] for name, s in best.items()]


def torch_calls(rounds: int = ROUNDS) -> list[list[str]]:
    """Forward, and forward with backward, beside a custom operator that multiplies by two."""
    torch = importlib.import_module("torch")
    ours, theirs = wp.torch_op(double), trivial_operator(torch)
    x, w = torch.rand(100), torch.rand(100)
    leaf = torch.rand(100, requires_grad=True)
    named = {"kernel": ours, "trivial custom operator": theirs}
    forward = {name: lambda f=f: f(x) for name, f in named.items()}
    both = {name: lambda f=f: torch.autograd.grad(f(leaf), leaf, w) for name, f in named.items()}
    return [*beside("torch, forward", forward, rounds), *beside("torch, forward and backward", both, rounds)]


def trivial_operator(torch: Any) -> Any:
    """A custom operator whose gradient is one, too, as compiled graphs need it."""
    if hasattr(torch.ops.warpsim_benchmark, "double"):
        return torch.ops.warpsim_benchmark.double
    schema = "(Tensor x) -> Tensor"
    twice = torch.library.custom_op("warpsim_benchmark::double", lambda x: x * 2.0, mutates_args=(), schema=schema)
    back = torch.library.custom_op("warpsim_benchmark::double_vjp", lambda x: x * 2.0, mutates_args=(), schema=schema)
    twice.register_autograd(lambda _, w: back(w))
    return twice


def jax_calls(rounds: int = ROUNDS) -> list[list[str]]:
    """A call in a compiled program, and its gradient, beside the same in `jax.numpy`."""
    jax = importlib.import_module("jax")
    kernel, x = wp.jax_kernel(double), jax.numpy.arange(100.0)
    named = {"kernel": lambda x: kernel(x)[0], "trivial function": lambda x: 2.0 * x}
    value = {name: jax.jit(f) for name, f in named.items()}
    slope = {name: jax.jit(jax.grad(lambda x, f=f: f(x).sum())) for name, f in named.items()}
    rows = []
    for title, functions in (("jax.jit, value", value), ("jax.jit, gradient", slope)):
        calls = {name: lambda f=f: f(x).block_until_ready() for name, f in functions.items()}
        rows += beside(title, calls, rounds)
    return rows


def radius(rounds: int = 5) -> list[list[str]]:
    """Means of features near queries, forward and backward, as an operator and with tensors over all pairs."""
    torch = importlib.import_module("torch")
    example = example_named("radius_aggregation")
    rng, operator = np.random.default_rng(0), wp.torch_op(example.near)
    sizes = ((QUERIES, 3), (POINTS, 3), (POINTS, CHANNELS))
    inputs = [torch.tensor(rng.uniform(-1.0, 1.0, n).astype(np.float32), requires_grad=True) for n in sizes]

    def both(function: Any) -> Any:
        return lambda: torch.autograd.grad(function(*inputs, 0.2, 0.1).square().sum(), inputs)

    for found, expected in zip(both(operator)(), both(example.on_pairs)(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1.0e-3, atol=1.0e-4)
    best = timed({"operator": both(operator), "tensors over all pairs": both(example.on_pairs)}, rounds)
    title = f"within a radius, {QUERIES} queries of {POINTS} points, forward and backward"
    return [[title, name, f"{1.0e3 * s:.1f} ms", f"{s / best['operator']:.1f}"] for name, s in best.items()]


def example_named(name: str) -> Any:
    """An example as a module."""
    path = Path(__file__).resolve().parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = {"torch": torch_calls, "jax": jax_calls, "radius": radius}
NEEDS = {"torch": "torch", "jax": "jax", "radius": "torch"}


def main(arguments: list[str]) -> None:
    """Print the tables that are asked for."""
    wrong = sorted(set(arguments) - set(TABLES))
    if wrong:
        sys.exit(f"no table is named {', '.join(wrong)}; there are {', '.join(TABLES)}")
    print("| | | time | ratio |\n|---|---|---:|---:|")
    for name in arguments or [name for name in TABLES if importlib.util.find_spec(NEEDS[name])]:
        for row in TABLES[name]():
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
