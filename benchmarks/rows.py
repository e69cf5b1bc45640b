"""The table of benchmarks: what is run (probes), what is shown (rows), what is aimed at (goals).

A *probe* is one thing to execute; a *row* shows one metric of a probe. Guarantees: this file alone
decides sizes, tolerances, rounds and goals; adding a benchmark is one module and one line here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

Size = dict[str, int]
PYTHON = ("warpsim", "warp", "taichi", "numba")
NATIVE = (*PYTHON, "cpp")
"""Who takes part in rows of which there is a hand-written loop."""


@dataclass(frozen=True)
class Probe:
    """A workload in ``benchmarks.kernels`` or beside it, or, with ``start``, a fresh process per timing.

    ``start`` is ``import``, ``cold``, ``cold-forward`` or ``warm`` (see ``startup.clock``).
    ``tolerance`` is relative (see ``check.difference``); ``limit`` bounds one request in seconds;
    ``frameworks`` restricts who takes part; ``warm`` runs once untimed before each timing.
    """

    name: str
    module: str
    full: Size = field(default_factory=dict)
    quick: Size = field(default_factory=dict)
    tolerance: float = 1.0e-5
    rounds: int = 15
    quick_rounds: int = 3
    warm: bool = True
    start: str = ""
    limit: float = 300.0
    frameworks: tuple[str, ...] = PYTHON

    def size(self, quick: bool) -> Size:
        """The problem size of a full or a quick run."""
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Goal:
    """An aim for warpsim: at most ``seconds``, or at least ``ratio`` times faster than ``peer``,
    or at most ``cost`` times the metric that the row is relative to."""

    seconds: float | None = None
    ratio: float | None = None
    peer: str = "warp"
    cost: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table. ``relative_to`` names a second metric of the same probe.

    Names in braces in ``title`` stand for entries of the probe's size.
    """

    name: str
    title: str
    probe: str
    metric: str = "time"
    goals: tuple[Goal, ...] = ()
    relative_to: str = ""

    def heading(self, size: Size) -> str:
        """The title with the size filled in."""
        return self.title.format(**{key: _count(value) for key, value in size.items()})


def _count(value: int) -> str:
    for factor, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= max(factor, 100_000):
            return f"{value / factor:.3g} {letter}"
    return str(value)


def _startup(start: str, **options: Any) -> Probe:
    return Probe(start, "", start=start, rounds=5, quick_rounds=2, tolerance=1.0e-4, **options)


def _workload(name: str, full: Size, quick: Size, module: str = "", **options: Any) -> Probe:
    return Probe(name, f"benchmarks.kernels.{module or name}", full, quick, **options)


def _backward(name: str, full: Size, quick: Size, module: str = "", **options: Any) -> Probe:
    return Probe(f"backward_{name}", f"benchmarks.backward.{module or name}", full, quick,
                 frameworks=("warpsim", "warp"), **options)


def _search(name: str, full: Size, quick: Size, module: str = "", **options: Any) -> Probe:
    return Probe(name, f"benchmarks.geometry.{module or name}", full, quick,
                 frameworks=("warpsim", "warp"), **options)


