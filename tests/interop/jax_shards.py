"""A program: a kernel under `shard_map` and `pmap` over two devices equals one device; run by test_jax_kernel."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import warpsim as wp


@wp.kernel
def step(x: wp.array(dtype=float), k: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * k[0]


def main():
    f = wp.jax_kernel(step)
    mesh, axis = jax.make_mesh((2,), ("i",)), PartitionSpec("i")
    x, k = jnp.linspace(0.0, 3.0, 64), jnp.array([2.0])
    spread = jax.device_put(x, NamedSharding(mesh, axis))

    def local(x, k):
        return f(x, k)[0]

    sharded = jax.shard_map(local, mesh=mesh, in_specs=(axis, PartitionSpec()), out_specs=axis)
    y = jax.jit(sharded)(spread, k)
    assert len(y.addressable_shards) == 2
    np.testing.assert_array_equal(np.asarray(y), np.asarray(local(x, k)))
    mapped = jax.pmap(local, in_axes=(0, None))(x.reshape(2, 32), k)
    np.testing.assert_array_equal(np.asarray(mapped).ravel(), np.asarray(local(x, k)))
    slopes = jax.pmap(jax.grad(lambda x, k: local(x, k).sum()), in_axes=(0, None))(x.reshape(2, 32), k)
    np.testing.assert_allclose(np.asarray(slopes).ravel(), np.asarray(k[0] * jnp.cos(x)), rtol=1e-5, atol=1e-6)
    total = jax.shard_map(
        lambda x, k: jax.lax.psum(local(x, k).sum(), "i"),
        mesh=mesh,
        in_specs=(axis, PartitionSpec()),
        out_specs=PartitionSpec(),
    )
    for argument in (0, 1):
        found = jax.jit(jax.grad(total, argnums=argument))(spread, k)
        expected = jax.grad(lambda x, k: local(x, k).sum(), argnums=argument)(x, k)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5)
    print(len(jax.devices()), "devices agree")


if __name__ == "__main__":
    main()
