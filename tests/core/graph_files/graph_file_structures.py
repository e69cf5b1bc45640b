"""More graphs to save: adjoints and tapes, structures that kernels reach by ids, algorithms over arrays."""

import numpy as np
from graph_file_cases import case, numbers

import warpsim as wp


@wp.kernel
def stretch(x: wp.array(dtype=wp.vec3), rest: float, out: wp.array(dtype=float)):
    i = wp.tid()
    d = wp.length(x[i + 1] - x[i]) - rest
    wp.atomic_add(out, 0, d * d)


@case
def adjoint_launches():
    n = 40
    x, out = numbers(n, dtype=wp.vec3, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        x.grad.zero_()
        out.grad.fill_(1.0)
        wp.launch(stretch, dim=n - 1, inputs=[x, 0.3, out], adjoint=True, adj_inputs=[None, None, None])
    return capture.graph, {"x": x}, {"grad": x.grad}


@wp.kernel
def advance(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    v[i] += wp.vec3(0.0, -9.8, 0.0) * dt - v[i] * wp.length(v[i]) * dt
    x[i] += v[i] * dt


@wp.kernel
def descend(x: wp.array(dtype=wp.vec3), gradient: wp.array(dtype=wp.vec3), rate: float):
    i = wp.tid()
    x[i] -= gradient[i] * rate


def training(record):
    """A step of training: overwritten arrays, a loss, gradients, a descent."""
    n = 30
    start = numbers(n, dtype=wp.vec3, requires_grad=True)
    x, v = (numbers(n, k, wp.vec3, requires_grad=True) for k in (1, 2))
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            loss.zero_()
            v.assign(start)
            for _ in range(4):
                wp.launch(advance, dim=n, inputs=[x, v, 0.1])
            wp.launch(stretch, dim=n - 1, inputs=[x, 0.3, loss])
        tape.backward(loss)
        wp.launch(descend, dim=n, inputs=[start, start.grad, 0.01])
        tape.zero()
        record(x)
    return capture.graph, {"x": x, "start": start}, {"loss": loss, "after": start, "v": v}


@case
def training_step():
    return training(lambda x: None)


@case
def training_step_with_shown_gradients():
    return training(lambda x: wp.copy(x, wp.clone(x.grad)))


@wp.kernel
def append(x: wp.array(dtype=float), count: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] < 0.6:
        place = wp.atomic_add(count, 0, 1)
        out[place] = x[i] * x[i]


@case
def what_atomics_returned():
    """A tape that notes what atomics returned, for its adjoint."""
    n = 16
    x, count = numbers(n, requires_grad=True), wp.zeros(1, dtype=int)
    out, weights = wp.zeros(n, dtype=float, requires_grad=True), numbers(n, 5)
    with wp.ScopedCapture() as capture:
        count.zero_()
        with wp.Tape() as tape:
            wp.launch(append, dim=n, inputs=[x, count, out])
        tape.backward(grads={out: weights})
    return capture.graph, {"x": x}, {"out": out, "grad": x.grad, "count": count}


@wp.kernel
def neighbours(grid: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    for k in wp.hash_grid_query(grid, x[i], 0.2):
        if wp.length(x[k] - x[i]) < 0.2:
            out[i] += 1


@case
def hash_grid_built_in_the_graph():
    n = 300
    x, out = numbers(n, dtype=wp.vec3), wp.zeros(n, dtype=int)
    grid = wp.HashGrid(8, 8, 8)
    grid.reserve(n)
    with wp.ScopedCapture() as capture:
        out.zero_()
        grid.build(x, 0.2)
        wp.launch(neighbours, dim=n, inputs=[grid.id, x, out])
    capture.graph.keep(grid)
    return capture.graph, {"x": x}, {"out": out}


def tetrahedron():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    faces = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], np.int32)
    return wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array(faces, dtype=int))


@wp.struct
class Scene:
    count: int
    mesh: wp.uint64


