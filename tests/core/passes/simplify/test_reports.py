"""`config.verify_fp`: what kernels write and is not finite is printed, with its element, number, thread and place."""

import re

import numpy as np
import pytest

import warpsim as wp

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])


@pytest.fixture
def reports(monkeypatch, capfd):
    """What launches printed since it was asked last, line by line."""
    monkeypatch.setattr(wp.config, "verify_fp", True)
    monkeypatch.setattr(wp.config, "check_numbers", False)  # the interpreter goes on where NaN is made

    def printed():
        wp.synchronize()
        lines = capfd.readouterr().out.splitlines()
        assert all(__file__ in line for line in lines)
        return [line.split(" at ")[0] for line in lines]

    return printed


@wp.struct
class Part:
    mass: float
    count: int
    speed: wp.vec2


@wp.kernel
def inverse(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = 1.0 / x[i]


@wp.kernel
def in_cells(x: wp.array2d[float], m: wp.array2d[wp.mat22], sums: wp.array[float]):
    i, j = wp.tid()
    m[i, j] = wp.mat22(x[i, j], 1.0, 2.0, 3.0)
    wp.atomic_add(sums, i, x[i, j])


@wp.kernel
def in_structs(x: wp.array[float], parts: wp.array[Part], holder: wp.array[wp.vec2]):
    i = wp.tid()
    p = Part()
    p.mass, p.count, p.speed = x[i], 3, wp.vec2(x[i], 1.0)
    parts[i] = p
    holder[i][1] = x[i]


@wp.kernel
def locals_only(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    kept = wp.zeros(2, dtype=float)
    kept[0] = 1.0 / x[i]
    if wp.isfinite(kept[0]):
        out[i] = kept[0]


@wp.kernel
def without_threads(x: wp.array[float]):
    x[0] = x[0] * 2.0


@wp.kernel
def root(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = wp.sqrt(x[i])


@DEVICES
def test_elements_numbers_and_threads(reports, device):
    x = wp.array([1.0, 0.0, 2.0, -0.0, wp.nan], dtype=float, device=device)
    out = wp.zeros_like(x)
    wp.launch(inverse, 5, inputs=[x], outputs=[out], device=device)
    first, second, third = reports()
    assert first == "out[1] = inf, written by thread 1 of kernel inverse"
    assert second == "out[3] = -inf, written by thread 3 of kernel inverse"
    assert third.replace("-nan", "nan") == "out[4] = nan, written by thread 4 of kernel inverse"
    np.testing.assert_array_equal(out.numpy(), np.float32([1, np.inf, 0.5, -np.inf, np.nan]))


@DEVICES
def test_the_line_that_writes_is_named(monkeypatch, capfd, device):
    monkeypatch.setattr(wp.config, "verify_fp", True)
    x = wp.zeros(1, device=device)
    wp.launch(inverse, 1, inputs=[x], outputs=[wp.zeros(1, device=device)], device=device)
    wp.synchronize()
    line = inverse.function.__code__.co_firstlineno + 3
    assert capfd.readouterr().out.rstrip().endswith(f"{__file__}:{line}:5")


@DEVICES
def test_matrices_sums_and_structs(reports, device):
    x = wp.array([[1.0, wp.inf]], dtype=float, device=device)
    m, sums = wp.zeros((1, 2), dtype=wp.mat22, device=device), wp.zeros(1, device=device)
    wp.launch(in_cells, (1, 2), inputs=[x], outputs=[m, sums], device=device)
    by = "written by thread (0, 1) of kernel in_cells"
    assert sorted(reports()) == [f"m[0, 1] = [[inf 1] [2 3]], {by}", f"sums[0] = inf, {by}"]
    parts, holder = wp.zeros(2, dtype=Part, device=device), wp.zeros(2, dtype=wp.vec2, device=device)
    wp.launch(in_structs, 2, inputs=[x.flatten()], outputs=[parts, holder], device=device)
    lines = reports()
    assert [line.split(",")[0] for line in lines[:2]] == ["parts[1].mass = inf", "parts[1].speed = [inf 1]"]
    assert len(lines) == 3 and "holder" in lines[2] and "inf" in lines[2]


@DEVICES
def test_locals_and_finite_numbers_are_no_matter(reports, device):
    x, out = wp.array([0.0, 4.0], dtype=float, device=device), wp.zeros(2, device=device)
    wp.launch(locals_only, 2, inputs=[x], outputs=[out], device=device)
    wp.launch(inverse, 2, inputs=[wp.ones(2, device=device)], outputs=[out], device=device)
    wp.launch(inverse, 0, inputs=[x], outputs=[out], device=device)
    assert reports() == []


@DEVICES
def test_kernels_that_never_ask_for_their_thread(reports, device):
    wp.launch(without_threads, 1, inputs=[wp.array([wp.inf], dtype=float, device=device)], device=device)
    assert reports() == ["x[0] = inf, written by kernel without_threads"]


@DEVICES
def test_gradients_are_looked_at(reports, device):
    x = wp.array([4.0, 0.0], dtype=float, requires_grad=True, device=device)
    out = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(root, 2, inputs=[x], outputs=[out], device=device)
    assert reports() == []
    tape.backward(grads={out: wp.ones(2, device=device)})
    (line,) = reports()
    assert line == "x.grad[1] = inf, written by thread 1 of kernel adj_root"
    np.testing.assert_array_equal(x.grad.numpy(), [0.25, np.inf])


def test_the_switch_counts_at_each_launch(reports):
    x, out = wp.zeros(1), wp.zeros(1)
    for on in (False, True, False):
        wp.config.verify_fp = on
        wp.launch(inverse, 1, inputs=[x], outputs=[out])
        assert len(reports()) == on


def test_fast_mathematics_sees_what_is_not_finite(reports):
    fast = wp.kernel(inverse.function, fast_math=True)
    wp.launch(fast, 1, inputs=[wp.zeros(1)], outputs=[wp.zeros(1)])
    assert len(reports()) == 1


@wp.kernel
def pile(x: wp.array[float], parts: wp.array[Part], total: wp.array[wp.vec2], sums: wp.array[float]):
    i = wp.tid()
    parts[0].mass += x[i]
    parts[0].speed[1] -= x[i]
    total[1] += wp.vec2(x[i], 1.0)
    wp.atomic_add(sums, i, x[i])
    wp.atomic_max(sums, 2, x[i])


@DEVICES
def test_sums_that_overflow_in_memory(reports, device):
    x = wp.full(2, 3.0e38, dtype=float, device=device)
    arrays = (
        wp.zeros(1, dtype=Part, device=device),
        wp.zeros(2, dtype=wp.vec2, device=device),
        wp.zeros(3, device=device),
    )
    wp.launch(pile, 2, inputs=[x, *arrays], device=device)
    lines = sorted(re.sub(r"thread \d", "a thread", line) for line in reports())  # whichever was second
    by = "written by a thread of kernel pile"
    assert lines == [f"parts[0].mass = inf, {by}", f"parts[0].speed[1] = -inf, {by}", f"total[1] = [inf 2], {by}"]
    wp.launch(pile, 1, inputs=[x, *arrays], device=device)
    assert [line.split(",")[0] for line in reports()] == ["sums[0] = inf"]  # the others were infinite before
    np.testing.assert_array_equal(arrays[1].numpy(), [[0.0, 0.0], [np.inf, 3.0]])


@DEVICES
def test_gradients_that_overflow_in_memory(reports, device):
    @wp.kernel
    def gather(x: wp.array[float], out: wp.array[float]):
        out[wp.tid()] = 2.0 * x[0]

    x, out = wp.zeros(1, requires_grad=True, device=device), wp.zeros(2, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(gather, 2, inputs=[x], outputs=[out], device=device)
    tape.backward(grads={out: wp.full(2, 1.5e38, dtype=float, device=device)})
    (line,) = reports()
    assert line.startswith("x.grad[0] = inf, written by thread ")


@pytest.mark.parametrize(("dtype", "large"), [(wp.float16, 6.0e4), (wp.float32, 3.0e38), (wp.float64, 1.7e308)])
@DEVICES
def test_every_precision_overflows_at_its_own_size(reports, device, dtype, large):
    @wp.kernel
    def twice(out: wp.array[dtype]):
        wp.atomic_add(out, 0, out.dtype(large))
        wp.atomic_add(out, 0, out.dtype(large))

    wp.launch(twice, 1, inputs=[wp.zeros(1, dtype=dtype, device=device)], device=device)
    assert [line.split(",")[0] for line in reports()] == ["out[0] = inf"]
