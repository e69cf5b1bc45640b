"""Films of simulations (`Film`), what their programs share; `UsdRenderer` and `OpenGLRenderer` for scripts of Warp."""

from ..progress import progress
from ..warp.opengl_renderer import OpenGLRenderer
from ..warp.usd_renderer import UsdRenderer
from .film import Film
from .options import SimulationParser, add_film_options, add_save_options
from .saves import Saves

__all__ = [
    "Film",
    "OpenGLRenderer",
    "Saves",
    "SimulationParser",
    "UsdRenderer",
    "add_film_options",
    "add_save_options",
    "progress",
]
