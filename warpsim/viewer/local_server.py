"""Answers the browser of this machine alone: what is served, and what may be asked, is up to those who stand on it."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import ArgumentTypeError, shown

Answer = tuple[HTTPStatus, str, bytes]
"""A status, the type of the content, and the content."""

TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"
HTML = "text/html; charset=utf-8"
MOST_BYTES = 4096  # that a visitor may send
NOTHING: Answer = (HTTPStatus.NOT_FOUND, TEXT, b"there is nothing\n")

_NAMES = ("127.0.0.1", "localhost", "[::1]")
_PORTS = 65_535
_DIGITS = 9
_PATIENCE = 60.0  # seconds that a visitor may take to say something


class LocalServer:
    """Listens on 127.0.0.1; `url` is where. `close()` ends it. Those who stand on it say what `get` and `post` answer.

    Only requests to 127.0.0.1, localhost or [::1] with its port are answered: a page of another site whose name was
    made to lead here gets nothing. Raises ArgumentTypeError for a port that is none, OSError for one that is taken.
    """

    takes_posts = False

    def __init__(self, port: int = 0, secret: str = ""):
        if type(port) is not int or not 0 <= port <= _PORTS:
            raise ArgumentTypeError(f"port is {shown(port)}\nexpected: an integer, 0 (one that is free) to {_PORTS}")
        self._server = _Listener(("127.0.0.1", port), _PostHandler if self.takes_posts else _Handler)
        self._server.local = self
        self._hosts = {f"{name}:{self._server.server_port}" for name in _NAMES}
        self._origin = f"http://127.0.0.1:{self._server.server_port}/"
        self.url = f"{self._origin}{secret}/" if secret else self._origin
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def refusal(self, path: str, host: str, origin: str | None) -> Answer | None:
        """Why a request is not looked at. origin: of the page that asks, None where the browser names none."""
        if host.lower() in self._hosts:
            return None
        return HTTPStatus.MISDIRECTED_REQUEST, TEXT, f"this is {self._origin}\n".encode()

    def get(self, path: str) -> Answer:
        """What is behind a path."""
        return NOTHING

    def post(self, path: str, body: bytes) -> Answer:
        """What comes of what a visitor sends."""
        return NOTHING

    def is_own_origin(self, origin: str) -> bool:
        """Whether a page of this server asks."""
        scheme, _, host = origin.partition("://")
        return scheme == "http" and host.lower() in self._hosts


def is_number(text: str) -> bool:
    """Whether a text is a number from 0 on that is not too long to be meant."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    local: LocalServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about visitors that leave in the middle of a word."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = _PATIENCE

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self._say(self._refusal(path) or self.server.local.get(path))

    def _refusal(self, path: str) -> Answer | None:
        hosts = self.headers.get_all("Host") or [""]
        return self.server.local.refusal(path, ", ".join(hosts), self.headers.get("Origin"))

    def _say(self, answer: Answer) -> None:
        status, kind, content = answer
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        with suppress(OSError):  # the browser has gone, or asks for something else by now
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Say nothing about requests."""


class _PostHandler(_Handler):
    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        self._say(self._refusal(path) or self._post(path))

    def _post(self, path: str) -> Answer:
        """What comes of the body, which is read if it says how long it is, and is short."""
        length = self.headers.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit()):
            return HTTPStatus.LENGTH_REQUIRED, TEXT, b"expected: a Content-Length\n"
        if not is_number(length) or int(length) > MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TEXT, f"expected: at most {MOST_BYTES} bytes\n".encode()
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return HTTPStatus.BAD_REQUEST, TEXT, f"expected: {length} bytes, as was said\n".encode()
        return self.server.local.post(path, body)
