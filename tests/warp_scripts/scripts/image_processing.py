"""Gaussian blur, Sobel, histogram, threshold and a box filter on a synthetic picture."""

import numpy as np

import warp as wp

RADIUS = 3
TILE = RADIUS * 2 + 1
vec7 = wp.types.vector(length=7, dtype=wp.float32)
vec3b = wp.types.vector(length=3, dtype=wp.uint8)


def gauss(radius, sigma):
    k = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return k / k.sum()


@wp.kernel
def to_grey(rgb: wp.array(dtype=vec3b, ndim=2), grey: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    c = rgb[i, j]
    r = float(c[0]) / 255.0
    g = float(c[1]) / 255.0
    b = float(c[2]) / 255.0
    grey[i, j] = 0.299 * r + 0.587 * g + 0.114 * b


@wp.kernel
def blur_rows(src: wp.array2d(dtype=float), weights: vec7, dst: wp.array2d(dtype=float)):
    i, j = wp.tid()
    w = src.shape[1]
    s = float(0.0)
    for k in range(7):
        jj = wp.clamp(j + k - 3, 0, w - 1)
        s += weights[k] * src[i, jj]
    dst[i, j] = s


@wp.kernel
def blur_columns(src: wp.array2d(dtype=float), weights: vec7, dst: wp.array2d(dtype=float)):
    i, j = wp.tid()
    h = src.shape[0]
    s = float(0.0)
    for k in range(7):
        s += weights[k] * src[wp.min(wp.max(i + k - 3, 0), h - 1), j]
    dst[i, j] = s


@wp.kernel
def sobel(src: wp.array2d(dtype=float), mag: wp.array2d(dtype=float), angle: wp.array2d(dtype=wp.float16)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < src.shape[0] - 1 and j < src.shape[1] - 1:
        n = wp.mat33(
            src[i - 1, j - 1],
            src[i - 1, j],
            src[i - 1, j + 1],
            src[i, j - 1],
            src[i, j],
            src[i, j + 1],
            src[i + 1, j - 1],
            src[i + 1, j],
            src[i + 1, j + 1],
        )
        kx = wp.mat33(-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0)
        gx = wp.ddot(kx, n)
        gy = wp.ddot(wp.transpose(kx), n)
        mag[i, j] = wp.sqrt(gx * gx + gy * gy)
        angle[i, j] = wp.float16(wp.atan2(gy, gx))


@wp.kernel
def histogram(src: wp.array2d(dtype=float), bins: wp.array(dtype=wp.int32)):
    i, j = wp.tid()
    b = wp.int32(wp.floor(src[i, j] * float(bins.shape[0])))
    b = wp.clamp(b, 0, bins.shape[0] - 1)
    wp.atomic_add(bins, b, 1)


@wp.kernel
def threshold(src: wp.array2d(dtype=float), level: float, out: wp.array2d(dtype=wp.bool), n: wp.array(dtype=wp.uint32)):
    i, j = wp.tid()
    on = src[i, j] > level
    out[i, j] = on
    if on:
        wp.atomic_add(n, 0, wp.uint32(1))


h, w = 60, 80
yy, xx = np.mgrid[0:h, 0:w]
img = np.zeros((h, w, 3), dtype=np.uint8)
img[..., 0] = (xx * 255 // w).astype(np.uint8)
img[..., 1] = (((xx - 40) ** 2 + (yy - 30) ** 2) < 200) * 255
img[..., 2] = ((xx // 8 + yy // 8) % 2) * 128

rgb = wp.array(img, dtype=vec3b)
print(rgb.shape, rgb.ndim, rgb.strides)
grey = wp.empty(shape=(h, w), dtype=wp.float32)
wp.launch(to_grey, dim=rgb.shape, inputs=[rgb], outputs=[grey])
print("grey", grey.numpy().mean(dtype=np.float64), grey.numpy()[30, 40])

weights = vec7(*gauss(RADIUS, 1.4))
print("weights", weights, sum(weights[i] for i in range(7)))
tmp, blurred = wp.zeros_like(grey), wp.zeros_like(grey)
wp.launch(blur_rows, (h, w), [grey, weights], [tmp])
wp.launch(blur_columns, (h, w), [tmp, weights], [blurred])
print("blurred", blurred.numpy().mean(dtype=np.float64), blurred.numpy()[0, :3])

mag, ang = wp.zeros_like(grey), wp.zeros((h, w), dtype=wp.float16)
wp.launch(sobel, dim=(h, w), inputs=[blurred, mag, ang])
print("sobel", mag.numpy().max(), mag.numpy().mean(dtype=np.float64), ang.numpy().dtype, ang.numpy()[20, 30:34])

bins = wp.zeros(16, dtype=wp.int32)
wp.launch(histogram, dim=grey.shape, inputs=[grey, bins])
print("histogram", bins.numpy().tolist())
mask = wp.zeros((h, w), dtype=wp.bool)
n = wp.zeros(1, dtype=wp.uint32)
wp.launch(threshold, dim=mask.shape, inputs=[mag, 0.5, mask, n])
print("edges", n.numpy()[0], mask.numpy().sum(), mask.numpy().dtype)
crop = blurred[10:20, 30:50]
print("crop", crop.shape, crop.is_contiguous, crop.contiguous().numpy().sum(), crop.numpy()[0, 0])
part = wp.zeros((10, 20), dtype=float)
wp.copy(part, crop)
print("copy", float(part.numpy().sum()))
