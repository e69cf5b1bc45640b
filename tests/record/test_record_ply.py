"""PLY files: trimesh reads points, faces and every array of vertices; numbers are those that were recorded."""

import numpy as np
import pytest
from recordings import everything, grains

from warpsim.record import Body, PlySequence, Recorder
from warpsim.solvers.scene.soft import surface

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: pip install '.[dev]'")


def vertex_data(mesh):
    return mesh.metadata["_ply_raw"]["vertex"]["data"]


def test_points_with_all_their_numbers(tmp_path):
    solver, state = grains()
    with Recorder(tmp_path, [PlySequence()], arrays=["particle_w", "particle_mass"]) as record:
        for frame in range(3):
            solver.step(state, state, dt=0.01)
            record.frame(state, frame)
    names = sorted(p.name for p in (tmp_path / "ply").glob("particles*"))
    assert names == [f"particles_00000{k}.ply" for k in range(3)]
    cloud = trimesh.load(tmp_path / "ply" / "particles_000002.ply", process=False)
    data = vertex_data(cloud)
    for k, axis in enumerate("xyz"):
        assert (data[axis] == state.particle_q.numpy()[:, k]).all()
        assert (data[f"velocity_{axis}"] == state.particle_qd.numpy()[:, k]).all()
        assert (data[f"particle_w_{axis}"] == state.particle_w.numpy()[:, k]).all()
    assert (data["radius"] == solver.model.particle_radius.numpy()).all() and data["radius"].dtype == np.float32
    assert (data["particle_mass"] == solver.model.particle_mass.numpy()).all()


def test_triangles_and_the_surface_of_tetrahedra(tmp_path):
    model = everything()
    with Recorder(tmp_path, [PlySequence()]) as record:
        record.frame(model.state(), 0.0)
    q = model.particle_q.numpy()
    triangles, tets = model.tri_indices.numpy(), model.tet_indices.numpy()
    sheet = triangles[~np.isin(triangles, tets).all(axis=1)]
    cloth = trimesh.load(tmp_path / "ply" / "cloth_000000.ply", process=False)
    assert (cloth.vertices[cloth.faces] == q[sheet]).all()
    soft = trimesh.load(tmp_path / "ply" / "soft_000000.ply", process=False)
    assert (soft.vertices[soft.faces] == q[surface(tets)]).all()
    assert soft.is_watertight and soft.volume == pytest.approx(0.2 * 0.1 * 0.1, rel=1e-5)


def test_types_and_matrices(tmp_path):
    rng = np.random.default_rng(0)
    four = np.arange(4)
    arrays = {"m": rng.random((4, 2, 2)), "i": four.astype(np.int16), "n": four + 2**40, "b": four > 1}
    with Recorder(tmp_path, [PlySequence()]) as record:
        record.frame(None, 0.0, bodies=[Body("b", rng.random((4, 3)), arrays=arrays), Body("none", np.empty((0, 3)))])
    data = vertex_data(trimesh.load(tmp_path / "ply" / "b_000000.ply", process=False))
    assert (np.stack([data[f"m_{k}"] for k in range(4)], axis=1) == arrays["m"].reshape(4, 4)).all()
    assert (data["i"] == arrays["i"]).all() and (data["n"] == arrays["n"]).all() and data["b"].tolist() == [0, 0, 1, 1]
    assert b"element vertex 0\n" in (tmp_path / "ply" / "none_000000.ply").read_bytes()
