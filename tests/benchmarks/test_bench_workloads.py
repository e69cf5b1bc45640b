"""The workloads themselves: their references are right, and warpsim computes them on tiny sizes."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.kernels import compile_time, springs, wave
from benchmarks.measure import Bench
from benchmarks.rows import PROBES

SMALL = {"n": 500, "side": 20, "calls": 5, "length": 10, "ops": 30}
# those of `benchmarks.geometry` are run by test_geometry_rows
STEADY = [probe for probe in PROBES.values() if not probe.start and
          not probe.name.startswith("compile_") and ".geometry." not in probe.module] + [PROBES["compile_100"]]


def tiny(probe):
    size = {key: SMALL.get(key, value) for key, value in probe.full.items()}
    return replace(probe, full=size, rounds=1, limit=120.0)


def test_the_sheet_has_the_springs_that_the_table_names():
    for size in (PROBES["springs"].full, PROBES["springs"].quick):
        sheet = springs.network(size["side"])
        assert len(sheet["rest"]) == size["springs"]
        assert len(sheet["ends"]) == 2 * size["springs"]


def test_spring_forces_balance_and_pull_together():
    f = springs.expected({"side": 12})["f"]
    assert np.abs(f.sum(axis=0)).max() < 1.0e-9 * np.abs(f).sum()
    sheet = springs.network(2)
    a, b = sheet["ends"].reshape(-1, 2)[0]
    assert (a, b) == (0, 1)


def test_the_wave_reference_is_the_stencil():
    u = wave.inputs(9).astype(np.float64)
    after = wave.expected({"side": 9})["u"]
    around = u[3, 5] + u[5, 5] + u[4, 4] + u[4, 6]
    stencil = wave.DAMPING * (u[4, 5] + wave.C * (around - 4.0 * u[4, 5]))
    assert after[4, 5] == pytest.approx(stencil, rel=1.0e-6)
    assert not after[0].any() and not after[:, -1].any()


def test_generated_statements_mean_what_the_evaluation_computes():
    x = compile_time.inputs().astype(np.float64)
    names = {"x": x, "i": slice(None), "y": np.zeros_like(x)}
    lines = compile_time.statements(40, seed=3)
    assert len(lines) == 42
    exec("\n".join(lines), names)
    np.testing.assert_allclose(names["y"], compile_time.evaluate(40, 3, x), rtol=1.0e-9)
    # neither vanishing nor growing, whatever the length: a ratio to the right value has a meaning
    for seed in (0, compile_time.SEEDS - 1):
        long = compile_time.evaluate(5000, seed, x)
        assert 0.05 < long.min() and long.max() < 1.0


def test_two_compilations_never_share_their_source(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    made = compile_time.Compilation("numba", 5, lambda module: None)
    made.write()
    first = made.path.read_text()
    made.write()
    assert made.path.read_text() != first
    constants = [np.float32(compile_time.operations(1, seed)[0][1])
                 for seed in range(compile_time.SEEDS)]
    assert len(set(constants)) == compile_time.SEEDS


def test_warpsim_runs_every_workload_with_the_right_values():
    with Bench(("warpsim",)) as bench:
        bench.start()
        assert bench.absent == {}
        results = bench.run([tiny(probe) for probe in STEADY])
    reasons = {name: outcome["warpsim"].reason for name, outcome in results.items()}
    assert reasons == dict.fromkeys(reasons, "")
    assert all(outcome["warpsim"].samples["time"] for outcome in results.values())


def test_warpsim_starts_cold_and_warm():
    starts = [replace(probe, rounds=1) for probe in PROBES.values() if probe.start]
    with Bench(("warpsim",)) as bench:
        results = bench.run(starts)
    assert {name: outcome["warpsim"].reason for name, outcome in results.items()} == {
        "import": "", "cold": "", "cold-forward": "", "warm": ""}
    assert set(results["cold"]["warpsim"].samples) == {"first", "all"}


def test_numba_agrees_on_a_reference_and_skips_what_it_lacks():
    with Bench(("numba",)) as bench:
        bench.start()
        results = bench.run([tiny(PROBES[name]) for name in ("saxpy", "springs", "svd3")])
    assert results["saxpy"]["numba"].status == results["springs"]["numba"].status == "ok"
    assert "serial" in results["springs"]["numba"].note
    assert results["svd3"]["numba"].status == "skipped"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_loops_in_cpp_have_the_right_values():
    probes = [probe for probe in STEADY if "cpp" in probe.frameworks]
    with Bench(("cpp",)) as bench:
        bench.start()
        assert bench.absent == {}
        results = bench.run([tiny(probe) for probe in probes])
    assert {name: outcome["cpp"].reason for name, outcome in results.items()} == dict.fromkeys(results, "")
    assert {"copy", "saxpy", "integrate", "springs", "uniform_sum", "wave"} == set(results)


def test_a_machine_without_a_compiler_goes_on_without_cpp(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with Bench(("cpp",)) as bench:
        bench.start()
        assert "install g++" in bench.absent["cpp"]
