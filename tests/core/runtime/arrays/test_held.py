"""Arrays in elements of structs: kept alive, found again, or refused, whichever way descriptors get into memory."""

import gc

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, GradientError, ReadOnlyError

DEVICES = ("cpu", "interp")
N = 20_000


@wp.struct
class Cell:
    weight: float
    values: wp.array(dtype=float)


@wp.struct
class Box:
    cells: wp.array(dtype=Cell)
    cell: Cell


@wp.kernel
def read(cells: wp.array(dtype=Cell), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = cells[i].weight + cells[i].values[i]


@wp.kernel
def write(cells: wp.array(dtype=Cell)):
    i = wp.tid()
    cells[i].values[0] = 5.0


@wp.kernel
def store(s: Cell, cells: wp.array(dtype=Cell)):
    cells[wp.tid()] = s


@wp.kernel
def move(source: wp.array(dtype=Cell), cells: wp.array(dtype=Cell)):
    i = wp.tid()
    cells[i] = source[i]


@wp.kernel
def make(a: wp.array(dtype=float), cells: wp.array(dtype=Cell)):
    c = Cell()
    c.weight = 1.0
    c.values = a
    cells[wp.tid()] = c


@wp.kernel
def rows(a: wp.array2d(dtype=float), cells: wp.array(dtype=Cell)):
    i = wp.tid()
    cells[i].values = a[i]


@wp.kernel
def boxed(box: Box):
    box.cells[wp.tid()] = box.cell


def cell(value, weight=1.0):
    return Cell(weight=weight, values=wp.full(N, float(value)))


def cells(*values):
    return wp.array([cell(v) for v in values], dtype=Cell)


def read_back(target, n=2, device=None):
    """What a kernel reads, after memory that was given back holds other numbers."""
    gc.collect()
    junk = [wp.full(N, np.nan) for _ in range(8)]
    out = wp.zeros(n, dtype=float)
    wp.launch(read, n, inputs=[target, out], device=device)
    assert len(junk) == 8
    return out.numpy().tolist()


def by_struct(target):
    target[0], target[1] = cell(3.0), cell(4.0)


def by_list(target):
    target.assign([cell(3.0), cell(4.0)])


def by_array(target):
    target.assign(cells(3.0, 4.0))


def by_copy(target):
    wp.copy(target, cells(3.0, 4.0))


def by_records(target):
    other = cells(3.0, 4.0)
    target.assign(other.numpy())


def by_copied_records(target):
    other = cells(3.0, 4.0)
    records = np.array(other.numpy())
    target[:] = records


def by_new_array_of_records(target):
    other = cells(3.0, 4.0)
    target.assign(wp.array(other.numpy(), dtype=Cell))


def by_numpy(target):
    other = cells(3.0, 4.0)
    target.numpy()[...] = other.numpy()
    wp.launch(read, 0, inputs=[target, wp.zeros(1, dtype=float)])  # a launch takes note


def by_view(target):
    other = cells(3.0, 4.0)
    target.reshape((2, 1))[:, 0].assign(other.reshape((1, 2))[0])


def by_picks(target):
    target[[1, 0]].assign(cells(4.0, 3.0))


def by_kernel(target):
    wp.launch(store, 1, inputs=[cell(3.0), target])
    wp.launch(store, 1, inputs=[cell(4.0), target[1:]])


def by_moving(target):
    wp.launch(move, 2, inputs=[cells(3.0, 4.0), target])


def by_making(target):
    wp.launch(make, 1, inputs=[wp.full(N, 3.0), target])
    wp.launch(make, 1, inputs=[wp.full(N, 4.0), target[1:]])


def by_rows(target):
    table = np.repeat(np.array([[3.0], [4.0]]), N, axis=1)
    target.assign([cell(0.0), cell(0.0)])
    wp.launch(rows, 2, inputs=[wp.array(table, dtype=float), target])


def by_struct_of_struct(target):
    wp.launch(boxed, 1, inputs=[Box(cells=target, cell=cell(3.0))])
    wp.launch(boxed, 1, inputs=[Box(cells=target[1:], cell=cell(4.0))])


def by_graph(target):
    with wp.ScopedCapture() as capture:
        by_making(target)
    wp.capture_launch(capture.graph)


def by_command(target):
    for k, value in enumerate((3.0, 4.0)):
        wp.launch(store, 1, inputs=[cell(value), target[k:]], record_cmd=True).launch()


def by_kernel_and_copy(target):
    other = wp.zeros(2, dtype=Cell)
    by_rows(other)
    target.assign(other)


WAYS = [f for name, f in globals().items() if name.startswith("by_")]
ON_HOST = (by_numpy,)


@pytest.mark.parametrize("way", [w for w in WAYS if w not in ON_HOST])
def test_every_way_into_memory_keeps_the_arrays(way):
    target = wp.zeros(2, dtype=Cell)
    way(target)
    assert read_back(target) == [4.0, 5.0]
    assert [c.values.numpy()[0] for c in target.list()] == [3.0, 4.0]


@pytest.mark.cpu(reason="the device is chosen")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_on_the_host(way, device):
    with wp.ScopedDevice(device):
        target = wp.zeros(2, dtype=Cell)
        way(target)
        copy = wp.clone(target)
        del target
        assert read_back(copy) == [4.0, 5.0]


@pytest.mark.parametrize("way", [by_struct, by_kernel, by_rows, by_graph])
def test_arrays_that_were_replaced_are_let_go(way):
    target = wp.zeros(2, dtype=Cell)
    for _ in range(300):
        way(target)
    assert len(target._held) + len(target._held.loose) < 300
    assert read_back(target) == [4.0, 5.0]


@pytest.mark.parametrize("way", ["array", "assign", "item", "fill", "kernel", "numpy", "shared"])
def test_records_of_arrays_that_are_gone_are_refused(way):
    target, out = wp.zeros(2, dtype=Cell), wp.zeros(2, dtype=float, device="cpu")
    records = np.array(cells(3.0, 4.0).numpy())
    gc.collect()
    with pytest.raises(ArrayError, match="refer to an array that is gone, or is not known"):
        if way == "array":
            wp.array(records, dtype=Cell)
        elif way == "shared":
            wp.array(records, dtype=Cell, copy=False)
        elif way == "assign":
            target.assign(records)
        elif way == "item":
            target[0] = records[0]
        elif way == "fill":
            target.fill_(records[0])
        elif way == "kernel":
            wp.launch(read, 2, inputs=[records, out], device="cpu")
        else:
            shared = wp.zeros(2, dtype=Cell, device="cpu")
            shared.numpy()[...] = records
            wp.launch(read, 2, inputs=[shared, out], device="cpu")
    assert not out.numpy().any()


def test_records_without_arrays_are_welcome():
    records = np.zeros(2, Cell.numpy_dtype())
    records["weight"] = [1.0, 2.0]
    target = wp.array(records, dtype=Cell)
    assert [(c.weight, c.values) for c in target.list()] == [(1.0, None), (2.0, None)]


def test_fresh_memory_refers_to_nothing():
    junk = [wp.full(1000, 7.0) for _ in range(10)]
    del junk
    assert all(c.values is None for c in wp.empty(100, dtype=Cell).list())


def test_numbers_are_not_taken_for_arrays():
    with pytest.raises(ArrayError, match="expected: types without arrays in them"):
        cells(1.0).view(wp.types.vector(length=Cell.numpy_dtype().itemsize // 8, dtype=wp.uint64))


@pytest.mark.cpu(reason="memory that NumPy has made read-only")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["launch", "command", "graph"])
def test_read_only_arrays_in_elements_are_not_written(device, kind):
    fixed = wp.array(np.frombuffer(bytes(40), np.float32), dtype=float, copy=False)
    target = cells(1.0, 2.0)
    with wp.ScopedDevice(device):
        command = wp.launch(write, 2, inputs=[target], record_cmd=True)
        with wp.ScopedCapture() as capture:
            wp.launch(write, 2, inputs=[target])
        wp.launch(write, 2, inputs=[target])
        target[1] = Cell(values=fixed)
        with pytest.raises(ReadOnlyError, match="writes to 'values' in elements of Cell"):
            if kind == "launch":
                wp.launch(write, 2, inputs=[target])
            else:
                command.launch() if kind == "command" else wp.capture_launch(capture.graph)
        target[1] = cell(1.0)
        wp.launch(write, 2, inputs=[target])
    assert not fixed.numpy().any()


@wp.struct
class Both:
    source: wp.array(dtype=float)
    target: wp.array(dtype=float)


@wp.kernel
def through(b: wp.array(dtype=Both)):
    i = wp.tid()
    b[i].target[0] = b[i].source[0] + 1.0


@pytest.mark.cpu(reason="memory that NumPy has made read-only")
def test_read_only_arrays_beside_those_that_are_written():
    fixed = wp.array(np.frombuffer(np.ones(4, np.float32).tobytes(), np.float32), dtype=float, copy=False)
    out = wp.zeros(4, dtype=float)
    wp.launch(through, 1, inputs=[wp.array([Both(source=fixed, target=out)], dtype=Both)])
    assert out.numpy()[0] == 2.0


def test_a_tape_keeps_what_saved_elements_refer_to():
    @wp.kernel
    def weigh(c: wp.array(dtype=Cell), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * c[i].values[i] * x[i]

    target = cells(3.0, 4.0)
    x, y = wp.ones(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weigh, 2, inputs=[target, x, y])
        for _ in range(200):
            target.assign([cell(0.0), cell(0.0)])
    gc.collect()
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [6.0, 8.0]


def test_what_a_kernel_is_about_to_store_is_kept_when_a_tape_looks():
    """The tape saves what the launch overwrites, and asks which arrays it refers to, before the kernel stores."""
    target, out = cells(0.0, 0.0), wp.zeros(2, dtype=float, requires_grad=True)
    x = wp.ones(2, dtype=float, requires_grad=True)

    @wp.kernel
    def weigh(c: wp.array(dtype=Cell), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * c[i].values[i] * x[i]

    with wp.Tape() as tape:
        wp.launch(weigh, 2, inputs=[target, x, out])
        by_rows(target)
    tape.backward(grads={out: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [0.0, 0.0]
    assert [c.values.numpy()[0] for c in target.list()] == [3.0, 4.0]
    del tape
    assert read_back(target) == [4.0, 5.0]


def test_gradients_in_elements_that_came_after_the_launch():
    @wp.kernel
    def scale(c: wp.array(dtype=Cell)):
        i = wp.tid()
        c[0].values[i] = 2.0 * c[1].values[i]

    target = cells(1.0, 2.0)
    with wp.Tape() as tape:
        wp.launch(scale, 2, inputs=[target])
    target[0].values.requires_grad = target[1].values.requires_grad = True
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with pytest.raises(GradientError, match="'an array in an element' has one now"):
        tape.backward(loss)
