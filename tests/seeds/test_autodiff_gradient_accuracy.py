"""The documents on gradients, "Measuring Gradient Accuracy": Jacobians, their pictures, and checks with tables.

Programs are those of the documents with only the import lines changed. Errors that the document prints are
those of its own differences, so here only the form of the table and the verdicts are compared.
"""

import matplotlib
import numpy as np
import pytest

import warpsim as wp
import warpsim.autograd


@wp.kernel
def my_kernel(
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec3),
    out1: wp.array(dtype=wp.vec2),
    out2: wp.array(dtype=wp.quat),
):
    tid = wp.tid()
    ai, bi = a[tid], b[tid]
    out1[tid] = wp.vec2(ai * wp.length(bi), -ai * wp.dot(bi, wp.vec3(0.1, 1.0, -0.1)))
    out2[tid] = wp.normalize(wp.quat(ai, bi[0], bi[1], bi[2]))


@pytest.fixture(autouse=True)
def _without_windows():
    before = matplotlib.get_backend()
    matplotlib.use("agg", force=True)
    yield
    matplotlib.use(before, force=True)


def arguments():
    a = wp.array([2.0, -1.0], dtype=wp.float32, requires_grad=True)
    b = wp.array([wp.vec3(3.0, 1.0, 2.0), wp.vec3(-4.0, -1.0, 0.0)], dtype=wp.vec3, requires_grad=True)
    out1 = wp.zeros(2, dtype=wp.vec2, requires_grad=True)
    out2 = wp.zeros(2, dtype=wp.quat, requires_grad=True)
    return a, b, out1, out2


def by_hand():
    """Jacobians of the kernel in the document's layout, elements outside, components inside."""
    a, b = [2.0, -1.0], np.array([[3.0, 1.0, 2.0], [-4.0, -1.0, 0.0]])
    w = np.array([0.1, 1.0, -0.1])
    found = {("a", "out1"): np.zeros((4, 2)), ("b", "out1"): np.zeros((4, 6))}
    found |= {("a", "out2"): np.zeros((8, 2)), ("b", "out2"): np.zeros((8, 6))}
    for t in range(2):
        length = np.linalg.norm(b[t])
        found["a", "out1"][2 * t : 2 * t + 2, t] = length, -b[t] @ w
        found["b", "out1"][2 * t : 2 * t + 2, 3 * t : 3 * t + 3] = a[t] * b[t] / length, -a[t] * w
        q = np.array([a[t], *b[t]])
        unit, size = q / np.linalg.norm(q), np.linalg.norm(q)
        slope = (np.eye(4) - np.outer(unit, unit)) / size
        found["a", "out2"][4 * t : 4 * t + 4, t] = slope[:, 0]
        found["b", "out2"][4 * t : 4 * t + 4, 3 * t : 3 * t + 3] = slope[:, 1:]
    return found


def test_jacobian_with_a_picture():
    a, b, out1, out2 = arguments()

    # compute the Jacobian matrices for all input/output pairs of the kernel using the autodiff engine
    jacs = wp.autograd.jacobian(my_kernel, dim=len(a), inputs=[a, b], outputs=[out1, out2], plot_jacobians=True)

    expected = by_hand()
    assert set(jacs.names.values()) == set(expected)
    for pair, matrix in expected.items():
        np.testing.assert_allclose(jacs[pair].numpy(), matrix, rtol=1e-5, atol=1e-6, err_msg=str(pair))


def test_jacobian_by_differences():
    a, b, out1, out2 = arguments()
    jacs = wp.autograd.jacobian_fd(my_kernel, dim=len(a), inputs=[a, b], outputs=[out1, out2])
    for pair, matrix in by_hand().items():
        np.testing.assert_allclose(jacs[pair].numpy(), matrix, rtol=2e-2, atol=2e-3, err_msg=str(pair))


def test_gradcheck_with_its_table(capsys):
    a, b, out1, out2 = arguments()

    passed = wp.autograd.gradcheck(
        my_kernel,
        dim=len(a),
        inputs=[a, b],
        outputs=[out1, out2],
        plot_relative_error=False,
        plot_absolute_error=False,
        raise_exception=False,
        show_summary=True,
    )

    assert passed
    text = capsys.readouterr().out
    for heading in ("Input", "Output", "Max Abs Error", "Max Rel Error", "Pass"):
        assert heading in text
    rows = [line.replace("|", " ") for line in text.splitlines() if "PASS" in line]
    assert [tuple(row.split()[:2]) for row in rows] == [("a", "out1"), ("a", "out2"), ("b", "out1"), ("b", "out2")]
    assert "Gradient check for kernel my_kernel passed" in text


def test_chosen_pairs_and_rows():
    a, b, out1, out2 = arguments()

    jacs = wp.autograd.jacobian(
        my_kernel,
        dim=len(a),
        inputs=[a, b],
        outputs=[out1, out2],
        plot_jacobians=True,
        # select which input/output pairs to compute the Jacobian for
        input_output_mask=[("a", "out1"), ("b", "out2")],
        # limit the number of dimensions to query per output array
        max_outputs_per_var=5,
    )

    expected = by_hand()
    assert set(jacs) == {(0, 0), (1, 1)} and set(jacs.names.values()) == {("a", "out1"), ("b", "out2")}
    np.testing.assert_allclose(jacs["a", "out1"].numpy(), expected["a", "out1"], rtol=1e-5, atol=1e-6)
    found = jacs["b", "out2"].numpy()
    np.testing.assert_allclose(found[:5], expected["b", "out2"][:5], rtol=1e-5, atol=1e-6)
    assert np.isnan(found[5:]).all(), "what was not evaluated is NaN"


@wp.kernel
def my_kernel_1(
    a: wp.array(dtype=float), b: wp.array(dtype=wp.vec3), out1: wp.array(dtype=wp.vec2), c: wp.array(dtype=float)
):
    tid = wp.tid()
    out1[tid] = wp.vec2(a[tid] * b[tid][0], wp.sin(a[tid]))
    c[tid] = wp.length(b[tid]) * a[tid]


@wp.kernel
def my_kernel_2(c: wp.array(dtype=float), out2: wp.array(dtype=wp.quat)):
    tid = wp.tid()
    out2[tid] = wp.normalize(wp.quat(c[tid], 1.0, 2.0, 3.0))


def test_gradcheck_of_a_tape(capsys):
    a, b, out1, out2 = arguments()
    c = wp.zeros(2, dtype=float, requires_grad=True)

    tape = wp.Tape()
    with tape:
        wp.launch(my_kernel_1, dim=len(a), inputs=[a, b], outputs=[out1, c])
        wp.launch(my_kernel_2, dim=len(c), inputs=[c], outputs=[out2])

    passed = wp.autograd.gradcheck_tape(tape, raise_exception=False, show_summary=True)

    assert passed
    text = capsys.readouterr().out
    assert "my_kernel_1" in text and "my_kernel_2" in text
    assert text.count("PASS") == 5, "a and b to out1 and c, c to out2"
