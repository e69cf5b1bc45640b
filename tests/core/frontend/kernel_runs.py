"""Runs a kernel on the interpreter, on the current device, and as plain Python; all must leave the same in memory."""

import itertools
import textwrap
from pathlib import Path

import kernel_text
import numpy as np
import pytest

import warpsim as wp
from warpsim.core.ir.nodes import walk
from warpsim.core.types.arrays import ArrayType
from warpsim.errors import KernelError


def ran(kernel, dim, *args, verify=False):
    """What the array arguments hold after a launch, equal on the interpreter and the current device.

    One array alone is not wrapped in a list.
    """
    wp.config.verify = verify
    found = []
    for device in ("interp", None):
        ready = [prepared(a, t, device) for a, t in zip(args, kernel.patterns.values(), strict=True)]
        wp.launch(kernel, dim=dim, inputs=ready, device=device)
        found.append([a.numpy() for a in ready if isinstance(a, wp.array)])
    for interpreted, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(interpreted, compiled)
    return found[0] if len(found[0]) != 1 else found[0][0]


def prepared(argument, t, device):
    """A fresh array for every launch; anything else as it is."""
    if not isinstance(t, ArrayType) or not isinstance(argument, np.ndarray):
        return argument
    known = isinstance(t.dtype, type)
    return wp.array(argument, dtype=t.dtype if known else argument.dtype.type, device=device)


def filled(kernel, n, *args, threads=None, dtype=np.float32, **options):
    """The first parameter as an array of `n` zeros, after one thread per element (or `threads`)."""
    result = ran(kernel, n if threads is None else threads, np.zeros(n, dtype), *args, **options)
    return (result[0] if isinstance(result, list) else result).tolist()


def as_python(kernel, dim, *args):
    """What NumPy arrays hold after the kernel's function ran as ordinary Python, thread by thread."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    extents = (dim,) if isinstance(dim, int) else dim
    with pytest.MonkeyPatch.context() as patch:
        for thread in itertools.product(*map(range, extents)):
            index = thread[0] if len(thread) == 1 else thread
            patch.setattr(wp, "tid", lambda index=index: index)
            kernel.function(*copies)
    return [a for a in copies if isinstance(a, np.ndarray)]


def like_python(kernel, dim, *args, **options):
    """`ran`, and equal to what ordinary Python does with NumPy arrays."""
    want = as_python(kernel, dim, *args)
    got = ran(kernel, dim, *args, **options)
    for a, b in zip(want, got if isinstance(got, list) else [got], strict=True):
        np.testing.assert_array_equal(a, b)
    return got


def module(text, **names):
    """The globals of kernel text that Python compiled under a name of its own, `<kernels N>`."""
    return kernel_text.module(textwrap.dedent(text).strip("\n") + "\n", {"wp": wp, "np": np, **names})


def refusal(kernel, *args, dim=1):
    """The error that a kernel's first launch raises while it is translated."""
    with pytest.raises(KernelError) as caught:
        wp.launch(kernel, dim=dim, inputs=list(args))
    return caught.value


def refused(body, parameters="out: wp.array(dtype=float)", before="", **names):
    """The error of a kernel made of a body, launched over zeros for its arrays."""
    inner = textwrap.indent(textwrap.dedent(body), "    ")
    kernel = module(f"{before}\n@wp.kernel\ndef k({parameters}):\n{inner}", **names)["k"]
    args = [zeros_of(t) for t in kernel.patterns.values()]
    return refusal(kernel, *args)


def zeros_of(t):
    return wp.zeros((4,) * t.ndim, dtype=t.dtype) if isinstance(t, ArrayType) else t()


def text_of(error):
    """A message without the number that `module` gave its file, and without this folder."""
    folder = str(Path(__file__).parent)
    return str(error).replace(folder, "").replace("\\", "/")


def nodes_of(kernel, kind):
    """The nodes of a kind in the final program of a kernel."""
    program = kernel.program(tuple(kernel.patterns.values()))
    return [n for n in walk(program.fn.body) if isinstance(n, kind)]
