"""Components in vector registers: vectors that are taken apart and packed again stay as they are, and unused lanes are
not emitted."""

import numpy as np
import pytest
from llvmlite import binding
from llvmlite import ir as ll

import warpsim as wp
from warpsim.core.ops.values import drop_unused_lanes, pack, unpack

FOUR = ll.VectorType(ll.FloatType(), 4)


@pytest.fixture
def body():
    """A function of two vectors and a scalar, and the builder of its only block."""
    module = ll.Module()
    function = ll.Function(module, ll.FunctionType(FOUR, [FOUR, FOUR, ll.FloatType()]), "f")
    return function, ll.IRBuilder(function.append_basic_block())


def test_lanes_in_order_are_their_vector(body):
    function, b = body
    whole, other, _ = function.args
    lanes, others = unpack(b, whole), unpack(b, other)
    assert pack(b, lanes) is whole
    for flat in (lanes[::-1], [*lanes[:3], others[3]], [lanes[1], lanes[1], lanes[2], lanes[3]], lanes[:2]):
        again = pack(b, flat)
        assert again is not whole and again.type.count == len(flat)


def test_what_is_used_is_emitted_and_nothing_else(body):
    function, b = body
    whole, other, x = function.args
    b.ret(b.fadd(pack(b, [unpack(b, whole)[2]] * 4), b.fmul(pack(b, unpack(b, other)), pack(b, [x] * 4))))
    drop_unused_lanes(function)
    text = str(function)
    assert text.count("extractelement") == 1 and text.count("insertelement") == 2
    binding.parse_assembly(str(function.module)).verify()


@wp.kernel
def decay(m: wp.array[wp.mat44], rate: wp.array[float], out: wp.array[wp.mat44], rounds: wp.array[int]):
    i = wp.tid()
    a = m[i]
    k = int(0)
    while wp.ddot(a, a) > 1.0:
        a = rate[i] * a + 0.1 * wp.transpose(a)
        if a[0, 1] > 0.5:
            a = a - a * 0.25
        k += 1
    out[i] = a
    rounds[i] = k


def test_matrices_in_loops_are_those_of_the_interpreter():
    rng = np.random.default_rng(0)
    m, rate = rng.normal(size=(40, 4, 4)).astype(np.float32), rng.uniform(0.1, 0.6, 40).astype(np.float32)
    results = {}
    for device in ("cpu", "interp"):
        out, rounds = wp.zeros(40, dtype=wp.mat44, device=device), wp.zeros(40, dtype=int, device=device)
        inputs = [wp.array(m, dtype=wp.mat44, device=device), wp.array(rate, dtype=float, device=device), out, rounds]
        wp.launch(decay, 40, inputs, device=device)
        results[device] = out.numpy(), rounds.numpy()
    assert (results["cpu"][1] == results["interp"][1]).all() and results["cpu"][1].max() > 2
    np.testing.assert_allclose(results["cpu"][0], results["interp"][0], rtol=2e-6, atol=2e-6)
