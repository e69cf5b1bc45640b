"""Films of simulations (`Film`), what their programs share; `UsdRenderer` and `OpenGLRenderer` for scripts of Warp."""

from ..warp.opengl_renderer import OpenGLRenderer
from ..warp.usd_renderer import UsdRenderer
from .film import Film
from .options import SimulationParser, add_film_options
from .progress import progress

__all__ = ["Film", "OpenGLRenderer", "SimulationParser", "UsdRenderer", "add_film_options", "progress"]
