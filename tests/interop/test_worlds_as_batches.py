"""A model of many worlds is a function of a batch in PyTorch and JAX: its rows are those of models of one world."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD

pytestmark = pytest.mark.cpu(reason="PyTorch and JAX on the CPU")

WORLDS, STEPS, DT = 5, 4, 1.0 / 60.0
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@wp.kernel
def release(throw: wp.array[Any], world: wp.array[int], qd: wp.array[Any]):
    i = wp.tid()
    qd[i] = throw[world[i]]


@wp.kernel
def soften(stiffness: wp.array[wp.Float], each: int, compliance: wp.array[wp.Float]):
    i = wp.tid()
    compliance[i] = compliance.dtype(1.0) / stiffness[i // each]


@wp.kernel
def add_up(q: wp.array[Any], world: wp.array[int], middle: wp.array[Any]):
    i = wp.tid()
    wp.atomic_add(middle, world[i], q[i])


def cloth():
    builder = ModelBuilder()
    builder.add_cloth_grid(
        (0, 1, 0), UPRIGHT, 0.0, 4, 3, 0.1, 0.1, 0.01, spring_ke=200.0, edge_ke=1e-3, tri_drag=1.0, tri_lift=0.4,
        fix_left=True,
    )  # fmt: skip
    builder.add_shape_sphere((0.3, 0.75, 0.0, *UPRIGHT), 0.2)
    return builder


class Flight:
    """Worlds as a function of starts (n, particles, 3), throws (n, 3), winds (n, 3) and stiffnesses (n,)."""

    def __init__(self, worlds, dtype):
        one, builder = cloth(), ModelBuilder()
        builder.add_world(one, worlds)
        self.model = model = builder.finalize(requires_grad=True, dtype=dtype)
        self.solver, self.springs, vec3 = SolverXPBD(model, substeps=3), one.springs.count, model.vec3

        def fly(
            q: wp.array2d[vec3], throw: wp.array[vec3], wind: wp.array[vec3], stiffness: wp.array[dtype],
            middle: wp.array[vec3], ends: wp.array2d[vec3],
        ):  # fmt: skip
            control, states = model.control(requires_grad=True), [model.state() for _ in range(STEPS + 1)]
            wp.launch(soften, model.spring_count, [stiffness, self.springs, model.spring_compliance])
            wp.copy(control.wind, wind)
            wp.copy(states[0].particle_q, q.flatten())
            wp.launch(release, model.particle_count, [throw, model.particle_world, states[0].particle_qd])
            for before, after in pairwise(states):
                self.solver.step(before, after, control, dt=DT)
            wp.launch(add_up, model.particle_count, [states[-1].particle_q, model.particle_world, middle])
            wp.copy(ends.flatten(), states[-1].particle_q)

        self.function, self.dims = fly, {"middle": worlds, "ends": (worlds, one.particle_count)}

    def in_torch(self):
        return wp.torch_op(self.function, num_outputs=2, output_dims=self.dims)

    def in_jax(self):
        return wp.jax_callable(self.function, num_outputs=2, output_dims=self.dims)


def numbers(dtype=np.float32):
    """What the rows of a batch differ in, and weights of what comes out."""
    rng, builder = np.random.default_rng(0), cloth()
    q = builder.particles["q"] + rng.normal(0.0, 0.01, (WORLDS, builder.particle_count, 3))
    inputs = [q, *rng.normal(0.0, 2.0, (2, WORLDS, 3)), rng.uniform(50.0, 400.0, WORLDS)]
    weights = [rng.normal(size=(WORLDS, 3)), rng.normal(size=q.shape)]
    return [a.astype(dtype) for a in inputs], [a.astype(dtype) for a in weights]


def assert_rows(batch, rows, rtol):
    """Lists of results of the batch, and for each row a list of those of a single model."""
    for k, together in enumerate(batch):
        alone = np.concatenate([row[k] for row in rows])
        assert np.abs(alone).reshape(WORLDS, -1).max(axis=1).min() > 0.0
        np.testing.assert_allclose(together, alone, rtol=rtol, atol=rtol * np.abs(alone).max())


@pytest.mark.parametrize("dtype, rtol", [(wp.float32, 1e-4), (wp.float64, 1e-10)])
def test_rows_in_torch_are_single_models(dtype, rtol):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    inputs, weights = numbers(wp.dtype_to_numpy(dtype))

    def results(call, arrays, seeds):
        leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
        outputs = call(*leaves)
        slopes = torch.autograd.grad(outputs, leaves, [torch.tensor(w) for w in seeds])
        return [a.detach().numpy() for a in (*outputs, *slopes)]

    batch, single = (Flight(n, dtype).in_torch() for n in (WORLDS, 1))
    rows = [[[a[k : k + 1] for a in arrays] for arrays in (inputs, weights)] for k in range(WORLDS)]
    assert_rows(results(batch, inputs, weights), [results(single, *row) for row in rows], rtol)


def test_rows_in_jax_are_single_models():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    inputs, weights = numbers()
    batch, single = (Flight(n, wp.float32).in_jax() for n in (WORLDS, 1))

    def results(call, arrays, seeds):
        outputs, pull = jax.vjp(jax.jit(lambda *a: tuple(call(*a))), *arrays)
        return [np.asarray(a) for a in (*outputs, *pull(tuple(seeds)))]

    rows = [[[a[k : k + 1] for a in arrays] for arrays in (inputs, weights)] for k in range(WORLDS)]
    assert_rows(results(batch, inputs, weights), [results(single, *row) for row in rows], 1e-4)


def test_vmap_over_a_single_model_gives_the_rows_too():
    """One call after the other, in both frameworks, with gradients."""
    torch, jax = (pytest.importorskip(name, reason=f"{name} is not installed") for name in ("torch", "jax"))
    inputs, _ = numbers()
    batch, single = Flight(WORLDS, wp.float32), Flight(1, wp.float32)

    def of_one(call, *row):
        return call(*(a[None] for a in row))[0][0]

    tensors, alone, every = [torch.tensor(a) for a in inputs], (single.in_torch(), single.in_jax()), batch.in_torch()
    in_torch = torch.func.vmap(lambda *row: of_one(alone[0], *row))(*tensors)
    in_jax = jax.vmap(lambda *row: of_one(alone[1], *row))(*inputs)
    expected = every(*tensors)[0]
    np.testing.assert_allclose(in_torch, expected, rtol=1e-5)
    np.testing.assert_allclose(in_jax, expected, rtol=1e-5)
    slopes = [
        torch.func.vmap(torch.func.grad(lambda *row: of_one(alone[0], *row).sum(), argnums=1))(*tensors),
        jax.vmap(jax.grad(lambda *row: of_one(alone[1], *row).sum(), argnums=1))(*inputs),
    ]
    steepest = torch.func.grad(lambda *rows: every(*rows)[0].sum(), argnums=1)(*tensors).numpy()
    for rows in slopes:
        np.testing.assert_allclose(rows, steepest, rtol=1e-4, atol=1e-4 * np.abs(steepest).max())


def test_a_custom_rule_lets_vmap_step_all_worlds_at_once():
    """Code for one row, mapped by `jax.vmap`, with gradients on both sides of it."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    inputs, _ = numbers()
    batch, single = Flight(WORLDS, wp.float32).in_jax(), Flight(1, wp.float32).in_jax()
    calls = []

    @jax.custom_batching.custom_vmap
    def land(*row):
        return single(*(a[None] for a in row))[0][0]

    @land.def_vmap
    def _(size, mapped, *rows):
        calls.append(size)
        return batch(*rows)[0], True

    together = jax.grad(lambda *a: jax.vmap(land)(*a).sum(), argnums=(1, 2))(*inputs)
    plain = jax.grad(lambda *a: batch(*a)[0].sum(), argnums=(1, 2))(*inputs)
    assert calls == [WORLDS]
    for a, b in zip(together, plain, strict=True):
        np.testing.assert_array_equal(a, b)
