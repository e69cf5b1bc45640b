"""Adam: trajectories equal those of the published algorithm in NumPy (and of torch where it is installed)."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentCountError
from warpsim.optim import Adam


def reference(x, grads, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
    """Algorithm 1 of Kingma and Ba 2015, in float64."""
    m = v = np.zeros(x.shape)
    x, trail = x.astype(np.float64), []
    for t, g in enumerate(grads.astype(np.float64), start=1):
        m, v = beta1 * m + (1.0 - beta1) * g, beta2 * v + (1.0 - beta2) * g**2
        x = x - lr * (m / (1.0 - beta1**t)) / (np.sqrt(v / (1.0 - beta2**t)) + eps)
        trail.append(x)
    return np.array(trail)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 3e-6), (np.float16, 2e-2)])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.5)])
def test_trajectories_follow_the_algorithm(dtype, rtol, betas):
    rng = np.random.default_rng(3)
    start, grads = rng.standard_normal(40).astype(dtype), rng.standard_normal((15, 40)).astype(dtype)
    x = wp.array(start)
    optimizer = Adam([x], lr=0.03, betas=betas)
    for g, expected in zip(grads, reference(start, grads, 0.03, *betas), strict=True):
        optimizer.step([wp.array(g)])
        np.testing.assert_allclose(x.numpy(), expected, rtol=rtol, atol=rtol)


def test_float16_keeps_its_moments_in_float32():
    """The square of a gradient of 1e-4 is zero in float16; the step must still be lr."""
    x = wp.zeros(2, dtype=wp.float16)
    optimizer = Adam([x], lr=0.25)
    assert optimizer.m[0].dtype is wp.float32 and optimizer.v[0].dtype is wp.float32
    optimizer.step([wp.full(2, 1e-4, wp.float16)])
    np.testing.assert_allclose(x.numpy(), -0.25, rtol=1e-3)


@pytest.mark.parametrize("dtype", [wp.vec3, wp.mat33d, wp.quat, wp.vec2h])
def test_vectors_and_matrices_move_like_their_components(dtype):
    x, g = wp.zeros((2, 2), dtype=dtype), wp.full((2, 2), 3.0, dtype)
    Adam([x], lr=0.125).step([g])
    np.testing.assert_allclose(x.numpy(), -0.125, rtol=1e-3)


def test_finds_the_minimum_of_a_quadratic():
    goal = np.linspace(-2.0, 2.0, 9)
    x = wp.zeros(9, dtype=wp.float64)
    optimizer = Adam([x], lr=0.1)
    for _ in range(600):
        optimizer.step([wp.array(2.0 * (x.numpy() - goal))])
    np.testing.assert_allclose(x.numpy(), goal, atol=1e-3)


def test_reset_makes_the_next_step_a_first_one():
    x = wp.zeros(1, dtype=wp.float64)
    optimizer = Adam([x], lr=1.0)
    optimizer.step([wp.full(1, 7.0, wp.float64)])
    optimizer.reset_internal_state()
    optimizer.step([wp.full(1, -2.0, wp.float64)])
    assert abs(x.numpy()[0]) < 1e-7  # first steps have length lr, whatever the gradient


def test_new_parameters_start_anew():
    x, y = wp.zeros(1, dtype=wp.float64), wp.zeros(4, dtype=wp.float64)
    optimizer = Adam([x], lr=1.0)
    optimizer.step([wp.ones(1, dtype=wp.float64)])
    optimizer.set_params([y])
    assert optimizer.t == 0 and optimizer.m[0].shape == (4,)
    with pytest.raises(ArgumentCountError, match="2 gradients\nexpected: 1"):
        optimizer.step([y, y])


def test_moments_stay_where_parameters_are_alike():
    """An array that comes later has the bias of its own age corrected: its first step has length lr too."""
    x, y, z = wp.zeros(1, dtype=wp.float16), wp.zeros(4, dtype=float), wp.zeros(2, dtype=float)
    optimizer = Adam([x, y], lr=0.5)
    for _ in range(3):
        optimizer.step([wp.ones_like(x), wp.ones_like(y)])
    m, v = optimizer.m[0], optimizer.v[0]
    before = m.numpy().copy()
    optimizer.set_params([x, z])
    assert optimizer.m[0] is m and optimizer.v[0] is v and np.array_equal(m.numpy(), before)
    optimizer.step([wp.ones_like(x), wp.full(2, -3.0, dtype=float)])
    np.testing.assert_allclose(z.numpy(), 0.5, rtol=1e-4)


def test_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(4)
    start, grads = rng.standard_normal(200_000).astype(np.float32), rng.standard_normal((3, 200_000)).astype(np.float32)
    ends = []
    for threads in (1, 2):
        wp.set_num_threads(threads)
        x = wp.array(start)
        optimizer = Adam([x], lr=0.01)
        for g in grads:
            optimizer.step([wp.array(g)])
        ends.append(x.numpy().tobytes())
    assert ends[0] == ends[1]


def test_torch_takes_the_same_steps():
    torch = pytest.importorskip("torch", reason="torch is not installed: compared with the algorithm alone")
    rng = np.random.default_rng(5)
    start, grads = rng.standard_normal(20), rng.standard_normal((6, 20))
    x, t = wp.array(start), torch.tensor(start, requires_grad=True)
    theirs, ours = torch.optim.Adam([t], lr=0.1), Adam([x], lr=0.1)
    for g in grads:
        t.grad = torch.tensor(g)
        theirs.step()
        ours.step([wp.array(g)])
    np.testing.assert_allclose(x.numpy(), t.detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -0.1}, "lr is -0.1"),
        ({"betas": (1.0, 0.9)}, "beta1 is 1.0\nexpected: at least 0 and below 1"),
        ({"betas": (0.9, -0.5)}, "beta2 is -0.5"),
        ({"eps": float("nan")}, "eps is nan"),
    ],
)
def test_hyperparameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        Adam(**options)
