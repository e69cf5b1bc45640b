"""C++ around native text: values arrive as kernels hold them, and the header that texts see is right."""

import numpy as np
import pytest
from compilers import compiled

import warpsim as wp
from warpsim.core.emit.native import snippets
from warpsim.core.ops.native import Unit
from warpsim.core.runtime.launches.pool import get_pool

DEVICES = pytest.mark.parametrize("device", ["interp", "cpu"])


@wp.struct
class Inner:
    q: wp.quat
    flag: bool
    weight: wp.float64


@wp.struct
class Outer:
    small: wp.uint8
    inner: Inner
    values: wp.array(dtype=wp.float32)
    count: int


# ----- layouts: what kernels hand over is what the text sees ------------------------------------


@wp.func_native("return wp::float16(float(a) + float(b) + float(c) + (d ? 0.5f : 0.0f));")
def small_numbers(a: wp.int8, b: wp.uint16, c: wp.float16, d: bool) -> wp.float16: ...


@wp.func_native("return a + int64_t(b) * 2 - int64_t(c / 4.0) + int64_t(d);")
def wide_numbers(a: wp.int64, b: wp.uint32, c: wp.float64, d: wp.uint64) -> wp.int64: ...


@wp.kernel
def numbers(small: wp.array(dtype=wp.float16), wide: wp.array(dtype=wp.int64)):
    i = wp.tid()
    small[i] = small_numbers(wp.int8(-3), wp.uint16(500), wp.float16(0.25), i > 0)
    wide[i] = wide_numbers(wp.int64(-5000000000), wp.uint32(4000000000), wp.float64(8.0), wp.uint64(7))


@compiled
@DEVICES
def test_numbers_of_every_width_arrive(device):
    small, wide = wp.zeros(2, dtype=wp.float16, device=device), wp.zeros(2, dtype=wp.int64, device=device)
    wp.launch(numbers, dim=2, inputs=[small, wide], device=device)
    assert small.numpy().tolist() == [497.25, 497.75]
    assert wide.numpy().tolist() == [-5000000000 + 8000000000 - 2 + 7] * 2


@wp.func_native(
    "Inner made = s.inner; made.q.x += s.values[1]; made.flag = !made.flag; made.weight *= s.small + s.count;"
    " s.values[0] = 9.0f; return made;"
)
def changed(s: Outer) -> Inner: ...


@wp.kernel
def structs_of_structs(s: Outer, out: wp.array(dtype=Inner)):
    out[wp.tid()] = changed(s)


@compiled
@DEVICES
def test_structs_arrive_and_return_with_all_their_fields(device):
    values = wp.array([1.0, 2.5], dtype=float, device=device)
    inner = Inner(q=wp.quat(1.0, 2.0, 3.0, 4.0), flag=True, weight=0.5)
    out = wp.zeros(1, dtype=Inner, device=device)
    outer = Outer(small=3, inner=inner, values=values, count=7)
    wp.launch(structs_of_structs, dim=1, inputs=[outer, out], device=device)
    [found] = out.numpy()
    assert found["q"].tolist() == [3.5, 2.0, 3.0, 4.0]
    assert (bool(found["flag"]), float(found["weight"])) == (False, 5.0)
    assert values.numpy().tolist() == [9.0, 2.5]


@wp.func_native("grid(i, j) += 10.0f * grid[i][j] + row[j] + float(grid.shape[0]) + float(row.shape[0]) / 8.0f;")
def at_place(grid: wp.array2d(dtype=float), row: wp.array(dtype=float), i: int, j: int): ...


@wp.kernel
def planes(grid: wp.array3d(dtype=float), k: int):
    i, j = wp.tid()
    at_place(grid[k], grid[1 - k, 1], i, j)


@compiled
@DEVICES
def test_views_and_strided_arrays_are_addressed_by_their_strides(device):
    start = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    grid = wp.array(start, dtype=float, device=device)
    wp.launch(planes, dim=(3, 4), inputs=[grid, 1], device=device)
    expected = start.copy()
    expected[1] = 11.0 * start[1] + start[0, 1] + 3.0 + 0.5
    np.testing.assert_array_equal(grid.numpy(), expected)


@wp.func_native("x[i] = 2.0f * x[i]; return x(i);")
def doubled(x: wp.indexedarray(dtype=float), i: int) -> float: ...


