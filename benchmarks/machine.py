"""The machine that the numbers belong to: processor, cores, memory, system, date, how busy it is.

Guarantees that every fact is present in the result; what cannot be found out reads ``unknown``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path


def describe(device: str = "cpu") -> dict[str, str | int | float]:
    """Facts about this machine and this moment (UTC), and about the GPU ``device``."""
    gpu = {} if device == "cpu" else {"gpu": _gpu(device)}
    return {
        **gpu,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": _cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "busy": busy_cores(),
    }


def busy_cores(seconds: float = 1.0) -> float | str:
    """How many cores other programs keep busy, watched for ``seconds``."""
    before = _idle_ticks()
    time.sleep(seconds)
    after = _idle_ticks()
    if before is None or after is None:
        return "unknown"
    idle = (after - before) / os.sysconf("SC_CLK_TCK") / seconds
    return round(max(0.0, (os.cpu_count() or 1) - idle), 2)


def _idle_ticks() -> int | None:
    try:
        counters = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return None
    # "cpu user nice system idle iowait ...": waiting for a disk leaves the core free
    return int(counters[4]) + int(counters[5])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    # a container may be allowed fewer cores than the machine has
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gib() -> int | str:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, OSError, ValueError):
        return "unknown"


def _gpu(device: str) -> str:
    """Name, driver and clocks as nvidia-smi tells them; CUDA_VISIBLE_DEVICES may renumber devices."""
    visible = [part for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part]
    number = int(device.partition(":")[2] or 0)
    asked = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit")
    command = ["nvidia-smi", f"--id={visible[number] if number < len(visible) else number}",
               f"--query-gpu={','.join(asked)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        name, driver, clock, most, memory, power = (part.strip() for part in done.stdout.strip().split(","))
    except (OSError, subprocess.SubprocessError, ValueError):
        return "unknown"
    return f"{name}, driver {driver}, cores at {clock} of at most {most}, memory at {memory}, power limit {power}"
