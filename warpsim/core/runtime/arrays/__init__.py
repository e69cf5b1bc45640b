"""Arrays: allocation, contents, saved copies, gradients."""
