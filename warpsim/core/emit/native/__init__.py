"""LLVM and C++ on this machine: object code, linking, native text, stacks."""

from .native import linking_engine as linking_engine
