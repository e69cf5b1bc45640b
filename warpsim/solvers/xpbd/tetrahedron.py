"""Tetrahedra: stable Neo-Hookean elasticity (B. Smith, F. de Goes, T. Kim 2018), each solved implicitly as a whole.

Per volume the energy is mu/2 tr(F^T F) + lambda/2 (det F - 1 - mu/lambda)^2, whose lambda is the sum of Lame's two
parameters, so that small strains follow Hooke's law. Its stress is

    P(F) = mu (F - cof F) + lambda (det F - 1) cof F

The constraint is F itself, nine equations; its multipliers S are impulses, the stress times -V h^2, instead of the two
scalars of M. Macklin and M. Mueller 2021. A mobility A = G W G^T of the slopes G of shape functions says how F follows
them, and each projection minimises the element's share of implicit Euler,

    S : S A / (2 V h^2) + Psi(F + S A)

by Newton's method, so that no stiffness and no time step makes it turn round. The Hessian is that of small strains in
the frame of the rotation R = F U^-1,

    dS -> R (2 mu sym(R^T dS A)) + (lambda - mu) cof F (cof F : dS A)

which lets rotations pass and is positive definite; it is exact at rest, wrong by the order of the strain elsewhere, and
a step that would raise the energy is halved. One step is enough for small strains; others take more, until what is left
is small beside the kinetic energy of the correction.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Float, Mat, Vec, abs, array, cross, ddot, determinant, func, int32, inverse, kernel
from ...core.language import matrix_from_cols, matrix_from_rows, max, outer, sqrt, tid, transpose, vec4i, vector
from .bearing import Bearing
from .constraints import Constraints
from .particle import apply_impulse, position
from .statics import patterns

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model

_STEPS = 12  # of Newton's method, at most
_HALVINGS = 16
_LEFT = 1.0e-6  # squared share of the correction that may be left


class Tetrahedra(Constraints):
    """Elastic tetrahedra of a model."""

    def __init__(self, model: Model, iterated: bool):
        borne = patterns(model)
        remembered = iterated or borne is not None
        super().__init__(model, model.tet_indices, vec4i, model.tet_pose.dtype, remembered, model.tet_damping)
        self.bearing = None if borne is None else Bearing(model, borne, self.coloring.order)
        self.scratch += [] if self.bearing is None else self.bearing.scratch
        self.pose, self.material = self.make_rows(model.tet_pose.dtype), self.make_rows(model.vec3)
        self.viscous = self.make_rows(model.dtype, self.dashpots)
        self.tiny = model.dtype((16.0 * np.finfo(model.tet_volume.numpy().dtype).eps) ** 2)

    def prepare(self, control: Control, h: float) -> None:
        """Rest shapes and moduli in order of color."""
        m = self.model
        materials = [m.tet_volume, m.tet_mu, m.tet_lambda, m.tet_damping]
        self.launch_gather(gather, m.tet_pose, *materials, h, self.pose, self.material, self.viscous)
        if self.bearing is not None:
            self.bearing.prepare(self.material)

    def reset(self, x: array) -> None:
        """Held bodies begin a substep with what they bear as a whole."""
        if self.bearing is None:
            super().reset(x)
        else:
            self.bearing.begin(self.indices, self.pose, x, self.multipliers)

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration."""
        materials = [self.pose, self.material, self.tiny, self.multipliers]
        self.launch_projections(project_tetrahedron(self.iterated), *materials, x)

    def damp(self, x: array, v: array) -> None:
        """Once a substep, after velocities are known."""
        self.launch_dampers(damp, self.pose, self.material, self.viscous, x, v)


@kernel
def gather(
    order: array(dtype=int32), pose: array(dtype=Any), volume: array(dtype=Any), mu: array(dtype=Any),
    lam: array(dtype=Any), damping: array(dtype=Any), h: Any, rest: array(dtype=Any), material: array(dtype=Any),
    viscous: array(dtype=Any),
):  # fmt: skip
    """Inverse rest edges; mu and the law's lambda [Pa], 1 / (V h^2) [1/(m^3 s^2)]; V h times the damping time."""
    c = tid()
    k = order[c]
    rest[c] = pose[k]
    material[c] = vector(mu[k], lam[k] + mu[k], 1.0 / (volume[k] * h * h))
    if viscous.shape[0] > 0:
        viscous[c] = volume[k] * h * damping[k]


