"""The map in warpsim/core/README.md is true: every module is on it, and the printed programs are real.

`pytest tests/test_map.py --update-golden` rewrites both parts from the code.
"""

import ast
import importlib.util
import re
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from source_trees import PACKAGE, ROOT, trees

import warpsim as wp
from warpsim.core.compile import STAGES
from warpsim.core.emit.native import native

MAP = PACKAGE / "core" / "README.md"
ADJOINT_STAGES = ("adjoint", "adjoint dce")  # those of the walk
_BEGIN, _END = "<!-- modules:begin -->\n", "<!-- modules:end -->"


def opening(path: Path) -> str:
    """The docstring of a module, or the comment that a file of LLVM text opens with."""
    if path.suffix == ".ll":
        lines = path.read_text(encoding="utf-8").splitlines()
        return "\n".join(line[1:] for line in takewhile(lambda line: line.startswith(";"), lines))
    return ast.get_docstring(trees()[path]) or ""


# A stop ends a sentence but after initials, after these words, and inside of parentheses.
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b(?:St|al|vs|cf|Eq)\.)(?<!\b(?:Fig|e\.g|i\.e)\.)\s+")


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, on one line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    for end in _END_OF_SENTENCE.finditer(paragraph):
        sentence = paragraph[: end.start()]
        if sentence.count("(") == sentence.count(")"):
            return sentence
    return paragraph


def in_cell(text: str) -> str:
    """The first sentence in a cell of a table, which a bar would end."""
    return first_sentence(text).replace("|", r"\|")


def module_tables() -> str:
    """One table a folder, in the order of the file system."""
    files = sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".ll"))
    out = []
    for folder in sorted({p.parent for p in files}):
        title = folder.relative_to(ROOT).as_posix()
        about = folder / "__init__.py"
        out.append(f"### `{title}`\n")
        if about.exists() and folder != PACKAGE:
            out.append(f"{first_sentence(opening(about))}\n")
        lines = [f"| `{p.name}` | {in_cell(opening(p))} |" for p in files if p.parent == folder and p != about]
        if lines:
            out.append("\n".join(["| file | |", "|---|---|", *lines]) + "\n")
    return "\n".join(out)


def update(request, text: str) -> str:
    """Write the page when asked to; returns the page as it now is."""
    if request.config.getoption("--update-golden"):
        MAP.write_text(text, encoding="utf-8")
    return MAP.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Of sheets, St. Venant-Kirchhoff, with weft. It is\n\nmore", "Of sheets, St. Venant-Kirchhoff, with weft."),
        ("Surfaces stick (K. Johnson, A. Roberts\n1971). The rest", "Surfaces stick (K. Johnson, A. Roberts 1971)."),
        ("After J. Monaghan et al. 1994. The rest", "After J. Monaghan et al. 1994."),
        ("A file (see below. It is one) of text. The rest", "A file (see below. It is one) of text."),
        ("What is it? A question. The rest", "What is it?"),
        ("What others call. it.py compiles it.", "What others call."),
        ("Parts, e.g. of arrays, i.e. views, and so on. `x` is one", "Parts, e.g. of arrays, i.e. views, and so on."),
        ("No stop\nat all\n\nand more.", "No stop at all"),
    ],
)
def test_first_sentences_are_whole(text, sentence):
    assert first_sentence(text) == sentence


def test_every_module_is_on_the_map(request):
    page = MAP.read_text(encoding="utf-8")
    before, rest = page.split(_BEGIN)
    after = rest.split(_END)[1]
    wanted = f"{before}{_BEGIN}\n{module_tables()}\n{_END}{after}"
    assert update(request, wanted) == wanted, "run pytest tests/test_map.py --update-golden"


def test_every_file_that_the_text_names_exists():
    page = MAP.read_text(encoding="utf-8")
    prose = page.split(_BEGIN)[0]
    named = set(re.findall(r"\b((?:frontend|ir|ops|passes|emit|runtime|lib|types|geometry)(?:/[a-z_]+)+)", prose))
    places = [MAP.parent, PACKAGE]
    missing = [n for n in named if not any((p / n).with_suffix(s).exists() for p in places for s in (".py", ".ll"))]
    assert missing == [] and len(named) > 10


# ----- the walk -------------------------------------------------------------------------------


def code_of_the_walk(page: str) -> str:
    return re.search(r"<!-- walk:source -->\n```python\n(.*?)```", page, re.DOTALL).group(1)


