"""Volume flow rate of a fluid through a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...arguments import checked
from ..particles.flow import mass_flow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import FluidStatistics


@checked
def volume_flow(
    statistics: FluidStatistics, before: ArrayLike, seconds: float, corner: ArrayLike, sides: Sequence
) -> float:
    """The mean volume flow rate through a gate since a moment `seconds` ago [m^3/s]: mass flow by density at rest.

    Arguments are those of `mass_flow`; of sheets per metre of depth, with a gate that reaches across the sheet.
    """
    return mass_flow(statistics, before, seconds, corner, sides) / statistics.solver.fluid.density
