"""The same kernels under warpsim and its peers, timed side by side: ``python -m benchmarks``.

Guarantees: every framework runs in a process of its own, single timings of all frameworks
alternate within one run, and a number is printed only after the values behind it were checked.
"""
