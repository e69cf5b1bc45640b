"""Tangents for views of what a tape recorded, and for what these are views of, against PyTorch in float64.

Random programs copy, square and add between views of two arrays: slices with steps, rows, reshaped and flattened parts,
fields of structs. Directions are given for the arrays themselves, for views that overlap or were never recorded, or for
both. 40 programs every day; WARPSIM_VIEW_TANGENTS=5000 runs that many others.
"""

import os

import numpy as np
import pytest
from direction_cases import refused

import warpsim as wp
from warpsim.autograd import hvp, jvp
from warpsim.errors import GradientError

torch = pytest.importorskip("torch", reason="torch is not installed")

MORE = int(os.environ.get("WARPSIM_VIEW_TANGENTS", "0"))
SIZE = 12
Reals = wp.array(dtype=wp.float64)


@wp.struct
class Pair:
    source: wp.array(dtype=wp.float64)
    target: wp.array(dtype=wp.float64)


@wp.kernel
def bend(x: Reals, y: Reals):
    i = wp.tid()
    y[i] = x[i] * x[i] * wp.float64(0.5) + wp.sin(x[i])


@wp.kernel
def add_product(p: Pair):
    i = wp.tid()
    p.target[i] = p.target[i] + p.source[i] * p.source[i]


@wp.kernel
def total(x: Reals, loss: Reals):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * wp.sin(x[i]))


class Part:
    """A view of an array, and the positions of its elements in it."""

    def __init__(self, which, make):
        self.which, self.make = which, make
        self.at = make(np.arange(SIZE)).reshape(-1)

    def of(self, arrays):
        return self.make(arrays[self.which])


