"""JAX: arrays over buffers, and kernels as primitives."""
