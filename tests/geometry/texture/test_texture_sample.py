"""`texture_sample`: values and gradients against a texture of NumPy in float64, and all that can be done with it."""

import copy

import numpy as np
import pytest
from texture_oracle import BORDER, CLAMP, CLOSEST, LINEAR, MIRROR, WRAP, Oracle

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.program import PRIMAL, Form, FormKind
from warpsim.core.emit.target import Options

DEVICES = ["cpu", "interp"] + ["cuda:0"] * wp.is_cuda_available()
TYPES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}
VECTORS = {1: float, 2: wp.vec2, 4: wp.vec4}


def kernel_of(dimensions, dtype):
    """Samples at (n, 3) coordinates and levels of detail."""

    @wp.kernel
    def line(t: wp.Texture1D, u: wp.array[wp.vec3], lod: wp.array[float], out: wp.array[dtype]):
        i = wp.tid()
        out[i] = wp.texture_sample(t, u[i][0], dtype=dtype, lod=lod[i])

    @wp.kernel
    def plane(t: wp.Texture2D, u: wp.array[wp.vec3], lod: wp.array[float], out: wp.array[dtype]):
        i = wp.tid()
        out[i] = wp.texture_sample(t, wp.vec2(u[i][0], u[i][1]), dtype=dtype, lod=lod[i])

    @wp.kernel
    def space(t: wp.Texture3D, u: wp.array[wp.vec3], lod: wp.array[float], out: wp.array[dtype]):
        i = wp.tid()
        out[i] = wp.texture_sample(t, u[i][0], u[i][1], u[i][2], dtype=dtype, lod=lod[i])

    return (line, plane, space)[dimensions - 1]


KERNELS = {(n, c): kernel_of(n, VECTORS[c]) for n in TYPES for c in VECTORS}


def samples(texture, u, lod=None, channels=None):
    """The numbers of a texture at coordinates (n, dimensions), as (n, channels)."""
    device, n = texture.device, len(u)
    channels = channels or texture.num_channels
    padded = np.pad(np.asarray(u, np.float32), ((0, 0), (0, 3 - np.shape(u)[1])))
    lod = np.full(n, -1.0) if lod is None else lod
    out = wp.zeros(n, dtype=VECTORS[channels], device=device)
    inputs = [texture, wp.array(padded, dtype=wp.vec3, device=device), wp.array(lod, dtype=float, device=device), out]
    wp.launch(KERNELS[texture.ndim, channels], n, inputs, device=device)
    return out.numpy().reshape(n, channels)


def random_data(rng, dimensions, channels, dtype):
    shape = (*rng.choice([1, 2, 3, 5, 8], dimensions), channels)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype)


def random_case(seed, dtype=None, dimensions=None):
    """A texture's data, its oracle, options, and coordinates with levels of detail."""
    rng = np.random.default_rng(seed)
    dtype = dtype or rng.choice([np.float32, np.float16, np.uint8, np.int16])
    dimensions = dimensions or int(rng.integers(1, 4))
    data = random_data(rng, dimensions, int(rng.choice([1, 2, 4])), dtype)
    modes = tuple(wp.TextureAddressMode(m) for m in rng.integers(0, 4, dimensions))
    whole = dtype in (np.int32, np.uint32)
    filtering, blending = (CLOSEST if whole else wp.TextureFilterMode(m) for m in rng.integers(0, 2, 2))
    normalized, most = bool(rng.integers(2)), max(data.shape[:-1]).bit_length()
    levels = int(rng.choice([1, most]))
    oracle = Oracle(data, modes, filtering, blending, normalized, levels)
    options = {
        "address_mode": modes if dimensions > 1 else modes[0],
        "filter_mode": filtering,
        "mip_filter_mode": blending,
        "normalized_coords": normalized,
        "num_mip_levels": levels,
    }
    u = rng.uniform(-2.5, 3.5, (60, dimensions)).astype(np.float32)
    if not normalized:
        u *= oracle.sizes.astype(np.float32)
    return data, oracle, options, u, rng.uniform(-1.0, levels + 0.5, 60).astype(np.float32)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_the_oracle(seed, device):
    data, oracle, options, u, lod = random_case(seed)
    texture = TYPES[u.shape[1]](data, device=device, **options)
    expected = oracle.sample(u, lod)
    off = np.abs(samples(texture, u, lod) - expected)
    assert off.max() < 2e-5 * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float16])