@pytest.fixture
def dumped(tmp_path, capsys):
    """What `config.dump` prints for the kernel of the walk, by stage."""
    path = tmp_path / "walk.py"
    path.write_text(code_of_the_walk(MAP.read_text(encoding="utf-8")), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("walk", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = np.arange(1024, dtype=np.float32), np.ones(1024, dtype=np.float32)
    wp.config.dump = "all"
    wp.launch(module.saxpy, 512, [x, y, 2.0], device="cpu")
    assert (y == 2.0 * x + 1.0).all()
    return {**stages("saxpy", capsys.readouterr().out), **dumped_adjoint(module.saxpy, capsys)}


def dumped_adjoint(kernel, capsys) -> dict[str, str]:
    """What `config.dump` prints for the adjoint that a tape runs."""
    x, y = (wp.array(np.ones(1024, np.float32), requires_grad=True, device="cpu") for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(kernel, 512, [x, y, 2.0], device="cpu")
    tape.backward(grads={y: wp.ones(1024, dtype=float, device="cpu")})
    assert (x.grad.numpy() == 2.0).all() and (y.grad.numpy() == 1.0).all()
    printed = stages("adj_saxpy", capsys.readouterr().out)
    return {stage: printed[stage] for stage in ADJOINT_STAGES}


def stages(name: str, output: str) -> dict[str, str]:
    """Dumped programs of a name, by stage."""
    parts = re.split(r"# ---- (\w+) after ([\w ]+)\n", output)[1:]
    programs = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {stage: text.strip("\n") for program, stage, text in programs if program == name}


def thread_block(llvm: str) -> str:
    """The block of one thread: the rest is the loop around it."""
    lines = llvm.splitlines()
    start = lines.index("thread:")
    stop = next(k for k in range(start, len(lines)) if lines[k].strip().startswith("br label"))
    return "\n".join(lines[start : stop + 1])


def test_the_walk_is_what_config_dump_prints(request, dumped):
    page = MAP.read_text(encoding="utf-8")
    wanted = page
    for stage in (*STAGES[1:], *ADJOINT_STAGES):
        text = thread_block(dumped[stage]) if stage == "llvm" else dumped[stage]
        mark = f"<!-- walk:{stage} -->\n"
        assert mark in page, f"the walk leaves out the stage {stage!r}"
        pattern = re.escape(mark) + r"(```llvm\n.*?```\n|```\n.*?```\n)?"
        block = f"{mark}```{'llvm' if stage == 'llvm' else ''}\n{text}\n```\n"
        wanted = re.sub(pattern, lambda _, block=block: block, wanted, flags=re.DOTALL)
    assert update(request, wanted) == wanted, "run pytest tests/test_map.py --update-golden"


def test_the_stages_of_the_walk_differ_as_the_text_says(dumped):
    assert list(dumped) == [*STAGES, *ADJOINT_STAGES]
    assert " axpy(" in dumped["lower"] and " axpy(" not in dumped["inline"]
    assert "for " in dumped["inline"] and "for " not in dumped["unroll"]
    assert "512:int32" in dumped["fold"] and "mul(1:int32" not in dumped["fold"]
    assert dumped["dce"] == dumped["fold"]
    assert dumped["adjoint"].count(" load(") > dumped["adjoint dce"].count(" load(") == 2  # primals, and none


# ----- lanes ----------------------------------------------------------------------------------


@pytest.fixture
def in_lanes(tmp_path, capsys, monkeypatch):
    """The parts of the section on lanes as `config.dump` prints them."""
    path = tmp_path / "lanes.py"
    code = re.search(r"<!-- lanes:source -->\n```python\n(.*?)```", MAP.read_text(encoding="utf-8"), re.DOTALL).group(1)
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("lanes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(native, "lanes", lambda: 4)
    wp.config.lanes, wp.config.dump, wp.config.cache_kernels = "always", "all", False
    x, f = np.arange(8, dtype=np.float32) ** 2, np.zeros(8, np.float32)
    wp.launch(module.pull, 8, [x, np.roll(np.arange(8, dtype=np.uint32), -1), f], device="cpu")
    np.testing.assert_allclose(f[1:] ** 2, np.diff(x), rtol=1e-6)
    printed = stages("pull", capsys.readouterr().out)
    return {
        "dce": printed["dce"],
        "strip": blocks(printed["llvm"], "work", "lane.1"),
        "effects": blocks(printed["llvm"], "lane.1", "threads"),
    }


def blocks(llvm: str, first: str, behind: str) -> str:
    """The blocks from one to the one before another."""
    lines = llvm.splitlines()
    return "\n".join(lines[lines.index(f"{first}:") : lines.index(f"{behind}:")])


def test_the_lanes_are_what_config_dump_prints(request, in_lanes):
    wanted = MAP.read_text(encoding="utf-8")
    for part, text in in_lanes.items():
        mark = f"<!-- lanes:{part} -->\n"
        assert mark in wanted
        block = f"{mark}```{'' if part == 'dce' else 'llvm'}\n{text}\n```\n"
        wanted = re.sub(re.escape(mark) + r"(```(?:llvm)?\n.*?```\n)?", lambda _, b=block: b, wanted, flags=re.DOTALL)
    assert update(request, wanted) == wanted, "run pytest tests/test_map.py --update-golden"
