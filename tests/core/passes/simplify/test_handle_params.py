"""Structures reached by ids in derived programs: gradients of their arrays, and what they held at the launch."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import gradcheck, hvp, jvp
from warpsim.core.emit.program import Form, FormKind
from warpsim.core.ops.handles import resolve
from warpsim.core.passes.simplify.handle_params import handle_params
from warpsim.core.runtime.launches.handles import Handle
from warpsim.errors import NotDifferentiableError, StructureIdError


@wp.struct
class Table:
    x: wp.array(dtype=float)
    start: wp.array(dtype=int)
    scale: float


@wp.struct
class Model:
    table: wp.uint64
    weight: float


@wp.struct
class Row:
    id: wp.uint64
    at: int
    stop: int


@wp.func
def row(id: wp.uint64, c: int):
    table = resolve(id, Table)
    found = Row()
    found.id = id
    found.at = table.start[c]
    found.stop = table.start[c + 1]
    return found


@wp.func(inout=("query", "index"))
def row_next(query: Row, index: int):
    more = query.at < query.stop
    if more:
        index = query.at
        query.at += 1
    return query, index, more


Row.next_in_kernel = row_next


@wp.func
def value(query: Row, i: int) -> float:
    table = resolve(query.id, Table)
    return table.scale * wp.sin(table.x[i])


@wp.kernel
def sums(id: wp.uint64, w: wp.array(dtype=float), out: wp.array(dtype=float)):
    """The id travels through a struct, a loop and a function."""
    c = wp.tid()
    total = float(0.0)
    query = row(id, c)
    for i in query:
        total += w[i] * value(query, i)
    out[c] = total


@wp.kernel
def sums_of_model(model: Model, w: wp.array(dtype=float), out: wp.array(dtype=float)):
    c = wp.tid()
    total = float(0.0)
    for i in row(model.table, c):
        total += model.weight * w[i] * resolve(model.table, Table).scale * wp.sin(resolve(model.table, Table).x[i])
    out[c] = total


@wp.kernel
def sums_of_some(ids: wp.array(dtype=wp.uint64), w: wp.array(dtype=float), out: wp.array(dtype=float)):
    c = wp.tid()
    out[c] = w[c] * resolve(ids[0], Table).x[c]


X, W, STARTS, SCALE = np.array([0.1, 0.7, -0.4, 1.2, 0.3]), np.array([1.0, 0.5, 2.0, 3.0, 0.1]), [0, 2, 5], 2.0


def setup(x=X):
    x = wp.array(x, dtype=float, requires_grad=True)
    handle = Handle(Table(x=x, start=wp.array(STARTS, dtype=int), scale=SCALE))
    return x, handle, wp.array(W, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)


def gradients(seeds, x=X):
    share = np.repeat(seeds, np.diff(STARTS))
    return share * W * SCALE * np.cos(x), share * SCALE * np.sin(x)


def ones(n=2):
    return wp.array(np.ones(n), dtype=float)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("in_struct", [False, True])
def test_gradients_of_arrays_behind_an_id(device, in_struct):
    x, handle, w, out = setup()
    kernel, first = (sums_of_model, Model(table=handle.id, weight=1.0)) if in_struct else (sums, handle.id)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, inputs=[first, w, out], device=device)
    tape.backward(grads={out: wp.array([1.0, 0.5], dtype=float)})
    of_x, of_w = gradients([1.0, 0.5])
    np.testing.assert_allclose(x.grad.numpy(), of_x, rtol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), of_w, rtol=1e-5)
    tape.zero()
    assert not x.grad.numpy().any(), "the tape knows the arrays of structures"
    assert len(tape.launches[0].inputs) == 3


def test_the_ids_of_a_kernel_are_found_through_loops_and_structs():
    _x, handle, w, out = setup()
    types = sums.types_for([handle.id, w, out])
    assert [(r.position, r.path, r.type) for r in handle_params(sums.program(types).fn)] == [(0, (), Table)]
    adjoint = sums.program(types, form=Form(FormKind.ADJOINT, frozenset({"w", "out", "id.x"})))
    assert "resolve" not in wp.core.ir.printer.print_function(adjoint.fn)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("change", ["update", "close", "overwrite"])
def test_backward_sees_the_structure_of_the_launch(change, device):
    x, handle, w, out = setup()
    with wp.Tape() as tape:
        wp.launch(sums, 2, inputs=[handle.id, w, out], device=device)
        if change == "overwrite":
            x.assign(np.zeros(5))
    if change == "update":
        handle.update(Table(x=wp.zeros(5, dtype=float), start=wp.array([0, 0, 0], dtype=int), scale=7.0))
    if change == "close":
        handle.close()
    tape.backward(grads={out: ones()})
    of_x, of_w = gradients([1.0, 1.0])
    np.testing.assert_allclose(w.grad.numpy(), of_w, rtol=1e-5)
    if change != "overwrite":  # else what was there before is gone, with its gradient
        np.testing.assert_allclose(x.grad.numpy(), of_x, rtol=1e-5)


def test_an_id_out_of_memory_runs_and_is_refused_in_reverse():
    _x, handle, w, out = setup()
    ids = wp.array([handle.id], dtype=wp.uint64)
    with wp.Tape() as tape:
        wp.launch(sums_of_some, 2, inputs=[ids, w, out])
    np.testing.assert_allclose(out.numpy(), (W * X)[:2], rtol=1e-6)
    with pytest.raises(NotDifferentiableError, match="an id that is no argument"):
        tape.backward(grads={out: ones()})


def test_a_stale_id_on_a_tape():
    _x, handle, w, out = setup()
    stale = handle.id
    handle.close()
    with wp.Tape(), pytest.raises(StructureIdError, match="'id'"):
        wp.launch(sums, 2, inputs=[stale, w, out])


def test_gradcheck_leaves_the_structure_alone():
    x, handle, w, out = setup()
    before = x.grad.numpy().copy()
    assert gradcheck(sums, dim=2, inputs=[handle.id, w], outputs=[out])
    np.testing.assert_array_equal(x.grad.numpy(), before)


def test_forward_mode_and_second_order():
    x, handle, w, out = setup()
    along = np.array([0.3, -0.2, 0.5, 1.0, 0.7])
    tangents = jvp(sums, 2, [handle.id, w], [out], tangents={"id.x": along, "w": along})
    of_x, of_w = gradients([1.0, 1.0])
    moved = np.add.reduceat(along * (of_x + of_w), STARTS[:2])
    np.testing.assert_allclose(tangents["out"].numpy(), moved, rtol=1e-5)

    with wp.Tape() as tape:
        wp.launch(sums, 2, inputs=[handle.id, w, out])
    found = hvp(tape, vector={x: along}, cotangents={out: ones()})
    np.testing.assert_allclose(found[w].numpy(), SCALE * np.cos(X) * along, rtol=1e-5)
    np.testing.assert_allclose(found[x].numpy(), -W * SCALE * np.sin(X) * along, rtol=1e-5)


def test_the_id_0_has_no_gradient():
    _x, handle, w, out = setup()

    @wp.kernel
    def guarded(id: wp.uint64, w: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        table = resolve(id, Table)
        out[i] = w[i]
        if id != wp.uint64(0):
            out[i] = w[i] * table.x[i]

    for given, expected in ((wp.uint64(0), np.ones(2)), (handle.id, X[:2])):
        w.grad.zero_()
        with wp.Tape() as tape:
            wp.launch(guarded, 2, inputs=[given, w, out])
        tape.backward(grads={out: ones()})
        np.testing.assert_allclose(w.grad.numpy()[:2], expected, rtol=1e-6)