def test_every_type_of_data(dtype):
    data, oracle, options, u, lod = random_case(5, dtype)
    texture = TYPES[u.shape[1]](data, **options)
    expected = oracle.sample(u, lod)
    assert np.allclose(samples(texture, u, lod), expected, rtol=1e-5, atol=2e-6 * np.abs(expected).max())


def test_integers_are_normalized():
    for dtype, low in ((np.int8, -128), (np.int16, -32768)):
        data = np.array([low, low + 1, 0, -low - 1], dtype)
        texture = wp.Texture1D(data, filter_mode=CLOSEST)
        assert samples(texture, [[0.1], [0.3], [0.6], [0.9]]).ravel().tolist() == [-1.0, -1.0, 0.0, 1.0]
    whole = wp.Texture1D(np.array([2**24 + 1, -7], np.int32))
    assert whole.filter_mode == CLOSEST
    assert samples(whole, [[0.1], [0.9]]).ravel().tolist() == [2.0**24, -7.0]


@pytest.mark.parametrize("device", DEVICES)
def test_centres_and_borders_of_texels(device):
    data = np.array([1, 2, 4, 8, 16], np.float32)
    for normalized in (True, False):
        scale = 5.0 if normalized else 1.0
        centres = np.arange(-5, 10)[:, None] + 0.5
        borders = np.arange(-5, 11)[:, None]
        for mode, beyond in ((WRAP, data), (CLAMP, data[[0] * 5]), (MIRROR, data[::-1]), (BORDER, [0] * 5)):
            after = data[[4] * 5] if mode == CLAMP else beyond
            texels = np.concatenate([beyond, data, after])
            options = {"address_mode": mode, "normalized_coords": normalized, "device": device}
            closest, linear = wp.Texture1D(data, filter_mode=CLOSEST, **options), wp.Texture1D(data, **options)
            assert samples(closest, centres / scale).ravel().tolist() == texels.tolist()
            assert np.allclose(samples(linear, centres / scale).ravel(), texels, atol=1e-5)
            halfway = samples(linear, borders[1:-1] / scale).ravel()
            assert np.allclose(halfway, (texels[1:] + texels[:-1]) / 2, atol=1e-5)
    whole = wp.Texture1D(data, filter_mode=CLOSEST, normalized_coords=False, address_mode=BORDER, device=device)
    assert samples(whole, [[0.0], [1.0], [4.0], [5.0], [-1e-9]]).ravel().tolist() == [1.0, 2.0, 16.0, 0.0, 0.0]


FAR = np.array([[1e10], [-1e10], [3e38], [np.inf], [-np.inf], [np.nan]], np.float32)
NO_NUMBERS = FAR[3:]


def at_far(mode, filtering, device, u=FAR):
    data = np.array([1, 2, 4, 8, 16], np.float32)
    texture = wp.Texture1D(data, address_mode=mode, filter_mode=filtering, device=device)
    return samples(texture, u).ravel().tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_coordinates_far_away(device):
    for filtering in (CLOSEST, LINEAR):
        assert at_far(CLAMP, filtering, device) == [16.0, 1.0, 16.0, 16.0, 1.0, 16.0]
        assert at_far(BORDER, filtering, device) == [0.0] * 6
    assert at_far(WRAP, CLOSEST, device, FAR[:3]) == at_far(MIRROR, CLOSEST, device, FAR[:3]) == [1.0] * 3
    assert at_far(WRAP, LINEAR, device, FAR[:3]) == [8.5] * 3
    assert at_far(MIRROR, LINEAR, device, FAR[:3]) == [1.0] * 3


