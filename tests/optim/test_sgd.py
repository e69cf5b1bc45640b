"""SGD: trajectories equal those of the formula in NumPy (and of torch where it is installed), for every dtype."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentCountError, ArgumentTypeError, ArrayError, ArrayTypeError
from warpsim.optim import SGD, Adam

RULES = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "dampened": {"momentum": 0.8, "dampening": 0.3},
    "decay": {"momentum": 0.5, "weight_decay": 0.1},
    "nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
}


def reference(x, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    """The parameters after every step, in the precision of x."""
    kind, b, trail = x.dtype.type, None, []
    for g in grads:
        g = g + kind(weight_decay) * x
        b = g if b is None else kind(momentum) * b + kind(1.0 - dampening) * g
        x = x - kind(lr) * (g + kind(momentum) * b if nesterov else b)
        trail.append(x)
    return np.array(trail)


def steps(optimizer, x, grads):
    trail = []
    for g in grads:
        optimizer.step([wp.array(g, dtype=x.dtype, device=x.device)])
        trail.append(x.numpy().copy())
    return np.array(trail)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 2e-6)])
def test_trajectories_follow_the_formula(rule, dtype, rtol):
    rng = np.random.default_rng(1)
    start, grads = rng.standard_normal(50).astype(dtype), rng.standard_normal((12, 50)).astype(dtype)
    x = wp.array(start)
    found = steps(SGD([x], lr=0.05, **RULES[rule]), x, grads)
    np.testing.assert_allclose(found, reference(start, grads, 0.05, **RULES[rule]), rtol=rtol, atol=rtol)


def test_float16_keeps_its_momentum_in_float32():
    """2^-13 per step is lost beside 1 in float16, and adds up in a float32 momentum."""
    x = wp.array(np.ones(1), dtype=wp.float16)
    optimizer = SGD([x], lr=1.0, momentum=1.0)
    assert optimizer.b[0].dtype is wp.float32
    g = wp.array(np.full(1, 2.0**-13), dtype=wp.float16)
    for k in range(1, 9):
        optimizer.step([g])
        assert optimizer.b[0].numpy()[0] == k * 2.0**-13
    assert x.numpy()[0] < 1.0


@pytest.mark.parametrize("dtype", [wp.vec3, wp.mat22, wp.quat, wp.vec2d, wp.vec3h])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_vectors_and_matrices_move_like_their_components(dtype, shape):
    x, g = wp.full(shape, 1.0, dtype), wp.full(shape, 0.5, dtype)
    SGD([x], lr=0.5).step([g])
    np.testing.assert_array_equal(x.numpy(), 0.75)


def test_several_parameters_keep_their_own_state():
    a, b = wp.zeros(3, dtype=float), wp.zeros(2, dtype=wp.vec3d)
    optimizer = SGD([a, b], lr=1.0, momentum=0.5)
    for _ in range(2):
        optimizer.step([wp.ones(3, dtype=float), wp.full(2, 2.0, wp.vec3d)])
    assert a.numpy().tolist() == [-2.5] * 3 and (b.numpy() == -5.0).all()


def test_reset_makes_the_next_step_a_first_one():
    x, g = wp.zeros(1, dtype=float), wp.ones(1, dtype=float)
    optimizer = SGD([x], lr=1.0, momentum=0.9, dampening=0.5)
    optimizer.step([g])
    optimizer.reset_internal_state()
    optimizer.step([g])
    assert x.numpy()[0] == -2.0
    optimizer.step([g])
    assert x.numpy()[0] == pytest.approx(-3.4)


def test_parameters_may_come_later():
    optimizer = SGD(lr=1.0)
    x = wp.zeros(1, dtype=float)
    optimizer.set_params([x])
    optimizer.step([wp.ones(1, dtype=float)])
    assert x.numpy()[0] == -1.0


def test_runs_on_the_interpreter():
    x = wp.zeros(3, dtype=float, device="interp")
    SGD([x], lr=0.5).step([wp.ones(3, dtype=float, device="interp")])
    assert x.numpy().tolist() == [-0.5] * 3


def test_torch_takes_the_same_steps():
    torch = pytest.importorskip("torch", reason="torch is not installed: compared with the formula alone")
    rng = np.random.default_rng(2)
    start, grads = rng.standard_normal(20), rng.standard_normal((6, 20))
    x, t = wp.array(start), torch.tensor(start, requires_grad=True)
    theirs = torch.optim.SGD([t], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02)
    ours = SGD([x], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02)
    for g in grads:
        t.grad = torch.tensor(g)
        theirs.step()
        ours.step([wp.array(g)])
    np.testing.assert_allclose(x.numpy(), t.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "lr is -1.0"),
        ({"momentum": float("nan")}, "momentum is nan"),
        ({"weight_decay": float("inf")}, "weight_decay is inf"),
        ({"nesterov": True}, "momentum above zero"),
    ],
)
def test_hyperparameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        SGD(**options)


def test_what_does_not_fit_is_refused():
    x = wp.zeros(3, dtype=float)
    optimizer = SGD([x])
    with pytest.raises(ArgumentCountError, match="0 gradients\nexpected: 1, one for every parameter"):
        optimizer.step([])
    with pytest.raises(ArrayError, match=r"grad\[0\] has shape \(2,\).*\n.*those of params\[0\]"):
        optimizer.step([wp.zeros(2, dtype=float)])
    for other in (wp.zeros(3, dtype=wp.float64), wp.zeros(2, dtype=wp.vec3)):
        with pytest.raises(ArrayTypeError, match=r"dtype (float64|vec3f)\n"):  # TypeError and ValueError
            optimizer.step([other])
    with pytest.raises(ArgumentTypeError, match=r"grad\[0\] is ndarray"):
        optimizer.step([np.zeros(3)])
    with pytest.raises(ArgumentTypeError, match=r"params\[0\] has dtype int32\nexpected: floats"):
        SGD([wp.zeros(3, dtype=int)])
    with pytest.raises(ArrayError, match=r"contiguous array\nhelp: params\[0\].contiguous"):
        SGD([wp.zeros(6, dtype=float)[::2]])
    with pytest.raises(ArgumentTypeError, match="params is int\nexpected: a list of arrays"):
        SGD(3)


@pytest.mark.parametrize("optimizer", [SGD(), SGD(None), Adam(), Adam(None)])
def test_a_step_without_parameters(optimizer):
    assert optimizer.params is None
    for grads in ([], [wp.zeros(3, dtype=float)]):
        with pytest.raises(ArgumentCountError, match=r"without parameters\nexpected: set_params"):
            optimizer.step(grads)
    assert optimizer.t == 0
    optimizer.reset_internal_state()
    x = wp.ones(2, dtype=float)
    optimizer.set_params([x])
    optimizer.step([wp.ones(2, dtype=float)])
    assert (x.numpy() < 1.0).all()
    optimizer.set_params([])  # nothing to learn is no mistake
    optimizer.step([])
    optimizer.set_params(None)
    with pytest.raises(ArgumentCountError, match="without parameters"):
        optimizer.step([])


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64, wp.vec3, wp.mat22])
@pytest.mark.parametrize("kind", ["adam", "sgd", "nesterov"])
def test_single_steps_are_those_of_an_optimiser(kind, dtype):
    """With the state in arrays of one's own, flat or like the parameters."""
    x = wp.ones((2, 3), dtype=dtype)
    y, master = wp.clone(x), wp.float32 if dtype is wp.float16 else dtype
    state = [wp.zeros(x.shape, dtype=master) for _ in range(2)]
    if kind == "adam":
        optimizer, rule = Adam([x], lr=0.1, betas=(0.8, 0.9)), (0.1, 0.8, 0.9)
    else:
        numbers = state[0].numpy()
        state = [wp.full(numbers.size, 7.0, dtype=numbers.dtype.type)]  # what is there does not count at first
        options = {"momentum": 0.5, "weight_decay": 0.1, "dampening": 0.0 if kind == "nesterov" else 0.2}
        optimizer = SGD([x], lr=0.1, nesterov=kind == "nesterov", **options)
    for t in range(4):
        g = wp.zeros(x.shape, dtype=dtype)
        g.assign(np.cos(np.arange(g.numpy().size) + t).reshape(g.numpy().shape))
        optimizer.step([g])
        if kind == "adam":
            Adam.step_detail(g, *state, *rule, t, 1e-8, y)
        else:
            SGD.step_detail(g, *state, 0.1, 0.5, options["dampening"], 0.1, kind == "nesterov", t, y)
        np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_state_that_does_not_fit_a_single_step():
    x, g = wp.zeros(3, dtype=wp.vec3), wp.ones(3, dtype=wp.vec3)
    fits = wp.zeros(9, dtype=float)
    for m, error in (
        (wp.zeros(8, dtype=float), ArrayError),
        (wp.zeros(3, dtype=wp.vec3d), ArrayTypeError),
        (np.zeros(9), ArgumentTypeError),
        (None, ArgumentTypeError),
    ):
        with pytest.raises(error):
            Adam.step_detail(g, m, fits, 0.1, 0.9, 0.99, 0, 1e-8, x)
        with pytest.raises(error):
            SGD.step_detail(g, m, 0.1, 0.9, 0.0, 0.0, False, 0, x)
    with pytest.raises(ArrayTypeError):
        Adam.step_detail(fits, fits, fits, 0.1, 0.9, 0.99, 0, 1e-8, x)
    assert not x.numpy().any() and not fits.numpy().any()
