"""`wp.address_of` and `a.ptr` in kernels: native text changes the places whose addresses it is given."""

import numpy as np
import pytest
from native_compilers import compiled

import warpsim as wp
from warpsim.errors import KernelError, KernelTypeError, NotDifferentiableError

pytestmark = [compiled, pytest.mark.parametrize("device", ["cpu", "interp"])]


@wp.func_native("*(float *)p += by;")
def raise_at(p: wp.uint64, by: float): ...


@wp.func_native("float *q = (float *)p; float s = 0.0f; for (int i = 0; i < n; ++i) s += q[i]; return s;")
def sum_at(p: wp.uint64, n: int) -> float: ...


@wp.func_native("int *q = (int *)p; last = *q; *q = *(int *)other; return *q * 10;")
def replace_at(p: wp.uint64, last: wp.ref[int], other: wp.uint64) -> int: ...


@wp.func
def handed_on(p: wp.uint64, by: float):
    raise_at(p, by)


@wp.struct
class Inner:
    pad: int
    value: float


@wp.struct
class Outer:
    inner: Inner
    corner: wp.vec3


def launched(kernel, device, *arrays, dim=1):
    wp.launch(kernel, dim, inputs=list(arrays), device=device)
    return [a.numpy() for a in arrays]


def test_locals_and_their_parts_become_what_the_text_left_there(device):
    @wp.kernel
    def k(out: wp.array2d[float]):
        i = wp.tid()
        x = float(i)
        raise_at(wp.address_of(x), 1.0)
        v = wp.vec3(1.0, 2.0, 3.0)
        raise_at(wp.address_of(v.y), x)
        raise_at(wp.address_of(v[2]), 10.0)
        m = wp.mat22(1.0, 2.0, 3.0, 4.0)
        raise_at(wp.address_of(m[1, 0]), 5.0)
        box = Outer()
        raise_at(by=2.0, p=wp.address_of(box.inner.value))
        raise_at(wp.address_of(box.corner[1]), 3.0)
        few = wp.zeros(shape=2, dtype=float)
        raise_at(wp.address_of(few[1]), 4.0)
        for _ in range(3):
            raise_at(wp.address_of(x), 100.0)
        if i == 1:
            raise_at(wp.address_of(x), 1000.0)
        out[i, 0] = x
        out[i, 1] = v[0] + v[1] * 10.0 + v[2] * 100.0
        out[i, 2] = m[1, 0] + box.inner.value * 10.0 + box.corner[1] * 100.0 + few[1] * 1000.0

    [out] = launched(k, device, wp.zeros((2, 3), dtype=float, device=device), dim=2)
    assert out.tolist() == [[301.0, 1331.0, 4328.0], [1302.0, 1341.0, 4328.0]]


def test_elements_are_changed_where_they_lie(device):
    @wp.kernel
    def k(x: wp.array[float], boxes: wp.array[Outer], v: wp.array2d[wp.vec3], at: wp.array[wp.int64]):
        i = wp.tid()
        raise_at(wp.address_of(x[i]), 1.0)
        raise_at(wp.address_of(boxes[i].inner.value), 2.0)
        raise_at(wp.address_of(boxes[-1 - i].corner.z), 3.0)
        raise_at(wp.address_of(v[i, at[i]][1]), 4.0)
        p = wp.address_of(x[-1])
        if i == 0:
            handed_on(p, 100.0)

    boxes, v = wp.zeros(2, dtype=Outer, device=device), wp.zeros((2, 2), dtype=wp.vec3, device=device)
    at = wp.array([-1, 0], dtype=wp.int64, device=device)
    x, records, v, _ = launched(k, device, wp.zeros(2, dtype=float, device=device), boxes, v, at, dim=2)
    assert sorted(x.tolist()) == [1.0, 101.0]
    assert records["inner"]["value"].tolist() == [2.0, 2.0] and records["inner"]["pad"].tolist() == [0, 0]
    assert records["corner"].tolist() == [[0, 0, 3]] * 2
    assert v[:, :, 1].tolist() == [[0.0, 4.0], [4.0, 0.0]] and v.sum() == 8.0


