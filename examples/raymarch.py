"""A picture of a NanoVDB file, by marching rays through its signed distance field.

Sphere tracing (Hart 1996): a ray steps by the distance that the volume holds where it is, as no surface is nearer;
where the sign changes, bisection finds the surface. Its normal is the gradient of the same sample. Light comes from the
sun, with shadows by a second march, and from the sky, dimmed where surfaces are near (Evans 2006).

Without a file a blend of a ring, a ball and a drilled block is made with the Volume API, written and loaded again.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.image import imsave

import warpsim as wp
from warpsim.render import SimulationParser

VOXEL = 0.02  # of the volume made here [m]
BAND = 4.0  # voxels on each side of the surface whose distances are kept
SUN = np.array([0.5, 0.75, 0.42]) / np.linalg.norm([0.5, 0.75, 0.42])
STEPS = 400  # at most, along one ray
ALBEDO, GROUND = wp.vec3(0.55, 0.26, 0.12), wp.vec3(0.32, 0.33, 0.34)  # linear RGB


@wp.func
def distance(volume: wp.uint64, p: wp.vec3):
    """The distance that the volume holds at a point of the world."""
    return wp.volume_sample_f(volume, wp.volume_world_to_index(volume, p), wp.Volume.LINEAR)


@wp.func
def normal(volume: wp.uint64, p: wp.vec3):
    """Unit normal from the gradient in index space; the map of a level set is a turn and one scale."""
    slope = wp.vec3(0.0, 0.0, 0.0)
    wp.volume_sample_grad_f(volume, wp.volume_world_to_index(volume, p), wp.Volume.LINEAR, slope)
    return wp.normalize(wp.volume_index_to_world_dir(volume, slope))


@wp.func
def march(volume: wp.uint64, eye: wp.vec3, ray: wp.vec3, near: float, far: float, voxel: float):
    """How far along the ray the surface is, or -1 where the ray leaves the box without meeting it."""
    t = near
    before = near
    for _ in range(STEPS):
        if t > far:
            return -1.0
        d = distance(volume, eye + ray * t)
        if d < 0.0:
            for _ in range(8):
                middle = 0.5 * (before + t)
                if distance(volume, eye + ray * middle) < 0.0:
                    t = middle
                else:
                    before = middle
            return t
        before = t
        t += wp.max(0.9 * d, 0.1 * voxel)
    return -1.0


@wp.func
def through_box(low: wp.vec3, high: wp.vec3, eye: wp.vec3, ray: wp.vec3):
    """Where a ray enters a box and leaves it; it leaves before it enters where it misses."""
    near = float(0.0)
    far = float(1.0e30)
    for k in range(3):
        a = (low[k] - eye[k]) / ray[k]
        b = (high[k] - eye[k]) / ray[k]
        near = wp.max(near, wp.min(a, b))
        far = wp.min(far, wp.max(a, b))
    return wp.vec2(near, far)


@wp.func
def light(volume: wp.uint64, low: wp.vec3, high: wp.vec3, p: wp.vec3, n: wp.vec3, sun: wp.vec3, voxel: float):
    """Light that reaches a point: Lambert's cosine under the sun, with shadow, and the sky seen past near surfaces."""
    start = p + n * (2.0 * voxel)
    span = through_box(low, high, start, sun)
    direct = wp.max(wp.dot(n, sun), 0.0)
    if direct > 0.0 and span[0] < span[1]:
        if march(volume, start, sun, 0.0, span[1], voxel) >= 0.0:
            direct = 0.0
    open = float(1.0)
    for k in range(1, 4):  # a free surface is as far away as one has moved from it
        reach = float(k) * voxel
        open -= 0.25 * wp.clamp((reach - distance(volume, p + n * reach)) / reach, 0.0, 1.0)
    return 1.5 * direct * wp.vec3(1.0, 0.94, 0.84) + (0.25 + 0.2 * n[1]) * open * wp.vec3(0.72, 0.86, 1.0)


