"""Command line of the benchmarks: ``python -m benchmarks [--quick] [--rows NAME,...] ...``.

Guarantees an exit status of 0 when warpsim, if it takes part, ran every chosen row with the right
values (peers may fail), 1 otherwise, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import document, machine, table
from benchmarks.frameworks import ORDER, able
from benchmarks.measure import Bench
from benchmarks.rows import PROBES, rows_on, select


def parser() -> argparse.ArgumentParser:
    """The options; ``--help`` prints them."""
    options = argparse.ArgumentParser(
        prog=os.environ.get("BENCHMARKS_COMMAND", "python -m benchmarks"),
        description="Time the same kernels under warpsim, Warp, Taichi and Numba on this CPU, or on a GPU. Nothing is "
                    "written without --json or --markdown.",
    )
    options.add_argument("--device", default="cpu", metavar="NAME",
                         help="cpu, or cuda:0 for warpsim and warp on a GPU (default: %(default)s)")
    options.add_argument("--rows", default="", metavar="NAME,...",
                         help="only these rows; * matches anything (see --list)")
    options.add_argument("--list", action="store_true", help="list the rows and stop")
    options.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    options.add_argument("--rounds", type=int, help="timings per framework and row")
    options.add_argument("--frameworks", default="", metavar="NAME,...",
                         help=f"who takes part (default: {','.join(ORDER)}; warpsim,warp on a GPU)")
    options.add_argument("--python", action="append", default=[], metavar="NAME=PATH",
                         help="interpreter of one framework (default: this one); repeatable")
    options.add_argument("--statistic", choices=sorted(document.STATISTICS), default="median",
                         help="what stands for the timings of a row (default: %(default)s)")
    options.add_argument("--threads", type=int, help="threads for all (default: all cores)")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the document there")
    options.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    options = parser()
    chosen = options.parse_args(arguments)
    try:
        device = _device(chosen.device)
        rows = select(_listed(chosen.rows), device)
        frameworks = _known(_listed(chosen.frameworks), "--frameworks") or list(able(device))
        if unable := [name for name in frameworks if name not in able(device)]:
            raise ValueError(f"--device {device}: not for {', '.join(unable)}")
        pythons = dict(_pair(entry) for entry in chosen.python)
    except ValueError as problem:
        options.error(str(problem))
    if chosen.list:
        print("\n".join(f"{row.name:24}{row.heading(PROBES[row.probe].full)}" for row in rows_on(device)))
        return 0
    bench = Bench(tuple(frameworks), pythons, chosen.quick, chosen.rounds, chosen.threads, device,
                  tell=lambda line: print(line, file=sys.stderr, flush=True))
    facts = machine.describe(device)
    if not (chosen.rows or chosen.quick):
        print("all rows take half an hour or longer; --quick, --rows and --list are shorter", file=sys.stderr)
    with bench:
        bench.start()
        if device != "cpu" and "warpsim" in bench.absent:
            print(f"--device {device}: {bench.absent['warpsim']}", file=sys.stderr)
            return 1
        outcomes = bench.run(PROBES[name] for name in dict.fromkeys(row.probe for row in rows))
    result = document.build(
        rows, outcomes, machine=facts, absent=bench.absent,
        frameworks={name: bench.facts[name] for name in bench.present()},
        options={"quick": chosen.quick, "rounds": chosen.rounds, "threads": chosen.threads,
                 "statistic": chosen.statistic, "device": device},
    )
    print(table.text(result))
    _write(result, chosen.json, chosen.markdown)
    return 0 if "warpsim" not in frameworks or _own_rows_ok(result) else 1


def _listed(option: str) -> list[str]:
    return [part.strip() for part in option.split(",") if part.strip()]


def _device(name: str) -> str:
    if not re.fullmatch(r"cpu|cuda:\d+", name):
        raise ValueError(f"--device: got {name!r}; expected cpu or cuda:NUMBER")
    return name


def _known(names: list[str], option: str) -> list[str]:
    for name in names:
        if name not in ORDER:
            raise ValueError(f"{option}: unknown framework {name!r}; expected one of "
                             f"{', '.join(ORDER)}")
    return names


def _pair(entry: str) -> tuple[str, str]:
    name, found, path = entry.partition("=")
    if not found or not path:
        raise ValueError(f"--python: got {entry!r}; expected NAME=PATH, e.g. warp=/usr/bin/python3")
    return _known([name], "--python")[0], path


def _write(result: dict[str, Any], json_path: Path | None, markdown_path: Path | None) -> None:
    if json_path is not None:
        document.save(result, json_path)
    if markdown_path is not None:
        markdown_path.write_text(table.markdown(result) + "\n", encoding="utf-8")


def _own_rows_ok(result: dict[str, Any]) -> bool:
    own = [row["results"]["warpsim"] for row in result["rows"] if "warpsim" in row["results"]]
    return "warpsim" in result["frameworks"] and all(entry["status"] == "ok" for entry in own)


if __name__ == "__main__":
    sys.exit(main())
