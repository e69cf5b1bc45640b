"""Random kernels that read at constant distances from the thread's index: launches of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from grammar.stencils import Text
from kernel_text import module

import warpsim as wp


@dataclass
class Stencil:
    """A kernel, what it is launched over and on, and which arrays have gradients."""

    text: str
    vector: bool
    dim: tuple[int, ...]
    shape: tuple[int, ...]
    gradients: tuple[str, ...]
    seed: int
    layouts: dict[str, str]

    def kernel(self):
        return module(self.text, {"wp": wp})["stencil"]

    def arrays(self, device):
        """The arguments: random contents, and gradients that hold random numbers already."""
        rng = np.random.default_rng(self.seed)
        found = {}
        for name in "abop":
            tail = (3,) if self.vector else ()
            content, slopes = (rng.uniform(0.5, 1.5, self.shape + tail) for _ in range(2))
            found[name] = laid_out(content, self.layouts[name], wp.vec3d if self.vector else wp.float64, device)
            if name in self.gradients:
                found[name].requires_grad = True
                found[name].grad.assign(slopes)
        return found


def laid_out(content, layout, dtype, device):
    """An array with these contents: of its own, every second element of a larger one, or transposed memory."""
    axes = content.ndim - (dtype is not wp.float64)
    if layout == "strided":
        shape = (2 * content.shape[0], *content.shape[1:])
        whole = np.zeros(shape)
        whole[::2] = content
        return wp.array(whole, dtype=dtype, device=device)[::2]
    if layout == "transposed" and axes == 2:
        return wp.array(np.ascontiguousarray(content.swapaxes(0, 1)), dtype=dtype, device=device).transpose()
    return wp.array(content, dtype=dtype, device=device)


def random_stencil(seed):
    """The stencil of this number."""
    text = Text(seed)
    gradients = tuple(name for name in "abop" if not text.chance(4)) or ("a", "o")
    layouts = {name: text.pick("plain", "plain", "strided", "transposed") for name in "abop"}
    return Stencil("\n".join(text.lines) + "\n", text.vector, text.dim, text.shape, gradients, seed, layouts)
