"""Arrays: memory, what is in it, who needs its contents, gradients."""
