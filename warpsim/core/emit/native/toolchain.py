"""Finds the C++ compiler of the system and runs it.

Guarantees: what the user names in the environment (CXX, then CC) is used, or an error says why not;
without that, the compiler that Python was built with, then the usual names on the path, then the one in
the package `ziglang`. The library that comes out is for this very processor and rounds every operation
by itself: no contraction, no fast mathematics.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ....errors import NoCompilerError

_NAMES = ("c++", "g++", "clang++", "cc", "gcc", "clang")
_INSTALL = "pip install warpsim[native] brings one; or install g++ or clang, or set CXX to a compiler"


@dataclass(frozen=True)
class Toolchain:
    """A command that compiles C++; `identity` changes when another compiler comes to stand behind it."""

    command: tuple[str, ...]
    identity: str

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of every compilation."""
        processor = ("-march=native",) if platform.machine().lower() in ("x86_64", "amd64", "i686") else ()
        place = () if sys.platform == "win32" else ("-fPIC",)
        rounding = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
        safety = ("-fno-strict-aliasing", "-Werror=return-type")
        return ("-std=c++17", "-O3", "-shared", *place, *processor, *rounding, *safety)

    def build(self, source: str, texts: dict[str, str]) -> tuple[bytes | None, str]:
        """Compile and link a shared library: its bytes, or None, and what the compiler said.

        `texts` are pieces of the source by the file names that `#line` gives them there; they lie beside it
        so that the compiler can quote them.
        """
        with tempfile.TemporaryDirectory(prefix="warpsim-native-") as folder:
            for name, text in {"unit.cpp": source, **texts}.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            command = [*self.command, *self.flags, "-o", "unit.library", "unit.cpp"]
            environment = {**os.environ, "LC_ALL": "C"}
            try:
                done = subprocess.run(
                    command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
                )
            except OSError as error:
                what = f"the C++ compiler {self.command[0]!r} does not run: {error}"
                raise NoCompilerError(what, help=_INSTALL) from error
            said = (done.stderr + done.stdout).decode(errors="replace")
            library = Path(folder) / "unit.library"
            return (library.read_bytes() if done.returncode == 0 and library.exists() else None), said


def find() -> Toolchain:
    """The compiler to use now. Raises `NoCompilerError`."""
    for variable in ("CXX", "CC"):
        if text := os.environ.get(variable, "").strip():
            tools = _toolchain_of(text)
            if tools is None:
                raise NoCompilerError(
                    f"{variable} names the C++ compiler {text!r}, which is not found",
                    help=f"correct or unset {variable}",
                )
            return tools
    built_with = (sysconfig.get_config_var(name) or "" for name in ("CXX", "CC"))
    for text in (*built_with, *_NAMES):
        tools = _toolchain_of(text)
        if tools is not None:
            return tools
    tools = _ziglang()
    if tools is None:
        raise NoCompilerError(
            "native functions need a C++ compiler, and none is found",
            expected=f"one of {', '.join(_NAMES)} on the path",
            help=_INSTALL,
        )
    return tools


def _toolchain_of(text: str) -> Toolchain | None:
    """The compiler that a command line begins with."""
    words = shlex.split(text, posix=os.name != "nt")
    path = shutil.which(words[0]) if words else None
    if path is None:
        return None
    status = os.stat(os.path.realpath(path))
    return Toolchain((path, *words[1:]), f"{text} {os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}")


def _ziglang() -> Toolchain | None:
    """The compiler in the package `ziglang`, which is Clang with a C and a C++ library."""
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Toolchain((sys.executable, "-m", "ziglang", "c++"), f"ziglang {version}")
