"""Textures on the host: what they are made of, what they say about themselves, and how contents come and go."""

import numpy as np
import pytest
from texture_oracle import BORDER, CLAMP, CLOSEST, LINEAR, MIRROR, WRAP, halved, numbers

import warpsim as wp
from warpsim.errors import TextureError

DEVICES = ["cpu", "interp"] + ["cuda:0"] * wp.is_cuda_available()
DATA = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def contents(texture):
    out = np.zeros((*texture.shape,), wp.dtype_to_numpy(texture.dtype))
    texture.copy_to(out)
    return out


@pytest.mark.parametrize("device", DEVICES)
def test_data_gives_a_texture_its_extents_and_channels(device):
    for texture, shape, sizes in (
        (wp.Texture1D, (4,), (4, 1, 1, 1)),
        (wp.Texture1D, (4, 1), (4, 1, 1, 1)),
        (wp.Texture1D, (4, 2), (4, 1, 1, 2)),
        (wp.Texture2D, (3, 4), (4, 3, 1, 1)),
        (wp.Texture2D, (3, 4, 4), (4, 3, 1, 4)),
        (wp.Texture3D, (2, 3, 4), (4, 3, 2, 1)),
        (wp.Texture3D, (2, 3, 4, 2), (4, 3, 2, 2)),
    ):
        made_of = np.zeros(shape, np.float32)
        for data in (made_of, wp.array(made_of, dtype=float, device=device)):
            t = texture(data, device=device)
            assert isinstance(t, wp.Texture) and t.ndim == int(texture.__name__[-2]) and str(t.device) == device
            assert (t.width, t.height, t.depth, t.num_channels) == sizes
            assert t.shape == (shape if shape[-1] > 1 else shape[:-1])


def test_attributes_say_how_a_texture_is_read():
    t = wp.Texture2D(DATA)
    assert (t.filter_mode, t.mip_filter_mode, t.address_mode_u, t.address_mode_w) == (LINEAR, LINEAR, CLAMP, CLAMP)
    assert t.normalized_coords and not t.is_mipmapped and t.num_mip_levels == 1 and t.dtype is wp.float32 and t.id
    assert repr(t) == "Texture2D((3, 4, 2), float32, LINEAR)"
    t = wp.Texture3D(
        np.ones((2, 2, 8), np.uint8),
        address_mode=(WRAP, MIRROR),
        address_mode_u=BORDER,
        filter_mode=CLOSEST,
        num_mip_levels=0,
        normalized_coords=False,
        surface_access=True,
    )
    assert (t.address_mode_u, t.address_mode_v, t.address_mode_w) == (BORDER, MIRROR, CLAMP)
    assert (t.filter_mode, t.mip_filter_mode, t.num_mip_levels, t.normalized_coords) == (CLOSEST, LINEAR, 4, False)
    assert t.is_mipmapped and t.dtype is wp.uint8 and t.texels.size == 32 + 4 + 2 + 1
    assert wp.Texture1D(np.ones(4, np.float32), address_mode=0, filter_mode=0).address_mode_u == WRAP
    assert wp.Texture1D(DATA[0, :, 0], address_mode=None).address_mode_u == CLAMP
    assert list(wp.TextureAddressMode) == [0, 1, 2, 3] and list(wp.TextureFilterMode) == [0, 1]


