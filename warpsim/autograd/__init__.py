"""Derivatives of kernels and functions, checked and drawn: Jacobians, gradient checks, gradient reports.

    wp.autograd.gradcheck(kernel, dim=n, inputs=[x], outputs=[y])

says whether the gradients of a kernel agree with finite differences, and prints a table.
"""

from .forward import hvp, jvp
from .gradcheck import GradientComparison, gradcheck, gradcheck_tape
from .jacobian import Jacobians, jacobian, jacobian_fd
from .plots import plot_kernel_jacobians
from .report import GradientReport, gradient_report
from .subjects import FunctionMetadata

jacobian_plot = plot_kernel_jacobians  # Warp's newer name

__all__ = ["FunctionMetadata", "GradientComparison", "GradientReport", "Jacobians", "gradcheck", "gradcheck_tape"]
__all__ += ["gradient_report", "hvp", "jacobian", "jacobian_fd", "jacobian_plot", "jvp", "plot_kernel_jacobians"]
