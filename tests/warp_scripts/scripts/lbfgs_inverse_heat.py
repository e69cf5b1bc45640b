"""Find the initial heat of a rod from its final state with SciPy's L-BFGS over a tape; double precision throughout."""

import numpy as np
from scipy.optimize import minimize

import warp as wp

N, STEPS = 40, 50
wp.config.verify_autograd_array_access = False


@wp.kernel
def diffuse(
    u: wp.array(dtype=wp.float64), k: wp.array(dtype=wp.float64), dt: wp.float64, out: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    n = u.shape[0]
    left = u[(i + n - 1) % n]
    right = u[(i + 1) % n]
    kl = wp.float64(0.5) * (k[i] + k[(i + n - 1) % n])
    kr = wp.float64(0.5) * (k[i] + k[(i + 1) % n])
    out[i] = u[i] + dt * (kr * (right - u[i]) - kl * (u[i] - left))


@wp.kernel
def misfit(u: wp.array(dtype=wp.float64), target: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    d = u[i] - target[i]
    wp.atomic_add(loss, 0, wp.float64(0.5) * d * d)


@wp.kernel
def regularise(u: wp.array(dtype=wp.float64), weight: wp.float64, loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if i + 1 < u.shape[0]:
        loss[0] += weight * wp.pow(wp.abs(u[i + 1] - u[i]) + wp.float64(1e-6), wp.float64(1.5))


class Rod:
    def __init__(self, target, conductivity):
        self.states = [wp.zeros(N, dtype=wp.float64, requires_grad=True) for _ in range(STEPS + 1)]
        self.k = wp.array(conductivity, dtype=wp.float64, requires_grad=True)
        self.target = wp.array(target, dtype=wp.float64)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.calls = 0

    def run(self, initial):
        self.states[0].assign(initial)
        for a, b in zip(self.states[:-1], self.states[1:]):
            wp.launch(diffuse, dim=N, inputs=[a, self.k, wp.float64(0.2)], outputs=[b])
        return self.states[-1]

    def __call__(self, initial):
        self.calls += 1
        self.loss.zero_()
        tape = wp.Tape()
        with tape:
            final = self.run(initial)
            wp.launch(misfit, dim=N, inputs=[final, self.target], outputs=[self.loss])
            wp.launch(regularise, dim=N, inputs=[self.states[0], 1e-5], outputs=[self.loss])
        tape.backward(self.loss)
        gradient = self.states[0].grad.numpy().copy()
        self.gradient_of_k = self.k.grad.numpy().copy()
        tape.zero()
        return float(self.loss.numpy()[0]), gradient


s = np.arange(N) * 2 * np.pi / N
truth = np.exp(np.cos(s)) + 0.3 * np.sin(2 * s)
k = 1.0 + 0.3 * np.cos(s)
rod = Rod(np.zeros(N), k)
final = rod.run(truth).numpy().copy()
print("final", final.sum(), truth.sum(), final[:3])

rod = Rod(final, k)
start = np.full(N, final.mean())
value, g = rod(start)
print("start", value, g[:4], np.abs(g).sum())
bump = np.zeros(N)
bump[7] = 1e-5
fd = (rod(start + bump)[0] - rod(start - bump)[0]) / 2e-5
print("difference agrees", abs(fd - g[7]) < 1e-7)

rod(start)
gk = rod.gradient_of_k[5]
kk = k.copy()
kk[5] += 1e-5
plus = Rod(final, kk)(start)[0]
kk[5] -= 2e-5
minus = Rod(final, kk)(start)[0]
print("conductivity", gk, abs((plus - minus) / 2e-5 - gk) < 1e-7)

result = minimize(rod, start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
print("recovered", result.fun < 1e-3, "error %.2f" % np.abs(result.x - truth).max(), rod.calls > 10)
