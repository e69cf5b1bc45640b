"""Graphs that cannot be saved: errors that say what is in the way, and what to do."""

import pytest
from graph_file_cases import axpy, numbers, value_of

import warpsim as wp
from warpsim.core.runtime.steps.host_call import call_or_record
from warpsim.errors import ArgumentTypeError, GraphFileError


def refused(capture, message, tmp_path, **names):
    with pytest.raises(GraphFileError, match=message):
        wp.capture_save(capture.graph, tmp_path / "refused", **names)
    assert not list(tmp_path.glob("refused*"))


def test_arrays_that_the_graph_does_not_reach(tmp_path):
    x, y = numbers(6), wp.zeros(6, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(axpy, dim=6, inputs=[x, y, 1.0])
    refused(capture, "array 'z' is none that the graph reaches", tmp_path, inputs={"z": wp.clone(x)})
    refused(capture, "'x' names one array in inputs and another one", tmp_path, inputs={"x": x}, outputs={"x": y})
    with pytest.raises(ArgumentTypeError, match=r"inputs\['x'\] is ndarray"):
        wp.capture_save(capture.graph, tmp_path / "g", {"x": x.numpy()})
    with pytest.raises(ArgumentTypeError, match="a name of outputs"):
        wp.capture_save(capture.graph, tmp_path / "g", outputs={3: x})
    with pytest.raises(ArgumentTypeError, match="inputs"):
        wp.capture_save(capture.graph, tmp_path / "g", [x])
    with pytest.raises(ArgumentTypeError, match="graph"):
        wp.capture_save("graph", tmp_path / "g")
    for path in ("", ".wrp", f"{tmp_path}/"):
        with pytest.raises(GraphFileError, match="names no file"):
            wp.capture_save(capture.graph, path)
        with pytest.raises(GraphFileError, match="names no file"):
            wp.capture_load(path)
    with pytest.raises(ArgumentTypeError, match="path"):
        wp.capture_save(capture.graph, 3)


@wp.kernel
def of_an_id_in_memory(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    box = wp.bvh_query_aabb(ids[0], wp.vec3(0.0), wp.vec3(1.0))
    k = int(0)
    if wp.bvh_query_next(box, k):
        out[0] = 1.0


def test_an_id_out_of_memory(tmp_path):
    lows, highs = numbers(3, dtype=wp.vec3), numbers(3, dtype=wp.vec3)
    bvh = wp.Bvh(lows, highs)
    ids, out = wp.array([bvh.id], dtype=wp.uint64), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(of_an_id_in_memory, dim=1, inputs=[ids, out])
    refused(capture, "takes the id of a Bvh.* out of memory\nhelp: pass the id to the kernel", tmp_path)


@wp.kernel
def of_an_id(tree: wp.uint64, out: wp.array(dtype=float)):
    query, k = wp.bvh_query_aabb(tree, wp.vec3(0.0), wp.vec3(1.0)), int(0)
    if wp.bvh_query_next(query, k):
        out[0] = 1.0


def test_a_structure_that_is_gone(tmp_path):
    tree, out = wp.Bvh(numbers(3, dtype=wp.vec3), numbers(3, 1, dtype=wp.vec3)), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(of_an_id, dim=1, inputs=[tree.id, out])
        wp.launch(of_an_id, dim=1, inputs=[0, out])
    wp.capture_save(capture.graph, tmp_path / "tree", outputs={"out": out})  # the launch keeps the arrays alive
    graph = wp.capture_load(tmp_path / "tree")
    wp.capture_launch(graph)
    wp.capture_launch(capture.graph)
    assert value_of(graph, "out", out).tolist() == out.numpy().tolist()
    tree._handle.close()
    refused(capture, "kernel 'of_an_id' with a .* that is closed", tmp_path)


def test_a_launch_on_another_device_than_that_of_the_capture(tmp_path):
    x, y = (wp.zeros(3, dtype=float, device="cpu") for _ in range(2))
    with wp.ScopedCapture(device="interp") as capture:
        wp.launch(axpy, dim=3, inputs=[x, y, 1.0], device="cpu")
    message = "kernel 'axpy' on cpu in a graph of interp\nhelp: capture it with device='cpu'"
    refused(capture, message, tmp_path)


def test_the_interpreter_has_no_machine_code(tmp_path):
    x, y = wp.zeros(3, dtype=float, device="interp"), wp.zeros(3, dtype=float, device="interp")
    with wp.ScopedCapture(device="interp") as capture:
        wp.launch(axpy, dim=3, inputs=[x, y, 1.0], device="interp")
    refused(capture, "kernel 'axpy' on interp, which has no machine code\nhelp: capture it on", tmp_path)


def test_work_of_the_host_that_files_cannot_hold(tmp_path):
    with wp.ScopedCapture() as capture:
        call_or_record(lambda: None)
    refused(capture, "work of the host that only this process can do", tmp_path)


def test_a_loaded_graph_is_not_saved_again(saved, tmp_path):
    loaded = wp.capture_load(saved)
    with pytest.raises(GraphFileError, match="help: copy its file"):
        wp.capture_save(loaded, tmp_path / "again")
    with wp.ScopedCapture() as capture:
        wp.capture_launch(loaded)
    refused(capture, "a graph out of a file, work of the host", tmp_path)
    going = wp.zeros(1, dtype=int)
    for choose in (wp.capture_if, wp.capture_while):
        with wp.ScopedCapture() as capture:
            choose(going, loaded)
        refused(capture, "a graph out of a file, as a branch", tmp_path)
