"""Programs of the tutorial on `torch.compile` and external kernels, with only the import line changed.

Where it measures on a GPU, these run on the CPU with fewer points; its neighbour search of another library is left out.
"""

import pytest

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.cpu(reason="tensors of the CPU build of PyTorch"),
    # the tutorial asks for `.grad` of what may be the result of another operation
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]


class MLP(torch.nn.Module):
    def __init__(self, input_dim: int, hidden_dim: int, output_dim: int):
        super().__init__()
        self.fc1 = torch.nn.Linear(input_dim, hidden_dim)
        self.fc2 = torch.nn.Linear(hidden_dim, hidden_dim)
        self.fc3 = torch.nn.Linear(hidden_dim, output_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        x = self.fc3(x)
        return x


class Projector(torch.nn.Module):
    """The tutorial's model, with the aggregation that it is given."""

    def __init__(self, aggregation, input_dim: int, hidden_dim: int, output_dim: int):
        super().__init__()
        self.proj = MLP(input_dim=input_dim, hidden_dim=hidden_dim, output_dim=hidden_dim)
        self.aggregation = aggregation
        self.proj_out = MLP(input_dim=hidden_dim, hidden_dim=hidden_dim, output_dim=output_dim)

    def forward(self, p1: torch.Tensor, p2: torch.Tensor) -> torch.Tensor:
        p2_features = self.proj(p2)
        p1_features = self.aggregation(p1, p2, p2_features)
        return self.proj_out(p1_features)


def knn_weighted_feature_aggregation(p1, p2, p2_features, k: int = 3, sigma: float = 0.1):
    # Compute pairwise distances: (M, N)
    dists = torch.norm(p1[:, None, :] - p2[None, :, :], dim=-1)

    # Find top-k nearest neighbors
    topk_dists, topk_idx = torch.topk(dists, k=k, dim=1, largest=False)

    # Gather neighbor features: (M, k, D_feat)
    neighbors = p2_features[topk_idx]

    # Compute weights: (M, k)
    weights = torch.softmax(-topk_dists / sigma, dim=1)

    # Weighted sum of neighbor features: (M, D_feat)
    return torch.sum(weights.unsqueeze(-1) * neighbors, dim=1)


def radius_bounded_feature_aggregation(p1, p2, p2_features, radius: float = 0.5, sigma: float = 0.1):
    # Compute pairwise distances: (M, N)
    dists = torch.norm(p1[:, None, :] - p2[None, :, :], dim=-1)

    # Create mask for neighbors within radius
    mask = dists <= radius

    # Compute weights from all distances first
    weights = torch.softmax(-dists / sigma, dim=-1)

    # Apply mask to zero out weights for points outside radius
    weights = torch.where(mask, weights, torch.zeros_like(weights))

    # Renormalize weights so they sum to 1 for each query point
    weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-8)

    # Weighted sum of all reference features: (M, D_feat)
    return torch.sum(weights.unsqueeze(-1) * p2_features.unsqueeze(0), dim=1)


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
        if dist > radius:
            continue

        # Get the features at this index:
        feature = ref_features[index]

        # Compute the weight:
        this_weight = wp.exp(-dist / sigma)

        # Accumulate the weight, and weight * feature
        weight += this_weight

        # Work directly with the 2D array indexing instead of the slice
        for j in range(feature_dim):
            local_output[j] += feature[j] * this_weight

    if weight > 0.0:
        # Normalize by working directly with the 2D array
        for j in range(feature_dim):
            local_output[j] /= weight + 1e-8

    # Write the output
    for j in range(feature_dim):
        output_features[tid, j] = local_output[j]


@torch.library.custom_op("warp::radius_bounded_feature_aggregation", mutates_args=())
def radius_bounded_feature_aggregation_impl(
    query_points: torch.Tensor, ref_points: torch.Tensor, ref_features: torch.Tensor, radius: float, sigma: float
) -> torch.Tensor:
    # Convert to warp
    # We can only build and query the points in wp.vec3 format:
    wp_query_points = wp.from_torch(query_points, dtype=wp.vec3, requires_grad=query_points.requires_grad)
    wp_ref_points = wp.from_torch(ref_points, dtype=wp.vec3, requires_grad=ref_points.requires_grad)
    # but, the features we keep as an array!
    wp_ref_features = wp.from_torch(ref_features, dtype=wp.float32, requires_grad=ref_features.requires_grad)

    grid_size = int(2.0 / radius) + 1

    # Build the grid used in the kernel:
    hash_grid = wp.HashGrid(grid_size, grid_size, grid_size)
    # This actually loops over the points and does the hashing
    hash_grid.build(wp_ref_points, radius)

    # Allocate output space (with pytorch!) and convert to warp:
    output_features = torch.zeros(
        (query_points.shape[0], ref_features.shape[1]),
        device=ref_features.device,
        dtype=ref_features.dtype,
        requires_grad=ref_features.requires_grad,
    )
    wp_output = wp.from_torch(output_features, dtype=wp.float32, requires_grad=ref_features.requires_grad)

    # Launch the kernel:
    wp.launch(
        warp_radius_bounded_feature_aggregation,
        inputs=[wp_query_points, wp_ref_points, wp_ref_features, hash_grid.id, radius, sigma],
        outputs=[wp_output],
        dim=[query_points.shape[0]],
    )

    # return the output features:
    return output_features


