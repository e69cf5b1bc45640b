"""Structs as arguments: every field where C puts it, and arrays in them checked as plain ones are."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.arrays.host_memory import record_of
from warpsim.core.runtime.devices.device import CPU
from warpsim.core.runtime.launches.struct_bytes import struct_packer
from warpsim.core.types import scalars
from warpsim.errors import ReadOnlyError

DEVICES = ("cpu", "interp")


@wp.struct
class Inner:
    flag: bool
    values: wp.array(dtype=float)
    half: wp.float16


@wp.struct
class Outer:
    small: wp.int8
    inner: Inner
    m: wp.mat33d
    table: wp.array2d(dtype=wp.vec3)
    id: wp.uint64
    v: wp.vec3


@wp.kernel
def fill(o: Outer):
    i = wp.tid()
    o.inner.values[i] = float(o.small) + o.table[0, i][1]


@wp.kernel
def pick(c: int, o: Outer, spare: wp.array(dtype=float)):
    i = wp.tid()
    a = o.inner.values
    if c > 0:
        a = spare
    a[i] = 1.0


@wp.kernel
def count_in(picked: Outer, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = picked.inner.values[i]


def outer(values):
    table = wp.array(np.arange(12).reshape(1, 4, 3), dtype=wp.vec3)
    inner = Inner(flag=True, values=values, half=0.5)
    m = wp.mat33d(*range(9))
    return Outer(small=-3, inner=inner, m=m, table=table, id=2**63, v=wp.vec3(1.0, 2.0, 3.0))


def frozen_memory(kind, tmp_path):
    """Float memory that ends the process, or cheats Python, when it is written."""
    if kind == "bytes":
        return np.frombuffer(bytes(16), np.float32)
    np.zeros(4, np.float32).tofile(tmp_path / "data")
    return np.memmap(tmp_path / "data", np.float32, "r")


@pytest.mark.cpu(reason="memory of the host")
def test_bytes_are_those_of_a_record():
    for values in (wp.zeros(4, dtype=float), wp.zeros(4, dtype=float, requires_grad=True), None):
        value = outer(values)
        assert struct_packer(Outer, CPU)(value)[: Outer.numpy_dtype().itemsize] == record_of(value).tobytes()
        assert len(struct_packer(Outer, CPU)(value)) % 8 == 0


@pytest.mark.parametrize("t", sorted(scalars.NUMBERS, key=str))
def test_numbers_of_every_type(t):
    One = wp.struct(type("One", (), {"__annotations__": {"a": wp.int8, "x": t}}))
    value = One(a=1, x=t(3))
    assert struct_packer(One, CPU)(value)[: One.numpy_dtype().itemsize] == record_of(value).tobytes()


@pytest.mark.cpu(reason="memory of the host")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["bytes", "memmap"])
@pytest.mark.parametrize("how", ["launch", "again", "command", "parameter", "graph"])
def test_read_only_memory_is_not_written_through_a_struct(device, kind, how, tmp_path):
    fixed = wp.array(frozen_memory(kind, tmp_path), dtype=float, copy=False)
    good, bad = outer(wp.zeros(4, dtype=float)), outer(fixed)
    message = "argument 'o.inner.values' of kernel 'fill' is read-only memory"
    with wp.ScopedDevice(device):
        if how == "again":
            wp.launch(fill, 4, inputs=[good])
        command = wp.launch(fill, 4, inputs=[good], record_cmd=True)
        with pytest.raises(ReadOnlyError, match=message):
            if how == "command":
                wp.launch(fill, 4, inputs=[bad], record_cmd=True)
            elif how == "parameter":
                command.set_param_by_name("o", bad)
            elif how == "graph":
                with wp.ScopedCapture():
                    wp.launch(fill, 4, inputs=[bad])
            else:
                wp.launch(fill, 4, inputs=[bad])
        command.launch()
    assert good.inner.values.numpy().tolist() == [-2.0, 1.0, 4.0, 7.0]
    assert not fixed.numpy().any()


@pytest.mark.cpu(reason="memory of the host")
@pytest.mark.parametrize("device", DEVICES)
def test_read_only_memory_is_read_through_a_struct(device, tmp_path):
    values = outer(wp.array(frozen_memory("memmap", tmp_path), dtype=float, copy=False))
    out = wp.ones(4, dtype=float)
    wp.launch(count_in, 4, inputs=[values, out], device=device)
    assert not out.numpy().any()


@pytest.mark.cpu(reason="memory of the host")
def test_an_array_that_may_be_written_counts_as_written(tmp_path):
    fixed = outer(wp.array(frozen_memory("bytes", tmp_path), dtype=float, copy=False))
    with pytest.raises(ReadOnlyError, match=r"'o\.inner\.values' of kernel 'pick'"):
        wp.launch(pick, 4, inputs=[1, fixed, wp.zeros(4, dtype=float)])


@pytest.mark.cpu(reason="memory of the host")
def test_read_only_gradients_are_refused():
    x = wp.zeros(4, dtype=float)
    with pytest.raises(ReadOnlyError, match="the gradient is read-only memory"):
        x.grad = wp.array(np.frombuffer(bytes(16), np.float32), dtype=float, copy=False)
