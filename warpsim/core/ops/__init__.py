"""Operations: the table of rows (floor 3). `seal` refuses a row without a derivative or a reason."""

from .arith import add, div, floordiv, mod, mul, neg, pos, sub
from .choice import cast, clamp, max, min, stop_gradient, where
from .construct import extract, insert
from .constructors import identity, matrix, matrix_from_cols, matrix_from_rows, quaternion, transform_expand
from .constructors import transformation, vector
from .debug import assert_, breakpoint_, expect_eq, expect_near, expect_neq, printf
from .finite import isfinite, isinf, isnan
from .handles import resolve
from .logic import bit_and, bit_count, bit_or, bit_xor, invert, lshift, mask_at_most, rshift, unot
from .math import abs, acos, asin, atan, atan2, cbrt, ceil, copysign, cos, cosh, degrees, erf, erfc, exp, floor, frac
from .math import lerp, log, log2, log10, nonzero, pow, radians, rint, round, sign, sin, sinh, smoothstep, sqrt, step
from .math import tan, tanh, trunc
from .matrices import determinant, diag, get_diag, inverse, outer, skew, trace, transpose
from .memory import atomic_add, atomic_and, atomic_cas, atomic_exch, atomic_max, atomic_min, atomic_or, atomic_sub
from .memory import atomic_xor, load, store, view
from .registry import TABLE, Op, op, seal
from .reinterpret import reinterpret
from .rotations import rotate
from .threads import block_dim, tid
from .vectors import argmax, argmin, cross, cw_div, cw_mul, ddot, dot, greater, length, length_sq, lesser, norm_huber
from .vectors import norm_l1, norm_l2, norm_pseudo_huber, normalize, smooth_normalize

seal()

__all__ = [
    "TABLE", "Op", "abs", "acos", "add", "argmax", "argmin", "asin", "assert_", "atan", "atan2", "atomic_add",
    "atomic_and", "atomic_cas", "atomic_exch", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor",
    "bit_and", "bit_count", "bit_or", "bit_xor", "block_dim", "breakpoint_", "cast", "cbrt", "ceil", "clamp",
    "copysign", "cos", "cosh", "cross", "cw_div", "cw_mul", "ddot", "degrees", "determinant", "diag", "div", "dot",
    "erf", "erfc", "exp", "expect_eq", "expect_near", "expect_neq", "extract", "floor", "floordiv", "frac",
    "get_diag", "greater", "identity", "insert", "inverse", "invert", "isfinite", "isinf", "isnan", "length",
    "length_sq", "lerp", "lesser",
    "load", "log", "log2", "log10", "lshift", "mask_at_most", "matrix", "matrix_from_cols", "matrix_from_rows", "max",
    "min", "mod", "mul", "neg", "nonzero", "norm_huber", "norm_l1", "norm_l2", "norm_pseudo_huber", "normalize", "op",
    "outer", "pos", "pow", "printf", "quaternion", "radians", "reinterpret", "resolve",
    "rint", "rotate", "round", "rshift", "sign",
    "sin", "sinh", "skew", "smooth_normalize", "smoothstep", "sqrt", "step", "stop_gradient", "store", "sub", "tan",
    "tanh", "tid", "trace", "transform_expand", "transformation", "transpose", "trunc", "unot", "vector", "view",
    "where",
]  # fmt: skip
