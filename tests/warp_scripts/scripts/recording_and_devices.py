"""Devices, streams, events, recorded launches, adjoint launches, timers, errors, a USD file."""

import os
import tempfile

import numpy as np

import warp as wp
import warp.render

wp.init()


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def product(x: wp.array(dtype=float), w: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * w[i] * w[i]


@wp.kernel
def spiral(points: wp.array(dtype=wp.vec3), t: float):
    i = wp.tid()
    a = t + 0.2 * float(i)
    points[i] = wp.vec3(wp.cos(a), 0.05 * float(i), wp.sin(a))


@wp.kernel
def early(x: wp.array(dtype=float), limit: int):
    i = wp.tid()
    if i >= limit:
        return
    while x[i] < 100.0:
        x[i] = x[i] * 2.0
        if x[i] > 50.0:
            break
    else_value = x[i]
    x[i] = else_value + 0.5


device = wp.get_device("cpu")
print(device, device.alias, device.is_cpu, device.is_cuda, device == "cpu", wp.get_devices()[0].name == device.name)
print([str(d) for d in wp.get_devices() if d.is_cpu], wp.is_cpu_available(), wp.get_cuda_device_count() >= 0)

x = wp.array(np.arange(8), dtype=float, device=device)
y = wp.ones(8, dtype=float, device=device)
command = wp.launch(saxpy, dim=8, inputs=[x, y, 2.0], record_cmd=True)
command.launch()
command.set_param_at_index(2, 0.5)
command.launch()
command.set_param_by_name("a", -1.0)
command.set_dim(4)
command.launch()
print("recorded", y.numpy())

if device.is_cuda:
    stream = wp.Stream(device)
    with wp.ScopedStream(stream):
        begin, end = wp.Event(enable_timing=True), wp.Event(enable_timing=True)
        wp.record_event(begin)
        wp.launch(saxpy, dim=8, inputs=[x, y, 1.0])
        wp.record_event(end)
    wp.synchronize_stream(stream)
else:
    wp.launch(saxpy, dim=8, inputs=[x, y, 1.0], device="cpu")
wp.synchronize_device("cpu")
print("stream", y.numpy().sum())

w = wp.array(np.linspace(1, 2, 8), dtype=float, requires_grad=True)
xg = wp.array(np.arange(8), dtype=float, requires_grad=True)
out = wp.zeros(8, dtype=float, requires_grad=True)
wp.launch(product, dim=8, inputs=[xg, w], outputs=[out])
out.grad.fill_(1.0)
wp.launch(
    product, dim=8, inputs=[xg, w], outputs=[out], adj_inputs=[xg.grad, w.grad], adj_outputs=[out.grad], adjoint=True
)
print("adjoint", xg.grad.numpy()[:3], w.grad.numpy()[-1])

tape = wp.Tape()
with tape:
    wp.launch(product, dim=8, inputs=[xg, w], outputs=[out])
    wp.launch(saxpy, dim=8, inputs=[out, y, 3.0])
print("recorded functions", len(tape.launches), tape.loss is None)
y2 = wp.clone(y, requires_grad=True)
tape.zero()
with wp.Tape() as tape:
    total = wp.clone(y2)
    wp.launch(saxpy, dim=8, inputs=[xg, total, 3.0])
tape.backward(grads={total: wp.ones_like(total)})
print("through clone", y2.grad.numpy().sum(), xg.grad.numpy().sum())

grown = wp.array(np.arange(1, 9), dtype=float)
wp.launch(early, dim=8, inputs=[grown, 6])
print("early", grown.numpy())
for bad in (
    lambda: wp.launch(saxpy, dim=8, inputs=[x, y]),
    lambda: wp.launch(saxpy, dim=8, inputs=[x, x.numpy().astype(int), "a"]),
    lambda: wp.zeros(-3, dtype=float),
):
    try:
        bad()
        print("accepted")
    except Exception as e:
        print("refused", isinstance(e, Exception))
with wp.ScopedTimer("frame", print=False, synchronize=True, dict={}) as timer:
    wp.launch(saxpy, dim=8, inputs=[x, y, 1.0])
print("timer", timer.elapsed >= 0.0)
timings = {}
for _ in range(3):
    with wp.ScopedTimer("step", active=True, print=False, dict=timings):
        wp.launch(saxpy, dim=8, inputs=[x, y, 1.0])
print("timings", list(timings), len(timings["step"]))

path = os.path.join(tempfile.mkdtemp(), "spiral.usd")
renderer = warp.render.UsdRenderer(path, up_axis="Y", fps=30, scaling=1.0)
points = wp.zeros(20, dtype=wp.vec3)
for frame in range(5):
    t = frame / 30.0
    wp.launch(spiral, dim=20, inputs=[points, t])
    renderer.begin_frame(t)
    renderer.render_points(name="points", points=points.numpy(), radius=0.05)
    renderer.render_sphere("ball", pos=(0.0, t, 0.0), rot=(0.0, 0.0, 0.0, 1.0), radius=0.2)
    renderer.render_line_strip("path", vertices=points.numpy(), color=(1.0, 0.0, 0.0), radius=0.01)
    renderer.render_mesh("tri", points=points.numpy()[:3], indices=np.array([0, 1, 2]), colors=(0.2, 0.3, 0.4))
    renderer.end_frame()
renderer.save()
print("usd", os.path.getsize(path) > 1000, points.numpy().sum(axis=0))
from pxr import Usd, UsdGeom  # noqa: E402

stage = Usd.Stage.Open(path)
prims = [
    p for p in stage.Traverse() if p.GetTypeName() in ("Mesh", "Sphere", "PointInstancer", "Points", "BasisCurves")
]
mesh = next(UsdGeom.Mesh(p) for p in prims if p.GetTypeName() == "Mesh")
print("up", UsdGeom.GetStageUpAxis(stage), "end", stage.GetEndTimeCode(), np.array(mesh.GetPointsAttr().Get(2)).shape)
