"""Operators at the top level of a module, and a program that loads them and computes; run by test_copied."""

import base64
import pickle
import sys

import jax
import operator_kernels
import torch
from operator_kernels import F

import warpsim as wp

waves = wp.torch_op(operator_kernels.waves, num_outputs=2)
waves_of_jax = wp.jax_kernel(operator_kernels.waves, num_outputs=2)


@wp.torch_op
@wp.kernel
def decorated(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@wp.jax_kernel
@wp.kernel
def decorated_of_jax(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


def two(*_):
    return 2


def main():
    jax.config.update("jax_enable_x64", True)
    plain, changed, cube, of_jax, cube_of_jax = pickle.loads(base64.b64decode(sys.argv[1]))
    x = torch.arange(1.0, 5.0, dtype=torch.float64, requires_grad=True)
    y = torch.compile(lambda x: plain(x, x, 2.0)[0], fullgraph=True, backend="aot_eager")(x)
    y.sum().backward()
    torch.testing.assert_close(y.detach(), (2.0 * x.sin() * x * x).detach())
    torch.testing.assert_close(x.grad, (2.0 * x.cos() * x * x + 4.0 * x.sin() * x).detach())
    assert cube(x.detach()).tolist() == [1.0, 8.0, 27.0, 64.0] and cube is decorated
    position, speed = changed(x.detach(), x.detach(), 0.5)
    assert position.shape == speed.shape == (4,) and speed.tolist()[2:] == [3.0, 4.0] and speed[0] == 0.5
    assert cube_of_jax is decorated_of_jax
    own = x.detach().numpy()
    assert (of_jax(own, own, 2.0)[0] == waves_of_jax(own, own, 2.0)[0]).all()
    print("loaded")


if __name__ == "__main__":
    main()
