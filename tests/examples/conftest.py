"""What tests of examples share: the example under test, loaded by its file as any user's script is."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def example(request):
    """The example that the test module names in `EXAMPLE`."""
    name = request.module.EXAMPLE
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.fixture
def run(example, tmp_path):
    """Call the example with options on the device of the tests; its files are out.usdc and out.png in `tmp_path`."""

    def call(*options):
        files = ["--output", str(tmp_path / "out.usdc"), "--picture", str(tmp_path / "out.png")]
        return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])

    return call


@pytest.fixture
def problem_of(example, run, monkeypatch):
    """Call the example with options up to where it minimises; returns the problem, and what it would record."""

    class Caught(Exception):
        pass

    def minimize(problem, *args, record=None, **options):
        raise Caught(problem, record)

    def call(*options, **constants):
        with monkeypatch.context() as patch, pytest.raises(Caught) as caught:
            patch.setattr(example.Problem, "minimize", minimize)
            for name, value in constants.items():
                patch.setattr(example, name, value)
            run(*options)
        return caught.value.args

    return call


@pytest.fixture
def no_picture(monkeypatch):
    """The picture takes longer than small simulations, and another test looks at it."""
    monkeypatch.setattr("warpsim.render.film.render_meshes", lambda path, views, **options: path)
