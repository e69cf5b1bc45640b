"""Contact between surfaces: corners against triangles, edges against edges, with thickness and Coulomb friction.

C = n . (sum_k b_k x_k) - r >= 0, where the weights b of the closest points are 1 and minus those in the triangle, or
those in one edge and minus those in the other; r: both radii, interpolated. Edges count where the closest points are
within both; where an end is closest, its corner is in contact with a triangle.

n points from the one to the other, to the side on which the one was when the substep began: what is found on the other
side has passed through, and is led back. Beyond borders there are no sides.

All contacts are solved at once (Jacobi), each as strong as the others leave it room (mass splitting: R. Tonge,
F. Benevolenski, A. Voroshilov 2012). With w the inverse masses, contact c moves its corners by w_k b_k dlambda,

    dlambda = -C_c / sum_k w_k |b_k| s_k,    s_k = sum of |b_k| over all contacts of corner k

whose divisor is at least the sum of row c of the contacts' matrix b w b^T: so the iteration converges, contacts of
equal depth are resolved at once, and momentum is conserved. Friction takes back tangential motion as in `contact`.
Each particle sums up its own part in a fixed order: no two threads write to one, and the order does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Float, Kernel, Vec, array, int32, vec4i
from ...core.language import abs, dot, func, kernel, launch, length, tid, vector
from ...core.runtime.arrays.fixed import Fixed
from ...core.lib.closest import closest_point_edge_edge, closest_point_triangle
from .friction import friction_loss
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..contact.surface_contacts import SurfaceContacts
    from ..scene.model import Model


class SurfaceContactConstraints(Fixed):
    """Surfaces of a model against each other."""

    def __init__(self, model: Model):
        self.model = model

    def resolve(self, contacts: SurfaceContacts, inv_mass: array, start: array, x: array) -> None:
        """Push apart what is closer than its thickness."""
        m = self.model
        near = [contacts.corners, contacts.away, contacts.offsets, contacts.friction, m.particle_radius, start, x]
        self._run(measure, len(contacts.corners), *near, contacts.push, contacts.weights)
        own = [contacts.firsts, contacts.around, contacts.weights]
        self._run(sum_weights, m.particle_count, *own, contacts.crowd)
        parts = [contacts.corners, contacts.push, contacts.crowd, inv_mass]
        self._run(separate, m.particle_count, *own, *parts, x)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


@func
def face_weights(p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]) -> Vec[4, Float]:
    """Of a point and the closest point of a triangle."""
    u, v = closest_point_triangle(p, a, b, c)
    return vector(u.dtype(1.0), -u, -v, u + v - 1.0)


@func
def edge_weights(a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], d: Vec[3, Float]) -> Vec[4, Float]:
    """Of the closest points of two edges; zero where one of them is an end."""
    w = closest_point_edge_edge(a, b, c, d, a.dtype(0.0))
    s, t = w[0], w[1]
    if s > 0.0 and s < 1.0 and t > 0.0 and t < 1.0:
        return vector(1.0 - s, s, t - 1.0, -t)
    return vector(s * 0.0, s * 0.0, s * 0.0, s * 0.0)


@kernel
def measure(
    corners: array(dtype=vec4i), away: array(dtype=Any), offsets: array(dtype=int32), mu: array(dtype=Any),
    radius: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any), push: array(dtype=Any),
    weights: array(dtype=Any),
):  # fmt: skip
    """How deep each contact is, and what friction takes back."""
    n = tid()
    if n < offsets[offsets.shape[0] - 1]:
        i, j, k, l = corners[n][0], corners[n][1], corners[n][2], corners[n][3]  # noqa: E741
        a, b, c, d = position(x[i]), position(x[j]), position(x[k]), position(x[l])
        if n < offsets[radius.shape[0]]:
            w = face_weights(a, b, c, d)
        else:
            w = edge_weights(a, b, c, d)
        gap = w[0] * a + w[1] * b + w[2] * c + w[3] * d
        keep = abs(w[0]) * radius[i] + abs(w[1]) * radius[j] + abs(w[2]) * radius[k] + abs(w[3]) * radius[l]
        distance = length(gap)
        if dot(gap, away[n]) < 0.0 and w[1] * w[2] * w[3] != 0.0:
            distance = -distance
        depth = keep - distance
        total = gap * 0.0
        if depth > 0.0 and distance != 0.0:
            normal = gap / distance
            slid = gap - (w[0] * start[i] + w[1] * start[j] + w[2] * start[k] + w[3] * start[l])
            slid = slid - dot(slid, normal) * normal
            total = depth * normal - friction_loss(slid, mu[0] * depth, mu[0] * depth)
        else:
            w = w * 0.0
        push[n] = total
        weights[n] = w


@kernel
def sum_weights(
    firsts: array(dtype=int32), around: array(dtype=int32), weights: array(dtype=Any), crowd: array(dtype=Any)
):  # fmt: skip
    i = tid()
    total = crowd.dtype(0.0)
    for n in range(firsts[i], firsts[i + 1]):
        total = total + abs(weights[around[n] // 4][around[n] % 4])
    crowd[i] = total


@kernel
def separate(
    firsts: array(dtype=int32), around: array(dtype=int32), weights: array(dtype=Any), corners: array(dtype=vec4i),
    push: array(dtype=Any), crowd: array(dtype=Any), inv_mass: array(dtype=Any), x: array(dtype=Any),
):  # fmt: skip
    i = tid()
    total = position(x[i]) * 0.0
    for n in range(firsts[i], firsts[i + 1]):
        c = around[n] // 4
        w, k = weights[c], corners[c]
        own = w[around[n] % 4]
        if own != 0.0:
            room = abs(w[0]) * inv_mass[k[0]] * crowd[k[0]] + abs(w[1]) * inv_mass[k[1]] * crowd[k[1]]
            room = room + abs(w[2]) * inv_mass[k[2]] * crowd[k[2]] + abs(w[3]) * inv_mass[k[3]] * crowd[k[3]]
            if room > 0.0:
                total = total + (own / room) * push[c]
    x[i] = apply_impulse(x[i], total)
