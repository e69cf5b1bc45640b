"""Connected components by union-find, compaction by atomics, bitonic sort, breadth-first search, histograms of keys."""

import numpy as np

import warp as wp


@wp.func
def root(parent: wp.array(dtype=wp.int32), i: int):
    r = i
    while parent[r] != r:
        r = parent[r]
    return r


@wp.kernel
def start(parent: wp.array(dtype=wp.int32)):
    parent[wp.tid()] = wp.tid()


@wp.kernel
def unite(parent: wp.array(dtype=wp.int32), edges: wp.array(dtype=wp.int32, ndim=2)):
    e = wp.tid()
    a = root(parent, edges[e, 0])
    b = root(parent, edges[e, 1])
    while a != b:
        lo = wp.min(a, b)
        hi = wp.max(a, b)
        old = wp.atomic_cas(parent, hi, hi, lo)
        if old == hi:
            break
        a = root(parent, old)
        b = root(parent, lo)


@wp.kernel
def flatten(parent: wp.array(dtype=wp.int32), label: wp.array(dtype=wp.int32)):
    i = wp.tid()
    label[i] = root(parent, i)


@wp.kernel
def compare_and_swap(keys: wp.array(dtype=wp.float32), j: int, k: int):
    i = wp.tid()
    other = i ^ j
    if other > i:
        up = (i & k) == 0
        a, b = keys[i], keys[other]
        if (a > b) == up:
            keys[i] = b
            keys[other] = a


@wp.kernel
def expand(
    offsets: wp.array(dtype=int),
    targets: wp.array(dtype=int),
    level: int,
    depth: wp.array(dtype=int),
    changed: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    if depth[i] != level:
        return
    for k in range(offsets[i], offsets[i + 1]):
        j = targets[k]
        if depth[j] < 0:
            depth[j] = level + 1
            changed[0] = 1


@wp.kernel
def compact(values: wp.array(dtype=float), limit: float, count: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    if values[i] <= limit:
        return
    out[wp.atomic_add(count, 0, 1)] = values[i]


@wp.kernel
def extremes(
    values: wp.array(dtype=float),
    lo: wp.array(dtype=float),
    hi: wp.array(dtype=float),
    bits: wp.array(dtype=wp.uint32),
    swapped: wp.array(dtype=int),
):
    i = wp.tid()
    wp.atomic_min(lo, i % 2, values[i])
    wp.atomic_max(hi, i % 2, values[i])
    wp.atomic_or(bits, 0, wp.uint32(1) << wp.uint32(i % 32))
    wp.atomic_xor(bits, 1, wp.uint32(i))
    wp.atomic_and(bits, 2, ~wp.uint32(i & 4))
    wp.atomic_exch(swapped, i, -i)


@wp.kernel
def search(edges: wp.array(dtype=float), x: wp.array(dtype=float), bin: wp.array(dtype=int)):
    i = wp.tid()
    bin[i] = wp.lower_bound(edges, x[i])


rng = np.random.default_rng(33)
n, m = 200, 150
edges = rng.integers(0, n, (m, 2)).astype(np.int32)
parent, label = wp.empty(n, dtype=wp.int32), wp.empty(n, dtype=wp.int32)
wp.launch(start, dim=n, outputs=[parent])
wp.launch(unite, dim=m, inputs=[parent, wp.array(edges)])
wp.launch(flatten, dim=n, inputs=[parent], outputs=[label])
names, sizes = np.unique(label.numpy(), return_counts=True)
print("components", len(names), "largest", sizes.max(), label.numpy()[:12])

keys = wp.array(rng.normal(size=128), dtype=wp.float32)
k = 2
while k <= 128:
    j = k // 2
    while j > 0:
        wp.launch(compare_and_swap, dim=128, inputs=[keys, j, k])
        j //= 2
    k *= 2
print("sorted", bool((np.diff(keys.numpy()) >= 0).all()), keys.numpy()[:3])

both = np.concatenate([edges, edges[:, ::-1]])
both = both[np.argsort(both[:, 0], kind="stable")]
offsets = wp.array(np.searchsorted(both[:, 0], np.arange(n + 1)), dtype=int)
targets = wp.array(both[:, 1], dtype=int)
depth = wp.full(n, -1, dtype=int)
source = int(edges[0, 0])
depth[source : source + 1].fill_(0)
changed = wp.zeros(1, dtype=int)
level = 0
while True:
    changed.zero_()
    wp.launch(expand, dim=n, inputs=[offsets, targets, level], outputs=[depth, changed])
    if not changed.numpy()[0]:
        break
    level += 1
d = depth.numpy()
print("levels", level, np.bincount(d[d >= 0]), bool(((d >= 0) == (label.numpy() == label.numpy()[source])).all()))

values = wp.array(rng.normal(size=96), dtype=float)
count, out = wp.zeros(1, dtype=int), wp.zeros(96, dtype=float)
wp.launch(compact, dim=96, inputs=[values, 0.5], outputs=[count, out])
c = int(count.numpy()[0])
print("compact", c, np.sort(out.numpy()[:c])[:3], out.numpy()[c:].any())
lo, hi = wp.full(2, np.inf, dtype=float), wp.full(2, -np.inf, dtype=float)
bits, swapped = wp.array([0, 0, 0xFFFFFFFF], dtype=wp.uint32), wp.zeros(96, dtype=int)
wp.launch(extremes, dim=96, inputs=[values, lo, hi, bits, swapped])
print(lo.numpy(), hi.numpy(), bits.numpy(), swapped.numpy().sum())
bin = wp.zeros(96, dtype=int)
wp.launch(search, dim=96, inputs=[wp.array(np.linspace(-2, 2, 9), dtype=float), values, bin])
print(np.bincount(bin.numpy(), minlength=10), wp.array(bin.numpy() > 4, dtype=wp.bool).numpy().sum())
