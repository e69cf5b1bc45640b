"""LLVM and C++ on this machine: object code, linking, native text, stacks."""
