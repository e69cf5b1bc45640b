"""Arrays in pieces, as Fabric hands them out: kernels and the host see the elements of one line."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp


def interface(a, counts, role="", components=1):
    """An interface of Fabric over an array, cut into pieces."""
    starts = np.cumsum([0, *counts])[:-1]
    scalar = np.dtype(a.numpy().dtype).str[1:]
    about = {
        "type": (True, scalar, components, 0, role),
        "access": 2,
        "counts": list(counts),
        "pointers": [a.ptr + int(k) * a.strides[0] for k in starts],
    }
    return {"version": 1, "device": str(a.device), "attribs": {"x": about}, "owner": a}


def row_interface(rows):
    """An interface over arrays of any length, in two pieces."""
    tables = [wp.array([getattr(r, name) or 0 for r in rows], dtype=wp.uint64) for name in ("ptr", "size")]
    ptrs, lengths = ([t.ptr, t.ptr + 8] for t in tables)
    about = {
        "type": (True, "f4", 1, 1, ""),
        "access": 2,
        "counts": [1, len(rows) - 1],
        "pointers": ptrs,
        "array_lengths": lengths,
    }
    return {"version": 1, "device": str(rows[0].device), "attribs": {"x": about}, "owner": (rows, *tables)}


@wp.kernel
def double_in_place(f: wp.fabricarray[float], before: wp.array[float]):
    i = wp.tid()
    before[i] = f[i]
    f[i] = 2.0 * f[i]
    f[i] += 1.0


@pytest.mark.parametrize("counts", [[10], [3, 0, 5, 2], [1] * 10, [0, 9, 1, 0]])
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_kernels_read_and_write_the_pieces(counts, device):
    a, before = wp.array(np.arange(10.0), dtype=float), wp.zeros(10, dtype=float)
    wp.launch(double_in_place, 10, inputs=[wp.fabricarray(interface(a, counts), "x"), before], device=device)
    assert before.numpy().tolist() == list(range(10))
    assert a.numpy().tolist() == [2.0 * k + 1.0 for k in range(10)]


def test_a_program_hangs_on_an_array_in_pieces_what_it_wants_to_keep():
    f = wp.fabricarray(interface(wp.array(np.arange(10.0), dtype=float), [4, 6]), "x")
    f.owner_of_memory, before = interface, wp.zeros(10, dtype=float)
    assert f.owner_of_memory is interface
    wp.launch(double_in_place, 10, inputs=[f, before])
    assert before.numpy().tolist() == list(range(10))
    with pytest.raises(TypeError, match="starts"):
        f.starts = 3


@wp.kernel
def ends(f: wp.fabricarray[Any], out: wp.array[Any]):
    out[0] = f[-1]
    out[1] = f[wp.uint8(0)]
    out[2] = f.dtype(f.size)
    out[3] = f.dtype(f.shape[0])


@pytest.mark.parametrize("dtype", [wp.float64, wp.int32, wp.int16])
def test_indices_of_any_integer_type_and_from_the_end(dtype):
    a, out = wp.array(np.arange(3, 9), dtype=dtype), wp.zeros(4, dtype=dtype)
    wp.launch(ends, 1, inputs=[wp.fabricarray(interface(a, [2, 4]), "x"), out])
    assert out.numpy().tolist() == [8, 3, 6, 6]


@wp.kernel
def change_components(f: wp.fabricarray[wp.vec3]):
    i = wp.tid()
    f[i, 0] = 7.0
    f[i].y = 8.0
    f[i][2] += 1.0


def test_components_of_elements():
    a = wp.array(np.arange(12.0).reshape(4, 3), dtype=wp.vec3)
    wp.launch(change_components, 4, inputs=[wp.fabricarray(interface(a, [1, 3], "position", 3), "x")])
    assert a.numpy().tolist() == [[7, 8, 3 * k + 3] for k in range(4)]


@wp.kernel
def take(f: wp.indexedfabricarray(dtype=float), out: wp.array[float]):
    i = wp.tid()
    out[i] = f[i]
    f[i] = -float(f.shape[0])


def test_a_selection_of_elements_is_one_in_kernels():
    a, out = wp.array(np.arange(10.0), dtype=float), wp.zeros(3, dtype=float)
    chosen = wp.fabricarray(interface(a, [4, 6]), "x")[wp.array([8, 0, 3], dtype=int)]
    assert chosen.numpy().tolist() == [8, 0, 3]
    wp.launch(take, 2, inputs=[chosen[wp.array([2, 0], dtype=int)], out])
    assert out.numpy().tolist() == [3, 8, 0]
    assert np.flatnonzero(a.numpy() == -2).tolist() == [3, 8]


def test_the_host_copies_fills_and_clones():
    a = wp.array(np.arange(10.0), dtype=float)
    whole = wp.fabricarray(interface(a, [3, 0, 5, 2]), "x")
    some = whole[wp.array([8, 0, 3], dtype=int)]
    assert whole.shape == (10,) and whole.dtype == wp.float32 and some.size == len(some) == 3
    wp.copy(some, wp.array([1.0, 2.0, 3.0], dtype=float))
    assert a.numpy().tolist() == [2, 1, 2, 3, 4, 5, 6, 7, 1, 9]
    copied = wp.clone(whole)
    some.fill_(5.0)
    assert whole.list()[8] == 5.0 and copied.numpy()[8] == 1.0
    whole.zero_()
    assert not a.numpy().any()
    wp.copy(whole, copied)
    wp.copy(some, whole[wp.array([1, 2, 4], dtype=int)])
    assert a.numpy()[[8, 0, 3]].tolist() == [1, 2, 4]
    assert isinstance(whole, wp.fabricarray) and not isinstance(whole, wp.indexedfabricarray)
    assert isinstance(some, wp.indexedfabricarray)


def test_no_elements():
    none = wp.fabricarray(interface(wp.zeros(0, dtype=float), []), "x")
    none.fill_(1.0)
    none.assign([])
    chosen = none[wp.zeros(0, dtype=int)]
    assert none.shape == chosen.shape == (0,) and none.list() == chosen.list() == []


@wp.struct
class Prims:
    x: wp.fabricarray[float]
    weight: float


@wp.kernel
def weigh(p: Prims, all_of_them: wp.array[Prims], out: wp.array[float]):
    i = wp.tid()
    p.x[i] = p.x[i] * p.weight
    out[i] = all_of_them[0].x[i]


def test_fields_of_structs():
    a, out = wp.array(np.arange(5.0), dtype=float), wp.zeros(5, dtype=float)
    p = Prims(wp.fabricarray(interface(a, [2, 3]), "x"), 3.0)
    wp.launch(weigh, 5, inputs=[p, wp.array([p], dtype=Prims), out])
    assert out.numpy().tolist() == a.numpy().tolist() == [0, 3, 6, 9, 12]


@wp.kernel
def sum_rows(a: wp.fabricarrayarray(dtype=Any), out: wp.array[Any]):
    i = wp.tid()
    row = a[i]
    for j in range(row.shape[0]):
        out[i] += row[j]
        a[i, j] = a[i][j] + out.dtype(1.0)
        a[i][j] += out.dtype(float(a.size))


def test_rows_of_any_length():
    rows = [wp.array(np.full(n, float(n)), dtype=float) for n in (2, 0, 3)]
    whole, out = wp.fabricarrayarray(row_interface(rows), "x"), wp.zeros(3, dtype=float)
    wp.launch(sum_rows, 3, inputs=[whole, out])
    assert out.numpy().tolist() == [4, 0, 9]
    assert [r.numpy().tolist() for r in rows] == [[6, 6], [], [7, 7, 7]]
    chosen = wp.indexedfabricarrayarray(fa=whole, indices=wp.array([2, 1], dtype=int))
    assert [len(r) for r in chosen.list()] == [3, 0] and chosen.size == 2


def test_elements_are_of_the_type_that_the_interface_tells():
    numbers = wp.zeros(16, dtype=wp.float64)
    types = {("matrix", 4): wp.mat22d, ("quat", 4): wp.quatd, ("color", 4): wp.vec4d, ("", 1): wp.float64}
    for (role, components), t in types.items():
        about = interface(numbers, [1], role, components)
        assert wp.fabricarray(about, "x").dtype == t


def test_what_does_not_fit_is_refused():
    a = wp.zeros(4, dtype=float)
    whole = wp.fabricarray(interface(a, [4]), "x")
    with pytest.raises(wp.errors.ArrayError, match="no attribute 'y'"):
        wp.fabricarray(interface(a, [4]), "y")
    with pytest.raises(wp.errors.ArrayError, match="square"):
        wp.fabricarray(interface(a, [4], "matrix", 3), "x")
    with pytest.raises(wp.errors.ArrayError, match="of depth 1"):
        wp.fabricarrayarray(interface(a, [4]), "x")
    with pytest.raises(wp.errors.ArrayError, match="0 to 3"):
        whole[wp.array([4], dtype=int)]
    with pytest.raises(wp.errors.ArrayError, match="assign"):
        whole.assign([1.0])
    with pytest.raises(wp.errors.ArgumentTypeError, match="fabricarray"):
        wp.launch(double_in_place, 4, inputs=[a, a])


# ----- gradients --------------------------------------------------------------------------------


@wp.kernel
def square(f: wp.fabricarray[float], x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = f[i] * f[i] * x[i]


@wp.kernel
def write_then_read(f: wp.fabricarray[float], x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    f[i] = x[i] * 3.0
    y[i] = f[i] * 2.0


@wp.kernel
def write(f: wp.fabricarray[float], x: wp.array[float]):
    i = wp.tid()
    f[i] = x[i] * 3.0


@wp.kernel
def square_in_place(f: wp.fabricarray[float]):
    i = wp.tid()
    f[i] = f[i] * f[i]


@wp.kernel
def write_then_square(f: wp.fabricarray[float], x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    f[i] = x[i] * 3.0
    y[i] = f[i] * f[i]


def line(n=6, **options):
    return wp.array(np.arange(1.0, n + 1.0), dtype=float, **options)


def backward(tape, y):
    """Run a tape backward from gradients 1, 2, 3 ..."""
    tape.backward(grads={y: line(len(y))})


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_pieces_get_a_gradient_when_a_tape_records_them(device):
    f, x, y = wp.fabricarray(interface(line(), [4, 0, 2]), "x"), line(requires_grad=True), line(requires_grad=True)
    assert f.grad is None and not f.requires_grad
    with wp.Tape() as tape:
        wp.launch(square, 6, inputs=[f, x, y], device=device)
        f.fill_(7.0)  # what the adjoint needs of the pieces is what was there before
    tape.backward(grads={y: line()})
    k = np.arange(1.0, 7.0)
    assert f.numpy().tolist() == [7.0] * 6
    assert x.grad.numpy().tolist() == (k**3).tolist()
    assert f.grad.numpy().tolist() == (2 * k**3).tolist()


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_of_pieces_that_are_read(device):
    f, x, y = wp.fabricarray(interface(line(), [4, 0, 2]), "x"), line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 6, inputs=[f, x, y], device=device)
    backward(tape, y)
    k = np.arange(1.0, 7.0)
    assert f.grad.numpy().tolist() == tape.gradients[f].numpy().tolist() == (2 * k * k * k).tolist()
    assert f[wp.array([5, 0], dtype=int)].grad.numpy().tolist() == [432, 2]
    tape.zero()
    assert not f.grad.numpy().any()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("kernels", [[write_then_read], [write, square], [write, square, write]])
def test_gradients_flow_through_pieces(kernels, device):
    f, x, y = wp.fabricarray(interface(line(), [1, 5]), "x"), line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        for kernel in kernels:
            wp.launch(kernel, 6, inputs=[f, x] if kernel is write else [f, x, y], device=device)
    backward(tape, y)
    k = np.arange(1.0, 7.0)
    expected = 6 * k if kernels == [write_then_read] else k * 27 * k**2  # of 9 x² x
    np.testing.assert_allclose(x.grad.numpy(), expected)


@wp.kernel
def scale_in_place(f: wp.fabricarray[float], x: wp.array[float]):
    i = wp.tid()
    moved = f[i] * x[i]
    f[i] = moved
    x[i] = 0.5 * moved


@pytest.mark.parametrize("times", [1, 2, 3, 4])
@pytest.mark.parametrize("counts", [[6], [1, 0, 5]])
def test_launches_that_overwrite_pieces_in_turn(counts, times):
    """Each is reversed with what the pieces held before it: x1 = f x / 2, f1 = f x, and so on."""
    f0, x0 = np.linspace(0.6, 1.1, 6), np.linspace(1.2, 0.7, 6)
    a, x = (wp.array(v, dtype=float, requires_grad=True) for v in (f0, x0))
    f = wp.fabricarray(interface(a, counts), "x")
    with wp.Tape() as tape:
        for _ in range(times):
            wp.launch(scale_in_place, 6, inputs=[f, x])
    tape.backward(grads={x: wp.ones(6)})
    power = 2.0 ** (times - 1)  # x becomes c (f x) ** power
    value = x.numpy()
    np.testing.assert_allclose(a.grad.numpy(), power * value / f0, rtol=1e-5)
    np.testing.assert_allclose(x.grad.numpy(), power * value / x0, rtol=1e-5)


def test_pieces_in_memory_of_an_array_share_its_gradient():
    a, x, y = line(8, requires_grad=True), line(requires_grad=True), line(requires_grad=True)
    f = wp.fabricarray(interface(a[2:], [4, 2]), "x")
    assert f.requires_grad
    with wp.Tape() as tape:
        wp.launch(square, 6, inputs=[f, x, y])
        a.zero_()
    f.grad.fill_(5.0)
    assert a.grad.numpy().tolist() == [0, 0] + [5] * 6
    a.grad.zero_()
    backward(tape, y)
    np.testing.assert_allclose(x.grad.numpy(), np.arange(1.0, 7.0) * np.arange(3.0, 9.0) ** 2)


def test_pieces_without_a_gradient_are_constants():
    f = wp.fabricarray(interface(line(), [4, 2]), "x", requires_grad=False)
    x, y = line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 6, inputs=[f, x, y])
    backward(tape, y)
    assert f.grad is None and not f.requires_grad
    assert x.grad.numpy().tolist() == (np.arange(1.0, 7.0) ** 3).tolist()
    f.requires_grad = True
    assert f.grad.shape == (6,) and not f.grad.numpy().any()


def test_pieces_that_a_kernel_changes_in_place():
    f = wp.fabricarray(interface(line(), [4, 2]), "x", requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square_in_place, 6, inputs=[f])
    f.grad.fill_(1.0)
    tape.backward()
    assert f.grad.numpy().tolist() == [2, 4, 6, 8, 10, 12]
    assert "in elements of 'f'" in str(tape.report())


def test_pieces_that_are_written_and_then_needed_are_refused():
    f, x, y = wp.fabricarray(interface(line(), [4, 2]), "x"), line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(write_then_square, 6, inputs=[f, x, y])
    with pytest.raises(wp.errors.NotDifferentiableError, match="after it wrote the other"):
        backward(tape, y)


@wp.kernel
def weigh_all(p: Prims, several: wp.array[Prims], out: wp.array[float]):
    i = wp.tid()
    out[i] = p.x[i] * p.x[i] * several[0].x[i]


def test_gradients_of_fields_of_structs():
    f, g = (wp.fabricarray(interface(line(4), [3, 1]), "x") for _ in range(2))
    out = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weigh_all, 4, inputs=[Prims(f, 1.0), wp.array([Prims(g, 1.0)], dtype=Prims), out])
    tape.backward(grads={out: wp.ones(4, dtype=float)})
    k = np.arange(1.0, 5.0)
    assert f.grad.numpy().tolist() == (2 * k * k).tolist()
    assert g.grad.numpy().tolist() == (k * k).tolist()


@wp.kernel
def take_squares(f: wp.indexedfabricarray(dtype=wp.vec3), out: wp.array[float]):
    i = wp.tid()
    out[i] = wp.dot(f[i], f[i])


def test_gradients_of_selections_and_vectors():
    a = wp.array(np.arange(12.0).reshape(4, 3), dtype=wp.vec3)
    f, out = wp.fabricarray(interface(a, [1, 3], "position", 3), "x"), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(take_squares, 2, inputs=[f[wp.array([3, 0], dtype=int)], out])
    tape.backward(grads={out: wp.ones(2, dtype=float)})
    assert f.grad.numpy().tolist() == [[0, 2, 4], [0] * 3, [0] * 3, [18, 20, 22]]


@wp.kernel
def sum_squares(a: wp.fabricarrayarray(dtype=float), out: wp.array[float]):
    i = wp.tid()
    row = a[i]
    for j in range(row.shape[0]):
        out[i] += row[j] * row[j]


def test_gradients_of_rows():
    rows = [wp.array(np.full(n, float(n)), dtype=float) for n in (2, 0, 3)]
    whole, out = wp.fabricarrayarray(row_interface(rows), "x"), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(sum_squares, 3, inputs=[whole, out])
    tape.backward(grads={out: line(3)})
    assert [g.numpy().tolist() for g in whole.grad.list()] == [[4, 4], [], [18, 18, 18]]


def test_copies_on_a_tape_pass_gradients():
    f, x = wp.fabricarray(interface(line(), [4, 2]), "x"), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(f, x)
        copied = f.contiguous()
    tape.backward(grads={copied: line()})
    assert x.grad.numpy().tolist() == [1, 2, 3, 4, 5, 6]
    assert f.numpy().tolist() == [1, 2, 3, 4, 5, 6]
