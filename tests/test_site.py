"""The site: it builds without a warning, every public name has an entry, and its examples are true."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpsim as wp
from warpsim import gallery, names

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pages():
    """The pages that are made of the code: Markdown by place."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generated()


def test_every_public_name_has_an_entry(pages):
    entries = re.findall(r"(?m)^### (\w+)\n\n(.*)", "\n".join(pages.values()))
    described = {name for name, text in entries if text.strip()}
    assert {*wp.__all__, *names.OPTIONAL} - described == set()


def test_built_in_functions_say_whether_they_have_a_gradient(pages):
    for entry in re.split(r"(?m)^### ", pages["reference/builtins.md"])[1:]:
        name = entry.split("\n")[0]
        if type(getattr(wp, name)).__name__ in ("Op", "Func"):
            assert re.search(r"\*\*Gradient:\*\* (yes|none, \w)", entry), name


@pytest.mark.parametrize(
    "line", ["wp.sin(0.5)  # 0.479426", "wp.cross(wp.vec3(1.0, 2.0, 3.0), wp.vec3(2.0, 3.0, 4.0))  # (-1 2 -1)"]
)
def test_examples_show_what_the_call_gives(pages, line):
    assert f"```python\n{line}\n```" in pages["reference/builtins.md"]


def test_every_example_is_in_the_gallery_and_has_a_page_with_its_output_and_code(pages):
    shown = re.findall(r"`warpsim run (\w+)`\]\(gallery/\1\.md\)", pages["gallery.md"])
    assert sorted(shown) == sorted(gallery.examples())
    for name, path in gallery.examples().items():
        assert path.read_text(encoding="utf-8").rstrip() in pages[f"gallery/{name}.md"]
        assert re.search(r"It prints .*:\n\n```text\n\S", pages[f"gallery/{name}.md"])


def test_built_in_functions_begin_with_arithmetic(pages):
    assert pages["reference/builtins.md"].startswith("# Built-in functions\n\n## Numbers, vectors, matrices")


def test_every_example_has_a_picture_or_a_reason(pages):
    cards = re.findall(r"<div markdown>\n(.*?)\n</div>", pages["gallery.md"], re.DOTALL)
    assert len(cards) == len(gallery.examples())
    assert [card for card in cards if ("![" in card) == ("*No picture: " in card)] == []


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs-material is not installed: pip install '.[dev]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "<h3 id=\"sin\">" in (tmp_path / "site" / "reference" / "builtins.html").read_text(encoding="utf-8")
