"""Gradients of functions with C++ bodies: adjoint and replay texts, and what is refused without them."""

import numpy as np
import pytest
from native_compilers import compiled

import warpsim as wp
from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.passes.forward.tangent import chosen_floats, tangent
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import NativeCodeError, NotDifferentiableError

DEVICES = pytest.mark.parametrize("device", ["interp", "cpu"])


@wp.func_native(
    "return scale * x + shift;", "adj_x += scale * adj_ret; adj_scale += x * adj_ret; adj_shift += adj_ret;"
)
def line(x: float, scale: float = 2.0, shift: float = 0.0) -> float: ...


def gradients(kernel, dim, inputs, output, device):
    """Gradients of the arrays among `inputs`, for a cotangent 1, 2, 3, ... of what the kernel leaves in `output`."""
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=dim, inputs=inputs, outputs=[output], device=device)
    seed = np.arange(1, output.numpy().size + 1, dtype=output.numpy().dtype).reshape(output.numpy().shape)
    tape.backward(grads={output: wp.array(seed, dtype=output.dtype, device=device)})
    return [a.grad.numpy() for a in inputs if isinstance(a, wp.array) and a.grad is not None]


def leaf(data, device, dtype=float):
    return wp.array(data, dtype=dtype, device=device, requires_grad=True)


