"""`config.verify`: an index outside an array is an error with kernel, line, array, index and thread; assertions."""

import linecache
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.runtime.launches import pool
from warpsim.errors import KernelAssertionError, OutOfBoundsError

BOTH = ("cpu", "interp")


@pytest.fixture(autouse=True)
def _verify():
    config.verify = True
    before = pool.get_pool().threads
    yield
    wp.set_num_threads(before)


def line_of(kernel, text):
    """The number of the one line of this file inside `kernel` that holds `text`."""
    first = kernel.function.__code__.co_firstlineno
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(k for k, line in enumerate(lines, 1) if k > first and text in line)


def refused(kernel, dim, arguments, device=None):
    """The message of the failed launch."""
    with pytest.raises(OutOfBoundsError) as caught:
        wp.launch(kernel, dim, arguments, device=device)
    return str(caught.value)


def check_message(message, kernel, text, array, axis, index, length, thread):
    """Every part of the message stands in it."""
    line = line_of(kernel, text)
    assert f"index {index} is outside axis {axis} of {array} of length {length}\n" in message
    assert re.search(rf"  --> .*test_verify_mode\.py:{line}:\d+ in {kernel.__name__}\n", message)
    assert re.search(rf"{line} \|\s+.*{re.escape(text)}", message)
    assert re.search(r"\|\s+\^+\n", message)
    assert message.endswith(f"in kernel {kernel.key!r}, thread {thread}")


# ----- reads, writes, atomics -----------------------------------------------------------------


