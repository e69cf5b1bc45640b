"""What built-in functions, operators and conversions give at the ends of their types: a table to check a port against."""

import numpy as np

import warp as wp

wp.init()
FLOATS = (wp.float16, wp.float32, wp.float64)
INTEGERS = (wp.int8, wp.uint16, wp.int32, wp.uint64)
UNARY = ("acos", "asin", "atan", "cbrt", "ceil", "cos", "erf", "erfc", "exp", "floor", "frac", "log", "log10", "log2")
UNARY += ("rint", "round", "sign", "sin", "sinh", "sqrt", "tanh", "trunc", "abs", "neg", "step", "nonzero", "erfinv")
UNARY += ("erfcinv",)
BINARY = ("add", "sub", "mul", "div", "floordiv", "mod", "pow", "atan2", "copysign", "min", "max")
BITS = ("bit_and", "bit_or", "bit_xor", "lshift", "rshift", "add", "sub", "mul", "div", "floordiv", "mod", "min", "max")


def floats(dtype):
    ends = np.finfo(wp.dtype_to_numpy(dtype))
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 7.25, np.inf, -np.inf, np.nan, ends.max, ends.tiny]
    return np.array(values).astype(wp.dtype_to_numpy(dtype))


def integers(dtype):
    ends = np.iinfo(wp.dtype_to_numpy(dtype))
    values = [0, 1, 2, 7, 9, 17, ends.max, ends.max - 1, ends.min]
    return np.array(values, dtype=wp.dtype_to_numpy(dtype))


def conversion(source, target):
    @wp.kernel(module="unique", enable_backward=False)
    def evaluate(x: wp.array(dtype=source), out: wp.array(dtype=target)):
        i = wp.tid()
        out[i] = target(x[i])

    return evaluate


def mapped(name, *arguments):
    """A built-in function of arrays, element by element."""
    return wp.map(getattr(wp, name), *map(wp.array, arguments)).numpy()


def converted(x, source, target):
    out = wp.zeros(len(x), dtype=target)
    wp.launch(conversion(source, target), dim=len(x), inputs=[wp.array(x, dtype=source)], outputs=[out])
    return out.numpy()


def show(title, values):
    print(title, " ".join(f"{x:.6g}" if values.dtype.kind == "f" else str(int(x)) for x in values))


for dtype in FLOATS:
    x = floats(dtype)
    for name in UNARY:
        show(f"{name} {dtype.__name__}:", mapped(name, x))
    a, b = (side.ravel() for side in np.meshgrid(x, x[::2] if dtype == wp.float32 else x[1::6]))
    for name in BINARY:
        show(f"{name} {dtype.__name__}:", mapped(name, a, b))

for dtype in INTEGERS:
    a, b = (side.ravel() for side in np.meshgrid(integers(dtype), integers(dtype)))
    for name in BITS:
        fine = (b >= 0) & (b < (64 if a.itemsize == 8 else 32)) if name in ("lshift", "rshift") else b == b
        fine = b > 0 if name in ("div", "floordiv", "mod") else fine  # nor the smallest number by -1
        show(f"{name} {dtype.__name__}:", mapped(name, a[fine], b[fine]))

for source in FLOATS + INTEGERS:
    x = floats(source) if source in FLOATS else integers(source)
    for target in FLOATS + INTEGERS:
        if source in FLOATS and target in INTEGERS:  # others are undefined in C++
            ends = np.iinfo(wp.dtype_to_numpy(target))
            y = x[np.isfinite(x)]
            y = y[(y > float(max(ends.min, -(2**53))) - 1) & (y < float(min(ends.max, 2**53)))]
        else:
            y = x
        show(f"{source.__name__} to {target.__name__}:", converted(y, source, target))
