"""Kernels on hash grids as introductions to them and users' tutorials have them, against all pairs in NumPy."""

import numpy as np

import warpsim as wp


@wp.kernel
def sum_of_neighbors(grid: wp.uint64, points: wp.array(dtype=wp.vec3), output: wp.array(dtype=wp.vec3), radius: float):
    tid = wp.tid()
    p = points[tid]
    query = wp.hash_grid_query(grid, p, radius)
    index = int(0)
    sum = wp.vec3()
    while wp.hash_grid_query_next(query, index):
        neighbor = points[index]
        dist = wp.length(p - neighbor)
        if dist <= radius:
            sum += neighbor
    output[tid] = sum


def test_the_sum_of_all_neighboring_positions():
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (500, 3)).astype(np.float32)
    p = wp.array(points, dtype=wp.vec3)
    out = wp.zeros_like(p)
    grid = wp.HashGrid(dim_x=128, dim_y=128, dim_z=128)
    grid.build(points=p, radius=0.5)
    wp.launch(sum_of_neighbors, dim=500, inputs=[grid.id, p, out, 0.5])
    near = np.linalg.norm(points[:, None] - points[None], axis=-1) <= 0.5
    np.testing.assert_allclose(out.numpy(), near @ points, atol=1e-5)


@wp.kernel
def radius_bounded_feature_aggregation(
    query_points: wp.array(dtype=wp.vec3),
    ref_points: wp.array(dtype=wp.vec3),
    ref_features: wp.array2d(dtype=wp.float32),
    grid: wp.uint64,
    radius: float,
    sigma: float,
    output_features: wp.array2d(dtype=wp.float32),
):
    tid = wp.tid()
    pos = query_points[tid]
    feature_dim = ref_features.shape[1]
    local_output = output_features[tid]
    neighbors = wp.hash_grid_query(id=grid, point=pos, max_dist=radius)
    weight = float(0.0)
    for index in neighbors:
        pos2 = ref_points[index]
        dist = wp.length(pos - pos2)
        if dist > radius:
            continue
        feature = ref_features[index]
        this_weight = wp.exp(-dist / sigma)
        weight += this_weight
        for j in range(feature_dim):
            local_output[j] += feature[j] * this_weight
    if weight > 0.0:
        for j in range(feature_dim):
            local_output[j] /= weight + 1e-8
    for j in range(feature_dim):
        output_features[tid, j] = local_output[j]


def test_aggregation_of_features_within_a_radius_and_its_adjoint_launch():
    rng = np.random.default_rng(1)
    queries, refs = (rng.uniform(-1.0, 1.0, (n, 3)).astype(np.float32) for n in (60, 200))
    features, d_out = rng.normal(size=(200, 3)).astype(np.float32), rng.normal(size=(60, 3)).astype(np.float32)
    radius, sigma = 0.5, 0.1
    q, r = wp.array(queries, dtype=wp.vec3), wp.array(refs, dtype=wp.vec3)
    f = wp.array(features, dtype=float, requires_grad=True)
    grid_size = int(2.0 / radius) + 1
    grid = wp.HashGrid(grid_size, grid_size, grid_size)
    grid.build(r, radius)
    out = wp.zeros((60, 3), dtype=float, requires_grad=True)
    inputs = [q, r, f, grid.id, radius, sigma]
    wp.launch(radius_bounded_feature_aggregation, dim=[60], inputs=inputs, outputs=[out])
    distance = np.linalg.norm(queries[:, None].astype(float) - refs[None], axis=-1)
    w = np.where(distance <= radius, np.exp(-distance / sigma), 0.0)
    w /= w.sum(axis=1, keepdims=True) + 1e-8
    np.testing.assert_allclose(out.numpy(), w @ features, atol=1e-5)
    wp.launch(
        radius_bounded_feature_aggregation,
        dim=[60],
        inputs=inputs,
        outputs=[out],
        adjoint=True,
        adj_inputs=[None, None, f.grad, None, None, None],
        adj_outputs=[wp.array(d_out, dtype=float)],
    )
    np.testing.assert_allclose(f.grad.numpy(), w.T @ d_out, atol=1e-5)
