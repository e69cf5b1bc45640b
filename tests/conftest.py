"""What every test shares: a kernel cache of its own, clean switches, and texts kept beside the tests.

`pytest --update-golden` rewrites the kept texts; look at the difference before you commit it.
Every kernel that a test makes is assembled for CUDA too, see cuda_assembly/every_program.py, and every program that it
loads from the disk compared with the front end's, see program_audit.py.
`pytest --simulated-cuda` runs tests on "cuda:0" of a simulated driver, see cuda_simulator/README.md, and
`pytest -m device` on a GPU, see device_run.py.
"""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import device_run
import program_audit
import pytest
import samples
from cuda_assembly import every_program
from cuda_simulator import cufft, simulator
from hypothesis import settings

import warpsim as wp
from warpsim.config import config
from warpsim.core.runtime.devices.cuda.memory import CudaMemory
from warpsim.core.runtime.launches.pool import get_pool

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
_CACHE = "WARPSIM_CACHE_PATH"

# The same examples in every run; WARPSIM_RANDOM_TESTS=1 looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if os.environ.get("WARPSIM_RANDOM_TESTS") else "fixed")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the texts under tests/golden")
    parser.addoption("--simulated-cuda", action="store_true", help='run tests on "cuda:0" of a simulated driver')
    parser.addoption("--nightly", action="store_true", help="tests marked `nightly` too, and all they assemble")
    parser.addoption("--one-in", type=int, default=1, metavar="N", help="one test in N, the same in every run")
    parser.addoption("--assembly", choices=every_program.CHOICES, default="auto", help="machine code for GPUs as well")


def pytest_configure(config):
    """One empty kernel cache for the run, its workers and its subprocesses, unless one was chosen."""
    if _CACHE not in os.environ:
        os.environ[_CACHE] = tempfile.mkdtemp(prefix="warpsim-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(_CACHE), ignore_errors=True))
    config.addinivalue_line("markers", "cpu: about the CPU alone, which stays the current device with --simulated-cuda")
    config.addinivalue_line("markers", "every_case: cases that are no variations of one another: all run by day")
    config.addinivalue_line("markers", "nightly: says more of what other tests sample; runs with --nightly only")
    program_audit.start()
    every_program.configure(config)
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "worksteal"  # long tests stand side by side: all would wait for the worker that has them
    if config.getoption("--simulated-cuda"):
        simulator.start()
        cufft.start()
    device_run.configure(config)


def is_whole(config):
    """Whether the whole suite was asked for; who asks for certain tests gets every case of them."""
    return [Path(argument).resolve() for argument in config.args] == [TESTS] and not config.option.keyword


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave nightly tests to their night, and choose for a device what it has a part in."""
    device_run.mark(config, items)
    if not config.getoption("--nightly"):
        deselect(config, items, [item for item in items if item.get_closest_marker("nightly")])
        if is_whole(config):
            deselect(config, items, samples.resting_by_day(items))
    if device_run.on_gpu(config):
        deselect(config, items, device_run.moved_to_gpu(items))
    if (one_in := config.getoption("--one-in")) > 1:
        deselect(config, items, [item for item in items if not samples.belongs(item.nodeid, one_in)])


def pytest_collection_finish():
    """What is there before tests begin stays: to look for garbage among millions of objects takes a second a time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _settled_objects():
    """Nor is it looked for again among what earlier files have left."""
    yield
    gc.collect()
    gc.freeze()


def deselect(config, items, resting):
    """Take tests out of the run; pytest counts them."""
    config.hook.pytest_deselected(items=resting)
    gone = set(resting)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture(autouse=True)
def _switches_as_found():
    """A test may set any switch of `warpsim.config`; the next test does not see it."""
    before = {name: value for name, value in vars(config).items() if name != "generation"}
    yield
    for name, value in before.items():
        if getattr(config, name) != value:
            setattr(config, name, value)


@pytest.fixture(autouse=True)
def _device(request):
    """The device on which a test runs what names none."""
    on_gpu = device_run.on_gpu(request.config) and request.node.get_closest_marker("cpu") is None
    with wp.ScopedDevice("cuda:0" if on_gpu else None):
        yield
        if on_gpu:
            wp.synchronize()  # what checks of launches found belongs to this test


@pytest.fixture(autouse=True)
def _threads(request):
    """Launches fork whether or not it pays, else races would not show; but not in simulations of many small ones.

    There, under `pytest -n`, threads of one worker would wait for those of another: they have one core per worker. So
    would those of PyTorch, everywhere.
    """
    pool = get_pool()
    before = pool.threads
    simulates = request.path.relative_to(TESTS).parts[0] in ("examples", "geometry", "gradients")
    pool.always_fork(not simulates)
    if simulates and "PYTEST_XDIST_WORKER" in os.environ:
        pool.set_num_threads(1)
    if "torch" in sys.modules and "PYTEST_XDIST_WORKER" in os.environ:
        sys.modules["torch"].set_num_threads(1)
    yield
    pool.set_num_threads(before)


@pytest.fixture
def downloads(monkeypatch):
    """The sizes [bytes] of all copies from a GPU to the host, for each of which the host waits."""
    sizes, host = [], CudaMemory.host

    def counted(self):
        sizes.append(self.nbytes)
        return host(self)

    monkeypatch.setattr(CudaMemory, "host", counted)
    return sizes


@pytest.fixture
def golden(request):
    """Compare a text with the one kept for this test: `golden(text)`, or `golden(text, "part")`."""
    folder = GOLDEN / request.path.relative_to(TESTS).with_suffix("")

    def check(text: str, part: str = "") -> None:
        name = request.node.name + (f"-{part}" if part else "")
        kept = folder / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            folder.mkdir(parents=True, exist_ok=True)
            kept.write_text(text, encoding="utf-8")
        assert kept.exists(), f"{kept} is missing: run pytest --update-golden and look at it"
        assert text == kept.read_text(encoding="utf-8"), f"differs from {kept}; --update-golden accepts it"

    return check
