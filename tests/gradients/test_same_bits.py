"""A replay computes the bits that the launch computed: it takes the same branches, rounds and winners.

Every row of the op table on floats, and random expressions, for numbers of threads that a loop over vectors
covers in one step, in its rest, or in both; with fast mathematics too.
"""

import numpy as np
import pytest
from bit_kernels import disagreements, expressions, kernel, largest

import warpsim as wp
from warpsim.core.ops.registry import TABLE
from warpsim.core.types.signatures import Element, Float, Scalar

THREADS = (1, 7, 600, 5000)
TOGETHER = 13  # rows in a kernel
_NUMBERS = (Element, Float, Scalar)


def scalar_rows():
    """Rows from floats to a float, by number of operands and where they are defined."""
    found = {}
    for name, entry in TABLE.items():
        for row in entry.rows:
            floats = row.rule is None and row.returns in _NUMBERS and all(p.annotation in _NUMBERS for p in row.params)
            if floats and hasattr(wp, name):
                found[name] = row
    return found


def call_of(row):
    operands = ("a", "b", "T(0.5) * (a + b)")[: len(row.params)]
    low, high = row.domain
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    inside = (f"(T({middle!r}) + T({0.5 * half!r}) * ({o}))" for o in operands)  # a and b lie in [-2, 2]
    return f"wp.{row.name}({', '.join(inside)})"


ROWS = [call_of(row) for row in scalar_rows().values()]
COMPOUNDS = [
    "wp.dot(wp.normalize(V(a, b, T(0.5))), V(b, a, a))",
    "wp.length(wp.cross(V(a, b, a), V(T(0.3), a, b)))",
    "wp.determinant(M(a, b, T(0.2), T(0.1), a, b, b, T(0.7), a))",
    "wp.trace(wp.inverse(M(a, b, T(9.0), T(8.0), a, b, b, T(7.0), a)))",
    "wp.quat_rotate(wp.quat_from_axis_angle(V(T(0.0), T(0.6), T(0.8)), a), V(a, b, b))[0]",
    "wp.norm_huber(V(a, b, a * b), T(0.5))",
    "(M(a, b, a, b, a, b, b, b, a) * V(a, b, a))[1]",
    "wp.ddot(wp.outer(V(a, b, a), V(b, b, a)), wp.skew(V(a, a, b)))",
]
COMPOUNDS = [
    c.replace("V(", "wp.types.vector(length=3, dtype=T)(").replace("M(", "wp.types.matrix(shape=(3, 3), dtype=T)(")
    for c in COMPOUNDS
]


def test_every_row_from_floats_to_a_float_is_tried():
    assert {"sin", "pow", "tanh", "erfc", "mod", "lerp", "copysign", "add", "div"} <= set(scalar_rows())
    assert len(ROWS) > 45


@pytest.mark.parametrize(("t", "fast"), [("f32", False), ("f64", False), ("f32", True)])
@pytest.mark.parametrize("first", range(0, len(ROWS) + len(COMPOUNDS), TOGETHER))
def test_rows_give_the_same_bits_in_the_adjoint(first, t, fast):
    chosen = (ROWS + COMPOUNDS)[first : first + TOGETHER]
    by = "branch" if fast else "choice"
    made = kernel(chosen, by, t, fast)
    for n in THREADS:
        assert disagreements(made, len(chosen), n, t) == (0, 0), (n, chosen)


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("seed", "t", "by"), [(0, "f32", "loop"), (1, "f64", "branch"), (2, "f16", "choice"), (3, "f32", "choice")]
)
def test_random_expressions_decide_in_the_adjoint_as_in_the_launch(seed, t, by, fast):
    chosen = expressions(seed)
    made = kernel(chosen, by, t, fast)
    for n in THREADS:
        assert disagreements(made, len(chosen), n, t, seed=seed) == (0, 0), (n, chosen)


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize(
    ("t", "text"),
    [
        ("f32", "wp.sin(a) * wp.exp(b)"),
        ("f32", "wp.cos(a) + wp.tanh(b)"),
        ("f32", "a * b + wp.atan2(a, b)"),
        ("f32", "(wp.abs(a) + 0.1) ** wp.sin(b)"),
        ("f64", "wp.sin(a) - wp.erf(b)"),
        ("f64", "wp.exp(a) * wp.cos(b)"),
    ],
)
def test_one_thread_takes_the_gradient_of_the_largest_value(t, text, fast):
    made = kernel([text], "peak", t, fast)
    for n in THREADS:
        for seed in range(5):
            peak, dx, dy = largest(made, n, t, seed=seed)
            winner = np.flatnonzero(dx)
            assert len(winner) == 1 and np.array_equal(winner, np.flatnonzero(dy)), (n, winner)
            alone, dx_alone, dy_alone = largest(made, n, t, int(winner[0]), seed)
            assert (alone, dx_alone[0]) == (peak, dx[winner[0]]) or fast
            assert np.allclose([alone, dx_alone[0], dy_alone[0]], [peak, dx[winner[0]], dy[winner[0]]], rtol=1e-5)


@wp.kernel
def lowest(x: wp.array(dtype=float), low: wp.array(dtype=float)):
    wp.atomic_min(low, 0, x[wp.tid()])


@pytest.mark.parametrize("n", THREADS)
def test_of_equal_values_one_takes_the_whole_gradient(n, device):
    if device == "interp":
        n = min(n, 7)  # threads run one after the other in Python
    x = wp.full(n, 0.25, dtype=float, requires_grad=True)
    low = wp.full(1, 1.0, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(lowest, n, [x, low])
    tape.backward(low)
    assert sorted(x.grad.numpy().tolist())[-1:] == [1.0] and x.grad.numpy().sum() == 1.0
    assert low.grad.numpy()[0] == 0.0
