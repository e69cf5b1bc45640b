"""Methods of `Problem.minimize`, by name: functions of a `Search`, a start and options, that return why they ended.

A method sees scaled numbers and calls nothing but the search. L-BFGS, Adam and gradient descent are those of
`warpsim.optim`, on one array of these numbers; with bounds, L-BFGS is SciPy's L-BFGS-B (Byrd, Lu, Nocedal and Zhu
1995), and the others go to the nearest point within. CMA-ES is the package `cma`.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.language import array
from ...errors import MissingPackageError
from ..adam import Adam
from ..lbfgs import LBFGS, Minimum
from ..sgd import SGD
from .error import ProblemError
from .least_squares import gauss_newton
from .search import Search, Stop

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


def lbfgs(search: Search, z: np.ndarray, objective: Objective, **options: Any) -> str:
    """`LBFGS` of warpsim; with bounds, L-BFGS-B of SciPy."""
    if search.space.bounded:
        return _bounded(search, z, objective, **options)
    unknown = array(z, dtype=search.space.dtype, device="cpu", requires_grad=True)
    last: dict[str, Any] = {}

    def closure() -> float:
        here = np.array(unknown.numpy(), dtype=np.float64)
        loss, last["gradient"] = objective(here)
        unknown.grad.assign(last["gradient"])
        return loss

    def note(minimum: Minimum) -> None:
        search.iterated(unknown.numpy(), minimum.loss, last["gradient"])

    # The search counts iterations, and stops by an exception.
    minimum = LBFGS([unknown], **options).minimize(closure, 10**9, callback=note)
    return minimum.reason


def _bounded(
    search: Search, z: np.ndarray, objective: Objective, *, history: int = 10, tolerance_grad: float = 1e-7,
    tolerance_loss: float | None = None,
) -> str:  # fmt: skip
    optimize = importlib.import_module("scipy.optimize")
    space, last = search.space, {}

    def closure(here: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = objective(here)
        last[here.tobytes()] = loss, gradient
        return (loss, gradient) if np.isfinite(gradient).all() else (loss, np.zeros_like(gradient))

    def note(here: np.ndarray) -> None:
        loss, gradient = last.get(here.tobytes()) or objective(here)
        last.clear()
        search.iterated(here, loss, gradient)

    fallen = space.rounding if tolerance_loss is None else tolerance_loss
    options = {"maxcor": history, "maxiter": 10**9, "maxfun": 10**9, "ftol": fallen, "gtol": tolerance_grad}
    bounds = list(zip(space.lower, space.upper, strict=True))
    result = optimize.minimize(closure, z, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=options)
    if not result.success:
        return "flat"
    return "gradient" if "PROJECTED GRADIENT" in result.message.upper() else "loss"


def adam(
    search: Search, z: np.ndarray, objective: Objective, *, lr: float = 0.01, clip: float = math.inf, **options: Any
) -> str:
    """`Adam` of warpsim, within the bounds. lr: about the change of a scaled number in an iteration.

    clip: a norm of the gradient; a longer one is shortened to it.
    """
    unknown = array(z, dtype=search.space.dtype, device="cpu")
    method = Adam([unknown], lr=lr, **options)
    if "t" in search.state:
        method._put(t=int(search.state["t"]))
        for moment, name in ((method.m, "m"), (method.v, "v")):
            moment[0].assign(search.state[name])

    def state() -> dict[str, np.ndarray]:
        return {"t": np.array(method.t), "m": np.array(method.m[0].numpy()), "v": np.array(method.v[0].numpy())}

    return _descend(search, unknown, objective, method, state, clip)


def gradient_descent(
    search: Search, z: np.ndarray, objective: Objective, *, lr: float = 0.01, clip: float = math.inf, **options: Any
) -> str:
    """`SGD` of warpsim: z - lr times the gradient, within the bounds; clip: as for `adam`."""
    unknown = array(z, dtype=search.space.dtype, device="cpu")
    return _descend(search, unknown, objective, SGD([unknown], lr=lr, **options), dict, clip)


def _descend(
    search: Search, unknown: array, objective: Objective, method: Adam | SGD, state: Callable[[], dict[str, Any]],
    clip: float,
) -> str:  # fmt: skip
    """Steps against the gradient, until a limit; a loss that is not finite ends it."""
    z = np.array(unknown.numpy(), dtype=np.float64)
    loss, gradient = objective(z)
    while True:
        if not (math.isfinite(loss) and np.isfinite(gradient).all()):
            return "not finite"
        if not gradient.any():
            return "gradient"
        gradient = gradient * min(1.0, clip / float(np.linalg.norm(gradient)))
        method.step([array(gradient, dtype=unknown.dtype, device="cpu")])
        z = search.space.clip(np.array(unknown.numpy(), dtype=np.float64))
        if search.space.bounded:
            unknown.assign(z)
        loss, gradient = objective(z)
        search.state = state()
        search.iterated(z, loss, gradient)


def cma_es(
    search: Search, z: np.ndarray, objective: Objective, *, sigma: float = 0.3, population: int | None = None,
    polish: int = 0, seed: int = 1,
) -> str:  # fmt: skip
    """CMA-ES (Hansen 2016), by the package `cma`; needs no gradients.

    sigma: the first standard deviation of scaled numbers. population: points of an iteration. polish: steps of
    L-BFGS from the best point of each iteration.
    """
    try:
        cma = importlib.import_module("cma")
    except ImportError:
        raise MissingPackageError(
            "method 'cma' needs the package cma, which is not installed\nhelp: pip install cma, or warpsim[cma]"
        ) from None
    space = search.space
    options: dict[str, Any] = {"seed": seed, "verbose": -9, "maxiter": 10**9, "maxfevals": 10**12}
    if population is not None:
        options["popsize"] = population
    if space.bounded:
        options["bounds"] = [list(space.lower), list(space.upper)]
    if space.size == 1:
        raise ProblemError("method 'cma' for one number\nexpected: two or more\nhelp: method='lbfgs', starts=8")
    strategy = cma.CMAEvolutionStrategy(z, sigma, options)
    while not strategy.stop():
        points = strategy.ask()
        losses = [search.loss(np.asarray(p)) for p in points]
        strategy.tell(points, [loss if math.isfinite(loss) else 1e300 for loss in losses])
        best = int(np.argmin(losses))
        here, loss = np.asarray(points[best]), losses[best]
        if polish:
            here, loss = _polish(search, here, objective, polish)
            strategy.inject([here])
        search.iterated(here, loss, None)
    return "converged"


def _polish(search: Search, z: np.ndarray, objective: Objective, steps: int) -> tuple[np.ndarray, float]:
    """A few steps of L-BFGS, which count as one iteration of what calls this."""
    unknown = array(z, dtype=search.space.dtype, device="cpu", requires_grad=True)

    def closure() -> float:
        loss, gradient = objective(search.space.clip(np.array(unknown.numpy(), dtype=np.float64)))
        unknown.grad.assign(gradient)
        return loss

    minimum = LBFGS([unknown]).minimize(closure, steps)
    return search.space.clip(np.array(unknown.numpy(), dtype=np.float64)), minimum.loss


METHODS: dict[str, Callable[..., str]] = {
    "lbfgs": lbfgs, "adam": adam, "gradient": gradient_descent, "gauss-newton": gauss_newton, "cma": cma_es,
}  # fmt: skip
NOISY = ("adam", "gradient")
"""Methods that bear a gradient with noise."""


def check_options(name: str, options: dict[str, Any]) -> None:
    """Raise `ProblemError` for an unknown method, or an option that it lacks."""
    if name not in METHODS:
        raise ProblemError(f"method is {name!r}\nexpected: one of {', '.join(map(repr, METHODS))}")
    own = {"lbfgs": LBFGS, "adam": Adam, "gradient": SGD}.get(name)
    functions = [METHODS[name], *([own] if own else [])]
    allowed = {key for f in functions for key, p in inspect.signature(f).parameters.items() if p.kind != p.VAR_KEYWORD}
    allowed -= {"search", "z", "objective", "params"}
    for key in options:
        if key not in allowed:
            raise ProblemError(f"method {name!r} has no option {key!r}\nexpected: {', '.join(sorted(allowed))}")


def run_method(search: Search, name: str, z: np.ndarray, objective: Objective, options: dict[str, Any]) -> str:
    """Run a method from a start; returns why it ended."""
    try:
        return METHODS[name](search, z, objective, **options)
    except Stop as stop:
        return stop.reason