def test_addresses_in_arrays_have_neighbours(device):
    @wp.kernel
    def k(x: wp.array2d[float], out: wp.array[float]):
        i = wp.tid()
        out[i] = sum_at(wp.address_of(x[i, 0]), x.shape[1]) + 1000.0 * sum_at(x.ptr, x.size)

    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = launched(k, device, wp.array(values, device=device), wp.zeros(2, dtype=float, device=device), dim=2)[1]
    assert out.tolist() == [15003.0, 15012.0]


def test_addresses_stand_beside_references_and_results(device):
    @wp.kernel
    def k(n: wp.array[int], out: wp.array[int]):
        last, other = int(7), int(5)
        out[0] = replace_at(wp.address_of(n[1]), last, wp.address_of(other))
        out[1], out[2] = last, other

    n, out = launched(k, device, wp.array([1, 2, 3], dtype=int, device=device), wp.zeros(3, dtype=int, device=device))
    assert n.tolist() == [1, 5, 3] and out.tolist() == [50, 2, 5]


def test_what_is_read_after_an_address_is_what_the_text_left(device):
    @wp.kernel
    def k(x: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        before = x[i]
        raise_at(wp.address_of(x[i]), 1.0)
        between = x[i]
        raise_at(x.ptr, 10.0)
        out[i] = before + 100.0 * between + 10000.0 * x[0]

    out = launched(k, device, wp.ones(1, dtype=float, device=device), wp.zeros(1, dtype=float, device=device))[1]
    assert out.tolist() == [120201.0]


def test_there_is_no_gradient_through_an_address(device):
    @wp.kernel
    def k(x: wp.array[float], out: wp.array[float]):
        i = wp.tid()
        y = x[i]
        raise_at(wp.address_of(y), 1.0)
        out[i] = y * y

    x = wp.ones(1, dtype=float, device=device, requires_grad=True)
    out = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(k, 1, inputs=[x, out], device=device)
    assert out.numpy().tolist() == [4.0]
    with pytest.raises(NotDifferentiableError, match="the snippet of native function 'raise_at' has no derivative"):
        tape.backward(grads={out: wp.ones(1, dtype=float, device=device)})


WRONG = {
    "a value": ("raise_at(wp.address_of(out[0] + 1.0), 1.0)", "cannot be assigned to"),
    "a field of a result": ("raise_at(wp.address_of(wp.vec3(1.0).x), 1.0)", "cannot be assigned to"),
    "a row": ("raise_at(wp.address_of(square[0]), 1.0)", "the address of a part of"),
    "several components": ("raise_at(wp.address_of(v[0].xy), 1.0)", "the address of a part of"),
    "arithmetic": ("raise_at(wp.address_of(out[0]) + wp.uint64(4), 1.0)", "is not a value"),
    "a local that is kept": ("x = float(1.0)\n    p = wp.address_of(x)", "goes to a native function only"),
    "a local handed on": ("x = float(1.0)\n    handed_on(wp.address_of(x), 1.0)", "goes to a native function only"),
    "another type": ("sum_at(out.ptr, out.ptr)", "no overload for"),
    "nothing": ("raise_at(wp.address_of(), 1.0)", "takes one local, field, component or element"),
    "memory": ("a = wp.array(ptr=out.ptr, shape=(2,), dtype=float)", "is not a type of the kernel language"),
}


@pytest.mark.parametrize("case", WRONG)
def test_places_only_have_addresses_and_native_functions_only_take_them(device, case):
    code, message = WRONG[case]
    head = "def k(out: wp.array[float], square: wp.array2d[float], v: wp.array[wp.vec3]):\n    "
    names = {"wp": wp, "raise_at": raise_at, "sum_at": sum_at, "handed_on": handed_on}
    kernel = wp.kernel_from_source(head + code, scope=names)
    arrays = [wp.zeros(1, dtype=float), wp.zeros((1, 1), dtype=float), wp.zeros(1, dtype=wp.vec3)]
    with pytest.raises(KernelError, match=message):
        wp.launch(kernel, 1, inputs=arrays, device=device)


def test_the_host_has_addresses_of_arrays(device):
    with pytest.raises(TypeError, match="works inside kernels only"):
        wp.address_of(1.0)
    with pytest.raises(KernelTypeError, match="no overload for"):
        sum_at("memory", 1)