@radius_bounded_feature_aggregation_impl.register_fake
def _(query_points, ref_points, ref_features, radius, sigma) -> torch.Tensor:
    return torch.empty(
        (query_points.shape[0], ref_features.shape[1]), device=query_points.device, dtype=query_points.dtype
    )


@torch.library.custom_op("warp::radius_bounded_feature_aggregation_bwd", mutates_args=())
def radius_bounded_feature_aggregation_bwd_impl(
    query_points: torch.Tensor,
    ref_points: torch.Tensor,
    ref_features: torch.Tensor,
    radius: float,
    sigma: float,
    output_features: torch.Tensor,
    grad_outputs: torch.Tensor,
) -> torch.Tensor:
    # This function only needs to get the gradients of p2_features,
    # based on the grad_output of the forward outputs.
    wp_query_points = wp.from_torch(query_points, dtype=wp.vec3, requires_grad=False)
    wp_ref_points = wp.from_torch(ref_points, dtype=wp.vec3, requires_grad=False)

    # Because we set requires_grad True here, warp will
    # populate gradients HERE in the .grad attribute.
    wp_ref_features = wp.from_torch(ref_features, dtype=wp.float32, requires_grad=True)

    grid_size = int(2.0 / radius) + 1
    hash_grid = wp.HashGrid(grid_size, grid_size, grid_size)
    # We're rebuilding here just to make the implementation straightforward
    hash_grid.build(wp_ref_points, radius)

    wp_output = wp.from_torch(output_features)
    wp_grad_outputs = wp.from_torch(grad_outputs)

    wp.launch(
        warp_radius_bounded_feature_aggregation,
        inputs=[wp_query_points, wp_ref_points, wp_ref_features, hash_grid.id, radius, sigma],
        outputs=[wp_output],
        adj_inputs=[None, None, wp_ref_features.grad, None, None, None],
        adj_outputs=[wp_grad_outputs],
        adjoint=True,  # Pay attention here! Launch the kernel adjoint!
        dim=[query_points.shape[0]],
    )

    # return the gradient of the features:
    return ref_features.grad


def aggregated(
    query_points: wp.array(dtype=wp.vec3),
    ref_points: wp.array(dtype=wp.vec3),
    ref_features: wp.array2d(dtype=wp.float32),
    radius: float,
    sigma: float,
    output_features: wp.array2d(dtype=wp.float32),
):
    size = int(2.0 / radius) + 1
    grid = wp.HashGrid(size, size, size)
    grid.build(ref_points, radius)
    args = [query_points, ref_points, ref_features, grid.id, radius, sigma]
    wp.launch(warp_radius_bounded_feature_aggregation, len(query_points), args, [output_features])


in_one_line = wp.torch_op(aggregated, output_dims=lambda q, p, f, r, s: (q.shape[0], f.shape[1]))


def points(n_cloud=300, n_grid=6, features=4):
    torch.manual_seed(42)
    point_cloud = torch.rand(n_cloud, 3) * 2.0 - 1.0
    x = torch.linspace(-1, 1, n_grid)
    X, Y, Z = torch.meshgrid(x, x, x, indexing="ij")
    grid_points = torch.stack([X.flatten(), Y.flatten(), Z.flatten()], dim=1)
    return grid_points, point_cloud, torch.randn(n_cloud, features, requires_grad=True)


def test_the_operator_of_the_tutorial():
    p1, p2, features = points()
    found = radius_bounded_feature_aggregation_impl(p1, p2, features.detach(), 0.5, 0.1)
    expected = radius_bounded_feature_aggregation(p1, p2, features.detach())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_its_gradient_of_features():
    p1, p2, features = points()
    out = radius_bounded_feature_aggregation_impl(p1, p2, features.detach(), 0.5, 0.1)
    seed = torch.randn_like(out)
    expected = torch.autograd.grad((radius_bounded_feature_aggregation(p1, p2, features) * seed).sum(), features)[0]
    found = radius_bounded_feature_aggregation_bwd_impl(p1, p2, features, 0.5, 0.1, out, seed.clone())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_one_line_gives_the_same_gradient():
    p1, p2, features = points()
    seed = torch.randn(len(p1), 4)
    pure = (radius_bounded_feature_aggregation(p1, p2, features) * seed).sum()
    ours = (in_one_line(p1, p2, features, 0.5, 0.1) * seed).sum()
    torch.testing.assert_close(*(torch.autograd.grad(y, features)[0] for y in (ours, pure)), rtol=1e-3, atol=1e-5)


def test_a_gradient_of_positions_is_refused():
    """The kernel divides its output in place: the tutorial, too, has gradients of features alone."""
    p1, p2, features = points()
    with pytest.raises(wp.errors.NotDifferentiableError, match="overwrote after reading"):
        in_one_line(p1.requires_grad_(), p2, features, 0.5, 0.1).sum().backward()


def test_the_model_trains_in_a_compiled_graph():
    p1, p2, _ = points()
    model = Projector(lambda q, p, f: in_one_line(q, p, f, 0.5, 0.1), input_dim=3, hidden_dim=8, output_dim=1)
    forward = torch.compile(model, fullgraph=True, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    target, losses = torch.sin(2.0 * p1[:, :1]), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.mean((forward(p1, p2) - target) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_the_first_model():
    p1, p2, _ = points()
    model = Projector(knn_weighted_feature_aggregation, input_dim=3, hidden_dim=8, output_dim=1)
    assert model(p1, p2).shape == (len(p1), 1)
