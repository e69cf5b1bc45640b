"""Requests to a live view that are not what its page asks are refused with a reason, and the simulation goes on."""

import json
import re

import pytest
from live_client import GRAINS, Client, Grains, raw

from warpsim.viewer import Slider, ViewError, live
from warpsim.viewer.commands import COMMANDS, read_command


@pytest.fixture(scope="module")
def grains():
    return Grains()


@pytest.fixture(scope="module")
def view(grains):
    """Two frames in, the second one shown."""
    with live(grains.scene, speed=None, sliders=[Slider("g", 9.81, 0.0, 20.0, grains.pull)], browser=False) as view:
        for number in view.frames(range(2), stay=False):
            grains.draw(view)
            if number:
                view._show()
        yield view


@pytest.fixture(autouse=True)
def goes_on(view, grains, capfd):
    """Whatever is asked, no wish is left, and the simulation takes its steps, without a word on stderr."""
    before = {**view._exchange.status, "sliders": [9.81]}
    yield
    exchange = view._exchange
    assert (exchange.slides, exchange.grip, exchange.reset, exchange.paused) == ({}, None, False, False)
    assert exchange.status == before
    numbers = list(view.frames(range(3), stay=False))
    assert numbers == [0, 1, 2]
    exchange.status.update(before)
    assert capfd.readouterr().err == ""


def address(view):
    """Host with port, and the path of the page."""
    _, _, host, path = view.url.split("/", 3)
    return host, f"/{path}"


def ask(view, method="GET", path="", host=None, secret=None, more=(), body=b""):
    """The status and the text of an answer."""
    own, folder = address(view)
    folder = folder if secret is None else secret
    lines = [f"{method} {folder}{path} HTTP/1.1", *([] if host == "" else [f"Host: {host or own}"]), *more]
    said = raw(view, "\r\n".join([*lines, "", ""]).encode("latin-1") + body)
    head, _, text = said.partition(b"\r\n\r\n")
    return int(re.match(rb"HTTP/1.[01] (\d+)", head).group(1)), text.decode(errors="replace"), head.decode()


def post(view, body, **more):
    return ask(view, "POST", "control", more=[f"Content-Length: {len(body)}"], body=body, **more)[:2]


# ----- who may ask ------------------------------------------------------------------------------


@pytest.mark.parametrize("method, path", [("GET", ""), ("GET", "news/0/0/0"), ("POST", "control")])
def test_without_the_secret_nothing_is_answered(view, method, path):
    own = address(view)[1]
    for secret in ("/", "//", "/x/", own[:-2] + "/", own[:-1] + "x/", own.upper(), own.swapcase(), "/%00/", "/é/"):
        status, text, head = ask(view, method, path, secret=secret, more=["Content-Length: 0"])
        assert status == 403, secret
        assert own.strip("/") not in text + head


def test_secrets_are_long_and_of_their_own():
    secrets = set()
    for _ in range(3):
        with live(browser=False) as view:
            secrets.add(address(view)[1])
    assert len(secrets) == 3 and all(len(secret) >= 26 for secret in secrets)


@pytest.mark.parametrize("method, path", [("GET", ""), ("GET", "news/0/0/0"), ("POST", "control")])
def test_other_names_are_refused_before_anything_else(view, method, path):
    port = address(view)[0].partition(":")[2]
    for host in ("attacker.example", f"attacker.example:{port}", "127.0.0.1", f"127.0.0.1:{port}, x", ""):
        status, text, _ = ask(view, method, path, host=host, more=["Content-Length: 0"])
        assert status == 421 and text == f"this is http://127.0.0.1:{port}/\n", host
    assert ask(view, "GET", "", host=f"localhost:{port}")[0] == 200


