"""Gradients of svd2, svd3, qr3 and eig3 against finite differences, also where they nearly or really have none."""

from functools import cache

import numpy as np
import pytest

import warpsim as wp

NAMES = ("svd2", "svd3", "qr3", "eig3")
COUNT = 100  # matrices per test


def size(name):
    return 2 if name == "svd2" else 3


@cache
def kernels(name, suffix):
    """The decomposition, and its gradient for given seeds, over arrays of matrices; and the types of its factors."""
    n, f = size(name), getattr(wp, name)
    mat, vec = getattr(wp, f"mat{n}{n}{suffix}"), getattr(wp, f"vec{n}{suffix}")
    types = {"svd2": (mat, vec, mat), "svd3": (mat, vec, mat), "qr3": (mat, mat), "eig3": (mat, vec)}[name]
    arrays = [wp.array(dtype=t) for t in types]
    matrices = arrays[0]
    if len(types) == 3:

        @wp.kernel
        def forward(a: matrices, u: arrays[0], s: arrays[1], v: arrays[2]):
            i = wp.tid()
            left, values, right = f(a[i])
            u[i] = left
            s[i] = values
            v[i] = right

        @wp.kernel
        def reverse(a: matrices, u: arrays[0], s: arrays[1], v: arrays[2], out: matrices):
            i = wp.tid()
            out[i] = wp.grad(f)(a[i], u[i], s[i], v[i])
    else:

        @wp.kernel
        def forward(a: matrices, q: arrays[0], r: arrays[1]):
            i = wp.tid()
            first, second = f(a[i])
            q[i] = first
            r[i] = second

        @wp.kernel
        def reverse(a: matrices, q: arrays[0], r: arrays[1], out: matrices):
            i = wp.tid()
            out[i] = wp.grad(f)(a[i], q[i], r[i])

    return forward, reverse, types


def factors(name, matrices, suffix="d"):
    forward, _, types = kernels(name, suffix)
    found = [wp.zeros(len(matrices), dtype=t) for t in types]
    wp.launch(forward, dim=len(matrices), inputs=[wp.array(matrices, dtype=types[0]), *found])
    return [f.numpy() for f in found]


def gradient(name, matrices, seeds, suffix="d"):
    _, reverse, types = kernels(name, suffix)
    out = wp.zeros(len(matrices), dtype=types[0])
    given = [wp.array(s, dtype=t) for s, t in zip(seeds, types, strict=True)]
    wp.launch(reverse, dim=len(matrices), inputs=[wp.array(matrices, dtype=types[0]), *given, out])
    return out.numpy()


def random_seeds(name, count, rng):
    shapes = [f.shape[1:] for f in factors(name, np.zeros((1, size(name), size(name))))]
    seeds = [rng.normal(size=(count, *shape)) for shape in shapes]
    if name == "qr3":
        seeds[1] = np.triu(seeds[1])
    return seeds


def differences(name, matrices, seeds, h):
    """Central differences of the seeded sum of factors, by every component; NaN where vectors change their sign.

    A full turn of the matrix turns singular vectors by half a turn, so somewhere on the way signs must jump.
    """
    found = np.zeros_like(matrices)
    for at in np.ndindex(matrices.shape[1:]):
        shift = np.zeros_like(matrices)
        shift[(slice(None), *at)] = h
        ends = [factors(name, matrices + sign * shift) for sign in (1, -1)]
        for seed, above, below in zip(seeds, *ends, strict=True):
            change = (seed * (above - below)).reshape(len(seed), -1).sum(1) / (2 * h)
            jumps = np.abs(above - below).reshape(len(seed), -1).max(1) > 0.5
            found[(slice(None), *at)] += np.where(jumps, np.nan, change)
    assert np.isnan(found).any((1, 2)).sum() <= len(matrices) // 50
    return found


def errors(found, wanted):
    """The largest error of each matrix with known gradient, relative to its largest component, or to one."""
    known = ~np.isnan(wanted).any((1, 2))
    found, wanted = found[known], wanted[known]
    return np.abs(found - wanted).max((1, 2)) / np.maximum(1.0, np.abs(wanted).max((1, 2)))


def orthogonal(count, n, rng):
    return np.linalg.qr(rng.normal(size=(count, n, n)))[0]


def with_spectrum(name, values, rng):
    """Matrices with given singular values, or eigenvalues."""
    count, n = values.shape
    left = orthogonal(count, n, rng)
    right = left.transpose(0, 2, 1) if name == "eig3" else orthogonal(count, n, rng)
    return (left * values[:, None, :]) @ right