def _compile(ops: int) -> Probe:
    # some peers need most of a minute for the largest
    return _workload(f"compile_{ops}", {"ops": ops}, {"ops": ops // 10}, "compile_time",
                     rounds=3 if ops <= 1000 else 1, quick_rounds=1, warm=False, limit=120.0,
                     tolerance=1.0e-4)


def _sheet(side: int) -> Size:
    # horizontal and vertical, one diagonal, bending over two: as the mesh builder makes them
    return {"side": side,
            "springs": 2 * side * (side - 1) + (side - 1) ** 2 + 2 * side * (side - 2)}


def _block(side: int, **more: int) -> Size:
    return {"side": side, "points": side**3, **more}


def _torus(side: int, **more: int) -> Size:
    return {"side": side, "triangles": 2 * side * (side + 1), **more}


COMPILE_OPS = (100, 300, 1000, 2000, 5000)
# seconds for each run of a peer, against which cold caches do not count
_LONG: dict[str, Any] = {"rounds": 5, "warm": False}
_LAUNCH_QUICK, _LAUNCH_FULL = {"calls": 300}, {"calls": 2000}

PROBES: dict[str, Probe] = {probe.name: probe for probe in (
    _startup("import"),
    _startup("cold"),
    _startup("cold-forward", frameworks=("warpsim", "warp")),
    _startup("warm"),
    _workload("launch_3", {"arguments": 3, **_LAUNCH_FULL}, {"arguments": 3, **_LAUNCH_QUICK},
              "launch"),
    _workload("launch_6", {"arguments": 6, **_LAUNCH_FULL}, {"arguments": 6, **_LAUNCH_QUICK},
              "launch"),
    _workload("recorded_command", _LAUNCH_FULL, _LAUNCH_QUICK),
    _workload("replay", {"length": 100}, {"length": 100}),
    _workload("saxpy", {"n": 20_000_000}, {"n": 1_000_000}, frameworks=NATIVE),
    _workload("copy", {"n": 20_000_000}, {"n": 1_000_000}, frameworks=("warpsim", "warp", "cpp")),
    _workload("integrate", {"n": 4_000_000}, {"n": 200_000}, frameworks=NATIVE),
    _workload("springs", _sheet(450), _sheet(100), tolerance=2.0e-4, frameworks=NATIVE),
    _workload("springs_deterministic", _sheet(450), _sheet(100), tolerance=2.0e-4,
              frameworks=("warpsim",)),
    # a float32 sum in sequence may lose three digits over four million terms
    _workload("uniform_sum", {"n": 4_000_000}, {"n": 200_000}, tolerance=5.0e-3, frameworks=NATIVE),
    _workload("wave", {"side": 2048}, {"side": 512}, tolerance=1.0e-4, frameworks=NATIVE),
    _workload("svd3", {"n": 500_000}, {"n": 20_000}, tolerance=2.0e-3),
    _workload("noise", {"n": 2_000_000}, {"n": 100_000}, tolerance=1.0e-4),
    _workload("mat33", {"n": 2_000_000, "k": 3}, {"n": 100_000, "k": 3}, "matrices"),
    _workload("mat44", {"n": 2_000_000, "k": 4}, {"n": 100_000, "k": 4}, "matrices"),
    _workload("structs", {"n": 2_000_000}, {"n": 100_000}),
    _backward("saxpy", {"n": 20_000_000}, {"n": 1_000_000}),
    _backward("integrate", {"n": 4_000_000}, {"n": 200_000}),
    _backward("springs", _sheet(510), _sheet(100), tolerance=2.0e-4),
    _backward("uniform_sum", {"n": 4_000_000}, {"n": 200_000}),
    _backward("wave", {"side": 2048}, {"side": 512}, tolerance=1.0e-4),
    _backward("svd3", {"n": 500_000}, {"n": 20_000}, tolerance=5.0e-3),
    _backward("mat33", {"n": 2_000_000, "k": 3}, {"n": 100_000, "k": 3}, "matrices"),
    _backward("mat44", {"n": 2_000_000, "k": 4}, {"n": 100_000, "k": 4}, "matrices"),
    _search("hash_grid_97k", _block(46), _block(20), "hash_grid"),
    _search("hash_grid_216k", _block(60), _block(24), "hash_grid"),
    # the force of a contact is a small difference of positions
    _search("dem", _block(46), _block(20), tolerance=1.0e-3),
    _search("dem_wide", _block(46, wide=1), _block(20, wide=1), "dem", tolerance=1.0e-3),
    _search("density", _block(60), _block(24)),
    _search("mesh", _torus(315), _torus(60), tolerance=1.0e-4),
    _search("closest_point", _torus(315, n=200_000), _torus(60, n=10_000), tolerance=1.0e-4, **_LONG),
    _search("rays", _torus(315, n=1_000_000), _torus(60, n=10_000), tolerance=1.0e-4, **_LONG),
    _search("boxes", _torus(315, n=200_000), _torus(60, n=10_000)),
    _search("volume", {"side": 128, "n": 2_000_000}, {"side": 48, "n": 100_000}),
    _backward("dem", _block(46), _block(20), tolerance=1.0e-3),
    _backward("density", _block(60), _block(24), tolerance=1.0e-4),
    _backward("closest_point", _torus(315, n=200_000), _torus(60, n=10_000), tolerance=1.0e-3, **_LONG),
    _backward("volume", {"side": 128, "n": 2_000_000}, {"side": 48, "n": 100_000}, tolerance=1.0e-4),
    _workload("tape", {"calls": 10_000}, {"calls": 300}, frameworks=("warpsim", "warp")),
    *(_compile(ops) for ops in COMPILE_OPS),
)}

_FASTER, _TWICE, _NEAR_NATIVE = (Goal(ratio=1.8),), (Goal(ratio=2.0),), (Goal(ratio=0.9, peer="cpp"),)
_COPY = Row("copy", "copy {n}, for comparison with saxpy", "copy")
_REVERSE, _FAST_REVERSE = (Goal(cost=4.0),), (Goal(ratio=1.8), Goal(cost=4.0))


def _reverse(name: str, title: str, goals: tuple[Goal, ...] = _REVERSE) -> Row:
    """A backward launch, relative to the forward one."""
    return Row(f"backward_{name}", f"backward: {title}", f"backward_{name}", goals=goals, relative_to="forward")


# Import and first launch share their work as they like: the goals of rows that hold both are sums.
ROWS: tuple[Row, ...] = (
    Row("import", "import", "import", goals=(Goal(seconds=0.35),)),
    Row("cold_first", "import and cold first launch (12-kernel script)", "cold", "first",
        (Goal(seconds=0.95), Goal(ratio=10.0))),
    Row("cold_all", "import and cold launch of all 12 kernels", "cold", "all"),
    Row("cold_first_forward", "the same, first launch, adjoints off", "cold-forward", "first"),
    Row("cold_all_forward", "the same, all 12 kernels, adjoints off", "cold-forward", "all"),
    Row("warm_first", "import and warm first launch (disk cache)", "warm", "first",
        (Goal(seconds=0.6),)),
    Row("warm_all", "import and warm launch of all 12 kernels", "warm", "all"),
    Row("launch_3", "launch, 3 arguments", "launch_3", goals=(Goal(seconds=3.0e-6),)),
    Row("launch_6", "launch, 6 arguments", "launch_6", goals=(Goal(seconds=4.0e-6),)),
    Row("recorded_command", "recorded launch, 3 arguments", "recorded_command"),
    Row("replay", "replay of 100 recorded launches", "replay", goals=(Goal(seconds=60.0e-6),)),
    _COPY,
    Row("saxpy", "saxpy {n}", "saxpy", goals=(Goal(ratio=2.0), *_NEAR_NATIVE)),
    Row("integrate", "vec3 integrate {n}", "integrate", goals=(*_FASTER, *_NEAR_NATIVE)),
    Row("springs", "springs, scattered atomics {springs}", "springs", goals=(*_FASTER, *_NEAR_NATIVE)),
    Row("springs_deterministic", "springs, deterministic=True {springs}", "springs_deterministic",
        goals=(Goal(cost=1.5),), relative_to="default"),
    Row("uniform_sum", "uniform atomic sum {n}", "uniform_sum", goals=(*_FASTER, *_NEAR_NATIVE)),
    Row("wave", "wave {side} x {side}", "wave", goals=(*_FASTER, *_NEAR_NATIVE)),
    Row("svd3", "svd3 {n}", "svd3", goals=_FASTER),
    Row("noise", "noise + randf {n}", "noise", goals=_FASTER),
    Row("mat33", "mat33 * mat33 {n}", "mat33"),
    Row("mat44", "mat44 * vec4 {n}", "mat44"),
    Row("structs", "array of structs {n}", "structs"),
    _reverse("saxpy", "saxpy {n}"),
    _reverse("integrate", "vec3 integrate {n}", _FAST_REVERSE),
    _reverse("springs", "springs {springs}", _FAST_REVERSE),
    _reverse("uniform_sum", "uniform sum {n}", _FAST_REVERSE),
    _reverse("wave", "wave {side} x {side}"),
    _reverse("svd3", "svd3 {n}"),
    _reverse("mat33", "mat33 * mat33 {n}"),
    _reverse("mat44", "mat44 * vec4 {n}"),
    Row("hash_grid_97k", "hash grid build {points}", "hash_grid_97k", goals=_FASTER),
    Row("hash_grid_216k", "hash grid build {points}", "hash_grid_216k", goals=_FASTER),
    Row("dem", "DEM forces {points}", "dem", goals=_TWICE),
    Row("dem_wide", "DEM forces {points}, wide search", "dem_wide", goals=_TWICE),
    Row("density", "SPH density {points}", "density", goals=_TWICE),
    Row("mesh_build", "mesh build, {triangles} triangles", "mesh", goals=_FASTER),
    Row("mesh_refit", "mesh refit, {triangles} triangles", "mesh", "refit", goals=_FASTER),
    Row("closest_point", "signed closest point {n}", "closest_point", goals=(Goal(ratio=3.0),)),
    Row("ray_first", "ray, first hit {n}", "rays", goals=_TWICE),
    Row("ray_picture", "ray, first hit {n}, of a picture", "rays", "picture", goals=_TWICE),
    Row("ray_any", "ray, any hit {n}", "rays", "any"),
    Row("boxes", "triangles near a box {n}", "boxes"),
    Row("volume", "volume sample {n}", "volume", goals=_TWICE),
    _reverse("dem", "DEM forces {points}", ()),
    _reverse("density", "SPH density {points}", ()),
    _reverse("closest_point", "signed closest point {n}", ()),
    _reverse("volume", "volume sample {n}", ()),
    Row("tape_record", "launch on a tape, 3 arguments", "tape", goals=(Goal(seconds=4.3e-6),), relative_to="launch"),
    Row("tape_backward", "backward of a tape of {calls}, per launch", "tape", "backward", (Goal(seconds=5.0e-6),)),
    *(Row(f"compile_{ops}", "compile {ops} operations", f"compile_{ops}") for ops in COMPILE_OPS),
)


_ONLY_ON_CPU = ("import", "springs_deterministic")
_CUDA_GOALS: dict[str, tuple[Goal, ...]] = {
    "cold_*": (Goal(ratio=3.0),), "compile_*": (Goal(ratio=3.0),),
    "launch_*": (Goal(ratio=2.0), Goal(seconds=4.0e-6)),
    "warm_*": (), "recorded_command": (), "replay": (), "copy": (), "tape_*": (),
    "*": (Goal(ratio=1.0),),
}


def _on_cuda(row: Row) -> Row:
    return replace(row, goals=next(goals for name, goals in _CUDA_GOALS.items() if fnmatch(row.name, name)))


CUDA_ROWS: tuple[Row, ...] = tuple(_on_cuda(row) for row in ROWS if row.name not in _ONLY_ON_CPU)
"""The rows on a GPU, with goals of their own."""


def rows_on(device: str) -> tuple[Row, ...]:
    """All rows of a device."""
    return ROWS if device == "cpu" else CUDA_ROWS


def select(patterns: list[str], device: str = "cpu") -> list[Row]:
    """Rows whose name matches one of the patterns (``*`` allowed); all when there are none.

    Raises ``ValueError`` for a pattern that matches nothing.
    """
    rows = rows_on(device)
    for pattern in patterns:
        if not any(fnmatch(row.name, pattern) for row in rows):
            raise ValueError(
                f"--rows: no row is named {pattern!r}; expected one of "
                f"{', '.join(row.name for row in rows)}"
            )
    return [row for row in rows
            if not patterns or any(fnmatch(row.name, pattern) for pattern in patterns)]
