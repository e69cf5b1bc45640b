"""Every kind of tape entry with everything that looks at tapes; a kind without a case fails."""

import importlib
import pkgutil

import numpy as np
import pytest

import warpsim as wp
import warpsim.core.runtime
from warpsim.core.runtime.arrays.saved_contents import active
from warpsim.core.runtime.steps.operation import ArrayOperation
from warpsim.core.runtime.tape.array_step import StepEntry
from warpsim.core.runtime.tape.entry import TapeEntry
from warpsim.errors import TapeError

D, N, H = wp.float64, 4, 1e-6


@wp.kernel
def squares(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def grow(y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = y[i] + wp.float64(0.1) * y[i] * y[i]


@wp.kernel
def add_twice(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = y[i] + wp.float64(2.0) * x[i]


@wp.kernel
def weigh(y: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(i + 1) * y[i] * y[i])


def new(count=N):
    return wp.zeros(count, dtype=D, requires_grad=True)


def unseen(kernel, *arrays):
    wp.launch(kernel, N, inputs=list(arrays), record_tape=False)


# ----- kinds of entries: each takes an array, and returns what it computed from it


def launch(a):
    y = new()
    wp.launch(squares, N, inputs=[a, y])
    return y


def write(a):
    y = new()
    wp.copy(y, a)
    return y


def announced(a):
    """A write that no recorded function answers for, to an array whose gradient does not matter."""
    y = wp.clone(a, requires_grad=True)
    y.mark_write()
    return a


@wp.kernel
def settle(y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = wp.float64(0.5)


def constant(a):
    unseen(settle, a)
    return a


def function(a):
    y = new()
    y.mark_write()
    unseen(add_twice, a, y)
    for tape in active():
        tape.record_func(lambda: unseen(add_twice, y.grad, a.grad), [a, y])
    return y


def loop(a):
    y = wp.clone(a, requires_grad=True)
    wp.checkpoint(lambda k: wp.launch(grow, N, inputs=[y]), [y], 3)
    return y


def scan(a):
    y = new()
    wp.utils.array_scan(a, y)
    return y


def spread(total):
    """One number as an array of N."""
    y = new()
    y[:] = total
    return y


def total(a):
    return spread(wp.utils.array_sum(a, out=new(1)))


def inner(a):
    return spread(wp.utils.array_inner(a, wp.clone(a, requires_grad=True), out=new(1)))


def cast(a):
    y = new()
    wp.utils.array_cast(a, y, count=3)
    return y


def keys():
    return wp.array([2, 1, 0, 0], dtype=int)


def sort(a):
    y = wp.clone(a, requires_grad=True)
    wp.utils.radix_sort_pairs(keys(), y, 2)
    return y


def segments(a):
    y = wp.clone(a, requires_grad=True)
    wp.utils.segmented_sort_pairs(keys(), y, 2, wp.array([0, 2], dtype=int))
    return y


def run_lengths(a):
    y = new()
    wp.utils.runlength_encode(a, y, wp.zeros(N, dtype=int), wp.zeros(1, dtype=int), value_count=3)
    return y


def components_as(a, dtype, count):
    """The same numbers as elements of another type."""
    y = wp.zeros(count, dtype=dtype, requires_grad=True)
    wp.utils.array_cast(a, y)
    return y


def complex_transform(a):
    return components_as(wp.fft.fft(components_as(a, wp.vec2d, 2)), D, N)


def real_transform(a):
    return components_as(wp.fft.rfft(a[:3]), D, N)


def inverse_real_transform(a):
    y = new()
    wp.fft.irfft(components_as(a, wp.vec2d, 2), out=y[:3])
    return y


def two_by_two(blocks):
    """A matrix with four numbers, in three rows of two columns."""
    rows, columns = wp.array([0, 0, 1, 2], dtype=int), wp.array([0, 1, 1, 0], dtype=int)
    return wp.sparse.bsr_from_triplets(3, 2, rows, columns, blocks)


def matrix_vector_product(a):
    y = new()
    wp.sparse.bsr_mv(two_by_two(a), a[:2], y[:3])
    return y


def matrix_product(a):
    A = two_by_two(a)
    return wp.sparse.bsr_mm(A.transpose(), A).values


KINDS = {"LaunchEntry": launch, "WriteEntry": write, "AnnouncedWrite": announced, "ConstantWrite": constant}
KINDS |= {"FunctionEntry": function, "LoopEntry": loop, "array_scan": scan, "array_sum": total, "array_inner": inner}
KINDS |= {"array_cast": cast, "radix_sort_pairs": sort, "segmented_sort_pairs": segments}
KINDS |= {"runlength_encode": run_lengths, "fft": complex_transform, "rfft": real_transform}
KINDS |= {"irfft": inverse_real_transform, "bsr_mv": matrix_vector_product, "bsr_mm": matrix_product}
WITHOUT_TANGENT = {"AnnouncedWrite", "FunctionEntry"}


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def kind(entry):
    return entry.name if isinstance(entry, StepEntry) else type(entry).__name__


def test_every_kind_of_entry_has_a_case():
    for package in (warpsim.core.runtime, wp.fft, wp.sparse):  # modules load when they are asked for
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    kinds = {cls.__name__ for cls in subclasses(TapeEntry)} - {"StepEntry"}
    kinds |= {cls.name for cls in subclasses(ArrayOperation) if hasattr(cls, "name")}
    assert set(KINDS) == kinds


# ----- what looks at tapes


def recorded(name, values):
    """Squares of x, the entry, and weighed squares: the tape, the entry, x and the loss."""
    x, a, loss = wp.array(values, dtype=D, requires_grad=True), new(), new(1)
    with wp.Tape() as tape:
        wp.launch(squares, N, inputs=[x, a])
        y = KINDS[name](a)
        wp.launch(weigh, N, inputs=[y, loss])
    return tape, next(entry for entry in tape.records[1:-1] if kind(entry) == name), x, loss


POINT, DIRECTION = np.array([0.7, 1.1, 0.4, 1.3]), np.array([0.3, -1.2, 0.8, 0.5])


def loss_at(name, values):
    return recorded(name, values)[3].numpy()[0]


def gradient_at(name, values):
    tape, _, x, loss = recorded(name, values)
    tape.backward(loss)
    return x.grad.numpy()


def difference(function, name):
    return (function(name, POINT + H * DIRECTION) - function(name, POINT - H * DIRECTION)) / (2 * H)


def backward(name):
    gradient = gradient_at(name, POINT)
    assert np.sum(gradient * DIRECTION) == pytest.approx(difference(loss_at, name), rel=1e-6)
    assert gradient.any()


def jvp(name):
    tape, _, x, loss = recorded(name, POINT)
    if name in WITHOUT_TANGENT:
        with pytest.raises(TapeError, match="along a direction is not known"):
            wp.autograd.jvp(tape, tangents={x: DIRECTION})
        return
    along = wp.autograd.jvp(tape, tangents={x: DIRECTION})[loss].numpy()[0]
    assert along == pytest.approx(difference(loss_at, name), rel=1e-6)


def hvp(name):
    tape, _, x, loss = recorded(name, POINT)
    if name in WITHOUT_TANGENT:
        with pytest.raises(TapeError, match="along a direction is not known"):
            wp.autograd.hvp(tape, loss=loss, vector={x: DIRECTION})
        return
    product = wp.autograd.hvp(tape, loss=loss, vector={x: DIRECTION})[x].numpy()
    assert np.allclose(product, difference(gradient_at, name), rtol=1e-6, atol=1e-8)


def visualize(name):
    tape, entry, _, _ = recorded(name, POINT)
    text = tape.visualize()
    assert f"<b>{entry.name.replace('<', '&lt;').replace('>', '&gt;')}</b>" in text and str(entry.place) in text


def gradient_report(name):
    tape, _, x, loss = recorded(name, POINT)
    report = wp.autograd.gradient_report(tape, loss)
    assert report and [row.name for row in report.launches[::-1]] == [entry.name for entry in tape.records]
    assert x.grad.numpy().tolist() == [0.0] * N


def checkpoint(name):
    """Steps with the entry under a loop with checkpoints, and on a tape of their own."""
    gradients = []
    for run in (wp.checkpoint, lambda step, state, count: [step(k) for k in range(count)]):
        x, loss = wp.array(0.5 * POINT, dtype=D, requires_grad=True), new(1)
        with wp.Tape() as tape:
            run(lambda k, x=x: wp.copy(x, KINDS[name](wp.clone(x, requires_grad=True))), [x], 3)
            wp.launch(weigh, N, inputs=[x, loss])
        tape.backward(loss)
        gradients.append(x.grad.numpy().tolist())
    assert gradients[0] == gradients[1] and any(gradients[0])


def snapshots(name):
    """Contents that the entry, or a launch after it, needs of what it wrote are kept when they are overwritten."""
    x, loss = wp.array(POINT, dtype=D, requires_grad=True), new(1)
    with wp.Tape() as tape:
        y = KINDS[name](x)
        wp.launch(weigh, N, inputs=[y, loss])
        y.zero_()
    last = tape.report().snapshots[-1]
    user = "record_func" if name == "FunctionEntry" else "weigh"
    assert (user in last.needed, last.writer, last.bytes) == (True, "zero_", 8 * N)


def reset(name):
    tape, _, x, loss = recorded(name, POINT)
    tape.backward(loss)
    tape.reset()
    assert (tape.records, tape.arrays(), tape.report().count, x.grad.numpy().tolist()) == ([], [], 0, [0.0] * N)


CONSUMERS = (backward, jvp, hvp, visualize, gradient_report, checkpoint, snapshots, reset)


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.__name__)
@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_entries(name, consumer):
    consumer(name)


@pytest.mark.parametrize("name", KINDS)
def test_an_entry_describes_what_it_uses(name):
    _, entry, _, _ = recorded(name, POINT)
    uses = list(entry.uses())
    assert {id(use.array) for use in uses if use.writes} == {id(a) for a in entry.written_arrays()}
    assert {id(a) for a in entry.arrays()} <= {id(use.array) for use in uses}
    assert entry.name and str(entry.place).startswith(__file__)
    assert all(entry.words(use).endswith(("called at", "launched at")) for use in uses)
