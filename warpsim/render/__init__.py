"""Films of simulations (`Film`), what their programs share; `UsdRenderer` and `OpenGLRenderer` for scripts of Warp."""

from ..progress import progress
from ..warp.opengl_renderer import OpenGLRenderer
from ..warp.usd_renderer import UsdRenderer
from .film import Film, View
from .options import SimulationParser, add_film_options, add_save_options, film_options, film_parser
from .saves import Saves

__all__ = [
    "Film",
    "OpenGLRenderer",
    "Saves",
    "SimulationParser",
    "UsdRenderer",
    "View",
    "add_film_options",
    "add_save_options",
    "film_options",
    "film_parser",
    "progress",
]
