"""Wave equation on a grid with clamped edges, diffusion with a function that samples, and graph capture."""

import numpy as np

import warp as wp

wp.config.quiet = True
wp.init()

WIDTH = wp.constant(48)
HEIGHT = wp.constant(40)


@wp.func
def sample(f: wp.array2d(dtype=float), x: int, y: int):
    x = wp.clamp(x, 0, WIDTH - 1)
    y = wp.clamp(y, 0, HEIGHT - 1)
    return f[y, x]


@wp.func
def laplacian(f: wp.array2d(dtype=float), x: int, y: int):
    ddx = sample(f, x + 1, y) - 2.0 * sample(f, x, y) + sample(f, x - 1, y)
    ddy = sample(f, x, y + 1) - 2.0 * sample(f, x, y) + sample(f, x, y - 1)
    return ddx + ddy


@wp.kernel
def wave_displace(
    hcurrent: wp.array2d(dtype=float),
    hprevious: wp.array2d(dtype=float),
    center_x: float,
    center_y: float,
    r: float,
    mag: float,
    t: float,
):
    y, x = wp.tid()
    dx = float(x) - center_x
    dy = float(y) - center_y
    if dx * dx + dy * dy < r * r:
        h = mag * wp.sin(t)
        hcurrent[y, x] = h
        hprevious[y, x] = h


@wp.kernel
def wave_solve(
    hprevious: wp.array2d(dtype=float),
    hcurrent: wp.array2d(dtype=float),
    inv_cell: float,
    k_speed: float,
    k_damp: float,
    dt: float,
):
    y, x = wp.tid()
    l = laplacian(hcurrent, x, y) * inv_cell * inv_cell
    h1 = hcurrent[y, x]
    h0 = hprevious[y, x]
    h = 2.0 * h1 - h0 + dt * dt * (k_speed * l - k_damp * (h1 - h0))
    hprevious[y, x] = h


@wp.kernel
def diffuse(src: wp.array(dtype=float, ndim=2), dst: wp.array(dtype=float, ndim=2), rate: float):
    i, j = wp.tid()
    if i == 0 or j == 0 or i == src.shape[0] - 1 or j == src.shape[1] - 1:
        dst[i, j] = 0.0
        return
    s = src[i - 1, j] + src[i + 1, j] + src[i, j - 1] + src[i, j + 1]
    dst[i, j] = src[i, j] + rate * (s - 4.0 * src[i, j])


@wp.kernel
def tally(a: wp.array2d(dtype=float), total: wp.array(dtype=wp.float64), peak: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(total, 0, wp.float64(a[i, j]))
    wp.atomic_max(peak, 0, a[i, j])
    wp.atomic_min(peak, 1, a[i, j])


def wave():
    shape = (int(HEIGHT), int(WIDTH))
    a = wp.zeros(shape, dtype=float)
    b = wp.zeros(shape, dtype=float)
    dt = 1.0 / 60.0 / 4.0
    t = 0.0
    for frame in range(12):
        for _ in range(4):
            wp.launch(wave_displace, dim=shape, inputs=[a, b, 24.0, 20.0, 5.0, 0.5, t])
            wp.launch(wave_solve, dim=shape, inputs=[b, a, 10.0, 1.0, 0.0, dt])
            a, b = b, a
            t += dt * 20.0
    total = wp.zeros(1, dtype=wp.float64)
    peak = wp.zeros(2, dtype=float)
    wp.launch(tally, dim=shape, inputs=[a, total, peak])
    print("wave total", total.numpy()[0], "extremes", peak.numpy(), "probe", a.numpy()[20, 10:16])


def diffusion(use_graph):
    n = 33
    start = np.zeros((n, n), dtype=np.float32)
    start[10:20, 12:22] = 1.0
    a = wp.from_numpy(start, dtype=wp.float32)
    b = wp.empty_like(a)
    if use_graph:
        with wp.ScopedCapture() as capture:
            for _ in range(5):
                wp.launch(diffuse, dim=a.shape, inputs=[a, b, 0.2])
                wp.launch(diffuse, dim=a.shape, inputs=[b, a, 0.2])
        for _ in range(4):
            wp.capture_launch(capture.graph)
    else:
        for _ in range(20):
            wp.launch(diffuse, dim=a.shape, inputs=[a, b, 0.2])
            wp.launch(diffuse, dim=a.shape, inputs=[b, a, 0.2])
    print("diffused", a.numpy().sum(), a.numpy()[16, 14:18], "largest", a.numpy().max())


wave()
diffusion(use_graph=wp.get_device().is_cuda)
with wp.ScopedTimer("diffusion", print=False) as timer:
    diffusion(False)
print("timer ran:", timer.elapsed > 0.0)
