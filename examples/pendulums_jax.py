"""Pendulums spread over devices or processes by JAX: their length and friction are found in a noisy recording of all.

Each device swings its share of the pendulums under `shard_map`, by one kernel in a compiled loop. No state leaves its
device; what is summed over the mesh is the loss and its gradient. Cores may stand for devices, or processes be joined:

    python pendulums_jax.py --devices 2
    python pendulums_jax.py --processes 2 --process 0 & python pendulums_jax.py --processes 2 --process 1
"""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.render import SimulationParser

DT = wp.constant(0.02)  # [s]
STEPS, NOISE = 75, 0.05  # of a recording; [rad]
TRUE, GUESS = (0.8, 0.3), (1.2, 0.1)  # length [m] and friction [1/s]
RATE, ROUNDS = 0.02, 100  # of Adam

Numbers = wp.array(dtype=float)


@wp.kernel
def swing(angle: Numbers, speed: Numbers, unknowns: Numbers, next_angle: Numbers, next_speed: Numbers):
    """One step of every pendulum: semi-implicit Euler. unknowns: length and friction."""
    i = wp.tid()
    after = speed[i] - DT * (9.81 / unknowns[0] * wp.sin(angle[i]) + unknowns[1] * speed[i])
    next_speed[i] = after
    next_angle[i] = angle[i] + DT * after


def recorded(count):
    """The angles (count,) from which pendulums start at rest, and noisy ones (STEPS, count) after, by NumPy."""
    rng = np.random.default_rng(0)
    start = rng.uniform(0.3, 2.0, count)
    angle, speed, angles = start, np.zeros(count), []
    for _ in range(STEPS):
        speed = speed - 0.02 * (9.81 / TRUE[0] * np.sin(angle) + TRUE[1] * speed)
        angle = angle + 0.02 * speed
        angles.append(angle + NOISE * rng.normal(size=count))
    return start.astype(np.float32), np.array(angles, np.float32)


def identify(count, rounds):
    """Losses by round and the unknowns before each (rounds, 2), on all devices that JAX has."""
    import jax  # noqa: PLC0415  # after main has said how many devices there are
    from jax.example_libraries import optimizers  # noqa: PLC0415
    from jax.sharding import NamedSharding, PartitionSpec  # noqa: PLC0415

    step = wp.jax_kernel(swing, num_outputs=2)
    mesh = jax.make_mesh((jax.device_count(),), ("batch",))
    shares = PartitionSpec("batch"), PartitionSpec(None, "batch")

    def spread(whole, share):
        return jax.make_array_from_callback(whole.shape, NamedSharding(mesh, share), lambda part: whole[part])

    def misfit(start, angles, unknowns):
        def moved(state, _):
            state = tuple(step(*state, unknowns))
            return state, state[0]

        _, found = jax.lax.scan(moved, (start, jax.numpy.zeros_like(start)), None, length=STEPS)
        return jax.lax.psum(((found - angles) ** 2).sum(), "batch") / (STEPS * count)

    total = jax.shard_map(misfit, mesh=mesh, in_specs=(*shares, PartitionSpec()), out_specs=PartitionSpec())
    begin, update, unknowns_of = optimizers.adam(RATE)

    @jax.jit
    def improve(k, adam, start, angles):
        loss, slopes = jax.value_and_grad(lambda unknowns: total(start, angles, unknowns))(unknowns_of(adam))
        return loss, update(k, slopes, adam)

    data = [spread(a, share) for a, share in zip(recorded(count), shares, strict=True)]
    adam, losses, path = begin(np.array(GUESS, np.float32)), [], []
    for k in range(rounds):
        path.append(np.asarray(unknowns_of(adam)))
        loss, adam = improve(k, adam, *data)
        losses.append(float(loss))
        if k % 20 == 0 and jax.process_index() == 0:
            print(f"round {k}: loss {losses[-1]:.5f}, length {path[-1][0]:.3f}, friction {path[-1][1]:.3f}", flush=True)
    return losses, np.array(path)


def draw(path, losses, unknowns):
    """The unknowns and the loss by round."""
    figure = Figure(figsize=(8.0, 3.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for k, (name, color) in enumerate((("length [m]", "tab:blue"), ("friction [1/s]", "tab:red"))):
        left.plot(unknowns[:, k], color=color, label=name)
        left.axhline(TRUE[k], color=color, lw=0.6, ls="--")
    left.set(xlabel="round", title="what is found, and the truth (dashed)")
    left.legend()
    right.semilogy(losses)
    right.axhline(NOISE**2, color="0.5", lw=0.6, ls="--")
    right.set(xlabel="round", title="mean squared miss, and the noise's [rad²]")
    figure.savefig(path)


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--pendulums", type=int, default=4096, help="how many")
    parser.add_argument("--devices", type=int, default=2, help="that the cores of one process stand for")
    parser.add_argument("--processes", type=int, default=1, help="that share the pendulums")
    parser.add_argument("--process", type=int, default=0, help="which of the processes this one is")
    parser.add_argument("--coordinator", default="127.0.0.1:9876", help="where process 0 listens")
    parser.add_argument("--picture", type=Path, default=Path("pendulums_jax.png"))
    args = parser.parse_args(argv)
    if args.pendulums < 1 or args.pendulums % (args.devices if args.processes == 1 else args.processes):
        parser.error("--pendulums must be a multiple of the devices or processes")
    import jax  # noqa: PLC0415  # optional

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", args.devices if args.processes == 1 else 1)
    if args.processes > 1:
        jax.distributed.initialize(args.coordinator, args.processes, args.process)
    losses, unknowns = identify(args.pendulums, ROUNDS)
    if jax.process_index() == 0:
        places = f"{jax.device_count()} devices of {jax.process_count()} processes"
        print(f"{places}: length {unknowns[-1][0]:.4f} m, friction {unknowns[-1][1]:.4f} 1/s, loss {losses[-1]:.5f}")
        draw(args.picture, losses, unknowns)
    return losses, unknowns


if __name__ == "__main__":
    main()
