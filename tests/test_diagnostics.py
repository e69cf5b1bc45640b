"""What programs ask of the machine: diagnostics, loggers and levels, facts of devices, profilers."""

import importlib.metadata
import logging
import time

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError, LaunchError


def test_diagnostics_are_printed_and_returned(capsys):
    found = wp.print_diagnostics()
    text = capsys.readouterr().out
    assert found["numpy"] == importlib.metadata.version("numpy") and found["warpsim"] == wp.__version__
    assert found["devices"][0]["alias"] == "cpu" and found["cuda_enabled"] is wp.is_cuda_available()
    assert text.splitlines()[0] == "Software" and all(name in text for name in found if name != "devices")


class Messages:
    def __init__(self):
        self.seen = []

    def debug(self, message):
        self.seen.append(message)

    info = warning = error = debug


def test_messages_go_to_the_logger_that_was_set():
    standard, own = wp.get_logger(), Messages()
    with wp.ScopedLogger(own):
        wp.get_logger().warning("hello")
    assert own.seen == ["hello"] and wp.get_logger() is standard and isinstance(own, wp.Logger)
    wp.set_logger(own)
    wp.set_logger(None)
    assert wp.get_logger() is standard
    with pytest.raises(ArgumentTypeError, match="logger is int"):
        wp.set_logger(3)


def test_levels_are_those_of_logging():
    before, logger = wp.config.log_level, logging.getLogger("warpsim")
    with wp.ScopedLogLevel(wp.LOG_DEBUG):
        assert wp.config.log_level == wp.LOG_DEBUG == logging.DEBUG and logger.level == logging.DEBUG
    assert wp.config.log_level == before <= wp.LOG_WARNING
    with wp.ScopedLogLevel("INFO"):
        assert wp.config.log_level == wp.LOG_INFO == logger.level


@pytest.mark.cpu
def test_facts_of_the_host():
    cpu = wp.get_device("cpu")
    assert (cpu.sm_count, cpu.max_shared_memory_per_block, cpu.arch) == (0, 0, 0)
    assert not (cpu.is_uva or cpu.is_mempool_supported or cpu.is_managed_memory_supported or cpu.is_capturing)
    assert 0 < cpu.free_memory <= cpu.total_memory
    with wp.ScopedCapture(device="cpu"):
        assert cpu.is_capturing and not wp.get_device("interp").is_capturing
    for array in (wp.zeros(1, device="interp"), wp.indexedarray(wp.zeros(2), [wp.array([1], dtype=int)])):
        assert wp.can_access("cpu", array)
    assert cpu.can_access(cpu) and cpu.can_access(wp.get_device("interp"))


@pytest.mark.parametrize(
    "resource", [wp.array(dtype=float), wp.array[float], wp.indexedarray[wp.vec3], "cpu", None, 3.0, [1.0], np.zeros(2)]
)
def test_only_arrays_are_somewhere(resource):
    with pytest.raises(TypeError, match="expected: an array"):
        wp.can_access("cpu", resource)
    with pytest.raises(TypeError, match="expected: an array"):
        wp.can_access("cpu", wp.get_device("cpu"))


@wp.kernel
def count_up(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@pytest.mark.cpu
def test_pieces_of_work_on_the_cpu_are_timed():
    x, y = (wp.zeros(1000, dtype=float, device="cpu") for _ in range(2))
    work = {
        wp.TIMING_KERNEL: lambda: [wp.launch(count_up, 1000, inputs=[x], device="cpu") for _ in range(3)],
        wp.TIMING_MEMSET: lambda: (x.zero_(), x.fill_(1.0)),
        wp.TIMING_MEMCPY: lambda: wp.copy(y, x),
    }
    begin = time.perf_counter()
    wp.timing_begin()
    for do in work.values():
        do()
    results = wp.timing_end()
    spent = (time.perf_counter() - begin) * 1e3
    assert [result.filter for result in results] == 3 * [wp.TIMING_KERNEL] + 2 * [wp.TIMING_MEMSET] + [wp.TIMING_MEMCPY]
    assert [result.name for result in results[:3]] == 3 * ["count_up"]
    assert {str(result.device) for result in results} == {"cpu"}
    assert all(result.elapsed > 0.0 for result in results) and sum(result.elapsed for result in results) <= spent
    wp.timing_begin(cuda_filter=wp.TIMING_KERNEL)
    for do in work.values():
        do()
    assert [result.filter for result in wp.timing_end()] == 3 * [wp.TIMING_KERNEL]


def test_timers_and_profilers_of_cuda_do_no_harm_elsewhere(capsys):
    with wp.ScopedCudaProfiler("cpu"):
        wp.timing_begin()
        assert wp.timing_end() == []
    with pytest.raises(LaunchError, match="no timing has begun"):
        wp.timing_end()
    cpu = wp.get_device("cpu")
    wp.timing_print([wp.TimingResult(cpu, "step", wp.TIMING_KERNEL, 1.5), wp.TimingResult(cpu, "copy", 4, 0.5)], "> ")
    assert "2.000000 ms  cpu       in all" in capsys.readouterr().out
    with pytest.raises(DeviceError, match="was not made by map_cuda_device"):
        wp.unmap_cuda_device("nothing:0")
    assert wp.map_cuda_device("cpu") is cpu and isinstance(wp.get_cuda_supported_archs(), list)
