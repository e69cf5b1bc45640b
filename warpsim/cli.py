"""The command `warpsim`: what is here (`info`), examples (`run`), the viewer, the kernel cache, benchmarks, validation.

Exit status: 0 for success, 1 for what went wrong, 2 for a wrong command line, 130 when interrupted.
Mistakes of the user end in a message on stderr, never in a traceback; `WARPSIM_TRACEBACK=1` shows
one anyway.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import warpsim

from . import gallery, machine, notebook
from .errors import WarpsimError, counted

_TRACEBACK = "WARPSIM_TRACEBACK"

_OF_ALL = """
options of all examples:
  --view             show what it wrote in the browser, once it has run
  --profile[=FILE]   print where its time went; FILE: .png, .svg, .pdf or .webp for
                     a flame chart, .json for a trace that ui.perfetto.dev shows
  --copy             copy its file to this folder, for you to change, and stop
  --notebook         write it to this folder as a Jupyter notebook, and stop"""

_PROFILE_FILES = (".json", ".png", ".svg", ".pdf", ".webp")
"""Endings of files that `--profile=FILE` writes: of a trace, and of pictures."""


class UsageError(WarpsimError):
    """A command line that names something unknown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of the process); returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _dispatch(words)
        sys.stdout.flush()  # so that a reader who has gone is met here
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (WarpsimError, OSError, ImportError) as error:
        if os.environ.get(_TRACEBACK):
            raise
        print(f"warpsim: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


def _dispatch(words: list[str]) -> int:
    if len(words) > 1 and words[0] == "run" and not words[1].startswith("-"):
        return run_example(words[1], words[2:])
    if words and words[0] == "bench":
        return run_benchmarks(words[1:])
    commands = parser()
    if not words:
        commands.print_help()
        return 0
    chosen = commands.parse_args(words)
    command: Callable[[argparse.Namespace], int] = chosen.command
    return command(chosen)


def parser() -> argparse.ArgumentParser:
    """The commands and their options; `--help` prints them."""
    top = argparse.ArgumentParser(prog="warpsim", description="Differentiable physics simulation in Python.")
    top.add_argument("--version", action="version", version=f"warpsim {warpsim.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    info = commands.add_parser("info", help="versions, threads, cache, CUDA, optional packages")
    info.add_argument(
        "--report", action="store_true", help="text for an issue: all versions and features, no names and no folders"
    )
    info.set_defaults(command=show_info)
    run = commands.add_parser(
        "run",
        help="run an example; its own options follow its name",
        usage="warpsim run [-h] [EXAMPLE [--copy | --notebook | [--view] [--profile[=FILE]] [--save-every N] "
        "[--resume FILE] [--live [PORT]]] [ARGUMENT ...]]",
    )
    run.set_defaults(command=list_examples)
    cache = commands.add_parser("cache", help="the compiled kernels on disk")
    cache.add_argument("action", nargs="?", choices=("list", "size", "clear"), default="list")
    cache.set_defaults(command=lambda chosen: CACHE_ACTIONS[chosen.action]())
    validate = commands.add_parser(
        "validate",
        help="compare solvers with analytic and published numbers",
        description="Compare solvers with analytic and published numbers, one line for each, and end with status 1 "
        "where a number is wrong. Nothing is written without --output.",
    )
    validate.add_argument("names", nargs="*", metavar="NAME", help="a case or a solver; default: all fast cases")
    validate.add_argument("--all", action="store_true", help="cases that take longer, too")
    validate.add_argument("--output", type=Path, metavar="FOLDER", help="renew validation.json and validation.md there")
    validate.set_defaults(command=run_validation)
    view = commands.add_parser("view", help="watch an animation (USD) in the browser, or write it as a page or a film")
    view.add_argument("file", type=Path, metavar="FILE", help="an animation: .usd, .usda, .usdc, .usdz")
    view.add_argument("--html", type=Path, metavar="PAGE", help="write a page that plays without a network")
    view.add_argument("--film", type=Path, metavar="FILM", help="write .webp or .gif, or .mp4 through imageio")
    view.add_argument("--every", type=int, default=1, metavar="N", help="keep one of N frames in the page (default: 1)")
    view.add_argument("--port", type=int, default=0, help="of the server (default: one that is free)")
    view.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    view.set_defaults(command=lambda chosen: _viewer().run(chosen))
    commands.add_parser("bench", help="compare with Warp, Taichi and Numba; `warpsim bench --help`", add_help=False)
    return top


# ----- info -------------------------------------------------------------------------------------


def show_info(chosen: argparse.Namespace) -> int:
    """Print what warpsim found on this machine, or the report for issues."""
    if chosen.report:
        print(machine.report())
        return 0
    rows = list(machine.facts())
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}".rstrip())
    return 0


# ----- cache ------------------------------------------------------------------------------------


def list_cache() -> int:
    """Print the entries, the most recently used first."""
    kernels = machine.cache()
    for entry in kernels.entries():
        moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        print(f"{moment}  {entry.bytes / 1e3:9.1f} kB  {entry.label}")
    print(machine.cache_summary(kernels))
    return 0


def show_cache_size() -> int:
    """Print how much room the entries take."""
    print(machine.cache_summary(machine.cache()))
    return 0


def clear_cache() -> int:
    """Remove all entries."""
    kernels = machine.cache()
    before = kernels.size()
    print(f"removed {kernels.clear()} entries, {machine.megabytes(before - kernels.size())} from {kernels.directory}")
    left = len(kernels.entries())
    if left:
        raise OSError(f"{counted(left, 'entry')} could not be removed from {kernels.directory}")
    return 0


CACHE_ACTIONS = {"list": list_cache, "size": show_cache_size, "clear": clear_cache}


# ----- examples ---------------------------------------------------------------------------------


def list_examples(chosen: argparse.Namespace) -> int:
    """Print the names of the examples by topic, with about how long each takes here, and its first line."""
    paths = gallery.examples()
    if not paths:
        raise WarpsimError("this installation has no examples\nhelp: get the repository and run there")
    width, times = max(map(len, paths)), gallery.estimates(paths)
    for topic, names in gallery.topics(paths).items():
        if topic:
            print(f"{topic}:")
        for name in names:
            takes = f"{round_time(times[name]):>7}" if name in times else " " * 7 * bool(times)
            print(f"{'  ' * bool(topic)}{name:{width}}{takes}  {gallery.first_line(paths[name])}".rstrip())
    if times:
        print(
            f"Times are estimates for this machine with {machine.threads()} threads, once kernels are compiled; "
            "--help after a name shows settings"
        )
    return 0


def round_time(seconds: float) -> str:
    """A time as an estimate is told: whole seconds, of long ones multiples of five."""
    return f"{max(1, round(seconds))} s" if seconds < 12.0 else f"{5 * round(seconds / 5.0)} s"


def copy_example(path: Path) -> int:
    """Copy an example to the current folder, to change it there. Raises `FileExistsError` rather than overwrite."""
    if Path(path.name).exists():
        raise FileExistsError(f"{path.name} is here already\nhelp: rename it, or go to another folder")
    print(f"wrote {shutil.copyfile(path, path.name)}; python {path.name} runs it")
    return 0


def run_example(name: str, arguments: list[str]) -> int:
    """Run the `main(arguments)` of an example; a whole number that it returns is the exit status."""
    paths = gallery.examples()
    path = paths.get(name.removesuffix(".py"))
    if path is None:
        near = difflib.get_close_matches(name, paths, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`warpsim run` lists them"
        known = f"one of {', '.join(paths)}" if paths else "nothing, this installation has no examples"
        raise UsageError(f"no example is named {name!r}\nexpected: {known}\nhelp: {hint}")
    if "--copy" in arguments:
        return copy_example(path)
    if "--notebook" in arguments:
        print(f"wrote {notebook.write_notebook(path, Path(f'{path.stem}.ipynb'))}")
        return 0
    watched = "--view" in arguments
    profiles = [argument for argument in arguments if argument.partition("=")[0] == "--profile"]
    rest = [argument for argument in arguments if argument != "--view" and argument not in profiles]
    try:
        with _profile(path.stem, profiles):
            status = _call_main(gallery.load_example(path), f"warpsim run {path.stem}", rest)
    except SystemExit as end:
        if end.code in (0, None) and {"-h", "--help"} & set(rest):
            print(_OF_ALL)
        raise
    if watched and status == 0:
        _viewer().watch(_output_of(rest, path.stem))
    return status


@contextlib.contextmanager
def _profile(name: str, options: list[str]) -> Iterator[None]:
    """A profile of the block, if one of the options asks for it: its table, and the files that options name."""
    files = [Path(file) for option in options if (file := option.partition("=")[2])]
    for file in files:
        if file.suffix not in _PROFILE_FILES:
            known = ", ".join(_PROFILE_FILES)
            raise UsageError(f"--profile={file} has an ending that is not known\nexpected: one of {known}")
    if not options:
        yield
        return
    with warpsim.profile(title=name) as profile:
        yield
    for file in files:
        print(f"wrote {profile.trace(file) if file.suffix == '.json' else profile.picture(file)}")


def _output_of(arguments: list[str], name: str) -> Path:
    """The animation that an example was told to write, or writes by itself."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--output", type=Path)
    options.add_argument("--resume", type=Path)
    chosen, _ = options.parse_known_args(arguments)
    if chosen.output is None and chosen.resume is not None:
        note = importlib.import_module("warpsim.render.saves").read_note(chosen.resume)
        return Path(note["options"]["output"])
    return Path(f"{name}.usdc") if chosen.output is None else chosen.output


def _viewer() -> ModuleType:
    return importlib.import_module("warpsim.viewer.command")  # pxr takes as long to load as all of warpsim


def _call_main(module: Any, program: str, arguments: list[str]) -> int:
    """Call `main` with the name that usage messages should print."""
    before = sys.argv[0]
    sys.argv[0] = program
    try:
        status = module.main(arguments)
    finally:
        sys.argv[0] = before
    return status if type(status) is int else 0


# ----- benchmarks -------------------------------------------------------------------------------


def run_benchmarks(arguments: list[str]) -> int:
    """Run the benchmarks: of the repository, else those packed with the package."""
    root = gallery.checkout()
    folders = [*([root / "benchmarks"] if root else []), gallery.PACKAGE / "_benchmarks"]
    boot = next((folder / "boot.py" for folder in folders if (folder / "boot.py").is_file()), None)
    if boot is None:
        raise WarpsimError(
            f"the benchmarks are neither beside {gallery.PACKAGE} nor in it\n"
            "help: install warpsim from its repository or wheel"
        )
    command = {**os.environ, "BENCHMARKS_COMMAND": "warpsim bench"}
    return subprocess.run([sys.executable, str(boot), "__main__", *arguments], check=False, env=command).returncode


# ----- validation -------------------------------------------------------------------------------


def run_validation(chosen: argparse.Namespace) -> int:
    """Run validation cases one by one, print their table, renew the report if it is asked for; 1 for a wrong number."""
    validate = importlib.import_module("warpsim.solvers.validate")
    try:
        cases = validate.choose_cases(chosen.names, chosen.all)
    except validate.UnknownCaseError as error:
        raise UsageError(str(error)) from None
    if chosen.output is not None:
        chosen.output.mkdir(parents=True, exist_ok=True)  # now: cases may take hours
    results = [_run_case(validate, case) for case in cases]
    print(validate.table(results))
    report = ""
    if chosen.output is not None:
        validate.write(results, chosen.output)
        report = f"; the report is {chosen.output / 'validation.md'}"
    wrong = [result.name for result in results if not result.passed]
    print(f"{len(results) - len(wrong)} of {len(results)} cases pass{report}")
    return 1 if wrong else 0


def _run_case(validate: ModuleType, case: Any) -> Any:
    """Run one case, saying so."""
    print(f"{case.name}: {case.title}", file=sys.stderr, flush=True)
    return validate.run_case(case)
