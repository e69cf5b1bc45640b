"""Kernels that the tests compile or interpret become machine code for GPUs as well, on machines without one.

What a test makes (a kernel, its adjoint, a recording, a tangent) is compiled by NVVM and assembled by nvJitLink, by
`cuda.machine_codes` as for a launch: every kernel of the library and the examples, for the types of arguments that come
first, and one in `ONE_IN` of all other programs (further types, kernels that only tests have, derived forms; of large
ones more rarely), for one compute capability of `ARCHS`, which the program itself decides. With `pytest --nightly` it
is everything, for every capability.
That happens when the test is over; a refusal is an error of the test, with the kernel's name and the compiler's words.
Equal programs are assembled once in a run: workers of pytest-xdist share a folder with one file for each.

`pytest --assembly=off` leaves this out, `--assembly=required` fails where NVIDIA's packages are missing. Tests that
make thousands of random programs have the mark `assembled_one_in(n)`: of their programs every n-th is assembled (n is a
prime, so that it meets every form); WARPSIM_ASSEMBLE_ALL=1 takes all. Tests of what CUDA is right to refuse have the
mark `not_for_cuda(words)`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import weakref
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import samples
from device_run import on_gpu

from warpsim.core import compile as compiler
from warpsim.core.emit import build as builder
from warpsim.core.emit.cuda import tools
from warpsim.core.emit.disk.stored_programs import Entry
from warpsim.core.emit.program import PRIMAL, Program, cache_key
from warpsim.core.emit.target import Options
from warpsim.core.ir.nodes import count
from warpsim.core.runtime.launches import programs
from warpsim.core.runtime.launches.kernel import Kernel
from warpsim.core.types.arrays import ArrayType

ARCHS = ((9, 0), (12, 0))
"""One for each dialect of LLVM that NVVM reads: an old one below 10.0, a recent one from there on."""
CHOICES = ("auto", "off", "required")
TESTS = Path(__file__).resolve().parents[1]
ONE_IN = 6  # of all but the first forms of the library's and the examples' kernels
LARGE = 2000
"""Nodes of a program from which it is in the sample more rarely: one of n times as many in n times as many."""


def configure(config: pytest.Config) -> None:
    """Take part in the run as the option says; without NVIDIA's packages only the last line of the run knows of it."""
    config.addinivalue_line("markers", "assembled_one_in(n): of many programs every n-th is assembled for CUDA")
    config.addinivalue_line("markers", "not_for_cuda(words): CUDA may refuse the test's kernels in these words")
    wanted = config.getoption("--assembly")
    if wanted == "off" or (wanted == "auto" and on_gpu(config)):  # there kernels run, which says more
        return
    nightly = config.getoption("--nightly")
    missing = tools.missing()
    if missing and wanted == "required":
        raise pytest.UsageError(f"--assembly=required without {', '.join(missing)}: pip install 'warpsim[cuda]'")
    given = getattr(config, "workerinput", None)
    folder = Path(given["assembly"] if given else tempfile.mkdtemp(prefix="warpsim-assembly-"))
    if given is None:
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.pluginmanager.register(Report(folder, missing, nightly))
    if not missing:
        assembly = Assembly(folder, nightly)
        assembly.watch()
        config.add_cleanup(assembly.unwatch)
        config.pluginmanager.register(assembly)


