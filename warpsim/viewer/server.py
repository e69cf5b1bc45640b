"""Shows an animation in the browser of this machine, which asks for one frame after the other."""

from __future__ import annotations

import webbrowser
from http import HTTPStatus

from .animation import Animation
from .local_server import BYTES, HTML, NOTHING, TEXT, Answer, LocalServer, is_number
from .pack import frame_bytes, header_of
from .page import page_text


class Server(LocalServer):
    """Serves one animation on an address of this machine alone; `url` is where. `close()` ends it.

    Only requests to 127.0.0.1, localhost or [::1] with its port are answered: a page of another site whose name was
    made to lead here gets nothing. Every user of this machine can read the animation while it is shown.
    """

    def __init__(self, animation: Animation, port: int = 0, play: bool = True):
        self._animation = animation
        self._moving = [body for body in animation.bodies if body.moving]
        self._page = page_text(animation.name, header_of(animation, 1, play), "").encode()
        super().__init__(port)

    def get(self, path: str) -> Answer:
        """The page, or a frame."""
        if path in ("/", "/index.html"):
            return HTTPStatus.OK, HTML, self._page
        start, _, number = path.rpartition("/")
        if start != "/frame" or not is_number(number) or int(number) >= len(self._animation):
            return NOTHING
        try:
            return HTTPStatus.OK, BYTES, frame_bytes(self._animation, self._moving, int(number))
        except Exception as error:  # whatever a frame holds is an answer, and no traceback in this thread
            return HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"{error}\n".encode(errors="replace")


def view(animation: Animation, port: int = 0, browser: bool = True) -> Server:
    """Show an animation in the browser; the server that this returns runs beside the program until it is closed."""
    server = Server(animation, port)
    if browser:
        webbrowser.open(server.url)
    return server
