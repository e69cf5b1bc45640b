"""Watch animations: USD files in a browser, as pages that play offline, and as films.

    animation = Animation("cloth_drop.usdc")
    view(animation)                               # in the browser
    write_page(animation, "cloth_drop.html")      # one file that plays anywhere
    write_film(animation, "cloth_drop.webp")      # for a README or a talk

The command line does the same: `warpsim view FILE`.
"""

from .animation import Animation, Body, Moment
from .film import write_film
from .page import ViewError, write_page
from .server import Server, view

__all__ = ["Animation", "Body", "Moment", "Server", "ViewError", "view", "write_film", "write_page"]
