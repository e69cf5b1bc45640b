"""`resolve` on every target: ids of open structures, the id 0, closed and foreign ids."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.ops.handles import resolve
from warpsim.core.runtime.launches.handles import Handle
from warpsim.errors import StructureIdError


@wp.struct
class Inner:
    offset: wp.vec3
    flags: wp.array(dtype=bool)


@wp.struct
class Table:
    x: wp.array(dtype=float)
    scale: float
    half: wp.float16
    on: bool
    inner: Inner


@wp.struct
class Other:
    n: int


@wp.kernel
def read(id: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    table = resolve(id, Table)
    out[i] = -1.0
    if i < len(table.x):
        flag = table.inner.flags[i] and table.on
        out[i] = table.x[i] * table.scale + table.inner.offset[1] + float(table.half) + float(flag)


@wp.kernel
def read_several(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = float(len(resolve(ids[i], Table).x))


def table(n=3):
    inner = Inner(offset=wp.vec3(0.0, 10.0, 0.0), flags=wp.array([True] * n, dtype=bool))
    return Table(x=wp.array(np.arange(n, dtype=np.float32)), scale=2.0, half=0.5, on=True, inner=inner)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("verify", [False, True])
def test_the_struct_of_an_id(device, verify):
    wp.config.verify = verify
    handle, out = Handle(table()), wp.zeros(4, dtype=float)
    wp.launch(read, 4, inputs=[handle.id, out], device=device)
    np.testing.assert_array_equal(out.numpy(), [11.5, 13.5, 15.5, -1.0])
    handle.update(table(1))
    wp.launch(read, 4, inputs=[handle.id, out], device=device)
    np.testing.assert_array_equal(out.numpy(), [11.5, -1.0, -1.0, -1.0])


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("verify", [False, True])
def test_the_id_0_is_an_empty_structure(device, verify):
    wp.config.verify = verify
    out = wp.zeros(2, dtype=float)
    wp.launch(read, 2, inputs=[wp.uint64(0), out], device=device)
    np.testing.assert_array_equal(out.numpy(), [-1.0, -1.0])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_closed_or_foreign_id_is_refused(device):
    out, handle, other = wp.zeros(1, dtype=float), Handle(table()), Handle(Other(n=1))
    stale = handle.id
    wp.launch(read, 1, inputs=[stale, out], device=device)
    handle.close()
    for wrong, found in ((stale, "not the id of a structure"), (12345, "not the id"), (other.id, "id of a Other")):
        with pytest.raises(StructureIdError, match=found):
            wp.launch(read, 1, inputs=[wrong, out], device=device)
    with pytest.raises(StructureIdError, match="closed"):
        _ = handle.id
    with pytest.raises(StructureIdError, match="closed"):
        handle.update(table())
    handle.close()


@pytest.mark.cpu(reason="ids of structures on CUDA are addresses of their records")
def test_closed_ids_in_memory_find_nothing_and_are_reported_on_request():
    kept, gone = Handle(table(5)), Handle(table(4))
    ids, out = wp.array([kept.id, gone.id, 0], dtype=wp.uint64), wp.zeros(3, dtype=float)
    wp.launch(read_several, 3, inputs=[ids, out])
    np.testing.assert_array_equal(out.numpy(), [5.0, 4.0, 0.0])
    del gone
    wp.launch(read_several, 3, inputs=[ids, out])
    np.testing.assert_array_equal(out.numpy(), [5.0, 0.0, 0.0])
    wp.config.verify = True
    with pytest.raises(StructureIdError, match="stands for no open Table") as caught:
        wp.launch(read_several, 3, inputs=[ids, out])
    assert "thread 1" in str(caught.value) and "resolve(ids[i], Table)" in str(caught.value)
    with pytest.raises(StructureIdError, match="not the id of a structure that exists"):
        wp.launch(read_several, 3, inputs=[ids.to("interp"), out.to("interp")], device="interp")


def test_an_id_is_not_used_again():
    first = Handle(Other(n=1))
    before = first.id
    first.close()
    others = [Handle(Other(n=k)) for k in range(100)]
    assert before not in {h.id for h in others}
    assert len({h.id for h in others}) == 100


def test_resolve_needs_an_id_and_a_struct():
    @wp.kernel
    def no_struct(id: wp.uint64, out: wp.array(dtype=float)):
        out[0] = float(resolve(id, wp.vec3)[0])

    @wp.kernel
    def no_id(id: int, out: wp.array(dtype=float)):
        out[0] = resolve(id, Table).scale

    out = wp.zeros(1, dtype=float)
    for broken in (no_struct, no_id):
        with pytest.raises(wp.errors.KernelTypeError, match="resolve"):
            wp.launch(broken, 1, inputs=[0, out])
    with pytest.raises(TypeError, match="inside kernels"):
        resolve(0, Table)


@pytest.mark.cpu(reason="on CUDA an id is an address")
def test_no_number_leads_into_foreign_memory():
    """Garbage, ids with one bit changed, closed ids and ids of other types all stand for an empty structure."""
    handle, other, closed = Handle(table()), Handle(Other(n=1)), Handle(table())
    stale = closed.id
    closed.close()
    numbers = np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64)
    wrong = [other.id, stale, 1, 2**63, 2**64 - 1, *map(int, numbers), *(handle.id ^ 1 << bit for bit in range(64))]
    ids, out = wp.array(np.array([handle.id, *wrong], np.uint64)), wp.zeros(1 + len(wrong), dtype=float)
    wp.launch(read_several, out.size, inputs=[ids, out])
    assert out.list() == [3.0] + [0.0] * len(wrong)
    wp.config.verify = True
    for number in wrong[:40]:
        ids = wp.array(np.array([handle.id, number], np.uint64))
        with pytest.raises(StructureIdError, match=f"id {number:#x} stands for no open Table"):
            wp.launch(read_several, 2, inputs=[ids, out])


@pytest.mark.cpu(reason="on CUDA an id is an address")
def test_an_id_is_never_used_again():
    seen = set()
    for _ in range(2000):
        handle = Handle(Other(n=1))
        assert handle.id not in seen
        seen.add(handle.id)
        handle.close()
