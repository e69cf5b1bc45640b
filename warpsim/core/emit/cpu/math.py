"""Mathematics on the CPU: one implementation of each function, for vector lanes and for single numbers.

Guarantees: a function of equal operands gives equal bits wherever it is called: in the vectorised part of a
loop over threads, in its rest, in code that LLVM does not vectorise, in the kernel and in its adjoint, which
decides by recomputed values what the kernel decided. So where libmvec, glibc's vector mathematics, has a
function, single numbers go through it too, and LLVM is not told what the functions mean: it would compute
some calls at compile time, and replace others, each in its own way.

libmvec's lanes do not depend on each other, and for single numbers it is about as fast as libm; but for `pow`,
which takes four times as long. Powers are treated so where they decide something (see `passes.decisions`);
others are libm's for single numbers, and those may differ from libmvec's in the last places.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from llvmlite import ir as ll

from ...ops.lanes import is_vector, lane, like, picked_lanes, suffix
from ...ops.values import llvm_type, pack, unpack
from ...types import scalars
from ..layout import BYTES
from ..native import native
from ..target import Target

# LLVM has these as instructions; everything else is a call into a library.
_INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "round"}

# What glibc's libmvec offers for eight floats or four doubles, with the number of operands; accurate to 4 units in
# the last place.
VECTOR_MATH = {"sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "exp": 1, "log": 1, "log2": 1}
VECTOR_MATH |= {"log10": 1, "pow": 2, "sinh": 1, "cosh": 1, "tanh": 1, "erf": 1, "erfc": 1, "cbrt": 1}

_PURE = ("nounwind", "willreturn", "memory(none)")


class CpuMath(Target):
    """What a target needs for mathematics on this processor; a module that is complete must be told what it keeps."""

    def math(self, name: str, t: type, parts: tuple[ll.Value, ...]) -> Any:
        b, t = self.builder, scalars.register_type(t)
        if t is scalars.float16:
            wide = tuple(b.fpext(x, like(ll.FloatType(), x)) for x in parts)
            return b.fptrunc(self.math(name, scalars.float32, wide), like(ll.HalfType(), parts[0]))
        if name in _INTRINSICS:
            kind = ll.FunctionType(parts[0].type, [x.type for x in parts])
            return b.call(self.external(f"llvm.{name}.{suffix(parts[0].type)}", kind), parts)
        kind = ll.FunctionType(llvm_type(t), [llvm_type(t)] * len(parts))
        symbol = name + ("f" if t is scalars.float32 else "")
        whole = self.vector_version(name, symbol, kind)
        alone = whole is None or (name == "pow" and not self.decides)
        if is_vector(parts[0]):
            return self.each_lane(name, t, parts) if alone else self.by_pieces(whole, parts)
        return b.call(self.by_library(symbol, kind, whole) if alone else self.by_lane(symbol, kind, whole), parts)

    def each_lane(self, name: str, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """A function of vectors, lane by lane."""
        b = self.builder
        lanes = [self.math(name, t, tuple(lane(b, x, k) for x in parts)) for k in range(parts[0].type.count)]
        return pack(b, lanes)

    def by_pieces(self, whole: ll.Function, parts: tuple[ll.Value, ...]) -> Any:
        """A function of vectors, as many lanes at a time as `whole` takes."""
        b, lanes, size = self.builder, parts[0].type.count, whole.function_type.return_type.count
        lanes_out: list[Any] = []
        for start in range(0, lanes, size):
            piece = b.call(whole, [picked_lanes(b, x, range(start, start + size)) for x in parts])
            lanes_out.extend(unpack(b, piece)[: lanes - start])
        return pack(b, lanes_out)

    def vector_version(self, name: str, symbol: str, kind: ll.FunctionType) -> Any:
        """The function of a vector in libmvec, or None."""
        if name not in VECTOR_MATH or not native.vector_math_library():
            return None
        lanes = 8 if symbol.endswith("f") and isinstance(kind.return_type, ll.FloatType) else 4
        vector_symbol = f"_ZGVdN{lanes}{'v' * len(kind.args)}_{symbol}"
        if not binding.address_of_symbol(vector_symbol):
            return None
        wide = ll.VectorType(kind.return_type, lanes)
        return _add_attributes(self.external(vector_symbol, ll.FunctionType(wide, [wide] * len(kind.args))), *_PURE)

    def by_library(self, symbol: str, kind: ll.FunctionType, whole: ll.Function | None) -> Any:
        """A function of libm; the vectoriser takes `whole` in its place, if LLVM may know what the function means."""
        one = _add_attributes(self.external(symbol, kind), *_PURE)
        return _add_attributes(one, "nobuiltin") if whole is None else _add_vector_variant(one, whole)

    def by_lane(self, symbol: str, kind: ll.FunctionType, whole: ll.Function) -> Any:
        """A function that takes one lane of `whole`; the vectoriser takes `whole` in its place."""
        name = f"warpsim_{symbol}"
        if name in self.builder.module.globals:
            return self.builder.module.globals[name]
        one = ll.Function(self.builder.module, kind, name)
        one.linkage = "linkonce_odr"  # an internal one would lose operands that are the same in all calls
        b = ll.IRBuilder(one.append_basic_block("entry"))
        answer = b.call(whole, [pack(b, [x] * whole.function_type.return_type.count) for x in one.args])
        b.ret(b.extract_element(answer, ll.Constant(ll.IntType(32), 0)))
        return _add_vector_variant(_add_attributes(one, *_PURE, "noinline"), whole)

    def list_kept(self) -> None:
        """List vector functions in llvm.compiler.used, so that they survive until the vectoriser wants them."""
        module = self.builder.module
        versions = [f for f in module.functions if f.name.startswith("_ZGV")]
        if not versions:
            return
        array = ll.ArrayType(BYTES, len(versions))
        used = ll.GlobalVariable(module, array, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = ll.Constant(array, [f.bitcast(BYTES) for f in versions])


def _add_attributes(fn: ll.Function, *attributes: str) -> Any:
    for attribute in attributes:
        set.add(fn.attributes, attribute)  # llvmlite's own list lacks the newer spellings
    return fn


def _add_vector_variant(one: ll.Function, whole: ll.Function) -> Any:
    """Tell the vectoriser of the vector version."""
    wide = whole.function_type
    mapping = f"_ZGV_LLVM_N{wide.return_type.count}{'v' * len(wide.args)}_{one.name}({whole.name})"
    return _add_attributes(one, f'"vector-function-abi-variant"="{mapping}"')
