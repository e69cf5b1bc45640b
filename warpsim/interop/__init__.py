"""Other frameworks: memory shared without copies, and kernels as differentiable operators of PyTorch and JAX."""
