"""Random kernels that read at constant distances from the thread's index: their text, and launches of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from kernel_text import module

import warpsim as wp

GUARDS = ("return", "else", "shifted", "each", "none", "clamped", "wrapped")
"""How a kernel keeps to its arrays; the last two have accesses that are at no constant distance."""


@dataclass
class Stencil:
    """A kernel over `ndim` indices, what it is launched over and on, and which arrays have gradients."""

    text: str
    ndim: int
    vector: bool
    dim: tuple[int, ...]
    shape: tuple[int, ...]
    gradients: tuple[str, ...]
    seed: int
    layouts: dict[str, str] = field(default_factory=dict)

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


class _Writer:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.ndim = int(self.rng.choice([1, 1, 2, 2, 3, 4]))
        self.vector = bool(self.rng.random() < 0.25)
        self.guard = str(self.rng.choice(GUARDS, p=[0.2, 0.2, 0.15, 0.2, 0.1, 0.1, 0.05]))
        self.names = "ijkl"[: self.ndim]
        self.reach = 1 if self.ndim > 2 else int(self.rng.integers(1, 3))

    def offset(self):
        low = 0 if self.guard == "none" else -self.reach
        found = [0] * self.ndim
        found[self.rng.integers(self.ndim)] = int(self.rng.integers(low, self.reach + 1))
        if self.rng.random() < 0.2:
            found[self.rng.integers(self.ndim)] = int(self.rng.integers(low, self.reach + 1))
        return found

    def index(self, offset):
        middle = self.reach if self.guard == "shifted" else 0
        return ", ".join(shifted(n, c + middle) for n, c in zip(self.names, offset, strict=True))

    def clamped_index(self, offset):
        terms = []
        for axis, (n, c) in enumerate(zip(self.names, offset, strict=True)):
            low = f"wp.max({shifted(n, c)}, 0)" if c < 0 else shifted(n, c)
            terms.append(f"wp.min({low}, a.shape[{axis}] - 1)" if c >= 0 else low)
        return ", ".join(terms)

    def access(self):
        array, offset = self.rng.choice(["a", "a", "b"]), self.offset()
        if self.guard == "wrapped":
            offset = [min(c, 0) for c in offset]
        text = f"{array}[{self.clamped_index(offset) if self.guard == 'clamped' else self.index(offset)}]"
        return (text + f"[{self.rng.integers(3)}]" if self.vector else text), offset

    def term(self):
        (x, at), (y, other) = self.access(), self.access()
        forms = (f"{x} * {y}", f"1.5 * {x}", f"wp.sin({x}) * {y}", f"{x} / (2.0 + {y} * {y})", f"{x} + {y}")
        text = "wp.float64(0.7) * (" + str(self.rng.choice(forms)) + ")"
        return text.replace("1.5", "wp.float64(1.5)").replace("2.0 +", "wp.float64(2.0) +"), [at, other]

    def sums(self, target, indent):
        """Statements that add terms up, each under its own test where guards are such."""
        lines = [f"{target} = wp.float64(0.25)"]
        for _ in range(self.rng.integers(1, 4)):
            text, offsets = self.term()
            if self.guard == "each":
                lines.append(f"if {self.inside(offsets)}:")
                lines.append(f"    {target} += {text}")
            else:
                lines.append(f"{target} += {text}")
        return "\n".join(" " * indent + line for line in lines)

    def inside(self, offsets):
        tests = [f"{n} < a.shape[{axis}]" for axis, n in enumerate(self.names)]
        for axis, n in enumerate(self.names):
            low, high = min(c[axis] for c in offsets), max(c[axis] for c in offsets)
            tests += [f"{shifted(n, low)} >= 0"] if low < 0 else []
            tests += [f"{shifted(n, high)} < a.shape[{axis}]"] if high > 0 else []
        return " and ".join(tests)

    def border(self):
        tests = (f"{n} < {self.reach} or {n} >= a.shape[{axis}] - {self.reach}" for axis, n in enumerate(self.names))
        return " or ".join(tests)

    def results(self, indent):
        value = "wp.vec3d(s, 0.5 * s, s * s)".replace("0.5", "wp.float64(0.5)") if self.vector else "s"
        at, lines = self.index([0] * self.ndim), []
        if self.guard == "each":
            outside = " or ".join(f"{n} >= a.shape[{axis}]" for axis, n in enumerate(self.names))
            lines += [f"if {outside}:", "    return"]
        form = self.rng.choice(["store", "update", "atomic"])
        lines.append({
            "store": f"o[{at}] = {value}", "update": f"o[{at}] = o[{at}] + {value}",
            "atomic": f"wp.atomic_add(o, {at}, {value})",
        }[form])  # fmt: skip
        if self.rng.random() < 0.4:
            lines.append(f"p[{at}] = wp.float64(2.0) * {value}")
        return "\n".join(" " * indent + line for line in lines)

    def body(self):
        if self.guard == "else":
            zero = "wp.vec3d()" if self.vector else "wp.float64(0.0)"
            outside = " or ".join(f"{n} >= a.shape[{axis}]" for axis, n in enumerate(self.names))
            return (
                f"    if {outside}:\n        return\n    if {self.border()}:\n        o[{self.names_at()}] = {zero}\n"
                f"    else:\n{self.sums('s', 8)}\n{self.results(8)}"
            )
        first = f"    if {self.border()}:\n        return\n" if self.guard == "return" else ""
        return f"{first}{self.sums('s', 4)}\n{self.results(4)}"

    def names_at(self):
        return ", ".join(self.names)

    def shapes(self):
        """What the arrays have, and what is launched: more and fewer threads only where the guards allow them."""
        least = 2 * self.reach + 1 if self.ndim < 3 else 3
        shape = tuple(int(n) for n in self.rng.integers(least, (40, 9, 5, 4)[self.ndim - 1] + 1, self.ndim))
        if self.guard == "shifted":
            return tuple(n - 2 * self.reach for n in shape), shape
        if self.guard == "none":
            return tuple(n - self.reach for n in shape), shape
        change = 0 if self.guard in ("clamped", "wrapped") else int(self.rng.integers(-1, 3))
        return tuple(n + change for n in shape), shape

    def stencil(self, seed):
        t = f"wp.array(dtype={'wp.vec3d' if self.vector else 'wp.float64'}, ndim={self.ndim})"
        text = (
            f"@wp.kernel\ndef stencil(a: {t}, b: {t}, o: {t}, p: {t}):\n"
            f"    {self.names_at()} = wp.tid()\n{self.body()}\n"
        )
        dim, shape = self.shapes()
        chosen = self.rng.random(4) < 0.75
        gradients = tuple(name for name, has in zip("abop", chosen, strict=True) if has) or ("a", "o")
        layouts = {name: str(self.rng.choice(["plain", "plain", "strided", "transposed"])) for name in "abop"}
        return Stencil(text, self.ndim, self.vector, dim, shape, gradients, seed, layouts)


def shifted(name, distance):
    return f"{name} {'+' if distance > 0 else '-'} {abs(distance)}" if distance else name


def random_stencil(seed):
    writer = _Writer(seed)
    return writer.stencil(seed)
