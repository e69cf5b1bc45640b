"""One page of HTML that plays an animation in a browser: with all frames inside of it, or with frames from a server."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..atomic_file import AtomicFile
from ..errors import WarpsimError
from .pack import box_of, compress, frame_bytes, header_of, text_of

if TYPE_CHECKING:
    from .animation import Animation

_FOLDER = Path(__file__).with_name("page")


class ViewError(WarpsimError, ValueError):
    """An animation that cannot be shown as was asked."""


@checked
def write_page(
    animation: Animation, path: str | os.PathLike[str], *, every: int = 1, play: bool = True, max_bytes: int = 64 << 20
) -> Path:
    """Write a page that plays without a network and without warpsim; returns its path.

    every: of so many frames one is kept. play: begin by playing. max_bytes: the largest page that is written.
    Raises ViewError for a larger one, FileNotFoundError for a missing folder.
    """
    target = Path(os.fspath(path))
    if target.suffix.lower() not in (".html", ".htm"):
        raise ViewError(f"{target.name!r} has the extension {target.suffix!r}\nexpected: .html")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"folder {str(target.parent)!r} does not exist; make it first")
    text = embed(animation, every=every, play=play)
    if len(text) > max_bytes:
        raise ViewError(
            f"the page would take {len(text) / 2**20:.0f} MiB, the limit is {max_bytes / 2**20:.0f} MiB\n"
            f"help: keep fewer frames (every={2 * every}), raise max_bytes, or watch it by `warpsim view`, which sends "
            "frames as they are asked for"
        )
    with AtomicFile(target) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def embed(animation: Animation, *, every: int = 1, play: bool = True) -> str:
    """The text of a page that holds all frames."""
    if every < 1:
        raise ViewError(f"every is {every}\nexpected: 1 or more")
    moving = [body for body in animation.bodies if body.moving]
    chosen = range(0, len(animation), every)
    boxes = {body.name: box_of(*animation.box(body, chosen)) for body in moving}
    data, sizes = compress(frame_bytes(animation, moving, k, boxes) for k in chosen)
    return page_text(animation.name, {**header_of(animation, every, play), "sizes": sizes}, text_of(data))


def inline_frame(text: str, height: int = 480) -> str:
    """A page inside another one, such as a notebook."""
    return f'<iframe srcdoc="{html.escape(text)}" style="width: 100%; height: {height}px; border: 0"></iframe>'


def page_text(name: str, header: dict[str, Any], frames: str) -> str:
    """The page, with a header and the text of its frames, which is empty where a server sends them.

    name: of what is shown, such as a file. A header with "live" makes the page of a simulation that runs.
    """
    parts = {
        "title": html.escape(Path(name).name),
        "header": json.dumps(header, allow_nan=False).replace("<", "\\u003c"),
        "frames": frames,
        "css": _part("page.css"), "three": _part("three.min.js"), "viewer": _part("viewer.js"),
        "live": _part("live.js") if header.get("live") else "",
    }  # fmt: skip
    text = _part("page.html")
    before, *rest = text.split("{")
    pieces = [before]
    for piece in rest:
        part, _, after = piece.partition("}")
        pieces += [parts[part], after]
    return "".join(pieces)


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