@wp.kernel
def read(x: wp.array(dtype=float), shift: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 2.0 * x[i + shift]


@wp.kernel
def write(x: wp.array(dtype=float), shift: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i + shift] = x[i]


@wp.kernel
def add(x: wp.array(dtype=float), shift: int, out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, i + shift, x[i])


@pytest.mark.parametrize(
    ("kernel", "text", "array"),
    [(read, "x[i + shift]", "x"), (write, "out[i + shift] = x[i]", "out"), (add, "wp.atomic_add(out", "out")],
)
def test_reads_writes_and_atomics(kernel, text, array):
    x, out = wp.ones(8, dtype=float), wp.zeros(8, dtype=float)
    wp.launch(kernel, 8, [x, 0, out])
    for shift, index, thread in ((3, 8, 5), (-9, -9, 0), (10**9, 10**9, 0)):
        message = refused(kernel, 8, [x, shift, out])
        check_message(message, kernel, text, array, 0, index, 8, thread)
        wp.launch(kernel, 8, [x, 0, out])  # the program goes on


@pytest.mark.cpu(reason="compares the two devices of the host")
def test_the_interpreter_refuses_the_same():
    x, out = wp.ones(8, dtype=float), wp.zeros(8, dtype=float)
    for kernel in (read, write, add):
        wp.launch(kernel, 8, [x, 0, out], device="interp")
        for shift in (3, -9):
            assert "8" in refused(kernel, 8, [x, shift, out], device="interp")


def test_memory_outside_is_not_touched():
    guard = wp.zeros(12, dtype=float)
    refused(write, 8, [wp.ones(8, dtype=float), 3, guard[:8]])
    refused(add, 8, [wp.ones(8, dtype=float), 3, guard[:8]])
    assert guard.list() == [0, 0, 0, 2, 2, 2, 2, 2, 0, 0, 0, 0]
    refused(write, 8, [wp.ones(8, dtype=float), -9, guard[4:]])
    assert guard.numpy()[:4].tolist() == [0, 0, 0, 2]


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("operation", ["read", "write", "atomic"])
def test_every_axis_of_every_rank(operation, ndim):
    axes = "ijkl"[:ndim]
    places = ", ".join(f"{a} + at[{k}]" for k, a in enumerate(axes))
    statement = {
        "read": f"out[0] = x[{places}]",
        "write": f"x[{places}] = 1.0",
        "atomic": f"wp.atomic_max(x, {places}, 1.0)",
    }[operation]
    kernel = written_kernel(
        f"x: wp.array{ndim}d(dtype=float), at: wp.array(dtype=int), out: wp.array(dtype=float)",
        f"{', '.join(axes)} = wp.tid()",
        statement,
    )
    shape = (3, 4, 5, 6)[:ndim]
    x, out = wp.zeros(shape, dtype=float), wp.zeros(1, dtype=float)
    wp.launch(kernel, shape, [x, wp.zeros(ndim, dtype=int), out])
    for axis in range(ndim):
        extent = shape[axis]
        for shift, index in ((1, extent), (-1 - extent, -1 - extent), (2**31 - 1 - extent, 2**31 - 1 - extent)):
            at = wp.zeros(ndim, dtype=int)
            at[axis] = shift
            thread = np.ravel_multi_index([(index - shift) * (k == axis) for k in range(ndim)], shape)
            message = refused(kernel, shape, [x, at, out])
            assert f"index {index} is outside axis {axis} of x of length {shape[axis]}\n" in message
            assert message.endswith(f"thread {thread}")


def written_kernel(parameters, *statements):
    """A kernel made of text; it is found again through `linecache`."""
    text = "\n    ".join([f"def made({parameters}):", *statements])
    name = f"<made {len(MADE)}>"
    MADE[name] = text
    import_lines(name, text)
    scope = {"wp": wp}
    exec(compile(text, name, "exec"), scope)
    return wp.kernel(scope["made"], module=__name__)


MADE = {}


def import_lines(name, text):
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


# ----- views, components, fields --------------------------------------------------------------


def test_views():
    @wp.kernel
    def through_views(x: wp.array3d(dtype=float), i: int, j: int, k: int, out: wp.array(dtype=float)):
        plane = x[i]
        row = plane[j]
        out[0] = row[k] + x[i, j][k]

    x, out = wp.zeros((2, 3, 4), dtype=float), wp.zeros(1, dtype=float)
    wp.launch(through_views, 1, [x, 1, 2, 3, out])
    for at, text, array, length in (
        ((2, 0, 0), "plane = x[i]", "x", 2),
        ((0, 3, 0), "row = plane[j]", "plane", 3),
        ((0, -4, 0), "row = plane[j]", "plane", 3),
        ((0, 0, 4), "out[0] = row[k]", "row", 4),
    ):
        message = refused(through_views, 1, [x, *at, out])
        check_message(message, through_views, text, array, 0, sum(at), length, 0)


def test_host_views_have_bounds_of_their_own():
    base, out = wp.zeros((6, 6), dtype=float), wp.zeros(8, dtype=float)
    wp.launch(read, 6, [base[:, 2], 0, out])
    assert "of length 6\n" in refused(read, 7, [base[:, 2], 0, out])
    assert "of length 3\n" in refused(read, 4, [base[::2, 1], 0, out])
    assert "of length 0\n" in refused(read, 1, [base[:0, 2], 0, out])


def test_components_and_fields():
    @wp.struct
    class Item:
        mass: float
        place: wp.vec3

    @wp.kernel
    def touch(items: wp.array(dtype=Item), i: int, points: wp.array(dtype=wp.vec3), j: int):
        items[i].mass += 1.0
        items[i].place.y = 2.0
        points[j].x -= 1.0
        points[j] = points[j] + items[i].place

    items, points = wp.zeros(3, dtype=Item), wp.zeros(4, dtype=wp.vec3)
    wp.launch(touch, 1, [items, 2, points, 3])
    assert points.numpy()[3].tolist() == [-1.0, 2.0, 0.0]
    message = refused(touch, 1, [items, 3, points, 3])
    assert "index 3 is outside axis 0 of items of length 3\n" in message
    assert line_of(touch, "items[i].mass") == int(re.search(r"\.py:(\d+):", message)[1])
    message = refused(touch, 1, [items, 2, points, -5])
    assert "index -5 is outside axis 0 of points of length 4\n" in message
    assert line_of(touch, "points[j].x") == int(re.search(r"\.py:(\d+):", message)[1])


def test_indexed_arrays():
    @wp.kernel
    def gather(x: wp.indexedarray(dtype=float, ndim=2), i: int, j: int, out: wp.array(dtype=float)):
        out[0] = x[i, j]

    x, out = wp.array(np.arange(20, dtype=np.float32).reshape(4, 5)), wp.zeros(1, dtype=float)
    rows = wp.array(np.array([3, 1], np.int32))
    picked = wp.indexedarray(x, [rows, None])
    wp.launch(gather, 1, [picked, 1, 4, out])
    assert out.list() == [9.0]
    for i, j, axis, length in ((2, 0, 0, 2), (-3, 0, 0, 2), (0, 5, 1, 5)):
        message = refused(gather, 1, [picked, i, j, out])
        assert f"is outside axis {axis} of x of length {length}\n" in message


def test_local_arrays_and_arrays_in_structs():
    @wp.struct
    class Grid:
        cells: wp.array2d(dtype=wp.int8)

    @wp.kernel
    def fill(grid: Grid, i: int, j: int, k: int):
        small = wp.zeros(shape=4, dtype=float)
        small[k] = 1.0
        grid.cells[i, j] = wp.int8(small[k])

    grid = Grid()
    grid.cells = wp.zeros((2, 3), dtype=wp.int8)
    wp.launch(fill, 1, [grid, 1, 2, 3])
    assert grid.cells.numpy().tolist() == [[0, 0, 0], [0, 0, 1]]
    assert "index 4 is outside axis 0 of small of length 4\n" in refused(fill, 1, [grid, 1, 2, 4])
    assert "index 3 is outside axis 1 of grid.cells of length 3\n" in refused(fill, 1, [grid, 1, 3, 0])


def test_functions_called_by_a_kernel():
    @wp.func
    def element(values: wp.array(dtype=float), k: int):
        return values[k + 1]

    @wp.kernel
    def call(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = element(x, i)

    message = refused(call, 4, [wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)])
    assert re.search("index 4 is outside axis 0 of (x|values) of length 4\n", message)
    assert "return values[k + 1]" in message
    assert message.endswith(f"in kernel {call.key!r}, thread 3")


def test_index_tables_that_changed():
    @wp.kernel
    def gather(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = x[i]

    table, out = wp.array([2, 0, 1], dtype=int), wp.zeros(3, dtype=float)
    picked = wp.indexedarray(wp.array([5.0, 6.0, 7.0, 8.0], dtype=float), [table])
    for wrong in (4, -1, 2**31 - 1):
        table.assign([2, 3, 1])
        wp.launch(gather, 3, [picked, out])
        assert out.list() == [7.0, 8.0, 6.0]
        table[1] = wrong
        message = refused(gather, 3, [picked, out])
        assert f"an index table holds {wrong}, outside axis 0 of the array behind x of length 4\n" in message
        assert message.endswith("thread 1")
        where = wp.array([2, 0, 1], dtype=int, device="interp")
        on_interp = wp.indexedarray(wp.zeros(4, dtype=float, device="interp"), [where])
        where[1] = wrong
        with pytest.raises(OutOfBoundsError, match=f"index table 0 of x holds {wrong} at 1"):
            wp.launch(gather, 3, [on_interp, out.to("interp")], device="interp")


def test_computed_components():
    @wp.kernel
    def parts(points: wp.array(dtype=wp.vec3), frames: wp.array(dtype=wp.mat33), at: wp.array(dtype=int)):
        p = points[0]
        frames[0][at[0], at[1]] += p[at[2]]

    points, frames = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3), wp.zeros(1, dtype=wp.mat33)
    wp.launch(parts, 1, [points, frames, wp.array([-1, 0, -3], dtype=int)])
    assert frames.numpy()[0].tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    frame = "an element of frames, a mat33f"
    for axis, array in ((0, frame), (1, frame), (2, "p, a vec3f")):
        for wrong in (3, -4, 2**31 - 1):
            at = np.zeros(3, np.int32)
            at[axis] = wrong
            message = refused(parts, 1, [points, frames, wp.array(at)])
            assert f"index {wrong} is outside axis {axis % 2} of {array} of length 3\n" in message
    assert frames.numpy().sum() == 1.0


def test_large_unsigned_indices_are_named_as_they_are():
    @wp.kernel
    def far(x: wp.array(dtype=float), at: wp.array(dtype=wp.uint64)):
        x[at[0]] = 1.0

    message = refused(far, 1, [wp.zeros(4, dtype=float), wp.array(np.array([2**64 - 1], np.uint64))])
    assert f"index {2**64 - 1} is outside axis 0 of x of length 4\n" in message


@pytest.mark.parametrize(("given", "verify"), [("1", True), ("true", True), ("0", False), ("", False), (None, False)])
def test_the_environment_turns_it_on(given, verify):
    environment = {k: v for k, v in os.environ.items() if k != "WARPSIM_VERIFY"}
    environment |= {} if given is None else {"WARPSIM_VERIFY": given}
    text = "from warpsim.config import config; print(config.verify)"
    run = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(verify)


# ----- sums at one address --------------------------------------------------------------------


@wp.kernel
def conditional(x: wp.array2d(dtype=float), at: int, limit: float, out: wp.array(dtype=float)):
    i, j = wp.tid()
    if x[i, j] > limit:
        wp.atomic_add(out, at, x[i, j])


def test_shared_sums_are_checked_where_they_run():
    x, out = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4)), wp.zeros(2, dtype=float)
    wp.launch(conditional, (3, 4), [x, 5, 11.0, out])  # the condition never holds
    wp.launch(conditional, (3, 4), [x, 1, 8.0, out])
    assert out.list() == [0, 9 + 10 + 11]
    message = refused(conditional, (3, 4), [x, 5, 8.0, out])
    check_message(message, conditional, "wp.atomic_add(out, at", "out", 0, 5, 2, 9)


