"""`wp.cast`, the row `reinterpret`: the bits of a value as another type, against NumPy's views of memory."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelTypeError


@wp.struct
class Pair:
    f: wp.float16
    i: wp.int16


@wp.struct
class Padded:
    on: wp.bool
    x: wp.float32
    n: wp.int64


def kernel_for(source, to):
    @wp.kernel(module="unique")
    def cast(x: wp.array(dtype=source), y: wp.array(dtype=to)):
        i = wp.tid()
        y[i] = wp.cast(x[i], to)

    return cast


PAIRS = [(wp.float32, wp.int32), (wp.uint64, wp.float64), (wp.float16, wp.int16), (wp.bfloat16, wp.uint16)]
PAIRS += [(wp.int16, wp.bfloat16), (wp.vec2, wp.float64), (wp.int64, wp.vec4h), (wp.mat22, wp.vec4i)]
PAIRS += [(wp.vec4ub, wp.uint32), (wp.quatd, wp.mat22d), (wp.bool, wp.uint8), (wp.vec3d, wp.types.vector(6, wp.uint32))]
PAIRS += [(Pair, wp.int32), (wp.vec2h, Pair), (wp.vec2d, Padded)]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("source, to", PAIRS, ids=lambda t: t.__name__)
def test_bits_stay(source, to, device):
    n, size = 20, wp.types.type_size_in_bytes(source)
    bits = np.random.default_rng(3).integers(0, 60, (n, size), np.uint8)  # floats of them are numbers
    if source is wp.bool or to is Padded:
        bits[:, 0] %= 2
    if to is Padded:
        bits[:, 1:4] = 0
    dtypes = [wp.zeros(1, dtype=t).numpy().dtype for t in (source, to)]
    x, y = wp.zeros(n, dtype=source), wp.zeros(n, dtype=to)
    x.assign(bits.view(dtypes[0]).reshape(x.numpy().shape))
    wp.launch(kernel_for(source, to), n, inputs=[x, y], device=device)
    assert y.numpy().tobytes() == bits.tobytes()


@wp.kernel
def as_the_guide_says(f: wp.array(dtype=float), i: wp.array(dtype=int)):
    f[0] = wp.cast(wp.int32(0x40000000), wp.float32)
    f[1] = wp.cast(0x3FA00000, float)
    i[0] = wp.cast(Pair(wp.float16(2.0), wp.int16(4096)), dtype=wp.int32)
    i[1] = wp.cast(a=1.0, dtype=int)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_literals_and_keywords(device):
    f, i = wp.zeros(2, dtype=float), wp.zeros(2, dtype=int)
    wp.launch(as_the_guide_says, 1, inputs=[f, i], device=device)
    assert f.numpy().tolist() == [2.0, 1.25]
    assert i.numpy().tolist() == [0x10004000, 0x3F800000]


@pytest.mark.not_for_cuda("of equal size")
@pytest.mark.parametrize("source, to", [(wp.float32, wp.float64), (wp.vec3, wp.vec4), (wp.int32, wp.array(dtype=int))])
def test_other_sizes_are_refused(source, to):
    @wp.kernel(module="unique")
    def wrong(x: wp.array(dtype=source)):
        wp.cast(x[0], to)

    with pytest.raises(KernelTypeError, match="of equal size"):
        wp.launch(wrong, 1, inputs=[wp.zeros(1, dtype=source)])


@wp.kernel
def scaled_by_bits(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * wp.cast(wp.cast(x[i], wp.int32), wp.float32)


def test_gradients_stop_at_bits():
    x, y = (wp.array([1.0, 2.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(scaled_by_bits, 2, inputs=[x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert x.grad.numpy().tolist() == [1.0, 2.0]


def test_bits_on_the_host():
    assert wp.cast(1.0, int) == 0x3F800000 and wp.cast(0x3F800000, float) == 1.0
    assert wp.cast(wp.float64(-0.0), wp.uint64) == wp.uint64(1 << 63)
    assert wp.cast(wp.vec2(1.0, 2.0), wp.uint64) == wp.uint64(0x400000003F800000)
    assert wp.cast(wp.uint32(0x04030201), wp.vec4ub) == wp.vec4ub(1, 2, 3, 4)
    with pytest.raises(KernelTypeError, match="no overload"):
        wp.cast(1.0, wp.float64)
