"""Fluid properties: numbers in one array, read by kernels and reached by gradients."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import numbers
from ...errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DENSITY, SOUND, ALPHA, VISCOSITY, XSPH, DIFFUSION, TENSION, SHIFTING = range(8)
"""Columns of `SolverSPH.fluid`, in the order of the fields of `Fluid`."""


@dataclass(frozen=True)
class Fluid:
    """A weakly compressible fluid.

    density: at rest [kg/m^3]. sound: speed of sound [m/s], ten times the fastest flow for 1 % of compression.
    alpha: artificial viscosity, 0.01 to 0.2 [-] (J. Monaghan 1992). viscosity: kinematic, of laminar flow [m^2/s]
    (J. Morris 1997). xsph: part of the neighbours' velocity that is taken over in a step, 0 to 0.5 [-] (J. Monaghan
    1989). diffusion: of density, 0.1 is usual [-] (D. Molteni and A. Colagrossi 2009). tension: of the surface [N/m],
    by cohesion (A. Tartakovsky and A. Panchenko 2016); sound has to be fast enough to bear it. shifting: of particles
    towards where fewer are, 0.2 to 0.5 [-] (R. Xu et al. 2009), for fluids without free surface.
    """

    density: float = 1000.0
    sound: float = 20.0
    alpha: float = 0.02
    viscosity: float = 0.0
    xsph: float = 0.0
    diffusion: float = 0.1
    tension: float = 0.0
    shifting: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, positive = getattr(self, field.name), field.name in ("density", "sound")
            if not (isinstance(value, Real) and math.isfinite(value) and (value > 0.0 if positive else value >= 0.0)):
                expected = "above 0" if positive else "0 or more"
                raise ModelError(f"{field.name} of a fluid is {value}\nexpected: {expected}")

    @property
    def numbers(self) -> np.ndarray:
        """By column."""
        return np.array(list(asdict(self).values()), dtype=np.float64)

    @property
    def stiffness(self) -> float:
        """B of Tait's law p = B ((rho / rho0)^7 - 1) [Pa]."""
        return self.density * self.sound**2 / 7.0

    def density_at(self, pressure: ArrayLike) -> np.ndarray:
        """The density [kg/m^3] at which the pressure is this [Pa]."""
        return self.density * (1.0 + numbers(pressure, "pressure") / self.stiffness) ** (1.0 / 7.0)
