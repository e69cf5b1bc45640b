"""Films of simulations (`Film`), and `UsdRenderer` with the methods that scripts written for Warp use."""

from .film import Film, add_film_options
from .usd_renderer import UsdRenderer

__all__ = ["Film", "UsdRenderer", "add_film_options"]
