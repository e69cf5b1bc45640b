"""Films of simulations (`Film`), what their programs share; `UsdRenderer` and `OpenGLRenderer` for scripts of Warp."""

from .film import Film
from .opengl_renderer import OpenGLRenderer
from .options import SimulationParser, add_film_options
from .progress import progress
from .usd_renderer import UsdRenderer

__all__ = ["Film", "OpenGLRenderer", "SimulationParser", "UsdRenderer", "add_film_options", "progress"]