def test_no_numbers_have_no_place_in_repeated_textures():
    for mode in (WRAP, MIRROR):
        assert at_far(mode, CLOSEST, "cpu", NO_NUMBERS) == [1.0] * 3
        assert np.isnan(at_far(mode, LINEAR, "cpu", NO_NUMBERS)).all()
        with pytest.raises(wp.errors.InvalidNumberError, match="NaN of inf"):
            at_far(mode, CLOSEST, "interp", NO_NUMBERS)


@pytest.mark.parametrize("dimensions", TYPES)
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR])
def test_one_texel_is_the_same_everywhere(dimensions, mode):
    texture = TYPES[dimensions](np.full((1,) * dimensions, 3.0, np.float32), address_mode=mode, num_mip_levels=0)
    assert texture.num_mip_levels == 1
    assert np.allclose(samples(texture, np.random.default_rng(0).uniform(-3, 3, (20, dimensions))), 3.0)


def test_channels_that_a_texture_lacks_are_zero():
    data = np.arange(1, 13, dtype=np.float32)
    for channels in (1, 2, 4):
        texels = data[: 3 * channels].reshape(3, channels)
        for asked in (1, 2, 4):
            texture = wp.Texture1D(texels, filter_mode=CLOSEST)
            expected = np.pad(texels, ((0, 0), (0, 4)))[:, :asked]
            assert samples(texture, [[0.1], [0.5], [0.9]], channels=asked).tolist() == expected.tolist()


@wp.kernel
def refused(t: wp.Texture2D, out: wp.array[wp.vec3]):
    out[0] = wp.texture_sample(t, 0.5, 0.5, dtype=wp.vec3)


def test_errors_of_kernels():
    texture = wp.Texture2D(np.ones((2, 2), np.float32))
    with pytest.raises(wp.errors.KernelError, match=r"(?s)sampled as vec3f.*float, vec2f or vec4f"):
        wp.launch(refused, 1, [texture, wp.zeros(1, dtype=wp.vec3)])
    with pytest.raises(wp.errors.ArgumentTypeError, match="pass a Texture1D, or None"):
        samples_of = KERNELS[1, 1]
        wp.launch(samples_of, 1, [texture, wp.zeros(1, dtype=wp.vec3), wp.zeros(1), wp.zeros(1)])


# ----- gradients ------------------------------------------------------------------------------


def slopes(oracle, u, lod, weights, step=1e-7):
    """Central differences of the weighted sum along each coordinate and the level of detail, in float64."""
    u, lod = u.astype(np.float64), lod.astype(np.float64)
    along = [
        ((oracle.sample(u + step * e, lod) - oracle.sample(u - step * e, lod)) * weights).sum(1) / (2 * step)
        for e in np.eye(u.shape[1])
    ]
    of_lod = ((oracle.sample(u, lod + step) - oracle.sample(u, lod - step)) * weights).sum(1) / (2 * step)
    return np.stack(along, axis=1), of_lod


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("seed", range(8))
def test_gradients_to_coordinates_levels_and_texels(seed, device):
    data, oracle, options, u, lod = random_case(seed, np.float32)
    n, dimensions, channels = len(u), u.shape[1], data.shape[-1]
    weights = np.random.default_rng(seed).normal(size=(n, channels)).astype(np.float32)
    source = wp.array(data, dtype=float, requires_grad=True, device=device)
    place = wp.array(np.pad(u, ((0, 0), (0, 3 - dimensions))), dtype=wp.vec3, requires_grad=True, device=device)
    levels = wp.array(lod, dtype=float, requires_grad=True, device=device)
    out = wp.zeros(n, dtype=VECTORS[channels], requires_grad=True, device=device)
    with wp.Tape() as tape:
        texture = TYPES[dimensions](source, **options)
        wp.launch(KERNELS[dimensions, channels], n, [texture, place, levels, out], device=device)
    tape.backward(grads={out: wp.array(weights.reshape(out.numpy().shape), dtype=out.dtype, device=device)})
    of_place, of_level = slopes(oracle, u, lod, weights)
    assert np.allclose(place.grad.numpy()[:, :dimensions], of_place, rtol=1e-3, atol=2e-4)
    assert not place.grad.numpy()[:, dimensions:].any()
    assert np.allclose(levels.grad.numpy(), of_level, rtol=1e-3, atol=2e-4)
    direction = np.random.default_rng(1).normal(size=data.shape)
    moved = Oracle(direction, oracle.modes, oracle.filtering, oracle.blending, oracle.normalized, len(oracle.levels))
    along = (moved.sample(u, lod) * weights).sum()  # a texture is linear in its texels
    assert np.isclose((source.grad.numpy() * direction).sum(), along, rtol=1e-4, atol=1e-4)


