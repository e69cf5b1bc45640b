"""The documents on gradients, "Custom Native Functions": bodies as C++ text.

Programs are those of the documents with only the import line changed (and, in `saxpy`, one name that the
document never defines).
"""

from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NativeCodeError


def test_reduction_in_shared_memory_needs_a_gpu():
    """The document says so; here it is an error that shows what the compiler found."""
    snippet = """
    __shared__ int sum[128];

    sum[tid] = arr[tid];
    __syncthreads();

    for (int stride = 64; stride > 0; stride >>= 1) {
        if (tid < stride) {
            sum[tid] += sum[tid + stride];
        }
        __syncthreads();
    }

    if (tid == 0) {
        out[0] = sum[0];
    }
    """

    @wp.func_native(snippet)
    def reduce(arr: wp.array(dtype=int), out: wp.array(dtype=int), tid: int): ...

    @wp.kernel
    def reduce_kernel(arr: wp.array(dtype=int), out: wp.array(dtype=int)):
        tid = wp.tid()
        reduce(arr, out, tid)

    N = 128
    x = wp.array(np.arange(N, dtype=int), dtype=int)
    out = wp.zeros(1, dtype=int)

    with pytest.raises(NativeCodeError, match=r"__shared__|__syncthreads"):
        wp.launch(kernel=reduce_kernel, dim=N, inputs=[x, out])


def test_pure_cpp_in_its_place():
    snippet = """
    if (tid == 0) {
        int sum = 0;
        for (int i = 0; i < 128; ++i) sum += arr[i];
        out[0] = sum;
    }
    """

    @wp.func_native(snippet)
    def reduce(arr: wp.array(dtype=int), out: wp.array(dtype=int), tid: int): ...

    @wp.kernel
    def reduce_kernel(arr: wp.array(dtype=int), out: wp.array(dtype=int)):
        tid = wp.tid()
        reduce(arr, out, tid)

    out = wp.zeros(1, dtype=int)
    wp.launch(kernel=reduce_kernel, dim=128, inputs=[wp.array(np.arange(128), dtype=int), out])
    assert out.list() == [128 * 127 // 2]


def test_adjoint_snippet():
    snippet = """
    out[tid] = a * x[tid] + y[tid];
    """
    adj_snippet = """
    adj_a += x[tid] * adj_out[tid];
    adj_x[tid] += a * adj_out[tid];
    adj_y[tid] += adj_out[tid];
    """

    @wp.func_native(snippet, adj_snippet)
    def saxpy(
        a: wp.float32,
        x: wp.array(dtype=wp.float32),
        y: wp.array(dtype=wp.float32),
        out: wp.array(dtype=wp.float32),
        tid: int,
    ): ...

    @wp.kernel
    def saxpy_kernel(
        a: wp.float32, x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)
    ):
        tid = wp.tid()
        saxpy(a, x, y, out, tid)

    N = 128
    a = 2.0
    x = wp.array(np.arange(N, dtype=np.float32), dtype=wp.float32, requires_grad=True)
    y = wp.zeros_like(x)
    out = wp.array(np.arange(N, dtype=np.float32), dtype=wp.float32)
    adj_out = wp.array(np.ones(N, dtype=np.float32), dtype=wp.float32)

    tape = wp.Tape()
    with tape:
        wp.launch(kernel=saxpy_kernel, dim=N, inputs=[a, x, y], outputs=[out])

    tape.backward(grads={out: adj_out})

    np.testing.assert_array_equal(out.numpy(), 2.0 * np.arange(N, dtype=np.float32))
    np.testing.assert_array_equal(x.grad.numpy(), np.full(N, 2.0, np.float32))
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(N, np.float32))


def test_custom_replay_grad():
    num_threads = 8
    counter = wp.zeros(1, dtype=wp.int32)
    thread_values = wp.zeros(num_threads, dtype=wp.int32)
    inputs = wp.array(np.arange(num_threads, dtype=np.float32), requires_grad=True)
    outputs = wp.zeros_like(inputs)

    snippet = """
    int next_index = atomicAdd(counter, 1);
    thread_values[tid] = next_index;
    """
    replay_snippet = ""

    @wp.func_native(snippet, replay_snippet=replay_snippet)
    def reversible_increment(counter: wp.array(dtype=int), thread_values: wp.array(dtype=int), tid: int): ...

    @wp.kernel
    def run_atomic_add(
        input: wp.array(dtype=float),
        counter: wp.array(dtype=int),
        thread_values: wp.array(dtype=int),
        output: wp.array(dtype=float),
    ):
        tid = wp.tid()
        reversible_increment(counter, thread_values, tid)
        idx = thread_values[tid]
        output[idx] = input[idx] ** 2.0

    tape = wp.Tape()
    with tape:
        wp.launch(run_atomic_add, dim=num_threads, inputs=[inputs, counter, thread_values], outputs=[outputs])

    tape.backward(grads={outputs: wp.array(np.ones(num_threads, dtype=np.float32))})

    np.testing.assert_allclose(outputs.numpy(), np.arange(num_threads) ** 2.0, rtol=1e-6)
    np.testing.assert_allclose(inputs.grad.numpy(), 2.0 * np.arange(num_threads), rtol=1e-6)
    assert counter.list() == [num_threads], "backward counts nothing again"


def test_return_value():
    snippet = """
    float sq = x * x;
    return sq;
    """
    adj_snippet = """
    adj_x += 2.f * x * adj_ret;
    """

    @wp.func_native(snippet, adj_snippet)
    def square(x: float) -> float: ...

    @wp.kernel
    def square_kernel(input: wp.array(dtype=Any), output: wp.array(dtype=Any)):
        tid = wp.tid()
        x = input[tid]
        output[tid] = square(x)

    N = 5
    x = wp.array(np.arange(N, dtype=float), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)

    tape = wp.Tape()
    with tape:
        wp.launch(kernel=square_kernel, dim=N, inputs=[x, y])

    tape.backward(grads={y: wp.ones(N, dtype=float)})

    assert str(y) == "[ 0.  1.  4.  9. 16.]"
    assert str(x.grad) == "[0. 2. 4. 6. 8.]"
