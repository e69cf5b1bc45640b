"""Gradients through linear solves: the implicit function theorem against finite differences, or an error."""

import numpy as np
import pytest
import scipy.sparse as sparse

import warpsim as wp
from warpsim.errors import NotConvergedError, NotDifferentiableError, TapeOverwriteError
from warpsim.optim.linear import CsrMatrix, LinearOperator, bicgstab, cg, cr, gmres, preconditioner

METHODS = {"cg": cg, "cr": cr, "bicgstab": bicgstab, "gmres": gmres}


@wp.kernel
def _loss(x: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, c[i] * x[i] * x[i])


def system(n=7, symmetric=True):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((n, n))
    matrix = matrix @ matrix.T + n * np.eye(n) if symmetric else matrix + 2.0 * n * np.eye(n)
    return matrix, rng.standard_normal(n), rng.standard_normal(n)


def exact_gradients(matrix, b, c):
    """Of sum c x^2 with A x = b, by hand: in A, not held symmetric, and in b."""
    x = np.linalg.solve(matrix, b)
    w = np.linalg.solve(matrix.T, 2.0 * c * x)
    return -np.outer(w, x), w


def differences(f, at, h=1e-6):
    """Central differences of a scalar function of an array."""
    found = np.zeros(at.shape)
    for k in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[k] += h
        down[k] -= h
        found[k] = (f(up) - f(down)) / (2.0 * h)
    return found


def array(values, **options):
    return wp.array(values, dtype=wp.float64, requires_grad=True, **options)


def solved(method, A, b, c, **options):
    """The loss after a solve on a tape, and the tape."""
    x, loss = wp.zeros_like(b, requires_grad=True), array([0.0])
    with wp.Tape() as tape:
        method(A, b, x, **options)
        wp.launch(_loss, dim=x.size, inputs=[x, c], outputs=[loss])
    return tape, loss, x


