"""Files for ParaView: VTK's own reader gives back every number, bit for bit, and lists lead to every frame."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from recordings import everything, grains, listed, read_vtk, vtk_numpy

import warpsim as wp
from warpsim.record import Body, Recorder, RecordError, VtkSeries
from warpsim.solvers.scene.soft import surface


def same(a, b):
    """Equal in type and in every bit."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_every_number_of_a_state_comes_back(tmp_path, dtype):
    model = everything(dtype)
    state, control = model.state(), model.control()
    rng = np.random.default_rng(0)
    state.particle_q.assign(state.particle_q.numpy() + rng.normal(0, 1e-3, (model.particle_count, 3)))
    state.particle_qd.assign(rng.normal(size=(model.particle_count, 3)))
    heat = rng.random(model.particle_count)
    with Recorder(tmp_path / "run", [VtkSeries()], arrays=["particle_mass", "tri_area", "tet_pose", "shape_mu"]) as rec:
        rec.frame(state, 0.1, control=control, arrays={"heat": heat})
    files = {path.stem: listed(path) for path in (tmp_path / "run").glob("*.pvd")}
    assert files.keys() == {"particles", "cloth", "soft", "shapes", "planes"}
    read = {name: read_vtk(entries[0][1]) for name, entries in files.items()}
    assert all(parts[0] == 0.1 for parts in read.values())

    q, qd, r, m = (a.numpy() for a in (state.particle_q, state.particle_qd, model.particle_radius, model.particle_mass))
    triangles, tets = model.tri_indices.numpy(), model.tet_indices.numpy()
    free = np.setdiff1d(np.arange(model.particle_count), np.concatenate([triangles.ravel(), tets.ravel()]))
    assert len(free) == 6
    _, points, cells, arrays, _ = read["particles"]
    assert same(points, q[free]) and same(cells.ravel().astype(int), np.arange(6))
    assert arrays.keys() == {"velocity", "radius", "particle_mass", "heat"}
    for name, expected in (("velocity", qd), ("radius", r), ("particle_mass", m), ("heat", heat)):
        assert same(arrays[name], expected[free]), name

    sheet = ~np.isin(triangles, tets).all(axis=1)
    for name, corners, rows, field in (
        ("cloth", triangles[sheet], sheet, "tri_area"),
        ("soft", tets, slice(None), "tet_pose"),
    ):
        _, points, cells, arrays, of_cells = read[name]
        assert same(points[cells], q[corners]) and same(arrays["velocity"][cells], qd[corners])
        values = getattr(model, field).numpy()[rows]
        assert same(of_cells[field], values.reshape(len(values), -1).squeeze())
        assert len(points) == len(np.unique(corners)), "points that belong to no cell"
    assert len(read["soft"][2]) == model.tet_count > 0
    _, points, cells, _, of_cells = read["shapes"]
    assert np.abs(np.linalg.norm(points - [0.4, 0.3, 0.3], axis=1) - 0.3).max() < 1e-6
    assert same(of_cells["shape"], np.zeros(len(cells), np.int32))
    assert same(of_cells["shape_mu"], np.full(len(cells), 0.5, q.dtype))
    assert np.abs(read["planes"][1][:, 1]).max() < 1e-6


def test_frames_have_their_times_and_numbers(tmp_path):
    solver, state = grains()
    kept = []
    with Recorder(tmp_path, [VtkSeries()], arrays=["particle_w"]) as record:
        for frame in range(4):
            solver.step(state, state, dt=0.01)
            assert record.frame(state, 0.01 * (frame + 1)) == frame
            kept.append((state.particle_q.numpy().copy(), state.particle_w.numpy().copy()))
    entries = listed(tmp_path / "particles.pvd")
    assert [time for time, _ in entries] == [0.01 * (k + 1) for k in range(4)]
    for (time, path), (q, w) in zip(entries, kept, strict=True):
        there, points, _, arrays, _ = read_vtk(path)
        assert there == time and same(points, q) and same(arrays["particle_w"], w)
    root = ElementTree.parse(tmp_path / "particles.pvd").getroot()
    assert root.attrib["type"] == "Collection" and len(root.findall("Collection/DataSet")) == 4


def test_what_stands_still_is_written_once(tmp_path):
    model = everything()
    state, control = model.state(), model.control()
    with Recorder(tmp_path, [VtkSeries()]) as record:
        for frame in range(5):
            if frame == 3:
                control.set_shape(0, position=(0.0, 1.0, 0.0))
            record.frame(state, frame, control=control)
    files = [path.name for _, path in listed(tmp_path / "shapes.pvd")]
    assert files == ["shapes_000000.vtp"] * 3 + ["shapes_000003.vtp"] * 2
    assert np.abs(np.linalg.norm(read_vtk(tmp_path / "vtk" / files[-1])[1] - [0, 1, 0], axis=1) - 0.3).max() < 1e-6


def test_what_stood_still_keeps_its_file_in_a_recording_that_goes_on(tmp_path):
    """Unless it stands elsewhere by then, or its file is gone."""
    model = everything()
    state, control = model.state(), model.control()

    def record(first, frames):
        with Recorder(tmp_path, [VtkSeries()], first_frame=first) as recorder:
            for frame in range(first, frames):
                recorder.frame(state, 0.1 * frame, control=control)
        return [path.name for _, path in listed(tmp_path / "shapes.pvd")]

    assert record(0, 4) == ["shapes_000000.vtp"] * 4
    assert record(3, 6) == ["shapes_000000.vtp"] * 6
    control.set_shape(0, position=(0.0, 1.0, 0.0))
    assert record(4, 7) == ["shapes_000000.vtp"] * 4 + ["shapes_000004.vtp"] * 3
    (tmp_path / "vtk" / "shapes_000004.vtp").unlink()
    assert record(6, 8)[-2:] == ["shapes_000006.vtp"] * 2


