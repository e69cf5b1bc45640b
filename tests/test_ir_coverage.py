"""Every node kind of the IR is handled by every tool that walks programs, and an unknown kind by none.

The tools: printer, verifier, cloner, interpreter, lowering, and the passes. A new node kind fails
here until each of them knows it.
"""

import dataclasses

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.lower import Lowering
from warpsim.core.ir import nodes
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.nodes import Call, For, Function, If, Node, Region, While, walk
from warpsim.core.ir.printer import print_function
from warpsim.core.ir.rewrite import Cloner, clone
from warpsim.core.ir.verify import verify
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll

Ints = wp.array(dtype=int)


@wp.kernel
def calls(x: Ints, n: int):
    i = wp.tid()
    x[i] = i * n - 3


@wp.kernel
def branches(x: Ints, n: int):
    i = wp.tid()
    if i > n:
        x[i] = i
    else:
        x[i] = -i


@wp.kernel
def counts(x: Ints, n: int):
    i = wp.tid()
    total = int(0)
    for j in range(i, n, 2):
        total += j * j
    x[i] = total


@wp.kernel
def repeats(x: Ints, n: int):
    i = wp.tid()
    value = i + 1
    steps = int(0)
    while value < 100 * n:
        value = value * 2
        steps += 1
    x[i] = steps


def doublings(i, n):
    return max(0, int(np.ceil(np.log2(100 * n / (i + 1)))))


N, THREADS = 7, 11
SAMPLES = {
    Call: (calls, "sub(", lambda i: i * N - 3),
    If: (branches, "then:", lambda i: i if i > N else -i),
    For: (counts, "for %", lambda i: sum(j * j for j in range(i, N, 2))),
    While: (repeats, "before(", lambda i: doublings(i, N)),
}


def unrolled(fn):
    return unroll(fn, 16)


KINDS = [kind for kind in Node.__subclasses__() if kind.__module__ == nodes.__name__]


def final(kernel):
    return kernel.program(tuple(kernel.patterns.values())).fn


def test_every_kind_has_a_sample():
    assert set(KINDS) == set(SAMPLES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sample_holds_its_kind(kind):
    assert any(type(node) is kind for node in walk(final(SAMPLES[kind][0]).body))


@pytest.mark.parametrize("kind", KINDS)
def test_it_prints_and_verifies(kind):
    kernel, text, _ = SAMPLES[kind]
    assert text in print_function(verify(final(kernel)))


@pytest.mark.parametrize("kind", KINDS)
def test_it_clones_to_an_equal_and_independent_program(kind):
    fn = final(SAMPLES[kind][0])
    copy = clone(fn)
    assert print_function(copy) == print_function(fn)
    values = [{v for n in walk(f.body) for v in n.results} | set(f.params) for f in (fn, copy)]
    assert not values[0] & values[1]
    assert not {*walk(fn.body)} & {*walk(copy.body)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [inline, fold, dce, unrolled])
def test_every_pass_keeps_it(kind, change):
    """The samples are final programs: another round of any pass finds nothing to do."""
    fn = final(SAMPLES[kind][0])
    assert print_function(verify(change(clone(fn)))) == print_function(fn)


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_runs(kind, device):
    kernel, _, expected = SAMPLES[kind]
    x = wp.zeros(THREADS, dtype=int, device=device)
    wp.launch(kernel, THREADS, [x, N], device=device)
    assert x.numpy().tolist() == [expected(i) for i in range(THREADS)]


@dataclasses.dataclass(eq=False)
class Strange(Node):
    """A node kind that nobody knows."""

    def operands(self):
        return ()


@pytest.mark.parametrize(
    "tool",
    [
        lambda node: print_function(Function("f", Region((), [node]))),
        lambda node: verify(Function("f", Region((), [node]))),
        lambda node: Cloner().node(node),
        lambda node: Interpreter().node(node),
        lambda node: Lowering(None).node(node),
    ],
    ids=["printer", "verifier", "cloner", "interpreter", "lowering"],
)
def test_an_unknown_kind_is_refused_and_never_skipped(tool):
    with pytest.raises((AssertionError, KeyError, wp.errors.CompilerError)):
        tool(Strange())
