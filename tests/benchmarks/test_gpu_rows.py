"""The rows on a GPU: chosen, timed with the device at rest, right in values, and refused without a GPU."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import warpsim as wp
from benchmarks import document, frameworks, table
from benchmarks.__main__ import main
from benchmarks.case import Timed
from benchmarks.check import difference, digest
from benchmarks.measure import Outcome
from benchmarks.rows import CUDA_ROWS, PROBES, Goal, Row, rows_on, select
from benchmarks.worker import BATCH_SECONDS, LARGEST_BATCH, Watch, Worker

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"n": 300, "side": 12, "calls": 3, "length": 4, "ops": 30}
RUN = sorted({row.probe for row in CUDA_ROWS if not PROBES[row.probe].start})
NO_GPU = pytest.mark.skipif(wp.is_cuda_available(), reason="there is a GPU, or a simulated one")


@pytest.mark.device
@pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda")
@pytest.mark.parametrize("name", RUN)
def test_rows_run_on_the_gpu_with_the_right_values(name, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DEVICE", "cuda:0")
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    probe = PROBES[name]
    size = {key: SMALL.get(key, value) for key, value in probe.full.items()}
    worker = Worker()
    worker.hello({"framework": "warpsim"})
    found = worker.setup({"module": probe.module, "size": size})
    expected = getattr(importlib.import_module(probe.module), "expected", None)
    assert found["digest"]
    if expected is not None:
        assert difference(found["digest"], digest(expected(size)), probe.tolerance) == ""
    shown = {row.metric for row in CUDA_ROWS if row.probe == name}
    assert shown <= {metric for metric, seconds in worker.time({})["seconds"].items() if seconds > 0.0}
    assert wp.get_device().is_cuda


@pytest.mark.device
@pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda")
def test_the_twelve_kernels_of_a_start_compute_the_same_there(monkeypatch):
    monkeypatch.setenv("BENCH_LANGUAGE", "warpsim")
    twelve = importlib.import_module("benchmarks.startup.twelve_warp")
    values = {}
    for device in ("cpu", "cuda:0"):
        with wp.ScopedDevice(device):
            script = twelve.Script()
            script.first()
            script.rest()
            assert all(out.device == device for out in script.outputs)
            values[device] = digest({str(k): value for k, value in enumerate(script.values())})
    assert difference(values["cuda:0"], values["cpu"], PROBES["cold"].tolerance) == ""


# ----- which rows -----------------------------------------------------------------------------


def test_rows_on_a_gpu_have_goals_of_their_own():
    names = [row.name for row in CUDA_ROWS]
    assert "copy" in names and "springs_deterministic" not in names
    assert rows_on("cpu") is not CUDA_ROWS and rows_on("cuda:1") is CUDA_ROWS
    goals = {row.name: row.goals for row in CUDA_ROWS}
    assert goals["saxpy"] == goals["backward_dem"] == goals["closest_point"] == (Goal(ratio=1.0),)
    assert goals["cold_first"] == goals["compile_1000"] == (Goal(ratio=3.0),)
    assert goals["launch_3"][0] == Goal(ratio=2.0) and goals["warm_first"] == ()
    with pytest.raises(ValueError, match="no row is named 'springs_deterministic'"):
        select(["springs_deterministic"], "cuda:0")


def test_only_some_frameworks_run_there():
    assert frameworks.able("cuda:0") == ("warpsim", "warp")
    assert frameworks.able("cpu") == frameworks.ORDER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--device", "gpu"], "got 'gpu'; expected cpu or cuda:NUMBER"),
     (["--device", "cuda:0", "--frameworks", "warp,numba"], "--device cuda:0: not for numba")],
)
def test_wrong_command_lines(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


@NO_GPU
def test_without_a_gpu_it_says_so(capsys):
    assert main(["--device", "cuda:0", "--quick", "--rows", "saxpy", "--frameworks", "warpsim"]) == 1
    assert "--device cuda:0: DeviceError: device 'cuda:0' is not available" in capsys.readouterr().err


@NO_GPU
def test_the_script_says_what_is_missing(tmp_path):
    script = ROOT / "benchmarks" / "gpu.sh"
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["bash", script, tmp_path / "out"], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert "gpu.sh: device 'cuda:0' is not available: " in done.stderr
    env["PYTHON"] = "no-such"
    done = subprocess.run(["bash", script], capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (2, "gpu.sh: no interpreter no-such: set PYTHON\n")


# ----- how it times ---------------------------------------------------------------------------


class Clock:
    """A GPU that needs ten seconds for each run, and a host that needs one to start it."""

    def __init__(self, monkeypatch):
        self.now, self.busy_until, self.log = 0.0, 0.0, []
        monkeypatch.setattr("benchmarks.worker.time.perf_counter", lambda: self.now)

    def run(self):
        self.log.append("run")
        self.now += 1.0
        self.busy_until = max(self.busy_until, self.now) + 10.0

    def settle(self):
        self.log.append("settle")
        self.now = max(self.now, self.busy_until)

    def prepare(self):
        self.log.append("prepare")
        self.busy_until = self.now + 5.0


def test_times_include_the_work_on_the_gpu(monkeypatch):
    clock = Clock(monkeypatch)
    watch = Watch(clock.settle)
    assert watch.once(Timed(clock.run, before=clock.prepare)) == 11.0
    assert clock.log[:4] == ["prepare", "settle", "run", "settle"]
    assert watch.once(Timed(clock.run, host=True)) == 1.0
    assert clock.busy_until == clock.now  # the next one finds the device at rest
    assert watch.once(Timed(clock.run), count=3) == 31.0
    assert Watch(None).once(Timed(clock.run)) == 1.0


def test_short_runs_are_timed_in_batches():
    watch = Watch(lambda: None)
    run = Timed(lambda: None)
    assert watch._batch(run, BATCH_SECONDS / 10.5) == 11
    assert watch._batch(run, 0.0) == LARGEST_BATCH and watch._batch(run, 1.0) == 1
    fresh = Timed(lambda: None, before=lambda: None)
    assert watch._batch(fresh, 0.0) == watch._batch(Timed(lambda: None, host=True), 0.0) == 1
    assert watch._batch(Timed(lambda: None, before=lambda: None, again=True), 0.0) == LARGEST_BATCH
    assert Watch(None)._batch(run, 0.0) == 1


def test_a_batch_counts_as_one_run():
    calls = []
    seconds = Watch(lambda: None).sample(Timed(lambda: calls.append(1), units=10), warm=True)
    assert len(calls) == 1 + LARGEST_BATCH and seconds < 1.0e-4


def test_the_table_tells_the_gpu_and_the_bandwidth():
    rows = [row for row in CUDA_ROWS if row.name in ("saxpy", "copy")]
    outcomes = {"saxpy": {"warpsim": Outcome(samples={"time": [120e-6]})},
                "copy": {"warpsim": Outcome(samples={"time": [64e-6]})}}
    machine = {"date": "2026", "processor": "CPU", "cores": 2, "memory_gib": 8, "system": "Linux", "python": "3.11",
               "busy": 0.0, "gpu": "Some GPU, driver 580.1"}
    made = document.build(
        rows, outcomes, machine=machine, absent={}, options={"quick": False, "statistic": "median", "device": "cuda:0"},
        frameworks={"warpsim": {"version": "1", "threads": 1, "note": ""}},
    )
    shown = table.markdown(made)
    assert "cuda:0: Some GPU, driver 580.1" in shown
    assert "Memory traffic: warpsim 2000 GB/s in saxpy, 2500 GB/s in a copy (80%)." in shown
    assert document.bandwidth([row for row in made["rows"] if row["name"] == "saxpy"]) == []
    assert isinstance(rows[0], Row)
