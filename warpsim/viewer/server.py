"""Shows an animation in the browser of this machine, which asks for one frame after the other."""

from __future__ import annotations

import sys
import threading
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import ArgumentTypeError, shown
from .animation import Animation
from .pack import frame_bytes, header_of
from .page import page_text

_NAMES = ("127.0.0.1", "localhost", "[::1]")
_PORTS = 65_535
_DIGITS = 9  # of a frame's number
_PATIENCE = 60.0  # seconds that a visitor may take to say something


class Server:
    """Serves one animation on an address of this machine alone; `url` is where. `close()` ends it.

    Only requests to 127.0.0.1, localhost or [::1] with its port are answered: a page of another site whose name was
    made to lead here gets nothing. Every user of this machine can read the animation while it is shown.
    """

    def __init__(self, animation: Animation, port: int = 0, play: bool = True):
        if type(port) is not int or not 0 <= port <= _PORTS:
            raise ArgumentTypeError(f"port is {shown(port)}\nexpected: an integer, 0 (one that is free) to {_PORTS}")
        self._animation = animation
        self._moving = [body for body in animation.bodies if body.moving]
        self._page = page_text(animation, header_of(animation, 1, play), "").encode()
        self._server = _Listener(("127.0.0.1", port), self._handler())
        self._hosts = {f"{name}:{self._server.server_port}" for name in _NAMES}
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str, host: str) -> tuple[HTTPStatus, str, bytes]:
        """The status, the type and the content of what is behind a path."""
        if host.lower() not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, _TEXT, f"this is {self.url}\n".encode()
        if path in ("/", "/index.html"):
            return HTTPStatus.OK, "text/html; charset=utf-8", self._page
        start, _, number = path.rpartition("/")
        is_number = number.isascii() and number.isdigit() and len(number) <= _DIGITS
        if start != "/frame" or not is_number or int(number) >= len(self._animation):
            return HTTPStatus.NOT_FOUND, _TEXT, b"there is nothing\n"
        try:
            return HTTPStatus.OK, "application/octet-stream", frame_bytes(self._animation, self._moving, int(number))
        except Exception as error:  # whatever a frame holds is an answer, and no traceback in this thread
            return HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT, f"{error}\n".encode(errors="replace")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE

            def do_GET(self) -> None:
                hosts = self.headers.get_all("Host") or [""]
                status, kind, content = answer(self.path.partition("?")[0], ", ".join(hosts))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Cross-Origin-Resource-Policy", "same-origin")
                with suppress(OSError):  # the browser has gone, or asks for another frame by now
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                """Say nothing about requests."""

        return Handler


_TEXT = "text/plain; charset=utf-8"


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about visitors that leave in the middle of a word."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def view(animation: Animation, port: int = 0, browser: bool = True) -> Server:
    """Show an animation in the browser; the server that this returns runs beside the program until it is closed."""
    server = Server(animation, port)
    if browser:
        webbrowser.open(server.url)
    return server
