"""Files of graphs: where they go, and what is said of missing and of damaged ones."""

import itertools
import json
import os
import pickle
import shutil
import stat
import threading
from hashlib import sha256

import numpy as np
import pytest
from graph_file_cases import axpy, combine, numbers, value_of

import warpsim as wp
from warpsim.core.emit import layout as emitted
from warpsim.core.emit.cuda import code as cuda_code
from warpsim.core.graph_files import layout
from warpsim.core.runtime.launches import failed_checks, pool
from warpsim.core.types import handles
from warpsim.core.types.arrays import array_type, descriptor_words
from warpsim.errors import ArgumentTypeError, DeviceError, GraphFileError, MissingGraphFileError


def test_the_suffix_may_be_left_out_and_folders_are_made(tmp_path):
    x, y = numbers(3), wp.zeros(3, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(axpy, dim=3, inputs=[x, y, 1.0])
    for path in (tmp_path / "one", str(tmp_path / "two.wrp"), tmp_path / "new" / "folder" / "three"):
        wp.capture_save(capture.graph, path, {"x": x}, {"y": y})
        for name in (path, str(path).removesuffix(".wrp"), f"{str(path).removesuffix('.wrp')}.wrp"):
            graph = wp.capture_load(name)
            wp.capture_launch(graph)
            np.testing.assert_array_equal(value_of(graph, "y", y), x.numpy())
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["new", "one.wrp", "one_modules", "two.wrp", "two_modules"]
    assert len(list((tmp_path / "one_modules").iterdir())) == 1


def test_a_graph_without_kernels_is_one_file(tmp_path):
    x = numbers(5)
    with wp.ScopedCapture() as capture:
        x.fill_(3.0)
    wp.capture_save(capture.graph, tmp_path / "fill", outputs={"x": x})
    assert [p.name for p in tmp_path.iterdir()] == ["fill.wrp"]
    graph = wp.capture_load_from_bytes((tmp_path / "fill.wrp").read_bytes())
    before = value_of(graph, "x", x)
    np.testing.assert_array_equal(before, x.numpy())
    wp.capture_launch(graph)
    np.testing.assert_array_equal(value_of(graph, "x", x), np.full(5, 3.0))


def test_a_graph_comes_from_bytes_too(saved):
    modules = {p.name: p.read_bytes() for p in (saved.parent / "graph_modules").iterdir()}
    data = saved.read_bytes()
    others = {"unused": b"?", **{name: memoryview(code) for name, code in modules.items()}}
    for content, files in ((data, modules), (bytearray(data), others), (np.frombuffer(data, np.uint8), modules)):
        graph = wp.capture_load_from_bytes(content, files)
        wp.capture_launch(graph)
        assert graph.params == {"x": {"size": 24}, "y": {"size": 24}}
    refusals = [
        ((data,), MissingGraphFileError, "machine code 'axpy_.*' of the graph is missing"),
        ((data, [1]), ArgumentTypeError, "modules is list\nexpected: a mapping"),
        ((data, {1: b""}), ArgumentTypeError, "a name of modules is int"),
        ((data, dict.fromkeys(modules, "text")), ArgumentTypeError, r"modules\['axpy_.*'\] is str"),
        (("text", modules), ArgumentTypeError, "data is str\nexpected: bytes"),
        ((np.frombuffer(data * 2, np.uint8)[::2], modules), ValueError, "a buffer with gaps"),
        ((b"", modules), GraphFileError, "data is no graph\nfound: 0 bytes that begin with nothing"),
    ]
    for arguments, kind, message in refusals:
        with pytest.raises(kind, match=message):
            wp.capture_load_from_bytes(*arguments)


def test_missing_files_are_named(saved, tmp_path):
    with pytest.raises(MissingGraphFileError, match=r"there is no graph .*other\.wrp"):
        wp.capture_load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        wp.capture_load(tmp_path / "other")
    with pytest.raises(RuntimeError):
        wp.capture_load(tmp_path / "other")
    with pytest.raises(GraphFileError, match="cannot be read"):
        os.mkdir(tmp_path / "folder.wrp")
        wp.capture_load(tmp_path / "folder")
    shutil.rmtree(tmp_path / "graph_modules")
    missing = r"there is no machine code .*graph_modules.axpy_.*\nhelp: copy the folder graph_modules"
    with pytest.raises(MissingGraphFileError, match=missing):
        wp.capture_load(saved)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_nobody_may_write_to(saved, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with wp.ScopedCapture() as capture:
        numbers(2).fill_(1.0)
    with pytest.raises(GraphFileError, match="cannot be written"):
        wp.capture_save(capture.graph, closed / "graph")


def test_where_no_file_can_be_there_is_an_error_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("")
    with wp.ScopedCapture() as capture:
        numbers(2).fill_(1.0)
    with pytest.raises(GraphFileError, match="the graph cannot be written to"):
        wp.capture_save(capture.graph, tmp_path / "file" / "graph")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_graph_takes_the_place_of_another_one_at_once(saved, tmp_path):
    """And leaves nothing behind that is no part of a graph."""
    x = numbers(6)
    with wp.ScopedCapture() as capture:
        x.fill_(1.0)
    wp.capture_save(capture.graph, saved, {"x": x})
    assert list(wp.capture_load(saved).params) == ["x"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.wrp", "graph_modules"]


def test_who_reads_while_another_writes_has_one_graph_or_the_other(tmp_path):
    x, y = wp.full(6, 1.0, dtype=float), wp.zeros(6, dtype=float)
    graphs = []
    for kernel in (axpy, combine):
        with wp.ScopedCapture() as capture:
            wp.launch(kernel, dim=6, inputs=[x, y, 2.0] if kernel is axpy else [x, y])
        graphs.append(capture.graph)
    wp.capture_save(graphs[0], tmp_path / "graph", outputs={"y": y})
    sums, stop = set(), threading.Event()

    def write():
        for k in itertools.count():
            wp.capture_save(graphs[k % 2], tmp_path / "graph", outputs={"y": y})
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(60):
            graph = wp.capture_load(tmp_path / "graph")
            wp.capture_launch(graph)
            sums.add(float(value_of(graph, "y", y).sum()))
    finally:
        stop.set()
        writer.join()
    assert sums <= {12.0, 6.0}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.wrp", "graph_modules"]


# ----- damaged files ------------------------------------------------------------------------------


def test_every_byte_counts(saved):
    """Whatever byte is another one, the graph is refused; so is one that is cut off or goes on."""
    data = saved.read_bytes()
    modules = {p.name: p.read_bytes() for p in (saved.parent / "graph_modules").iterdir()}
    places = {*range(64), *range(0, len(data), 7), len(data) - 1}
    for place in sorted(places):
        for change in (1, 0x80):
            altered = bytearray(data)
            altered[place] ^= change
            with pytest.raises(GraphFileError, match="is no graph\nfound"):
                wp.capture_load_from_bytes(altered, modules)
    for length in sorted({*range(70), *range(0, len(data), 11), len(data) - 1}):
        with pytest.raises(GraphFileError, match="is no graph\nfound"):
            wp.capture_load_from_bytes(data[:length], modules)
    with pytest.raises(GraphFileError, match=r"bytes\nexpected: .*, as its head says"):
        wp.capture_load_from_bytes(data + b"\0", modules)
    [(name, code)] = modules.items()
    for place in range(0, len(code), 13):
        altered = bytearray(code)
        altered[place] ^= 4
        with pytest.raises(GraphFileError, match="wrong checksum"):
            wp.capture_load_from_bytes(data, {name: altered})
        with pytest.raises(GraphFileError, match="wrong checksum"):
            wp.capture_load_from_bytes(data, {name: code[:place]})


def forged(data, change):
    """The file with another description and a right checksum."""
    description, contents = layout.unpack(data, "data")
    change(description)
    return layout.pack(json.dumps(description).encode(), bytes(contents))


def paths_in(value, path=()):
    """Where values stand in a description."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths_in(inner, (*path, key))


def put(description, path, value):
    for key in path[:-1]:
        description = description[key]
    description[path[-1]] = value


SENSELESS = [None, -1, 2**63, 10**30, 3, 1.5, True, "", "zz", [], [[]], [[1]], [0, 0, 99], {}, [{}], "|V8", "O"]


@pytest.mark.parametrize("value", SENSELESS, ids=repr)
def test_a_description_may_say_anything(value, saved):
    """With a right checksum, too: what cannot be is refused, and nothing of it runs."""
    data = saved.read_bytes()
    modules = {p.name: p.read_bytes() for p in (saved.parent / "graph_modules").iterdir()}
    description, _ = layout.unpack(data, "data")
    refused = 0
    for path in paths_in(description):
        file = forged(data, lambda d, path=path: put(d, path, value))
        try:
            wp.capture_load_from_bytes(file, modules)
        except (GraphFileError, DeviceError, MemoryError):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("depth", [100, 100_000])
def test_a_description_that_is_nested_without_end(depth, saved):
    description, contents = layout.unpack(saved.read_bytes(), "data")
    nest = '{"do":"branch","if":' + json.dumps({"place": [1, 0, 4], "shape": [1], "strides": [4], "dtype": "<i4"})
    steps = f'{nest},"else":[],"then":[' * depth + "]}" * depth
    text = json.dumps({**description, "steps": []}).replace('"steps": []', f'"steps": [{steps}]')
    modules = {p.name: p.read_bytes() for p in (saved.parent / "graph_modules").iterdir()}
    with pytest.raises(GraphFileError, match=r"nested more than|no JSON"):
        wp.capture_load_from_bytes(layout.pack(text.encode(), bytes(contents)), modules)


def test_names_of_files_lead_nowhere_else(saved):
    outside = saved.parent / "outside"
    shutil.copy(next((saved.parent / "graph_modules").iterdir()), outside)
    for name in ("../outside", str(outside), "..", "a/../b", ""):
        saved.write_bytes(forged(saved.read_bytes(), lambda d, name=name: put(d, ("modules", 0, "file"), name)))
        with pytest.raises(GraphFileError, match="no name of a file"):
            wp.capture_load(saved)


def test_machine_code_that_is_none(saved):
    """With a right checksum: the linker is not given what does not look like an object."""
    data = saved.read_bytes()
    [(name, code)] = [(p.name, p.read_bytes()) for p in (saved.parent / "graph_modules").iterdir()]
    header = int.from_bytes(code[:8], "little")
    fakes = [b"", b"1234567", bytes(40), code[:30], code[:8] + b"{}" + code[10:], code[: 8 + header]]
    if wp.get_device().is_cpu:  # a driver does not mind what follows
        fakes.append(code + b"1")
    for fake in fakes:
        file = forged(data, lambda d, fake=fake: put(d, ("modules", 0, "sha256"), sha256(fake).hexdigest()))
        with pytest.raises(GraphFileError, match="does not run here"):
            wp.capture_load_from_bytes(file, {name: fake})


def test_what_the_version_of_the_format_stands_for():
    """Code in files agrees with launches about all this: who changes it raises FORMAT, and then these numbers."""
    assert layout.FORMAT == 2
    assert (emitted.HEADER_WORDS, emitted.BLOCK_WORD, emitted.WORD) == (6, 5, 8)
    assert (emitted.CONCURRENT, emitted.SCATTERED_PRIVATE, emitted.GATHERED_PRIVATE) == (1, 2, 4)
    assert [descriptor_words(array_type(wp.float32, 3, indexed)) for indexed in (False, True)] == [8, 14]
    assert (handles.HEADER, handles.ROW_BITS, handles.TABLE_NAME, handles.ROWS.shape) == (
        16,
        20,
        "warpsim_structures",
        (1 << 20, 4),
    )
    assert (failed_checks._WORDS, pool.COMMAND.format, cuda_code.KERNEL) == (5, "@QQqqqq", "warpsim_kernel")


def test_another_version_of_the_format(saved, monkeypatch):
    monkeypatch.setattr(layout, "FORMAT", layout.FORMAT + 1)
    with pytest.raises(GraphFileError, match="found: version 2 of the format\nexpected: version 3"):
        wp.capture_load(saved)


@pytest.mark.cpu(reason="what code of a CPU asks for")
def test_code_of_another_kind_of_machine(saved):
    data = saved.read_bytes()
    modules = {p.name: p.read_bytes() for p in (saved.parent / "graph_modules").iterdir()}
    machine = layout.unpack(data, "data")[0]["machine"]
    cases = {
        "code for s390x-ibm-linux, and this is": {**machine, "triple": "s390x-ibm-linux"},
        "code for a processor with amx-fp64, which this one lacks": {
            **machine,
            "features": [*machine["features"], "+amx-fp64"],
        },
    }
    for message, other in cases.items():
        with pytest.raises(GraphFileError, match=message):
            wp.capture_load_from_bytes(forged(data, lambda d, other=other: put(d, ("machine",), other)), modules)
    less = {**machine, "features": machine["features"][:3], "libmvec": False}
    wp.capture_load_from_bytes(forged(data, lambda d: put(d, ("machine",), less)), modules)
    with pytest.raises(DeviceError, match="a graph for 'cuda', and it is loaded on 'cpu'"):
        wp.capture_load_from_bytes(forged(data, lambda d: put(d, ("device",), "cuda")), modules)


def test_nothing_is_unpickled(saved):
    for data in (pickle.dumps({"steps": []}), b"\x93NUMPY" + bytes(100), b"WRP1" + bytes(200)):
        saved.write_bytes(data)
        with pytest.raises(GraphFileError, match=r"expected: a graph that wp\.capture_save wrote"):
            wp.capture_load(saved)
