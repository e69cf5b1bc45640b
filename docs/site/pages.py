"""MkDocs hook: adds the pages that are made of the code, and sends links out of docs/ where the site has the page."""

from __future__ import annotations

import importlib
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

COPIES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages that stand outside of docs/, by their place in the site."""


def on_files(files: Any, config: Any) -> Any:
    """Add the home page, the gallery and the reference."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests read the pages without MkDocs

    for place, text in generated().items():
        files.append(File.generated(config, place, content=text))
    return files


def generated() -> dict[str, str]:
    """All pages that no file in docs/ holds: Markdown by place."""
    if str(HERE) not in sys.path:  # here, as MkDocs takes away what hooks add while they load
        sys.path[:0] = [str(HERE), str(ROOT)]
    gallery, reference, solvers = map(importlib.import_module, ("site_gallery", "site_reference", "site_solvers"))
    pages = {place: adapted((ROOT / path).read_text(encoding="utf-8"), path, place) for place, path in COPIES.items()}
    return {**pages, **gallery.pages(), **reference.pages(), **solvers.pages()}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links from docs/ to files of the repository become the page that shows them, or the path as text.

    A page also gets the words by which it is looked for, as tags that the search reads.
    """
    page.meta["tags"] = importlib.import_module("search_words").WORDS.get(page.file.src_uri, "").split()
    return adapted(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def adapted(text: str, path: str, place: str) -> str:
    """A page of the repository as one of the site: its links count from `place` instead of `path`."""
    places = {path: place for place, path in COPIES.items()}

    def moved(found: re.Match[str]) -> str:
        label, target, anchor = found[1], *found[2].partition("#")[::2]
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if path.startswith("docs/") and inside.startswith("docs/"):
            return found[0]
        known = places.get(inside, inside.removeprefix("docs/") if inside.startswith("docs/") else "")
        if not known:
            return label if "`" in label else f"{label} (`{inside}`)"
        here = posixpath.relpath(known, posixpath.dirname(place) or ".")
        return f"[{label}]({here}{'#' * bool(anchor)}{anchor})"

    return re.sub(r"\[([^\[\]]*)\]\(([^()\s]+)\)", moved, text)
