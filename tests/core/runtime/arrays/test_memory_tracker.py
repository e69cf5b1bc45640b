"""Which memory is in use, by device, scope and line: what is made, given back, and what reports say."""

import gc
import io
import re
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.arrays.memory_tracker import LEDGER
from warpsim.errors import LaunchError

pytestmark = pytest.mark.cpu(reason="sizes of memory of the host")


def in_use(device="cpu"):
    return LEDGER.totals[device].now


def test_memory_is_counted_until_nobody_holds_it():
    with wp.ScopedMemoryTracker(print=False):
        a = wp.zeros(100, dtype=wp.vec3, device="cpu")
        view, host = a[10:20], a.numpy()
        before = in_use()
        b = wp.empty((4, 5), dtype=wp.float64, device="cpu", requires_grad=True)
        assert in_use() == before + 2 * 160 and before >= 1200
        del b
        gc.collect()
        assert in_use() == before
        del a, view  # the memory is still that of `host`
        gc.collect()
        assert in_use() == before
        del host
        gc.collect()
        assert in_use() == before - 1200
        assert LEDGER.totals["cpu"].peak >= before + 320


def test_gradients_strided_arrays_and_copies_count():
    with wp.ScopedMemoryTracker(print=False):
        for make, size in (
            (lambda: wp.zeros(3, strides=(16,), device="cpu"), 36),
            (lambda: wp.clone(wp.array(np.arange(8.0), dtype=float, device="cpu")), 64),
            (lambda: wp.full(5, 2, dtype=wp.int64, device="cpu"), 40),
        ):
            start = LEDGER.totals["cpu"].bytes if LEDGER.totals else 0
            make()
            assert LEDGER.totals["cpu"].bytes - start == size


def test_reports_name_scopes_and_lines_by_size_or_age():
    texts = []
    with wp.ScopedMemoryTracker("simulation", report_func=texts.append):
        small = wp.zeros(10, device="cpu")
        with wp.ScopedMemoryTracker("contacts", print=False) as inner:
            large = wp.zeros(5000, device="cpu")
        inner.report(sort="chronological", max_items=1)  # printed
    assert re.search(r"cpu: 19\.57 KiB in use, at most 19\.57 KiB; 2 allocations", texts[0])
    first, second = texts[0].splitlines()[1:]
    assert "19.53 KiB  simulation/contacts" in first and "40 bytes  simulation  " in second
    assert re.search(r"test_memory_tracker\.py:\d+$", first)
    assert small.size + large.size == 5010


def test_what_is_left_out_is_counted():
    with wp.ScopedMemoryTracker(print=False) as tracker:
        arrays = [wp.zeros(n, device="cpu") for n in (1, 2, 3)]
        out = io.StringIO()
        tracker.report(file=out, sort="chronological", max_items=2)
        assert "     4 bytes  root" in out.getvalue() and out.getvalue().endswith("and 1 more\n")
        tracker.clear()
        wp.print_memory_report(out)
        assert out.getvalue().endswith("no memory was made\n")
    assert len(arrays) == 3


def test_a_switch_tracks_without_scopes(monkeypatch):
    with pytest.raises(LaunchError, match="memory is not tracked"):
        wp.print_memory_report()
    LEDGER.clear()
    monkeypatch.setattr(wp.config, "track_memory", True)
    a = wp.zeros(7, device="cpu")
    out = io.StringIO()
    wp.print_memory_report(out)
    assert "28 bytes  global  " in out.getvalue() and a.size == 7
    with pytest.raises(ValueError, match="sort is 'age'\nexpected: 'size' or 'chronological'"):
        wp.print_memory_report(sort="age")


def test_an_inactive_tracker_does_nothing_and_errors_close_scopes():
    with wp.ScopedMemoryTracker(active=False), pytest.raises(LaunchError):
        wp.print_memory_report()
    with pytest.raises(ZeroDivisionError), wp.ScopedMemoryTracker("broken", print=False):
        raise ZeroDivisionError
    with pytest.raises(LaunchError):
        wp.print_memory_report()


def test_scopes_belong_to_threads_and_sums_to_all():
    held = []

    def work(name):
        with wp.ScopedMemoryTracker(name, print=False):
            held.append(wp.zeros(256, device="cpu"))

    with wp.ScopedMemoryTracker("main", print=False):
        threads = [threading.Thread(target=work, args=(f"worker{k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        scopes = sorted(a.scope for a in LEDGER.live.values())
        assert scopes == [f"worker{k}" for k in range(4)] and in_use() == 4 * 1024
    assert len(held) == 4


def test_structures_and_kernels_are_as_before():
    with wp.ScopedMemoryTracker(print=False):
        points = wp.array(np.random.default_rng(1).random((9, 3)), dtype=wp.vec3, device="cpu")
        before = in_use()
        mesh = wp.Mesh(points, wp.array(np.arange(9), dtype=int, device="cpu"))
        assert in_use() > before and mesh.id
