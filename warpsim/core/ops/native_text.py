"""Uses of parameters in C++ text: reads and writes, as far as the text alone shows.

Guarantees: a name that is not mentioned is not used. A name that seems constant may still be changed
through a reference or a function: whoever relies on it declares it `const` and lets the compiler decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_RETURNS_VALUE = re.compile(r"\breturn\b\s*[^\s;]")
_LAMBDA = re.compile(r"\]\s*(\(|\{)")  # its `return` is not that of the function
_ATOMICS = re.compile(r"\b(?:atomic|__atomic|__sync_)")
_CHANGES = re.compile(r"\s*(?:=(?!=)|\+\+|--|(?:[-+*/%&|^]|<<|>>)=)")
_CHANGED_BEFORE = re.compile(r"(?:\+\+|--|(?<!&)&|\.|->)\s*$")
_MEMBER = re.compile(r"\s*\.\s*(\w+)")
_OPENING = re.compile(r"\s*([\[(])")
_BRACKETS = {"[": "]", "(": ")"}


def plain(text: str) -> str:
    """The text without comments and quoted text."""
    return _COMMENTS_AND_TEXTS.sub(" ", text)


def returns_value(text: str) -> bool:
    return bool(_RETURNS_VALUE.search(plain(text)))


def has_lambda(text: str) -> bool:
    return bool(_LAMBDA.search(plain(text)))


def has_atomics(text: str) -> bool:
    return bool(_ATOMICS.search(plain(text)))


def mentions(text: str, name: str) -> bool:
    """Whether the name stands in the text."""
    return next(_places(plain(text), name), None) is not None


def seems_constant(text: str, name: str) -> bool:
    """Whether each mention of an array, or of a struct with arrays, looks like a read of an element or extent."""
    text = plain(text)
    return all(_is_read(text, mention.start(), mention.end()) for mention in _places(text, name))


def _places(text: str, name: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def _is_read(text: str, start: int, end: int) -> bool:
    """Whether the mention goes on to an element or a member, and nothing around it changes that."""
    if _CHANGED_BEFORE.search(text, 0, start):
        return False
    after, steps = end, 0
    while True:
        member = _MEMBER.match(text, after)
        opening = _OPENING.match(text, after)
        if member and member[1] not in ("data", "grad"):
            after = member.end()
        elif opening:
            after = _closing(text, opening.end(), opening[1])
        else:
            break
        steps += 1
    return steps > 0 and member is None and not _CHANGES.match(text, after)


def _closing(text: str, at: int, opening: str) -> int:
    """The place behind the bracket that closes one."""
    depth = 1
    while at < len(text) and depth:
        depth += (text[at] == opening) - (text[at] == _BRACKETS[opening])
        at += 1
    return at
