"""Ocean waves: random seas with measured statistics, evaluated by Fourier transforms, with gradients to all parameters.

    from warpsim.solvers.ocean import JONSWAP, Ocean

    ocean = Ocean(JONSWAP(wind_speed=10.0, fetch=100e3), size=1000.0, cells=256)
    field = ocean.evaluate(2.0)  # field.height, displacement, normals, jacobian, ...

SI units; x and y are horizontal, z is up, the sea at rest is z = 0.
"""

from .dispersion import DEEP, GRAVITY, WATER_TENSION, angular_frequency, group_velocity
from .field import Field
from .foam import Foam
from .maps import write_maps
from .ocean import Ocean, ResolutionWarning, Sea
from .query import ocean_surface, query_heights
from .solver import SolverOcean
from .spectrum import JONSWAP, TMA, CustomSpectrum, Phillips, PiersonMoskowitz, SeaState, Spectrum
from .spreading import CosinePower, CosineSquared, DonelanBanner, Hasselmann, Mitsuyasu, Spreading
from .statistics import SeaStatistics, sea_statistics

__all__ = [
    "DEEP", "GRAVITY", "JONSWAP", "TMA", "WATER_TENSION", "CosinePower", "CosineSquared", "CustomSpectrum",
    "DonelanBanner", "Field", "Foam", "Hasselmann", "Mitsuyasu", "Ocean", "Phillips", "PiersonMoskowitz",
    "ResolutionWarning", "Sea", "SeaState", "SeaStatistics", "SolverOcean", "Spectrum", "Spreading",
    "angular_frequency", "group_velocity", "ocean_surface", "query_heights", "sea_statistics", "write_maps",
]  # fmt: skip