def test_gradients_of_texels_alone_and_of_coordinates_alone():
    texture = wp.Texture1D(np.array([1.0, 3.0, 7.0], np.float32), normalized_coords=False)
    u, lod = wp.array([[1.25, 0.0, 0.0]], dtype=wp.vec3), wp.array([-1.0], dtype=float)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    texture.texels.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [texture, u, lod, out])
    tape.backward(grads={out: wp.ones(1)})
    assert texture.texels.grad.numpy().tolist() == [0.25, 0.75, 0.0]
    texture.texels.requires_grad, u.requires_grad = False, True
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [texture, u, lod, out])
    tape.backward(grads={out: wp.ones(1)})
    assert u.grad.numpy().tolist() == [[2.0, 0.0, 0.0]]


def test_integers_have_no_gradient_and_half_precision_has():
    data = wp.array([0.5, 1.5], dtype=wp.float16, requires_grad=True)
    u, lod = wp.array([[0.5, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True), wp.array([-1.0], dtype=float)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [wp.Texture1D(data), u, lod, out])
    tape.backward(grads={out: wp.ones(1)})
    assert data.grad.numpy().tolist() == [0.5, 0.5] and u.grad.numpy()[0, 0] == 2.0
    bytes_ = wp.Texture1D(wp.array([0, 255], dtype=wp.uint8))
    u.grad.zero_()
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [bytes_, u, lod, out])
    tape.backward(grads={out: wp.ones(1)})
    assert not bytes_.texels.requires_grad and u.grad.numpy()[0, 0] == 2.0


