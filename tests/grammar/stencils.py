"""The dialect of stencils: kernels that read at constant distances from the thread's index.

A guard is how a kernel keeps to its arrays; clamped and wrapped have accesses that are at no constant distance.
"""

from __future__ import annotations

from grammar.writer import Writer, seeded

GUARDS = ("return", "else", "each") * 4 + ("shifted",) * 3 + ("none", "clamped") * 2 + ("wrapped",)


class Text(Writer):
    """Writes the kernel of a number over `ndim` indices. dim, shape: what it may be launched over, and on."""

    def __init__(self, seed):
        super().__init__(seeded(seed))
        self.ndim = self.pick(1, 1, 2, 2, 3, 4)
        self.vector, self.guard = self.chance(4), self.pick(*GUARDS)
        self.indices = "ijkl"[: self.ndim]
        self.reach = 1 if self.ndim > 2 else self.number(1, 2)
        self.own = ", ".join(self.indices)
        t = f"wp.array(dtype={'wp.vec3d' if self.vector else 'wp.float64'}, ndim={self.ndim})"
        self.lines = ["@wp.kernel", f"def stencil(a: {t}, b: {t}, o: {t}, p: {t}):", f"    {self.own} = wp.tid()"]
        self.depth = 1
        self.kernel()
        self.shape = tuple(self.number(2 * self.reach + 1, (40, 9, 5, 4)[self.ndim - 1]) for _ in range(self.ndim))
        less = {"shifted": 2 * self.reach, "none": self.reach, "clamped": 0, "wrapped": 0}.get(self.guard)
        self.dim = tuple(n + (self.number(-1, 2) if less is None else -less) for n in self.shape)

    def kernel(self):
        if self.guard == "return":
            self.skip(self.border(), "return")
        if self.guard == "else":
            self.skip(self.outside(), "return")
            self.skip(self.border(), f"o[{self.own}] = {'wp.vec3d()' if self.vector else 'wp.float64(0.0)'}")
            self.write("else:")
            self.depth += 1
        self.write("s = wp.float64(0.25)")
        for _ in range(self.number(1, 3)):
            self.add_term()
        if self.guard == "each":
            self.skip(self.outside(), "return")
        self.store()

    def skip(self, test, what):
        self.write(f"if {test}:")
        self.write(f"    {what}")

    def border(self):
        ways = (f"{n} < {self.reach} or {n} >= a.shape[{k}] - {self.reach}" for k, n in enumerate(self.indices))
        return " or ".join(ways)

    def outside(self):
        return " or ".join(f"{n} >= a.shape[{k}]" for k, n in enumerate(self.indices))

    def inside(self, offsets):
        """Tests that the elements at these offsets are there."""
        tests = [f"{n} < a.shape[{k}]" for k, n in enumerate(self.indices)]
        for k, n in enumerate(self.indices):
            low, high = min(c[k] for c in offsets), max(c[k] for c in offsets)
            tests += [f"{shifted(n, low)} >= 0"] if low < 0 else []
            tests += [f"{shifted(n, high)} < a.shape[{k}]"] if high > 0 else []
        return " and ".join(tests)

    # ----- accesses ---------------------------------------------------------------------------

    def offset(self):
        low = 0 if self.guard == "none" else -self.reach
        offset = [0] * self.ndim
        for _ in range(2 if self.chance(5) else 1):
            offset[self.number(0, self.ndim - 1)] = self.number(low, self.reach)
        return [min(c, 0) for c in offset] if self.guard == "wrapped" else offset

    def index(self, offset):
        middle = self.reach if self.guard == "shifted" else 0
        return ", ".join(shifted(n, c + middle) for n, c in zip(self.indices, offset, strict=True))

    def clamped_index(self, offset):
        pairs = [(shifted(n, c), c) for n, c in zip(self.indices, offset, strict=True)]
        ways = [f"wp.max({at}, 0)" if c < 0 else f"wp.min({at}, a.shape[{k}] - 1)" for k, (at, c) in enumerate(pairs)]
        return ", ".join(ways)

    def access(self):
        array, offset = self.pick("a", "a", "b"), self.offset()
        at = self.clamped_index(offset) if self.guard == "clamped" else self.index(offset)
        return f"{array}[{at}]" + (f"[{self.number(0, 2)}]" if self.vector else ""), offset

    def add_term(self):
        """Add a term up, under its own test where guards are such."""
        (x, at), (y, other) = self.access(), self.access()
        form = self.pick(
            f"{x} * {y}",
            f"wp.float64(1.5) * {x}",
            f"wp.sin({x}) * {y}",
            f"{x} / (wp.float64(2.0) + {y} * {y})",
            f"{x} + {y}",
        )
        if self.guard == "each":
            self.skip(self.inside([at, other]), f"s += wp.float64(0.7) * ({form})")
        else:
            self.write(f"s += wp.float64(0.7) * ({form})")

    def store(self):
        value = "wp.vec3d(s, wp.float64(0.5) * s, s * s)" if self.vector else "s"
        at = self.index([0] * self.ndim)
        self.write(self.pick(f"o[{at}] = {value}", f"o[{at}] = o[{at}] + {value}", f"wp.atomic_add(o, {at}, {value})"))
        if self.chance(3):
            self.write(f"p[{at}] = wp.float64(2.0) * {value}")


def shifted(name, distance):
    return f"{name} {'+' if distance > 0 else '-'} {abs(distance)}" if distance else name