@wp.kernel
def through_tables(x: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = doubled(x, i)


@compiled
@DEVICES
def test_indexed_arrays_go_through_their_tables(device):
    base = wp.array(np.arange(6, dtype=np.float32), device=device)
    picked = wp.indexedarray(base, [wp.array([4, 1], dtype=int, device=device)])
    out = wp.zeros(2, dtype=float, device=device)
    wp.launch(through_tables, dim=2, inputs=[picked, out], device=device)
    assert out.numpy().tolist() == [8.0, 2.0]
    assert base.numpy().tolist() == [0.0, 2.0, 2.0, 3.0, 8.0, 5.0]


@wp.func_native("for (int k = 0; k < int(x.shape[0]); ++k) x[k] = float(k * k);")
def squares(x: wp.array(dtype=float)): ...


@wp.kernel
def with_local_array(out: wp.array(dtype=float)):
    kept = wp.zeros(shape=4, dtype=float)
    squares(kept)
    out[wp.tid()] = kept[1] + kept[2] + kept[3]


@compiled
@DEVICES
def test_arrays_of_a_threads_own_are_shared_with_the_text(device):
    out = wp.zeros(2, dtype=float, device=device)
    wp.launch(with_local_array, dim=2, inputs=[out], device=device)
    assert out.numpy().tolist() == [14.0, 14.0]


# ----- the header -------------------------------------------------------------------------------


@wp.func_native(
    """
    wp::vec3 sum = (a + 2.0f * b - b / 4.0f) * 0.5f;
    sum += wp::vec3(1.0f) ; sum -= -a;
    out[0] = wp::dot(a, b); out[1] = wp::length(a); out[2] = sum.x; out[3] = sum[1]; out[4] = sum.z;
    wp::vec3 n = wp::normalize(wp::cross(a, b));
    out[5] = n.x; out[6] = n.y; out[7] = n.z; out[8] = wp::length_sq(b) + float(a == a) + float(a != a);
    """
)
def vector_parts(a: wp.vec3, b: wp.vec3, out: wp.array(dtype=float)): ...


@wp.kernel
def vectors(a: wp.vec3, b: wp.vec3, out: wp.array(dtype=float)):
    vector_parts(a, b, out)


@compiled
def test_vector_arithmetic_of_the_header():
    a, b = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.25, 4.0])
    out = wp.zeros(9, dtype=float)
    wp.launch(vectors, dim=1, inputs=[wp.vec3(*a), wp.vec3(*b), out])
    total = (a + 2.0 * b - b / 4.0) * 0.5 + 1.0 + a
    cross = np.cross(a, b)
    expected = [a @ b, np.linalg.norm(a), *total, *(cross / np.linalg.norm(cross)), b @ b + 1.0]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


@wp.func_native("return wp::transpose(a * b) + wp::outer(v, v) * 2.0 - wp::mat33d(1, 0, 0, 0, 1, 0, 0, 0, 1);")
def matrix_parts(a: wp.mat33d, b: wp.mat33d, v: wp.vec3d) -> wp.mat33d: ...


@wp.func_native("wp::vec3d w = a * v; w[2] = a(1, 2) + a[2][0]; return w;")
def matrix_times(a: wp.mat33d, v: wp.vec3d) -> wp.vec3d: ...


@compiled
def test_matrix_arithmetic_of_the_header():
    random = np.random.default_rng(3)
    a, b, v = random.normal(size=(3, 3)), random.normal(size=(3, 3)), random.normal(size=3)
    found = matrix_parts(wp.mat33d(a), wp.mat33d(b), wp.vec3d(*v)).numpy()
    np.testing.assert_allclose(found, (a @ b).T + 2.0 * np.outer(v, v) - np.eye(3), rtol=1e-14)
    np.testing.assert_allclose(matrix_times(wp.mat33d(a), wp.vec3d(*v)).numpy(), [*(a @ v)[:2], a[1, 2] + a[2, 0]])


@wp.func_native("return wp::transform_point(t, v) + wp::quat_rotate_inv(q * wp::quat_inverse(t.q), v);")
def rotated(t: wp.transformd, q: wp.quatd, v: wp.vec3d) -> wp.vec3d: ...


@compiled
def test_rotations_of_the_header_agree_with_the_library():
    q = wp.quat_from_axis_angle(wp.vec3d(0.0, 0.6, 0.8), wp.float64(0.7))
    r = wp.quat_from_axis_angle(wp.vec3d(1.0, 0.0, 0.0), wp.float64(-1.1))
    t, v = wp.transformd(wp.vec3d(1.0, 2.0, 3.0), r), wp.vec3d(0.3, -0.2, 0.9)
    found = rotated(t, q, v).numpy()
    expected = wp.transform_point(t, v).numpy() + wp.quat_rotate_inv(q * wp.quat_inverse(r), v).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@wp.func_native("out[i] = wp::float16(x[i]); back[i] = float(out[i]);")
def to_half(x: wp.array(dtype=float), out: wp.array(dtype=wp.float16), back: wp.array(dtype=float), i: int): ...


@wp.kernel
def halves(x: wp.array(dtype=float), out: wp.array(dtype=wp.float16), back: wp.array(dtype=float)):
    to_half(x, out, back, wp.tid())