@wp.func
def shade(volume: wp.uint64, low: wp.vec3, high: wp.vec3, eye: wp.vec3, ray: wp.vec3, sun: wp.vec3, voxel: float):
    """The color that comes along a ray, and how far away the surface is, or -1."""
    haze = wp.vec3(0.62, 0.70, 0.78)
    span = through_box(low, high, eye, ray)
    if span[0] < span[1]:
        t = march(volume, eye, ray, span[0], span[1], voxel)
        if t >= 0.0:
            p = eye + ray * t
            return wp.cw_mul(ALBEDO, light(volume, low, high, p, normal(volume, p), sun, voxel)), t
    if ray[1] < 0.0 and eye[1] > low[1]:  # a floor under the box
        t = (low[1] - eye[1]) / ray[1]
        lit = light(volume, low, high, eye + ray * t, wp.vec3(0.0, 1.0, 0.0), sun, voxel)
        return wp.lerp(wp.cw_mul(GROUND, lit), haze, wp.smoothstep(1.5, 6.0, t / wp.length(high - low))), -1.0
    return wp.lerp(haze, wp.vec3(0.30, 0.46, 0.70), wp.clamp(1.5 * ray[1], 0.0, 1.0)), -1.0


@wp.kernel
def render(
    volume: wp.uint64,
    low: wp.vec3,
    high: wp.vec3,
    eye: wp.vec3,
    axes: wp.mat33,
    sun: wp.vec3,
    voxel: float,
    samples: int,
    image: wp.array2d[wp.vec3],
    depth: wp.array2d[float],
):
    """One pixel: the mean of samples x samples rays; rows of `axes`: right, up, forward over tan(half the view)."""
    row, column = wp.tid()
    half = 0.5 * float(image.shape[0])
    color = wp.vec3(0.0, 0.0, 0.0)
    nearest = float(-1.0)
    for s in range(samples * samples):
        x = float(column) + (float(s % samples) + 0.5) / float(samples) - 0.5 * float(image.shape[1])
        y = half - float(row) - (float(s // samples) + 0.5) / float(samples)
        ray = wp.normalize(wp.transpose(axes) @ wp.vec3(x / half, y / half, 1.0))
        seen, t = shade(volume, low, high, eye, ray, sun, voxel)
        color += seen
        if s == 0:
            nearest = t
    image[row, column] = color / float(samples * samples)
    depth[row, column] = nearest


# ----- the volume made here ---------------------------------------------------------------------


@wp.func
def blend(a: float, b: float, width: float):
    """The smaller of two distances, rounded where they differ by less than `width`."""
    overlap = wp.max(width - wp.abs(a - b), 0.0)
    return wp.min(a, b) - 0.25 * overlap * overlap / width


@wp.func
def shape(p: wp.vec3):
    """Distance to a ring that melts into a ball, and to a rounded block that a tube has been cut out of."""
    ring = wp.length(wp.vec2(wp.length(wp.vec2(p.x + 0.35, p.y - 0.62)) - 0.42, p.z)) - 0.14
    ball = wp.length(p - wp.vec3(0.0, 0.35, 0.28)) - 0.34
    outside = wp.vec3(wp.abs(p.x - 0.62) - 0.2, wp.abs(p.y - 0.3) - 0.25, wp.abs(p.z + 0.1) - 0.2)
    block = wp.length(wp.max(outside, wp.vec3(0.0, 0.0, 0.0))) - 0.05
    tube = wp.length(wp.vec2(p.y - 0.36, p.z + 0.1)) - 0.14
    return wp.min(blend(ring, ball, 0.2), -blend(-block, tube, 0.06))


@wp.kernel
def fill(volume: wp.uint64, voxels: wp.array[wp.vec3i], band: float):
    """The distance in every voxel, cut off outside of a band around the surface."""
    v = voxels[wp.tid()]
    p = wp.volume_index_to_world(volume, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
    wp.volume_store_f(volume, v[0], v[1], v[2], wp.clamp(shape(p), -band, band))


def make_volume(path, device):
    """Write the shape as a narrow-band level set."""
    band = BAND * VOXEL
    box = [-1.1, 0.0, -0.5], [1.1, 1.3, 0.8]
    volume = wp.Volume.allocate(*box, VOXEL, band, points_in_world_space=True, device=device)
    voxels = wp.array(volume.get_voxels(), dtype=wp.vec3i, device=device)
    wp.launch(fill, len(voxels), [volume.id, voxels, band], device=device)
    volume.save_to_nvdb(path)


# ----- the picture --------------------------------------------------------------------------------


@dataclass
class Result:
    """The picture (h, w, 3), sRGB in [0, 1]; depth (h, w) [m] of each pixel's first ray, -1 for none; the camera."""

    image: np.ndarray
    depth: np.ndarray
    eye: np.ndarray
    axes: np.ndarray


@wp.kernel
def enclose(
    volume: wp.uint64, voxels: wp.array[wp.vec3i], low: wp.array[wp.vec3], high: wp.array[wp.vec3]
):
    """Widen a box of the world to all voxels that lie inside the surface."""
    v = voxels[wp.tid()]
    if wp.volume_lookup_f(volume, v[0], v[1], v[2]) < 0.0:
        p = wp.volume_index_to_world(volume, wp.vec3(float(v[0]), float(v[1]), float(v[2])))
        wp.atomic_min(low, 0, p)
        wp.atomic_max(high, 0, p)


def bounds(volume, device):
    """The box (low, high) of the world around the surface; a box of negative size where there is none."""
    voxels = wp.array(volume.get_voxels(), dtype=wp.vec3i, device=device)
    low, high = (wp.array([3 * [s * 1.0e30]], dtype=wp.vec3, device=device) for s in (1, -1))
    wp.launch(enclose, dim=len(voxels), inputs=[volume.id, voxels, low, high], device=device)
    margin = float(max(volume.get_voxel_size()))  # a surface passes less than a voxel beyond what is inside
    return low.numpy()[0] - margin, high.numpy()[0] + margin


def camera(low, high, azimuth, elevation, view=28.0):
    """Eye (3,) and axes (3, 3) that look at the middle of a box from a direction; all angles in degrees."""
    a, e = np.radians([azimuth, elevation])
    back = np.array([np.cos(e) * np.sin(a), np.sin(e), np.cos(e) * np.cos(a)])
    right = np.array([np.cos(a), 0.0, -np.sin(a)])
    zoom = 1.0 / np.tan(np.radians(0.5 * view))
    eye = 0.5 * (low + high) + back * 0.45 * np.linalg.norm(high - low) * np.sqrt(1.0 + zoom * zoom)
    return eye, np.stack([right, np.cross(back, right), -zoom * back])


def run(args):
    """Make or load the volume, draw it, write the picture, print a summary; returns a Result."""
    path = args.volume
    if path is None:
        path = args.picture.with_suffix(".nvdb")
        make_volume(path, args.device)
    volume = wp.Volume.load_from_nvdb(path, device=args.device)
    low, high = bounds(volume, args.device)
    if low[0] > high[0]:
        raise SystemExit(f"{path}: no voxel is below zero, so there is no surface to see: expected a signed distance")
    eye, axes = camera(low, high, args.azimuth, args.elevation)
    shape = (args.height, round(1.4 * args.height))
    image = wp.zeros(shape, dtype=wp.vec3, device=args.device)
    depth = wp.zeros(shape, dtype=float, device=args.device)
    voxel = float(min(volume.get_voxel_size()))
    scene = [volume.id, wp.vec3(*low), wp.vec3(*high), wp.vec3(*eye), wp.mat33(*axes.ravel()), wp.vec3(*SUN), voxel]
    begin = time.perf_counter()
    wp.launch(render, dim=shape, inputs=[*scene, args.samples], outputs=[image, depth], device=args.device)
    wp.synchronize()
    spent = time.perf_counter() - begin
    pixels = np.clip(image.numpy(), 0.0, 1.0) ** (1.0 / 2.2)
    imsave(args.picture, pixels)
    rays = shape[0] * shape[1] * args.samples**2
    print(f"{args.picture}: {path.name}, {volume.get_tile_count()} blocks of voxels, {rays} rays in {spent:.1f} s")
    return Result(pixels, depth.numpy(), eye, axes)


def check(result):
    """Raise AssertionError unless there is something to see."""
    assert np.isfinite(result.image).all() and result.image.std() > 0.02, "an empty picture"
    seen = (result.depth > 0.0).mean()
    assert seen > 0.01, f"the surface covers {seen:.1%} of the picture: is the volume a signed distance?"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--volume", type=Path, help="an .nvdb file whose first grid is a signed distance")
    parser.add_argument("--height", type=int, above=0, default=500, help="of the picture in pixels")
    parser.add_argument("--samples", type=int, above=0, default=2, help="along each side of a pixel")
    parser.add_argument("--azimuth", type=float, default=25.0, help="of the viewer [deg]")
    parser.add_argument("--elevation", type=float, least=-80, most=80, default=24.0, help="of the viewer [deg]")
    parser.add_argument("--picture", type=Path, default=Path("raymarch.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
