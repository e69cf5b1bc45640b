"""One module per workload, each holding the same computation once per kernel dialect.

A module offers ``warp_case(wp, size)`` for the language that warpsim and Warp share, and, where
the workload makes sense there, ``taichi_case(ti, size)`` and ``numba_case(nb, size)``, and
``cpp_case(cpp, size)`` where there is a hand-written loop in ``benchmarks/native``. What is left
out stands in ``SKIPPED`` with its reason. ``expected(size)`` gives the right values by NumPy;
a module without one is compared between frameworks.
"""
