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
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import warpsim

from . import gallery, notebook
from .config import config
from .core.emit.cuda import nvjitlink, nvvm
from .core.emit.cuda import tools as cuda_tools
from .core.emit.disk.cache import ObjectCache, default_directory
from .core.runtime.devices.cuda import driver
from .core.runtime.devices.processor import cores, processor
from .core.runtime.launches import pool
from .errors import WarpsimError, counted

_TRACEBACK = "WARPSIM_TRACEBACK"

CUDA_PACKAGES = {
    "cuda-bindings": "the driver, from Python",
    "nvidia-nvvm": "kernels to PTX",
    "nvidia-nvjitlink": "PTX to machine code",
    "nvidia-cuda-nvrtc": "native functions",
    "cuda-cccl": "sums, scans and sorts of large arrays, which take longer without",
}
"""What the extra `cuda` brings, and what each is for."""

_CUDA_CURE = "pip install 'warpsim[cuda]'"
_PROGRAM = """
target triple = "{}"
target datalayout = "{}"
!nvvmir.version = !{{!0}}
!0 = !{{{}}}
define void @nothing() {{
  ret void
}}
"""

OPTIONAL = {
    "usd-core": "pip install usd-core",
    "matplotlib": "pip install matplotlib",
    "scipy": "pip install scipy",
    "torch": "pip install 'warpsim[torch]'",
    "jax": "pip install 'warpsim[jax]'",
    "paddlepaddle": "pip install 'warpsim[paddle]'",
}


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
    """Print what warpsim found on this machine."""
    rows = list(facts())
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}".rstrip())
    return 0


def facts() -> Iterator[tuple[str, str]]:
    """Names and values of everything that decides what runs here and how."""
    yield "warpsim", f"{warpsim.__version__} in {gallery.PACKAGE}"
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    for name in ("numpy", "llvmlite"):
        yield name, version_of(name) or "not installed: pip install --force-reinstall warpsim"
    yield "CPU", f"{processor()}, {cores()} of {os.cpu_count()} cores usable"
    yield "threads", threads()
    yield "kernel cache", cache_summary(cache())
    yield "CUDA driver", cuda_driver()
    yield from cuda_devices()
    for name, purpose in CUDA_PACKAGES.items():
        yield name, version_of(name) or f"not installed ({purpose}): {_CUDA_CURE}"
    compiles, answer = cuda_compiles()
    yield "CUDA compiles", answer
    yield "CUDA runs", cuda_runs(compiles)
    for name, cure in OPTIONAL.items():
        yield name, version_of(name) or f"not installed: {cure}"


def version_of(package: str) -> str:
    """The installed version of a distribution, or nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def threads() -> str:
    """How many threads a launch takes."""
    try:
        return str(pool.get_pool().threads)
    except WarpsimError as error:
        return "; ".join(str(error).splitlines())


def cuda_driver() -> str:
    """The driver that was found, or why there is none to use."""
    cuda = driver.find_driver()
    if not cuda.version:
        return f"{cuda.reason}; kernels run on the CPU"
    return f"for CUDA {driver.version_text(cuda.version)}, {cuda.count} device{'s' if cuda.count > 1 else ''}"


def cuda_devices() -> Iterator[tuple[str, str]]:
    """The GPUs that kernels can run on; none of them is touched."""
    for device in warpsim.get_cuda_devices():
        major, minor = device.arch
        size = int(driver.call("cuDeviceTotalMem", device.handle)) / 2**30
        yield (
            str(device),
            (f"{device.name}, compute capability {major}.{minor}, {size:.1f} GiB, {device.sm_count} multiprocessors"),
        )


def cuda_compiles() -> tuple[bool, str]:
    """Whether kernels become machine code here, which needs no GPU: tried with the tools themselves."""
    if absent := cuda_tools.missing():
        return False, f"no, not without {', '.join(absent)}: {_CUDA_CURE}"
    version = ", ".join(f"i32 {n}" for n in nvvm.ir_version())
    program = _PROGRAM.format(nvvm.TRIPLE, nvvm.DATA_LAYOUT, version)
    known = nvvm.known_archs()
    for arch in dict.fromkeys([*(device.arch for device in warpsim.get_cuda_devices()), known[0], known[-1]]):
        try:
            nvjitlink.assemble([nvvm.ptx(program, "nothing", arch).encode()], arch)
        except WarpsimError as error:
            return False, f"no: {'; '.join(str(error).splitlines())}"
    first, last = (f"{major}.{minor}" for major, minor in (known[0], known[-1]))
    return True, f"yes, for compute capabilities from {first} to {last}"


def cuda_runs(compiles: bool) -> str:
    """Whether kernels can be launched on a GPU here."""
    if why := driver.reason():
        return f"no: {why}"
    return "yes" if compiles else "only what the kernel cache holds"


# ----- cache ------------------------------------------------------------------------------------


def cache() -> ObjectCache:
    """The folder of compiled kernels, as `config` and the environment choose it."""
    chosen = Path(config.kernel_cache_dir) if config.kernel_cache_dir else default_directory()
    return ObjectCache(chosen, config.max_cache_bytes)


def cache_summary(kernels: ObjectCache) -> str:
    count, size, most = len(kernels.entries()), megabytes(kernels.size()), megabytes(kernels.max_bytes)
    return f"{count} entries, {size} of at most {most} in {kernels.directory}"


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def list_cache() -> int:
    """Print the entries, the most recently used first."""
    kernels = cache()
    for entry in kernels.entries():
        moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        print(f"{moment}  {entry.bytes / 1e3:9.1f} kB  {entry.label}")
    print(cache_summary(kernels))
    return 0


def show_cache_size() -> int:
    """Print how much room the entries take."""
    print(cache_summary(cache()))
    return 0


def clear_cache() -> int:
    """Remove all entries."""
    kernels = cache()
    before = kernels.size()
    print(f"removed {kernels.clear()} entries, {megabytes(before - kernels.size())} from {kernels.directory}")
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
            f"Times are estimates for this machine with {threads()} threads, once kernels are compiled; "
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
