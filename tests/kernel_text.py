"""Kernels from text: compiled by Python under a name of their own, with the source where `inspect` finds it."""

import itertools
import linecache

_numbers = itertools.count()


def module(text, known):
    """The globals that a text leaves behind; known: the names that it begins with, such as `wp`."""
    name = f"<kernels {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found = {"__name__": name, **known}
    exec(compile(text, name, "exec", dont_inherit=True), found)
    return found
