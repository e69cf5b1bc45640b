"""Materials of grains, and tables of contact parameters for each pair of materials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Float, array, func, kernel, launch, log, max, sqrt, tid
from ...core.runtime.arrays.fixed import Fixed
from ...errors import shown
from ..scene.checks import refuse
from ..scene.memory import Memory

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device
    from ..scene.model import Model

YOUNG, SHEAR, DAMPING, SLIDING, STICKING, ROLLING, COHESION, STIFFNESS, ADHESION = range(9)
"""Columns of a pair table."""
COLUMNS = 9


@dataclass(frozen=True)
class Material:
    """What grains of one kind are made of.

    youngs_modulus [Pa], poissons_ratio [-]. restitution: normal speed after an impact per speed before [-], 0 to 1.
    friction: coefficient of sliding; friction_static: that of sticking, None: the same [-]. rolling_friction: torque of
    rolling resistance per normal force and reduced radius [-]. cohesion: attraction per area of overlap [Pa] (SJKR).
    stiffness [N/m]: of the linear law. adhesion: work that parts surfaces, by their area [J/m^2], of the law "jkr".
    """

    youngs_modulus: float = 1.0e7
    poissons_ratio: float = 0.25
    restitution: float = 0.5
    friction: float = 0.5
    friction_static: float | None = None
    rolling_friction: float = 0.0
    cohesion: float = 0.0
    stiffness: float = 1.0e4
    adhesion: float = 0.0

    def __post_init__(self) -> None:
        static = "friction or more: sticking is not easier overcome"
        refuse(
            (not holds, f"{name} is {shown(getattr(self, name))}", expected)
            for name, holds, expected in (
                ("youngs_modulus", _is_positive(self.youngs_modulus), "above 0 [Pa]"),
                ("stiffness", _is_positive(self.stiffness), "above 0 [N/m]"),
                ("poissons_ratio", _is_between(self.poissons_ratio, -1.0, 0.5), "-1 to 1/2"),
                ("restitution", _is_between(self.restitution, 0.0, 1.0), "0 to 1"),
                ("friction", _is_between(self.friction, 0.0), "0 or more"),
                ("friction_static", self._sticks(), static),
                ("rolling_friction", _is_between(self.rolling_friction, 0.0), "0 or more"),
                ("cohesion", _is_between(self.cohesion, 0.0), "0 or more [Pa]"),
                ("adhesion", _is_between(self.adhesion, 0.0), "0 or more [J/m^2]"),
            )
        )

    def _sticks(self) -> bool:
        """Whether static friction is none, or as much as that of sliding."""
        unknown = self.friction_static is None or not isinstance(self.friction, Real)
        return unknown or _is_between(self.friction_static, self.friction)


def _is_positive(value: float) -> bool:
    """Whether something is a finite number above 0."""
    return isinstance(value, Real) and 0.0 < value < math.inf


def _is_between(value: float | None, low: float, high: float = math.inf) -> bool:
    """Whether something is a number from `low` to `high`."""
    return isinstance(value, Real) and low <= value <= high


class Materials(Fixed):
    """Materials of a scene as arrays that can have gradients, and the tables of pairs made of them.

    youngs_modulus [Pa], poissons_ratio [-], stiffness [N/m]: (materials,). restitution, friction, friction_static,
    rolling_friction [-], cohesion [Pa], adhesion [J/m^2]: (materials, materials), of contacts between two of them: the
    mean of both until somebody writes another number there, for both orders.
    """

    replaceable = (
        "youngs_modulus",
        "poissons_ratio",
        "stiffness",
        "restitution",
        "friction",
        "friction_static",
        "rolling_friction",
        "cohesion",
        "adhesion",
    )

    def __init__(self, materials: Sequence[Material], dtype: type, device: Device, requires_grad: bool):
        self.count, self.device, self.dtype = len(materials), device, dtype
        options: dict[str, Any] = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

        def column(name: str) -> np.ndarray:
            return np.array([getattr(m, name) for m in materials], np.float64)

        def pairs(values: np.ndarray) -> Any:
            return array(0.5 * (values[:, None] + values[None, :]), **options)

        static = np.array([m.friction if m.friction_static is None else m.friction_static for m in materials])
        self.youngs_modulus, self.poissons_ratio, self.stiffness = (
            array(column(name), **options) for name in ("youngs_modulus", "poissons_ratio", "stiffness")
        )
        self.restitution, self.friction, self.rolling_friction, self.cohesion, self.adhesion = (
            pairs(column(name)) for name in ("restitution", "friction", "rolling_friction", "cohesion", "adhesion")
        )
        self.friction_static = pairs(static)

    def memory(self) -> Memory:
        """What a saved scene keeps of them."""
        return {name: getattr(self, name) for name in self.replaceable}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over."""
        for name in self.replaceable:
            setattr(self, name, memory[name])
        self.check_replaced("materials")

    def tabulate(self, table: array) -> None:
        """Fill the table of pairs of grains, (materials, materials, COLUMNS)."""
        self.check_replaced("materials")
        single = [self.youngs_modulus, self.poissons_ratio, self.stiffness]
        paired = [self.restitution, self.friction, self.friction_static, self.rolling_friction]
        paired += [self.cohesion, self.adhesion]
        launch(_tabulate_grains, (self.count, self.count), [*single, *paired, table], device=self.device)

    def tabulate_walls(self, model: Model, table: array) -> None:
        """Fill the table of grains and shapes, (materials, shapes, COLUMNS): shapes are rigid.

        Restitution and friction are those of the shape, rolling friction is that of the grain with its like.
        """
        single = [self.youngs_modulus, self.poissons_ratio, self.stiffness, self.rolling_friction]
        paired = [model.shape_restitution, model.shape_mu, model.shape_mu_static]
        launch(_tabulate_walls, (self.count, model.shape_count), [*single, *paired, table], device=self.device)


