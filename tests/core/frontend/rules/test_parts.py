"""Reading parts: components, rows, slices, swizzles, elements, views, and the indices that are refused."""

import numpy as np
import pytest
from kernel_runs import filled, ran, refused

import warpsim as wp
from warpsim.core.types.compounds import vector
from warpsim.errors import KernelAttributeError, KernelLookupError, KernelTypeError, KernelValueError, OutOfBoundsError

Floats = wp.array(dtype=float)
SCALES = np.array([1.5, 2.5])


@wp.kernel
def parts(out: Floats, v: wp.vec4, m: wp.mat33, i: int):
    out[0] = v.x + v.w + v[1] + v[-1] + v[i]
    out[1] = v.xy[1] + v.wzyx[0] + v.xxx.z
    out[2] = v[1:3][0] + v[:2][1] + v[::2][1] + v[::-1][0]
    out[3] = m[1, 2] + m[2][0] + m[i][i] + m[i, 0]
    r = m[1]
    out[4] = r.x + r.y + r[i]
    out[5] = float(len(v)) + float(len(m)) + float(len(m[0]))
    out[6] = v.dtype(2) + m.dtype(3)


def test_components_rows_slices_and_swizzles():
    v, m = wp.vec4(1, 2, 3, 4), wp.mat33(*range(9))
    want = [1 + 4 + 2 + 4 + 3, 2 + 4 + 1, 2 + 2 + 3 + 4, 5 + 6 + 8 + 6, 3 + 4 + 5, 4 + 3 + 3, 5]
    assert filled(parts, 7, v, m, 2, threads=1) == want


@wp.kernel
def computed_index(out: Floats, v: wp.vec3):
    i = wp.tid()
    out[i] = v[i - 4]


@pytest.mark.cpu(reason="names its devices")
def test_a_computed_component_counts_from_the_end():
    """Outside of the vector is no number."""
    out = wp.zeros(8, dtype=float)
    wp.launch(computed_index, 8, [out, wp.vec3(1, 2, 3)], device="cpu")
    np.testing.assert_array_equal(out.numpy(), [np.nan, 1, 2, 3, 1, 2, 3, np.nan])
    with pytest.raises(OutOfBoundsError, match="component index -4 is outside 0 to 2"):
        wp.launch(computed_index, 8, [out, wp.vec3(1, 2, 3)], device="interp")


@wp.kernel
def array_parts(out: Floats, a: wp.array2d(dtype=float), v: wp.array(dtype=wp.vec2)):
    out[0] = a[1, 2] + a[1][2] + a[-1, -1] + a[-2][0]
    row = a[1]
    out[1] = row[0] + row[-1]
    out[2] = float(len(a)) + float(a.shape[1] * 10) + float(a.size * 100) + float(a.ndim * 1000)
    out[3] = v[1].y + v[-1][0] + v[0, 1]
    k = -2
    out[4] = row[k]


def test_elements_views_and_negative_indices():
    a, v = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4, dtype=np.float32).reshape(2, 2)
    assert ran(array_parts, 1, np.zeros(5, np.float32), a, v)[0].tolist() == [15, 8, 2632, 3 + 2 + 1, 4]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("v[3]", KernelLookupError, "component 3 of vec3f"),
        ("v[-4]", KernelLookupError, "component -4 of vec3f"),
        ("v[1.0]", KernelTypeError, "index of a vec3f is 1.0 (float32)"),
        ("v[v.x]", KernelTypeError, "index of a vec3f is float32"),
        ("v[0, 1]", KernelTypeError, "vec3f takes 1 index, got 2"),
        ("v[n:2]", KernelTypeError, "slice bounds must be integer constants"),
        ("wp.mat22()[1:1]", KernelValueError, "the slice of mat22f is empty"),
        ("wp.mat22()[0:1, 0, 1]", KernelTypeError, "mat22f takes 2 indices, got 3"),
        ("v[::0]", KernelValueError, "slice step cannot be zero"),
        ("v.q", KernelAttributeError, "'vec3f' object has no attribute 'q'"),
        ("v.xw", KernelAttributeError, "'vec3f' object has no attribute 'xw'"),
        ("n.x", KernelAttributeError, "'int32' object has no attribute 'x'"),
        ("n[0]", KernelTypeError, "int32 cannot be indexed"),
        ("out[v.x]", KernelTypeError, "array index is float32"),
        ("out[True]", KernelTypeError, "array index is True (bool)"),
        ("out[1.0]", KernelTypeError, "array index is 1.0 (float32)"),
        ("out[n, n]", KernelTypeError, "array(float32, ndim=1) takes 1 index, got 2"),
        ("n[0:2]", KernelTypeError, "int32 cannot be sliced"),
        ("out.first", KernelAttributeError, "'array(float32, ndim=1)' object has no attribute 'first'"),
        ("out.shape[n]", KernelTypeError, "(int32) is indexed by a value known only at run time"),
        ("SCALES[n]", KernelTypeError, "ndarray is indexed by a value known only at run time"),
        ("HOST[0]", KernelTypeError, "HOST is an array of the host"),
    ],
)
def test_wrong_parts(text, kind, message):
    names = {"SCALES": SCALES, "HOST": wp.zeros(3, dtype=float)}
    error = refused(f"x = {text}", "out: wp.array(dtype=float), n: int, v: wp.vec3", **names)
    assert (type(error), error.message) == (kind, message)


@wp.kernel
def long_vector(out: Floats, v: vector(6, float)):
    i = wp.tid()
    out[i] = v[i] + v[5]


def test_vectors_of_other_lengths():
    assert filled(long_vector, 6, vector(6, float)(*range(6))) == [5, 6, 7, 8, 9, 10]


@wp.kernel
def lengths_of_types(out: Floats, v: vector(6, float)):
    m, q = wp.mat22(), wp.transform()
    turned = wp.identity(n=type(v).length, dtype=type(v).dtype)
    out[0] = turned[5, 5] + float(type(m).length + type(q).length + wp.vec3d.length + wp.int8.length)
    out[1] = float(type(m).dtype(2.5))


def test_types_say_how_many_components_of_which_type_they_have():
    assert filled(lengths_of_types, 2, vector(6, float)(), threads=1) == [1.0 + 4.0 + 7.0 + 3.0 + 1.0, 2.5]


@wp.kernel
def transforms_a_tile(x: wp.array[wp.vec2]):
    t = wp.tile_load(x, shape=8)
    wp.tile_fft(t)
    wp.tile_ifft(t)


def test_kernels_are_told_which_names_come_later():
    with pytest.raises(wp.errors.KernelErrors, match="'tile_fft': Fourier transforms of tiles are not here") as refusal:
        wp.launch(transforms_a_tile, 1, inputs=[wp.zeros(8, dtype=wp.vec2)])
    told = str(refusal.value)
    assert "'tile_ifft': Fourier transforms of tiles are not here yet" in told and "did you mean" not in told
