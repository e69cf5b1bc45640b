"""Arrays: slices, strides, copies, views, indexed arrays, pointers, interop with NumPy and Torch."""

import numpy as np

import warp as wp


@wp.kernel
def increment(a: wp.array(dtype=float), s: float):
    a[wp.tid()] += s


@wp.kernel
def fill3(a: wp.array3d(dtype=wp.int32)):
    i, j, k = wp.tid()
    a[i, j, k] = i * 100 + j * 10 + k


@wp.kernel
def fill4(a: wp.array4d(dtype=wp.float32)):
    i, j, k, l = wp.tid()
    a[i, j, k, l] = float(i) + 0.1 * float(j) + 0.01 * float(k) + 0.001 * float(l)


@wp.kernel
def rows(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    s = float(0.0)
    for j in range(row.shape[0]):
        s += row[j]
    out[i] = s


@wp.kernel
def double_selected(a: wp.indexedarray(dtype=float)):
    i = wp.tid()
    a[i] = 2.0 * a[i]


@wp.kernel
def gather2(a: wp.indexedarray2d(dtype=wp.float32), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = a[i, j]


a = wp.zeros(10, dtype=float)
wp.launch(increment, dim=5, inputs=[a[::2], 1.0])
wp.launch(increment, dim=3, inputs=[a[1:4], 10.0])
wp.launch(increment, dim=2, inputs=[a[-2:], 5.0])
print("1d", a.numpy())
b = wp.zeros((3, 4, 5), dtype=wp.int32)
wp.launch(fill3, dim=b.shape, inputs=[b])
print("3d", b[1, 2].numpy(), b[:, 1, :].shape, b[2, :, 3].numpy(), b[0:2, 1:3, ::2].numpy().sum())
wp.launch(fill3, dim=(2, 2, 2), inputs=[b[1:, 2:, 3:]])
print("offset", b.numpy()[2, 3, 4], b.numpy().sum(), b.size, b.ndim, b.strides, b.is_contiguous, b[:, 1].is_contiguous)
c = wp.empty(shape=(2, 3, 2, 2), dtype=wp.float32)
wp.launch(fill4, dim=[2, 3, 2, 2], inputs=[c])
print("4d", c.numpy().sum(), c.flatten().numpy()[-1], c.reshape((4, 6)).numpy()[2, 1])
t = b[0].transpose()
print("transpose", t.shape, t.numpy()[4].tolist(), t.contiguous().strides)
r = wp.zeros(4, dtype=float)
wp.launch(rows, dim=4, inputs=[c.reshape((4, -1)), r])
print("rows", r.numpy())

v = wp.array(np.arange(12, dtype=np.float32).reshape(4, 3), dtype=wp.vec3)
flat = wp.array(data=np.arange(12), dtype=float)
w = flat.view(wp.int32)
print(
    "views",
    v.shape,
    v.view(dtype=wp.vec3).numpy()[1],
    w.numpy()[1],
    wp.array(ptr=v.ptr, shape=(4, 3), dtype=float).numpy()[2],
)
strided = wp.array(ptr=flat.ptr, shape=(3,), strides=(16,), dtype=wp.float32, device="cpu", capacity=48)
print("strided", strided.numpy(), strided.is_contiguous)
d = wp.zeros(6, dtype=float)
wp.copy(d, flat, dest_offset=2, src_offset=5, count=3)
print("copy", d.numpy())
e = wp.clone(d[1:5])
d.fill_(7)
wp.copy(d[::3], wp.array([1.0, 2.0], dtype=float))
print("clone", e.numpy(), d.numpy())
wp.copy(dest=wp.empty_like(d), src=d)
print(
    "full",
    wp.full((2, 2), 3, dtype=int).numpy().tolist(),
    wp.full_like(e, 2.5).numpy(),
    wp.ones(2, dtype=wp.vec2).numpy().tolist(),
)
d.assign([6, 5, 4, 3, 2, 1])
print("assigned", d.numpy(), d.list()[:2])

ind = wp.array([1, 3, 5], dtype=int)
ia = wp.indexedarray(d, [ind])
wp.launch(double_selected, dim=3, inputs=[ia])
print("indexed", d.numpy(), ia.numpy(), ia.shape, d[ind].numpy())
grid = wp.array(np.arange(20, dtype=np.float32).reshape(4, 5), dtype=float)
sub = wp.indexedarray2d(grid, [wp.array([3, 0], dtype=int), wp.array([4, 2, 0], dtype=int)])
g = wp.zeros((2, 3), dtype=float)
wp.launch(gather2, dim=sub.shape, inputs=[sub, g])
print(g.numpy().tolist(), sub.contiguous().numpy().sum())

host = np.linspace(0, 1, 5, dtype=np.float32)
shared = wp.array(host, dtype=float, copy=False)
wp.launch(increment, 5, inputs=[shared, 1.0])
print("shared", host, wp.from_numpy(np.eye(3, dtype=np.float64)).dtype.__name__, np.asarray(shared).sum())
print("numpy operations", np.sqrt(shared).shape, np.add(shared, 1.0)[0])
try:
    import torch

    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).requires_grad_(True)
    wx = wp.from_torch(x)
    print("torch", wx.shape, wx.requires_grad, wx.numpy().sum(), wp.from_torch(torch.ones(4, 3), dtype=wp.vec3).shape)
    y = wp.to_torch(shared)
    y += 1.0
    print(
        "shared with torch",
        shared.numpy(),
        wp.device_from_torch(torch.device("cpu")),
        wp.dtype_from_torch(torch.int64).__name__,
    )
except ImportError:
    pass
