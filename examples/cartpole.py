"""A small neural network learns to balance poles on carts, by gradients through the simulation, in PyTorch or in JAX.

One kernel moves all carts by one interval of control; for the frameworks it is one more differentiable operator. The
network maps a cart's state to the force that pushes it, and is trained on whole motions from many starts. Equations:
R. Florian, Correct equations for the dynamics of the cart-pole system (2007), without friction.
"""

from collections import namedtuple
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.render import SimulationParser

INTERVAL, SUBSTEPS = 0.02, 4  # seconds of one decision, and steps in it
LEAN, HIDDEN, PUSH, STEPS = 0.2, 16, 20.0, 100  # of starts [rad]; neurons; the largest force [N]; decisions
RATE, CLIP = 0.02, 0.1  # of Adam; the largest gradient, as motions that fall have steep ones
CART, POLE, HALF = wp.constant(1.0), wp.constant(0.1), wp.constant(0.5)  # kg, kg, m
GRAVITY, DT = wp.constant(9.81), wp.constant(INTERVAL / SUBSTEPS)
Result = namedtuple("Result", "losses before after")  # losses by round, and motions (steps, carts, 4)
States = wp.array(dtype=wp.vec4)  # place [m], speed, angle from upright [rad], its speed


@wp.kernel
def advance(state: States, force: wp.array(dtype=float), after: States):
    """One interval of control: semi-implicit Euler."""
    i = wp.tid()
    s, total = state[i], CART + POLE
    for _ in range(SUBSTEPS):
        sine, cosine = wp.sin(s[2]), wp.cos(s[2])
        pushed = (force[i] + POLE * HALF * s[3] * s[3] * sine) / total
        turning = (GRAVITY * sine - cosine * pushed) / (HALF * (4.0 / 3.0 - POLE * cosine * cosine / total))
        moving = pushed - POLE * HALF * turning * cosine / total
        speed, spin = s[1] + DT * moving, s[3] + DT * turning
        s = wp.vec4(s[0] + DT * speed, speed, s[2] + DT * spin, spin)
    after[i] = s


def starts(carts):
    """States (carts, 4) that lean to both sides, and weights of a network: for every framework the same."""
    rng = np.random.default_rng(0)
    state = rng.uniform(-LEAN, LEAN, (carts, 4))
    weights = [rng.normal(size=(4, HIDDEN)) * 0.5, np.zeros(HIDDEN), rng.normal(size=(HIDDEN, 1)) * 0.1]
    return state.astype(np.float32), [w.astype(np.float32) for w in weights]


def decide(xp, weights, state):
    """The forces; xp is torch or jax.numpy."""
    return PUSH * xp.tanh(xp.tanh(state @ weights[0] + weights[1]) @ weights[2])[:, 0]


def cost(xp, states):
    """How far poles lean and carts are away, over a motion."""
    return (1.0 - xp.cos(states[..., 2])).mean() + 0.02 * (states[..., 0] ** 2).mean()


def train_torch(carts, steps, rounds):
    """The motions before and after training by so many rounds, and their losses."""
    import torch  # noqa: PLC0415  # optional

    torch.set_num_threads(1)  # threads of PyTorch wait for each other longer than such small tensors take
    move = wp.torch_op(advance)
    state, weights = starts(carts)
    first, weights = torch.tensor(state), [torch.tensor(w, requires_grad=True) for w in weights]

    def motion():
        states = [first]
        for _ in range(steps):
            states.append(move(states[-1], decide(torch, weights, states[-1])))
        return torch.stack(states[1:])

    optimiser, losses, before = torch.optim.Adam(weights, lr=RATE), [], motion().detach().numpy()
    for _ in range(rounds):
        optimiser.zero_grad()
        losses.append(cost(torch, motion()))
        losses[-1].backward()
        torch.nn.utils.clip_grad_norm_(weights, CLIP)
        optimiser.step()
    return Result([x.item() for x in losses], before, motion().detach().numpy())


def train_jax(carts, steps, rounds):
    """As `train_torch`; a round is one compiled program."""
    import jax  # noqa: PLC0415  # optional
    import jax.numpy as jnp  # noqa: PLC0415
    from jax.example_libraries import optimizers  # noqa: PLC0415

    move = wp.jax_kernel(advance)
    first, weights = starts(carts)

    @jax.jit
    def motion(weights):
        def step(state, _):
            [state] = move(state, decide(jnp, weights, state))
            return state, state

        return jax.lax.scan(step, jnp.asarray(first), None, length=steps)[1]

    @jax.jit
    def improve(k, adam):
        found, slopes = jax.value_and_grad(lambda w: cost(jnp, motion(w)))(weights_of(adam))
        return found, update(k, optimizers.clip_grads(slopes, CLIP), adam)

    start, update, weights_of = optimizers.adam(RATE)
    adam, losses, before = start(weights), [], np.asarray(motion(weights))
    for k in range(rounds):
        found, adam = improve(k, adam)
        losses.append(float(found))
    return Result(losses, before, np.asarray(motion(weights_of(adam))))


def draw(path, result):
    """Angles and places over time, before (grey) and after."""
    figure = Figure(figsize=(11.0, 3.6), dpi=110, layout="constrained")
    (angle, place, loss), time = figure.subplots(1, 3), INTERVAL * np.arange(1, len(result.after) + 1)
    for axes, k, title, limit in ((angle, 2, "angle [rad]", 1.6), (place, 0, "place [m]", 3.0)):
        for motion, color in ((result.before, "0.8"), (result.after, "tab:blue")):
            axes.plot(time, motion[..., k], color=color, lw=0.6)
        axes.set(title=f"{title}, before and after training", xlabel="time [s]", ylim=(-limit, limit))
    loss.semilogy(result.losses)
    loss.set_title("loss, by round")
    figure.savefig(path)


def check(result):
    """Raise AssertionError unless poles that fell stand upright at the end."""
    fell, left = (np.abs(motion[-1, :, 2]).max() for motion in (result.before, result.after))
    assert fell > 1.0, f"without training the poles lean by {fell:.2f} rad at most"
    assert left < 0.15, f"a pole leans by {left:.2f} rad at the end"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--framework", choices=("torch", "jax"), default="torch", help="whose optimiser trains")
    parser.add_argument("--carts", type=int, least=1, default=64, help="carts that are trained together")
    parser.add_argument("--rounds", type=int, least=1, default=80, help="of training")
    parser.add_argument("--picture", type=Path, default=Path("cartpole.png"))
    args = parser.parse_args(argv)
    result = (train_torch if args.framework == "torch" else train_jax)(args.carts, STEPS, args.rounds)
    print(f"{args.framework}: loss {result.losses[0]:.4f}, after {args.rounds} rounds {result.losses[-1]:.4f}")
    draw(args.picture, result)
    return result


if __name__ == "__main__":
    main()