@pytest.mark.parametrize("texture", [wp.Texture1D, wp.Texture2D, wp.Texture3D])
def test_an_empty_texture_has_no_contents(texture):
    t = texture()
    assert t == texture() and (t.width, t.num_mip_levels, t.id, t.device) == (0, 0, 0, None)
    assert repr(t) == f"{texture.__name__}()"
    with pytest.raises(TextureError, match="empty texture has no contents"):
        t.copy_to(np.zeros(1, np.float32))
    with pytest.raises(TextureError, match="empty texture has no contents"):
        t.copy_from(np.zeros(1, np.float32))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: wp.Texture1D([1.0, 2.0]), "an array or a NumPy array"),
        (lambda: wp.Texture1D(np.ones(4)), r"(?s)float64.*one of float32"),
        (lambda: wp.Texture1D(np.ones(4, bool)), "one of float32"),
        (lambda: wp.Texture1D(np.ones(4, "U3")), "one of float32"),
        (lambda: wp.Texture1D(wp.zeros(4, dtype=wp.vec2)), "one of float32"),
        (lambda: wp.Texture1D(np.ones((2, 2, 2), np.float32)), r"\(width,\) or"),
        (lambda: wp.Texture2D(np.ones(4, np.float32)), r"\(height, width\) or"),
        (lambda: wp.Texture2D(np.ones((2, 2, 3), np.float32)), "3 channels"),
        (lambda: wp.Texture2D(np.ones((0, 2), np.float32)), "height 0"),
        (lambda: wp.Texture3D(np.ones((2, 2, 0, 1), np.float32)), "width 0"),
        (lambda: wp.Texture2D(DATA, width=3), r"(?s)width 3.*4, as its data"),
        (lambda: wp.Texture2D(DATA, num_channels=1), r"(?s)num_channels 1.*2, as its data"),
        (lambda: wp.Texture2D(DATA, dtype=wp.uint8), r"(?s)uint8.*float32, as its data"),
        (lambda: wp.Texture2D(width=4, num_channels=1, dtype=wp.float32), "height 0"),
        (lambda: wp.Texture2D(width=4, height=-1, num_channels=1, dtype=wp.float32), "height -1"),
        (lambda: wp.Texture1D(width=4, dtype=wp.float32), "0 channels"),
        (lambda: wp.Texture1D(width=4, num_channels=1), "one of float32"),
        (lambda: wp.Texture1D(width=2**31, num_channels=1, dtype=wp.uint8), "less than 2147483648"),
        (lambda: wp.Texture2D(DATA, address_mode=7), r"(?s)address_mode_u 7.*WRAP"),
        (lambda: wp.Texture2D(DATA, address_mode=[WRAP, CLAMP]), "address_mode_u"),
        (lambda: wp.Texture2D(DATA, filter_mode="linear"), r"(?s)filter_mode 'linear'.*CLOSEST"),
        (lambda: wp.Texture2D(DATA, num_mip_levels=4), "0 to 3"),
        (lambda: wp.Texture2D(DATA, num_mip_levels=-1), "0 to 3"),
        (lambda: wp.Texture2D(DATA, cuda_array=5), "cuda_array"),
        (lambda: wp.Texture1D(np.ones(4, np.int32), filter_mode=LINEAR), "32-bit integers"),
        (lambda: wp.Texture1D(np.ones(4, np.uint32), mip_filter_mode=LINEAR, num_mip_levels=0), "32-bit integers"),
    ],
)
def test_data_sizes_and_modes_that_make_no_texture(make, message):
    with pytest.raises(TextureError, match=message):
        make()
    assert issubclass(TextureError, ValueError)


def test_attributes_cannot_be_set():
    t = wp.Texture2D(DATA)
    with pytest.raises(AttributeError, match="make another texture"):
        t.width = 100
    with pytest.raises(AttributeError, match="make another texture"):
        t.filter_mode = CLOSEST


@pytest.mark.parametrize("device", DEVICES)
def test_data_is_copied(device):
    data = DATA.copy()
    array = wp.array(data, dtype=float, device=device)
    textures = [wp.Texture2D(data, device=device), wp.Texture2D(array)]
    data[:] = 0.0
    array.zero_()
    assert all((contents(t) == DATA).all() for t in textures)


def test_any_memory_is_data():
    frozen = DATA.copy()
    frozen.flags.writeable = False
    for data in (frozen, np.asfortranarray(DATA), DATA.astype(">f4"), np.repeat(DATA, 2, axis=1)[:, ::2]):
        assert (contents(wp.Texture2D(data)) == DATA).all()
    strided = wp.array(np.repeat(DATA, 2, axis=1), dtype=float)[:, ::2]
    assert (contents(wp.Texture2D(strided)) == DATA).all()