# ----- matrices -----------------------------------------------------------------------------------


@func
def cofactor(f: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """The gradient of the determinant."""
    a, b, c = column(f, 0), column(f, 1), column(f, 2)
    return matrix_from_cols(cross(b, c), cross(c, a), cross(a, b))


@func
def column(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A column of a matrix."""
    return vector(m[0, k], m[1, k], m[2, k])


@func
def row(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A row of a matrix."""
    return vector(m[k, 0], m[k, 1], m[k, 2])


@func
def mobility(pose: Mat[3, 3, Float], w: Vec[4, Float]) -> Mat[3, 3, Float]:
    """A: how much F changes along each axis by impulses on it; w: inverse masses [1/kg]."""
    a, b, c = row(pose, 0), row(pose, 1), row(pose, 2)
    s = a + b + c
    return w[0] * outer(s, s) + w[1] * outer(a, a) + w[2] * outer(b, b) + w[3] * outer(c, c)


@func
def rotation(f: Mat[3, 3, Float], cof: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """R of F = R U without eigenvectors, with det R = 1 for inverted F too.

    By Cayley and Hamilton R (i ii - det F) = i cof F + (i^2 - ii) F - F F^T F, with ii = (i^2 - |F|^2) / 2 and i = tr U
    the greatest root of i^4 - 2 |F|^2 i^2 - 8 det F i + |F|^4 - 4 |cof F|^2 (A. Hoger and D. E. Carlson 1984). Newton's
    method descends to it from sqrt(3) |F|.
    """
    c = transpose(f) @ f
    size, minors, det = c[0, 0] + c[1, 1] + c[2, 2], ddot(cof, cof), ddot(f, cof) / 3.0
    i = sqrt(3.0 * size)
    for _ in range(6):
        value = ((i * i - 2.0 * size) * i - 8.0 * det) * i + size * size - 4.0 * minors
        slope = 4.0 * (i * i - size) * i - 8.0 * det
        if slope > 0.0:
            i = i - value / slope
    second = 0.5 * (i * i - size)
    spread = i * second - det
    if spread <= 1.0e-6 * i * size:
        return type(f)(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    return (i * cof + (i * i - second) * f - f @ c) / spread


@func
def symmetric(m: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """The symmetric part."""
    return 0.5 * (m + transpose(m))


@func
def balance(b: Mat[3, 3, Float], solve: Mat[3, 3, Float], r: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """The symmetric X of b X + X b = r for symmetric r; solve: see `off_diagonal`."""
    d0, d1, d2 = 0.5 / b[0, 0], 0.5 / b[1, 1], 0.5 / b[2, 2]
    u = solve @ vector(
        r[1, 2] - b[1, 2] * (d1 * r[1, 1] + d2 * r[2, 2]),
        r[0, 2] - b[0, 2] * (d0 * r[0, 0] + d2 * r[2, 2]),
        r[0, 1] - b[0, 1] * (d0 * r[0, 0] + d1 * r[1, 1]),
    )
    x = d0 * (r[0, 0] - 2.0 * (b[0, 1] * u[2] + b[0, 2] * u[1]))
    y = d1 * (r[1, 1] - 2.0 * (b[0, 1] * u[2] + b[1, 2] * u[0]))
    z = d2 * (r[2, 2] - 2.0 * (b[0, 2] * u[1] + b[1, 2] * u[0]))
    return matrix_from_rows(vector(x, u[2], u[1]), vector(u[2], y, u[0]), vector(u[1], u[0], z))


@func
def off_diagonal(b: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """The inverse with which b X + X b = r is solved for the elements (1, 2), (0, 2), (0, 1) of X, the diagonal
    eliminated."""
    a0, a1, a2 = b[1, 2], b[0, 2], b[0, 1]
    d0, d1, d2 = b[0, 0], b[1, 1], b[2, 2]
    n01, n02, n12 = a2 - a0 * a1 / d2, a1 - a0 * a2 / d1, a0 - a1 * a2 / d0
    return inverse(
        matrix_from_rows(
            vector((d1 + d2) * (1.0 - a0 * a0 / (d1 * d2)), n01, n02),
            vector(n01, (d0 + d2) * (1.0 - a1 * a1 / (d0 * d2)), n12),
            vector(n02, n12, (d0 + d1) * (1.0 - a2 * a2 / (d0 * d1))),
        )
    )


# ----- Newton's method ----------------------------------------------------------------------------


@func
def response(
    left: Mat[3, 3, Float], pressure: Float, cof: Mat[3, 3, Float], mobile: Mat[3, 3, Float], law: Vec[3, Float]
) -> Mat[3, 3, Float]:
    """The impulses S with soft S + stiff sym(S A) + (pressure + more cof : S A) cof + left = 0 in the rotated frame.

    law: soft, stiff, more.
    """
    soft, stiff, more = law[0], law[1], law[2]
    # In units of the trace: as they are, the determinants of small tetrahedra overflow float32.
    unit = 3.0 * soft + stiff * (mobile[0, 0] + mobile[1, 1] + mobile[2, 2])
    half = 0.5 * soft / unit
    b = (0.5 * stiff / unit) * mobile
    b = b + type(b)(half, 0.0, 0.0, 0.0, half, 0.0, 0.0, 0.0, half)
    solve = off_diagonal(b)
    even = symmetric(left)
    odd = (1.0 / soft) * (even - left)
    direct = odd - balance(b, solve, (1.0 / unit) * (even + stiff * symmetric(odd @ mobile)))
    pressed = balance(b, solve, (1.0 / unit) * symmetric(cof))
    push = cof @ mobile
    return direct - ((pressure + more * ddot(push, direct)) / (1.0 + more * ddot(push, pressed))) * pressed


@func
def newton_step(
    f: Mat[3, 3, Float], s: Mat[3, 3, Float], mobile: Mat[3, 3, Float], m: Vec[3, Float]
) -> Mat[3, 3, Float]:
    """Change of the impulses S, of which S / (V h^2) + P(F) is left."""
    mu, lam, soft = m[0], m[1], m[2]
    cof = cofactor(f)
    swell = ddot(f, cof) / 3.0 - 1.0
    r = rotation(f, cof)
    back = transpose(r)
    # Pressure and stretch make it stiffer than small strains are.
    stretch = sqrt(ddot(f, f) / 3.0)
    stiff = 2.0 * mu + abs(lam * swell) * stretch + mu * max(stretch - 1.0, mu * 0.0)
    law = vector(soft, stiff, max(lam - mu, mu * 0.0))
    return r @ response(back @ (soft * s + mu * (f - cof)), lam * swell, back @ cof, mobile, law)


@func
def energy_change(
    t: Float, f: Mat[3, 3, Float], df: Mat[3, 3, Float], m: Vec[3, Float], square: Vec[2, Float]
) -> Float:
    """Of the objective by a part t of a step, exactly; square: the slope and the curvature of its quadratic terms."""
    cof = cofactor(f)
    swell = ddot(f, cof) / 3.0 - 1.0
    rise = t * (ddot(df, cof) + t * (ddot(f, cofactor(df)) + t * determinant(df)))
    return t * (square[0] + 0.5 * t * square[1]) + rise * (m[1] * (swell + 0.5 * rise) - m[0])


@func
def enough(step: Float, gain: Float, change: Float, kinetic: Float) -> bool:
    """Whether a whole step left little of what its quadratic model promised, beside the kinetic energy."""
    odd = change - 0.5 * gain
    return step == 1.0 and odd * odd <= _LEFT * abs(gain) * kinetic


@func
def solve_impulses(
    f: Mat[3, 3, Float], s: Mat[3, 3, Float], mobile: Mat[3, 3, Float], m: Vec[3, Float], tiny: Float
) -> Mat[3, 3, Float]:
    """What the impulses become, from S on; tiny: squared relative change of F that rounding makes."""
    going = int32(_STEPS)
    while going > 0:
        ds = newton_step(f, s, mobile, m)
        df = ds @ mobile
        square = vector(m[2] * ddot(s, df) + m[0] * ddot(f, df), m[2] * ddot(ds, df) + m[0] * ddot(df, df))
        gain = square[0] + (m[1] * (ddot(f, cofactor(f)) / 3.0 - 1.0) - m[0]) * ddot(df, cofactor(f))
        t = 1.0 + 0.0 * tiny
        change = energy_change(t, f, df, m, square)
        halvings = int32(_HALVINGS)
        is_small = ddot(df, df) <= tiny * ddot(f, f)
        if is_small:  # rounding, not the step, decides what the energy does
            halvings = 0
        while change > 0.0 and halvings > 0:
            t = 0.5 * t
            change = energy_change(t, f, df, m, square)
            halvings -= 1
        s, f = s + t * ds, f + t * df
        going -= 1
        if enough(t, gain, change, m[2] * ddot(s, s @ mobile)) or is_small:
            going = int32(0)
    return s


@functools.cache
def project_tetrahedron(iterated: bool) -> Any:
    """The kernel for tetrahedra, with multipliers to remember or without."""

    @kernel
    def project(
        first: int32, corners: array(dtype=vec4i), pose: array(dtype=Any), material: array(dtype=Any), tiny: Any,
        multiplier: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k, l = corners[n][0], corners[n][1], corners[n][2], corners[n][3]  # noqa: E741
        a, b, c, d = x[i], x[j], x[k], x[l]
        if a[3] + b[3] + c[3] + d[3] > 0.0:
            o, inv = position(a), pose[n]
            f = matrix_from_cols(position(b) - o, position(c) - o, position(d) - o) @ inv
            mobile = mobility(inv, vector(a[3], b[3], c[3], d[3]))
            before = 0.0 * inv
            if iterated:
                before = before + multiplier[n]
            after = solve_impulses(f, before, mobile, material[n], tiny)
            if iterated:
                multiplier[n] = after
            impulse = (after - before) @ transpose(inv)
            p, q, r = column(impulse, 0), column(impulse, 1), column(impulse, 2)
            x[i] = apply_impulse(a, -(p + q + r))
            x[j] = apply_impulse(b, p)
            x[k] = apply_impulse(c, q)
            x[l] = apply_impulse(d, r)

    return project


# ----- damping ------------------------------------------------------------------------------------


@kernel
def damp(
    first: int32, corners: array(dtype=vec4i), pose: array(dtype=Any), material: array(dtype=Any),
    viscous: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Take from velocities what a dashpot beside the Hessian takes within a substep; see `Constraints.damp`."""
    n = first + tid()
    i, j, k, l = corners[n][0], corners[n][1], corners[n][2], corners[n][3]  # noqa: E741
    w = vector(x[i][3], x[j][3], x[k][3], x[l][3])
    if w[0] + w[1] + w[2] + w[3] > 0.0:
        o, u, inv, m = position(x[i]), v[i], pose[n], material[n]
        f = matrix_from_cols(position(x[j]) - o, position(x[k]) - o, position(x[l]) - o) @ inv
        rate = matrix_from_cols(v[j] - u, v[k] - u, v[l] - u) @ inv
        cof = cofactor(f)
        r = rotation(f, cof)
        back = transpose(r)
        stiff, more = 2.0 * m[0] * viscous[n], max(m[1] - m[0], m[0] * 0.0) * viscous[n]
        law, left = vector(m[0] * 0.0 + 1.0, stiff, more), stiff * symmetric(back @ rate)
        s = r @ response(left, more * ddot(cof, rate), back @ cof, mobility(inv, w), law)
        impulse = s @ transpose(inv)
        p, q, t = column(impulse, 0), column(impulse, 1), column(impulse, 2)
        v[i] = u - w[0] * (p + q + t)
        v[j] = v[j] + w[1] * p
        v[k] = v[k] + w[2] * q
        v[l] = v[l] + w[3] * t
