"""The pipeline step by step: what each pass makes of one kernel, and of its derived forms."""

import re

import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit.program import Form, FormKind


@wp.func
def spring(x: float, y: float, rest: float):
    return (y - x) * (wp.abs(y - x) - rest)


@wp.kernel
def relax(x: wp.array(dtype=float), f: wp.array(dtype=float), n: int, rest: float):
    i = wp.tid()
    total = 0.0 * rest
    for k in range(2):
        total += spring(x[i], x[i + 1 + k], rest)
    for j in range(n):
        if j == i:
            continue
        total = total * 0.5 + spring(x[i], x[j], rest)
    f[i] = f[i] + total


GRADIENTS = frozenset({"x", "f"})


def steps(kernel, form, capsys):
    """The programs that a dump prints while a form of a kernel is made, by the names of the steps."""
    types = tuple(kernel.patterns.values())
    if form.kind is not FormKind.PRIMAL:
        kernel.program(types)
    config.dump = "all"
    kernel.program(types, form=form)
    parts = re.split(r"# ---- \w+ after ([\w ]+)\n", capsys.readouterr().out)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def kernel():
    """The kernel with nothing compiled yet."""
    return wp.kernel(relax.function)


PRIMAL_STEPS = ["source", "lower", "inline", "unroll", "fold", "dce", "version", "uses"]
START = ["inline", "handles", "unroll", "fold", "dce"]
REVERSE = ["cse", "inline", "fold", "dce"]
STEPS = {
    "primal": PRIMAL_STEPS,
    "adjoint": [*START, "assume", "promote", "adjoint", *(f"adjoint {name}" for name in REVERSE), "version", "uses"],
    "recording": [*START, "recording", *(f"recording {name}" for name in REVERSE), "version", "uses"],
    "tangent": [*START, "tangent", "tangent fold", "tangent dce", "version", "uses"],
    "recomputed tangent": [*START, "assume", "promote", "tangent", "tangent fold", "tangent dce", "version", "uses"],
}


@pytest.mark.parametrize("kind", STEPS)
def test_a_form_takes_the_steps_of_the_picture(kernel, kind, capsys):
    form = Form(FormKind(kind), GRADIENTS if kind != "primal" else frozenset())
    assert list(steps(kernel, form, capsys)) == STEPS[kind]


@pytest.mark.parametrize("kind", ["primal", "adjoint", "tangent"])
def test_what_every_pass_makes_of_a_kernel(kernel, kind, capsys, golden):
    form = Form(FormKind(kind), GRADIENTS if kind != "primal" else frozenset())
    for name, text in steps(kernel, form, capsys).items():
        if name != "source":
            golden(re.sub(r"  # line \d+", "", text), name.replace(" ", "-"))


# ----- passes that leave the kernel above as it is ------------------------------------------


@wp.kernel
def repeated(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    for j in range(3):
        y[i] = y[i] * (x[i] + float(j))


@wp.kernel
def backwards(x: wp.array(dtype=float), y: wp.array(dtype=float), first: int):
    i = wp.tid()
    for j in range(first, 4):
        y[i] += x[j]


@wp.kernel
def compacted(x: wp.array(dtype=float), y: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > 0.0:
        y[wp.atomic_add(count, 0, 1)] = x[i] * x[i]


@wp.kernel
def points(mesh: wp.uint64, x: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = 2.0 * wp.mesh_get(mesh).points[i]


OWN = {
    "promote": (repeated, Form(FormKind.ADJOINT, frozenset({"x", "y"}))),
    "version": (backwards, Form()),
    "recording": (compacted, Form(FormKind.RECORDING, frozenset({"x", "y"}))),
    "handles": (points, Form(FormKind.ADJOINT, frozenset({"x"}))),
    "inline": (repeated, Form(FormKind.ADJOINT, frozenset({"x", "y"}), same=((0, 1),))),
    "tangent": (repeated, Form(FormKind.RECOMPUTED_TANGENT, frozenset({"x", "y"}))),
    "adjoint tangent": (repeated, Form(FormKind.ADJOINT_TANGENT, frozenset({"x", "y"}))),
}


@pytest.mark.parametrize("name", OWN)
def test_what_a_pass_makes_of_a_kernel_that_needs_it(name, capsys, golden):
    function, form = OWN[name]
    programs = steps(wp.kernel(function.function), form, capsys)
    golden(re.sub(r"  # line \d+", "", programs[name.removeprefix("adjoint ")]))