@wp.kernel
def nearest(scene: Scene, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.mesh_query_point(scene.mesh, x[i], 10.0)
    if q.result:
        out[i] = wp.mesh_eval_position(scene.mesh, q.face, q.u, q.v) * float(scene.count)


@wp.kernel
def push(x: wp.array(dtype=wp.vec3)):
    x[wp.tid()] *= 1.5


@case
def mesh_refitted_in_the_graph():
    scene, mesh = Scene(), tetrahedron()
    scene.count, scene.mesh = 2, mesh.id
    x, out = numbers(20, dtype=wp.vec3), wp.zeros(20, dtype=wp.vec3)
    with wp.ScopedCapture() as capture:
        wp.launch(push, dim=4, inputs=[mesh.points])
        mesh.refit()
        wp.launch(nearest, dim=20, inputs=[scene, x, out])
    capture.graph.keep(mesh)
    return capture.graph, {"x": x, "corners": mesh.points}, {"out": out}


@wp.kernel
def sample(volume: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_sample_f(volume, wp.volume_world_to_index(volume, x[i]), wp.Volume.LINEAR)


@case
def volume_sampled():
    values = np.random.default_rng(3).random((9, 9, 9)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(values, voxel_size=0.1)
    x, out = numbers(20, dtype=wp.vec3), wp.zeros(20, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(sample, dim=20, inputs=[volume.id, x, out])
    capture.graph.keep(volume)
    return capture.graph, {"x": x}, {"out": out}


@case
def algorithms_over_arrays():
    """What `wp.utils` does, on the host or with launches of its own."""
    n = 40
    x, v, ints = numbers(n), numbers(0, 1, wp.vec3, shape=(5, 8)), wp.array(np.arange(n) // 3, dtype=int)
    keys, values = numbers(2 * n, 2), wp.array(np.arange(2 * n), dtype=int)
    starts = wp.array([0, 7, 20, n], dtype=int)
    sums, total_of_v, inner = wp.zeros(n, dtype=float), wp.zeros((5, 1), dtype=wp.vec3), wp.zeros(1, dtype=float)
    runs, lengths, count = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int), wp.zeros(1, dtype=int)
    wide = wp.zeros(n, dtype=wp.float64)
    with wp.ScopedCapture() as capture:
        wp.utils.array_scan(x, sums, inclusive=False)
        wp.utils.array_sum(v, out=total_of_v, axis=1)
        wp.utils.array_inner(x, sums, out=inner)
        wp.utils.radix_sort_pairs(keys, values, n)
        wp.utils.radix_sort_pairs(keys, values, 1)  # which has nothing to do, as the next
        wp.utils.segmented_sort_pairs(values, keys, 0, wp.zeros(2, dtype=int))
        if x.device.is_cpu:  # on a GPU the host looks at the segments
            wp.utils.segmented_sort_pairs(values, keys, n, starts)
        wp.utils.runlength_encode(ints, runs, lengths, count)
        wp.utils.array_cast(sums, wide)
    results = {"sums": sums, "total": total_of_v, "inner": inner, "keys": keys, "values": values, "runs": runs}
    return capture.graph, {"x": x, "v": v, "ints": ints}, {**results, "lengths": lengths, "count": count, "wide": wide}


@case
def gradients_of_algorithms():
    """A tape over what `wp.utils` and `wp.fft` do on the host: transposes, with what operands held."""
    n = 12
    x, w = numbers(n, requires_grad=True, device="cpu"), numbers(n, 1, requires_grad=True, device="cpu")
    sums, cast = (wp.zeros(n, dtype=t, requires_grad=True, device="cpu") for t in (float, wp.float64))
    keys, values = numbers(2 * n, 2, device="cpu"), numbers(2 * n, 3, requires_grad=True, device="cpu")
    signal = numbers(8, 4, wp.vec2, requires_grad=True, device="cpu")
    loss, weights = wp.zeros(1, dtype=float, requires_grad=True, device="cpu"), numbers(8, 5, wp.vec2, device="cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        x.grad.zero_()
        with wp.Tape() as tape:
            wp.utils.array_scan(x, sums)
            wp.utils.array_inner(sums, w, out=loss)
            wp.utils.array_cast(sums, cast)
            wp.utils.radix_sort_pairs(keys, values, n)
            spectrum = wp.fft.ifft(wp.fft.fft(signal))
        tape.backward(grads={loss: wp.ones(1, dtype=float, device="cpu"), spectrum: weights})
    results = {"loss": loss, "dx": x.grad, "dw": w.grad, "signal": signal.grad, "spectrum": spectrum, "cast": cast}
    return capture.graph, {"x": x, "w": w}, results
