"""Kernels see every kind of array memory as it is: strided, transposed, indexed, empty, structured, foreign.

The kernels record where they look, so that a wrong stride shows as a wrong number; each runs compiled
for contiguous and for strided memory, and in the interpreter.
"""

import gc

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, OutOfBoundsError

DEVICES = ("cpu", "interp")


@wp.kernel
def double2(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = 2.0 * a[i, j]


@wp.kernel
def swap_ends(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = a[i]
    out[i] = wp.vec3(v[2], v[1], v[0])


@wp.kernel
def scale_in_place(a: wp.array2d(dtype=float), factor: float):
    i, j = wp.tid()
    a[i, j] = a[i, j] * factor


def cube():
    return np.arange(60, dtype=np.float32).reshape(3, 4, 5)


VIEWS = {
    "contiguous": lambda a: a[0],
    "rows": lambda a: a[1, 1:3],
    "columns": lambda a: a[2, :, 1:4],
    "steps": lambda a: a[0, ::2, ::3],
    "transposed": lambda a: a[1].transpose(),
    "across": lambda a: a[:, 2],
    "one column": lambda a: a[:, :, 3],
    "turned cube": lambda a: a.transpose((2, 0, 1))[4],
    "reshaped": lambda a: a.reshape((6, 10))[1:, 5:],
    "empty": lambda a: a[0, 4:],
    "no columns": lambda a: a[0, :, 5:],
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_read(name, device):
    view = VIEWS[name](wp.array(cube()))
    out = wp.full(view.shape, -1.0, dtype=float)
    wp.launch(double2, dim=view.shape, inputs=[view, out], device=device)
    assert np.array_equal(out.numpy(), 2.0 * view.numpy())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_written(name, device):
    """Only the elements of the view change."""
    a = wp.array(cube())
    expected = cube()
    expected_view = wp.array(expected, copy=False, device="cpu")
    VIEWS[name](expected_view).numpy()[...] *= 10.0
    view = VIEWS[name](a)
    wp.launch(scale_in_place, dim=view.shape, inputs=[view, 10.0], device=device)
    assert np.array_equal(a.numpy(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_one_kernel_meets_all_layouts_in_turn(device):
    """Contiguous and strided code are two compiled forms; arguments of both kinds mix."""
    a = wp.array(cube())
    for source in (a[0], a[0].transpose(), a[:, 1], a[1]):
        for out in (wp.zeros(source.shape, dtype=float), wp.zeros(source.shape[::-1], dtype=float).transpose()):
            wp.launch(double2, dim=source.shape, inputs=[source, out], device=device)
            assert np.array_equal(out.numpy(), 2.0 * source.numpy())


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "memory",
    [cube()[0], np.asfortranarray(cube()[0]), cube()[:, 1], cube()[0].T, cube()[0, ::2, 1:], cube()[0, :0]],
    ids=["C", "Fortran", "slice", "transpose", "steps", "empty"],
)
def test_numpy_memory_of_any_layout(memory, device):
    out = np.full(memory.shape, -1.0, np.float32, order="F")
    wp.launch(double2, dim=memory.shape, inputs=[memory], outputs=[out], device=device)
    assert np.array_equal(out, 2.0 * memory)


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize("device", DEVICES)
def test_vectors_in_strided_memory(device):
    records = np.zeros(4, [("id", "i4"), ("x", "f4", 3), ("w", "f4")])
    records["x"] = np.arange(12).reshape(4, 3)
    every_second = np.arange(24, dtype=np.float32).reshape(8, 3)[::2]
    for memory in (records["x"], every_second):
        out = wp.zeros(4, dtype=wp.vec3)
        wp.launch(swap_ends, dim=4, inputs=[memory, out], device=device)
        assert np.array_equal(out.numpy(), memory[:, ::-1])


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (np.asfortranarray(np.zeros((4, 3), np.float32)), "the components of elements lie apart"),
        (np.zeros((3, 4), np.float32).T, "the components of elements lie apart"),
        (np.zeros((4, 6), np.float32)[:, ::2], "the components of elements lie apart"),
        (np.zeros((4, 3), np.float32)[::-1], "negative strides\nhelp: copy the data first"),
        (np.frombuffer(bytearray(49), np.float32, 12, 1).reshape(4, 3), "does not fit the alignment of float32"),
    ],
)
def test_memory_that_elements_cannot_have_is_refused(memory, message):
    """Each would be read as other numbers than NumPy sees."""
    with pytest.raises(ArrayError, match=message):
        wp.launch(swap_ends, dim=4, inputs=[memory, wp.zeros(4, dtype=wp.vec3)])


@pytest.mark.parametrize("device", DEVICES)
def test_no_threads_touch_empty_arrays(device):
    a, out = wp.zeros((0, 3), dtype=float), wp.zeros((0, 3), dtype=float)
    wp.launch(double2, dim=a.shape, inputs=[a, out], device=device)
    assert out.shape == (0, 3)


def test_shapes_of_empty_and_strided_arrays_in_kernels():
    @wp.kernel
    def extents(a: wp.array2d(dtype=float), out: wp.array(dtype=int)):
        out[0] = a.shape[0]
        out[1] = a.shape[1]
        out[2] = len(a)

    out = wp.zeros(3, dtype=int)
    for a in (wp.zeros((0, 3), dtype=float), wp.zeros((4, 6), dtype=float)[::2, 1:].transpose()):
        wp.launch(extents, dim=1, inputs=[a, out])
        assert out.numpy().tolist() == [*a.shape, a.shape[0]]


# ----- structs ----------------------------------------------------------------------------------


@wp.struct
class Rod:
    flag: wp.int8
    stiffness: wp.float64
    ends: wp.mat22
    nodes: wp.array(dtype=int)


@wp.struct
class Frame:
    rod: Rod
    weight: float


@wp.kernel
def read_frames(frames: wp.array(dtype=Frame), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    f = frames[i]
    total = f.rod.stiffness + wp.float64(f.rod.ends[1, 0]) + wp.float64(f.rod.flag)
    for k in range(f.rod.nodes.shape[0]):
        total += wp.float64(f.rod.nodes[k])
    out[i] = total + wp.float64(f.weight)


@wp.kernel
def write_frames(frames: wp.array(dtype=Frame)):
    i = wp.tid()
    frames[i].rod.stiffness = wp.float64(i)
    frames[i].rod.ends = wp.mat22(float(i), 0.0, 0.0, 1.0)
    frames[i].weight = 0.5


def frames(n):
    """Frames whose node arrays nothing else refers to."""
    made = []
    for i in range(n):
        rod = Rod(flag=i, stiffness=10.0 * i, ends=wp.mat22(0.0, 0.0, float(i), 0.0))
        rod.nodes = wp.full(i, 100, dtype=int)
        made.append(Frame(rod=rod, weight=0.25))
    return made


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pick", [slice(None), slice(1, None, 2)])
def test_arrays_of_structs_with_arrays(pick, device):
    """The array keeps alive what its elements refer to; views and copies do so, too."""
    a = wp.array(frames(5))[pick]
    expected = [i + 10.0 * i + i + 100.0 * i + 0.25 for i in range(5)][pick]
    gc.collect()
    others = [wp.full(5, -1, dtype=int) for _ in range(50)]  # would take the place of freed memory
    for source in (a, wp.clone(a), wp.array(a)):
        out = wp.zeros(len(a), dtype=wp.float64)
        wp.launch(read_frames, dim=len(a), inputs=[source, out], device=device)
        assert out.numpy().tolist() == expected
    assert len(others) == 50


@pytest.mark.parametrize("device", DEVICES)
def test_struct_fields_are_written(device):
    a = wp.array(frames(4))
    wp.launch(write_frames, dim=4, inputs=[a], device=device)
    assert [f.rod.stiffness for f in a.list()] == [0.0, 1.0, 2.0, 3.0]
    assert a[3].rod.ends == wp.mat22(3, 0, 0, 1)
    assert [f.weight for f in a.list()] == [0.5] * 4
    assert [f.rod.flag for f in a.list()] == [0, 1, 2, 3]  # untouched
    assert [f.rod.nodes.size for f in a.list()] == [0, 1, 2, 3]


@pytest.mark.parametrize("device", DEVICES)
def test_structs_are_copied_by_kernels_with_their_arrays(device):
    @wp.kernel
    def reverse(a: wp.array(dtype=Frame), out: wp.array(dtype=Frame)):
        i = wp.tid()
        out[a.shape[0] - 1 - i] = a[i]

    a, turned, out = wp.array(frames(4)), wp.zeros(4, dtype=Frame), wp.zeros(4, dtype=wp.float64)
    wp.launch(reverse, dim=4, inputs=[a, turned], device=device)
    assert np.array_equal(turned.numpy(), a.numpy()[::-1])
    wp.launch(read_frames, dim=4, inputs=[turned, out])
    assert out.numpy().tolist() == [i + 10.0 * i + i + 100.0 * i + 0.25 for i in (3, 2, 1, 0)]


def test_elements_give_back_their_arrays():
    nodes = wp.array([1, 2, 3], dtype=int)
    a = wp.zeros(2, dtype=Rod)
    assert a[0].nodes is None
    a[1] = Rod(nodes=nodes)
    assert a[1].nodes is nodes
    assert a[1:].list()[0].nodes is nodes
    assert wp.clone(a)[1].nodes is nodes


def test_replaced_arrays_are_let_go():
    a = wp.zeros(1, dtype=Rod)
    for k in range(500):
        a[0] = Rod(nodes=wp.full(4, k, dtype=int))
    gc.collect()
    assert a[0].nodes.numpy().tolist() == [499] * 4
    assert len(a._held) < 100


# ----- indexed arrays ---------------------------------------------------------------------------


@wp.kernel
def double_indexed(a: wp.indexedarray(dtype=float, ndim=2), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = 2.0 * a[i, j]
    a[i, j] = -1.0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("rows", "columns"), [([2, 0], None), (None, [3, 3, 1]), ([1], [0, 4]), ([2, 1, 0], [4, 2]), ([], [1])]
)
def test_indexed_arrays_are_read_and_written(rows, columns, device):
    base = cube()[:, 1]
    memory = wp.array(base.copy())
    picked = wp.indexedarray(memory, [rows, columns])
    out = wp.zeros(picked.shape, dtype=float)
    wp.launch(double_indexed, dim=picked.shape, inputs=[picked, out], device=device)
    at = np.ix_(range(3) if rows is None else rows, range(5) if columns is None else columns)
    at = tuple(np.asarray(k, int) for k in at)
    expected = 2.0 * base[at]
    if columns != [3, 3, 1]:  # equal indices meet: one thread may see what the other wrote
        assert np.array_equal(out.numpy(), expected)
    base[at] = -1.0
    assert np.array_equal(memory.numpy(), base)


@pytest.mark.parametrize("device", DEVICES)
def test_indexed_strided_memory(device):
    memory = wp.array(cube())
    view = memory[1].transpose()[::2]
    before = view.numpy().copy()
    picked = view[[2, 0], [1, 3]]
    out = wp.zeros((2, 2), dtype=float)
    wp.launch(double_indexed, dim=(2, 2), inputs=[picked, out], device=device)
    assert np.array_equal(out.numpy(), 2.0 * before[np.ix_([2, 0], [1, 3])])


def test_a_plain_array_is_no_indexed_array():
    with pytest.raises(ArgumentTypeError, match=r"expected: indexedarray\(float32, ndim=2\)"):
        wp.launch(double_indexed, dim=(1, 1), inputs=[wp.zeros((1, 1), dtype=float), wp.zeros((1, 1), dtype=float)])


@pytest.mark.cpu(reason="names its devices")
def test_bounds_of_views_are_checked():
    """An index inside the memory but outside the view is an error with `verify` and in the interpreter."""

    @wp.kernel(verify=True)
    def beyond(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = a[3]

    for a in (wp.zeros(10, dtype=float)[::4], wp.zeros(3, dtype=float)):
        for device in DEVICES:
            with pytest.raises(OutOfBoundsError, match="index 3"):
                wp.launch(beyond, dim=1, inputs=[a, wp.zeros(1, dtype=float)], device=device)
