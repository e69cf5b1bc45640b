"""wp.map, scans, sorting, run lengths, inner products, array statistics."""

import numpy as np

import warp as wp
from warp.utils import array_cast, array_inner, array_scan, array_sum, radix_sort_pairs, runlength_encode

rng = np.random.default_rng(2024)
values = rng.integers(0, 20, size=40).astype(np.int32)

a = wp.array(values, dtype=wp.int32)
inclusive = wp.zeros_like(a)
exclusive = wp.empty_like(a)
array_scan(a, inclusive, inclusive=True)
array_scan(a, exclusive, inclusive=False)
print("scan", inclusive.numpy()[-1], exclusive.numpy()[-1], inclusive.numpy()[:5], exclusive.numpy()[:5])

n = len(values)
keys = wp.zeros(2 * n, dtype=wp.int32)
index = wp.zeros(2 * n, dtype=wp.int32)
keys.assign(np.concatenate([values, np.zeros(n, dtype=np.int32)]))
index.assign(np.concatenate([np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32)]))
radix_sort_pairs(keys, index, n)
print("sorted", keys.numpy()[:n].tolist())
print("stable", index.numpy()[:n].tolist())

fk = wp.array(np.concatenate([rng.normal(size=12), np.zeros(12)]), dtype=wp.float32)
fi = wp.array(np.concatenate([np.arange(12), np.zeros(12)]), dtype=wp.int32)
radix_sort_pairs(fk, fi, 12)
print("floats", fk.numpy()[:12], fi.numpy()[:12])

run_values = wp.zeros(n, dtype=wp.int32)
run_lengths = wp.zeros(n, dtype=wp.int32)
runs = wp.zeros(1, dtype=wp.int32)
sorted_keys = keys[:n]
runlength_encode(sorted_keys.contiguous(), run_values, run_lengths, runs)
r = int(runs.numpy()[0])
print("runs", r, run_values.numpy()[:r], run_lengths.numpy()[:r])
print("runs returned", runlength_encode(sorted_keys.contiguous(), run_values, run_lengths))

x = wp.array(rng.normal(size=100), dtype=wp.float32)
y = wp.array(rng.normal(size=100), dtype=wp.float32)
v = wp.array(rng.normal(size=(50, 3)), dtype=wp.vec3)
print("sum", array_sum(x), "vectors", array_sum(v), "inner", array_inner(x, y))
rows = wp.array(np.arange(12).reshape(3, 4), dtype=wp.float64)
print("along", array_sum(rows, axis=0), array_sum(rows, axis=1))
c = wp.zeros(100, dtype=wp.float64)
array_cast(in_array=x, out_array=c)
print("cast", c.numpy().dtype, c.numpy()[0] == x.numpy()[0])


@wp.func
def soft(x: float, k: float) -> float:
    return wp.sign(x) * wp.max(wp.abs(x) - k, 0.0)


@wp.func
def polar(x: float, y: float):
    return wp.length(wp.vec2(x, y)), wp.atan2(y, x)


s = wp.map(soft, x, 0.5)
print("map", s.shape, s.numpy()[:6], s.dtype.__name__)
radius, angle = wp.map(polar, x, y)
print("pair", radius.numpy().sum(), angle.numpy().sum())
print("built-in", wp.map(wp.clamp, x, -0.25, 0.25).numpy()[:8])
out = wp.zeros_like(x)
wp.map(wp.add, x, y, out=out)
print("added", np.allclose(out.numpy(), x.numpy() + y.numpy()))
mapped = wp.map(lambda p, q: p * 2.0 + q, x, y)
print("mapped", mapped.numpy()[:3])
print("broadcast", wp.map(wp.mul, rows, wp.array([[1.0], [2.0], [3.0]], dtype=wp.float64)).numpy()[2])
q = wp.map(wp.normalize, v)
print("vectors", q.dtype is wp.vec3, np.linalg.norm(q.numpy(), axis=1).mean())
z = 2.0 * x + y - 1.0
print("operators", z.numpy()[:3], (-x).numpy()[0], (x / y).numpy()[1])
x += y
print("in place", x.numpy()[:2])

with wp.ScopedTimer("total", active=False):
    t = wp.array([3, 1, 2], dtype=int)
print(t, len(t), t.list())
print(wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float))
