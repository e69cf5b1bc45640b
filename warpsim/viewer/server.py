"""Shows an animation in the browser of this machine, which asks for one frame after the other."""

from __future__ import annotations

import threading
import webbrowser
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .animation import Animation
from .pack import frame_bytes, header_of
from .page import page_text


class Server:
    """Serves one animation on an address of this machine alone; `url` is where. `close()` ends it."""

    def __init__(self, animation: Animation, port: int = 0, play: bool = True):
        self._animation, self._lock = animation, threading.Lock()
        self._moving = [body for body in animation.bodies if body.moving]
        self._page = page_text(animation, header_of(animation, 1, play), "").encode()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
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

    def _answer(self, path: str) -> tuple[str, bytes] | None:
        """The type and content behind a path, if there is something."""
        if path in ("/", "/index.html"):
            return "text/html; charset=utf-8", self._page
        start, _, number = path.rpartition("/")
        if start == "/frame" and number.isascii() and number.isdigit() and int(number) < len(self._animation):
            with self._lock:  # a stage is read by one thread at a time
                return "application/octet-stream", frame_bytes(self._animation, self._moving, int(number))
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = answer(self.path.partition("?")[0])
                if page is None:
                    self.send_error(404)
                    return
                kind, content = page
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                with suppress(ConnectionError):  # the browser has gone, or asks for another frame by now
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                """Say nothing about requests."""

        return Handler


def view(animation: Animation, port: int = 0, browser: bool = True) -> Server:
    """Show an animation in the browser; the server that this returns runs beside the program until it is closed."""
    server = Server(animation, port)
    if browser:
        webbrowser.open(server.url)
    return server
