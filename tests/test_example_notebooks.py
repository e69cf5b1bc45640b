"""Examples as notebooks: every cell compiles, the cells together are the example, and they run where they are read."""

import ast
import json
import linecache

import pytest

from warpsim import cli, gallery
from warpsim.notebook import cells_of, write_notebook
from warpsim.viewer import Animation


@pytest.mark.parametrize("path", gallery.examples().values(), ids=lambda path: path.stem)
def test_cells_have_all_of_an_example(path):
    heading, *cells = cells_of(path)
    assert heading[0] == "markdown" and heading[1].startswith("# ")
    program = [ast.dump(node) for _, text in cells for node in ast.parse(text).body]
    body = ast.parse(path.read_text()).body
    assert program[: len(body) - 2] == [ast.dump(node) for node in body[1:-1]]
    assert [text for _, text in cells if text.startswith("result = main([])")]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bounce_to_target", ["--steps", "20", "--iterations", "2"]),
        ("cloth_drop", ["--seconds", "0.05", "--fps", "20", "--substeps", "2"]),
        ("wave", ["--seconds", "0.1", "--cells", "16"]),
    ],
)
def test_a_notebook_runs_from_its_first_cell_to_its_last(name, options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", name, "--notebook"]) == 0
    assert capsys.readouterr().out == f"wrote {name}.ipynb\n"
    notebook = json.loads((tmp_path / f"{name}.ipynb").read_text())
    assert (notebook["nbformat"], notebook["cells"][0]["cell_type"]) == (4, "markdown")
    space = {"__name__": "__main__"}
    for k, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
        text = "".join(cell["source"]).replace("main([])", f"main({options})")
        file = f"<cell {name} {k}>"  # as IPython does, so that kernels find their text
        monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
        *body, last = ast.parse(text).body
        exec(compile(ast.Module(body, []), file, "exec"), space)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), file, "eval"), space)
        else:
            exec(compile(ast.Module([last], []), file, "exec"), space)
    assert isinstance(shown, Animation) and len(shown) > 0


def test_a_notebook_is_never_overwritten(tmp_path):
    (tmp_path / "wave.ipynb").touch()
    with pytest.raises(FileExistsError):
        write_notebook(gallery.examples()["wave"], tmp_path / "wave.ipynb")
