"""Watch animations: USD files in a browser, as pages that play offline, and as films; and simulations while they run.

    animation = Animation("cloth_drop.usdc")
    view(animation)                               # in the browser
    write_page(animation, "cloth_drop.html")      # one file that plays anywhere
    write_film(animation, "cloth_drop.webp")      # for a README or a talk
    live(scene)                                   # a loop in the browser, with its controls

The command line does the same: `warpsim view FILE`, `warpsim run NAME --live`.
"""

from .animation import Animation
from .bodies import Body, Moment
from .film import write_film
from .live_view import LiveView, live
from .page import ViewError, write_page
from .server import Server, view
from .slider import Slider

__all__ = [
    "Animation",
    "Body",
    "LiveView",
    "Moment",
    "Server",
    "Slider",
    "ViewError",
    "live",
    "view",
    "write_film",
    "write_page",
]