def test_pages_of_other_origins_are_refused(view):
    port = address(view)[0].partition(":")[2]
    body = b'{"do": "pause"}'
    for origin in ("http://attacker.example", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1:1", "file://", ""):
        more = [f"Origin: {origin}", f"Content-Length: {len(body)}"]
        status, text, _ = ask(view, "POST", "control", more=more, body=body)
        assert (status, text) == (403, "another page may not ask\n"), origin
    more = [f"Origin: http://localhost:{port}"]
    assert ask(view, "GET", "", more=more)[0] == 200


def test_pages_are_kept_to_themselves(view):
    head = ask(view)[2]
    for line in ("Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
                 "Cross-Origin-Resource-Policy: same-origin"):  # fmt: skip
        assert line in head
    assert "Access-Control" not in head


# ----- what may be asked --------------------------------------------------------------------------


@pytest.mark.parametrize("path", [
    "x", "news", "news/0/0", "news/0/0/0/0", "news/-1/0/0", "news/0/x/0", "news/0/0/1e3", "news/0/0/" + "9" * 5000,
    "news/%30/0/0", "news/0//0", "../", "control", "frame/0", "news/+0/0/0",
])  # fmt: skip
def test_paths_that_are_none(view, path):
    assert ask(view, "GET", path)[:2] == (404, "there is nothing\n")
    assert ask(view, "POST", path + "?x", more=["Content-Length: 0"])[0] in (404, 400)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"])
def test_methods_that_are_none(view, method):
    assert ask(view, method, "control")[0] == 501


@pytest.mark.parametrize("more, status, told", [
    (["Content-Length: 4097"], 413, "expected: at most 4096 bytes\n"),
    (["Content-Length: 1000000000000"], 413, "expected: at most 4096 bytes\n"),
    ([f"Content-Length: {'9' * 6000}"], 413, "expected: at most 4096 bytes\n"),
    ([], 411, "expected: a Content-Length\n"),
    (["Content-Length: -5"], 411, "expected: a Content-Length\n"),
    (["Content-Length: x"], 411, "expected: a Content-Length\n"),
    (["Transfer-Encoding: chunked"], 411, "expected: a Content-Length\n"),
])  # fmt: skip
def test_bodies_are_short_and_say_how_long_they_are(view, more, status, told):
    assert ask(view, "POST", "control", more=more)[:2] == (status, told)


def test_a_large_body_is_not_read(view):
    assert b" 413 " in raw(view, "".join([
        f"POST {address(view)[1]}control HTTP/1.1\r\nHost: {address(view)[0]}\r\nContent-Length: 1000000\r\n\r\n",
    ]).encode() + b"x" * 4000)  # fmt: skip


@pytest.mark.parametrize("body", [
    b"", b"x", b"{", b"\xff\xfe", b"[" * 4000, b"1", b"[]", b"null", b'"pause"', b"{}", b'{"do": null}', b'{"do": []}',
    b'{"do": "__init__"}', b'{"do": "close"}', b'{"do": "Pause"}', b'{"do": ["pause"]}', b'{"pause": 1}',
    b'{"do": "pause", "x": 1}', b'{"do": "slide", "slider": 0}', b'{"do": "slide", "value": 1.0}',
    b'{"do": "pull", "x": 0, "y": 0}', b'{"do": "speed", "factor": 1, "more": 2}',
])  # fmt: skip
def test_commands_that_are_none(view, body):
    status, text = post(view, body)
    assert status == 400 and ("no JSON" in text or "expected: " in text)


BAD = ["NaN", "Infinity", "-Infinity", "1e999", "-1e10", "1e400", '"1"', "null", "true", "[1]", "{}", "9" * 4000]


@pytest.mark.parametrize("number", BAD, ids=lambda text: text[:12])
@pytest.mark.parametrize("name, key", [(name, key) for name, keys in COMMANDS.items() for key in keys])
def test_numbers_that_are_none(name, key, number):
    words = {other: 0 for other in COMMANDS[name] if other != key}
    text = json.dumps({"do": name, **words})[:-1] + f', "{key}": {number}}}'
    with pytest.raises(ViewError, match=r"expected: a number|no JSON"):
        read_command(text.encode())


@pytest.mark.parametrize("name, key", [
    ("slide", "slider"), ("grab", "shot"), ("grab", "body"), ("grab", "point"), ("grab", "reach"), ("speed", "factor"),
])  # fmt: skip
def test_numbers_below_zero(view, name, key):
    words = {"do": name, **dict.fromkeys(COMMANDS[name], 0), key: -1}
    status, text = post(view, json.dumps(words).encode())
    assert status == 400 and text.startswith(f"{key} is -1\nexpected: ")
    if key not in ("reach", "factor"):
        assert post(view, json.dumps({**words, key: 0.5}).encode())[1].startswith(f"{key} is 0.5\nexpected: a whole")


def test_sliders_that_are_not_there_and_values_out_of_bounds(view):
    for number in (1, 2, 10**8):
        status, text = Client(view).do("slide", slider=number, value=1.0)
        assert (status, text) == (400, f"there is no slider {number}\nexpected: 0 to 0\n")
    for value in (-0.001, 20.001, 1e9):
        status, text = Client(view).do("slide", slider=0, value=value)
        assert status == 400 and text == f"g is {value:g}\nexpected: 0 to 20\n"


@pytest.mark.parametrize("numbers, told", [
    ({"shot": 99}, "shot 99 is gone\nhelp: grab in the newest one"), ({"shot": 0}, "shot 0 is gone"),
    ({"body": 1}, "there is no body 1 to drag\nexpected: 0 to 0"), ({"body": 10**8}, "there is no body 100000000"),
    ({"point": GRAINS}, f"the body has no point {GRAINS}\nexpected: 0 to {GRAINS - 1}"),
])  # fmt: skip
def test_what_cannot_be_grabbed(view, numbers, told):
    newest = view._exchange._shots[-1].number
    status, text = Client(view).do("grab", **{"shot": newest, "body": 0, "point": 0, "reach": 0.0, **numbers})
    assert status == 400 and text.startswith(told)


def test_who_holds_nothing_pulls_nothing(view):
    assert Client(view).do("pull", x=1.0, y=1.0, z=1.0) == (200, {})


def test_a_flood_of_commands_takes_no_memory(view, grains):
    client = Client(view)
    for k in range(200):
        assert client.do("slide", slider=0, value=k % 20)[0] == 200
    assert len(view._exchange.slides) == 1
    view._exchange.slides.clear()
    view._exchange.status["sliders"][0] = 9.81


def test_an_address_without_its_last_slash_says_so(view):
    own = address(view)[1]
    assert ask(view, secret=own[:-1])[:2] == (404, "expected: a / at the end of the address\n")
