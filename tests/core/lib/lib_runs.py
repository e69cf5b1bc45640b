"""Functions of the library over stacks of arguments."""

import numpy as np

import warpsim as wp


def launch(kernel, dtypes, device, *arrays):
    """Run over stacks of inputs; `dtypes` are those of the inputs, then of the results."""
    inputs = [wp.array(a, dtype=t, device=device) for a, t in zip(arrays, dtypes, strict=False)]
    outputs = [wp.zeros(len(arrays[0]), dtype=t, device=device) for t in dtypes[len(arrays) :]]
    wp.launch(kernel, dim=len(arrays[0]), inputs=[*inputs, *outputs], device=device)
    found = [o.numpy().astype(np.float64) for o in outputs]
    return found[0] if len(found) == 1 else found


def mapped(function, *dtypes):
    """A kernel that applies a function of up to three arguments; the last type is the result's."""
    if len(dtypes) == 2:

        @wp.kernel
        def one(x: wp.array(dtype=dtypes[0]), out: wp.array(dtype=dtypes[1])):
            i = wp.tid()
            out[i] = function(x[i])

        return one
    if len(dtypes) == 3:

        @wp.kernel
        def two(
            x: wp.array(dtype=dtypes[0]),
            y: wp.array(dtype=dtypes[1]),
            out: wp.array(dtype=dtypes[2]),
        ):
            i = wp.tid()
            out[i] = function(x[i], y[i])

        return two

    @wp.kernel
    def three(
        x: wp.array(dtype=dtypes[0]),
        y: wp.array(dtype=dtypes[1]),
        z: wp.array(dtype=dtypes[2]),
        out: wp.array(dtype=dtypes[3]),
    ):
        i = wp.tid()
        out[i] = function(x[i], y[i], z[i])

    return three


def apply(function, dtypes, device, *arrays):
    return launch(mapped(function, *dtypes), dtypes, device, *arrays)
