"""Serves a running simulation: a page, news of it, and a place for commands, all behind a secret in the address."""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus

from .commands import read_command
from .exchange import Exchange
from .local_server import BYTES, HTML, NOTHING, TEXT, Answer, LocalServer, is_number
from .page import ViewError

_SECRET = 18  # bytes


class LiveServer(LocalServer):
    """Serves on an address of this machine alone; `url` is where, with the secret without which nothing is answered.

    GET URL is the page, GET URL/news/SEEN/SHOT/STAGE is `Exchange.news`, POST URL/control takes a command.
    """

    takes_posts = True

    def __init__(self, exchange: Exchange, page: str, port: int = 0):
        self._exchange, self._page = exchange, page.encode()
        self._secret = secrets.token_urlsafe(_SECRET)
        super().__init__(port, self._secret)

    def refusal(self, path: str, host: str, origin: str | None) -> Answer | None:
        """Refuses other names than those of this machine, other pages, and whoever does not know the secret."""
        refused = super().refusal(path, host, origin)
        if refused is not None:
            return refused
        if origin is not None and not self.is_own_origin(origin):
            return HTTPStatus.FORBIDDEN, TEXT, b"another page may not ask\n"
        secret = path[1:].partition("/")[0]
        if not secrets.compare_digest(secret.encode(errors="replace"), self._secret.encode()):
            return HTTPStatus.FORBIDDEN, TEXT, b"expected: the whole address, as the program has printed it\n"
        return None

    def get(self, path: str) -> Answer:
        """The page, or news."""
        _, _, *words = path.split("/")
        if not words:
            return HTTPStatus.NOT_FOUND, TEXT, b"expected: a / at the end of the address\n"
        if words == [""]:
            return HTTPStatus.OK, HTML, self._page
        if len(words) != 4 or words[0] != "news" or not all(map(is_number, words[1:])):
            return NOTHING
        try:
            return HTTPStatus.OK, BYTES, self._exchange.news(*map(int, words[1:]))
        except Exception as error:  # whatever a frame holds is an answer, and no traceback in this thread
            return HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"{error}\n".encode(errors="replace")

    def post(self, path: str, body: bytes) -> Answer:
        """What comes of a command."""
        if path.split("/")[2:] != ["control"]:
            return NOTHING
        try:
            told = self._exchange.obey(read_command(body))
        except ViewError as error:
            return HTTPStatus.BAD_REQUEST, TEXT, f"{error}\n".encode(errors="replace")
        return HTTPStatus.OK, "application/json", json.dumps(told).encode()
