"""Scenes of papers on differentiable physics, in float64, whose gradients are known to help or to mislead."""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem

Vec2s = wp.array[wp.vec2d]
Doubles = wp.array[wp.float64]
Matrix = wp.array2d[wp.float64]

LINKS = ((0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (2, 5), (0, 4), (1, 3), (1, 5), (2, 4), (1, 4))
MASSES = np.array([(0.2, 0.1), (0.3, 0.13), (0.4, 0.1), (0.2, 0.2), (0.3, 0.2), (0.4, 0.2)])
DT = wp.constant(wp.float64(0.004))
STIFFNESS = wp.constant(wp.float64(0.004 * 14000.0))
ZERO, TENTH, GROUND = (wp.constant(wp.float64(value)) for value in (0.0, 0.1, 0.1))


def doubles(shape=1):
    return wp.zeros(shape, dtype=wp.float64, requires_grad=True)


# ----- a ball over a wall: Suh, Simchowitz, Zhang and Tedrake 2022 ----------------------------------


@wp.kernel
def throw_over_wall(angle: Doubles, loss: Doubles):
    """Minus the squared distance of a throw at an angle; a wall of 0.02 m at 0.06 m stops it."""
    a = angle[0]
    g = wp.float64(9.81)
    wall = wp.float64(0.06)
    x = wp.float64(2.0) * wp.sin(a) * wp.cos(a) / g
    height = wall * wp.tan(a) - wp.float64(0.5) * g * wall * wall / (wp.cos(a) * wp.cos(a))
    if x > wall and height < wp.float64(0.02):
        x = wall
    loss[0] = -x * x


def over_wall(angle):
    """The problem of the best angle, from an angle [rad]; smoothed by noise of 0.1 it is 0.86132."""
    unknown, loss = doubles(), doubles()
    unknown.fill_(angle)
    return Problem(lambda: wp.launch(throw_over_wall, 1, [unknown, loss]), {"angle": unknown}, loss)


# ----- ground and wall to a target: Zhong, Han and Brikis 2022, task 2 ------------------------------


@wp.func
def bounce(x: wp.float64, v: wp.float64, floor: wp.float64, a: wp.float64, h: wp.float64):
    """A step of semi-implicit Euler, in which an impact happens at its own moment."""
    e = wp.float64(0.92)
    speed = v + a * h
    end = x + speed * h
    if end < floor and speed < ZERO:
        left = h - (floor - x) / speed
        speed = -e * speed
        end = floor + speed * left
    return end, speed


@wp.kernel
def fly(x: Vec2s, v: Vec2s, k: int, h: wp.float64):
    y, rise = bounce(x[k][1], v[k][1], TENTH, wp.float64(-9.8), h)
    across, right = bounce(-x[k][0], -v[k][0], wp.float64(-1.65), ZERO, h)
    x[k + 1] = wp.vec2d(-across, y)
    v[k + 1] = wp.vec2d(-right, rise)


@wp.kernel
def miss(x: Vec2s, loss: Doubles):
    loss[0] = wp.length_sq(x[x.shape[0] - 1] - wp.vec2d(wp.float64(-2.0), wp.float64(1.5)))


def ground_and_wall(steps=288):
    """The problem of the throw (5, -5) that bounces off the ground and a wall and shall end at (-2, 1.5)."""
    x, v = (wp.zeros(steps + 1, dtype=wp.vec2d, requires_grad=True) for _ in range(2))
    start, throw = (wp.array([p], dtype=wp.vec2d, requires_grad=True) for p in ((-0.5, 1.0), (5.0, -5.0)))
    loss = doubles()

    def rollout():
        wp.copy(x, start, count=1)
        wp.copy(v, throw, count=1)
        for k in range(steps):
            wp.launch(fly, 1, [x, v, k, wp.float64(0.6 / steps)])
        wp.launch(miss, 1, [x, loss])

    return Problem(rollout, {"throw": throw}, loss)


# ----- a robot of springs: DiffTaichi, ICLR 2020 ----------------------------------------------------


@wp.kernel
def think(weights: Matrix, x: Vec2s, v: Vec2s, t: int, hidden: Matrix):
    """The first layer of the controller: ten sines, offsets and velocities, and how far the goal is."""
    i = wp.tid()
    total = wp.float64(0.0)
    for j in range(10):
        phase = wp.float64(10.0) * wp.float64(t) * DT + wp.float64(j) * wp.float64(0.6283185307179586)
        total = total + weights[i, j] * wp.sin(phase)
    middle = wp.vec2d(ZERO, ZERO)
    for j in range(6):
        middle = middle + x[6 * t + j] / wp.float64(6.0)
    for j in range(6):
        o = x[6 * t + j] - middle
        u = v[6 * t + j]
        n = 10 + 4 * j
        seen = weights[i, n] * o[0] + weights[i, n + 1] * o[1] + weights[i, n + 2] * u[0] + weights[i, n + 3] * u[1]
        total = total + wp.float64(0.05) * seen
    total = total + weights[i, 34] * (wp.float64(0.9) - middle[0]) + weights[i, 35] * (wp.float64(0.2) - middle[1])
    hidden[t, i] = wp.tanh(total)


@wp.kernel
def act(weights: Matrix, hidden: Matrix, t: int, action: Matrix):
    i = wp.tid()
    total = wp.float64(0.0)
    for j in range(32):
        total = total + weights[i, j] * hidden[t, j]
    action[t, i] = wp.tanh(total)


@wp.kernel
def pull(x: Vec2s, links: wp.array[wp.vec2i], rest: Doubles, action: Matrix, t: int, impulse: Vec2s):
    k = wp.tid()
    a = 6 * t + links[k][0]
    b = 6 * t + links[k][1]
    d = x[a] - x[b]
    length = wp.length(d)
    f = STIFFNESS * (length - rest[k] * (wp.float64(1.0) + TENTH * action[t, k])) / length * d
    wp.atomic_sub(impulse, a, f)
    wp.atomic_add(impulse, b, f)


@wp.kernel
def move(x: Vec2s, v: Vec2s, impulse: Vec2s, t: int, impact: int):
    """A step over ground that holds what touches it; with `impact`, from the moment at which it does."""
    i = 6 * t + wp.tid()
    old = v[i] * wp.exp(-DT * wp.float64(15.0)) + wp.vec2d(ZERO, wp.float64(-4.8) * DT) + impulse[i]
    moment = wp.float64(0.0)
    new = old
    if x[i][1] + DT * old[1] < GROUND and old[1] < wp.float64(-1.0e-4):
        new = wp.vec2d(ZERO, ZERO)
        if impact == 1:
            moment = wp.max(-(x[i][1] - GROUND) / old[1], ZERO)
    x[i + 6] = x[i] + moment * old + (DT - moment) * new
    v[i + 6] = new


@wp.kernel
def go_far(x: Vec2s, loss: Doubles):
    loss[0] = -x[x.shape[0] - 6][0]


def robot(impact, steps=400):
    """The problem of the controller with which six masses on eleven springs go far; its contacts rest and graze."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(32, 36)) * np.sqrt(2.0 / 68.0) * 2.0
    second = rng.normal(size=(11, 32)) * np.sqrt(2.0 / 43.0) * 1.5
    first, second = (wp.array(w, dtype=wp.float64, requires_grad=True) for w in (first, second))
    x, v, impulse = (wp.zeros(6 * (steps + 1), dtype=wp.vec2d, requires_grad=True) for _ in range(3))
    hidden, action, loss = doubles((steps, 32)), doubles((steps, 11)), doubles()
    links = wp.array(np.array(LINKS, dtype=np.int32), dtype=wp.vec2i)
    rest = wp.array([np.linalg.norm(MASSES[a] - MASSES[b]) for a, b in LINKS], dtype=wp.float64)
    begin = wp.array(MASSES, dtype=wp.vec2d, requires_grad=True)

    def rollout():
        wp.copy(x, begin, count=6)
        impulse.zero_()
        for t in range(steps):
            wp.launch(think, 32, [first, x, v, t, hidden])
            wp.launch(act, 11, [second, hidden, t, action])
            wp.launch(pull, 11, [x, links, rest, action, t, impulse])
            wp.launch(move, 6, [x, v, impulse, t, impact])
        wp.launch(go_far, 1, [x, loss])

    return Problem(rollout, {"first": first, "second": second}, loss)
