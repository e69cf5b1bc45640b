"""`Adam`: steps scaled by running moments of the gradient.

Guarantees: one launch per parameter and step; for equal gradients the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..core.language import array, kernel, sqrt, tid
from ..core.runtime.arrays.fixed import Fixed
from .state import below_one, checked_grads, checked_moment, compare_moments, in_range, moments, split_parameters
from .vectors import check_alike, components, run


@kernel
def _adapt(
    x: array(dtype=Any),
    g: array(dtype=Any),
    m: array(dtype=Any),
    v: array(dtype=Any),
    lr: Any,
    beta1: Any,
    beta2: Any,
    left1: Any,
    left2: Any,
    eps: Any,
):
    """left1 and left2 are 1 - beta1^t and 1 - beta2^t: the part of the moments that is not their zero start."""
    i = tid()
    grad = m.dtype(g[i])
    m[i] = beta1 * m[i] + (m.dtype(1.0) - beta1) * grad
    v[i] = beta2 * v[i] + (v.dtype(1.0) - beta2) * grad * grad
    scale = sqrt(v[i] / left2) + eps
    if scale != m.dtype(0.0):  # without eps, and before any gradient: 0 / 0
        x[i] = x.dtype(m.dtype(x[i]) - lr * (m[i] / left1) / scale)


class Adam(Fixed):
    """Adam (Kingma and Ba 2015, algorithm 1).

    Moments m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2, both corrected for their start at zero;
    x = x - lr m / (sqrt(v) + eps). `betas` is (beta1, beta2), each at least 0 and below 1.

    params: arrays of floats, vectors or matrices of any rank; float16 ones keep m and v and compute in float32.
    Raises `ValueError` for hyperparameters out of range, `ArgumentTypeError`, `ArgumentCountError` or `ArrayError`
    (`ArrayTypeError`, a TypeError too, for another dtype) for parameters and gradients that do not fit.
    """

    settings: ClassVar[dict[str, Any]] = {"lr": in_range, "eps": in_range, "beta1": below_one, "beta2": below_one}
    params: list[array] | None
    m: tuple[array, ...]
    v: tuple[array, ...]
    t: int

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
    ):
        if not isinstance(betas, Sequence) or len(betas) != 2:
            raise ValueError(f"betas is {betas!r}\nexpected: two numbers")
        self.lr, self.beta1, self.beta2, self.eps = lr, *betas, eps
        self._put(m=(), v=(), t=0)
        self._since: list[int] = []  # the step at which each parameter came
        self.set_params(params)

    def set_params(self, params: Sequence[array] | None) -> None:
        """Choose the arrays to optimise; None for none yet, which no step can be made with.

        Where one has the size and precision of the one before in its place, its moments stay, on its device.
        `reset_internal_state` forgets them.
        """
        arrays, self._flat = split_parameters(params)
        stays = compare_moments(self._flat, self.m)
        self._put(params=arrays, t=self.t if any(stays) else 0)
        self._since = [self._since[k] if stay else self.t for k, stay in enumerate(stays)]
        self._put(m=moments(self._flat, self.m), v=moments(self._flat, self.v))

    def reset_internal_state(self) -> None:
        """Forget all moments: the next step is a first one."""
        for moment in (*self.m, *self.v):
            moment.zero_()
        self._since = [0] * len(self._since)
        self._put(t=0)

    def step(self, grad: Sequence[array]) -> None:
        """Move every parameter against its gradient; `grad` has an array for each, alike in shape and dtype."""
        grads = checked_grads(grad, self.params)
        self._put(t=self.t + 1)
        for x, g, m, v, since in zip(self._flat, grads, self.m, self.v, self._since, strict=True):
            self._move(x, components(g), m, v, (self.lr, self.beta1, self.beta2, self.eps), self.t - since)

    @staticmethod
    def step_detail(
        g: array, m: array, v: array, lr: float, beta1: float, beta2: float, t: int, eps: float, params: array
    ) -> None:
        """One step of one array of parameters without an optimiser, whose moments `m` and `v` are kept elsewhere.

        t: how many steps were made before. m, v: as many numbers as the parameters have, float32 for float16 ones,
        which move along. Raises what `step` raises.
        """
        check_alike(g, params, "g", "params")
        flat = components(params)
        rule = (lr, beta1, beta2, eps)
        Adam._move(flat, components(g), checked_moment(m, flat, "m"), checked_moment(v, flat, "v"), rule, t + 1)

    @staticmethod
    def _move(x: array, g: array, m: array, v: array, rule: tuple[float, float, float, float], age: int) -> None:
        """age: how many steps the moments have seen after this one."""
        lr, beta1, beta2, eps = rule
        numbers = (lr, beta1, beta2, 1.0 - beta1**age, 1.0 - beta2**age, eps)
        run(_adapt, x.size, [x, g, m, v, *map(m.dtype, numbers)], x.device)
