"""The program on meshes of the article that introduced NVIDIA Warp, with only the import line changed."""

import numpy as np

import warpsim as wp


@wp.kernel
def project(
    positions: wp.array(dtype=wp.vec3),
    mesh: wp.uint64,
    output_pos: wp.array(dtype=wp.vec3),
    output_face: wp.array(dtype=int),
):
    tid = wp.tid()

    x = wp.load(positions, tid)

    face_index = int(0)
    face_u = float(0.0)
    face_v = float(0.0)
    sign = float(0.0)

    max_dist = 2.0

    if wp.mesh_query_point(mesh, x, max_dist, sign, face_index, face_u, face_v):
        p = wp.mesh_eval_position(mesh, face_index, face_u, face_v)

        output_pos[tid] = p
        output_face[tid] = face_index


def test_points_are_projected_on_a_mesh():
    """A square in the plane z = 0, of two triangles."""
    corners = wp.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=wp.vec3)
    mesh = wp.Mesh(corners, wp.array([0, 1, 2, 0, 2, 3], dtype=int))
    x = np.float32([[0.9, 0.1, 0.5], [0.1, 0.9, -1.5], [2.0, 0.5, 0.0], [0.5, 0.5, 2.5]])
    out, face = wp.full(4, wp.vec3(9.0, 9.0, 9.0), dtype=wp.vec3), wp.full(4, -1, dtype=int)
    wp.launch(kernel=project, dim=4, inputs=[wp.array(x, dtype=wp.vec3), mesh.id, out, face])
    expected = np.float32([[0.9, 0.1, 0], [0.1, 0.9, 0], [1.0, 0.5, 0], [9, 9, 9]])  # the last is too far away
    np.testing.assert_allclose(out.numpy(), expected, atol=1e-6)
    assert face.numpy().tolist() == [0, 1, 0, -1]
