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
        "type": (True, scalar, components, 0, role), "access": 2, "counts": list(counts),
        "pointers": [a.ptr + int(k) * a.strides[0] for k in starts],
    }  # fmt: skip
    return {"version": 1, "device": str(a.device), "attribs": {"x": about}, "owner": a}


def row_interface(rows):
    """An interface over arrays of any length, in two pieces."""
    tables = [wp.array([getattr(r, name) for r in rows], dtype=wp.uint64) for name in ("ptr", "size")]
    ptrs, lengths = ([t.ptr, t.ptr + 8] for t in tables)
    about = {
        "type": (True, "f4", 1, 1, ""), "access": 2, "counts": [1, len(rows) - 1], "pointers": ptrs,
        "array_lengths": lengths,
    }  # fmt: skip
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
