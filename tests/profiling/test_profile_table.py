"""The table of a profile: aligned, narrow, the most expensive first; and the texts of its numbers."""

import pytest

import warpsim as wp
from warpsim.profiling import table
from warpsim.profiling.report import REST, BlockTime, CompileTime, LaunchTime, Report, ThreadTime


def launch(kernel="k", place="/a/b/program.py", line=1, total=0.5, count=1, **facts):
    usual = {"device": "cpu", "stage": "", "share": total, "bytes": 0, "copy": 0.0, "threads": 1, "cores": 1}
    return LaunchTime(kernel, place, line, count=count, total=total, **{**usual, "lanes": 16, "why": "", **facts})


def report(launches=(), parts=None, **more):
    parts = parts or {"launches": 0.75, REST: 0.25}
    usual = {"stages": {}, "compilation": (), "blocks": (), "threads": (ThreadTime("Main", 0.75, 1),), "dropped": 0}
    return Report(1.0, tuple(launches), parts, **{**usual, **more})


def section(text, number):
    return text.split("\n\n")[number].splitlines()


LONG = "an_unusually_long_name_of_a_kernel_that_somebody_wrote_with_care_and_nobody_reads_to_its_end"


def test_no_line_is_wider_than_a_terminal():
    facts = {"device": "cuda:0", "bytes": 10**10, "copy": 1e11, "lanes": 1, "why": LONG}
    everything = report(
        [launch(LONG, f"/x/{LONG}.py", 123_456, 0.4, 12_345_678, **facts), launch()],
        {**dict.fromkeys(("launches", "tapes: backward, beside launches"), 0.4), REST: 0.2},
        compilation=(CompileTime(LONG, 1.0, 2.0, 3.0, 0.0),),
        blocks=(BlockTime("backward", LONG, f"/x/{LONG}.py", 99_999, 1_000_000, 0.3, 0.1),),
        threads=(ThreadTime(LONG, 0.5, 10**7), ThreadTime("cuda:0", 0.5, 3)),
        stages={f"xpbd.{LONG}": 0.5},
    )
    text = table.table(LONG * 2, everything)
    assert max(map(len, text.splitlines())) <= table.WIDTH
    assert LONG[:10] in text and "\u2026" in text and "12.3M" in text


def test_columns_stand_below_their_names():
    rows = report([launch("step", line=7, bytes=2 * 10**9, copy=8e9)])
    names, line, first, *_ = section(table.table("t", rows), 1)
    assert set(line) == {"\u2500"} and len(line) == table.WIDTH >= len(names)
    ends = {name: names.index(name) + len(name) for name in ("count", "total", "mean", "share", "GB/s")}
    assert first[ends["count"] - 1] == "1" and first[: ends["total"]].endswith("500 ms")
    assert first[: ends["mean"]].endswith("500 ms") and first[: ends["share"]].endswith(" 50.0 %")
    assert first[: ends["GB/s"]].endswith("   4.00") and first.endswith("    16")
    assert "  50 %" in first and "program.py:7" in first


def test_the_most_expensive_come_first_and_the_rest_is_summed():
    rows = [launch(f"kernel {k}", total=0.5 / (k + 1)) for k in range(25)]
    lines = section(table.table("t", report(rows)), 1)
    assert [line.split("  ")[0] for line in lines[2:5]] == ["kernel 0", "kernel 1", "kernel 2"]
    assert lines[22].startswith("and 5 more") and "kernel 20" not in "\n".join(lines)


def test_reasons_for_one_lane_are_told_of_what_takes_time():
    slow = launch("slow", total=0.5, lanes=1, why="it waits")
    quick = launch("quick", total=0.01, lanes=1, why="it is small")
    text = table.table("t", report([slow, quick]))
    assert "one lane: slow: it waits" in text and "it is small" not in text


def test_blocks_that_hardly_take_time_are_left_out():
    blocks = tuple(BlockTime("copy", name, "p.py", 1, 1, t, t) for name, t in (("long", 0.1), ("short", 0.0001)))
    text = table.table("t", report([launch()], blocks=blocks))
    assert "copy: long" in text and "copy: short" not in text


def test_real_profiles_sort_by_time():
    @wp.kernel
    def spin(x: wp.array(dtype=float), n: int):
        i = wp.tid()
        s = float(0.0)
        for k in range(n):
            s += wp.sin(float(k))
        x[i] = s

    x = wp.zeros(4, dtype=float)
    with wp.profile(print=False) as profile:
        wp.launch(spin, 4, inputs=[x, 1])
        wp.launch(spin, 4, inputs=[x, 100_000])
        wp.launch(spin, 4, inputs=[x, 1000])
    times = [one.total for one in profile.report.launches]
    assert times == sorted(times, reverse=True) and len(times) == 3
    assert max(map(len, str(profile).splitlines())) <= table.WIDTH


TIMES = {
    1.0: "  1.00 s ", 12.345: "  12.3 s ", 0.9999: "  1000 ms", 1.5e-3: "  1.50 ms", 99.96e-3: "   100 ms",
    2.0e-6: "  2.00 us", 123.4e-6: "   123 us", 5e-9: "  5.00 ns", 0.0: "  0.00 ns",
}  # fmt: skip


@pytest.mark.parametrize("seconds", TIMES)
def test_times_have_the_unit_that_suits_them(seconds):
    assert table.time(seconds) == TIMES[seconds]


def test_names_are_cut_before_what_tells_them_apart():
    assert table.cut_name("project_dihedral.project (adjoint)", 24) == "project_dih\u2026roject (adj)"
    assert table.cut_name("short (adjoint)", 24) == "short (adjoint)"
    assert len(table.cut_name(LONG, 24)) == len(table.cut_name(f"{LONG} [cuda:0]", 24)) == 24


def test_bars_are_as_long_as_shares():
    assert [len(table.bar(share)) for share in (0.0, 0.5, 1.0, 2.0)] == [0, 18, 36, 36]
    assert table.bar(1.0 / 36.0 / 2.0) == "\u258c"