class Assembly:
    """What one process of the run has made, and its way to machine code; `folder` is shared by all processes."""

    def __init__(self, folder: Path, nightly: bool = False):
        self.folder, self.nightly = folder, nightly
        self.one_in = 1
        self.expected: str | None = None  # what a refusal says that the test is about
        self.made: dict[int, Program] = {}  # by the identity of their functions: options are not known yet
        self.built: list[tuple[Program, Options]] = []
        self.derived: weakref.WeakSet[Any] = weakref.WeakSet()  # functions of adjoints, recordings, tangents
        self.random: Counter[str] = Counter()  # programs of tests of which not all are assembled
        self._originals: tuple[Any, ...] = ()

    # ----- what tests make ------------------------------------------------------------------

    def watch(self) -> None:
        """See every program that the compiler finishes, and every one that becomes code for the CPU."""
        self._originals = (compiler.finish, compiler.derive, builder.build, programs.adopt)
        finish, derive, build, adopt = self._originals

        def seen_finish(*args: Any) -> Program:
            return self.note_made(finish(*args))

        def seen_derive(*args: Any) -> Program:
            made = self.note_made(derive(*args))
            self.derived.add(made.fn)
            return made

        def seen_build(program: Program, options: Options) -> builder.Compiled:
            self.note_built(program, options)
            return build(program, options)

        def seen_adopt(kernel: Kernel, recipe: programs.Recipe, entry: Entry) -> Program:
            """A program from the disk, which was assembled when it was made; nor is what the audit compares it with."""
            made = dict(self.made)
            program = adopt(kernel, recipe, entry)
            self.made = made
            if recipe.form != PRIMAL:
                self.derived.add(program.fn)
            return program

        compiler.finish, compiler.derive, builder.build = seen_finish, seen_derive, seen_build
        programs.adopt = seen_adopt

    def unwatch(self) -> None:
        if self._originals:
            compiler.finish, compiler.derive, builder.build, programs.adopt = self._originals

    def note_made(self, program: Program) -> Program:
        chosen = self.one_in == 1 or self.random["random"] % self.one_in == 0
        if chosen:
            self.made[id(program.fn)] = program
        if self.one_in > 1:
            self.random.update(random=1, chosen=int(chosen))
        return program

    def note_built(self, program: Program, options: Options) -> None:
        if self.one_in == 1:
            self.made.pop(id(program.fn), None)
            self.built.append((program, options))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("assembled_one_in")
        self.one_in = mark.args[0] if mark and not os.environ.get("WARPSIM_ASSEMBLE_ALL") else 1
        mark = item.get_closest_marker("not_for_cuda")
        self.expected = mark.args[0] if mark else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        done = yield
        self.assemble_all(item.nodeid)
        return done

    # ----- machine code ---------------------------------------------------------------------

    def assemble_all(self, test: str) -> None:
        """Assemble what a test has made; fails it at the end with everything that is refused."""
        wanted = [*self.built, *((program, usual_options(program)) for program in self.made.values())]
        self.built, self.made = [], {}
        if self.one_in > 1:
            (self.folder / f"random-{os.getpid()}").write_text(json.dumps(self.random))
        refused = [words for program, options in wanted if (words := self.assemble(program, options, test))]
        if refused:
            pytest.fail("\n\n".join(refused), pytrace=False)

    def assemble(self, program: Program, options: Options, test: str) -> str:
        """Machine code of a program that no one has assembled; returns why there is none, else nothing."""
        key = cache_key(program, options, "CUDA")
        always = self.nightly or self.one_in > 1 or samples.belongs(key, share(program))
        if not (always or self.is_first_of_users_kernel(program)):
            return ""
        claim = self.folder / key
        if not is_created(claim):
            return ""
        began = time.process_time()
        words = refusal(program, options, self.archs(key))
        kind = "refused" if words else "derived" if program.fn in self.derived else "kernels"
        if words and self.expected is not None and self.expected in words:
            kind, words = "expected", ""
        found = {kind: 1, "seconds": time.process_time() - began}
        claim.write_text(json.dumps(found))
        return words

    def archs(self, key: str) -> tuple[tuple[int, int], ...]:
        """For which capabilities a program is assembled: the same in every run."""
        first = zlib.crc32(key.encode()) % len(ARCHS)
        return (ARCHS[first:] + ARCHS[:first])[: len(ARCHS) if self.nightly else 1]

    def is_first_of_users_kernel(self, program: Program) -> bool:
        """Whether a program is the first of its kernel, which is the library's or an example's, not a test's."""
        place = program.fn.location
        if program.fn in self.derived or (place is not None and TESTS in Path(place.file).parents):
            return False
        kernel = f"{program.fn.name} {place}"
        return is_created(self.folder / f"kernel-{hashlib.sha256(kernel.encode()).hexdigest()}", "{}")


def is_created(path: Path, content: str = "") -> bool:
    """Whether this process, of all that ask, is the one that creates the file."""
    try:
        with path.open("x") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def share(program: Program) -> int:
    """Of how many programs like this one, of a test or derived, one is assembled."""
    return ONE_IN * max(1, count(program.fn.body) // LARGE)


def usual_options(program: Program) -> Options:
    """How a program is compiled when its arrays are contiguous."""
    types = [p.type for p in program.fn.params]
    return Options(tuple("C" if isinstance(t, ArrayType) and not t.indexed else "" for t in types))


def refusal(program: Program, options: Options, archs: tuple[tuple[int, int], ...]) -> str:
    """Why a program has no machine code; nothing where it has."""
    from warpsim.core.emit.cuda import cuda  # noqa: PLC0415  (needs the packages of the extra `cuda`)

    fn = program.fn
    try:
        cuda.machine_codes(fn, program.ndim, options, program.plan, archs, options.lineinfo)
    except Exception as error:  # whatever it is, it is a kernel that the CPU runs and CUDA does not
        return f"CUDA refuses kernel {fn.name!r} ({fn.location}): {type(error).__name__}: {error}"
    return ""


@dataclass
class Report:
    """Tells the workers where the folder is, and at the end how much was assembled."""

    folder: Path
    missing: list[str]
    nightly: bool = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["assembly"] = str(self.folder)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(self.line())

    def line(self) -> str:
        """What is said of the run."""
        if self.missing:
            return f"CUDA: nothing is assembled, {', '.join(self.missing)} is missing; pip install 'warpsim[cuda]'"
        total: Counter[str] = Counter()
        for path in self.folder.iterdir():
            total.update(json.loads(path.read_text() or '{"lost": 1}'))
        targets = (" and " if self.nightly else " or ").join(f"{major}.{minor}" for major, minor in ARCHS)
        text = f"CUDA: {total['kernels']} kernels and {total['derived']} adjoints and other derived forms compiled and"
        text += f" assembled for compute capability {targets}, {total['refused']} refused"
        text += f", {total['expected']} not meant for CUDA" * bool(total["expected"])
        text += f", {total['lost']} unfinished" * bool(total["lost"])
        text += f", among them {total['chosen']} of {total['random']} random programs" * bool(total["random"])
        text += f", every kernel of the library and one in {ONE_IN} of other forms" * (not self.nightly)
        return f"{text} ({total['seconds']:.0f} s)"