def test_without_data_texels_are_zero():
    t = wp.Texture2D(width=4, height=3, num_channels=2, dtype=wp.uint16)
    assert contents(t).shape == (3, 4, 2) and not contents(t).any() and t.dtype is wp.uint16
    t.copy_from(DATA.astype(np.uint16))
    assert (contents(t) == DATA).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float16, np.float32])
def test_contents_come_back(dtype, device):
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    data = np.array([limits.min, limits.max, 0, 1, 77], dtype)
    back = contents(wp.Texture1D(data, device=device))
    if dtype in (np.int8, np.int16):
        data[0] += 1  # both are -1 in a texture
    if dtype in (np.int32, np.uint32):
        data = np.clip(data.astype(np.float32).astype(float), limits.min, limits.max).astype(dtype)
    assert back.tolist() == data.tolist()


def test_copies_between_textures_and_arrays():
    t, array, strided = wp.Texture2D(DATA), wp.zeros((3, 4, 2), dtype=float), np.zeros((3, 8, 2), np.float32)
    t.copy_to(array)
    t.copy_to(strided[:, ::2])
    assert (array.numpy() == DATA).all() and (strided[:, ::2] == DATA).all() and not strided[:, 1::2].any()
    other = wp.Texture2D(-DATA, filter_mode=CLOSEST)
    t.copy_from(other)
    assert (contents(t) == -DATA).all()
    t.copy_from(wp.array(2 * DATA, dtype=float))
    t.copy_to(other)
    assert (contents(other) == 2 * DATA).all()
    line = wp.Texture1D(np.arange(3, dtype=np.float32))
    line.copy_from(np.ones((3, 1), np.float32))
    assert contents(line).tolist() == [1.0] * 3
    for wrong in (np.ones(4, np.float32), np.ones(3, np.uint8), wp.ones((3, 2)), wp.Texture1D(np.ones(3, np.uint8))):
        with pytest.raises(TextureError, match="a copy between"):
            line.copy_from(wrong)
    for wrong in (np.ones(4, np.float32), np.ones(3, np.uint8), wp.ones((3, 2))):
        with pytest.raises(TextureError, match="a copy between"):
            line.copy_to(wrong)
    for wrong in (None, [1.0, 1.0, 1.0], 5):
        with pytest.raises(TextureError, match="an array"):
            line.copy_from(wrong)
        with pytest.raises(TextureError, match="an array"):
            line.copy_to(wrong)
    with pytest.raises(TextureError, match="a copy between"):
        line.copy_from(wp.Texture2D(np.ones((1, 3), np.float32)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.float16, np.float32])
def test_levels_are_means_in_the_type_of_the_data(dtype, device):
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(3, 5, 8, 2)) * (1.0 if np.dtype(dtype).kind == "f" else 40.0)).astype(dtype)
    expected, level = [], data
    t = wp.Texture3D(data, num_mip_levels=0, device=device)
    for _ in range(t.num_mip_levels):
        expected.append(numbers(level).ravel())
        level = halved(level, 3)
    assert np.allclose(t.texels.numpy(), np.concatenate(expected), rtol=1e-6)
    t.copy_from(np.zeros_like(data))
    assert not t.texels.numpy().any()


def test_a_struct_takes_textures_of_its_type():
    @wp.struct
    class Scene:
        sky: wp.Texture2D
        fog: wp.Texture3D

    s = Scene()
    assert not s.sky.width
    s.sky = t = wp.Texture2D(DATA, address_mode=WRAP)
    assert s.sky == t and s.sky.id == t.id and s.sky.address_mode_u == WRAP and s.sky.dtype is wp.float32
    assert (contents(s.sky) == DATA).all()
    s.sky = None
    assert not s.sky.width
    for wrong in (wp.Texture1D(DATA[0, :, 0]), wp.zeros(3), 3):
        with pytest.raises(TypeError, match=r"Scene\.sky"):
            s.sky = wrong