def test_the_formula_agrees_with_finite_differences():
    matrix, b, c = system(symmetric=False)
    by_hand = exact_gradients(matrix, b, c)
    of_A = differences(lambda m: float((c * np.linalg.solve(m, b) ** 2).sum()), matrix)
    of_b = differences(lambda r: float((c * np.linalg.solve(matrix, r) ** 2).sum()), b)
    np.testing.assert_allclose(by_hand[0], of_A, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(by_hand[1], of_b, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("with_M", [False, True])
def test_dense(name, with_M):
    matrix, b, c = system(symmetric=name in ("cg", "cr"))
    A, right = array(matrix), array(b)
    tape, loss, _ = solved(METHODS[name], A, right, wp.array(c), M=preconditioner(A) if with_M else None)
    tape.backward(loss)
    of_A, of_b = exact_gradients(matrix, b, c)
    np.testing.assert_allclose(A.grad.numpy(), of_A, rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(right.grad.numpy(), of_b, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_sparse_gradients_stand_on_the_pattern(name):
    matrix, b, c = system(symmetric=name in ("cg", "cr"))
    matrix[np.abs(np.subtract.outer(np.arange(7), np.arange(7))) > 2] = 0.0
    A, right = CsrMatrix.from_scipy(sparse.csr_matrix(matrix), requires_grad=True), array(b)
    tape, loss, _ = solved(METHODS[name], A, right, wp.array(c))
    tape.backward(loss)
    of_A, of_b = exact_gradients(matrix, b, c)
    np.testing.assert_allclose(A.values.grad.numpy(), of_A[matrix != 0.0], rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(right.grad.numpy(), of_b, rtol=1e-7, atol=1e-11)


@wp.kernel
def _springs(
    k: wp.array(dtype=wp.float64),
    x: wp.array(dtype=wp.float64),
    y: wp.array(dtype=wp.float64),
    z: wp.array(dtype=wp.float64),
    a: wp.float64,
    b: wp.float64,
):
    """A chain of springs between walls: spring i joins the masses i - 1 and i."""
    i = wp.tid()
    force = (k[i] + k[i + 1]) * x[i]
    if i > 0:
        force = force - k[i] * x[i - 1]
    if i < x.shape[0] - 1:
        force = force - k[i + 1] * x[i + 1]
    z[i] = a * force
    if b != wp.float64(0.0):
        z[i] = z[i] + b * y[i]


def chain(k, **options):
    def matvec(x, y, z, alpha, beta):
        wp.launch(_springs, dim=x.size, inputs=[k, x, y, z, alpha, beta])

    n = k.size - 1
    return LinearOperator((n, n), wp.float64, None, matvec, **options)


def stiffness(k):
    return np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)


@pytest.mark.parametrize("name", METHODS)
def test_gradients_reach_what_an_operator_is_made_of(name):
    _, b, c = system()
    stiff = np.linspace(1.0, 2.0, 8)
    k, right = array(stiff), array(b)
    operator = chain(k)
    operator.adjoint = operator.matvec  # symmetric, for the methods that do not know it
    tape, loss, _ = solved(METHODS[name], operator, right, wp.array(c))
    tape.backward(loss)

    def value(values):
        return float((c * np.linalg.solve(stiffness(values), b) ** 2).sum())

    np.testing.assert_allclose(k.grad.numpy(), differences(value, stiff), rtol=1e-6)
    np.testing.assert_allclose(right.grad.numpy(), exact_gradients(stiffness(stiff), b, c)[1], rtol=1e-7)


@wp.kernel
def _load(x: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    b[i] = wp.sin(x[i]) + wp.float64(1.0)


def test_implicit_steps_that_reuse_their_arrays():
    """x is first guess and solution of every step, b is overwritten: five steps of A x' = sin(x) + 1."""
    matrix, start, c = system()

    def forward(A, x0):
        x = x0.copy()
        for _ in range(5):
            x = np.linalg.solve(A, np.sin(x) + 1.0)
        return float((c * x * x).sum())

    A, x, b, loss = array(matrix), array(start), array(np.zeros(7)), array([0.0])
    with wp.Tape() as tape:
        for _ in range(5):
            wp.launch(_load, dim=7, inputs=[x], outputs=[b])
            gmres(A, b, x)
        wp.launch(_loss, dim=7, inputs=[x, wp.array(c)], outputs=[loss])
    assert loss.numpy()[0] == pytest.approx(forward(matrix, start), rel=1e-9)
    tape.backward(loss)
    np.testing.assert_allclose(A.grad.numpy(), differences(lambda m: forward(m, start), matrix), rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(x.grad.numpy(), differences(lambda s: forward(matrix, s), start), rtol=1e-4, atol=1e-10)


def test_a_matrix_that_is_overwritten_later():
    """The tape keeps A as it was at the solve."""
    matrix, b, c = system()
    A, right, other = array(matrix), array(b), array(np.zeros((7, 7)))
    x, loss = wp.zeros_like(right, requires_grad=True), array([0.0])
    with wp.Tape() as tape:
        bicgstab(A, right, x)
        wp.copy(A, other)
        wp.launch(_loss, dim=7, inputs=[x, wp.array(c)], outputs=[loss])
    tape.backward(loss)
    np.testing.assert_allclose(right.grad.numpy(), exact_gradients(matrix, b, c)[1], rtol=1e-7)


def test_what_an_operator_launches_with_may_be_overwritten_later():
    _, b, c = system()
    stiff = np.linspace(1.0, 2.0, 8)
    k, right, x, loss = array(stiff), array(b), array(np.zeros(7)), array([0.0])
    with wp.Tape() as tape:
        cg(chain(k), right, x)
        k.fill_(9.0)
        wp.launch(_loss, dim=7, inputs=[x, wp.array(c)], outputs=[loss])
    tape.backward(loss)
    np.testing.assert_allclose(right.grad.numpy(), exact_gradients(stiffness(stiff), b, c)[1], rtol=1e-7)
    np.testing.assert_allclose(
        k.grad.numpy(),
        differences(lambda values: float((c * np.linalg.solve(stiffness(values), b) ** 2).sum()), stiff),
        rtol=1e-6,
    )


@pytest.mark.cpu
def test_a_matrix_that_numpy_changes_is_noticed():
    matrix, b, c = system()
    A = array(matrix)
    tape, loss, _ = solved(cg, A, array(b), wp.array(c))
    A.numpy()[0, 0] += 1.0
    with pytest.raises(TapeOverwriteError, match="was changed after it was recorded"):
        tape.backward(loss)


def test_nested_tapes_both_see_the_solve():
    matrix, b, c = system()
    right, x, loss = array(b), array(np.zeros(7)), array([0.0])
    with wp.Tape() as outer:
        with wp.Tape() as inner:
            cg(wp.array(matrix), right, x)
            wp.launch(_loss, dim=7, inputs=[x, wp.array(c)], outputs=[loss])
    for tape in (outer, inner):
        right.grad.zero_()
        tape.backward(loss)
        np.testing.assert_allclose(right.grad.numpy(), exact_gradients(matrix, b, c)[1], rtol=1e-7)


def test_the_first_guess_has_no_influence():
    matrix, b, c = system()
    x, loss = array(np.ones(7)), array([0.0])
    with wp.Tape() as tape:
        cg(wp.array(matrix), array(b), x)
        wp.launch(_loss, dim=7, inputs=[x, wp.array(c)], outputs=[loss])
    tape.backward(loss)
    assert (x.grad.numpy() == 0.0).all()


def test_a_solution_without_gradient_ends_the_path():
    matrix, b, _ = system()
    right, x = array(b), wp.zeros(7, dtype=wp.float64)
    with wp.Tape() as tape:
        found = cg(wp.array(matrix), right, x)
    assert found.converged and tape.launches == []


def test_what_did_not_converge_has_no_gradient():
    matrix, b, c = system()
    tape, loss, _ = solved(cg, wp.array(matrix), array(b), wp.array(c), maxiter=2)
    with pytest.raises(NotConvergedError, match="2 iterations: maxiter"):
        tape.backward(loss)


def test_an_unknown_transpose_is_asked_for():
    _, b, c = system()
    tape, loss, _ = solved(gmres, chain(array(np.ones(8))), array(b), wp.array(c))
    with pytest.raises(NotDifferentiableError, match=r"gmres was differentiated\nhelp: give .* adjoint="):
        tape.backward(loss)
