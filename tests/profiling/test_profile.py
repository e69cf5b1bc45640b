"""`wp.profile`: counts that are known by construction, times that add up, and programs that notice nothing of it."""

import inspect
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.build import compiling
from warpsim.errors import ArgumentTypeError, KernelAssertionError, LaunchError
from warpsim.profiling.probes import PLACES, is_installed

pytestmark = pytest.mark.cpu
SMALL, LARGE = 8, 50_000


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def square_sum(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i])


@wp.kernel
def refuse(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 0.0


def arrays(n=SMALL, count=2, grad=False):
    values = np.linspace(0.0, 1.0, n, dtype=np.float32)
    return [wp.array(values, dtype=float, requires_grad=grad) for _ in range(count)]


def counts(profile):
    """How many launches there were of each kernel."""
    totals = {}
    for one in profile.report.launches:
        totals[one.kernel] = totals.get(one.kernel, 0) + one.count
    return totals


def quiet():
    return wp.profile(print=False)


def check_sums(profile):
    """What must hold of any profile: parts add up to the whole, and nobody was busy for longer than it took."""
    report = profile.report
    assert sum(report.parts.values()) == pytest.approx(report.seconds, abs=1e-6) and report.rest >= 0.0
    assert all(0.0 <= thread.busy <= report.seconds for thread in report.threads)
    own = sum(one.total for one in report.launches) + sum(one.own for one in report.blocks)
    own += sum(one.total for one in report.compilation)
    assert own <= report.seconds * len(report.threads) + 1e-6


# ----- launches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_launches_are_counted_by_kernel_and_call_site(n, device):
    n = n if device == "cpu" else SMALL
    x, y = (a.to(device) for a in arrays(n))
    loss = wp.zeros(1, dtype=float, device=device)
    with quiet() as profile:
        here = inspect.currentframe().f_lineno
        for _ in range(7):
            wp.launch(double, n, inputs=[x, y], device=device)
        for _ in range(3):
            wp.launch(double, n, inputs=[x, y], device=device)
        wp.launch(square_sum, n, inputs=[y, loss], device=device)
    rows = {(one.kernel, one.line - here): one.count for one in profile.report.launches}
    assert rows == {("double", 2): 7, ("double", 4): 3, ("square_sum", 5): 1}
    assert {one.place for one in profile.report.launches} == {__file__}
    assert {one.device for one in profile.report.launches} == {device}
    assert {one.threads for one in profile.report.launches} == {n}
    check_sums(profile)


def test_a_profile_changes_no_bit_and_leaves_nothing_behind():
    x, y = arrays(LARGE)
    wp.launch(double, LARGE, inputs=[x, y])
    expected, before = y.numpy().copy(), [vars(place.owner)[place.name] for place in PLACES]
    y.zero_()
    with quiet():
        assert is_installed()
        wp.launch(double, LARGE, inputs=[x, y])
    assert y.numpy().tobytes() == expected.tobytes() and not is_installed()
    assert [vars(place.owner)[place.name] for place in PLACES] == before
    launcher = double.latest["cpu"]
    assert launcher.direct_limit == launcher.serial_limit >= SMALL


def test_small_launches_are_bare_calls_again_after_a_profile(monkeypatch):
    x, y = arrays()
    with quiet() as profile:
        wp.launch(double, SMALL, inputs=[x, y])
    monkeypatch.setattr(type(double.latest["cpu"]), "execute", None)  # who calls it now fails
    wp.launch(double, SMALL, inputs=[x, y])
    assert counts(profile) == {"double": 1}


def test_recorded_launches_are_counted_whenever_they_were_recorded():
    x, y = arrays()
    early = wp.launch(double, SMALL, inputs=[x, y], record_cmd=True)
    with quiet() as profile:
        late = wp.launch(double, SMALL, inputs=[x, y], record_cmd=True)
        for _ in range(4):
            early.launch()
        late.launch()
    late.launch()
    assert counts(profile) == {"double": 5}


def test_every_thread_is_counted_apart():
    x, y = arrays()
    wp.launch(double, SMALL, inputs=[x, y])
    pairs = [arrays() for _ in range(4)]

    def work(k):
        for _ in range(100 * (k + 1)):
            wp.launch(double, SMALL, inputs=pairs[k])

    with quiet() as profile:
        workers = [threading.Thread(target=work, args=(k,), name=f"worker {k}") for k in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        wp.launch(double, SMALL, inputs=[x, y])
    launches = {thread.name: thread.launches for thread in profile.report.threads if thread.launches}
    assert launches.pop(threading.current_thread().name) == 1
    assert launches == {f"worker {k}": 100 * (k + 1) for k in range(4)}
    assert counts(profile) == {"double": 1001}
    check_sums(profile)


def test_a_thread_that_began_before_is_counted_from_then_on():
    (x, y), go, stop = arrays(), threading.Event(), threading.Event()

    def work():
        wp.launch(double, SMALL, inputs=[x, y])
        go.wait()
        for _ in range(5):
            wp.launch(double, SMALL, inputs=[x, y])
        stop.set()

    worker = threading.Thread(target=work)
    worker.start()
    with quiet() as profile:
        go.set()
        stop.wait()
    worker.join()
    assert 5 <= counts(profile)["double"] <= 6


# ----- blocks ---------------------------------------------------------------------------------------


def test_profiles_may_be_nested():
    x, y = arrays()
    with quiet() as outer:
        wp.launch(double, SMALL, inputs=[x, y])
        with wp.ScopedTimer("around", print=False), quiet() as inner:
            for _ in range(3):
                wp.launch(double, SMALL, inputs=[x, y])
        with quiet() as empty:
            pass
        wp.launch(double, SMALL, inputs=[x, y])
    assert (counts(outer), counts(inner), counts(empty)) == ({"double": 5}, {"double": 3}, {})
    assert inner.report.seconds < outer.report.seconds and not is_installed()
    for profile in (outer, inner, empty):
        check_sums(profile)


def test_an_exception_ends_a_profile_and_leaves_its_numbers(capsys):
    x, y = arrays()
    with pytest.raises(KernelAssertionError), wp.profile() as profile:
        wp.launch(double, SMALL, inputs=[x, y])
        wp.launch(refuse, SMALL, inputs=[x])
    assert counts(profile) == {"double": 1, "refuse": 1} and not is_installed()
    assert "refuse" in capsys.readouterr().out
    check_sums(profile)


def test_a_block_without_launches(capsys):
    with wp.profile(title="nothing") as profile:
        time.sleep(0.02)
    assert profile.report.launches == () and 0.02 <= profile.report.rest <= profile.report.seconds
    assert capsys.readouterr().out.startswith("nothing: ")


def test_a_function_is_profiled_call_by_call(capsys):
    x, y = arrays()

    @wp.profile
    def once(n):
        for _ in range(n):
            wp.launch(double, SMALL, inputs=[x, y])
        return n

    @wp.profile(title="named", print=False)
    def silent():
        return once(2)

    assert once(3) == 3 and counts(once.profile) == {"double": 3}
    assert "once: " in capsys.readouterr().out and once.__name__ == "once"
    assert silent() == 2 and counts(silent.profile) == counts(once.profile) == {"double": 2}
    assert silent.profile.title == "named" and capsys.readouterr().out.count("launches\n") == 1


def test_functions_that_run_after_their_call_are_refused():
    def generator():
        yield 1

    async def coroutine():
        pass

    async def both():
        yield 1

    for function in (generator, coroutine, both):
        with pytest.raises(ArgumentTypeError, match="calls return before it runs"):
            wp.profile(function)


def test_a_profile_is_asked_after_its_block_and_used_once():
    with quiet() as profile:
        assert str(profile) == "profile: not over"
        with pytest.raises(LaunchError, match="has not ended"):
            profile.json("nowhere.json")
    with pytest.raises(LaunchError, match="has begun already"), profile:
        pass
    with pytest.raises(LaunchError, match="has not ended"):
        _ = wp.profile().report


MISTAKES = {
    "a function": lambda p: wp.profile(3),
    "title is 3": lambda p: wp.profile(title=3),
    "print is 'x'": lambda p: wp.profile(print="x"),
    "path is 3": lambda p: p.json(3),
    "path is None": lambda p: p.trace(None),
    "an ending of .png": lambda p: p.picture("chart.txt"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_wrong_arguments_are_refused(message):
    with quiet() as profile:
        pass
    with pytest.raises(ArgumentTypeError, match=message):
        MISTAKES[message](profile)


def test_blocks_of_timers_are_counted_by_name(capsys):
    x, y = arrays(LARGE)
    with quiet() as profile:
        for _ in range(3):
            with wp.ScopedTimer("step") as timer:
                wp.launch(double, LARGE, inputs=[x, y])
                time.sleep(0.002)
    [block] = [one for one in profile.report.blocks if one.kind == "block"]
    launched = sum(one.total for one in profile.report.launches)
    assert (block.name, block.count) == ("step", 3) and block.total >= 0.006
    assert timer.elapsed / 1e3 <= block.total == pytest.approx(block.own + launched)
    assert profile.report.rest >= block.own - 1e-6


# ----- what the host does beside --------------------------------------------------------------------


def test_compilation_is_counted_by_stages():
    @wp.kernel
    def fresh(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * 3.5 + 1.25

    x, before = wp.zeros(SMALL, dtype=float), compiling.seconds
    with wp.profile(print=False) as profile:
        wp.config.cache_kernels = False
        wp.launch(fresh, SMALL, inputs=[x])
    held = compiling.seconds - before
    [one] = profile.report.compilation
    assert one.kernel.endswith("fresh") and min(one.front_end, one.passes, one.llvm) > 0.0
    assert one.total <= held * 1.01 + 1e-5  # all of it while the lock of compilation is held
    assert profile.report.parts["compilation"] == pytest.approx(one.total)
    check_sums(profile)


def test_copies_and_new_arrays_are_counted():
    x, y = arrays()
    with quiet() as profile:
        x.assign(y)
        x.fill_(2.0)
        x.zero_()
        x[2:4] = 1.0
        wp.copy(x, y)
        wp.zeros(10, dtype=float)
        wp.array([1.0, 2.0])
    named = {}
    for one in profile.report.blocks:
        named[one.kind, one.name] = named.get((one.kind, one.name), 0) + one.count
    assert named["copy", "assign"] == 2 and named["copy", "fill_"] == named["copy", "zero_"] == 1
    assert named["allocation", "new array"] >= 1 and named["copy", "new array"] == 1
    assert {"copies", "new arrays"} <= set(profile.report.parts)
    check_sums(profile)


def test_operations_on_whole_arrays_are_counted():
    x, y = (wp.array(np.arange(LARGE), dtype=int) for _ in range(2))
    with quiet() as profile:
        for _ in range(2):
            wp.utils.array_scan(x, y)
    [one] = [one for one in profile.report.blocks if one.kind == "operation"]
    assert (one.name, one.count) == ("array_scan", 2)


def test_kernels_of_warpsim_are_summed_by_their_modules():
    points = wp.array(np.random.default_rng(0).random((500, 3)), dtype=wp.vec3)
    grid = wp.HashGrid(8, 8, 8)
    with quiet() as profile:
        grid.build(points, 0.1)
    stages = profile.report.stages
    assert stages and all(name.startswith("geometry.hash_grid") for name in stages)
    assert sum(stages.values()) == pytest.approx(sum(one.total for one in profile.report.launches))


# ----- whole processes ------------------------------------------------------------------------------

PROGRAM = """
import warpsim as wp
@wp.kernel
def one(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 1.0
x = wp.zeros(8, dtype=float)
for _ in range(5):
    wp.launch(one, 8, inputs=[x])
print(x.numpy().sum())
"""


@pytest.mark.parametrize("value", ["1", "0"])
def test_the_environment_profiles_a_whole_process(tmp_path, value, monkeypatch):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    monkeypatch.setenv("WARPSIM_PROFILE", value)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "8.0\n"
    if value == "0":
        assert done.stderr == ""
    else:
        assert done.stderr.startswith("program.py: ") and "program.py:9" in done.stderr
        assert "5 launches" in done.stderr.splitlines()[0]
