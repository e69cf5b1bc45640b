"""PyTorch: arrays over tensors, and operators for autograd, `torch.func` and graphs."""