# ----- large launches -------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_one_failure_is_reported_of_many(threads):
    wp.set_num_threads(threads)
    n = 200_000
    x, out = wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
    for _ in range(3):
        message = refused(read, n, [x, n // 2, out])
        index, thread = (int(re.search(pattern, message)[1]) for pattern in (r"index (\d+) is", r"thread (\d+)$"))
        assert index == thread + n // 2
        assert n <= index < 2 * n
        assert message.count("is outside") == 1
    for _ in range(3):
        assert refused(read, n, [x, 1, out]).endswith(f"thread {n - 1}")  # a single one is found
    wp.launch(read, n, [x, 0, out])
    assert np.all(out.numpy() == 2)


def test_nothing_is_reported_where_nothing_is_wrong():
    @wp.kernel
    def careful(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = float(0.0)
        for k in range(-1, 2):
            if i + k >= 0 and i + k < x.shape[0]:
                total += x[i + k, j]
        if j > 0 and x[i, j - 1] > 2.0:
            total = -1.0
        while j < x.shape[1]:
            out[i, j] = total
            j += x.shape[1]

    x = wp.ones((300, 200), dtype=float)
    out, checked = wp.zeros(x.shape, dtype=float), wp.zeros(x.shape, dtype=float)
    wp.launch(careful, x.shape, [x, checked])
    config.verify = False
    wp.launch(careful, x.shape, [x, out])
    assert np.array_equal(out.numpy(), checked.numpy())
    assert out.numpy()[0, 0] == 2
    assert out.numpy()[1, 0] == 3


@pytest.mark.cpu(reason="names its devices")
def test_negative_constants_count_from_the_end():
    @wp.kernel
    def last(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        out[-1] = x[-1, -2]

    for device in BOTH:
        out = wp.zeros(3, dtype=float)
        wp.launch(last, 1, [np.arange(6, dtype=np.float32).reshape(2, 3), out], device=device)
        assert out.list() == [0, 0, 4]
    assert "length 0\n" in refused(last, 1, [wp.zeros((0, 2), dtype=float), wp.zeros(3, dtype=float)])


# ----- assertions -----------------------------------------------------------------------------


@wp.kernel
def strict(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] >= 0.0, "x must not be negative"
    out[i] = wp.sqrt(x[i])
    assert out[i] < 100.0


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("device", BOTH)
def test_assertions_stop_the_launch(device, verify):
    config.verify = verify
    n = 50 if device == "interp" else 50_000
    x, out = wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
    wp.launch(strict, n, [x, out], device=device)
    x[n - 3] = -4.0
    with pytest.raises(KernelAssertionError, match=r"^x must not be negative") as caught:
        wp.launch(strict, n, [x, out], device=device)
        wp.synchronize_device(device)  # on CUDA, launches that nobody verifies report when somebody waits
    if device == "cpu":
        message = str(caught.value)
        assert f"test_verify_mode.py:{line_of(strict, 'assert x[i]')}:" in message
        assert message.endswith(f"in kernel 'strict', thread {n - 3}")
    x[n - 3] = 1.0e6
    with pytest.raises(KernelAssertionError, match=r"out\[i\] < 100\.0|assertion failed"):
        wp.launch(strict, n, [x, out], device=device)
        wp.synchronize_device(device)
    x[n - 3] = 4.0
    wp.launch(strict, n, [x, out], device=device)
    assert out.numpy()[n - 3] == 2.0


def test_failures_are_python_s_own_kinds_too():
    with pytest.raises(AssertionError):
        wp.launch(strict, 1, [wp.full(1, -1.0), wp.zeros(1, dtype=float)])
    with pytest.raises(IndexError):
        wp.launch(read, 1, [wp.zeros(1, dtype=float), 1, wp.zeros(1, dtype=float)])
