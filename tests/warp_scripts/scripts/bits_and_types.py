"""Integer types, shifts, hashing, half and double precision, casts, bools, enums of ints, prints."""

from enum import IntEnum

import numpy as np

import warp as wp


class Mode(IntEnum):
    ADD = 0
    XOR = 1
    ROTATE = 2


MASK = wp.constant(wp.uint32(0xFFFF))
BIG = wp.constant(wp.uint64(0x9E3779B97F4A7C15))


@wp.func
def part_1_by_2(n: wp.uint32):
    n = (n ^ (n << wp.uint32(16))) & wp.uint32(0xFF0000FF)
    n = (n ^ (n << wp.uint32(8))) & wp.uint32(0x0300F00F)
    n = (n ^ (n << wp.uint32(4))) & wp.uint32(0x030C30C3)
    n = (n ^ (n << wp.uint32(2))) & wp.uint32(0x09249249)
    return n


@wp.kernel
def morton(p: wp.array(dtype=wp.vec3i), codes: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    x = part_1_by_2(wp.uint32(p[i][0]))
    y = part_1_by_2(wp.uint32(p[i][1]))
    z = part_1_by_2(wp.uint32(p[i].z))
    codes[i] = x | (y << wp.uint32(1)) | (z << wp.uint32(2))


@wp.kernel
def splitmix(seed: wp.uint64, out: wp.array(dtype=wp.uint64), bits: wp.array(dtype=wp.int32)):
    i = wp.tid()
    z = seed + BIG * wp.uint64(i + 1)
    z = (z ^ (z >> wp.uint64(30))) * wp.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> wp.uint64(27))) * wp.uint64(0x94D049BB133111EB)
    z = z ^ (z >> wp.uint64(31))
    out[i] = z
    n = int(0)
    w = z
    while w != wp.uint64(0):
        w &= w - wp.uint64(1)
        n += 1
    bits[i] = n


@wp.kernel
def modes(a: wp.array(dtype=wp.uint32), mode: int, out: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    v = a[i]
    if mode == wp.static(int(Mode.ADD)):
        v += wp.uint32(7)
    elif mode == int(Mode.XOR):
        v = v ^ MASK
    else:
        v = (v << wp.uint32(5)) | (v >> wp.uint32(27))
    out[i] = ~v


@wp.kernel
def integer_arithmetic(a: wp.array(dtype=wp.int32), b: wp.array(dtype=wp.int32), out: wp.array2d(dtype=wp.int32)):
    i = wp.tid()
    out[i, 0] = a[i] / b[i]
    out[i, 1] = a[i] % b[i]
    out[i, 2] = a[i] // b[i]
    out[i, 3] = wp.abs(a[i]) * wp.sign(b[i])
    out[i, 4] = int(float(a[i]) / float(b[i]))
    out[i, 5] = int(wp.round(float(a[i]) / float(b[i])))
    out[i, 6] = wp.where(a[i] > b[i] and b[i] != -3, 1, 0)
    out[i, 7] = int(a[i] < 0) + int(not (b[i] < 0))


@wp.kernel
def small_types(x: wp.array(dtype=wp.int8), y: wp.array(dtype=wp.uint8), z: wp.array(dtype=wp.int16)):
    i = wp.tid()
    z[i] = wp.int16(x[i]) * wp.int16(y[i])
    x[i] = x[i] + wp.int8(100)
    y[i] = y[i] - wp.uint8(1)


@wp.kernel
def halves(h: wp.array(dtype=wp.float16), hv: wp.array(dtype=wp.vec3h), d: wp.array(dtype=wp.float64)):
    i = wp.tid()
    s = h[i] * wp.float16(0.5) + wp.float16(1.0)
    h[i] = wp.sqrt(s)
    hv[i] = wp.vec3h(s, s, s) * s
    d[i] = wp.exp(wp.float64(s)) + wp.dot(wp.vec3d(1.0, 2.0, 3.0), wp.vec3d(hv[i]))


@wp.kernel
def show(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec2i)):
    i = wp.tid()
    if i == 1:
        print(x[i])
        print(int(i) + 41)
        wp.printf("x[%d] = %.3f, v = (%d %d)\n", i, x[i], v[i][0], v[i][1])
        print("done")


rng = np.random.default_rng(1)
p = wp.array(rng.integers(0, 1024, (6, 3)), dtype=wp.vec3i)
codes = wp.zeros(6, dtype=wp.uint32)
wp.launch(morton, dim=6, inputs=[p], outputs=[codes])
print("morton", codes.numpy().tolist())
out, bits = wp.zeros(4, dtype=wp.uint64), wp.zeros(4, dtype=wp.int32)
wp.launch(splitmix, dim=4, inputs=[wp.uint64(12345), out, bits])
print("splitmix", [hex(v) for v in out.numpy()], bits.numpy())
a = wp.array([1, 0x80000000, 0xDEADBEEF], dtype=wp.uint32)
for mode in Mode:
    r = wp.zeros(3, dtype=wp.uint32)
    wp.launch(modes, dim=3, inputs=[a, int(mode), r])
    print(mode.name, r.numpy())
n, m = wp.array([7, -7, 7, -7, 9], dtype=int), wp.array([2, 2, -2, -2, -3], dtype=int)
res = wp.zeros((5, 8), dtype=int)
wp.launch(integer_arithmetic, dim=5, inputs=[n, m, res])
print(res.numpy().tolist())
x, y = wp.array([100, -100, 5], dtype=wp.int8), wp.array([0, 200, 255], dtype=wp.uint8)
z = wp.zeros(3, dtype=wp.int16)
wp.launch(small_types, dim=3, inputs=[x, y, z])
print(x.numpy(), y.numpy(), z.numpy())
h = wp.array([0.1, 2.0, 1000.0], dtype=wp.float16)
hv, d = wp.zeros(3, dtype=wp.vec3h), wp.zeros(3, dtype=wp.float64)
wp.launch(halves, dim=3, inputs=[h, hv, d])
print(h.numpy(), hv.numpy().tolist(), d.numpy()[:2])
wp.launch(
    show, dim=3, inputs=[wp.array([0.5, 1.25, 2.0], dtype=float), wp.array([[1, 2], [3, 4], [5, 6]], dtype=wp.vec2i)]
)
wp.synchronize()
print(
    wp.float32(2.5), float(wp.float64(0.1)), int(wp.int8(5)), wp.vec2i(3, 4) + wp.vec2i(1, 1), -wp.vec3h(1.0, 2.0, 3.0)
)
print(
    wp.types.type_size_in_bytes(wp.vec3),
    wp.types.type_size_in_bytes(wp.mat44d),
    wp.dtype_from_numpy(np.dtype("int16")) is wp.int16,
)