def test_contents_replaced_on_a_tape_have_their_own_gradients():
    first, second = (wp.array(x, dtype=float, requires_grad=True) for x in ([1.0, 2.0], [5.0, 7.0]))
    u, lod = wp.array([[0.5, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True), wp.array([-1.0], dtype=float)
    out = [wp.zeros(1, dtype=float, requires_grad=True) for _ in range(2)]
    with wp.Tape() as tape:
        texture = wp.Texture1D(first)
        wp.launch(KERNELS[1, 1], 1, [texture, u, lod, out[0]])
        texture.copy_from(second)
        wp.launch(KERNELS[1, 1], 1, [texture, u, lod, out[1]])
    tape.backward(grads={out[0]: wp.full(1, 1.0), out[1]: wp.full(1, 10.0)})
    assert [o.numpy()[0] for o in out] == [1.5, 6.0]
    assert first.grad.numpy().tolist() == [0.5, 0.5] and second.grad.numpy().tolist() == [5.0, 5.0]
    assert u.grad.numpy()[0, 0] == 2.0 * 1.0 + 4.0 * 10.0


# ----- where textures stand -------------------------------------------------------------------


@wp.struct
class Material:
    color: wp.Texture2D
    scale: float


@wp.func
def shade(m: Material, uv: wp.vec2) -> wp.vec4:
    return m.scale * wp.texture_sample(m.color, uv, dtype=wp.vec4f)


@wp.kernel
def shaded(m: Material, uv: wp.array[wp.vec2], out: wp.array[wp.vec4]):
    i = wp.tid()
    out[i] = shade(m, uv[i])


@wp.kernel
def shaded_by(m: wp.array[Material], uv: wp.array[wp.vec2], out: wp.array[wp.vec4]):
    i = wp.tid()
    out[i] = shade(m[i % m.shape[0]], uv[i])


@wp.kernel
def from_atlas(atlas: wp.array[wp.Texture2D], out: wp.array[float]):
    i = wp.tid()
    page = atlas[i]
    out[i] = wp.texture_sample(page, 0.5, 0.5, dtype=float) + 100.0 * float(page.width) + 1000.0 * float(page.height)


@pytest.mark.parametrize("device", DEVICES)
def test_fields_of_structs_and_elements_of_arrays(device):
    rng = np.random.default_rng(0)
    materials, colors = [], []
    for scale in (2.0, 3.0):
        colors.append(rng.random((3, 4, 4)).astype(np.float32))
        m = Material()
        m.color, m.scale = wp.Texture2D(colors[-1], filter_mode=CLOSEST, device=device), scale
        materials.append(m)
    uv = wp.array([[0.3, 0.9], [0.9, 0.1]], dtype=wp.vec2, device=device)
    out = wp.zeros(2, dtype=wp.vec4, device=device)
    wp.launch(shaded, 2, [materials[0], uv, out], device=device)
    assert np.allclose(out.numpy(), [2.0 * colors[0][2, 1], 2.0 * colors[0][0, 3]])
    wp.launch(shaded_by, 2, [wp.array(materials, dtype=Material, device=device), uv, out], device=device)
    assert np.allclose(out.numpy(), [2.0 * colors[0][2, 1], 3.0 * colors[1][0, 3]])
    materials[0].color.copy_from(np.ones((3, 4, 4), np.float32))  # the field and the texture are one
    wp.launch(shaded, 2, [materials[0], uv, out], device=device)
    assert (out.numpy() == 2.0).all()


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_of_textures_keep_them_alive(device):
    sizes = [(1, 2), (3, 1), (2, 2)]
    atlas = wp.array(
        [wp.Texture2D(np.full(s, k, np.float32), device=device) for k, s in enumerate(sizes)] + [wp.Texture2D()],
        dtype=wp.Texture2D,
        device=device,
    )
    out = wp.zeros(4, dtype=float, device=device)
    wp.launch(from_atlas, 4, [atlas, out], device=device)
    assert out.numpy().tolist() == [k + 100.0 * w + 1000.0 * h for k, (h, w) in enumerate(sizes)] + [0.0]


def test_gradients_through_arrays_of_textures():
    sources = [wp.array(np.full((2, 2), k), dtype=float, requires_grad=True) for k in range(3)]
    out = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        atlas = wp.array([wp.Texture2D(s) for s in sources], dtype=wp.Texture2D)
        wp.launch(from_atlas, 3, [atlas, out])
    tape.backward(grads={out: wp.array([1.0, 2.0, 3.0], dtype=float)})
    for k, s in enumerate(sources):
        assert s.grad.numpy().tolist() == [[(k + 1) / 4] * 2] * 2


@wp.kernel
def here(t1: wp.Texture1D, t2: wp.Texture2D, t3: wp.Texture3D, m: Material, out: wp.array[float]):
    out[0] = wp.texture_sample(t1, 0.5, dtype=float) + float(t1.width)
    out[1] = wp.texture_sample(t2, 0.5, 0.5, dtype=float) + float(t2.width + t2.height)
    out[2] = wp.texture_sample(t3, 0.5, 0.5, 0.5, dtype=float) + float(t3.width + t3.height + t3.depth)
    out[3] = shade(m, wp.vec2(0.5))[0]


@pytest.mark.parametrize("device", DEVICES)
def test_no_texture_is_zero_everywhere(device):
    out = wp.full(4, 7.0, dtype=float, device=device)
    empty = Material(color=None, scale=1.0)
    assert not empty.color.width
    wp.launch(here, 1, [None, None, wp.Texture3D(), empty, out], device=device)
    assert out.numpy().tolist() == [0.0] * 4
    with wp.Tape() as tape:
        out.requires_grad = True
        wp.launch(here, 1, [None, None, None, empty, out], device=device)
    tape.backward(grads={out: wp.ones(4, dtype=float, device=device)})


def test_recorded_launches_and_elements_of_arrays_share_texels():
    texture = wp.Texture1D(np.arange(2, dtype=np.float32), normalized_coords=False, device="cpu")
    u = wp.array([[0.5, 0.0, 0.0], [1.5, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    lod, out = wp.array([-1.0, -1.0], dtype=float, device="cpu"), wp.zeros(2, dtype=float, device="cpu")
    command = wp.launch(KERNELS[1, 1], 2, [texture, u, lod, out], record_cmd=True, device="cpu")
    [again] = wp.array([texture], dtype=wp.Texture1D, device="cpu").list()
    assert again == texture and again.id == texture.id and copy.copy(texture) == texture
    again.copy_from(np.array([7.0, 5.0], np.float32))
    command.launch()
    assert out.list() == [7.0, 5.0]
    other = wp.Texture1D(np.array([1.0, 2.0], np.float32), normalized_coords=False, device="cpu")
    command.set_param_at_index(0, other)
    command.launch()
    assert out.list() == [1.0, 2.0]
    later = wp.Launch(KERNELS[1, 1], "cpu")
    later.set_params([texture, u, lod, out])
    later.set_dim(2)
    later.launch()
    assert out.list() == [7.0, 5.0]


def test_a_tape_knows_the_gradients_of_a_texture():
    texture = wp.Texture1D(wp.array([1.0, 3.0], dtype=float, requires_grad=True))
    u, lod = wp.array([[0.5, 0.0, 0.0]], dtype=wp.vec3), wp.array([-1.0], dtype=float)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [texture, u, lod, out])
    tape.backward(grads={out: wp.ones(1)})
    assert tape.gradients[texture].texels.list() == [0.5, 0.5]


def test_checks_of_gradients_take_textures():
    texels = wp.array([1.0, 3.0, 7.0], dtype=float, requires_grad=True)
    texture = wp.Texture1D(texels, normalized_coords=False)
    u = wp.array([[1.25, 0.0, 0.0], [2.2, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(2, dtype=float, requires_grad=True)
    inputs = [texture, u, wp.full(2, -1.0, dtype=float)]
    assert wp.autograd.gradcheck(KERNELS[1, 1], dim=2, inputs=inputs, outputs=[out])
    assert texture.texels.list() == [1.0, 3.0, 7.0]


def test_a_graph_fills_a_texture_anew_at_every_launch_with_checks_on(monkeypatch):
    monkeypatch.setattr(wp.config, "verify", True)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    source = wp.array(data, dtype=float)
    u, lod = wp.array([[1.5, 0.5, 0.0], [0.75, 1.2, 0.0]], dtype=wp.vec3), wp.array([-1.0, -1.0], dtype=float)
    out = wp.zeros(2, dtype=float)
    texture = wp.Texture2D(source, normalized_coords=False)
    with wp.ScopedCapture() as capture:
        texture.copy_from(source)
        wp.launch(KERNELS[2, 1], 2, [texture, u, lod, out])
    for factor in (1.0, -3.0):
        source.assign(factor * data)
        wp.capture_launch(capture.graph)
        assert np.allclose(
            out.numpy(),
            Oracle(factor * data[..., None], [CLAMP] * 2, LINEAR, normalized=False)
            .sample(u.numpy()[:, :2], lod.numpy())
            .ravel(),
            atol=1e-5,
        )


@pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")
@pytest.mark.parametrize("dimensions", TYPES)
def test_kernels_and_adjoints_assemble_for_cuda(dimensions):
    kernel = KERNELS[dimensions, 4]
    for form in (PRIMAL, Form(FormKind.ADJOINT)):
        made = kernel.program(tuple(kernel.patterns.values()), form=form)
        artefact = cuda.emit(made.fn, made.ndim, Options(), made.plan)
        assert cuda.assemble(artefact.ptx, artefact.arch).startswith(b"\x7fELF")
