"""Programs on meshes, hash grids and feature aggregation from published articles, with only the import line changed."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError


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


@wp.kernel
def sum(grid : wp.uint64, points: wp.array(dtype=wp.vec3), output: wp.array(dtype=wp.vec3), radius: float):
    tid = wp.tid()

    # query point
    p = points[tid]

    # create grid query around point
    query = wp.hash_grid_query(grid, p, radius)
    index = int(0)

    sum = wp.vec3()

    while(wp.hash_grid_query_next(query, index)):

        neighbor = points[index]

        # compute distance to neighbor point
        dist = wp.length(p-neighbor)
        if (dist <= radius):
            sum += neighbor

    output[tid] = sum


def test_neighbours_are_summed():
    x = np.random.default_rng(0).uniform(-3.0, 3.0, (300, 3)).astype(np.float32)
    p, r, out = wp.array(x, dtype=wp.vec3), 1.0, wp.zeros(300, dtype=wp.vec3)
    grid = wp.HashGrid(dim_x=128, dim_y=128, dim_z=128, device="cpu")
    grid.build(points=p, radius=r)
    wp.launch(sum, dim=300, inputs=[grid.id, p, out, r])
    near = np.linalg.norm(x[:, None] - x[None], axis=2) <= r
    np.testing.assert_allclose(out.numpy(), near.astype(np.float32) @ x, atol=1e-4)


@wp.kernel
def warp_radius_bounded_feature_aggregation(
    query_points: wp.array(dtype=wp.vec3),
    ref_points: wp.array(dtype=wp.vec3),
    ref_features: wp.array2d(dtype=wp.float32),
    grid: wp.uint64,
    radius: float,
    sigma: float,
    output_features: wp.array2d(dtype=wp.float32),
):
    # Get the thread ID:
    tid = wp.tid()
    # Get position from query points
    pos = query_points[tid]
    feature_dim = ref_features.shape[1]
    local_output = output_features[tid]
    # Find all the neighbors using the hash grid:
    neighbors = wp.hash_grid_query(id=grid, point=pos, max_dist=radius)
    weight = float(0.0)
    # Loop through neighbors. Compute a weighted distance and accumulate it,
    # but also track the weight to normalize at the end.
    for index in neighbors:
        # Get the neighbor position:
        pos2 = ref_points[index]
        # Compute the distance:
        dist = wp.length(pos - pos2)
        # disp = pos - pos2
        # dist = wp.sqrt(disp[0]**2. + disp[1]**2. + disp[2]**2.)
        if dist > radius:
            continue
        # Get the features at this index:
        feature = ref_features[index]
        # Compute the weight:
        this_weight = wp.exp( - dist / sigma)
        # Accumulate the weight, and weight * feature
        weight += this_weight
        # Work directly with the 2D array indexing instead of the slice
        for j in range(feature_dim):
            local_output[j] += feature[j] * this_weight
    if weight > 0.0:
        # Normalize by working directly with the 2D array
        for j in range(feature_dim):
            local_output[j] /= (weight + 1e-8)
    # Write the output
    for j in range(feature_dim):
        output_features[tid,j] = local_output[j]


class Aggregation:
    """The article's arrays, in small: `run` launches the kernel, `expected` is the same in NumPy."""

    radius, sigma = 0.7, 0.3

    def __init__(self, positions_have_gradients=False):
        rng = np.random.default_rng(1)
        self.query, self.ref = (rng.uniform(-1.0, 1.0, (n, 3)).astype(np.float32) for n in (40, 50))
        self.features, self.seeds = (rng.normal(size=(n, 5)).astype(np.float32) for n in (50, 40))
        points = (wp.array(p, dtype=wp.vec3, requires_grad=positions_have_gradients) for p in (self.query, self.ref))
        self.wp_query_points, self.wp_ref_points = points
        self.wp_ref_features = wp.array(self.features, requires_grad=True)
        self.wp_output = wp.zeros((40, 5), dtype=wp.float32, requires_grad=True)
        grid_size = int(2. / self.radius) + 1
        self.hash_grid = wp.HashGrid(grid_size, grid_size, grid_size)
        self.hash_grid.build(self.wp_ref_points, self.radius)

    def run(self, **more):
        wp.launch(
            warp_radius_bounded_feature_aggregation,
            inputs=[
                self.wp_query_points, self.wp_ref_points, self.wp_ref_features, self.hash_grid.id, self.radius,
                self.sigma,
            ],
            outputs=[self.wp_output],
            dim=[self.query.shape[0]],
            **more,
        )  # fmt: skip

    def weights(self):
        distance = np.linalg.norm(self.query[:, None].astype(np.float64) - self.ref[None], axis=2)
        found = np.where(distance <= self.radius, np.exp(-distance / self.sigma), 0.0)
        return found / (found.sum(1, keepdims=True) + 1e-8)


def test_features_are_aggregated():
    program = Aggregation()
    program.run()
    np.testing.assert_allclose(program.wp_output.numpy(), program.weights() @ program.features, atol=2e-6)


def test_the_adjoint_launch_of_the_aggregation():
    program = Aggregation()
    program.run()
    program.run(
        adj_inputs=[None, None, program.wp_ref_features.grad, None, None, None],
        adj_outputs=[wp.array(program.seeds)],
        adjoint=True,
    )
    np.testing.assert_allclose(program.wp_ref_features.grad.numpy(), program.weights().T @ program.seeds, atol=1e-5)


def test_gradients_of_positions_need_another_kernel():
    """The article's kernel divides its output in place, so the gradient of the weights is lost, and that is said."""
    program = Aggregation(positions_have_gradients=True)
    with wp.Tape() as tape:
        program.run()
    with pytest.raises(NotDifferentiableError, match="write the result to another array"):
        tape.backward(grads={program.wp_output: wp.array(program.seeds)})