def test_a_damaged_time_is_no_frame(tmp_path):
    """A recording that goes on begins where the frames that can be read end, or says that some are missing."""
    state = everything().state()
    with Recorder(tmp_path, [VtkSeries()]) as recorder:
        for frame in range(3):
            recorder.frame(state, 1.0e-7 * frame)
    for listing in tmp_path.glob("*.pvd"):
        listing.write_text(listing.read_text().replace('timestep="2e-07"', 'timestep="2e-0.7x"'))
    with pytest.raises(RecordError, match="VTK series"):
        Recorder(tmp_path, [VtkSeries()], first_frame=3).__enter__()
    with Recorder(tmp_path, [VtkSeries()], first_frame=2) as recorder:
        recorder.frame(state, 2.0e-7)
    assert [time for time, _ in listed(tmp_path / "particles.pvd")] == [0.0, 1.0e-7, 2.0e-7]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "i1", "u1", "i4", "u4", "i8", "u8", "?"])
def test_arrays_of_any_type(tmp_path, kind):
    rng = np.random.default_rng(0)
    values = (100 * rng.random((7, 2))).astype(kind)
    strided = np.repeat(values, 2, axis=0)[::2]
    body = Body("b", rng.random((7, 3)), arrays={"a": strided, "b": values[:, 0]})
    with Recorder(tmp_path, [VtkSeries()]) as record:
        record.frame(None, 0.0, bodies=[body])
    _, points, _, arrays, _ = read_vtk(tmp_path / "vtk" / "b_000000.vtp")
    assert (arrays["b"] == values[:, 0]).all()
    assert same(points, body.points) and (arrays["a"] == values).all() and arrays["a"].shape == (7, 2)
    assert arrays["a"].dtype == {"f2": np.float32, ">f4": np.float32, "?": np.uint8}.get(kind, np.dtype(kind))


def test_bodies_without_points_and_of_changing_size(tmp_path):
    rng = np.random.default_rng(0)
    bodies = [
        Body("water", rng.random((n, 3), np.float32), np.int64([[0, 1, 2]] * (n - 3)) if n else np.empty((0, 3), int))
        for n in (0, 4, 6)
    ]
    with Recorder(tmp_path, [VtkSeries()]) as record:
        for time, body in enumerate(bodies):
            record.frame(None, time, bodies=[body, Body("none", np.empty((0, 3)))])
    for (_, path), body in zip(listed(tmp_path / "water.pvd"), bodies, strict=True):
        if len(body.points):
            _, points, cells, _, _ = read_vtk(path)
            assert same(points, body.points) and (cells == body.cells).all()
    readers, _ = vtk_numpy()
    reader = readers[".vtp"]()
    reader.SetFileName(str(listed(tmp_path / "none.pvd")[0][1]))
    reader.Update()
    assert reader.GetErrorCode() == 0 and reader.GetOutput().GetNumberOfPoints() == 0


def test_arrays_of_warpsim_and_names_that_xml_would_misread(tmp_path):
    heat = wp.array([1.0, 2.0], dtype=float)
    body = Body("b", wp.array([[0, 1, 2], [3, 4, 5]], dtype=wp.vec3), arrays={'<"heat" & more>': heat})
    with Recorder(tmp_path, [VtkSeries()]) as record:
        record.frame(None, 0.0, bodies=[body])
    _, points, _, arrays, _ = read_vtk(tmp_path / "vtk" / "b_000000.vtp")
    assert same(points, np.float32([[0, 1, 2], [3, 4, 5]])) and same(arrays['<"heat" & more>'], heat.numpy())


def test_a_new_recording_leaves_nothing_of_the_old_one(tmp_path):
    (tmp_path / "vtk").mkdir()
    (tmp_path / "vtk" / "notes.txt").write_text("mine")
    for frames, name in ((3, "old"), (1, "new")):
        with Recorder(tmp_path, [VtkSeries()]) as record:
            for k in range(frames):
                record.frame(None, k, bodies=[Body(name, [[0.0, 0.0, 0.0]])])
    assert {p.name for p in tmp_path.iterdir()} == {"vtk", "new.pvd", "recording.json"}
    assert {p.name for p in (tmp_path / "vtk").iterdir()} == {"notes.txt", "new_000000.vtp"}


def test_fields_that_cannot_be_recorded(tmp_path):
    model = everything()
    for name in ("spring_rest_length", "particle_", "gravity"):
        record = Recorder(tmp_path, [VtkSeries()], arrays=[name])
        with pytest.raises(RecordError, match=rf"arrays names '{name}'\nexpected: particle_f, particle_mass, .*tet_mu"):
            record.frame(model.state(), 0.0)
    record = Recorder(tmp_path, [VtkSeries()])
    with pytest.raises(RecordError, match=r"heat are float64 of shape \(3,\)\nexpected: numbers \(30, \.\.\.\)"):
        record.frame(model.state(), 0.0, arrays={"heat": np.zeros(3)})
    assert record.frame(model.state(), 0.0) == 0, "a frame that could not be made is not in the way of the next"


def test_the_surface_of_a_soft_body_is_not_taken_for_cloth(tmp_path):
    model = everything()
    with Recorder(tmp_path, [VtkSeries()]) as record:
        record.frame(model.state(), 0.0)
    sheet = read_vtk(tmp_path / "vtk" / "cloth_000000.vtp")[2]
    assert len(sheet) == model.tri_count - len(surface(model.tet_indices.numpy())) == 12