def parts(rng, count):
    """Views of either array with as many elements, in one dimension."""
    found = []
    for which in range(2):
        low, step = int(rng.integers(0, SIZE - count + 1)), int(rng.integers(1, 3))
        found.append(Part(which, lambda a, low=low: a[low : low + count]))
        if low + step * (count - 1) < SIZE:
            found.append(Part(which, lambda a, low=low, s=step: a[low : low + s * (count - 1) + 1 : s]))
        if SIZE % count == 0:
            row = int(rng.integers(0, SIZE // count))
            found.append(Part(which, lambda a, row=row: a.reshape((SIZE // count, count))[row]))
        if count == SIZE:
            found.append(Part(which, lambda a: a.reshape((3, 4)).flatten()))
            found.append(Part(which, lambda a: a))
    return found


def program(rng):
    """Steps (kind, target, source), between views that share no element."""
    steps = []
    while len(steps) < 5:
        ways = parts(rng, int(rng.integers(1, SIZE + 1)))
        target, source = rng.choice(ways, 2)
        if target.which != source.which or not set(target.at) & set(source.at):
            steps.append((str(rng.choice(["copy", "bend", "add"])), target, source))
    return steps


def run(steps, arrays):
    for kind, target, source in steps:
        to, of = target.of(arrays), source.of(arrays)
        if kind == "copy":
            wp.copy(to, of)
        elif kind == "bend":
            wp.launch(bend, len(to), [of, to])
        else:
            wp.launch(add_product, len(to), [Pair(source=of, target=to)])


def in_torch(steps, arrays):
    arrays = list(arrays)
    for kind, target, source in steps:
        of, to = arrays[source.which][source.at], arrays[target.which]
        new = {"copy": of, "bend": of * of * 0.5 + torch.sin(of), "add": to[target.at] + of * of}[kind]
        arrays[target.which] = to.index_put((torch.tensor(target.at),), new)
    return tuple(arrays)


def given(rng, arrays, along):
    """Directions for some views and arrays, as `along` has them; and what it is of all elements."""
    chosen = [Part(which, lambda a: a) for which in range(2) if rng.random() < 0.4]
    chosen += [p for p in rng.choice(parts(rng, int(rng.integers(1, SIZE + 1))), 2) if rng.random() < 0.8]
    whole = [np.zeros(SIZE), np.zeros(SIZE)]
    tangents = {}
    for part in chosen:
        whole[part.which][part.at] = along[part.which][part.at]
        tangents[part.of(arrays)] = along[part.which][part.at]
    return tangents, tuple(map(torch.tensor, whole))


def on_tape(tape, tangents):
    """Those of the directions whose memory the tape knows; of others none is taken."""
    known = [(a._address, a._address + 8 * (a.size - 1) * max(a.strides) // 8 + 8) for a in tape.arrays()]
    return {a: t for a, t in tangents.items() if any(low < end(a) and a._address < high for low, high in known)}


def end(a):
    return a._address + (a.size - 1) * a.strides[0] + 8


@pytest.mark.parametrize("number", range(MORE or 40))
def test_directions_of_views_and_of_whole_arrays(number):
    rng = np.random.default_rng(number + MORE)
    steps, start, along = program(rng), *(rng.uniform(-1, 1, (2, SIZE)) for _ in range(2))
    arrays = [wp.array(x, dtype=wp.float64, requires_grad=True) for x in start]
    with wp.Tape() as tape:
        run(steps, arrays)
    tangents, whole = given(rng, arrays, along)
    if len(on_tape(tape, tangents)) < len(tangents):
        refused(GradientError, lambda: jvp(tape, tangents=tangents), "a view of one")
        return
    found = jvp(tape, tangents=tangents)
    _, wanted = torch.func.jvp(lambda *a: in_torch(steps, a), tuple(map(torch.tensor, start)), whole)
    for which in {target.which for _, target, _ in steps}:
        seen = known_elements(tape, arrays[which], tangents)
        np.testing.assert_allclose(found[arrays[which]].numpy()[seen], wanted[which].numpy()[seen], atol=1e-12)


def known_elements(tape, whole, tangents):
    """The elements of an array that lie within what was recorded or given: of others a tape knows nothing."""
    reach = [(a._address, end(a)) for a in (*tape.arrays(), *tangents) if a.size and a.ndim == 1]
    addresses = whole._address + 8 * np.arange(SIZE)
    return np.any([(low <= addresses) & (addresses < high) for low, high in reach], axis=0)


@pytest.mark.parametrize("number", range(MORE or 8))
def test_hessians_along_views_and_whole_arrays(number):
    rng = np.random.default_rng(number + 500 + MORE)
    steps, start, along = program(rng), *(rng.uniform(-1, 1, (2, SIZE)) for _ in range(2))
    arrays = [wp.array(x, dtype=wp.float64, requires_grad=True) for x in start]
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        run(steps, arrays)
        for a in arrays:
            wp.launch(total, SIZE, [a, loss])
    tangents, whole = given(rng, arrays, along)
    found = hvp(tape, loss=loss, vector=tangents)

    def scalar(*a):
        return sum((x * x * torch.sin(x)).sum() for x in in_torch(steps, a))

    slopes = torch.func.grad(scalar, argnums=(0, 1))
    _, wanted = torch.func.jvp(slopes, tuple(map(torch.tensor, start)), whole)
    for a, want in zip(arrays, wanted, strict=True):
        np.testing.assert_allclose(found[a].numpy(), want.numpy(), atol=1e-11)


def test_directions_that_contradict_each_other_are_refused():
    x, y = (wp.ones(4, dtype=wp.float64, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(bend, 4, [x, y])
    half = x[:2]
    same = {x: np.arange(4.0), half: [0.0, 1.0]}
    np.testing.assert_allclose(jvp(tape, tangents=same)[y].numpy(), np.arange(4.0) * (1.0 + np.cos(1.0)))
    refused(GradientError, lambda: jvp(tape, tangents={x: np.arange(4.0), half: [1.0, 1.0]}), "one number for every")


def test_arrays_that_the_tape_does_not_know_are_refused():
    x, y, z = (wp.ones(4, dtype=wp.float64, requires_grad=True) for _ in range(3))
    with wp.Tape() as tape:
        wp.launch(bend, 4, [x, y])
    refused(GradientError, lambda: jvp(tape, tangents={z: np.ones(4)}), "that the tape recorded")
    refused(GradientError, lambda: hvp(tape, vector={x: np.ones(4)}, cotangents={z: np.ones(4)}), "tape recorded")
    refused(KeyError, lambda: jvp(tape, tangents={x: np.ones(4)})[z], "is no array that the tape knows")


def test_a_part_of_a_part_of_what_was_recorded():
    x, y = (wp.ones((3, 4), dtype=wp.float64, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.copy(y[1:], x[1:])
    found = jvp(tape, tangents={x[2][1:3]: [1.0, 2.0]})
    np.testing.assert_array_equal(found[y].numpy(), [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 2, 0]])
    np.testing.assert_array_equal(found[y[2]].numpy(), [0, 1, 2, 0])
    back = hvp(tape, cotangents={y: np.ones((3, 4))}, vector={x: np.ones((3, 4))})
    assert not back[x].numpy().any()