@wp.func_native(
    "out[i] = a * x[i] * y[i];",
    "adj_a += x[i] * y[i] * adj_out[i]; adj_x[i] += a * y[i] * adj_out[i]; adj_y[i] += a * x[i] * adj_out[i];",
)
def product(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.kernel
def products(
    a: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
    rows: wp.array2d(dtype=float),
    out: wp.array(dtype=float),
):
    i = wp.tid()
    product(a[0], x, y, out, i)
    product(2.0, rows[1], x, rows[0], i)


@compiled
@DEVICES
def test_gradients_of_numbers_and_arrays(device):
    a, x, y = leaf([3.0], device), leaf([1.0, 2.0], device), leaf([5.0, 7.0], device)
    rows, out = wp.zeros((2, 2), dtype=float, device=device), leaf([0.0, 0.0], device)
    slopes = gradients(products, 2, [a, x, y, rows], out, device)
    assert out.numpy().tolist() == [15.0, 42.0]
    assert [s.tolist() for s in slopes] == [[5.0 + 28.0], [15.0, 42.0], [3.0, 12.0]]


@compiled
@DEVICES
def test_gradients_that_nobody_has_are_left_out(device):
    a, x = wp.array([3.0], dtype=float, device=device), leaf([1.0, 2.0], device)
    y, out = wp.array([5.0, 7.0], dtype=float, device=device), leaf([0.0, 0.0], device)
    rows = wp.zeros((2, 2), dtype=float, device=device)
    [slopes] = gradients(products, 2, [a, x, y, rows], out, device)
    assert slopes.tolist() == [15.0, 42.0]
    assert a.grad is None and y.grad is None


@wp.func_native(
    "return m * v * s;",
    "adj_v += wp::transpose(m) * adj_ret * s; adj_m += wp::outer(adj_ret, v) * s; adj_s += wp::dot(m * v, adj_ret);",
)
def stretched(m: wp.mat33d, v: wp.vec3d, s: wp.float64) -> wp.vec3d: ...


@wp.kernel
def stretches(
    m: wp.array(dtype=wp.mat33d),
    v: wp.array(dtype=wp.vec3d),
    s: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    w = v[i]
    for k in range(3):
        w = stretched(m[i], w, s[k] * s[k])
    out[i] = w


@compiled
@DEVICES
def test_gradients_of_vectors_and_matrices_in_a_loop_agree_with_differences(device):
    random = np.random.default_rng(5)
    start = [random.normal(size=(2, 3, 3)), random.normal(size=(2, 3)), random.normal(size=3)]
    types = (wp.mat33d, wp.vec3d, wp.float64)

    def value(parts):
        out = wp.zeros(2, dtype=wp.vec3d, device=device)
        given = [wp.array(p, dtype=t, device=device) for p, t in zip(parts, types, strict=True)]
        wp.launch(stretches, dim=2, inputs=[*given, out], device=device)
        return float((out.numpy() * np.arange(1.0, 7.0).reshape(2, 3)).sum())

    inputs = [leaf(p, device, t) for p, t in zip(start, types, strict=True)]
    found = gradients(stretches, 2, inputs, leaf(np.zeros((2, 3)), device, wp.vec3d), device)
    for k, part in enumerate(start):
        for at in list(np.ndindex(part.shape))[::4]:
            ends = []
            for step in (1e-6, -1e-6):
                moved = [p.copy() for p in start]
                moved[k][at] += step
                ends.append(value(moved))
            assert found[k][at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)


@wp.struct
class Spring:
    stiffness: float
    count: int
    lengths: wp.array(dtype=float)


@wp.func_native(
    "return s.stiffness * s.lengths[i] * s.lengths[i];",
    "adj_s.stiffness += s.lengths[i] * s.lengths[i] * adj_ret;"
    "atomicAdd(&adj_s.lengths[i], 2.0f * s.stiffness * s.lengths[i] * adj_ret);",
)
def energy(s: Spring, i: int) -> float: ...


@wp.kernel
def energies(s: Spring, k: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    mine = s
    mine.stiffness = k[i]
    out[i] = energy(mine, i)


@compiled
@DEVICES
def test_structs_give_cotangents_of_fields_and_lend_gradients_of_their_arrays(device):
    lengths, k = leaf([2.0, 3.0], device), leaf([5.0, 7.0], device)
    [slopes] = gradients(energies, 2, [Spring(lengths=lengths), k], leaf([0.0, 0.0], device), device)
    assert slopes.tolist() == [4.0, 18.0]
    assert lengths.grad.numpy().tolist() == [2.0 * 5.0 * 2.0, 2.0 * 2.0 * 7.0 * 3.0]


@wp.func_native(
    "return table[i % 4] * x;", "atomicAdd(&adj_table[i % 4], x * adj_ret); adj_x += table[i % 4] * adj_ret;"
)
def weighted(table: wp.array(dtype=wp.float64), i: int, x: wp.float64) -> wp.float64: ...


@wp.kernel
def weights(table: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = weighted(table, i, x[i]) * weighted(table, i + 1, x[i])


@compiled
def test_threads_that_share_gradients_add_with_atomics():
    n, before = 40000, get_pool().threads
    table, x = leaf(np.arange(1.0, 5.0), None, wp.float64), leaf(np.ones(n), None, wp.float64)
    out = leaf(np.zeros(n), None, wp.float64)
    wp.set_num_threads(4)
    try:
        slopes = gradients(weights, n, [table, x], out, None)
    finally:
        wp.set_num_threads(before)
    seed, t, i = np.arange(1.0, n + 1.0), np.arange(1.0, 5.0), np.arange(n)
    expected = [(seed * (t[(i + 1) % 4] * (i % 4 == k) + t[i % 4] * ((i + 1) % 4 == k))).sum() for k in range(4)]
    assert slopes[0].tolist() == expected
    np.testing.assert_array_equal(slopes[1], 2.0 * seed * t[i % 4] * t[(i + 1) % 4])


@wp.func_native("x[i] = y[i] * y[i];")
def squares(i: int, x: wp.array(dtype=float), y: wp.array(dtype=float)): ...


@wp.kernel
def through_arrays(y: wp.array(dtype=float), x: wp.array(dtype=float)):
    squares(wp.tid(), x, y)


@wp.func_native("return x * x;")
def square(x: float) -> float: ...


@wp.kernel
def through_values(y: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = square(y[i])


@compiled
@pytest.mark.parametrize("kernel, name", [(through_arrays, "squares"), (through_values, "square")])
@DEVICES
def test_without_a_derivative_it_is_refused(kernel, name, device):
    y, x = leaf([1.0, 2.0], device), leaf([0.0, 0.0], device)
    with pytest.raises(NotDifferentiableError) as caught:
        gradients(kernel, 2, [y], x, device)
    assert str(caught.value).startswith(f"the snippet of native function {name!r} has no derivative\n  --> ")
    assert str(caught.value).endswith("help: give func_native an adj_snippet")
    constant = wp.array([1.0, 2.0], dtype=float, device=device)
    wp.launch(kernel, dim=2, inputs=[constant, x], device=device)
    assert x.numpy().tolist() == [1.0, 4.0]


@wp.func_native("int mine = atomicAdd(counter, 1); places[i] = mine; return mine;", replay_snippet="return places[i];")
def claim(counter: wp.array(dtype=int), places: wp.array(dtype=int), i: int) -> int: ...


@wp.func_native("int mine = atomicAdd(counter, 1); places[i] = mine; return mine;")
def claim_once(counter: wp.array(dtype=int), places: wp.array(dtype=int), i: int) -> int: ...


@wp.kernel
def by_claim(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), places: wp.array(dtype=int), out: wp.array(dtype=float)
):
    at = claim(counter, places, wp.tid())
    out[at] = x[at] * x[at]


@wp.kernel
def by_lost_claim(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), places: wp.array(dtype=int), out: wp.array(dtype=float)
):
    at = claim_once(counter, places, wp.tid())
    out[at] = x[at] * x[at]


@wp.kernel
def by_stored_claim(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), places: wp.array(dtype=int), out: wp.array(dtype=float)
):
    claim_once(counter, places, wp.tid())
    at = places[wp.tid()]
    out[at] = x[at] * x[at]


def counters(device):
    return wp.zeros(1, dtype=int, device=device), wp.zeros(3, dtype=int, device=device)


@compiled
@pytest.mark.parametrize("kernel", [by_claim, by_stored_claim])
@DEVICES
def test_the_reverse_finds_again_what_the_text_returned(kernel, device):
    counter, places = counters(device)
    x, out = leaf([1.0, 2.0, 3.0], device), leaf([0.0] * 3, device)
    [slopes] = gradients(kernel, 3, [x, counter, places], out, device)
    assert slopes.tolist() == [2.0, 8.0, 18.0]
    assert counter.numpy().tolist() == [3]


@compiled
@DEVICES
def test_a_returned_value_that_cannot_be_found_again_is_refused(device):
    counter, places = counters(device)
    x, out = leaf([1.0, 2.0, 3.0], device), leaf([0.0] * 3, device)
    with pytest.raises(NotDifferentiableError) as caught:
        gradients(by_lost_claim, 3, [x, counter, places], out, device)
    assert str(caught.value).startswith("the gradient needs what native function 'claim_once' returned\n  --> ")
    assert str(caught.value).endswith(
        "help: give func_native a replay_snippet that finds it in what the launch left in the arrays"
    )


@wp.func_native("return x[i] * x[i];", "adj_x[i] += 2.0f * x[i] * adj_ret;")
def squared(x: wp.array(dtype=float), i: int) -> float: ...


@wp.kernel
def kept(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = squared(x, i)
    out[i] = s * s


@wp.kernel
def overwritten(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = squared(x, i)
    out[i] = s * s
    x[i] = 0.0


@compiled
@DEVICES
def test_a_text_that_reads_runs_again_where_its_arrays_still_hold_what_they_held(device):
    x, out = leaf([1.0, 2.0], device), leaf([0.0, 0.0], device)
    [slopes] = gradients(kept, 2, [x], out, device)
    assert slopes.tolist() == [4.0, 2.0 * 32.0]
    with pytest.raises(NotDifferentiableError):
        gradients(overwritten, 2, [leaf([1.0, 2.0], device)], leaf([0.0, 0.0], device), device)


@pytest.mark.not_for_cuda("must be a modifiable lvalue")
@compiled
@DEVICES
def test_an_adjoint_text_may_change_gradients_only(device):
    @wp.func_native("out[i] = x[i];", "x[i] += adj_out[i];")
    def careless(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...

    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        careless(x, out, wp.tid())

    with pytest.raises(NativeCodeError, match="the adj_snippet of native function 'careless' does not compile"):
        gradients(k, 2, [leaf([1.0, 2.0], device)], leaf([0.0, 0.0], device), device)


@pytest.mark.not_for_cuda('identifier "adj_y" is undefined')
@compiled
def test_unknown_names_in_an_adjoint_text_are_compile_errors():
    @wp.func_native("return x;", "adj_y += adj_ret;")
    def f(x: float) -> float: ...

    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[wp.tid()] = f(x[wp.tid()])

    with pytest.raises(NativeCodeError, match=r"f\.adj_snippet:1:1: error: .*adj_y"):
        gradients(k, 2, [leaf([1.0, 2.0], None)], leaf([0.0, 0.0], None), None)


@wp.kernel
def slope_in_kernel(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.grad(line)(x[i], 3.0, 0.0)[1]


@compiled
@DEVICES
def test_the_derivative_inside_a_kernel(device):
    x, out = wp.array([1.0, 5.0], dtype=float, device=device), wp.zeros(2, dtype=float, device=device)
    wp.launch(slope_in_kernel, dim=2, inputs=[x, out], device=device)
    assert out.numpy().tolist() == [1.0, 5.0]


# ----- derivatives of derivatives ---------------------------------------------------------------------


@wp.kernel
def stretch_all(
    m: wp.array(dtype=wp.mat33d),
    v: wp.array(dtype=wp.vec3d),
    s: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    out[i] = stretched(m[i], v[i] * v[i][0], s[i])


def along(chosen, parts, tangents):
    """Values and tangents of `out` of `stretch_all` along tangents of the chosen parameters."""
    types = tuple(stretch_all.patterns.values())
    fn = inline(stretch_all.lower(types), keep_gradients=True)
    slots = chosen_floats(fn.params, [*chosen, "out"])
    made = tangent(fn, slots)
    hosts = [HostArray(p, t) for p, t in zip([*parts, np.zeros((1, 3))], types, strict=True)]
    moving = [HostArray(p, t) for p, t in zip([*tangents, np.zeros((1, 3))], slots.values(), strict=True)]
    machine = Interpreter(False)
    machine.thread = (0,)
    machine.run(made.body, [*hosts, *moving])
    return hosts[-1].data, moving[-1].data


@compiled
def test_tangents_follow_from_the_adjoint_text():
    random = np.random.default_rng(11)
    parts = [random.normal(size=(1, 3, 3)), random.normal(size=(1, 3)), random.normal(size=1)]
    steps = [random.normal(size=p.shape) for p in parts]
    value, slope = along(("m", "v", "s"), parts, steps)
    ends = [along((), [p + h * d for p, d in zip(parts, steps, strict=True)], [])[0] for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-7)
    m, v, s = parts
    np.testing.assert_allclose(value[0], m[0] @ v[0] * v[0, 0] * s[0])


@compiled
def test_a_second_derivative_is_refused():
    @wp.func
    def slope(x: float):
        return wp.grad(line)(x, 3.0, 0.0)[1]

    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[wp.tid()] = slope(x[wp.tid()])

    with pytest.raises(NotDifferentiableError, match="the adj_snippet of native function 'line' has no derivative"):
        gradients(k, 2, [leaf([1.0, 2.0], None)], leaf([0.0, 0.0], None), None)


# ----- arrays that change around the call -----------------------------------------------------------------


@wp.kernel
def read_then_changed(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = squared(x, i)
    x[i] = 0.0


@wp.kernel
def result_changed(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    product(1.0, x, y, out, i)
    out[i] = 5.0 * out[i]
    product(2.0, x, y, out, i + 2)


@compiled
@DEVICES
def test_an_adjoint_text_sees_what_the_text_saw_or_is_refused(device):
    with pytest.raises(NotDifferentiableError, match="gradient of 'squared' looks at 'x', which the kernel changes"):
        gradients(read_then_changed, 2, [leaf([1.0, 2.0], device)], leaf([0.0, 0.0], device), device)
    x, y, out = leaf([1.0, 2.0, 3.0, 4.0], device), leaf([5.0, 6.0, 7.0, 8.0], device), leaf([0.0] * 4, device)
    slopes = gradients(result_changed, 2, [x, y], out, device)
    assert out.numpy().tolist() == [25.0, 60.0, 42.0, 64.0]
    assert [s.tolist() for s in slopes] == [[25.0, 60.0, 42.0, 64.0], [5.0, 20.0, 18.0, 32.0]]
