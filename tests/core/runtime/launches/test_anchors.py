"""What recorded launches and graphs keep alive: arrays in structs, gradients, structures behind ids."""

import gc

import numpy as np
import pytest

import warpsim as wp

DEVICES = ("cpu", "interp")
N = 20_000  # enough for memory to be given back at once


@wp.struct
class Inner:
    a: wp.array(dtype=float)


@wp.struct
class State:
    scale: float
    inner: Inner
    b: wp.array(dtype=float)


@wp.struct
class Finder:
    grid: wp.uint64


@wp.kernel
def add(s: State, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = out[i] + s.scale * s.inner.a[i] + s.b[i]


@wp.kernel
def step(s: State):
    i = wp.tid()
    s.b[i] = s.inner.a[i] + 1.0


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def count_near(grid: wp.uint64, out: wp.array(dtype=int)):
    query = wp.hash_grid_query(grid, wp.vec3(0.0, 0.0, 0.0), 1.0)
    at = int(0)
    n = int(0)
    while wp.hash_grid_query_next(query, at):
        n += 1
    out[0] = n


@wp.kernel
def count_found(f: Finder, out: wp.array(dtype=int)):
    query = wp.hash_grid_query(f.grid, wp.vec3(0.0, 0.0, 0.0), 1.0)
    at = int(0)
    n = int(0)
    while wp.hash_grid_query_next(query, at):
        n += 1
    out[0] = n


@wp.kernel
def look_up(volume: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.volume_lookup_f(volume, 3, 2, 1)


def state(a, b, scale=1.0):
    return State(scale=scale, inner=Inner(a=wp.full(N, float(a))), b=wp.full(N, float(b)))


def reused():
    """Fill memory that was given back with other numbers."""
    gc.collect()
    return [wp.full(N, np.nan) for _ in range(8)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["graph", "command in a graph"])
def test_a_struct_in_a_graph_counts_as_it_was_when_it_was_recorded(device, kind):
    n = N if device == "cpu" else 100
    s, out = state(1, 2, scale=10.0), wp.zeros(N, dtype=float)
    with wp.ScopedDevice(device):
        if kind == "graph":
            with wp.ScopedCapture() as capture:
                wp.launch(add, n, inputs=[s, out])
        else:
            command = wp.launch(add, n, inputs=[s, out], record_cmd=True)
            if kind == "command in a graph":
                with wp.ScopedCapture() as capture:
                    command.launch()
        s.inner.a, s.b, s.scale = wp.zeros(N, dtype=float), wp.zeros(N, dtype=float), 0.0
        s.inner = Inner()
        junk = reused()
        for _ in range(2):
            wp.capture_launch(capture.graph)
    assert (out.numpy()[:n] == 24.0).all()
    assert len(junk) == 8


@pytest.mark.parametrize("device", DEVICES)
def test_a_struct_of_a_command_counts_as_it_is(device):
    s, out = state(1, 2), wp.zeros(N, dtype=float)
    command = wp.launch(add, 10, inputs=[s, out], record_cmd=True, device=device)
    s.b = wp.full(N, 5.0)
    junk = reused()
    command.launch()
    assert out.numpy()[0] == 6.0
    command.set_param_by_name("s", s)
    s.inner = Inner(a=wp.full(N, 2.0))
    junk += reused()
    command.launch()
    assert out.numpy()[0] == 13.0
    other = state(10, 20)
    command.set_param_by_name("s", other)
    s.b = wp.full(N, np.nan)
    command.set_dim(1)  # what is bound again are the arguments as they are
    command.launch()
    assert out.numpy()[:2].tolist() == [43.0, 13.0] and len(junk) == 16


@pytest.mark.parametrize("kind", ["graph", "tape"])
def test_ping_pong_of_a_field(kind):
    """Two arrays that change places between launches."""
    s = state(0, 0)
    first = s.inner.a
    tape = wp.Tape()
    with wp.ScopedCapture() if kind == "graph" else tape as capture:
        for _ in range(5):
            wp.launch(step, N, inputs=[s])
            s.inner.a, s.b = s.b, s.inner.a
    s.inner.a = s.b = None
    junk = reused()
    if kind == "graph":
        assert not first.numpy().any()
        wp.capture_launch(capture.graph)
    assert (first.numpy() == 4.0).all()
    assert len(junk) == 8


def test_adjoint_commands_keep_gradients():
    x, y = wp.full(N, 3.0, requires_grad=True), wp.zeros(N, dtype=float, requires_grad=True)
    y.grad.fill_(1.0)
    result = x.grad
    command = wp.launch(square, N, inputs=[x, y], adjoint=True, record_cmd=True)
    y.requires_grad = False
    x.grad = wp.zeros(N, dtype=float)
    junk = reused()
    command.launch()
    assert (result.numpy() == 6.0).all()
    assert not x.grad.numpy().any()
    assert len(junk) == 8


@pytest.mark.parametrize("kernel", [count_near, count_found])
@pytest.mark.parametrize("kind", ["command", "graph"])
@pytest.mark.parametrize("device", DEVICES)
def test_structures_behind_ids_stay(kernel, kind, device):
    out = wp.zeros(1, dtype=int)

    def made():
        grid = wp.HashGrid(8, 8, 8)
        grid.build(wp.array(np.zeros((1000, 3)), dtype=wp.vec3), 1.0)
        inputs = [Finder(grid=grid.id) if kernel is count_found else grid.id, out]
        if kind == "command":
            return wp.launch(kernel, 1, inputs=inputs, record_cmd=True, device=device).launch
        with wp.ScopedCapture() as capture:
            wp.launch(kernel, 1, inputs=inputs, device=device)
        return lambda: wp.capture_launch(capture.graph)

    run = made()
    junk = [reused(), [wp.full(3000, np.nan) for _ in range(20)]]
    run()
    assert out.numpy()[0] == 1000
    assert len(junk) == 2


def test_volumes_behind_ids_stay():
    out = wp.zeros(1, dtype=float)

    def made():
        volume = wp.Volume.load_from_numpy(np.full((8, 8, 8), 7.0, np.float32))
        with wp.ScopedCapture() as capture:
            wp.launch(look_up, 1, inputs=[volume.id, out])
        return capture.graph

    graph = made()
    junk = reused()
    wp.capture_launch(graph)
    assert out.numpy()[0] == 7.0
    assert len(junk) == 8
