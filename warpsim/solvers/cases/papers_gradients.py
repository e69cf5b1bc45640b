"""How gradients of trajectories grow, where their mean is biased, and where kinks stop searches: P8, P9 and P10."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import array, clamp, cos, dot, float64, int32, kernel, launch, sin, standard_names, tid
from ...core.runtime.tape.tape import Tape
from ...optim import LBFGS
from ..validate import Measurement, at_least, at_most, case, near
from .papers_contact import descend

vec4d = standard_names()["vec4d"]


def real(values: Any) -> Any:
    """An array of float64 with a gradient."""
    return array(np.atleast_1d(values), dtype=float64, requires_grad=True)


# ----- growth -------------------------------------------------------------------------------------


@kernel
def accelerate(a: array(dtype=float64), keep: float64, h: float64, steps: int32, x: array(dtype=float64)):
    p, v = a[0] * 0.0, a[0] * 0.0
    for _ in range(steps):
        p = p + h * v
        v = keep * v + a[0]
    x[0] = p


@case("P8", "papers", "growth of a gradient with damping")
def growth() -> Iterator[Measurement]:
    """Y. Hu et al. 2020 (DiffTaichi, gradient_explosion): v = d v + a, d = exp(-0.001 alpha), 1000 steps of 1 ms; dx/da
    is 0.001 (n - sum of d^j) / (1 - d), j = 0 to n - 1, or 499.5 without damping, which is the reason to damp."""
    for alpha in (0.0, 1.0, 3.0, 10.0):
        d, n, h = math.exp(-0.001 * alpha), 1000, 1.0e-3
        exact = math.fsum(h * (n - 1 - j) * d**j for j in range(n - 1))
        a, x = real(1.0), real(0.0)
        with Tape() as tape:
            launch(accelerate, 1, [a, float64(d), float64(h), int32(n), x], device="cpu")
        tape.backward(x)
        yield near(f"dx/da, alpha = {alpha:g}", exact, a.grad.numpy()[0], relative=1.0e-12)


# ----- bias ---------------------------------------------------------------------------------------

NOISE, SAMPLES = 0.1, 1000


@kernel
def shoot(theta: array(dtype=float64), f: array(dtype=float64)):
    """-x^2 of throws at 1 m/s that a wall of 0.02 m, 0.06 m away, may stop."""
    i = tid()
    s, c = sin(theta[i]), cos(theta[i])
    x = 2.0 * s * c / float64(9.81)
    above = 0.06 * s / c - 0.5 * float64(9.81) * float64(0.0036) / (c * c)
    if x > 0.06 and above < 0.02:
        x = 0.06 + x * 0.0
    f[i] = -x * x


def shots(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and derivatives at angles."""
    theta, f = real(angles), real(np.zeros(len(angles)))
    with Tape() as tape:
        launch(shoot, len(angles), [theta, f], device="cpu")
    tape.backward(grads={f: array(np.ones(len(angles)), dtype=float64)})
    return np.asarray(f.numpy()), np.asarray(theta.grad.numpy())


def both_gradients(theta: float, rng: np.random.Generator, samples: int = SAMPLES) -> tuple[float, float, float]:
    """The mean of derivatives, the one from values alone (less that without noise), and how far that may be off."""
    noise = rng.normal(0.0, NOISE, samples)
    f, slope = shots(np.append(theta + noise, theta))
    sampled = (f[:-1] - f[-1]) * noise / NOISE**2
    return float(slope[:-1].mean()), float(sampled.mean()), float(2.0 * sampled.std() / math.sqrt(samples))


def mixed(theta: float, rng: np.random.Generator, bound: float = 0.005) -> float:
    """As much of the mean derivative as may be, while it is surely off by no more than `bound` (the interval rule)."""
    first, sampled, doubt = both_gradients(theta, rng)
    share = np.clip((bound - doubt) / max(abs(first - sampled), 1.0e-12), 0.0, 1.0)
    return float(share * first + (1.0 - share) * sampled)


def walk(gradient: Any, theta: float = 0.4) -> float:
    """Where gradient descent with 5 ends, mean of the last 100 of 400 iterations."""
    rng, seen = np.random.default_rng(9), []
    for _ in range(400):
        theta -= 5.0 * gradient(theta, rng)
        seen.append(theta)
    return float(np.mean(seen[-100:]))


@case("P9", "papers", "bias of gradients where a ball just clears a wall")
def biased() -> Iterator[Measurement]:
    """H. Suh, M. Simchowitz, K. Zhang, R. Tedrake 2022: the mean over noise of 0.1 rad of a throw's derivatives is not
    the derivative of the mean, as it does not see the jump at the wall; 1000 samples, 100 times. Descent by it stops
    near 0.73 rad, by values alone (zero-order) and by the mix of both (interval rule, 0.005) near 0.8613."""
    rng = np.random.default_rng(1)
    for theta, true, mean in ((0.3, -0.008953, -0.008942), (0.5, -0.004680, -0.000704), (0.6, -0.017238, -0.000593),
                              (0.7, -0.026087, -0.000447), (0.8, -0.011826, 0.002702)):  # fmt: skip
        rows = np.array([both_gradients(theta, rng) for _ in range(100)])
        first, sampled, _ = rows.mean(axis=0)
        yield near(f"derivative of the mean at {theta}, from values", true, sampled, absolute=6.0e-4)
        yield near(f"mean of derivatives at {theta}", mean, first, absolute=5.0e-5)
    yield at_least("scatter from values per that of derivatives, at 0.3", 1.5, rows_ratio(0.3, rng))
    yield near("descent by derivatives stops at [rad]", 0.73, walk(lambda t, r: both_gradients(t, r)[0]), absolute=0.02)
    yield near("descent by values ends at [rad]", 0.86132, walk(lambda t, r: both_gradients(t, r)[1]), absolute=0.01)
    yield near("descent by the mix ends at [rad]", 0.86132, walk(mixed), absolute=0.03)


