"""A little path tracer: analytic shapes in structs, enums, random hemispheres, early returns, tuple returns."""

import numpy as np

import warp as wp

SPHERE = 0
PLANE = 1
BOX = 2
MAX_DEPTH = wp.constant(4)
NO_HIT = wp.constant(1.0e30)


@wp.struct
class Shape:
    kind: int
    xform: wp.transform
    size: wp.vec3
    albedo: wp.vec3
    emission: float


@wp.struct
class Camera:
    pos: wp.vec3
    rot: wp.quat
    fov: float


@wp.struct
class Hit:
    t: float
    normal: wp.vec3
    index: int


@wp.func
def hit_sphere(o: wp.vec3, d: wp.vec3, r: float):
    b = wp.dot(o, d)
    c = wp.dot(o, o) - r * r
    disc = b * b - c
    if disc < 0.0:
        return NO_HIT, wp.vec3()
    t = -b - wp.sqrt(disc)
    if t < 1e-3:
        t = -b + wp.sqrt(disc)
    if t < 1e-3:
        return NO_HIT, wp.vec3()
    return t, (o + d * t) / r


@wp.func
def hit_plane(o: wp.vec3, d: wp.vec3):
    if wp.abs(d[1]) < 1e-6:
        return NO_HIT, wp.vec3()
    t = -o[1] / d[1]
    if t < 1e-3:
        return NO_HIT, wp.vec3()
    return t, wp.vec3(0.0, 1.0, 0.0)


@wp.func
def hit_box(o: wp.vec3, d: wp.vec3, h: wp.vec3):
    lo = wp.cw_div(-h - o, d)
    hi = wp.cw_div(h - o, d)
    near = wp.min(lo, hi)
    far = wp.max(lo, hi)
    t0 = wp.max(near)
    t1 = wp.min(far)
    if t0 > t1 or t0 < 1e-3:
        return NO_HIT, wp.vec3()
    n = wp.vec3()
    axis = wp.argmax(near)
    n[int(axis)] = -wp.sign(d[int(axis)])
    return t0, n


@wp.func
def closest(shapes: wp.array(dtype=Shape), o: wp.vec3, d: wp.vec3) -> Hit:
    best = Hit()
    best.t = NO_HIT
    best.index = -1
    for k in range(shapes.shape[0]):
        s = shapes[k]
        inv = wp.transform_inverse(s.xform)
        lo = wp.transform_point(inv, o)
        ld = wp.transform_vector(inv, d)
        t = float(NO_HIT)
        n = wp.vec3()
        if s.kind == SPHERE:
            t, n = hit_sphere(lo, ld, s.size[0])
        elif s.kind == PLANE:
            t, n = hit_plane(lo, ld)
        else:
            t, n = hit_box(lo, ld, s.size)
        if t < best.t:
            best.t = t
            best.normal = wp.transform_vector(s.xform, n)
            best.index = k
    return best


@wp.kernel
def render(
    shapes: wp.array(dtype=Shape),
    cam: Camera,
    seed: int,
    samples: int,
    image: wp.array2d(dtype=wp.vec3),
    depth: wp.array2d(dtype=float),
):
    i, j = wp.tid()
    height, width = image.shape[0], image.shape[1]
    state = wp.rand_init(seed, i * width + j)
    total = wp.vec3()
    for s in range(samples):
        u = (float(j) + wp.randf(state)) / float(width) * 2.0 - 1.0
        v = 1.0 - (float(i) + wp.randf(state)) / float(height) * 2.0
        o = cam.pos
        d = wp.quat_rotate(
            cam.rot, wp.normalize(wp.vec3(u * cam.fov * float(width) / float(height), v * cam.fov, -1.0))
        )
        throughput = wp.vec3(1.0)
        for bounce in range(MAX_DEPTH):
            h = closest(shapes, o, d)
            if h.index < 0:
                total += wp.cw_mul(throughput, wp.lerp(wp.vec3(0.2), wp.vec3(0.5, 0.7, 1.0), 0.5 * (d[1] + 1.0)))
                break
            if s == 0 and bounce == 0:
                depth[i, j] = h.t
            m = shapes[h.index]
            total += throughput * m.emission
            throughput = wp.cw_mul(throughput, m.albedo)
            o = o + d * h.t + h.normal * 1e-3
            d = wp.normalize(h.normal + wp.sample_unit_sphere_surface(state) * 0.999)
    image[i, j] = total / float(samples)


def shape(kind, p, size=(1, 1, 1), albedo=(0.7, 0.7, 0.7), emission=0.0, q=None):
    s = Shape()
    s.kind = kind
    s.xform = wp.transform(p, q if q is not None else wp.quat_identity())
    s.size = wp.vec3(*size)
    s.albedo = wp.vec3(*albedo)
    s.emission = emission
    return s


scene = [
    shape(PLANE, (0.0, -0.5, 0.0)),
    shape(SPHERE, (-0.6, 0.0, -2.0), (0.5, 0, 0), (0.9, 0.3, 0.3)),
    shape(
        BOX, (0.7, 0.0, -2.2), (0.4, 0.5, 0.3), (0.3, 0.9, 0.3), q=wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.5)
    ),
    shape(SPHERE, (0.0, 2.0, -2.0), (0.6, 0, 0), (0.0, 0.0, 0.0), emission=4.0),
]
shapes = wp.array(scene, dtype=Shape)
cam = Camera()
cam.pos = wp.vec3(0.0, 0.3, 1.0)
cam.rot = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), -0.1)
cam.fov = 0.6
image, depth = wp.zeros((24, 32), dtype=wp.vec3), wp.zeros((24, 32), dtype=float)
wp.launch(render, dim=image.shape, inputs=[shapes, cam, 7, 16], outputs=[image, depth])
img = image.numpy()
print("mean %s" % img.reshape(-1, 3).mean(axis=0).round(3), "brightest %.2f" % img.max())
print("depth hits", int((depth.numpy() > 0).sum()), "nearest %.4f" % depth.numpy()[depth.numpy() > 0].min())
print(shapes.numpy()["kind"], scene[2].xform, shapes.numpy()["albedo"][1])
