"""A discrete cosine transform and an FFT in plain kernels; kernels specialised by wp.static; modules and options."""

import math

import numpy as np

import warp as wp

wp.set_module_options({"enable_backward": False, "fast_math": False})
N = 64
LOG = int(math.log2(N))


def bit_reverse(n, bits):
    return int(f"{n:0{bits}b}"[::-1], 2)


TABLE = [bit_reverse(i, LOG) for i in range(N)]


@wp.func
def cmul(a: wp.vec2, b: wp.vec2) -> wp.vec2:
    return wp.vec2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


@wp.kernel
def permute(src: wp.array(dtype=wp.vec2), table: wp.array(dtype=wp.int32), dst: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    dst[i] = src[table[i]]


def create_stage(stage: int, inverse: bool):
    half = 1 << stage
    sign = 1.0 if inverse else -1.0

    @wp.kernel
    def butterfly(x: wp.array(dtype=wp.vec2)):
        t = wp.tid()
        group = t // wp.static(half)
        k = t % wp.static(half)
        i = group * wp.static(2 * half) + k
        j = i + wp.static(half)
        angle = wp.static(sign * math.pi / half) * float(k)
        w = wp.vec2(wp.cos(angle), wp.sin(angle))
        u = x[i]
        v = cmul(w, x[j])
        x[i] = u + v
        x[j] = u - v

    return butterfly


FORWARD = [create_stage(s, False) for s in range(LOG)]
BACKWARD = [create_stage(s, True) for s in range(LOG)]
table = wp.array(TABLE, dtype=wp.int32)


def fft(x, stages):
    y = wp.empty_like(x)
    wp.launch(permute, dim=N, inputs=[x, table], outputs=[y])
    for kernel in stages:
        wp.launch(kernel, dim=N // 2, inputs=[y])
    return y


@wp.kernel(enable_backward=False)
def dct(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    k = wp.tid()
    n = x.shape[0]
    s = wp.float64(0.0)
    for i in range(n):
        s += x[i] * wp.cos(wp.float64(wp.pi) * (wp.float64(i) + wp.float64(0.5)) * wp.float64(k) / wp.float64(n))
    out[k] = s


@wp.kernel
def derivative(x: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    k = wp.where(i < wp.static(N // 2), i, i - wp.static(N))
    if i == wp.static(N // 2):
        k = 0
    out[i] = wp.vec2(-x[i][1], x[i][0]) * float(k)


FUNCTIONS = {"sin": wp.sin, "tanh": wp.tanh, "cbrt": wp.cbrt}


def make(name, poly):
    @wp.func
    def horner(x: float):
        r = float(0.0)
        for i in range(wp.static(len(poly))):
            r = r * x + wp.static(poly[i])
        return r

    @wp.kernel(module="unique")
    def evaluate(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        if wp.static(name == "sin"):
            y[i] = horner(wp.sin(x[i]))
        else:
            y[i] = wp.static(FUNCTIONS[name])(horner(x[i]))

    return evaluate


t = np.arange(N) * 2 * np.pi / N
signal = np.sin(3 * t) + 0.5 * np.cos(7 * t) + 0.1
x = wp.array(np.stack([signal, np.zeros(N)], axis=1), dtype=wp.vec2)
f = fft(x, FORWARD)
ours = f.numpy()[:, 0] + 1j * f.numpy()[:, 1]
print("fft agrees", np.allclose(ours, np.fft.fft(signal), atol=1e-4), "peaks", np.abs(ours)[[0, 3, 7, 61]].round(3))
df = wp.zeros_like(f)
wp.launch(derivative, dim=N, inputs=[f], outputs=[df])
d = fft(df, BACKWARD).numpy()[:, 0] / N
print("derivative", np.abs(d - (3 * np.cos(3 * t) - 3.5 * np.sin(7 * t))).max() < 1e-4, d[:3].round(4))
back = fft(f, BACKWARD).numpy() / N
print("round trip", np.abs(back[:, 0] - signal).max() < 1e-5)
c = wp.zeros(N, dtype=wp.float64)
wp.launch(dct, dim=N, inputs=[wp.array(signal, dtype=wp.float64), c])
print("dct", c.numpy()[:5], np.abs(c.numpy()).sum())
xs = wp.array(np.linspace(-1, 1, 5), dtype=wp.float32)
for name in FUNCTIONS:
    for poly in ([1.0, 2.0], [0.5, 0.0, -1.0]):
        ys = wp.zeros(5, dtype=float)
        wp.launch(make(name, poly), dim=5, inputs=[xs], outputs=[ys])
        print(name, len(poly), ys.numpy())
options = wp.get_module_options()
print(options["enable_backward"], options["fast_math"], permute.key, type(permute.module.name).__name__)
wp.load_module(device="cpu")
wp.force_load()