# ----- against finite differences -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_random_matrices(name):
    rng = np.random.default_rng(1)
    matrices = rng.normal(size=(COUNT, size(name), size(name)))
    seeds = random_seeds(name, COUNT, rng)
    assert errors(gradient(name, matrices, seeds), differences(name, matrices, seeds, 1e-6)).max() < 1e-6


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
@pytest.mark.parametrize("name", NAMES)
def test_close_values(name, gap):
    rng = np.random.default_rng(2)
    n = size(name)
    values = 1.0 + gap * np.arange(n) + np.zeros((COUNT, n))
    matrices = with_spectrum(name, values, rng)
    seeds = random_seeds(name, COUNT, rng)
    assert errors(gradient(name, matrices, seeds), differences(name, matrices, seeds, 1e-3 * gap)).max() < 2e-5


@pytest.mark.parametrize("name", NAMES)
def test_the_size_of_a_matrix_does_not_matter(name):
    rng = np.random.default_rng(3)
    matrices = rng.normal(size=(10, size(name), size(name)))
    seeds = random_seeds(name, 10, rng)
    seeds[1] = np.zeros_like(seeds[1])  # turns depend on ratios alone: twice the matrix, half the slope
    want = gradient(name, matrices, seeds)
    for scale in (1e-100, 1e100):
        np.testing.assert_allclose(gradient(name, scale * matrices, seeds) * scale, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision(name):
    rng = np.random.default_rng(4)
    values = np.array([3.0, 2.0, 1.0])[: size(name)] + rng.uniform(-0.2, 0.2, (COUNT, size(name)))
    matrices = with_spectrum(name, values, rng)
    seeds = random_seeds(name, COUNT, rng)
    found = gradient(name, matrices.astype(np.float32), [s.astype(np.float32) for s in seeds], "f")
    # Eigenvectors of either sign are right, and the two precisions may choose differently: compare what has none.
    pairs = zip(factors(name, matrices, "d"), factors(name, matrices, "f"), strict=True)
    same = np.all([(a * b).sum(1).min(1) > 0 for a, b in pairs if a.ndim == 3], axis=0)
    assert same.sum() > COUNT // 2
    assert errors(found[same], gradient(name, matrices, seeds)[same]).max() < 1e-4


# ----- where values coincide ----------------------------------------------------------------------


def degenerate(n, rng):
    """Stacks with equal, opposite and vanishing values."""
    turn = orthogonal(8, n, rng)
    column = rng.normal(size=(8, n, 1))
    return np.concatenate(
        [
            np.zeros((1, n, n)),
            np.eye(n)[None],
            -2.0 * np.eye(n)[None],
            turn,
            turn @ turn.transpose(0, 2, 1),
            column * column.transpose(0, 2, 1),
            (turn * np.where(np.arange(n) == 0, 0.0, 1.0)) @ turn.transpose(0, 2, 1),
            np.eye(n) + 1e-12 * rng.normal(size=(8, n, n)),
        ]
    )


@pytest.mark.parametrize("suffix", ["f", "d"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_everywhere(name, suffix):
    rng = np.random.default_rng(5)
    matrices = degenerate(size(name), rng)
    seeds = random_seeds(name, len(matrices), rng)
    assert np.isfinite(gradient(name, matrices, seeds, suffix)).all()


@pytest.mark.parametrize("name", ["svd2", "svd3", "eig3"])
def test_equal_values_give_vectors_no_slope(name):
    n = size(name)
    rng = np.random.default_rng(6)
    seeds = random_seeds(name, 1, rng)
    seeds[1] = np.zeros_like(seeds[1])
    found = gradient(name, np.eye(n)[None], seeds)[0]
    # Between values that are equal only the difference of the turns of U and V is known, which is antisymmetric.
    np.testing.assert_allclose(found, -found.T, atol=1e-14)
    if name == "eig3":
        assert not found.any()


POLAR = {2: (wp.mat22d, wp.svd2), 3: (wp.mat33d, wp.svd3)}


@cache
def polar_kernel(n):
    mat, svd = POLAR[n]

    @wp.func
    def weighed_rotation(a: mat, weights: mat):
        u, _s, v = svd(a)
        return wp.ddot(weights, u * wp.transpose(v))

    @wp.kernel
    def slopes(a: wp.array(dtype=mat), weights: wp.array(dtype=mat), out: wp.array(dtype=mat)):
        i = wp.tid()
        by_a, _by_weights = wp.grad(weighed_rotation)(a[i], weights[i])
        out[i] = by_a

    return slopes, mat


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("spread", [0.0, 1e-14, 1e-9, 1e-4, 0.3])
def test_the_polar_rotation_is_smooth_where_values_coincide(n, spread):
    """As d(U V^T) at c I is antisymmetric part / c, whatever singular vectors are chosen."""
    rng = np.random.default_rng(7)
    matrices = 2.0 * np.eye(n) + spread * rng.normal(size=(20, n, n))
    weights = rng.normal(size=matrices.shape)
    slopes, mat = polar_kernel(n)
    out = wp.zeros(20, dtype=mat)
    wp.launch(slopes, dim=20, inputs=[wp.array(matrices, dtype=mat), wp.array(weights, dtype=mat), out])
    want = np.zeros_like(matrices)
    for at in np.ndindex(n, n):
        shift = np.zeros((n, n))
        shift[at] = 1e-5
        change = rotation(matrices + shift) - rotation(matrices - shift)
        want[(slice(None), *at)] = (change * weights).sum((1, 2)) / 2e-5
    # Just where a difference passes the blur, what should cancel is known to a part of a per cent.
    np.testing.assert_allclose(out.numpy(), want, atol=2e-2 if spread == 1e-14 else 2e-6)


def rotation(matrices):
    u, _, vt = np.linalg.svd(matrices)
    return u @ vt


@wp.kernel
def squares(a: wp.array(dtype=wp.mat33d), weights: wp.array(dtype=wp.mat33d), sums: wp.array2d(dtype=wp.float64)):
    """The weighed sum of U diag(sigma^2) V^T, by its factors and by the polar decomposition A = R S."""
    i = wp.tid()
    u, s, v = wp.svd3(a[i])
    r = u * wp.transpose(v)
    stretch = wp.transpose(r) * a[i]
    sums[i, 0] = wp.ddot(weights[i], u * wp.diag(wp.cw_mul(s, s)) * wp.transpose(v))
    sums[i, 1] = wp.ddot(weights[i], r * stretch * stretch)


def slopes_of_squares(matrices, weights):
    """The gradient of either sum."""
    found = []
    for column in np.eye(2):
        a = wp.array(matrices, dtype=wp.mat33d, requires_grad=True)
        sums = wp.zeros((len(matrices), 2), dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(squares, len(matrices), [a, wp.array(weights, dtype=wp.mat33d), sums])
        tape.backward(grads={sums: wp.array(np.tile(column, (len(matrices), 1)), dtype=wp.float64)})
        found.append(a.grad.numpy())
    return found


def test_functions_of_the_polar_stretch_have_exact_gradients_where_values_coincide():
    """At c R the slope of A -> U sigma^2 V^T is 2 c of the symmetric part and c of the other one; factors lack part."""
    rng = np.random.default_rng(13)
    turns = orthogonal(20, 3, rng)
    turns[:, :, 0] *= np.linalg.det(turns)[:, None]
    weights = rng.normal(size=turns.shape)
    by_factors, by_stretch = slopes_of_squares(1.5 * turns, weights)
    local = turns.transpose(0, 2, 1) @ weights
    want = turns @ (1.5 * (local + local.transpose(0, 2, 1)) + 0.75 * (local - local.transpose(0, 2, 1)))
    np.testing.assert_allclose(by_stretch, want, atol=5e-3)  # values a few roundings apart: see above
    assert np.abs(by_factors - want).max() > 1.0
    apart = turns * np.array([1.0, 1.5, 2.0])
    by_factors, by_stretch = slopes_of_squares(apart, weights)
    np.testing.assert_allclose(by_factors, by_stretch, atol=1e-10)


def test_functions_of_singular_values_alone_are_smooth_where_they_coincide():
    n, rng = 3, np.random.default_rng(8)
    matrices = degenerate(n, rng)[1:12]
    ones = [np.zeros_like(matrices), np.ones(matrices.shape[:2]), np.zeros_like(matrices)]
    u, _s, v = factors("svd3", matrices)
    np.testing.assert_allclose(gradient("svd3", matrices, ones), u @ v.transpose(0, 2, 1), atol=1e-14)


def test_qr_of_rank_two_has_exact_gradients():
    rng = np.random.default_rng(9)
    matrices = rng.normal(size=(20, 3, 3))
    matrices[:, :, 2] = matrices[:, :, 0] - 2.0 * matrices[:, :, 1]
    seeds = random_seeds("qr3", 20, rng)
    found = gradient("qr3", matrices, seeds)
    assert errors(found, differences("qr3", matrices, seeds, 1e-6)).max() < 1e-6


def test_eigenvalue_gradients_are_symmetric_for_any_matrix():
    rng = np.random.default_rng(10)
    found = gradient("eig3", rng.normal(size=(20, 3, 3)), random_seeds("eig3", 20, rng))
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-13)


@pytest.mark.parametrize("name", ["svd2", "svd3"])
def test_singular_vectors_change_little_with_the_matrix(name):
    rng = np.random.default_rng(11)
    n = size(name)
    matrices = rng.normal(size=(1000, n, n))
    for before, after in zip(factors(name, matrices), factors(name, matrices * (1 + 1e-13)), strict=True):
        assert np.abs(before - after).max() < 1e-9


# ----- in programs --------------------------------------------------------------------------------


@wp.func
def stretched(a: wp.mat33d, b: wp.mat33d):
    """Something of all factors of all decompositions."""
    u, s, v = wp.svd3(a)
    q, r = wp.qr3(b)
    e, d = wp.eig3(a * b)
    m = wp.mat22d(a[0, 0], a[0, 1], b[1, 0], b[1, 1])
    x, y, z = wp.svd2(m)
    first = wp.log(s[0]) * s[1] + s[2] * u[0, 1] * v[1, 2] + r[0, 1] * q[2, 1] * r[2, 2]
    return first + d[0] * d[2] * e[0, 0] * e[1, 1] + y[0] * x[0, 1] * z[1, 1]


Matrices = wp.array(dtype=wp.mat33d)


@wp.kernel
def stretch(a: Matrices, b: Matrices, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = stretched(a[i], b[i])


@wp.func
def along(a: wp.mat33d, b: wp.mat33d, direction: wp.mat33d):
    by_a, by_b = wp.grad(stretched)(a, b)
    return wp.ddot(by_a + by_b, direction)


@wp.kernel
def twice(a: Matrices, b: Matrices, direction: Matrices, by_a: Matrices, by_b: Matrices):
    i = wp.tid()
    x, y, _d = wp.grad(along)(a[i], b[i], direction[i])
    by_a[i] = x
    by_b[i] = y


def on_tape(a, b, device):
    given = [wp.array(m, dtype=wp.mat33d, requires_grad=True, device=device) for m in (a, b)]
    out = wp.zeros(len(a), dtype=wp.float64, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(stretch, dim=len(a), inputs=[*given, out], device=device)
    tape.backward(grads={out: wp.ones(len(a), dtype=wp.float64, device=device)})
    return out.numpy(), [g.grad.numpy() for g in given]


@pytest.mark.parametrize(("device", "count"), [("interp", 2), ("cpu", 50)])
def test_backward_through_all_decompositions(device, count):
    rng = np.random.default_rng(12)
    a, b = (rng.normal(size=(count, 3, 3)) for _ in range(2))
    found = on_tape(a, b, device)[1]
    for which in range(2):
        want = np.zeros_like(a)
        for at in np.ndindex(3, 3):
            shift = np.zeros((2, 3, 3))
            shift[(which, *at)] = 1e-6
            ends = [on_tape(a + sign * shift[0], b + sign * shift[1], None)[0] for sign in (1, -1)]
            want[(slice(None), *at)] = (ends[0] - ends[1]) / 2e-6
        assert np.median(errors(found[which], want)) < 1e-7
        assert errors(found[which], want).max() < 1e-5


def test_tangents():
    rng = np.random.default_rng(14)
    a, b, direction = (rng.normal(size=(50, 3, 3)) for _ in range(3))
    given = {name: wp.array(m, dtype=wp.mat33d) for name, m in (("a", a), ("b", b))}
    out = wp.zeros(50, dtype=wp.float64)
    tangents = {"a": direction, "b": 2.0 * direction}
    found = wp.autograd.jvp(stretch, 50, list(given.values()), [out], tangents=tangents)["out"].numpy()
    want = sum(g * t for g, t in zip(on_tape(a, b, None)[1], tangents.values(), strict=True)).sum((1, 2))
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


def test_second_derivatives():
    """Of the gradient along a direction, against differences of gradients."""
    rng = np.random.default_rng(13)
    a, b, direction = (rng.normal(size=(50, 3, 3)) for _ in range(3))
    found = [wp.zeros(50, dtype=wp.mat33d) for _ in range(2)]
    wp.launch(twice, dim=50, inputs=[*(wp.array(m, dtype=wp.mat33d) for m in (a, b, direction)), *found])
    h = 1e-6
    ends = [on_tape(a + s * h * direction, b + s * h * direction, None)[1] for s in (1, -1)]
    for k in range(2):
        want = (ends[0][k] - ends[1][k]) / (2 * h)
        assert np.median(errors(found[k].numpy(), want)) < 1e-7
        assert errors(found[k].numpy(), want).max() < 1e-3


def test_half_precision_goes_through_single():
    matrices = np.array([[[3.0, 0.5, 0.0], [0.25, 2.0, 0.0], [0.0, 0.5, 1.0]]])
    ones = [np.zeros((1, 3, 3)), np.ones((1, 3)), np.zeros((1, 3, 3))]
    np.testing.assert_allclose(gradient("svd3", matrices, ones, "h"), gradient("svd3", matrices, ones, "d"), atol=2e-3)