@func
def damping_ratio(restitution: Float) -> Float:
    """Of an oscillator that leaves with e times the speed it came with: -ln e / sqrt(pi^2 + ln^2 e); 1 for e = 0."""
    e = log(max(restitution, restitution * 0.0 + 1.0e-12))
    return -e / sqrt(e * e + restitution.dtype(math.pi * math.pi))


@kernel
def _tabulate_grains(
    young: array(dtype=Any),
    poisson: array(dtype=Any),
    stiffness: array(dtype=Any),
    restitution: array(dtype=Any, ndim=2),
    sliding: array(dtype=Any, ndim=2),
    sticking: array(dtype=Any, ndim=2),
    rolling: array(dtype=Any, ndim=2),
    cohesion: array(dtype=Any, ndim=2),
    adhesion: array(dtype=Any, ndim=2),
    table: array(dtype=Any, ndim=3),
):
    """1/E* = sum (1 - nu^2) / E, 1/G* = sum 2 (2 - nu) (1 + nu) / E; springs in a row."""
    a, b = tid()
    soft_a, soft_b = (1.0 - poisson[a] * poisson[a]) / young[a], (1.0 - poisson[b] * poisson[b]) / young[b]
    give_a = 2.0 * (2.0 - poisson[a]) * (1.0 + poisson[a]) / young[a]
    give_b = 2.0 * (2.0 - poisson[b]) * (1.0 + poisson[b]) / young[b]
    table[a, b, YOUNG] = 1.0 / (soft_a + soft_b)
    table[a, b, SHEAR] = 1.0 / (give_a + give_b)
    table[a, b, DAMPING] = damping_ratio(restitution[a, b])
    table[a, b, SLIDING] = sliding[a, b]
    table[a, b, STICKING] = sticking[a, b]
    table[a, b, ROLLING] = rolling[a, b]
    table[a, b, COHESION] = cohesion[a, b]
    table[a, b, STIFFNESS] = 2.0 / (1.0 / stiffness[a] + 1.0 / stiffness[b])
    table[a, b, ADHESION] = adhesion[a, b]


@kernel
def _tabulate_walls(
    young: array(dtype=Any),
    poisson: array(dtype=Any),
    stiffness: array(dtype=Any),
    rolling: array(dtype=Any, ndim=2),
    restitution: array(dtype=Any),
    sliding: array(dtype=Any),
    sticking: array(dtype=Any),
    table: array(dtype=Any, ndim=3),
):
    """E* = E / (1 - nu^2) and G* = G / (2 - nu): the wall does not give way."""
    a, s = tid()
    nu = poisson[a]
    table[a, s, YOUNG] = young[a] / (1.0 - nu * nu)
    table[a, s, SHEAR] = young[a] / (2.0 * (1.0 + nu) * (2.0 - nu))
    table[a, s, DAMPING] = damping_ratio(restitution[s])
    table[a, s, SLIDING] = sliding[s]
    table[a, s, STICKING] = sticking[s]
    table[a, s, ROLLING] = rolling[a, a]
    table[a, s, COHESION] = nu * 0.0
    table[a, s, STIFFNESS] = stiffness[a]
    table[a, s, ADHESION] = nu * 0.0