def rows_ratio(theta: float, rng: np.random.Generator) -> float:
    """How much more gradients from values scatter than means of derivatives, where there is no jump."""
    rows = np.array([both_gradients(theta, rng)[:2] for _ in range(50)])
    return float(rows[:, 1].std() / rows[:, 0].std())


# ----- kinks --------------------------------------------------------------------------------------


@kernel
def carts(
    start: array(dtype=vec4d), goal: vec4d, u: array(dtype=float64), stiffness: float64, drag: float64, keep: float64,
    cost: array(dtype=float64),
):  # fmt: skip
    """Two carts of 0.1 kg, u on the first; 5 ms. They push each other below 1 m, or rub below 0.1 m (drag)."""
    s, h, m = start[0], float64(0.005), float64(0.1)
    weights = vec4d(float64(0.1), float64(10.0), float64(0.1), float64(0.1))
    miss = s - goal
    total = dot(miss, vec4d(weights[0] * miss[0], weights[1] * miss[1], weights[2] * miss[2], weights[3] * miss[3]))
    for k in range(u.shape[0]):
        force, apart = float64(0.0), s[1] - s[0]
        if apart < 1.0:
            force = stiffness * (apart - 1.0)
        if apart < 0.1 and apart > -0.1:
            force = force + clamp(drag * (s[3] - s[2]), -0.1 * drag, 0.1 * drag)
        v = keep * s[2] + h / m * (u[k] + force)
        w = keep * s[3] - h / m * force
        s = vec4d(s[0] + h * v, s[1] + h * w, v, w)
        miss = s - goal
        total = total + u[k] * u[k]
        total = total + weights[0] * miss[0] * miss[0] + weights[1] * miss[1] * miss[1]
        total = total + weights[2] * v * v + weights[3] * w * w
    cost[0] = total


class Carts:
    """Two carts with free forces `u`."""

    def __init__(self, start: Any, goal: Any, steps: int, force: float, *numbers: float):
        self.start, self.goal, self.u = array([start], dtype=vec4d), vec4d(*goal), real(np.full(steps, force))
        self.numbers, self.cost = [float64(number) for number in numbers], real(0.0)

    def closure(self) -> float:
        """The cost, with its gradient."""
        with Tape() as tape:
            launch(carts, 1, [self.start, self.goal, self.u, *self.numbers, self.cost], device="cpu")
        tape.backward(self.cost)
        return float(self.cost.numpy()[0])

    def fit(self) -> float:
        """What L-BFGS reaches."""
        return LBFGS([self.u], history=20).minimize(self.closure, 3000).loss


@case("P10", "papers", "pushing and friction of carts")
def pushing() -> Iterator[Measurement]:
    """Suh et al. 2022: costs, gradients and optima of a cart that pushes another by a spring that only presses, and
    that drags it along by friction. There SciPy's L-BFGS-B stops at a kink, at 8472.4, above what gradient descent
    reaches; the line search here gets past it. With k = 1000 descent chatters: 1e-14 more on
    each force at the start changes its cost after 500 iterations by 0.6."""
    for stiffness, keep, steps, cost, slope, best, descended in (
        (10.0, 0.998, 400, 2374.893808, 796.1529, 1126.58526, 1128.145),
        (1000.0, 0.99, 200, 1821.249004, 180.4946, 800.920, 813.562),
    ):
        name, rest = f"push, k = {stiffness:g}", ((0.0, 1.0, 0.0, 0.0), (1.0, 2.0, 0.0, 0.0), steps, 0.1)
        one = Carts(*rest, stiffness, 0.0, keep)
        yield near(f"{name}: cost", cost, one.closure(), relative=1.0e-6)
        yield near(f"{name}: norm of the gradient", slope, np.linalg.norm(one.u.grad.numpy()), relative=1.0e-6)
        if steps == 400:
            yield near(f"{name}: gradient by the 200th force", -17.9441744, one.u.grad.numpy()[200], relative=1.0e-7)
        losses = descend(one.closure, one.u, 1.0e-3, 500)
        spread = 1.0e-6 if steps == 400 else 1.0e-2
        yield near(f"{name}: 500 iterations of descent", descended, losses[-1], relative=spread)
        yield at_most(f"{name}: L-BFGS", best * (1.0 + 1.0e-6), Carts(*rest, stiffness, 0.0, keep).fit(), best)
    rest = ((0.0, 0.0, 0.0, 0.0), (2.0, 2.0, 0.0, 0.0), 400, 0.0, 0.0, 1.8, 1.0)
    one = Carts(*rest)
    yield near("friction: cost", 16200.4, one.closure(), relative=1.0e-6)
    yield near("friction: gradient by the 200th force", -96.13028, one.u.grad.numpy()[200], relative=1.0e-6)
    losses = descend(one.closure, one.u, 1.0e-4, 500)
    yield near("friction: 500 iterations of descent", 8200.754, losses[-1], relative=1.0e-6)
    yield at_most("friction: L-BFGS", 8472.4, Carts(*rest).fit(), 8472.4)
