"""Random numbers: pi, a random walk, sampling shapes, noise; every number is determined by its seed."""

import numpy as np

import warp as wp


@wp.kernel
def estimate_pi(seed: int, samples: int, inside: wp.array(dtype=wp.int32)):
    tid = wp.tid()
    rng = wp.rand_init(seed, tid)
    n = int(0)
    for _ in range(samples):
        x = wp.randf(rng)
        y = wp.randf(rng, -1.0, 1.0)
        if x * x + y * y < 1.0:
            n += 1
    wp.atomic_add(inside, 0, n)


@wp.kernel
def integers(seed: int, a: wp.array(dtype=wp.int32), b: wp.array(dtype=wp.int32), c: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    s = wp.rand_init(seed, i)
    a[i] = wp.randi(s)
    b[i] = wp.randi(s, -10, 10)
    c[i] = wp.randu(s, wp.uint32(5), wp.uint32(500))


@wp.kernel
def shapes(
    seed: int,
    disk: wp.array(dtype=wp.vec2),
    ball: wp.array(dtype=wp.vec3),
    shell: wp.array(dtype=wp.vec3),
    hemi: wp.array(dtype=wp.vec3),
    square: wp.array(dtype=wp.vec2),
    cube: wp.array(dtype=wp.vec3),
    ring: wp.array(dtype=wp.vec2),
):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    disk[i] = wp.sample_unit_disk(state)
    ball[i] = wp.sample_unit_sphere(state)
    shell[i] = wp.sample_unit_sphere_surface(state)
    hemi[i] = wp.sample_unit_hemisphere_surface(state)
    square[i] = wp.sample_unit_square(state)
    cube[i] = wp.sample_unit_cube(state)
    ring[i] = wp.sample_unit_ring(state)


@wp.kernel
def gaussians(seed: int, out: wp.array(dtype=float), counts: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i] = wp.randn(state)
    counts[i] = wp.poisson(state, 4.5)


@wp.kernel
def walk(seed: int, steps: int, ends: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    state = wp.rand_init(seed + i)
    p = wp.vec2(0.0, 0.0)
    k = int(0)
    while k < steps:
        t = wp.randf(state, 0.0, 2.0 * wp.pi)
        p += wp.vec2(wp.cos(t), wp.sin(t))
        k += 1
    ends[i] = p


@wp.kernel
def noises(seed: int, out: wp.array2d(dtype=float), cn: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    state = wp.rand_init(seed)
    x = float(i) * 0.173
    out[i, 0] = wp.noise(state, x)
    out[i, 1] = wp.noise(state, wp.vec2(x, 0.5 * x))
    out[i, 2] = wp.noise(state, wp.vec3(x, 0.3, x))
    out[i, 3] = wp.noise(state, wp.vec4(x, 0.3, x, 0.1))
    out[i, 4] = wp.pnoise(state, wp.vec2(x, 2.0 * x), 4, 4)
    cn[i] = wp.curlnoise(state, wp.vec3(x, 1.0, 2.0))


@wp.kernel
def choose(seed: int, cdf: wp.array(dtype=float), picks: wp.array(dtype=wp.int32)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    k = wp.sample_cdf(state, cdf)
    wp.atomic_add(picks, k, 1)


if __name__ == "__main__":
    inside = wp.zeros(1, dtype=wp.int32)
    wp.launch(estimate_pi, dim=1000, inputs=[42, 100, inside])
    print("pi", 4.0 * inside.numpy()[0] / 100000)

    a, b, c = wp.zeros(8, dtype=wp.int32), wp.zeros(8, dtype=wp.int32), wp.zeros(8, dtype=wp.uint32)
    wp.launch(integers, dim=8, inputs=[7, a, b, c])
    print(a.numpy().tolist(), b.numpy().tolist(), c.numpy().tolist())

    n = 256
    two = [wp.zeros(n, dtype=wp.vec2) for _ in range(3)]
    three = [wp.zeros(n, dtype=wp.vec3) for _ in range(4)]
    wp.launch(shapes, dim=n, inputs=[1234, two[0], three[0], three[1], three[2], two[1], three[3], two[2]])
    for arr in (*two, *three):
        print(arr.numpy()[:2].tolist(), float(np.linalg.norm(arr.numpy(), axis=1).mean()))

    g, counts = wp.zeros(n, dtype=float), wp.zeros(n, dtype=wp.uint32)
    wp.launch(gaussians, dim=n, inputs=[99], outputs=[g, counts])
    print(
        "normal",
        g.numpy().mean(dtype=np.float64),
        g.numpy().std(dtype=np.float64),
        "poisson",
        counts.numpy()[:10],
        counts.numpy().mean(),
    )

    ends = wp.empty(n, dtype=wp.vec2)
    wp.launch(walk, dim=n, inputs=[3, 100], outputs=[ends])
    print("walk", ends.numpy()[:2], (ends.numpy() ** 2).sum(axis=1).mean())

    out, cn = wp.zeros((10, 5), dtype=float), wp.zeros(10, dtype=wp.vec3)
    wp.launch(noises, dim=10, inputs=[5, out, cn])
    print("noise", np.abs(out.numpy()).sum(axis=0), out.numpy()[3], cn.numpy()[2])

    cdf = wp.array(np.cumsum([0.1, 0.2, 0.3, 0.4]), dtype=float)
    picks = wp.zeros(4, dtype=wp.int32)
    wp.launch(choose, dim=2000, inputs=[17, cdf, picks])
    print("picks", picks.numpy())
