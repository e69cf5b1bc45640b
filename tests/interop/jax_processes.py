"""A program for two processes: a batch of simulations and its gradient under `shard_map`; run by test_jax_kernel.

    python jax_processes.py 0 PORT & python jax_processes.py 1 PORT
"""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import NamedSharding, PartitionSpec

import warpsim as wp

STEPS = 20


@wp.kernel
def swing(angle: wp.array(dtype=float), speed: wp.array(dtype=float), stiffness: wp.array(dtype=float)):
    """One step of a pendulum, in place."""
    i = wp.tid()
    speed[i] = speed[i] - 0.05 * stiffness[0] * wp.sin(angle[i])
    angle[i] = angle[i] + 0.05 * speed[i]


def main():
    rank, port = int(sys.argv[1]), sys.argv[2]
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
    step = wp.jax_kernel(swing, num_outputs=2, in_out_argnames=["angle", "speed"])

    def final(angle, k):
        return jax.lax.fori_loop(0, STEPS, lambda _, s: tuple(step(*s, k)), (angle, jnp.zeros_like(angle)))[0]

    def unrolled(angle, k):
        speed = jnp.zeros_like(angle)
        for _ in range(STEPS):
            angle, speed = step(angle, speed, k)
        return angle

    mesh, axis = jax.make_mesh((2,), ("i",)), PartitionSpec("i")
    angles, k = np.linspace(0.1, 2.0, 8, dtype=np.float32), jnp.array([3.0])
    spread = jax.make_array_from_process_local_data(
        NamedSharding(mesh, axis), angles[4 * rank : 4 * rank + 4], (8,)
    )
    sharded = jax.jit(jax.shard_map(final, mesh=mesh, in_specs=(axis, PartitionSpec()), out_specs=axis))
    found = process_allgather(sharded(spread, k), tiled=True)
    np.testing.assert_array_equal(found, final(jnp.asarray(angles), k))

    def loss(angle, k):
        return jax.lax.psum((unrolled(angle, k) ** 2).sum(), "i")

    total = jax.shard_map(loss, mesh=mesh, in_specs=(axis, PartitionSpec()), out_specs=PartitionSpec())
    grad = process_allgather(jax.jit(jax.grad(total))(spread, k), tiled=True)
    np.testing.assert_array_equal(grad, jax.grad(lambda a: (unrolled(a, k) ** 2).sum())(jnp.asarray(angles)))
    print("process", rank, "of", jax.process_count(), "agrees with one process", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
