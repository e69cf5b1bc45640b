"""Functions that kernels call, and derivatives of one's own for them."""
