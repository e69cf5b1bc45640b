"""`SGD`: gradient descent with momentum.

Guarantees: one launch per parameter and step; for equal gradients the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.language import array, kernel, tid
from ..core.runtime.arrays.fixed import Fixed
from .state import checked_grads, checked_moment, compare_moments, in_range, moments, split_parameters
from .vectors import check_alike, components, run


@kernel
def _descend(
    x: array(dtype=Any),
    g: array(dtype=Any),
    b: array(dtype=Any),
    lr: Any,
    momentum: Any,
    dampening: Any,
    decay: Any,
    nesterov: int,
):
    i = tid()
    old = b.dtype(x[i])
    grad = b.dtype(g[i]) + decay * old
    velocity = momentum * b[i] + (b.dtype(1.0) - dampening) * grad
    b[i] = velocity
    step = velocity
    if nesterov != 0:
        step = grad + momentum * velocity
    x[i] = x.dtype(old - lr * step)


class SGD(Fixed):
    """Gradient descent with momentum (Polyak 1964; Nesterov's form after Sutskever et al. 2013).

    With g the gradient plus `weight_decay` times the parameter, a step is
    b = momentum b + (1 - dampening) g (b = g at the first), then x = x - lr b, or with `nesterov`
    x = x - lr (g + momentum b).

    params: arrays of floats, vectors or matrices of any rank; float16 ones keep b and compute in float32.
    Raises `ValueError` for hyperparameters out of range, `ArgumentTypeError`, `ArgumentCountError` or `ArrayError`
    (`ArrayTypeError`, a TypeError too, for another dtype) for parameters and gradients that do not fit.
    """

    settings = dict.fromkeys(("lr", "momentum", "dampening", "weight_decay"), in_range)
    params: list[array] | None
    b: tuple[array, ...]
    t: int

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise ValueError("nesterov=True\nexpected: momentum above zero and dampening=0.0 with it")
        self._put(b=(), t=0)
        self.set_params(params)

    def set_params(self, params: Sequence[array] | None) -> None:
        """Choose the arrays to optimise; None for none yet, which no step can be made with.

        Where one has the size and precision of the one before in its place, its momentum stays, on its device.
        `reset_internal_state` forgets it.
        """
        arrays, self._flat = split_parameters(params)
        t = self.t if any(compare_moments(self._flat, self.b)) else 0
        self._put(params=arrays, t=t, b=moments(self._flat, self.b))

    def reset_internal_state(self) -> None:
        """Forget all momentum: the next step is a first one."""
        for b in self.b:
            b.zero_()
        self._put(t=0)

    def step(self, grad: Sequence[array]) -> None:
        """Move every parameter against its gradient; `grad` has an array for each, alike in shape and dtype."""
        grads = checked_grads(grad, self.params)
        rule = (self.lr, self.momentum, self.dampening, self.weight_decay)
        for x, g, b in zip(self._flat, grads, self.b, strict=True):
            self._move(x, components(g), b, rule, self.nesterov, first=not self.t)
        self._put(t=self.t + 1)

    @staticmethod
    def step_detail(
        g: array,
        b: array,
        lr: float,
        momentum: float,
        dampening: float,
        weight_decay: float,
        nesterov: bool,
        t: int,
        params: array,
    ) -> None:
        """One step of one array of parameters without an optimiser, whose momentum `b` is kept elsewhere.

        t: how many steps were made before; at the first, `b` becomes the gradient whatever it holds. b: as many
        numbers as the parameters have, float32 for float16 ones. Raises what `step` raises.
        """
        check_alike(g, params, "g", "params")
        flat = components(params)
        moment = checked_moment(b, flat, "b")
        if not t:
            moment.zero_()
        SGD._move(flat, components(g), moment, (lr, momentum, dampening, weight_decay), nesterov, first=not t)

    @staticmethod
    def _move(
        x: array, g: array, b: array, rule: tuple[float, float, float, float], nesterov: bool, first: bool
    ) -> None:
        lr, momentum, dampening, weight_decay = rule
        numbers = (lr, momentum, 0.0 if first else dampening, weight_decay)  # the first step has nothing to dampen
        run(_descend, x.size, [x, g, b, *map(b.dtype, numbers), int(nesterov)], x.device)
