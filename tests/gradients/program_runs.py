"""Runs a random program: once on a tape, and on many replicas of its memory that differ in one number each.

A replica is two threads and what they own. All perturbed copies run in one launch, so the differences of a
program cost no more than a few launches.
"""

from __future__ import annotations

import numpy as np
from grammar.smooth import NUMBER_ARRAYS, PLACES
from kernel_text import module
from program_vocabulary import S

import warpsim as wp

THREADS = 2
STEP = 2e-4
_FACTORS = (1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
# memory in the order of its numbers in a row: name, shape for one thread
FIELDS = (
    ("a", (4,)),
    ("b", (4,)),
    ("c", (4,)),
    ("g", (4,)),
    ("va", (2, 3)),
    ("ma", (2, 2, 2)),
    ("sa.x", (2,)),
    ("sa.v", (2, 3)),
)
SIZES = [THREADS * int(np.prod(shape)) for _, shape in FIELDS]
NUMBERS = sum(SIZES)


def kernels_of(program):
    return module(program.text, {"wp": wp})


@wp.kernel
def total(
    a: wp.array(dtype=wp.float64),
    b: wp.array(dtype=wp.float64),
    c: wp.array(dtype=wp.float64),
    g: wp.array2d(dtype=wp.float64),
    va: wp.array(dtype=wp.vec3d),
    ma: wp.array(dtype=wp.mat22d),
    sa: wp.array(dtype=S),
    loss: wp.array(dtype=wp.float64),
):
    """Everything that a program left behind, each number with a weight of its own."""
    t = wp.tid()
    s = wp.float64(0.0)
    weight = wp.float64(0.3 + 0.1 * float(t % 2))
    for i in range(4):
        s += wp.sin(a[t * 4 + i]) * weight + wp.cos(b[t * 4 + i]) * (weight + 0.2) - wp.sin(c[t * 4 + i] * weight)
        s += wp.cos(g[t, i] * weight)
        weight += 0.17
    for i in range(2):
        k = t * 2 + i
        s += wp.dot(va[k], wp.vec3d(weight, wp.sin(va[k][0]), wp.float64(0.4)))
        s += wp.sin(ma[k][0, 1] + weight) * ma[k][1, 1] + ma[k][0, 0] - ma[k][1, 0] * weight
        s += wp.sin(sa[k].x * weight) + wp.dot(sa[k].v, wp.vec3d(wp.float64(0.5), weight, wp.float64(-0.7)))
    wp.atomic_add(loss, t // 2, s)


def start():
    """All numbers of one replica."""
    return np.random.default_rng(11).uniform(-1.2, 1.2, NUMBERS)


def memory(rows, requires_grad):
    """Arrays for replicas, given a row of numbers for each."""
    count = len(rows) * THREADS
    parts = dict(zip((name for name, _ in FIELDS), np.split(rows, np.cumsum(SIZES)[:-1], axis=1), strict=True))
    structs = np.zeros(count * 2, S.numpy_dtype())
    structs["x"], structs["v"] = parts["sa.x"].reshape(-1), parts["sa.v"].reshape(-1, 3)
    structs["n"] = np.arange(count * 2) % 4
    shapes = {"g": (count, 4), "va": (count * 2, 3), "ma": (count * 2, 2, 2)}
    data = {name: parts[name].reshape(shapes.get(name, -1)) for name in (*PLACES, "g", "va", "ma")}
    dtypes = {"va": wp.vec3d, "ma": wp.mat22d, "sa": S}
    data["sa"] = structs
    return {
        name: wp.array(np.ascontiguousarray(x), dtype=dtypes.get(name, wp.float64), requires_grad=requires_grad)
        for name, x in data.items()
    }


def launch(kernels, program, arrays, replicas):
    """Run all steps; returns one loss per replica.

    The total of what is there at the start is part of it: an array that nothing has used when it is filled has the
    gradient of the values it was filled with, which differences by what it held before cannot show.
    """
    dim = replicas * THREADS
    numbers = wp.array(np.tile(np.array([1, 2], np.int32), replicas), dtype=int)
    loss = wp.zeros(replicas, dtype=wp.float64, requires_grad=arrays["a"].requires_grad)
    rest = [arrays[name] for name in ("g", "va", "ma", "sa")]
    summed = [*(arrays[name] for name in PLACES), *rest, loss]
    wp.launch(total, dim=dim, inputs=summed)
    for step in program.steps:
        if step.kernel == "copy":
            wp.copy(arrays[step.memory[0]], arrays[step.memory[1]])
        elif step.kernel == "fill":
            arrays[step.memory[0]].fill_(0.25)
        else:
            given = [arrays[step.memory[k]] for k in range(len(NUMBER_ARRAYS))]
            wp.launch(kernels[step.kernel], dim=dim, inputs=[*given, *rest, numbers, loss, step.n])
    wp.launch(total, dim=dim, inputs=summed)
    return loss


def by_tape(kernels, program, numbers, device=None):
    """The loss and its gradient, number by number."""
    with wp.ScopedDevice(device):
        arrays = memory(numbers[None], requires_grad=True)
        with wp.Tape() as tape:
            loss = launch(kernels, program, arrays, 1)
        value = float(loss.numpy()[0])
        tape.backward(loss)
    found = {name: a.grad.numpy() for name, a in arrays.items()}
    found["sa.x"], found["sa.v"] = found["sa"]["x"], found["sa"]["v"]
    return value, np.concatenate([found[name].reshape(-1) for name, _ in FIELDS])


def by_differences(kernels, program, numbers):
    """Losses of the unperturbed replica, the gradient by extrapolated differences, and how sure each number is."""
    rows = np.tile(numbers, (len(_FACTORS) * NUMBERS + 1, 1))
    for j, factor in enumerate(_FACTORS):
        block = rows[j * NUMBERS : (j + 1) * NUMBERS]
        block[np.diag_indices(NUMBERS)] += factor * STEP
    losses = launch(kernels, program, memory(rows, requires_grad=False), len(rows)).numpy()
    at = losses[:-1].reshape(len(_FACTORS), NUMBERS)
    slopes = [(at[2 * j] - at[2 * j + 1]) / (2.0 * STEP * _FACTORS[2 * j]) for j in range(3)]
    fine, coarse = ((4.0 * slopes[j] - slopes[j + 1]) / 3.0 for j in range(2))  # Richardson: error of fourth order
    return float(losses[-1]), fine, np.abs(fine - coarse)