@compiled
def test_half_precision_rounds_as_numpy_does():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        near = every.astype(np.float32)[:, None] * np.float32([1.0, 1.0 + 2.0**-12, 1.0 + 2.0**-11, 1.0 - 2.0**-12])
    x = np.concatenate([near.ravel(), np.float32([65519.0, 65520.0, 2.0**-25, 2.0**-25 * 1.0001, 1e-30, 3.4e38])])
    out, back = wp.zeros(len(x), dtype=wp.float16), wp.zeros(len(x), dtype=float)
    wp.launch(halves, dim=len(x), inputs=[wp.array(x, dtype=float), out, back])
    numbers = ~np.isnan(x)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(out.numpy()[numbers].view(np.uint16), expected[numbers].view(np.uint16))
    assert np.isnan(out.numpy()[~numbers]).all()
    np.testing.assert_array_equal(back.numpy(), expected.astype(np.float32))


@wp.func_native(
    """
    atomicAdd(total, 1);
    atomicAdd(&sums[i % 2], 0.5);
    atomicMax(high, i); atomicMin(&low[0], -i);
    atomicAdd(&places[0], wp::vec3(1.0f, 2.0f, 0.0f));
    atomicXor(bits, 1u << (i % 31)); atomicOr(&bits[1], 1u << (i % 31)); atomicSub(&small[0], int8_t(1));
    int seen = last[0];
    while (atomicCAS(last, seen, seen + 2) != seen) seen = last[0];
    """
)
def atomics(
    total: wp.array(dtype=int),
    sums: wp.array(dtype=wp.float64),
    high: wp.array(dtype=int),
    low: wp.array(dtype=int),
    places: wp.array(dtype=wp.vec3),
    bits: wp.array(dtype=wp.uint32),
    small: wp.array(dtype=wp.int8),
    last: wp.array(dtype=int),
    i: int,
): ...


@wp.kernel
def all_atomics(
    total: wp.array(dtype=int),
    sums: wp.array(dtype=wp.float64),
    high: wp.array(dtype=int),
    low: wp.array(dtype=int),
    places: wp.array(dtype=wp.vec3),
    bits: wp.array(dtype=wp.uint32),
    small: wp.array(dtype=wp.int8),
    last: wp.array(dtype=int),
):
    atomics(total, sums, high, low, places, bits, small, last, wp.tid())


@compiled
def test_atomics_lose_nothing_between_threads():
    n = 62 * 4000
    before = get_pool().threads
    wp.set_num_threads(4)
    try:
        types = (int, wp.float64, int, int, wp.vec3, wp.uint32, wp.int8, int)
        found = [wp.zeros(k, dtype=t) for k, t in zip((1, 2, 1, 1, 1, 2, 1, 1), types, strict=True)]
        wp.launch(all_atomics, dim=n, inputs=found)
    finally:
        wp.set_num_threads(before)
    total, sums, high, low, places, bits, small, last = (a.numpy().tolist() for a in found)
    assert (total, sums, high, low, last) == ([n], [n / 4, n / 4], [n - 1], [1 - n], [2 * n])
    assert places == [[n, 2 * n, 0.0]]
    assert bits == [0, 2**31 - 1]
    assert small == [(-n + 128) % 256 - 128]


@wp.func_native(
    "#include <algorithm>\n#include <vector>\nstd::vector<float> v(x.data ? &x[0] : 0, &x[0] + 3);\n"
    "std::sort(v.begin(), v.end());\nreturn v[1];"
)
def median(x: wp.array(dtype=float)) -> float: ...


@wp.kernel
def middle(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[wp.tid()] = median(x)


@pytest.mark.not_for_cuda("could not open source file")
@compiled
def test_includes_move_in_front_of_the_function():
    out = wp.zeros(1, dtype=float)
    wp.launch(middle, dim=1, inputs=[wp.array([5.0, 1.0, 3.0], dtype=float), out])
    assert out.numpy().tolist() == [3.0]


@compiled
def test_a_constant_struct_lends_constant_arrays():
    s, facts = ("s", Outer), {"result": wp.float32, "constants": frozenset("s")}
    assert snippets.compiles(Unit("f", "snippet", "s.count = 3; return s.values[0];", (s,), **facts))
    assert not snippets.compiles(Unit("f", "snippet", "return s.values[0] = 1.0f;", (s,), **facts))


@wp.func_native("x[i] = float(i); WP_TILE_SYNC(); y[i] = 2.0f * x[i];")
def in_two_steps(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...


@wp.kernel
def two_steps(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    in_two_steps(x, y, wp.tid())


@compiled
def test_threads_of_a_block_meet():
    x, y = wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)
    wp.launch(two_steps, dim=4, inputs=[x, y], block_dim=4)
    assert y.list() == [0.0, 2.0, 4.0, 6.0]
