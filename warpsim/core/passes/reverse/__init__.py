"""Reverse mode: the adjoint of a kernel, and what it must find again of the values of the kernel."""
