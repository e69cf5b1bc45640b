"""Textures in NumPy and float64: an endless grid of texels, made of the few there are, and read between them."""

import itertools

import numpy as np

import warpsim as wp

WRAP, CLAMP, MIRROR, BORDER = wp.TextureAddressMode
CLOSEST, LINEAR = wp.TextureFilterMode

UNSIGNED, SIGNED = (np.uint8, np.uint16), (np.int8, np.int16)


def numbers(data):
    """What numbers of data are in a texture, float64."""
    x = data.astype(np.float64)
    if data.dtype in UNSIGNED:
        return x / np.iinfo(data.dtype).max
    return np.maximum(x / np.iinfo(data.dtype).max, -1.0) if data.dtype in SIGNED else x


def halved(data, dimensions):
    """The next level: means of pairs along every axis of more than one, in the type of the data."""
    x = data.astype(np.float64)
    for axis in range(dimensions):
        n = x.shape[axis] // 2
        if n:
            pairs = np.moveaxis(x, axis, 0)[: 2 * n].reshape(n, 2, *np.moveaxis(x, axis, 0).shape[1:])
            x = np.moveaxis(pairs.mean(axis=1), 0, axis)
    return (np.rint(x) if data.dtype.kind in "iu" else x).astype(data.dtype)


class Oracle:
    """data: (..., channels) with one axis for each dimension; modes: for u, v, w."""

    def __init__(self, data, modes, filtering, blending=LINEAR, normalized=True, levels=1):
        self.modes, self.filtering, self.blending, self.normalized = modes, filtering, blending, normalized
        self.dimensions = data.ndim - 1
        self.levels = [data]
        while len(self.levels) < levels:
            self.levels.append(halved(self.levels[-1], self.dimensions))
        self.sizes = np.array(data.shape[:-1][::-1])

    def texels(self, level, indices):
        """The texels at any indices (n, dimensions) in the order u, v, w."""
        places, outside = [], np.zeros(len(indices), bool)
        for axis, mode in enumerate(self.modes):
            i, n = indices[:, axis], self.levels[level].shape[self.dimensions - 1 - axis]
            if mode == WRAP:
                places.append(i % n)
            elif mode == MIRROR:
                places.append(np.where(i % (2 * n) < n, i % n, n - 1 - i % n))
            else:
                places.append(np.clip(i, 0, n - 1))
                outside |= (i != places[-1]) & (mode == BORDER)
        return np.where(outside[:, None], 0.0, numbers(self.levels[level])[tuple(places[::-1])])

    def at_level(self, u, level):
        sizes = np.array(self.levels[level].shape[:-1][::-1])
        x = u.astype(np.float64) * (sizes if self.normalized else sizes / self.sizes)
        if self.filtering == CLOSEST:
            return self.texels(level, np.floor(x).astype(int))
        low = np.floor(x - 0.5)
        t, total = x - 0.5 - low, 0.0
        for corner in itertools.product((0, 1), repeat=self.dimensions):
            weight = np.prod(np.where(corner, t, 1.0 - t), axis=1)
            total = total + weight[:, None] * self.texels(level, low.astype(int) + np.array(corner))
        return total

    def sample(self, u, lod):
        """u: (n, dimensions); lod: (n,). Returns (n, channels)."""
        lod = np.clip(lod.astype(np.float64), 0, len(self.levels) - 1)
        if self.blending == CLOSEST:
            lod = np.floor(lod + 0.5)
        every = np.stack([self.at_level(u, level) for level in range(len(self.levels))])
        low = np.floor(lod).astype(int)
        high, t, n = np.minimum(low + 1, len(self.levels) - 1), (lod - low)[:, None], np.arange(len(u))
        return (1.0 - t) * every[low, n] + t * every[high, n]
