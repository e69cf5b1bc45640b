"""The server answers its own names with statuses, whatever is asked and whoever asks, and prints no traceback."""

import re
import socket
from contextlib import suppress

import numpy as np
import pytest

from warpsim.errors import ArgumentTypeError
from warpsim.usd import UsdWriter
from warpsim.viewer import Animation, view
from warpsim.viewer.server import Server

OWN = ("127.0.0.1:{0}", "localhost:{0}", "[::1]:{0}", "LocalHost:{0}")
FOREIGN = ("attacker.example", "attacker.example:{0}", "127.0.0.1.attacker.example:{0}", "localhost", "127.0.0.1:1")
FOREIGN += ("localhost:{0}.attacker.example", "127.0.0.1:{0}@attacker.example", "", "0.0.0.0:{0}", "[::1]", " ")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("server") / "a.usdc"
    with UsdWriter(path) as usd:
        for k in range(3):
            usd.frame()
            usd.points("p", np.full((5, 3), k, np.float32), 0.1)
    server = view(Animation(path), browser=False)
    yield server
    server.close()


def ask(server, request, host=OWN[0]):
    """The status and the body of an answer to the first line, with a host or without one."""
    port = int(server.url.rstrip("/").rpartition(":")[2])
    lines = [request] + ([] if host is None else [b"Host: " + host.format(port).encode()])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
        said = b""
        while part := connection.recv(65536):
            said += part
    head, _, body = said.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/"):  # to a first line that is none, as to the very first version
        return re.search(rb"Error code: (\d+)", said).group(1).decode(), body
    return head.split(b" ")[1].decode(), body


def addresses_of_this_machine():
    """Addresses by which others may come: one of the loop that is not 127.0.0.1, and those of its name."""
    with suppress(OSError):
        yield from {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    yield "127.0.0.2"


def test_it_listens_on_one_address_of_this_machine_alone(server):
    listening = server._server.socket
    assert listening.family is socket.AF_INET and listening.getsockname()[0] == "127.0.0.1"
    for address in set(addresses_of_this_machine()) - {"127.0.0.1"}:
        with pytest.raises(OSError), socket.create_connection((address, listening.getsockname()[1]), timeout=2):
            pass


@pytest.mark.parametrize("path", [b"/", b"/frame/0", b"/frame/2?x"])
def test_its_own_names_are_answered_and_no_other(server, path, capfd):
    for host in OWN:
        assert ask(server, b"GET " + path + b" HTTP/1.1", host)[0] == "200", host
    for host in (*FOREIGN, None):
        status, body = ask(server, b"GET " + path + b" HTTP/1.1", host)
        assert status == "421" and body == f"this is {server.url}\n".encode(), host
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "number",
    [b"3", b"-1", b"", b"x", b"1e3", b"0x1", b"9" * 5000, b"0" * 5000, b"1" * 10, b"%30", b"\xd9\xa1", b"0/0", b"+0"],
)
def test_numbers_that_are_no_frames(server, number, capfd):
    status, _ = ask(server, b"GET /frame/" + number + b" HTTP/1.1")
    assert status in ("404", "400")
    assert capfd.readouterr().err == ""


REQUESTS = [(b"POST / HTTP/1.1", ("501",)), (b"OPTIONS * HTTP/1.1", ("501",)), (b"GET", ("400",))]
REQUESTS += [(b"\xff\xfe", ("400",)), (b"GET / HTTP/9.9", ("505",)), (b"GET / HTTP/x", ("400",))]
REQUESTS += [(b"GET /" + b"a" * 70_000 + b" HTTP/1.1", ("414",)), (b"GET http://attacker.example/ HTTP/1.1", ("404",))]
REQUESTS += [(b"GET //frame/0 HTTP/1.1", ("404", "200"))]


@pytest.mark.parametrize("line, statuses", REQUESTS)
def test_requests_that_are_none(server, line, statuses, capfd):
    assert ask(server, line)[0] in statuses
    assert ask(server, b"GET /frame/0 HTTP/1.1")[0] == "200"
    assert capfd.readouterr().err == ""


def test_frames_that_cannot_be_read_are_statuses(server, capfd, monkeypatch):
    for error in ("a damaged frame", "no \udcff text"):
        monkeypatch.setattr(server._animation._reader, "_lost", error)
        status, body = ask(server, b"GET /frame/1 HTTP/1.1")
        assert status == "500" and body == f"{error}\n".encode(errors="replace")
    assert capfd.readouterr().err == ""


def test_other_pages_can_neither_embed_nor_guess_types(server):
    port = int(server.url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET / HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = connection.recv(4096).partition(b"\r\n\r\n")[0]
    assert b"Cross-Origin-Resource-Policy: same-origin" in head and b"X-Content-Type-Options: nosniff" in head
    assert b"Access-Control-Allow-Origin" not in head


@pytest.mark.parametrize("port", [-1, 65_536, "x", 1.5, True, None])
def test_ports_that_are_none_are_refused(server, port):
    with pytest.raises(ArgumentTypeError, match="expected: an integer, 0"):
        Server(server._animation, port)


def test_a_second_host_is_no_way_in(server):
    port = server.url.rstrip("/").rpartition(":")[2]
    lines = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: attacker.example\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as connection:
        connection.sendall(lines.encode())
        assert b" 421 " in connection.recv(65536).partition(b"\r\n")[0]
