"""A Warp kernel as a layer of PyTorch: torch.autograd.Function with adjoint launches, trained with torch.optim."""

import numpy as np
import torch

import warp as wp

wp.init()
torch.manual_seed(0)


@wp.kernel
def rbf(x: wp.array(dtype=wp.vec2), centres: wp.array(dtype=wp.vec2), gamma: float, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    d = x[i] - centres[j]
    out[i, j] = wp.exp(-gamma * wp.dot(d, d))


class RBF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, centres, gamma):
        ctx.x = wp.from_torch(x.contiguous(), dtype=wp.vec2)
        ctx.centres = wp.from_torch(centres.contiguous(), dtype=wp.vec2)
        ctx.gamma = gamma
        out = torch.empty((x.shape[0], centres.shape[0]), dtype=torch.float32)
        ctx.out = wp.from_torch(out)
        wp.launch(rbf, dim=ctx.out.shape, inputs=[ctx.x, ctx.centres, gamma], outputs=[ctx.out])
        return out

    @staticmethod
    def backward(ctx, adj_out):
        ctx.out.grad = wp.from_torch(adj_out.contiguous())
        adj_x, adj_centres = wp.zeros_like(ctx.x), wp.zeros_like(ctx.centres)
        wp.launch(
            rbf,
            dim=ctx.out.shape,
            inputs=[ctx.x, ctx.centres, ctx.gamma],
            outputs=[ctx.out],
            adj_inputs=[adj_x, adj_centres, 0.0],
            adj_outputs=[ctx.out.grad],
            adjoint=True,
        )
        return wp.to_torch(adj_x), wp.to_torch(adj_centres), None


rng = np.random.default_rng(6)
x = torch.tensor(rng.uniform(-1, 1, (64, 2)), dtype=torch.float32)
target = torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1])
centres = torch.tensor(rng.uniform(-1, 1, (12, 2)), dtype=torch.float32, requires_grad=True)
weights = torch.tensor(rng.normal(size=12) * 0.1, dtype=torch.float32, requires_grad=True)
check = torch.exp(-2.0 * ((x[:, None] - centres[None]) ** 2).sum(-1))
(a,) = torch.autograd.grad(check.square().sum(), centres)
(b,) = torch.autograd.grad(RBF.apply(x, centres, 2.0).square().sum(), centres)
print("gradient agrees", torch.allclose(a, b, atol=1e-4), b[0].tolist())
optimiser = torch.optim.Adam([centres, weights], lr=0.05)
for it in range(81):
    optimiser.zero_grad()
    loss = ((RBF.apply(x, centres, 2.0) @ weights - target) ** 2).mean()
    loss.backward()
    optimiser.step()
    if it % 20 == 0:
        print(it, "loss %.3f" % loss.item())
w = wp.from_torch(weights.detach())
print(w.shape, w.dtype.__name__, wp.to_torch(w).data_ptr() == weights.data_ptr(), wp.device_to_torch("cpu"))
g = wp.from_torch(torch.zeros(3, 4, 4), dtype=wp.mat44, requires_grad=True)
print(g.shape, g.grad.shape, wp.to_torch(g).shape, wp.to_torch(wp.zeros(5, dtype=wp.vec3)).shape)
