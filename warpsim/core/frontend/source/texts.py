"""Texts that lie in no file: of `python -c`, of a program on standard input, of a session at its prompt.

Python 3.13 keeps some of them in `linecache`, earlier versions none. What is a guess here is compared with the code of
the function before it is taken, see `edited`.
"""

from __future__ import annotations

import linecache
import os
import stat
import sys
from collections.abc import Iterator
from itertools import count
from types import CodeType

from . import edited

_WITH_VALUE = "cmWX"  # letters of Python's options that a value follows
_LONGEST = 400  # lines of a definition typed at the prompt
_numbers = count(1)


def remember(text: str, name: str) -> str:
    """Keep a text where tracebacks, debuggers and `inspect` look for it; returns the file name that it is under."""
    file = f"<{name} {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return file


def file_of(code: CodeType) -> str:
    """The name under which `linecache` has the text that `code` was compiled from, or the name that Python gave it."""
    file = code.co_filename
    if file not in ("<string>", "<stdin>") or edited.lines_of(code, "".join(linecache.getlines(file))):
        return file
    texts = _command() if file == "<string>" else (*_piped_program(), *_typed_lines())
    text = next((text for text in texts if edited.lines_of(code, text)), None)
    return file if text is None else _keep(text, file.strip("<>"))


def _keep(text: str, name: str) -> str:
    """The file of a text, which several functions may stand in."""
    lines = text.splitlines(keepends=True)
    known = (file for file, entry in linecache.cache.items() if file.startswith(f"<{name} ") and entry[2:3] == (lines,))
    return next(known, None) or remember(text, name)


def _command() -> Iterator[str]:
    """The program of `python -c`."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        letters = word[1:]
        at = next((k for k, letter in enumerate(letters) if letter in _WITH_VALUE), None)
        if not word.startswith("-") or word.startswith("--") or (at is not None and letters[at] == "m"):
            return
        if at is not None:
            value = letters[at + 1 :] or next(words, "")
            if letters[at] == "c":
                yield value + "\n"
                return


def _piped_program() -> Iterator[str]:
    """The program of `python < FILE`. Of a pipe nothing is left: Python has read it."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode) and hasattr(os, "pread"):
            yield os.pread(0, status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _typed_lines() -> Iterator[str]:
    """What was typed at the prompt last, from each line where a statement may begin, the latest first."""
    history = sys.modules.get("readline")
    if history is None or (not sys.flags.interactive and not hasattr(sys, "ps1")):
        return
    lines: list[str] = []
    last = history.get_current_history_length()
    for number in range(last, max(0, last - _LONGEST), -1):
        lines.insert(0, f"{history.get_history_item(number) or ''}\n")
        if lines[0].startswith(("@", "def ", "class ", "if ", "for ", "with ")):
            yield "".join(lines)
